//! Paths: variables, constants, variants and unit structs.

use serde_json::Value;
use syn::{Expr, Fields, Item, Path};

use crate::schema::known::ValueKind;
use crate::schema::{TypeId, known};
use crate::source::{Namespace, Resolution};

use super::evaluator::{Env, Eval, EvalTarget, Evaluator};
use super::syntax::owner_type;
use crate::api::types::TypeScope;
use crate::api::value::Val;

impl Evaluator<'_, '_> {
    pub(in crate::api) fn path(
        &mut self,
        scope: &TypeScope,
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
            Some(EvalTarget::Item(item)) => self.constant(scope, expr, item),
            Some(EvalTarget::Member(id, name)) => {
                if let Some((index, Fields::Unit)) = self.types.variant(id, &name) {
                    return Ok(Val::Variant(id, index, Vec::new()));
                }
                self.associated_const(id, &name).unwrap_or_else(|| self.unsupported(scope, expr))
            }
            Some(EvalTarget::Foreign(path)) => self.or_unsupported(scope, expr, constant(&path.join("::"))),
            Some(EvalTarget::Itself(id)) => match self.types.shape(id) {
                Some(Fields::Unit) => Ok(Val::Struct(id, Vec::new())),
                _ => self.unsupported(scope, expr),
            },
            None => self.unknown(scope, expr, path),
        }
    }

    /// Resolves a path in an expression, including `Self` and generic parameters.
    pub(super) fn value_path(&mut self, scope: &TypeScope, path: &Path) -> Option<EvalTarget> {
        let first = &path.segments.first()?.ident;
        if first == "Self" {
            let this = scope.this?;
            return match path.segments.len() {
                1 => Some(EvalTarget::Itself(this)),
                2 => Some(EvalTarget::Member(this, path.segments[1].ident.to_string())),
                _ => None,
            };
        }
        if scope.generics.contains_key(&first.to_string()) {
            return None;
        }
        match self.types.resolve_in(scope, path, Namespace::Values) {
            Resolution::Local(item) => match self.tree.item(item) {
                Item::Struct(_) => self.types.item_type(scope, item).map(EvalTarget::Itself),
                _ => Some(EvalTarget::Item(item)),
            },
            Resolution::Member(item, name) => {
                let Some(owner) = owner_type(path) else {
                    // An import brings the variant into scope.
                    return self.types.item_type(scope, item).map(|id| EvalTarget::Member(id, name));
                };
                let written = path.segments.iter().rev().nth(1).is_some_and(|owner| !owner.arguments.is_none());
                if written || matches!(self.tree.item(item), Item::Type(_)) {
                    let id = self.ty(scope, &owner);
                    return self.types.user(id).is_some().then_some(EvalTarget::Member(id, name));
                }
                self.types.item_type(scope, item).map(|id| EvalTarget::Member(id, name))
            }
            Resolution::Foreign(path) => Some(EvalTarget::Foreign(path)),
            Resolution::Unresolved(_) | Resolution::Primitive(_) => None,
        }
    }

    /// Resolves a variant of the expected enum, which determines the arguments.
    pub(super) fn expected_variant(
        &mut self,
        scope: &TypeScope,
        path: &Path,
        ty: Option<TypeId>,
    ) -> Option<EvalTarget> {
        let (id, user) = (ty?, self.types.user(ty?)?);
        match self.types.resolve_in(scope, path, Namespace::Values) {
            Resolution::Member(item, name) if user.item == item && self.types.variant(id, &name).is_some() => {
                Some(EvalTarget::Member(id, name))
            }
            _ => None,
        }
    }
}

/// The constant of a canonical path, such as `std::u32::MAX`.
fn constant(path: &str) -> Option<Val> {
    let kind = |path: &str| known::lookup(path).map(|known| known.kind);
    let (of, name) = path.rsplit_once("::")?;
    match (kind(of).or_else(|| kind(of.strip_prefix("std::")?)), name) {
        (Some(ValueKind::Option), "None") => Some(Val::None),
        (Some(ValueKind::Json), "Null") => Some(Val::Json(Value::Null)),
        (Some(ValueKind::Integer(min, _)), "MIN") => Some(Val::Int(min)),
        (Some(ValueKind::Integer(_, max)), "MAX") => Some(Val::Int(max)),
        _ if kind(path) == Some(ValueKind::Phantom) => Some(Val::Unit),
        _ => None,
    }
}
