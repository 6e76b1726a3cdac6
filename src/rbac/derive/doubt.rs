//! Calls whose requests are not known.

use super::table;
use crate::diagnostic::{Code, Diagnostic, Origin};

/// A call that may make requests which are not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// The call or macro.
    pub origin: Origin,
    pub(crate) cause: Cause,
}

/// Why requests could not be derived.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// A method that looks like one of `Api`, on a value of unknown type.
    Receiver(String),
    /// A call on a kind that is not known, and why it is not.
    Kind { call: String, verbs: Vec<String>, why: String },
    /// A method of `Api` on a subresource whose name is not spelled out.
    Subresource { method: String, of: Option<Vec<(String, String)>> },
    /// A patch that may be a server-side apply.
    Patch { method: String, of: Option<Vec<(String, String)>> },
    /// A module whose file is missing, as the message about it says.
    Module(String),
    /// Code that is not read, as the message about it says.
    Unread(String),
    /// A request to the cluster of another kubeconfig.
    Cluster(String),
    /// An environment variable that may hold the operator's own namespace.
    Namespace(String),
}

impl Cause {
    /// A function of a crate that is built on kube.
    pub(super) fn of_crate(function: &str, krate: &str) -> Self {
        Self::Unread(format!("`{function}` of the crate `{krate}` may make requests; its code is not analyzed"))
    }

    /// A macro that is not expanded.
    pub(super) fn of_macro(name: &str) -> Self {
        Self::Unread(format!("the macro `{name}!` may make requests; it is not expanded"))
    }

    /// Permissions may be missing; otherwise only the place of the request is in doubt.
    pub(crate) fn hides_requests(&self) -> bool {
        !matches!(self, Self::Cluster(_) | Self::Namespace(_))
    }

    /// The verbs that a request may need; none if it may be any.
    pub(crate) fn verbs(&self) -> Vec<&str> {
        match self {
            Self::Receiver(method) | Self::Subresource { method, .. } => table::verbs(method),
            Self::Kind { verbs, .. } => verbs.iter().map(String::as_str).collect(),
            Self::Patch { .. } => vec!["create"],
            _ => Vec::new(),
        }
    }

    /// Returns true if the request may be about a resource, with its subresource. Some causes know the kind.
    pub(crate) fn may_be_about(&self, groups: &[String], resource: &str) -> bool {
        let (plural, sub) = resource.split_once('/').map_or((resource, None), |(plural, sub)| (plural, Some(sub)));
        let (of, has_sub) = match self {
            Self::Subresource { of: Some(of), .. } => (of.as_slice(), true),
            Self::Patch { of: Some(of), .. } => (of.as_slice(), false),
            Self::Receiver(method) if method == "publish" => return plural == "events" || resource == "*",
            _ => return true,
        };
        let is_of = |(group, name): &(String, String)| {
            groups.iter().any(|had| had == "*" || had == group) && (plural == "*" || plural == name)
        };
        resource == "*" || (sub.is_some() == has_sub && of.iter().any(is_of))
    }

    fn message(&self) -> String {
        match self {
            Self::Receiver(method) => {
                format!("`{method}` looks like a request, but the type of its receiver is unknown")
            }
            Self::Kind { call, why, .. } => format!("`{call}`: {why}"),
            Self::Subresource { method, .. } => {
                format!("`Api::{method}`: the subresource is not a literal in the source")
            }
            Self::Patch { method, .. } => format!("`{method}` may be a server-side apply"),
            Self::Module(message) => format!("{message}, and its requests are unknown"),
            Self::Unread(message) => message.clone(),
            Self::Cluster(call) => {
                format!("`{call}` uses another kubeconfig and needs no permission in this cluster")
            }
            Self::Namespace(variable) => format!(
                "`{variable}` may not be the operator's namespace: no manifest sets it from `metadata.namespace`"
            ),
        }
    }

    fn help(&self, by_hand: bool) -> &'static str {
        match self {
            Self::Module(_) if by_hand => "generate it first, or check that a role has its permissions",
            _ if by_hand && self.hides_requests() => {
                "check that a role has its permissions, and confirm it: `// memcached-sdk:allow(rbac-not-followed): \
                    reason`"
            }
            Self::Patch { .. } => "if it is, add the verb `create` to a marker",
            Self::Cluster(_) => "grant its permissions to the user of that kubeconfig",
            Self::Namespace(_) => {
                "set it with `fieldRef`, or read `POD_NAMESPACE`; until then all namespaces are assumed"
            }
            Self::Module(_) => "generate it first, or list its permissions in a `+kubebuilder:rbac` marker",
            _ => "list its permissions in a `+kubebuilder:rbac` marker",
        }
    }
}

impl Doubt {
    /// A missing module hides requests; `None` for another diagnostic.
    pub(crate) fn of_module(diagnostic: &Diagnostic) -> Option<Self> {
        let origin = diagnostic.origin.clone().filter(|_| diagnostic.code == Code::MissingModule)?;
        Some(Self { origin, cause: Cause::Module(diagnostic.message.clone()) })
    }

    /// The finding, beside roles that are written by hand or beside markers.
    pub(crate) fn diagnostic(&self, by_hand: bool) -> Diagnostic {
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
