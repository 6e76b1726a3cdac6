//! The `impl` blocks of a type with its arguments, and what they declare.
//!
//! A block is for one type (`impl Size<u8>`); of one with parameters (`impl<T> Size<T>`) nothing is taken.

use syn::{GenericParam, ImplItem, Item, ItemImpl, Visibility};

use crate::schema::TypeId;
use crate::source::{CfgSet, ItemRef};

use super::{Env, Evaluator, Function};
use crate::api::item_attrs::rewrites;
use crate::api::types::{Info, Refusal, Scope};
use crate::api::value::Val;

impl Evaluator<'_> {
    /// The function of this name that a type has itself, outside of traits.
    pub(super) fn own_function(&mut self, scope: &Scope, id: TypeId, name: &str) -> Option<Function> {
        let (function, scope) = self.inherent(scope, id, |item| match item {
            ImplItem::Fn(item) if item.sig.ident == name => Some(item.clone()),
            _ => None,
        })?;
        Some(Function { sig: function.sig, block: function.block, scope })
    }

    /// The value of a constant that a type has itself.
    pub(super) fn associated_const(&mut self, scope: &Scope, id: TypeId, name: &str) -> Option<Result<Val, Refusal>> {
        let (item, scope) = self.inherent(scope, id, |item| match item {
            ImplItem::Const(item) if item.ident == name => Some(item.clone()),
            _ => None,
        })?;
        let expr = self.of_build(&scope, &item.expr, CfgSet::apply_to_expr)?;
        let ty = self.ty(&scope, &item.ty);
        Some(self.deeper(&scope, &expr, |eval| eval.eval(&scope, &Env::new(), &expr, Some(ty))))
    }

    /// An associated item of a type outside of trait impls, and the scope of its block. What code in `from` can't see
    /// does not hide that of a trait.
    fn inherent<T>(&mut self, from: &Scope, id: TypeId, find: impl Fn(&ImplItem) -> Option<T>) -> Option<(T, Scope)> {
        let tree = self.tree;
        let mut found = None;
        for block in tree.impls(self.types.user(id)?.item).iter().copied() {
            let Item::Impl(item) = tree.item(block) else { continue };
            let Some((part, hit)) = item.items.iter().find_map(|part| Some((part, find(part)?))) else { continue };
            if item.trait_.is_some() {
                continue;
            }
            let scope = match self.block_for(id, block, item) {
                For::This(scope) => scope,
                For::Other => continue,
                For::Unknown => return None,
            };
            let (attributes, vis) = declared(part)?;
            let hidden = !self.types.is_visible(from, vis, tree.module(block));
            if found.is_some() || hidden || rewrites(&item.attrs) || rewrites(attributes) {
                return None;
            }
            found = Some((hit, scope));
        }
        found
    }

    /// The function of this name in the `impl` of the trait of this canonical path for a type.
    pub(super) fn trait_function(&mut self, id: TypeId, canonical: &str, name: &str) -> Option<Function> {
        let tree = self.tree;
        let mut found = None;
        for block in tree.impls(self.types.user(id)?.item).iter().copied() {
            let Item::Impl(item) = tree.item(block) else { continue };
            if self.types.trait_of(block).as_deref() != Some(canonical) {
                continue;
            }
            let scope = match self.block_for(id, block, item) {
                For::This(scope) => scope,
                For::Other => continue,
                For::Unknown => return None,
            };
            let function = item.items.iter().find_map(|item| match item {
                ImplItem::Fn(function) if function.sig.ident == name => Some(function),
                _ => None,
            })?;
            if found.is_some() || rewrites(&item.attrs) || rewrites(&function.attrs) {
                return None;
            }
            found = Some(Function::of(function, &scope));
        }
        found
    }

    /// Whether a block is for a type of the user, whose item it names.
    fn block_for(&mut self, id: TypeId, block: ItemRef, item: &ItemImpl) -> For {
        if self.tree.unknown_cfg(block).is_some() {
            return For::Unknown;
        }
        let module = Scope::module(self.tree.module(block));
        let own = item.generics.params.iter().any(|param| !matches!(param, GenericParam::Lifetime(_)));
        if own {
            return For::Unknown;
        }
        let named = self.ty(&module, &item.self_ty);
        match self.types.info(named) {
            _ if named == id => For::This(Scope { this: Some(id), ..module }),
            Info::User(_) => For::Other,
            _ => For::Unknown,
        }
    }
}

/// What a block says of a type.
enum For {
    /// It is for the type; its code is read in this scope.
    This(Scope),
    /// It is for other arguments.
    Other,
    /// Only the compiler can tell.
    Unknown,
}

/// Attributes and visibility of an associated item.
pub(in crate::api) fn declared(item: &ImplItem) -> Option<(&[syn::Attribute], &Visibility)> {
    match item {
        ImplItem::Const(item) => Some((&item.attrs, &item.vis)),
        ImplItem::Fn(item) => Some((&item.attrs, &item.vis)),
        _ => None,
    }
}
