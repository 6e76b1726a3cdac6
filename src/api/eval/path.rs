//! Paths: variables, constants, variants and unit structs.

use serde_json::Value;
use syn::{Expr, Fields, Item, Path};

use crate::schema::TypeId;
use crate::source::{Namespace, Resolution};

use super::foreign::constant;
use super::syntax::owner_type;
use super::{Env, Eval, Evaluator, Target};
use crate::api::types::Scope;
use crate::api::value::Val;

impl Evaluator<'_> {
    pub(in crate::api) fn path(
        &mut self,
        scope: &Scope,
        env: &Env,
        expr: &Expr,
        path: &Path,
        ty: Option<TypeId>,
    ) -> Eval {
        if let Some(value) = path.get_ident().and_then(|ident| env.get(&ident.to_string())) {
            self.spend(scope, expr, value.weight())?;
            return Ok(value.clone());
        }
        match self.expected_variant(scope, path, ty).or_else(|| self.value_path(scope, path)) {
            Some(Target::Item(item)) => self.constant(scope, expr, item),
            Some(Target::Member(id, name)) => {
                if let Some((index, Fields::Unit)) = self.types.variant(id, &name) {
                    return Ok(Val::Variant(id, index, Vec::new()));
                }
                self.associated_const(id, &name).unwrap_or_else(|| self.unsupported(scope, expr))
            }
            Some(Target::Foreign(path)) if path[0] == "k8s_openapi" => match self.types.k8s_constant(scope, &path) {
                Some(text) => Ok(Val::Str(text)),
                None => self.unsupported(scope, expr),
            },
            Some(Target::Foreign(path)) => match path.join("::").as_str() {
                "std::option::Option::None" => Ok(Val::None),
                "std::marker::PhantomData" => Ok(Val::Unit),
                "serde_json::Value::Null" | "serde_json::value::Value::Null" => Ok(Val::Json(Value::Null)),
                path => match constant(path) {
                    Some(Val::Int(value)) if self.types.fits(value, ty) == Some(false) => self.unsupported(scope, expr),
                    Some(value) => Ok(value),
                    None => self.unsupported(scope, expr),
                },
            },
            Some(Target::Itself(id)) => match self.types.shape(id) {
                Some(Fields::Unit) => Ok(Val::Struct(id, Vec::new())),
                _ => self.unsupported(scope, expr),
            },
            None => self.unknown(scope, expr, path),
        }
    }

    /// What a path in an expression names. `Self` and generic parameters are resolved here.
    pub(super) fn value_path(&mut self, scope: &Scope, path: &Path) -> Option<Target> {
        let first = &path.segments.first()?.ident;
        if first == "Self" {
            let this = scope.this?;
            return match path.segments.len() {
                1 => Some(Target::Itself(this)),
                2 => Some(Target::Member(this, path.segments[1].ident.to_string())),
                _ => None,
            };
        }
        if scope.generics.contains_key(&first.to_string()) {
            return None;
        }
        match self.types.resolve_in(scope, path, Namespace::Values) {
            Resolution::Local(item) => match self.tree.item(item) {
                Item::Struct(_) => self.types.item_type(scope, item).map(Target::Itself),
                _ => Some(Target::Item(item)),
            },
            Resolution::Member(item, name) => {
                let Some(owner) = owner_type(path) else {
                    // An import brought it in.
                    return self.types.item_type(scope, item).map(|id| Target::Member(id, name));
                };
                let written = path.segments.iter().rev().nth(1).is_some_and(|owner| !owner.arguments.is_none());
                if written || matches!(self.tree.item(item), Item::Type(_)) {
                    let id = self.ty(scope, &owner);
                    return self.types.user(id).is_some().then_some(Target::Member(id, name));
                }
                self.types.item_type(scope, item).map(|id| Target::Member(id, name))
            }
            Resolution::Foreign(path) => Some(Target::Foreign(path)),
            Resolution::Unresolved(_) | Resolution::Primitive(_) => None,
        }
    }

    /// A variant of the enum that the place asks for, from which its arguments follow.
    pub(super) fn expected_variant(&mut self, scope: &Scope, path: &Path, ty: Option<TypeId>) -> Option<Target> {
        let (id, user) = (ty?, self.types.user(ty?)?);
        match self.types.resolve_in(scope, path, Namespace::Values) {
            Resolution::Member(item, name) if user.item == item && self.types.variant(id, &name).is_some() => {
                Some(Target::Member(id, name))
            }
            _ => None,
        }
    }
}
