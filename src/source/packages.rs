//! The packages of the tree, and what each says of its modules.

use super::cfg::CfgSet;
use super::manifest::CargoManifest;
use super::sources::{Crate, ModuleId};
use super::tree::SourceTree;

impl SourceTree {
    /// `Cargo.toml` and `Cargo.lock` of the package.
    pub fn manifest(&self) -> &CargoManifest {
        &self.sources.packages[0].manifest
    }

    /// The manifests of all packages that were read, the package's own first.
    pub fn manifests(&self) -> impl Iterator<Item = &CargoManifest> {
        self.sources.packages.iter().map(|package| &package.manifest)
    }

    /// The manifest of the package that the module belongs to.
    pub fn manifest_of(&self, module: ModuleId) -> &CargoManifest {
        &self.sources.package(module).manifest
    }

    /// What decides `cfg` in this module.
    pub fn cfg(&self, module: ModuleId) -> &CfgSet {
        &self.sources.package(module).cfg
    }

    /// The versions of a package in the lock file.
    pub fn locked(&self, package: &str) -> Vec<semver::Version> {
        self.manifest().lock.as_ref().map(|lock| lock.versions(package)).unwrap_or_default()
    }

    /// The versions of a package, by its name in Rust code, that the lock file has below another package.
    pub fn locked_below(&self, package: &str, version: &semver::Version, dependency: &str) -> Vec<semver::Version> {
        self.manifest().lock.as_ref().map(|lock| lock.below(package, version, dependency)).unwrap_or_default()
    }

    /// The module belongs to the package itself, not to a path dependency.
    pub fn is_own(&self, module: ModuleId) -> bool {
        self.sources.package(module).own
    }

    /// The module belongs to a package that comes from a registry.
    pub fn is_fetched(&self, module: ModuleId) -> bool {
        self.sources.package(module).fetched
    }

    /// The module belongs to a library, so that other crates can name its public items.
    pub fn is_lib(&self, module: ModuleId) -> bool {
        self.sources.krate(module).lib
    }

    /// The crate names of the package's own binaries.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        let own = |krate: &&Crate| !krate.lib && self.sources[krate.package].own;
        self.sources.crates.iter().filter(own).map(|krate| krate.name.as_str())
    }

    /// A macro of this crate may expand to the derive of the ecosystem: the crate is built with a package that has it.
    pub fn may_derive(&self, krate: &str) -> bool {
        self.deriving.contains(krate)
    }
}
