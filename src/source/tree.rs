//! The result of reading a package.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::choice::SourceChoice;
use super::file::clean;
use super::resolve::Scopes;
use super::sources::{ItemRef, ModuleId, Sources};

/// The source code of a package: its own targets and the libraries of its path dependencies.
///
/// | Methods | File |
/// |---|---|
/// | reading: `load`, `load_below` | `load.rs` |
/// | reading on demand: `settle`, `request_…`, `read_all` | `settle.rs` |
/// | modules, items and their places | `items.rs` |
/// | manifests, the lock, features | `packages.rs` |
/// | the meaning of a path: `resolve`, `resolve_in` | `path.rs` |
/// | comments, and the markers in them | `comment.rs`, `marker.rs` |
/// | `impl` blocks of a type | `impls.rs` |
/// | calls of methods by name | `called.rs` |
/// | macros of the project's own packages | `proc_macros.rs` |
/// | files that no `mod` declares | `unlinked.rs` |
#[derive(Debug)]
pub struct SourceTree {
    pub(super) sources: Sources,
    pub(super) scopes: Scopes,
    /// The `impl` blocks of each item in source order, computed on first use.
    pub(super) impls: OnceCell<BTreeMap<ItemRef, Vec<ItemRef>>>,
    /// The files and folders whose declarations count; empty means all.
    pub(super) only: Vec<PathBuf>,
    pub(super) choice: SourceChoice,
    /// Crate names of the packages that depend on the derive of the ecosystem.
    pub(super) deriving: BTreeSet<String>,
}

impl SourceTree {
    /// Restricts [`Self::declarations`] and [`Self::comments`] to these files and folders, but not name resolution.
    /// Returns the paths that contain no file of the package.
    pub fn restrict(&mut self, paths: &[PathBuf]) -> Vec<PathBuf> {
        self.only = paths.iter().map(|path| clean(path)).collect();
        let own = |path: &Path| self.sources.files.iter().any(|file| file.own && clean(&file.disk).starts_with(path));
        self.only.iter().filter(|path| !own(path)).cloned().collect()
    }

    pub(super) fn is_wanted(&self, disk: &Path) -> bool {
        self.only.is_empty() || self.only.iter().any(|path| clean(disk).starts_with(path))
    }

    /// Returns true if [`Self::restrict`] is in effect.
    pub fn is_restricted(&self) -> bool {
        !self.only.is_empty()
    }

    /// Returns true if [`Self::restrict`] keeps the module.
    pub fn is_left(&self, module: ModuleId) -> bool {
        self.is_wanted(self.module_file(module))
    }

    /// Selects custom resources by name.
    pub fn choose(&mut self, choice: SourceChoice) {
        self.choice = choice;
    }

    /// The current selection.
    pub fn choice(&self) -> &SourceChoice {
        &self.choice
    }

    /// The cache of another room: one value per type, for the lifetime of the tree.
    pub fn cache<T: Default + 'static>(&self) -> Rc<T> {
        self.sources.caches.get()
    }

    /// The files of the tree, including path dependencies.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.sources.files.iter().map(|file| file.disk.as_path())
    }

    /// The package's own files.
    pub fn own_files(&self) -> impl Iterator<Item = &Path> {
        self.sources.files.iter().filter(|file| file.own).map(|file| file.disk.as_path())
    }
}
