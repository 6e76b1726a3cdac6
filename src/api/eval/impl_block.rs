//! The `impl` blocks of a type with its arguments, and their items.
//!
//! Only blocks for one type count (`impl Size<u8>`). Blocks with parameters (`impl<T> Size<T>`) are not supported.

use syn::{GenericParam, ImplItem, Item, ItemImpl};

use crate::schema::TypeId;
use crate::source::ItemRef;

use super::block::has_cfg;
use super::evaluator::{Env, Eval, EvalFunction, Evaluator};
use crate::api::item_attrs::rewrites;
use crate::api::types::{Info, TypeScope};

impl<'t> Evaluator<'_, 't> {
    /// Returns the inherent function of this name.
    pub(super) fn own_function(&mut self, id: TypeId, name: &str) -> Option<EvalFunction> {
        self.function_of(id, None, name)
    }

    /// Returns the function of this name in the type's `impl` of the trait with this canonical path.
    pub(super) fn trait_function(&mut self, id: TypeId, canonical: &str, name: &str) -> Option<EvalFunction> {
        self.function_of(id, Some(canonical), name)
    }

    fn function_of(&mut self, id: TypeId, of: Option<&str>, name: &str) -> Option<EvalFunction> {
        let (item, scope) =
            self.associated(id, of, |item| matches!(item, ImplItem::Fn(item) if item.sig.ident == name))?;
        let ImplItem::Fn(function) = item else { return None };
        (!rewrites(&function.attrs)).then(|| EvalFunction::of(function, &scope))
    }

    /// Evaluates an inherent constant of a type.
    pub(super) fn associated_const(&mut self, id: TypeId, name: &str) -> Option<Eval> {
        let (item, scope) =
            self.associated(id, None, |item| matches!(item, ImplItem::Const(item) if item.ident == name))?;
        let ImplItem::Const(item) = item else { return None };
        if has_cfg(&item.expr) || rewrites(&item.attrs) {
            return None;
        }
        let ty = self.ty(&scope, &item.ty);
        Some(self.deeper(&scope, &item.expr, |eval| eval.eval(&scope, &Env::new(), &item.expr, Some(ty))))
    }

    /// Returns an associated item of a type, inherent or of a trait, with the scope of its block. An inherent item is not
    /// found if a trait has an item of this name, too, because the traits in scope decide between them.
    fn associated(
        &mut self,
        id: TypeId,
        of: Option<&str>,
        is: impl Fn(&ImplItem) -> bool,
    ) -> Option<(&'t ImplItem, TypeScope)> {
        let tree = self.tree;
        let mut found = None;
        for block in tree.impls(self.types.user(id)?.item).iter().copied() {
            let Item::Impl(item) = tree.item(block) else { continue };
            let Some(part) = item.items.iter().find(|part| is(part)) else { continue };
            let found_in = self.types.trait_of(block);
            if of.is_some() && found_in.as_deref() != of {
                continue;
            }
            let scope = match self.block_for(id, block, item) {
                BlockFor::This(scope) => scope,
                BlockFor::Other => continue,
                BlockFor::Unknown => return None,
            };
            if found.is_some() || found_in.as_deref() != of || rewrites(&item.attrs) {
                return None;
            }
            found = Some((part, scope));
        }
        found
    }

    /// Compares the arguments of a block with the arguments of a type of the same item.
    fn block_for(&mut self, id: TypeId, block: ItemRef, item: &ItemImpl) -> BlockFor {
        if self.tree.unknown_cfg(block).is_some() {
            return BlockFor::Unknown;
        }
        let module = TypeScope::module(self.tree.module(block));
        let own = item.generics.params.iter().any(|param| !matches!(param, GenericParam::Lifetime(_)));
        if own {
            return BlockFor::Unknown;
        }
        let named = self.ty(&module, &item.self_ty);
        match self.types.info(named) {
            _ if named == id => BlockFor::This(TypeScope { this: Some(id), ..module }),
            Info::User(_) => BlockFor::Other,
            _ => BlockFor::Unknown,
        }
    }
}

/// The target of an `impl` block, compared with one type.
enum BlockFor {
    /// The type itself; the code of the block is read in this scope.
    This(TypeScope),
    /// Another type of the same item, with other arguments.
    Other,
    /// Only the compiler can tell.
    Unknown,
}
