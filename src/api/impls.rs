//! Traits and items of the types in the source, by derive or by `impl`.

use std::rc::Rc;

use syn::{DeriveInput, ImplItem, Item};

use crate::schema::TypeId;
use crate::source::{ItemRef, Resolution};

use super::canonical::JSON_SCHEMA;
use super::item_attrs::{rewrites, skip_none, skips_none};
use super::items::{DeriveItem, Derives, attributes, derives, text};
use super::types::Types;

impl Types<'_> {
    /// See [`Derives`].
    pub(super) fn derives(&self, item: ItemRef) -> Rc<Derives> {
        let read = || derives(self.tree, self.tree.module(item), attributes(self.tree.item(item))).into();
        Rc::clone(self.derived.borrow_mut().entry(item).or_insert_with(read))
    }

    /// Returns true if the item derives the trait with this canonical path, and no earlier attribute macro rewrites the item.
    pub(super) fn derives_trait(&self, item: ItemRef, canonical: &str) -> bool {
        let all = attributes(self.tree.item(item));
        let understood = skips_none(self.tree, self.tree.module(item), all);
        let rewritten = |position: usize| match understood {
            Some(at) => rewrites(&all[..at]) || rewrites(&all[at + 1..position]),
            None => rewrites(&all[..position]),
        };
        self.derives(item).iter().any(|(position, derive)| {
            matches!(derive, DeriveItem::Resolved(path) if path == canonical) && !rewritten(*position)
        })
    }

    /// The canonical path of the trait of an `impl` block.
    pub(super) fn trait_of(&self, block: ItemRef) -> Option<String> {
        let Item::Impl(item) = self.tree.item(block) else { return None };
        let (path, _) = item.trait_.as_ref()?;
        Some(match self.tree.resolve(self.tree.module(block), path) {
            Resolution::Foreign(path) => path.join("::"),
            Resolution::Local(_) | Resolution::Member(..) | Resolution::Primitive(_) => String::new(),
            Resolution::Unresolved(_) => text(self.tree, self.tree.module(block), path),
        })
    }

    /// Returns the blocks that are an `impl JsonSchema`.
    pub(super) fn schemas_by_hand(&self, blocks: &[ItemRef]) -> Vec<ItemRef> {
        blocks.iter().copied().filter(|block| self.trait_of(*block).as_deref() == Some(JSON_SCHEMA)).collect()
    }

    /// A struct or enum as the input of a derive.
    pub(super) fn derive_input(&self, item: ItemRef) -> Option<DeriveInput> {
        let mut input: DeriveInput = match self.tree.item(item) {
            Item::Struct(item) => item.clone().into(),
            Item::Enum(item) => item.clone().into(),
            _ => return None,
        };
        if skips_none(self.tree, self.tree.module(item), &input.attrs).is_some() {
            skip_none(&mut input);
        }
        Some(input)
    }

    /// Returns true if a type has an inherent associated item of this name, with any type arguments.
    pub(super) fn has_own(&self, id: TypeId, name: &str) -> bool {
        let tree = self.tree;
        let named = |block: &ItemRef| match tree.item(*block) {
            Item::Impl(item) if item.trait_.is_none() => item.items.iter().any(|item| match item {
                ImplItem::Fn(item) => item.sig.ident == name,
                ImplItem::Const(item) => item.ident == name,
                ImplItem::Macro(_) => true,
                _ => false,
            }),
            _ => false,
        };
        self.user(id).is_some_and(|user| tree.impls(user.item).iter().any(named))
    }

    /// Returns true if the user's crate implements the trait of this canonical path for a type, with any type arguments.
    pub(super) fn implements(&self, id: TypeId, canonical: &str) -> bool {
        let Some(user) = self.user(id) else { return false };
        self.tree.impls(user.item).iter().any(|block| self.trait_of(*block).as_deref() == Some(canonical))
    }
}
