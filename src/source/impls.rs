//! Which `impl` blocks are for an item, wherever they stand.

use std::collections::BTreeMap;

use syn::{Item, Type};

use super::{ItemRef, ModuleId, Resolution, SourceTree, ident, name};

/// More aliases of each other than people write.
const ALIASES: usize = 16;

/// The `impl` blocks of all packages that were read, in the order of the source.
#[derive(Debug, Default)]
pub(super) struct Impls {
    of_items: BTreeMap<ItemRef, Vec<ItemRef>>,
    /// Those for the types that derives of custom resources make, by the spec.
    of_roots: BTreeMap<ItemRef, Vec<ItemRef>>,
}

impl SourceTree {
    /// The `impl` blocks for this item, wherever they are, in the order of the source.
    pub fn impls(&self, item: ItemRef) -> &[ItemRef] {
        if let Some(name) = name(self.item(item)).map(ident) {
            self.seek_impls(&name);
        }
        self.all_impls().of_items.get(&item).map_or(&[], Vec::as_slice)
    }

    /// The same for the type that the derive of a custom resource makes of this spec.
    pub fn impls_of_root(&self, spec: ItemRef) -> &[ItemRef] {
        if let Some(resource) = self.custom_resource(spec) {
            self.seek_impls(&resource.root);
        }
        self.all_impls().of_roots.get(&spec).map_or(&[], Vec::as_slice)
    }

    /// Whether a method call of this name in a module may mean a function of a trait of code that is read.
    pub fn may_be_of_trait(&self, module: ModuleId, name: &str) -> bool {
        let declares = |item: &syn::TraitItem| match item {
            syn::TraitItem::Fn(function) => function.sig.ident == name,
            syn::TraitItem::Macro(_) => true,
            _ => false,
        };
        self.sources.trait_functions().may_have(name)
            && self.types_in_scope(module).is_none_or(|mut types| {
                types.any(|item| match self.item(item) {
                    Item::Trait(item) => item.items.iter().any(declares),
                    Item::TraitAlias(_) => true,
                    _ => false,
                })
            })
    }

    fn all_impls(&self) -> &Impls {
        self.impls.get_or_init(|| {
            let mut impls = Impls::default();
            for found in self.all_items() {
                let Item::Impl(block) = self.item(found) else { continue };
                let Type::Path(path) = &*block.self_ty else { continue };
                match self.behind_aliases(self.module(found), &path.path) {
                    Resolution::Local(of) => impls.of_items.entry(of).or_default().push(found),
                    Resolution::Member(spec, root) => {
                        if self.custom_resource(spec).is_some_and(|resource| resource.root == root) {
                            impls.of_roots.entry(spec).or_default().push(found);
                        }
                    }
                    Resolution::Foreign(_) | Resolution::Primitive(_) | Resolution::Unresolved(_) => {}
                }
            }
            impls
        })
    }

    /// What a path means, and if that is an alias, what the alias means.
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

    /// Says that an answer depends on the `impl` blocks for what is called so.
    fn seek_impls(&self, name: &str) {
        if self.sources.modules.iter().any(|module| module.unread) {
            for file in self.sources.index().implementing(name) {
                self.sources.want_file(file);
            }
        }
    }
}
