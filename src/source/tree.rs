//! What a package is read into.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::choice::Choice;
use super::file::clean;
use super::resolve::Scopes;
use super::sources::{ItemRef, ModuleId, Sources};

/// A package as source code: its own targets and the libraries of its path dependencies.
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
    /// The `impl` blocks of each item in the order of the source, once those of one are looked up.
    pub(super) impls: OnceCell<BTreeMap<ItemRef, Vec<ItemRef>>>,
    /// The files and folders whose declarations count; empty means all.
    pub(super) only: Vec<PathBuf>,
    /// The chosen custom resources.
    pub(super) choice: Choice,
    /// The packages, by their names in Rust code, that are built with the derive of the ecosystem.
    pub(super) deriving: BTreeSet<String>,
}

impl SourceTree {
    /// Restricts [`Self::declarations`] and [`Self::comments`] to these files and folders, but not the resolution of names.
    /// Returns the paths that hold no file of the package.
    pub fn restrict(&mut self, paths: &[PathBuf]) -> Vec<PathBuf> {
        self.only = paths.iter().map(|path| clean(path)).collect();
        let own = |path: &Path| self.sources.files.iter().any(|file| file.own && clean(&file.disk).starts_with(path));
        self.only.iter().filter(|path| !own(path)).cloned().collect()
    }

    pub(super) fn is_wanted(&self, disk: &Path) -> bool {
        self.only.is_empty() || self.only.iter().any(|path| clean(disk).starts_with(path))
    }

    /// Whether [`Self::restrict`] leaves only a part.
    pub fn is_restricted(&self) -> bool {
        !self.only.is_empty()
    }

    /// Whether what is declared in a module is left by [`Self::restrict`].
    pub fn is_left(&self, module: ModuleId) -> bool {
        self.is_wanted(self.module_file(module))
    }

    /// Chooses custom resources by their names.
    pub fn choose(&mut self, choice: Choice) {
        self.choice = choice;
    }

    /// What [`Self::choose`] was given.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// The cache of another room, one value of each type; it lives as long as the tree.
    pub fn cache<T: Default + 'static>(&self) -> Rc<T> {
        self.sources.caches.get()
    }

    /// The files that were read, of path dependencies too.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.sources.files.iter().map(|file| file.disk.as_path())
    }

    /// The package's own files that were read.
    pub fn own_files(&self) -> impl Iterator<Item = &Path> {
        self.sources.files.iter().filter(|file| file.own).map(|file| file.disk.as_path())
    }
}
