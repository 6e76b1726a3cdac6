//! Custom resource versions, as the source declares them.
//!
//! - Takes: a [`SourceTree`], and the releases of kube and schemars in its lock file.
//! - Gives: an [`Api`] for each version, with the attributes of `#[kube(…)]` and the graph of its types; and diagnostics.
//! - Layers: `types` is the table of types, `eval` evaluates code over types that `describe` lends it, and `describe` makes containers.
//! - Invariants: an `Api` is exact, or missing with an error; code that is not understood is refused, never guessed.

mod attribute;
mod bound;
mod canonical;
mod custom_resource;
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

use crate::diagnostic::{Code, Diagnostics};
use crate::k8s;
use crate::schema::release::Releases;
use crate::source::{ItemRef, SourceTree};

pub use custom_resource::Api;
pub(crate) use custom_resource::{plural, plural_of};
pub use declared::{DeclaredApi, declared, names};
pub use dependency::new_releases;
use describe::{Describer, read};
use types::TypeScope;

/// Every custom resource version that the package declares, in the order of the source.
pub fn all(tree: &SourceTree) -> (Vec<Api>, Diagnostics) {
    let mut apis = Vec::new();
    let diagnostics = each(tree, &mut |api| apis.push(api));
    (apis, diagnostics)
}

/// Hands over the same versions as [`all`], each as soon as it is read.
pub fn each(tree: &SourceTree, take: &mut dyn FnMut(Api)) -> Diagnostics {
    let (declared, mut diagnostics) = declared(tree);
    let declared: Vec<DeclaredApi> =
        declared.into_iter().filter(|declared| k8s::is_chosen(tree, declared.item)).collect();
    let releases = dependency::releases(tree);
    if !declared.is_empty()
        && let Some(diagnostic) = dependency::gate(tree)
    {
        // One diagnostic for the release is enough: most code for an older release would be refused as well.
        let unknown = diagnostic.code == Code::DependencyVersion;
        diagnostics.push(diagnostic);
        if unknown {
            diagnostics.sort();
            return diagnostics;
        }
    }
    for DeclaredApi { item, doubt } in declared {
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
    let scope = TypeScope::module(tree.module(item));
    let mut describer = Describer::new(tree, releases);
    let api = read(&mut describer, &scope, item);
    let clean = !describer.diagnostics.has_errors();
    (api.ok().filter(|_| clean), describer.diagnostics)
}

/// Reads a custom resource version whose CRD comes from another engine. Its schema may lack parts.
pub fn understood(tree: &SourceTree, item: ItemRef) -> Option<Api> {
    read(&mut Describer::new(tree, dependency::releases(tree)), &TypeScope::module(tree.module(item)), item).ok()
}
