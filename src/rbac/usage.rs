//! What code uses: the requests that it makes, each with the call that makes it.

use super::rule::Permission;
use crate::diagnostic::Origin;

/// One request that the code may make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// What the request needs.
    pub permission: Permission,
    /// Where.
    pub scope: RequestScope,
    /// The call as people know it, such as `Api<Pod>::list`.
    pub call: String,
    /// The call in the source.
    pub origin: Origin,
    /// How far the call is from the program: 0 in a binary, 1 in the library of its package, 2 in another package.
    pub distance: u8,
    /// The role that every generated project has for this, besides the one that its markers make.
    pub role: Option<&'static str>,
}

/// Where a request reads or writes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestScope {
    /// In all namespaces, or about objects that are in none.
    Cluster,
    /// The operator's namespace.
    Own,
    /// A namespace that is a constant in the source.
    Namespace(String),
    /// In a namespace that is known when the operator runs.
    Namespaced,
    /// The namespace of an object.
    OfObject,
}
