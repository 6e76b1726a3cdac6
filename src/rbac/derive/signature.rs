//! The signatures of functions, with their type parameters open.

use super::index::{FunctionId, Owner};
use super::lower::{Lowering, NameScope, bounds_of};
use super::types::Ty;

#[derive(Debug)]
pub(super) struct Signature {
    pub(super) id: FunctionId,
    pub(super) scope: NameScope,
    /// Without the receiver; what is given for them, as far as it is known.
    pub(super) parameters: Vec<Ty>,
    pub(super) output: Ty,
}

impl Lowering<'_> {
    /// Type parameters: to be inferred from a call, or as they are.
    fn parameters(&mut self, scope: &mut NameScope, declared: &[&syn::Generics], is_called: bool) {
        for generics in declared {
            for parameter in generics.type_params() {
                let name = parameter.ident.to_string();
                let ty = if is_called { self.inferred.fresh() } else { Ty::Param(name.as_str().into()) };
                scope.generics.insert(name, ty);
            }
        }
        for generics in declared {
            for parameter in generics.type_params() {
                let bounds = bounds_of(generics, &parameter.ident).into_iter().cloned();
                let bounds: syn::punctuated::Punctuated<_, syn::Token![+]> = bounds.collect();
                let traits = self.traits(scope, &bounds);
                scope.bounds.insert(parameter.ident.to_string(), traits);
                let shape = self.bounds(scope, &bounds);
                // A bound by a trait of the tree says which methods there are, not what the type is.
                if let Some(shape) =
                    shape.filter(|shape| !matches!(shape, Ty::Item(..) | Ty::Foreign(..) | Ty::Unknown))
                {
                    let name = parameter.ident.to_string();
                    match scope.generics.get(&name).cloned() {
                        Some(open @ Ty::Infer(_)) => self.inferred.unify(&open, &shape),
                        _ => {
                            scope.generics.insert(name, shape);
                        }
                    }
                }
            }
        }
    }

    /// A function as it is called with the type arguments that are written, or as it is by itself.
    pub(super) fn signature(&mut self, id: FunctionId, itself: Option<Ty>, explicit: Option<&[Ty]>) -> Signature {
        let function = self.index.get(id).clone();
        let mut scope = NameScope::new(function.module);
        let declared: Vec<_> = function.generics().collect();
        self.parameters(&mut scope, &declared, explicit.is_some());
        scope.itself.clone_from(&itself);
        match function.owner {
            Some(Owner::Impl(block, _)) => {
                scope.block = Some(block.id);
                let of = self.lower(&scope, &block.item.self_ty);
                if let Some(itself) = &itself {
                    self.inferred.unify(&of, itself);
                }
                let of = self.inferred.resolve(&of);
                scope.itself = Some(itself.map_or(of.clone(), |itself| of.refine(&itself)));
            }
            Some(Owner::Trait(declared, item)) => {
                let arguments = declared.generics.type_params();
                let arguments = arguments.filter_map(|found| scope.generics.get(&found.ident.to_string()).cloned());
                let mut traits = vec![Ty::Item(item, arguments.collect())];
                traits.extend(self.traits(&scope, &declared.supertraits));
                scope.bounds.insert("Self".to_owned(), traits);
                if itself.is_none() {
                    scope.itself = Some(Ty::Param("Self".into()));
                }
            }
            None => {}
        }
        let parameters = function.inputs(self.tree).map(|input| self.lower(&scope, &input.ty)).collect();
        let output = self.lower_return(&scope, &function.signature.output);
        for (parameter, ty) in function.signature.generics.type_params().zip(explicit.unwrap_or_default()) {
            if let Some(open) = scope.generics.get(&parameter.ident.to_string()) {
                self.inferred.unify(open, ty);
            }
        }
        Signature { id, scope, parameters, output }
    }
}
