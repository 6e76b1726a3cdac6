//! A crate read with syn: files, modules, names, cfg, dependencies. Never runs cargo or rustc.
//!
//! [`SourceTree::load`] reads the library and the binaries of one package, and the libraries of its path
//! dependencies. What is wrong in the code becomes a diagnostic; an error is only what keeps us from reading at all.

mod called;
mod cfg;
mod choice;
mod comment;
mod ecosystem;
mod file;
mod files;
mod impls;
mod items;
mod lexer;
mod load;
mod loader;
mod lock;
pub mod macros;
mod manifest;
pub mod marker;
mod namespace;
mod outline;
mod package;
mod packages;
mod prelude;
mod proc_macros;
mod registry;
mod regroup;
mod resolve;
mod settle;
mod sources;
#[cfg(test)]
pub(crate) mod tests;
mod unlinked;
mod workspace;

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use syn::Item;

pub use self::called::MethodCall;
pub use self::cfg::{Cfg, CfgSet};
pub use self::choice::Choice;
pub use self::comment::Comment;
pub use self::ecosystem::{Derive, Ecosystem, Listed};
pub(crate) use self::file::clean;
pub(crate) use self::file::relative;
pub use self::files::Pending;
pub(crate) use self::files::read as read_file;
use self::impls::Impls;
pub use self::lexer::CommentKind;
pub(crate) use self::manifest::get;
pub use self::manifest::{CargoManifest, Dependency, DependencyKind, FeatureSelection, crate_name};
pub use self::namespace::Namespace;
pub use self::regroup::{Regroup, regrouped};
pub use self::resolve::Resolution;
use self::resolve::Scopes;
pub use self::settle::PackageRequest;
use self::sources::Sources;
pub use self::sources::{ItemRef, ModuleId};
pub use self::workspace::{Member, PackageSelection, Packages, in_workspace};

/// A package as source code: its own targets and the libraries of its path dependencies.
///
/// | Methods | File |
/// |---|---|
/// | reading: `load`, `load_below` | `load.rs` |
/// | reading on demand: `settle`, `request_…`, `read_all` | `settle.rs` |
/// | modules, items and their places | `items.rs` |
/// | manifests, the lock, features | `packages.rs` |
/// | the meaning of a path: `resolve`, `resolve_in` | `resolve.rs` |
/// | comments, and the markers in them | `comment.rs`, `marker.rs` |
/// | `impl` blocks of a type | `impls.rs` |
/// | calls of methods by name | `called.rs` |
/// | macros of the project's own packages | `proc_macros.rs` |
/// | files that no `mod` declares | `unlinked.rs` |
#[derive(Debug)]
pub struct SourceTree {
    sources: Sources,
    scopes: Scopes,
    /// The `impl` blocks, once a type's are looked up.
    impls: OnceCell<Impls>,
    /// The files and folders whose declarations count; empty means all.
    only: Vec<PathBuf>,
    /// The chosen custom resources.
    choice: Choice,
    /// The packages, by their names in Rust code, that are built with the derive of the ecosystem.
    deriving: BTreeSet<String>,
}

impl SourceTree {
    /// Restricts [`Self::declarations`] and [`Self::comments`] to these files and folders, but not the resolution of names.
    /// Returns the paths that hold no file of the package.
    pub fn restrict(&mut self, paths: &[PathBuf]) -> Vec<PathBuf> {
        self.only = paths.iter().map(|path| file::clean(path)).collect();
        let own =
            |path: &Path| self.sources.files.iter().any(|file| file.own && file::clean(&file.disk).starts_with(path));
        self.only.iter().filter(|path| !own(path)).cloned().collect()
    }

    fn is_wanted(&self, disk: &Path) -> bool {
        self.only.is_empty() || self.only.iter().any(|path| file::clean(disk).starts_with(path))
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

/// The name of an item that has one.
fn name(item: &Item) -> Option<&syn::Ident> {
    Some(match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::ExternCrate(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Mod(item) => &item.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    })
}

/// The text of an identifier without `r#`.
fn ident(ident: &syn::Ident) -> String {
    let text = ident.to_string();
    match text.strip_prefix("r#") {
        Some(raw) => raw.to_string(),
        None => text,
    }
}
