//! Finds the `impl` blocks of an item in the whole tree.

use std::collections::BTreeMap;

use syn::{Item, Type};

use super::ident::{ident, name};
use super::path::Resolution;
use super::sources::{ItemRef, ModuleId};
use super::tree::SourceTree;

const ALIASES: usize = 16;

impl SourceTree {
    /// The `impl` blocks of this item in the whole tree, in source order.
    pub fn impls(&self, item: ItemRef) -> &[ItemRef] {
        if let Some(name) = name(self.item(item)).map(ident) {
            self.request_impls(&name);
        }
        self.all_impls().get(&item).map_or(&[], Vec::as_slice)
    }

    /// Returns true if a trait in the tree may declare a method of this name that is in scope in the module.
    pub fn may_be_of_trait(&self, module: ModuleId, name: &str) -> bool {
        let declares = |item: &syn::TraitItem| match item {
            syn::TraitItem::Fn(function) => function.sig.ident == name,
            syn::TraitItem::Macro(_) => true,
            _ => false,
        };
        self.sources.trait_functions().may_have(name)
            && self.types_in_scope(module).is_none_or(|mut types| {
                types.any(|item| matches!(self.item(item), Item::Trait(item) if item.items.iter().any(declares)))
            })
    }

    fn all_impls(&self) -> &BTreeMap<ItemRef, Vec<ItemRef>> {
        self.impls.get_or_init(|| {
            let mut impls: BTreeMap<_, Vec<_>> = BTreeMap::new();
            for found in self.all_items() {
                let Item::Impl(block) = self.item(found) else { continue };
                let Type::Path(path) = &*block.self_ty else { continue };
                if let Resolution::Local(of) = self.behind_aliases(self.module(found), &path.path) {
                    impls.entry(of).or_default().push(found);
                }
            }
            impls
        })
    }

    fn behind_aliases(&self, module: ModuleId, path: &syn::Path) -> Resolution {
        let mut found = self.resolve(module, path);
        for _ in 0..ALIASES {
            let Resolution::Local(item) = found else { break };
            let Item::Type(alias) = self.item(item) else { break };
            let Type::Path(path) = &*alias.ty else { break };
            found = self.resolve(self.module(item), &path.path);
        }
        found
    }

    fn request_impls(&self, name: &str) {
        if self.sources.modules.iter().any(|module| module.unread) {
            for file in self.sources.word_index().implementing(name) {
                self.sources.request_file(file);
            }
        }
    }
}
