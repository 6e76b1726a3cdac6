//! What could not be followed, and what it may be.

use super::table;
use crate::diagnostic::{Code, Diagnostic, Origin};

/// A place where requests may be made that are not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// The call or macro.
    pub origin: Origin,
    /// What is not known.
    pub cause: Cause,
}

/// Why requests are not known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// A method that looks like one of `Api`, on a value of unknown type.
    Receiver {
        /// The method.
        method: String,
    },
    /// A method of `Api` that kube does not have: a trait that is not read adds it.
    Extension {
        /// The method.
        method: String,
    },
    /// A method of `Api` on a kind that is not known.
    Kind {
        /// The call, such as `Api::get`.
        call: String,
        /// What it does.
        verbs: Vec<String>,
        /// Why the kind is not known.
        why: String,
    },
    /// A method of `Api` on a subresource whose name is not spelled out.
    Subresource {
        /// The method.
        method: String,
    },
    /// A patch that may be a server-side apply.
    Patch {
        /// The method.
        method: String,
    },
    /// A request of `Client` whose path is not spelled out.
    Path {
        /// The method.
        method: String,
    },
    /// A module whose file is not there.
    Module {
        /// What is wrong.
        message: String,
    },
    /// A macro whose expansion is not read.
    Macro {
        /// Its name.
        name: String,
    },
    /// A function that is called with more different types than are followed.
    Runs {
        /// The function.
        function: String,
    },
    /// A request to the cluster of another kubeconfig.
    Cluster {
        /// The call, such as `Api::get`.
        call: String,
    },
    /// A namespace from an environment variable that may hold the operator's own one, or not.
    Namespace {
        /// The variable.
        variable: String,
    },
    /// A function of a crate that is built on kube.
    Crate {
        /// The function.
        function: String,
        /// The crate.
        krate: String,
    },
}

impl Cause {
    /// There may be requests that no permission is known for; or else it is only about where they go.
    pub fn hides_requests(&self) -> bool {
        !matches!(self, Self::Cluster { .. } | Self::Namespace { .. })
    }

    /// The verbs that a request may need; none if it may be any.
    pub fn verbs(&self) -> Vec<&str> {
        match self {
            Self::Receiver { method } | Self::Subresource { method } => table::verbs(method),
            Self::Kind { verbs, .. } => verbs.iter().map(String::as_str).collect(),
            Self::Patch { .. } => vec!["create"],
            Self::Extension { .. }
            | Self::Path { .. }
            | Self::Module { .. }
            | Self::Macro { .. }
            | Self::Runs { .. }
            | Self::Cluster { .. }
            | Self::Namespace { .. }
            | Self::Crate { .. } => Vec::new(),
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Receiver { method } => {
                format!("`{method}` looks like a request, but its receiver could not be followed")
            }
            Self::Extension { method } => format!("`{method}` of an `Api` may make requests, and is not read"),
            Self::Kind { call, why, .. } => format!("`{call}`: {why}"),
            Self::Subresource { method } => {
                format!("`Api::{method}`: the name of the subresource is not spelled out in the source")
            }
            Self::Patch { method } => {
                format!("`{method}`: whether this is a server-side apply could not be followed")
            }
            Self::Path { method } => {
                format!("`Client::{method}`: the path of the request is not spelled out in the source")
            }
            Self::Module { message } => format!("{message}, and what it requests is not known"),
            Self::Macro { name } => format!("the macro `{name}!` may make requests, and is not read"),
            Self::Runs { function } => format!("`{function}` is called in more ways than are told apart"),
            Self::Cluster { call } => {
                format!("`{call}` goes to the cluster of another kubeconfig, and needs no permission in this one")
            }
            Self::Namespace { variable } => format!(
                "`{variable}` is not known to be the namespace that the operator is in: no manifest sets it from \
                 `metadata.namespace`"
            ),
            Self::Crate { function, krate } => {
                format!("`{function}` of the crate `{krate}` may make requests, and is not read")
            }
        }
    }

    fn help(&self, by_hand: bool) -> &'static str {
        match self {
            Self::Module { .. } if by_hand => "generate it first, or look that a role has its permissions",
            _ if by_hand && self.hides_requests() => {
                "look that a role has its permissions, and say so: `// memcached-sdk:allow(rbac-not-followed): reason`"
            }
            Self::Patch { .. } => "for a server-side apply name the verb `create` in a marker",
            Self::Cluster { .. } => "grant what it needs to the user of that kubeconfig",
            Self::Namespace { .. } => {
                "set it with `fieldRef`, or read `POD_NAMESPACE`; until then all namespaces are meant"
            }
            Self::Module { .. } => "generate it first, or name its permissions in a `+kubebuilder:rbac` marker",
            _ => "name its permissions in a `+kubebuilder:rbac` marker",
        }
    }
}

impl Doubt {
    /// What it means for the permissions that the source lacks a module; none for another diagnostic.
    pub fn of_module(diagnostic: &Diagnostic) -> Option<Self> {
        let origin = diagnostic.origin.clone().filter(|_| diagnostic.code == Code::MissingModule)?;
        Some(Self { origin, cause: Cause::Module { message: diagnostic.message.clone() } })
    }
}

impl Doubt {
    /// What is said of it, beside roles that are written by hand or markers.
    pub fn diagnostic(&self, by_hand: bool) -> Diagnostic {
        let Self { origin, cause } = self;
        let code = if cause.hides_requests() { Code::RbacNotFollowed } else { Code::RbacElsewhere };
        Diagnostic::new(code, cause.message()).at(origin.clone()).help(cause.help(by_hand))
    }
}

impl From<&Doubt> for Diagnostic {
    fn from(doubt: &Doubt) -> Self {
        doubt.diagnostic(false)
    }
}
