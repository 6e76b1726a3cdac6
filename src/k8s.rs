//! Built-in facts about kube and k8s-openapi: derive names, paths and API types.
//!
//! Input: a package folder or a tree. Output: a [`SourceTree`] that resolves the names of these crates (see [`load`]),
//! and types of k8s-openapi from their generated files. Must stay true: nothing here parses kube; its facts are tables.

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
use self::generated::GeneratedModule;
pub use self::generated::GeneratedType;

/// The facts for name resolution in a crate that uses kube.
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

/// Loads all files of the package in `dir` with its default features: see [`SourceTree::load`].
pub fn load(dir: &Path) -> anyhow::Result<(SourceTree, Diagnostics)> {
    SourceTree::load(&ECOSYSTEM, dir)
}

/// Loads the package in `dir` on demand: see [`SourceTree::load_below`].
pub fn load_with(
    dir: &Path,
    selection: &FeatureSelection,
    pending: &Pending,
) -> anyhow::Result<(SourceTree, Diagnostics)> {
    load_below(dir, dir, selection, pending)
}

/// Like [`load_with`], but shows paths relative to `root`.
pub fn load_below(
    root: &Path,
    dir: &Path,
    selection: &FeatureSelection,
    pending: &Pending,
) -> anyhow::Result<(SourceTree, Diagnostics)> {
    if pending.lacks(dir, runtime::PACKAGE) {
        // This program contains the sources; no download is needed.
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

/// The custom resource whose spec is this item.
pub fn custom_resource(tree: &SourceTree, item: ItemRef) -> Option<CustomResource> {
    CustomResource::of(tree.item(item))
}

/// Returns true if [`SourceTree::choose`] selects the custom resource of this spec. A custom resource without a name is
/// always selected.
pub fn is_chosen(tree: &SourceTree, item: ItemRef) -> bool {
    custom_resource(tree, item).is_none_or(|resource| tree.choice().takes(&resource.name()))
}

/// The dependency on k8s-openapi in a module, its feature for a Kubernetes version, and true if both match the linked
/// release. The error explains a missing choice.
pub fn openapi(tree: &SourceTree, module: ModuleId) -> Result<(&Dependency, &str, bool), String> {
    let all: Vec<_> = tree.manifests().collect();
    let (dependency, feature) = openapi::chosen(tree.manifest_of(module), &all)?;
    Ok((dependency, feature, openapi::is_linked(dependency, feature)))
}

/// The folder of the k8s-openapi modules that a feature enables; `latest` means the newest. The error tells missing
/// sources from a missing feature.
pub fn modules(tree: &SourceTree, version: &Version, feature: &str) -> Result<PathBuf, Unread> {
    let workspace = &tree.manifest().workspace;
    tree.cache::<GeneratedModule>().folder(workspace, version, feature).ok_or_else(|| {
        match CargoManifest::fetched(workspace, "k8s-openapi", version) {
            Some(_) => Unread::Other("k8s-openapi has no modules for the enabled version feature"),
            None => tree.lacks("k8s-openapi", version),
        }
    })
}

/// A type of k8s-openapi by its path below a folder of modules.
pub fn generated_type(tree: &SourceTree, dir: &Path, path: &[String]) -> Option<Rc<GeneratedType>> {
    tree.cache::<GeneratedModule>().get(dir, path)
}
