//! What is known of kube and k8s-openapi without reading them: names, the derive, the types of the API.
//!
//! [`load`] and its kin read a crate whose code uses them.

mod custom_resource;
mod generated;
mod openapi;
mod paths;

use std::path::{Path, PathBuf};
use std::rc::Rc;

use semver::Version;

use crate::diagnostic::Diagnostics;
use crate::runtime;
use crate::source::{
    CargoManifest, Dependency, Derive, Ecosystem, FeatureSelection, ItemRef, Listed, ModuleId, Pending, SourceTree,
    Unread,
};

pub use self::custom_resource::{CustomResource, kind_name};
use self::generated::Generated;
pub use self::generated::GeneratedType;

/// What resolves the names of a crate that uses kube.
pub(crate) static ECOSYSTEM: Ecosystem = Ecosystem {
    derive: Derive {
        name: "CustomResource",
        attribute: "kube",
        attribute_macros: &["crd"],
        packages: &["kube", "kube-derive"],
        family: "kube",
        declares: |item| CustomResource::of(item).map(|resource| resource.root),
    },
    aliases: paths::ALIASES,
    globs: paths::GLOBS,
    keep_prelude: paths::KEEP_PRELUDE,
    listed: Listed { krate: "k8s_openapi", has: openapi::has },
};

/// Reads the package in `dir` with its default features, every file of it: see [`SourceTree::load`].
pub fn load(dir: &Path) -> anyhow::Result<(SourceTree, Diagnostics)> {
    SourceTree::load(&ECOSYSTEM, dir)
}

/// Reads the package in `dir` as far as it is needed: see [`SourceTree::load_below`].
pub fn load_with(
    dir: &Path,
    selection: &FeatureSelection,
    pending: &Pending,
) -> anyhow::Result<(SourceTree, Diagnostics)> {
    load_below(dir, dir, selection, pending)
}

/// As [`load_with`], with paths shown relative to `root`.
pub fn load_below(
    root: &Path,
    dir: &Path,
    selection: &FeatureSelection,
    pending: &Pending,
) -> anyhow::Result<(SourceTree, Diagnostics)> {
    if pending.lacks(dir, runtime::PACKAGE) {
        // Its sources are those of this program and need not be downloaded.
        let mut pending = pending.clone();
        pending.provide(
            runtime::PACKAGE,
            &dir.join(format!("{}-{}", runtime::PACKAGE, runtime::VERSION)),
            runtime::copy()?,
        );
        return SourceTree::load_below(&ECOSYSTEM, root, dir, selection, &pending);
    }
    SourceTree::load_below(&ECOSYSTEM, root, dir, selection, pending)
}

/// The custom resource of which an item is the spec.
pub fn custom_resource(tree: &SourceTree, item: ItemRef) -> Option<CustomResource> {
    CustomResource::of(tree.item(item))
}

/// Whether [`SourceTree::choose`] leaves the custom resource of which an item is the spec. One that does not say its
/// name is always left.
pub fn is_chosen(tree: &SourceTree, item: ItemRef) -> bool {
    custom_resource(tree, item).is_none_or(|resource| tree.choice().takes(&resource.name()))
}

/// The dependency on k8s-openapi that code in a module uses, its feature for a version of Kubernetes, and whether they
/// are those of what is linked here; or why there is none.
pub fn openapi(tree: &SourceTree, module: ModuleId) -> Result<(&Dependency, &str, bool), String> {
    let all: Vec<_> = tree.manifests().collect();
    let (dependency, feature) = openapi::chosen(tree.manifest_of(module), &all)?;
    Ok((dependency, feature, openapi::is_linked(dependency, feature)))
}

/// The folder of the modules of k8s-openapi that a feature switches on: `latest` stands for the newest. Without it the error
/// says whether the sources are there at all.
pub fn modules(tree: &SourceTree, version: &Version, feature: &str) -> Result<PathBuf, Unread> {
    let workspace = &tree.manifest().workspace;
    tree.cache::<Generated>().folder(workspace, version, feature).ok_or_else(|| {
        match CargoManifest::fetched(workspace, "k8s-openapi", version) {
            Some(_) => Unread::Other("k8s-openapi has no modules for the enabled version feature"),
            None => tree.lacks("k8s-openapi", version),
        }
    })
}

/// A type of k8s-openapi by its path below a folder of modules.
pub fn generated_type(tree: &SourceTree, dir: &Path, path: &[String]) -> Option<Rc<GeneratedType>> {
    tree.cache::<Generated>().get(dir, path)
}
