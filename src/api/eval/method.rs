//! Method calls on texts, numbers, JSON, schemas and rules. Methods of the user's types are refused, because their resolution may
//! depend on traits, bounds and `Deref`.

use syn::{Expr, ExprMethodCall};

use crate::schema::TypeId;
use crate::schema::known::ValueKind;

use super::evaluator::{Env, Eval, Evaluator};
use crate::api::types::TypeScope;
use crate::api::value::Val;

impl Evaluator<'_, '_> {
    pub(super) fn method(&mut self, scope: &TypeScope, env: &Env, call: &ExprMethodCall, ty: Option<TypeId>) -> Eval {
        let method = call.method.to_string();
        // Method resolution may find a trait method before the method of std.
        if self.tree.may_be_of_trait(scope.module, &method) {
            return self.unsupported(scope, call);
        }
        let receiver = match &*call.receiver {
            // The `Ok` value of a call has the expected type.
            Expr::Call(inner) if matches!(method.as_str(), "unwrap" | "expect") => self.call(scope, env, inner, ty)?,
            Expr::Array(pairs)
                if method == "into"
                    && pairs.elems.iter().all(|pair| matches!(pair, Expr::Tuple(_)))
                    && matches!(self.types.kind(ty), Some(ValueKind::TreeMap | ValueKind::HashMap)) =>
            {
                return self.map_of(scope, env, pairs, ty);
            }
            receiver => self.eval(scope, env, receiver, None)?,
        };
        if let Some(value) = self.schema_method(scope, env, call, &receiver)? {
            return Ok(value);
        }
        let value = match (receiver, method.as_str(), call.args.len()) {
            (Val::Str(text), "to_owned" | "clone", 0) => Some(Val::Str(text)),
            (value, "to_string", 0) => value.displayed().map(Val::Str),
            (Val::Str(text), "len", 0) => i128::try_from(text.len()).ok().map(Val::Int),
            // The expected type is the target of `into`.
            (Val::Str(text), "into", 0) if self.types.is_text(ty) => Some(Val::Str(text)),
            (Val::Str(text), "into", 0) if self.types.kind(ty) == Some(ValueKind::Path) => Some(Val::Json(text.into())),
            (value, "into", 0) if self.types.is_json(ty) && value.is_simple() => Some(value),
            (value @ Val::Int(number), "into", 0) if self.types.fits(number, ty) == Some(true) => Some(value),
            (Val::Seq(items), "into", 0) if self.types.kind(ty) == Some(ValueKind::Vec) => Some(Val::Seq(items)),
            _ => None,
        };
        self.or_unsupported(scope, call, value)
    }
}
