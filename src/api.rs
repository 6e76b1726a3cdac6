//! One version of a custom resource as we understand it: `#[kube(…)]` and the types behind spec and status.

mod attribute;
mod bound;
mod declared;
mod dependency;
mod describe;
mod eval;
mod hidden;
mod impls;
mod item_attrs;
mod items;
mod k8s_source;
mod k8s_types;
mod kube_attr;
mod kube_schema;
mod schema_id;
mod schemars_attr;
mod serde_type;
mod type_check;
mod types;
mod value;

use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition as Column, CustomResourceSubresourceScale as Scale,
};

use crate::diagnostic::{Code, Diagnostics, Origin};
use crate::k8s;
use crate::schema::release::Releases;
use crate::schema::{Graph, TypeId};
use crate::source::{ItemRef, SourceTree};

pub use declared::{Declared, declared, names};
pub use dependency::new_releases;
use describe::{Describer, read};
use types::Scope;

/// One version of a custom resource.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is an attribute of its own")]
pub struct Api {
    /// API group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Name of the Rust type that the derive generates.
    pub root: String,
    /// Name of the resource in URLs.
    pub plural: String,
    /// Name of one object.
    pub singular: String,
    /// Objects live in namespaces.
    pub namespaced: bool,
    /// Short names.
    pub short_names: Vec<String>,
    /// Categories.
    pub categories: Vec<String>,
    /// Annotations of the CRD.
    pub annotations: Vec<(String, String)>,
    /// Labels of the CRD.
    pub labels: Vec<(String, String)>,
    /// The version is served.
    pub served: bool,
    /// The version is stored.
    pub storage: bool,
    /// The version is deprecated.
    pub deprecated: bool,
    /// What the API server warns of then, if not of the usual.
    pub deprecation_warning: Option<String>,
    /// Printer columns.
    pub columns: Vec<Column>,
    /// JSON paths of selectable fields.
    pub selectable: Vec<String>,
    /// The status subresource is on.
    pub status: bool,
    /// The scale subresource.
    pub scale: Option<Scale>,
    /// Types, and the root among them; none with `schema = "disabled"`.
    pub schema: Option<(Arc<Graph>, TypeId)>,
    /// Where each type of the graph is declared.
    pub types: Vec<(TypeId, String, Origin)>,
    /// Where the spec is declared.
    pub origin: Origin,
    /// The releases of kube and schemars that make the CRD.
    pub releases: Releases,
}

/// Every custom resource version that the package declares, in the order of the source.
pub fn all(tree: &SourceTree) -> (Vec<Api>, Diagnostics) {
    let mut apis = Vec::new();
    let diagnostics = each(tree, &mut |api| apis.push(api));
    (apis, diagnostics)
}

/// The same, handed over one by one as soon as they are read.
pub fn each(tree: &SourceTree, take: &mut dyn FnMut(Api)) -> Diagnostics {
    let (declared, mut diagnostics) = declared(tree);
    let declared: Vec<Declared> = declared.into_iter().filter(|declared| k8s::is_chosen(tree, declared.item)).collect();
    let releases = dependency::releases(tree);
    if !declared.is_empty()
        && let Some(diagnostic) = dependency::gate(tree)
    {
        // Of code for an older release most would be refused for what it is, which is said once.
        let unknown = diagnostic.code == Code::DependencyVersion;
        diagnostics.push(diagnostic);
        if unknown {
            diagnostics.sort();
            return diagnostics;
        }
    }
    for Declared { item, doubt } in declared {
        let name = || k8s::custom_resource(tree, item).map(|resource| resource.name());
        if let Some(doubt) = doubt {
            diagnostics.push(doubt.about(name()));
            continue;
        }
        let (api, found) = api(tree, item, releases);
        api.into_iter().for_each(&mut *take);
        diagnostics.extend(found.iter().map(|found| found.clone().about(name())).collect());
    }
    diagnostics.sort();
    diagnostics
}

fn api(tree: &SourceTree, item: ItemRef, releases: Releases) -> (Option<Api>, Diagnostics) {
    let scope = Scope::module(tree.module(item));
    let mut describer = Describer::new(tree, releases);
    let api = read(&mut describer, &scope, item);
    let clean = !describer.diagnostics.has_errors();
    (api.filter(|_| clean), describer.diagnostics)
}

/// What is understood of a custom resource version, when its CRD comes from somewhere else: its schema may lack parts.
pub fn understood(tree: &SourceTree, item: ItemRef) -> Option<Api> {
    read(&mut Describer::new(tree, dependency::releases(tree)), &Scope::module(tree.module(item)), item)
}

/// kube's guess; irregular plurals are written out by the user.
pub(crate) fn plural(word: &str) -> String {
    let es = ["s", "x", "z", "ch", "sh"];
    if es.iter().any(|ending| word.ends_with(ending)) {
        return format!("{word}es");
    }
    // kube counts characters up to a number of bytes.
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
