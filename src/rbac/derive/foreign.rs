//! Types of other crates: those that the rules of [`super::table`] and [`super::calls`] know, each under one name.

use std::fmt;
use std::rc::Rc;

/// A type of another crate, or one that no crate is known to declare.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ForeignType {
    /// Of kube, wherever it is re-exported, or of kubert.
    Kube(Kube),
    /// Of k8s-openapi: the path below the crate.
    K8s(Rc<str>),
    /// `std::string::String`
    String,
    Str,
    /// A literal that is no string, or what has its type.
    Literal,
    /// Any other, by its path.
    Other(Rc<str>),
    /// A name that nothing declares: a macro that is not expanded may do so.
    Unresolved(Rc<str>),
}

macro_rules! kube {
    ($($name:ident)*) => {
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum Kube {
            $($name,)*
            /// One that no rule names.
            Other(Rc<str>),
        }

        impl Kube {
            pub(super) fn named(name: &str) -> Self {
                match name {
                    $(stringify!($name) => Self::$name,)*
                    other => Self::Other(other.into()),
                }
            }

            pub(super) fn name(&self) -> &str {
                match self {
                    $(Self::$name => stringify!($name),)*
                    Self::Other(name) => name,
                }
            }
        }
    };
}

kube! {
    ApiResource Client Cluster ClusterResourceScope Config Controller DeserializeGuard DynamicObject Entry GroupVersionKind
    Kubeconfig Namespace NamespaceResourceScope Object PartialObjectMeta Patch Recorder Runtime Store Writer
}

impl Kube {
    /// Returns true if only methods of `Api` take it.
    pub(super) fn is_params(&self) -> bool {
        const PARAMS: &str = "AttachParams DeleteParams EvictParams GetParams ListParams LogParams Patch PatchParams \
                              PostParams WatchParams";
        PARAMS.split(' ').any(|name| name == self.name())
    }
}

/// The crates that kube consists of, whose types are one set of names.
const KUBE: [&str; 5] = ["kube", "kube_client", "kube_core", "kube_runtime", "kube_derive"];

pub(super) fn is_kube(path: &[String]) -> bool {
    path.first().is_some_and(|krate| KUBE.contains(&krate.as_str()))
}

pub(super) fn is_k8s(path: &[String]) -> bool {
    path.first().is_some_and(|krate| krate == "k8s_openapi")
}

impl ForeignType {
    /// A type by its canonical path.
    pub(super) fn at(path: &[String]) -> Self {
        let name = path.last().map(String::as_str).unwrap_or_default();
        let krate = path.first().map(String::as_str).unwrap_or_default();
        match (krate, name) {
            (_, "NamespaceResourceScope" | "ClusterResourceScope") => Self::Kube(Kube::named(name)),
            _ if is_kube(path) => Self::Kube(Kube::named(name)),
            ("kubert", "Runtime" | "Builder") => Self::Kube(Kube::Runtime),
            ("k8s_openapi", _) => Self::K8s(path[1..].join("::").into()),
            ("std" | "alloc", "String") => Self::String,
            _ => Self::Other(path.join("::").into()),
        }
    }

    pub(super) fn primitive(name: &str) -> Self {
        match name {
            "str" => Self::Str,
            other => Self::Other(other.into()),
        }
    }

    /// The path; of kube and k8s-openapi without the crate, and of what is unresolved the name.
    fn path(&self) -> &str {
        match self {
            Self::Kube(found) => found.name(),
            Self::String => "std::string::String",
            Self::Str => "str",
            Self::Literal => "literal",
            Self::K8s(path) | Self::Other(path) | Self::Unresolved(path) => path,
        }
    }

    /// The crate, of a type that may belong to one that is built on kube.
    pub(super) fn krate(&self) -> Option<&str> {
        match self {
            Self::Kube(_) | Self::K8s(_) | Self::Unresolved(_) => None,
            other => other.path().split("::").next(),
        }
    }
}

/// Its whole path, as messages show it.
impl fmt::Display for ForeignType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let krate = match self {
            Self::Kube(_) => "kube::",
            Self::K8s(_) => "k8s_openapi::",
            _ => "",
        };
        write!(f, "{krate}{}", self.path())
    }
}
