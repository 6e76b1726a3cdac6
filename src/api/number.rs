//! Numbers: literals, and sums and products of integers, each checked against the type that the place has.

use syn::{BinOp, Expr, ExprBinary, Lit, UnOp};

use crate::schema::TypeId;

use super::call::unwrap;
use super::types::{Refusal, Scope, Types};
use super::value::{Env, Val};

type Eval<T = Val> = Result<T, Refusal>;

impl Types<'_> {
    pub(super) fn literal(&self, lit: &Lit, ty: Option<TypeId>, negative: bool) -> Option<Val> {
        let float = |text: &str, suffix: &str| {
            let text = if negative { format!("-{text}") } else { text.to_owned() };
            match (suffix, self.primitive_name(ty)) {
                ("f32", _) | ("", Some("f32")) => text.parse().ok().map(Val::F32),
                ("f64", _) | ("", Some("f64")) => text.parse().ok().map(Val::F64),
                // What stands beside it may make it one of the other width.
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
                    "" if ty.is_some() => self.fits(number, ty)?,
                    "" => i32::try_from(number).is_ok(),
                    suffix => in_range(number, suffix)?,
                };
                fits.then_some(Val::Int(number))
            }
            _ => None,
        }
    }

    /// The value of an expression that no place asks for a type of, where a float alone is an `f64`.
    pub(super) fn untyped(&mut self, scope: &Scope, env: &Env, expr: &Expr) -> Eval {
        let ty = if is_float(expr) { self.primitive("f64") } else { None };
        self.eval(scope, env, expr, ty)
    }

    /// Whether an integer is one of the type; `None` when the type is no integer.
    pub(super) fn fits(&self, value: i128, ty: Option<TypeId>) -> Option<bool> {
        in_range(value, self.primitive_name(ty)?)
    }

    /// `+`, `-` and `*` of integers, whose type is that of the place, or `usize` beside the length of a text.
    pub(super) fn sum(&mut self, scope: &Scope, env: &Env, expr: &ExprBinary, ty: Option<TypeId>) -> Eval {
        let operate = match &expr.op {
            BinOp::Add(_) => i128::checked_add,
            BinOp::Sub(_) => i128::checked_sub,
            BinOp::Mul(_) => i128::checked_mul,
            _ => return self.no(scope, expr),
        };
        let ty = if ty.is_none() && (is_length(&expr.left) || is_length(&expr.right)) {
            self.primitive("usize")
        } else {
            ty
        };
        if self.fits(0, ty).is_none() {
            return self.no(scope, expr);
        }
        match (self.eval(scope, env, &expr.left, ty)?, self.eval(scope, env, &expr.right, ty)?) {
            (Val::Int(left), Val::Int(right)) => {
                let value = operate(left, right).filter(|value| self.fits(*value, ty) == Some(true));
                value.map_or_else(|| self.no(scope, expr), |value| Ok(Val::Int(value)))
            }
            _ => self.no(scope, expr),
        }
    }
}

/// A float that does not say how wide it is.
fn is_float(expr: &Expr) -> bool {
    match unwrap(expr) {
        Expr::Lit(literal) => matches!(&literal.lit, Lit::Float(number) if number.suffix().is_empty()),
        Expr::Unary(unary) => matches!(unary.op, UnOp::Neg(_)) && is_float(&unary.expr),
        _ => false,
    }
}

/// A length, or a sum with one.
fn is_length(expr: &Expr) -> bool {
    match unwrap(expr) {
        Expr::MethodCall(call) => call.method == "len",
        Expr::Binary(sum) => is_length(&sum.left) || is_length(&sum.right),
        _ => false,
    }
}

pub(super) fn in_range(value: i128, ty: &str) -> Option<bool> {
    let (min, max) = range(ty)?;
    Some((min..=max).contains(&value))
}

pub(super) fn range(ty: &str) -> Option<(i128, i128)> {
    Some(match ty {
        "i8" => (i8::MIN.into(), i8::MAX.into()),
        "i16" => (i16::MIN.into(), i16::MAX.into()),
        "i32" => (i32::MIN.into(), i32::MAX.into()),
        "i64" | "isize" => (i64::MIN.into(), i64::MAX.into()),
        "i128" => (i128::MIN, i128::MAX),
        "u8" => (0, u8::MAX.into()),
        "u16" => (0, u16::MAX.into()),
        "u32" => (0, u32::MAX.into()),
        "u64" | "usize" => (0, u64::MAX.into()),
        _ => return None,
    })
}
