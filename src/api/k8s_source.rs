//! The sources of k8s-openapi, and how paths resolve in them.

use std::path::PathBuf;
use std::rc::Rc;

use proc_macro2::Span;

use crate::source::Resolution;

/// The place from which code of k8s-openapi is evaluated.
#[derive(Debug, Clone)]
pub(super) struct K8sSource {
    /// The place in the user's code that refers to it.
    pub(super) at: Span,
    pub(super) dir: Rc<PathBuf>,
}

/// A type of k8s-openapi.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct K8sType {
    /// The folder of the modules of one Kubernetes version.
    pub(super) dir: Rc<PathBuf>,
    /// The path of the type below the crate.
    pub(super) path: Vec<String>,
}

impl K8sSource {
    /// Resolves a path in generated code, which writes all paths in full.
    pub(super) fn resolve(path: &syn::Path) -> Resolution {
        let mut parts: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        match parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["crate", "schemars", ..] => Resolution::Foreign(parts.split_off(1)),
            ["crate", ..] => {
                "k8s_openapi".clone_into(&mut parts[0]);
                Resolution::Foreign(parts)
            }
            ["std", ..] => Resolution::Foreign(parts),
            ["Option"] => Resolution::Foreign(["std", "option", "Option"].map(str::to_owned).to_vec()),
            [name @ ("bool" | "i32" | "i64" | "f64" | "str")] => Resolution::Primitive((*name).to_owned()),
            _ => Resolution::Unresolved(format!("cannot find `{}`", parts.join("::"))),
        }
    }
}
