//! Calls: constructors and functions of the source.

use std::rc::Rc;

use quote::ToTokens;
use syn::{Expr, ExprCall, Fields, FnArg, GenericArgument, Item, Pat, Path, Signature};

use crate::schema::TypeId;

use super::block::has_cfg;
use super::evaluator::{Env, Eval, EvalFunction, EvalTarget, Evaluator};
use super::syntax::{call_of, generic_default, has_arguments, owner_type, parameter};
use crate::api::item_attrs::rewrites;
use crate::api::types::TypeScope;
use crate::api::value::Val;

impl Evaluator<'_, '_> {
    /// Returns true if a path names a generic type of the user without its arguments. An alias does not count, because it may
    /// have the arguments.
    fn leaves_out_arguments(&self, scope: &TypeScope, path: &Path, id: TypeId) -> bool {
        let is_generic = self.types.user(id).is_some_and(|user| !user.scope.generics.is_empty());
        let Some(syn::Type::Path(owner)) = owner_type(path).filter(|_| is_generic && !has_arguments(path)) else {
            return false;
        };
        self.types.names(scope, &owner.path, id)
    }

    pub(super) fn call(&mut self, scope: &TypeScope, env: &Env, call: &ExprCall, ty: Option<TypeId>) -> Eval {
        let Expr::Path(function) = &*call.func else { return self.unsupported(scope, call) };
        if let Some(name) = self.schema_name_call(scope, call) {
            return Ok(Val::Str(name));
        }
        if let Some(schema) = self.json_schema_call(scope, env, call)? {
            return Ok(schema);
        }
        if function.qself.is_some() {
            return self.unsupported(scope, call);
        }
        let arguments: Vec<&Expr> = call.args.iter().collect();
        if let Some(id) = generic_default(scope, &function.path).filter(|_| arguments.is_empty()) {
            return self.default_of(scope, call, id);
        }
        // A generic type takes its arguments from the expected type.
        let asked = ty.filter(|id| self.types.shape(*id).is_some() && self.types.names(scope, &function.path, *id));
        let asked = asked.map(EvalTarget::Itself).or_else(|| self.expected_variant(scope, &function.path, ty));
        match asked.or_else(|| self.value_path(scope, &function.path)) {
            Some(EvalTarget::Foreign(path)) => self.foreign_call(scope, env, call, &path, &function.path, ty),
            Some(EvalTarget::Itself(id)) => match self.types.shape(id).cloned() {
                Some(fields @ Fields::Unnamed(_)) => {
                    Ok(Val::Struct(id, self.constructor(scope, env, call, id, &fields, &arguments)?))
                }
                _ => self.unsupported(scope, call),
            },
            Some(EvalTarget::Member(id, name)) => {
                if let Some((index, fields)) = self.types.variant(id, &name) {
                    let fields = fields.clone();
                    return Ok(Val::Variant(id, index, self.constructor(scope, env, call, id, &fields, &arguments)?));
                }
                // The compiler infers omitted arguments, even inside of the type's own blocks.
                if ty != Some(id) && self.leaves_out_arguments(scope, &function.path, id) {
                    return self.unsupported(scope, call);
                }
                match self.own_function(id, &name) {
                    Some(found) => {
                        let found = self.turbofish(scope, &function.path, found);
                        self.function(scope, env, call, &found, &arguments)
                    }
                    None if name == "default" && arguments.is_empty() && !self.types.has_own(id, "default") => {
                        self.default_of(scope, call, id)
                    }
                    None => self.unsupported(scope, call),
                }
            }
            Some(EvalTarget::Item(item)) => match self.tree.item(item) {
                Item::Fn(found) if self.tree.unknown_cfg(item).is_none() && !rewrites(&found.attrs) => {
                    let (sig, block) = (found.sig.clone(), (*found.block).clone());
                    let found = EvalFunction { sig, block, scope: TypeScope::module(self.tree.module(item)) };
                    let found = self.turbofish(scope, &function.path, found);
                    self.function(scope, env, call, &found, &arguments)
                }
                _ => self.unsupported(scope, call),
            },
            None => self.unknown(scope, call, &function.path),
        }
    }

    /// Binds the type parameters of a generic function to the arguments of `path::<A>`.
    pub(super) fn turbofish(&mut self, scope: &TypeScope, path: &Path, function: EvalFunction) -> EvalFunction {
        let Some(syn::PathArguments::AngleBracketed(list)) = path.segments.last().map(|last| &last.arguments) else {
            return function;
        };
        let types = list.args.iter().filter_map(|argument| match argument {
            GenericArgument::Type(syn::Type::Infer(_)) => None,
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        });
        let given: Vec<&syn::Type> = types.collect();
        let parameters: Vec<String> = function.sig.generics.params.iter().filter_map(parameter).collect();
        if given.len() != parameters.len() {
            return function;
        }
        let mut generics = (*function.scope.generics).clone();
        for (name, argument) in parameters.into_iter().zip(given) {
            generics.insert(name, self.ty(scope, argument));
        }
        let inner = TypeScope { generics: Rc::new(generics), ..function.scope };
        EvalFunction { scope: inner, ..function }
    }

    fn constructor(
        &mut self,
        scope: &TypeScope,
        env: &Env,
        call: &ExprCall,
        id: TypeId,
        fields: &Fields,
        arguments: &[&Expr],
    ) -> Eval<Vec<Val>> {
        let types = self.field_types(id, fields);
        if types.len() != arguments.len() {
            return self.unsupported(scope, call);
        }
        arguments.iter().zip(types).map(|(argument, ty)| self.eval(scope, env, argument, Some(ty))).collect()
    }

    fn function(
        &mut self,
        scope: &TypeScope,
        env: &Env,
        call: &impl ToTokens,
        function: &EvalFunction,
        arguments: &[&Expr],
    ) -> Eval {
        let EvalFunction { sig, scope: inner, .. } = function;
        if !self.is_bound(sig, inner) || sig.inputs.len() != arguments.len() {
            return self.unsupported(scope, call);
        }
        let mut values = Vec::new();
        for (input, argument) in sig.inputs.iter().zip(arguments) {
            let FnArg::Typed(input) = input else { return self.unsupported(scope, call) };
            let ty = self.ty(inner, &input.ty);
            values.push(self.eval(scope, env, argument, Some(ty))?);
        }
        self.invoke(scope, call, function, values)
    }

    pub(super) fn invoke(
        &mut self,
        scope: &TypeScope,
        call: &impl ToTokens,
        function: &EvalFunction,
        values: Vec<Val>,
    ) -> Eval {
        let EvalFunction { sig, block, scope: inner } = function;
        if !self.is_bound(sig, inner) || sig.inputs.len() != values.len() {
            return self.unsupported(scope, call);
        }
        let mut env = Env::new();
        for (input, value) in sig.inputs.iter().zip(values) {
            let FnArg::Typed(input) = input else { return self.unsupported(scope, call) };
            let ty = self.ty(inner, &input.ty);
            if !self.types.conforms(&value, ty) {
                return self.unsupported(scope, call);
            }
            match &*input.pat {
                Pat::Wild(_) => {}
                Pat::Ident(name) if name.mutability.is_none() && name.subpat.is_none() => {
                    env.insert(name.ident.to_string(), value);
                }
                _ => return self.unsupported(scope, call),
            }
        }
        if has_cfg(block) {
            return self.unsupported(scope, call);
        }
        let output = match &sig.output {
            syn::ReturnType::Default => None,
            syn::ReturnType::Type(_, ty) if matches!(**ty, syn::Type::ImplTrait(_)) => {
                return self.unsupported(scope, call);
            }
            syn::ReturnType::Type(_, ty) => Some(self.ty(inner, ty)),
        };
        self.deeper(scope, call, |eval| eval.block(inner, &env, block, output))
    }

    /// Returns true if the type parameters of a function stand for known types, and their bounds add no methods of the user.
    pub(super) fn is_bound(&self, sig: &Signature, inner: &TypeScope) -> bool {
        sig.asyncness.is_none()
            && sig.generics.params.iter().filter_map(parameter).all(|name| inner.generics.contains_key(&name))
            && self.types.has_plain_bounds(inner, sig)
    }

    pub(super) fn list<'e>(
        &mut self,
        scope: &TypeScope,
        env: &Env,
        items: impl Iterator<Item = &'e Expr>,
        element: Option<TypeId>,
    ) -> Eval<Vec<Val>> {
        items.map(|item| self.eval(scope, env, item, element)).collect()
    }

    /// Evaluates a function without parameters, as `#[serde(default = "path")]` calls it.
    pub(in crate::api) fn call_path(&mut self, scope: &TypeScope, path: &syn::ExprPath, ty: TypeId) -> Eval {
        self.call(scope, &Env::new(), &call_of(path.clone(), None), Some(ty))
    }
}
