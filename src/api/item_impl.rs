//! The `impl` blocks of a type with its arguments, and what they declare.
//!
//! A block is for one type (`impl Size<u8>`); of one with parameters (`impl<T> Size<T>`) nothing is taken.

use syn::{GenericParam, ImplItem, Item, ItemImpl, Visibility};

use crate::schema::TypeId;
use crate::source::{CfgSet, ItemRef, ModuleId};

use super::maker::rewrites;
use super::types::{Info, Refusal, Scope, Types};
use super::value::{Env, Val};

/// What a block says of a type.
enum For {
    /// It is for the type; its code is read in this scope.
    This(Scope),
    /// It is for other arguments.
    Other,
    /// Only the compiler can tell.
    Unknown,
}

impl Types<'_> {
    /// The function of this name that a type has itself, outside of traits.
    pub(super) fn own_function(
        &mut self,
        scope: &Scope,
        id: TypeId,
        name: &str,
    ) -> Option<(syn::Signature, syn::Block, Scope)> {
        let (function, scope) = self.inherent(scope, id, |item| match item {
            ImplItem::Fn(item) if item.sig.ident == name => Some(item.clone()),
            _ => None,
        })?;
        Some((function.sig, function.block, scope))
    }

    /// The value of a constant that a type has itself.
    pub(super) fn associated_const(&mut self, scope: &Scope, id: TypeId, name: &str) -> Option<Result<Val, Refusal>> {
        let (item, scope) = self.inherent(scope, id, |item| match item {
            ImplItem::Const(item) if item.ident == name => Some(item.clone()),
            _ => None,
        })?;
        let expr = self.of_build(&scope, &item.expr, CfgSet::apply_to_expr)?;
        let ty = self.ty(&scope, &item.ty);
        Some(self.deeper(&scope, &expr, |types| types.eval(&scope, &Env::new(), &expr, Some(ty))))
    }

    /// An associated item of a type outside of trait impls, and the scope of its block. What code in `from` can't see
    /// does not hide that of a trait.
    fn inherent<T>(&mut self, from: &Scope, id: TypeId, find: impl Fn(&ImplItem) -> Option<T>) -> Option<(T, Scope)> {
        let tree = self.tree;
        let mut found = None;
        for block in tree.impls(self.user(id)?.item).iter().copied() {
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
            let hidden = !self.is_visible(from, vis, tree.module(block));
            if found.is_some() || hidden || rewrites(&item.attrs) || rewrites(attributes) {
                return None;
            }
            found = Some((hit, scope));
        }
        found
    }

    /// Whether a type has an associated item of this name outside of traits, for whatever arguments.
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

    /// The function of this name in the `impl` of the trait of this canonical path for a type.
    pub(super) fn trait_function(
        &mut self,
        id: TypeId,
        canonical: &str,
        name: &str,
    ) -> Option<(syn::ImplItemFn, Scope)> {
        let tree = self.tree;
        let mut found = None;
        for block in tree.impls(self.user(id)?.item).iter().copied() {
            let Item::Impl(item) = tree.item(block) else { continue };
            if self.trait_of(block).as_deref() != Some(canonical) {
                continue;
            }
            let scope = match self.block_for(id, block, item) {
                For::This(scope) => scope,
                For::Other => continue,
                For::Unknown => return None,
            };
            let function = item.items.iter().find_map(|item| match item {
                ImplItem::Fn(function) if function.sig.ident == name => Some(function.clone()),
                _ => None,
            })?;
            if found.is_some() || rewrites(&item.attrs) || rewrites(&function.attrs) {
                return None;
            }
            found = Some((function, scope));
        }
        found
    }

    /// Whether a type of the user has an `impl` of the trait of this canonical path, for whatever arguments.
    pub(super) fn implements(&self, id: TypeId, canonical: &str) -> bool {
        let Some(user) = self.user(id) else { return false };
        self.tree.impls(user.item).iter().any(|block| self.trait_of(*block).as_deref() == Some(canonical))
    }

    /// Whether code in a scope may use what is declared in a module with this visibility.
    pub(super) fn is_visible(&self, scope: &Scope, vis: &Visibility, module: ModuleId) -> bool {
        let around = |module| std::iter::successors(Some(module), |module| self.tree.parent(*module));
        let inside = |of: Option<ModuleId>| of.is_some_and(|of| around(scope.module).any(|module| module == of));
        match vis {
            Visibility::Public(_) => true,
            Visibility::Restricted(vis) if vis.path.is_ident("crate") => inside(around(module).last()),
            Visibility::Restricted(vis) if vis.path.is_ident("super") => inside(self.tree.parent(module)),
            Visibility::Restricted(_) | Visibility::Inherited => inside(Some(module)),
        }
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
        match self.info(named) {
            _ if named == id => For::This(Scope { this: Some(id), ..module }),
            Info::User(_) => For::Other,
            _ => For::Unknown,
        }
    }
}

/// The name of a parameter that stands for a type or a constant.
pub(super) fn parameter(param: &GenericParam) -> Option<String> {
    match param {
        GenericParam::Type(param) => Some(param.ident.to_string()),
        GenericParam::Const(param) => Some(param.ident.to_string()),
        GenericParam::Lifetime(_) => None,
    }
}

/// Attributes and visibility of an associated item.
fn declared(item: &ImplItem) -> Option<(&[syn::Attribute], &Visibility)> {
    match item {
        ImplItem::Const(item) => Some((&item.attrs, &item.vis)),
        ImplItem::Fn(item) => Some((&item.attrs, &item.vis)),
        _ => None,
    }
}
