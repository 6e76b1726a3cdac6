//! Which function a method is, by the type that it is called on.

use super::foreign::ForeignType;
use super::index::{FunctionId, ImplBlock, Owner};
use super::lower::{Lowering, NameScope};
use super::types::Ty;
use crate::source::ItemRef;

impl Lowering<'_> {
    /// The type that an `impl` block is for; its parameters fit anything.
    pub(super) fn implemented(&mut self, block: ImplBlock<'_>) -> Ty {
        if let Some(known) = self.blocks.get(&block.id) {
            return known.clone();
        }
        let mut scope = NameScope::new(block.module);
        for parameter in block.item.generics.type_params() {
            let name = parameter.ident.to_string();
            scope.generics.insert(name.clone(), Ty::Param(name.as_str().into()));
        }
        let ty = self.lower(&scope, &block.item.self_ty);
        self.blocks.insert(block.id, ty.clone());
        ty
    }

    /// The scope inside of an `impl` block when it is for this type.
    pub(super) fn scope_of(&mut self, block: ImplBlock<'_>, itself: Ty) -> NameScope {
        let mut scope = NameScope::new(block.module);
        scope.generics = self.bind_generics(&scope, &block.item.generics, &[]);
        let of = self.lower(&scope, &block.item.self_ty);
        self.inferred.unify(&of, &itself);
        scope.itself = Some(itself);
        scope.block = Some(block.id);
        scope
    }

    /// The function that a method of a type is.
    pub(super) fn method(&mut self, ty: &Ty, name: &str) -> Option<FunctionId> {
        let mut default = None;
        let mut blanket = None;
        for id in self.index.methods(name).to_vec() {
            let function = self.index.get(id).clone();
            match function.owner {
                Some(Owner::Impl(..)) if matches!(ty, Ty::Param(_) | Ty::Unknown | Ty::Infer(_)) => {}
                Some(Owner::Impl(block, of)) => {
                    let lowered = self.implemented(block);
                    match (&lowered, ty) {
                        (Ty::Param(_), _) if of.is_some() => blanket = blanket.or(Some((id, of))),
                        (Ty::Param(_) | Ty::Unknown, _) => {}
                        _ if self.may_be(&lowered, ty) => return Some(id),
                        _ => {}
                    }
                }
                Some(Owner::Trait(_, item)) => {
                    let fits = match ty {
                        Ty::Item(of, _) if *of == item => true,
                        of if self.is_trait(of) => self.inherits(of, item),
                        Ty::Param(_) => true,
                        Ty::Unknown | Ty::Infer(_) => false,
                        ty => self.implements(ty, item),
                    };
                    if fits {
                        default = default.or(Some((id, Some(item))));
                    }
                }
                None => {}
            }
        }
        // A blanket implementation comes before the default of the trait.
        let by_both = matches!((default, blanket), (Some((_, one)), Some((_, other))) if one == other);
        let found = if by_both { blanket } else { default.or(blanket) };
        found.map(|(id, _)| id)
    }

    pub(super) fn is_trait(&self, ty: &Ty) -> bool {
        matches!(ty, Ty::Item(item, _) if matches!(self.tree.item(*item), syn::Item::Trait(_)))
    }

    fn implements(&mut self, ty: &Ty, of: ItemRef) -> bool {
        let blocks = self.index.implementations.get(&of).cloned().unwrap_or_default();
        blocks.into_iter().any(|block| {
            let lowered = self.implemented(block);
            self.may_be(&lowered, ty)
        })
    }

    /// A type of an `impl` block, whose parameters are still open, may be this one.
    pub(super) fn may_be(&self, of: &Ty, ty: &Ty) -> bool {
        match (&self.inferred.resolve(of), &self.inferred.resolve(ty)) {
            (Ty::Infer(_) | Ty::Param(_), _) | (_, Ty::Infer(_) | Ty::Param(_)) => true,
            (Ty::Root(a), Ty::Root(b)) => a == b,
            (Ty::Tuple(one), Ty::Tuple(other)) if one.len() != other.len() => false,
            (Ty::Foreign(ForeignType::Kube(one), _), Ty::Elsewhere(other)) => one == other,
            (Ty::Foreign(ForeignType::Str | ForeignType::String, _), text) if text.is_known_text() => true,
            (one, other) => {
                one.paired(other).is_some_and(|mut parts| parts.all(|(one, other)| self.may_be(one, other)))
            }
        }
    }

    /// The element type of a collection.
    pub(super) fn element(&self, ty: &Ty) -> Ty {
        match self.inferred.resolve(ty) {
            Ty::Many(element) => (*element).clone(),
            Ty::Map(value) => Ty::Tuple(vec![Ty::Unknown, (*value).clone()]),
            table @ Ty::Table(_) => self.element(&table.general()),
            _ => Ty::Unknown,
        }
    }

    /// The elements of a type of the tree that implements `Iterator` or `IntoIterator`.
    pub(super) fn iterated(&mut self, ty: &Ty) -> Option<Ty> {
        if !matches!(ty, Ty::Item(..)) {
            return None;
        }
        let name = syn::PathSegment::from(syn::Ident::new("Item", proc_macro2::Span::call_site()));
        let element = self.associated_type(ty, Some(&name), |block| {
            let path = block.item.trait_.as_ref().map(|(path, _)| path);
            let last = path.and_then(|path| path.segments.last());
            last.is_some_and(|last| ["Iterator", "IntoIterator", "Stream"].iter().any(|name| last.ident == name))
        });
        (element != Ty::Unknown).then(|| Ty::many(element))
    }

    /// The target type of `Deref` for a type of the tree.
    pub(super) fn deref(&mut self, ty: &Ty) -> Option<Ty> {
        for block in self.index.derefs.clone() {
            let of = self.implemented(block);
            if !self.may_be(&of, ty) {
                continue;
            }
            let scope = self.scope_of(block, ty.clone());
            let target = self.lower(&scope, block.associated_type("Target")?);
            return Some(self.inferred.resolve(&target));
        }
        None
    }
}
