//! One version of a custom resource, as the source declares it.

use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition as Column, CustomResourceSubresourceScale as Scale,
};

use crate::diagnostic::Origin;
use crate::k8s::CustomResource;
use crate::schema::release::Releases;
use crate::schema::{Graph, TypeId};

/// One version of a custom resource.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is an attribute of its own")]
pub struct Api {
    pub(crate) group: String,
    pub(crate) version: String,
    /// Kind.
    pub kind: String,
    /// Name of the Rust type that the derive generates.
    pub root: String,
    /// Name of the resource in URLs.
    pub(crate) plural: String,
    /// Name of one object.
    pub(crate) singular: String,
    pub(crate) namespaced: bool,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    /// Annotations of the CRD.
    pub(crate) annotations: Vec<(String, String)>,
    /// Labels of the CRD.
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) served: bool,
    pub(crate) storage: bool,
    pub(crate) deprecated: bool,
    /// The warning of the API server for a deprecated version; `None` is the usual text.
    pub(crate) deprecation_warning: Option<String>,
    pub(crate) columns: Vec<Column>,
    /// JSON paths of selectable fields.
    pub(crate) selectable: Vec<String>,
    /// The status subresource is on.
    pub(crate) status: bool,
    pub(crate) scale: Option<Scale>,
    /// The types with the id of the root; `None` with `schema = "disabled"`.
    pub(crate) schema: Option<(Arc<Graph>, TypeId)>,
    /// The place where each type of the graph is declared, with its name.
    pub(crate) types: Vec<(TypeId, String, Origin)>,
    /// The place where the spec is declared.
    pub origin: Origin,
    /// The releases of kube and schemars that determine the CRD.
    pub(crate) releases: Releases,
}

/// Returns the plural of a kind: from its attributes, or [`plural`] of its name.
pub(crate) fn plural_of(kind: &CustomResource) -> String {
    kind.plural.clone().unwrap_or_else(|| plural(&kind.kind.to_ascii_lowercase()))
}

/// Returns kube's guess of a plural. Users set irregular plurals explicitly.
pub(crate) fn plural(word: &str) -> String {
    let es = ["s", "x", "z", "ch", "sh"];
    if es.iter().any(|ending| word.ends_with(ending)) {
        return format!("{word}es");
    }
    // kube mixes characters and bytes here.
    let before = word.len().checked_sub(2).and_then(|position| word.chars().nth(position));
    match word.strip_suffix('y') {
        Some(stem) if before.is_some_and(|last| !"aeiou".contains(last)) => {
            format!("{stem}ies")
        }
        _ => format!("{word}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_are_those_of_kube() {
        for (word, expected) in [
            ("memcached", "memcacheds"),
            ("box", "boxes"),
            ("policy", "policies"),
            ("day", "days"),
            ("batch", "batches"),
            ("y", "ys"),
        ] {
            assert_eq!(plural(word), expected);
        }
    }
}
