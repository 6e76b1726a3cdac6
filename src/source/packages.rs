//! The packages of the tree: manifests, locked versions and features.

use super::cfg::CfgSet;
use super::manifest::CargoManifest;
use super::sources::{Crate, ModuleId};
use super::tree::SourceTree;

impl SourceTree {
    /// `Cargo.toml` and `Cargo.lock` of the package.
    pub fn manifest(&self) -> &CargoManifest {
        &self.sources.packages[0].manifest
    }

    /// The manifests of all packages of the tree, the package's own first.
    pub fn manifests(&self) -> impl Iterator<Item = &CargoManifest> {
        self.sources.packages.iter().map(|package| &package.manifest)
    }

    /// The manifest of the package that contains the module.
    pub fn manifest_of(&self, module: ModuleId) -> &CargoManifest {
        &self.sources.package(module).manifest
    }

    /// The cfg that applies in this module.
    pub fn cfg(&self, module: ModuleId) -> &CfgSet {
        &self.sources.package(module).cfg
    }

    /// The versions of a package in the lock file.
    pub fn locked(&self, package: &str) -> Vec<semver::Version> {
        self.manifest().lock.as_ref().map(|lock| lock.versions(package)).unwrap_or_default()
    }

    /// The locked versions of the dependency (a crate name) of another package.
    pub fn locked_below(&self, package: &str, version: &semver::Version, dependency: &str) -> Vec<semver::Version> {
        self.manifest().lock.as_ref().map(|lock| lock.below(package, version, dependency)).unwrap_or_default()
    }

    /// Returns true if the module belongs to the package itself, not to a path dependency.
    pub fn is_own(&self, module: ModuleId) -> bool {
        self.sources.package(module).own
    }

    /// Returns true if the module belongs to a package of a registry.
    pub fn is_fetched(&self, module: ModuleId) -> bool {
        self.sources.package(module).fetched
    }

    /// Returns true if the module belongs to a library: other crates can name its public items.
    pub fn is_lib(&self, module: ModuleId) -> bool {
        self.sources.krate(module).lib
    }

    /// The crate names of the package's own binaries.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        let own = |krate: &&Crate| !krate.lib && self.sources[krate.package].own;
        self.sources.crates.iter().filter(own).map(|krate| krate.name.as_str())
    }

    /// Returns true if a macro of this crate may expand to the derive of the ecosystem: the crate depends on a package
    /// with it.
    pub fn may_derive(&self, krate: &str) -> bool {
        self.deriving.contains(krate)
    }
}
