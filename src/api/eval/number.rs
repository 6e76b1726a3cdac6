//! Numbers: literals, and sums and products of integers. Each is checked against the expected type.

use syn::{BinOp, Expr, ExprBinary, Lit, UnOp};

use crate::schema::known::ValueKind;
use crate::schema::{TypeId, known};

use super::evaluator::{Env, Eval, Evaluator};
use super::syntax::unwrap;
use crate::api::types::TypeScope;
use crate::api::value::Val;

impl Evaluator<'_, '_> {
    pub(in crate::api) fn literal(&self, lit: &Lit, ty: Option<TypeId>, negative: bool) -> Option<Val> {
        let float = |text: &str, suffix: &str| {
            let text = if negative { format!("-{text}") } else { text.to_owned() };
            match (suffix, self.types.kind(ty)) {
                ("f32", _) | ("", Some(ValueKind::F32)) => text.parse().ok().map(Val::F32),
                ("f64", _) | ("", Some(ValueKind::F64)) => text.parse().ok().map(Val::F64),
                // The other operand may determine another width.
                _ => None,
            }
        };
        match lit {
            Lit::Str(text) if !negative => Some(Val::Str(text.value())),
            Lit::Bool(value) if !negative => Some(Val::Bool(value.value)),
            Lit::Char(value) if !negative => Some(Val::Char(value.value())),
            Lit::Float(value) => float(value.base10_digits(), value.suffix()),
            Lit::Int(value) if matches!(value.suffix(), "f32" | "f64") => float(value.base10_digits(), value.suffix()),
            Lit::Int(value) => {
                // In an attribute the sign may be part of the literal.
                let number: i128 = value.base10_parse().ok()?;
                let number = if negative { -number } else { number };
                let fits = match value.suffix() {
                    "" if ty.is_some() => self.types.fits(number, ty)?,
                    "" => i32::try_from(number).is_ok(),
                    suffix => known::lookup(suffix)?.kind.holds(number)?,
                };
                fits.then_some(Val::Int(number))
            }
            _ => None,
        }
    }

    /// Evaluates an expression without an expected type. A float is an `f64`.
    pub(in crate::api) fn untyped(&mut self, scope: &TypeScope, env: &Env, expr: &Expr) -> Eval {
        let ty = if is_float(expr) { self.types.primitive("f64") } else { None };
        self.eval(scope, env, expr, ty)
    }

    /// Evaluates `+`, `-` and `*` of integers. Their type is the expected type, or `usize` beside the length of a text.
    pub(in crate::api) fn sum(&mut self, scope: &TypeScope, env: &Env, expr: &ExprBinary, ty: Option<TypeId>) -> Eval {
        let operate = match &expr.op {
            BinOp::Add(_) => i128::checked_add,
            BinOp::Sub(_) => i128::checked_sub,
            BinOp::Mul(_) => i128::checked_mul,
            _ => return self.unsupported(scope, expr),
        };
        let ty = if ty.is_none() && (is_length(&expr.left) || is_length(&expr.right)) {
            self.types.primitive("usize")
        } else {
            ty
        };
        if self.types.fits(0, ty).is_none() {
            return self.unsupported(scope, expr);
        }
        match (self.eval(scope, env, &expr.left, ty)?, self.eval(scope, env, &expr.right, ty)?) {
            (Val::Int(left), Val::Int(right)) => {
                let value = operate(left, right).filter(|value| self.types.fits(*value, ty) == Some(true));
                self.or_unsupported(scope, expr, value.map(Val::Int))
            }
            _ => self.unsupported(scope, expr),
        }
    }
}

/// Returns true for a float without a suffix.
fn is_float(expr: &Expr) -> bool {
    match unwrap(expr) {
        Expr::Lit(literal) => matches!(&literal.lit, Lit::Float(number) if number.suffix().is_empty()),
        Expr::Unary(unary) => matches!(unary.op, UnOp::Neg(_)) && is_float(&unary.expr),
        _ => false,
    }
}

/// Returns true for a length, or a sum with a length.
fn is_length(expr: &Expr) -> bool {
    match unwrap(expr) {
        Expr::MethodCall(call) => call.method == "len",
        Expr::Binary(sum) => is_length(&sum.left) || is_length(&sum.right),
        _ => false,
    }
}
