//! The modules and items of the tree, and their places in the source.

use std::collections::BTreeSet;
use std::path::Path;

use proc_macro2::Span;
use syn::{Attribute, Item};

use super::files;
use super::ident::{ident, name};
use super::sources::{Crate, ItemRef, ModuleId};
use super::tree::SourceTree;
use crate::diagnostic::Origin;

impl SourceTree {
    /// The cfg-active items of the package's own targets in source order: library first, then binaries. Items of a
    /// module come at its `mod` item.
    pub fn items(&self) -> impl Iterator<Item = ItemRef> {
        self.items_below(self.roots())
    }

    /// Like [`Self::items`], for all packages of the tree.
    pub fn all_items(&self) -> impl Iterator<Item = ItemRef> {
        self.items_below(self.sources.crates.iter().map(|krate| krate.root))
    }

    fn items_below(&self, roots: impl Iterator<Item = ModuleId>) -> std::vec::IntoIter<ItemRef> {
        let mut items = Vec::with_capacity(self.sources.items.len());
        roots.for_each(|root| self.collect(root, &mut items));
        items.into_iter()
    }

    /// The part of [`Self::items`] that [`Self::restrict`] keeps.
    pub fn declarations(&self) -> impl Iterator<Item = ItemRef> {
        self.items().filter(|item| self.is_left(self.module(*item)))
    }

    fn collect(&self, module: ModuleId, out: &mut Vec<ItemRef>) {
        for item in &self.sources[module].items {
            out.push(*item);
            if let Some(child) = self.child(*item) {
                self.collect(child, out);
            }
        }
    }

    /// The item after cfg is applied: inactive parts are removed, undecided ones keep their `#[cfg]`. A `mod` item is
    /// empty, because its items belong to the tree.
    pub fn item(&self, item: ItemRef) -> &Item {
        &self.sources[item].item
    }

    /// The module that contains the item.
    pub fn module(&self, item: ItemRef) -> ModuleId {
        self.sources[item].module
    }

    /// The module of a `mod` item, or of the file that an `include!` reads.
    pub fn child(&self, item: ItemRef) -> Option<ModuleId> {
        self.sources[item].child
    }

    /// The items of a module.
    pub fn module_items(&self, module: ModuleId) -> &[ItemRef] {
        self.sources.request(module);
        &self.sources[module].items
    }

    /// The parent module.
    pub fn parent(&self, module: ModuleId) -> Option<ModuleId> {
        self.sources[module].parent
    }

    /// The root modules of the package's own targets, the library first.
    pub fn roots(&self) -> impl Iterator<Item = ModuleId> {
        let own = |krate: &&Crate| self.sources[krate.package].own;
        self.sources.crates.iter().filter(own).map(|krate| krate.root)
    }

    /// The root module of the crate that contains a module.
    pub fn root(&self, module: ModuleId) -> ModuleId {
        self.sources.krate(module).root
    }

    /// The `mod` item of a module; `None` for a crate root.
    pub fn declaration(&self, module: ModuleId) -> Option<ItemRef> {
        self.sources[module].declared
    }

    /// The file that contains a module.
    pub fn module_file(&self, module: ModuleId) -> &Path {
        &self.sources.file(module).disk
    }

    /// The text of a module's file as syn reads it, and the number of bytes before it.
    pub fn module_text(&self, module: ModuleId) -> (&str, usize) {
        let file = &self.sources.file(module);
        (file.rust(), file.base)
    }

    /// Attributes of the module: those of its `mod` item and those at the top of its file.
    pub fn module_attrs(&self, module: ModuleId) -> &[Attribute] {
        &self.sources[module].attrs
    }

    /// The path of a module, crate name first.
    pub fn module_path(&self, module: ModuleId) -> Vec<String> {
        let mut path = Vec::new();
        let mut at = module;
        while let Some(parent) = self.parent(at) {
            path.push(self.sources[at].name.clone());
            at = parent;
        }
        path.push(self.sources.krate(module).name.clone());
        path.reverse();
        path
    }

    /// The path of an item that has a name, crate name first.
    pub fn path(&self, item: ItemRef) -> Vec<String> {
        let mut path = self.module_path(self.module(item));
        path.extend(name(self.item(item)).map(ident));
        path
    }

    /// The undecided cfg predicates around the item, joined by `, `.
    pub fn unknown_cfg(&self, item: ItemRef) -> Option<String> {
        let data = &self.sources[item];
        let around = self.sources[data.module].unknown_cfg.as_deref();
        let texts: Vec<_> = [around, data.unknown_cfg.as_deref()].into_iter().flatten().collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    /// The place of a span in this module.
    pub fn origin(&self, module: ModuleId, span: Span) -> Origin {
        let file = &self.sources.file(module);
        file.origin(file.range(span))
    }

    /// The text of a file that code in this module includes by a relative path.
    pub fn include(&self, module: ModuleId, path: &str) -> Option<String> {
        let file = &self.sources.file(module);
        files::read(&file.disk.parent()?.join(path)).ok()
    }

    /// `name` and its aliases by `use … as` in any file, transitively.
    pub fn names(&self, name: &str) -> BTreeSet<String> {
        self.sources.word_index().names(name)
    }
}
