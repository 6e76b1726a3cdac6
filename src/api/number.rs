//! Numbers: literals, operators and casts, each checked against the type that the number has.

use std::cmp::Ordering;
use std::path::Path;

use serde_json::Value;
use syn::punctuated::Punctuated;
use syn::{BinOp, Expr, Item, ItemConst, ItemStatic, Lit, Token, UnOp};

use crate::schema::TypeId;

use super::call::unwrap;
use super::types::{Refusal, Scope, Types};
use super::value::{Env, Target, Val};

type Eval<T = Val> = Result<T, Refusal>;

impl Types<'_> {
    pub(super) fn literal(&self, lit: &Lit, ty: Option<TypeId>, negative: bool) -> Option<Val> {
        let float = |text: &str, suffix: &str| {
            let text = if negative { format!("-{text}") } else { text.to_owned() };
            match (suffix, self.primitive_name(ty)) {
                ("f32", _) | ("", Some("f32")) => text.parse().ok().map(Val::F32),
                ("f64", _) | ("", Some("f64")) => text.parse().ok().map(Val::F64),
                // What stands beside it may make it one of the other width.
                ("", None) if self.alone => text.parse().ok().map(Val::F64),
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

    /// The value of an expression that no place asks for a type of. In literals alone nothing makes an `f32` of a float.
    pub(super) fn untyped(&mut self, scope: &Scope, env: &Env, expr: &Expr) -> Eval {
        let around = std::mem::replace(&mut self.alone, are_literals(expr));
        let value = self.eval(scope, env, expr, None);
        self.alone = around;
        value
    }

    /// A literal is of the type that it is cast to, when it can be.
    pub(super) fn is_literal_of(&self, expr: &Expr, target: TypeId) -> bool {
        let float = matches!(self.primitive_name(Some(target)), Some("f32" | "f64"));
        match unwrap(expr) {
            Expr::Unary(unary) => self.is_literal_of(&unary.expr, target),
            Expr::Lit(literal) => match &literal.lit {
                Lit::Float(number) => float && number.suffix().is_empty(),
                Lit::Int(number) => self.fits(0, Some(target)).is_some() && number.suffix().is_empty(),
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether an integer is one of the type; `None` when the type is no integer.
    pub(super) fn fits(&self, value: i128, ty: Option<TypeId>) -> Option<bool> {
        in_range(value, self.primitive_name(ty)?)
    }

    pub(super) fn unary(
        &mut self,
        scope: &Scope,
        env: &Env,
        expr: &Expr,
        op: &UnOp,
        inner: &Expr,
        ty: Option<TypeId>,
    ) -> Eval {
        if let (UnOp::Neg(_), Expr::Lit(lit)) = (op, inner) {
            return self.literal(&lit.lit, ty, true).map_or_else(|| self.no(scope, expr), Ok);
        }
        let ty = match op {
            UnOp::Neg(_) => ty.or_else(|| self.number_type(scope, env, inner, SEEN)),
            _ => ty,
        };
        let value = self.eval(scope, env, inner, ty)?;
        match (op, value) {
            // A `Deref` of the user makes another value of it.
            (UnOp::Deref(_), Val::Struct(id, _) | Val::Variant(id, ..)) if self.may_deref(id) => self.no(scope, expr),
            (UnOp::Deref(_), value) => Ok(value),
            (UnOp::Not(_), Val::Bool(value)) => Ok(Val::Bool(!value)),
            (UnOp::Neg(_), Val::Int(value)) => {
                match value.checked_neg().filter(|value| self.fits(*value, ty) == Some(true)) {
                    Some(value) => Ok(Val::Int(value)),
                    None => self.no(scope, expr),
                }
            }
            (UnOp::Neg(_), Val::F64(value)) => Ok(Val::F64(-value)),
            (UnOp::Neg(_), Val::F32(value)) => Ok(Val::F32(-value)),
            _ => self.no(scope, expr),
        }
    }

    pub(super) fn binary(
        &mut self,
        scope: &Scope,
        env: &Env,
        expr: &Expr,
        (left, op, right): (&Expr, &BinOp, &Expr),
        ty: Option<TypeId>,
    ) -> Eval {
        let comparison =
            matches!(op, BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_));
        let ty = if comparison { None } else { ty };
        let shift = matches!(op, BinOp::Shl(_) | BinOp::Shr(_));
        let ty = ty.or_else(|| self.number_type(scope, env, left, SEEN));
        let ty = ty.or_else(|| self.number_type(scope, env, right, SEEN).filter(|_| !shift));
        let literals = is_literal(left) && is_literal(right);
        let (left, right) = if is_literal(left) && !shift {
            // The other side may say the type of a float.
            let right = self.eval(scope, env, right, ty)?;
            let ty = ty.or_else(|| self.float_type(&right));
            (self.eval(scope, env, left, ty)?, right)
        } else {
            let left = self.eval(scope, env, left, ty)?;
            let factor = matches!((op, &left), (BinOp::Mul(_), Val::Duration(_)));
            let ty = if factor { self.primitive("u32") } else { ty.or_else(|| self.float_type(&left)) };
            let right = self.eval(scope, env, right, ty)?;
            (left, right)
        };
        let value = match (op, left, right) {
            // Only values whose `PartialEq` is that of the language or derived: a user's type may have its own.
            (BinOp::Eq(_), left, right) => self.equal(&left, &right).map(Val::Bool),
            (BinOp::Ne(_), left, right) => self.equal(&left, &right).map(|equal| Val::Bool(!equal)),
            (BinOp::Add(_), Val::Str(left), Val::Str(right)) => Some(Val::Str(left + &right)),
            (BinOp::And(_), Val::Bool(left), Val::Bool(right)) => Some(Val::Bool(left && right)),
            (BinOp::Or(_), Val::Bool(left), Val::Bool(right)) => Some(Val::Bool(left || right)),
            (op, Val::Int(left), Val::Int(right)) if comparison => order(op, Some(left.cmp(&right))),
            (op, Val::F64(left), Val::F64(right)) if comparison => order(op, left.partial_cmp(&right)),
            (op, Val::F32(left), Val::F32(right)) if comparison => order(op, left.partial_cmp(&right)),
            (op, Val::F64(left), Val::F64(right)) => float_operation(op, left, right).map(Val::F64),
            (op, Val::F32(left), Val::F32(right)) => float_operation(op, left, right).map(Val::F32),
            (BinOp::Add(_), Val::Duration(left), Val::Duration(right)) => left.checked_add(right).map(Val::Duration),
            (BinOp::Mul(_), Val::Duration(left), Val::Int(right)) => {
                u32::try_from(right).ok().and_then(|right| left.checked_mul(right)).map(Val::Duration)
            }
            (op, Val::Int(left), Val::Int(right)) => match op {
                BinOp::Add(_) => left.checked_add(right).map(Val::Int),
                BinOp::Sub(_) => left.checked_sub(right).map(Val::Int),
                BinOp::Mul(_) => left.checked_mul(right).map(Val::Int),
                BinOp::Div(_) => left.checked_div(right).map(Val::Int),
                BinOp::Rem(_) => left.checked_rem(right).map(Val::Int),
                // A negative number is the same in all widths.
                BinOp::BitAnd(_) => Some(Val::Int(left & right)),
                BinOp::BitOr(_) => Some(Val::Int(left | right)),
                BinOp::BitXor(_) => Some(Val::Int(left ^ right)),
                // No type has fewer bits.
                BinOp::Shr(_) if (0..8).contains(&right) => Some(Val::Int(left >> right)),
                BinOp::Shl(_) => u32::try_from(right)
                    .ok()
                    .and_then(|right| 1i128.checked_shl(right))
                    .and_then(|power| left.checked_mul(power))
                    .map(Val::Int),
                _ => None,
            },
            _ => None,
        };
        match value {
            Some(Val::Int(value)) => {
                let fits = match ty {
                    Some(_) => self.fits(value, ty) == Some(true),
                    None if literals => i32::try_from(value).is_ok(),
                    // Of any type there is.
                    None => (0..=i8::MAX.into()).contains(&value),
                };
                if fits { Ok(Val::Int(value)) } else { self.no(scope, expr) }
            }
            Some(value) => Ok(value),
            None => self.no(scope, expr),
        }
    }

    /// The type of a float.
    pub(super) fn float_type(&mut self, value: &Val) -> Option<TypeId> {
        match value {
            Val::F32(_) => self.primitive("f32"),
            Val::F64(_) => self.primitive("f64"),
            _ => None,
        }
    }

    /// The type of a number, where the words of an expression say it.
    fn number_type(&mut self, scope: &Scope, env: &Env, expr: &Expr, depth: usize) -> Option<TypeId> {
        let depth = depth.checked_sub(1)?;
        let id = match unwrap(expr) {
            Expr::Lit(lit) => match &lit.lit {
                Lit::Int(value) => self.primitive(value.suffix()),
                Lit::Float(value) => self.primitive(value.suffix()),
                _ => None,
            },
            Expr::Cast(cast) if !matches!(*cast.ty, syn::Type::Infer(_)) => Some(self.ty(scope, &cast.ty)),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => self.number_type(scope, env, &unary.expr, depth),
            Expr::Binary(binary) if is_arithmetic(&binary.op) => {
                let left = self.number_type(scope, env, &binary.left, depth);
                left.or_else(|| self.number_type(scope, env, &binary.right, depth))
            }
            Expr::Path(path) if path.path.get_ident().is_none_or(|name| !env.contains_key(&name.to_string())) => {
                let Some(Target::Item(item)) = self.value_path(scope, &path.path) else { return None };
                let (Item::Const(ItemConst { ty, .. }) | Item::Static(ItemStatic { ty, .. })) = self.tree.item(item)
                else {
                    return None;
                };
                let scope = Scope::module(self.tree.module(item));
                Some(self.ty(&scope, ty))
            }
            _ => None,
        };
        id.filter(|id| {
            self.fits(0, Some(*id)).is_some() || matches!(self.primitive_name(Some(*id)), Some("f32" | "f64"))
        })
    }

    /// Whether two values are equal, where `PartialEq` is that of the language or derived.
    pub(super) fn equal(&self, left: &Val, right: &Val) -> Option<bool> {
        let all = |left: &[Val], right: &[Val]| {
            let pairs = left.iter().zip(right).map(|(left, right)| self.equal(left, right));
            let equal: Option<Vec<bool>> = pairs.collect();
            equal.map(|equal| left.len() == right.len() && equal.into_iter().all(|equal| equal))
        };
        let derived = |id: TypeId| {
            let user = self.user(id);
            user.is_some_and(|user| self.derives_trait(user.item, "std::cmp::PartialEq"))
        };
        match (left, right) {
            (Val::F64(left), Val::F64(right)) => Some(left.partial_cmp(right).is_some_and(Ordering::is_eq)),
            (Val::F32(left), Val::F32(right)) => Some(left.partial_cmp(right).is_some_and(Ordering::is_eq)),
            (Val::F32(_) | Val::F64(_), _) | (_, Val::F32(_) | Val::F64(_)) => None,
            // Of two paths that differ in their text.
            (Val::Json(Value::String(left)), Val::Json(Value::String(right)))
                if left != right && Path::new(left) == Path::new(right) =>
            {
                None
            }
            (Val::Json(left), Val::Json(right)) => Some(left == right),
            (Val::Some(left), Val::Some(right)) => self.equal(left, right),
            (Val::Some(_), Val::None) | (Val::None, Val::Some(_)) => Some(false),
            (Val::Seq(left), Val::Seq(right)) => all(left, right),
            (Val::Map(left), Val::Map(right)) if left.is_empty() || right.is_empty() => {
                Some(left.is_empty() && right.is_empty())
            }
            (Val::Map(left), Val::Map(right)) if left.len() == right.len() => {
                let pairs = left.iter().zip(right);
                let equal =
                    pairs.map(|((key, value), (other, of))| Some(self.equal(key, other)? && self.equal(value, of)?));
                let equal = equal.collect::<Option<Vec<bool>>>()?.into_iter().all(|equal| equal);
                // Several entries may be the same in another order.
                (equal || left.len() == 1).then_some(equal)
            }
            (Val::Struct(id, left), Val::Struct(other, right)) if id == other && derived(*id) => all(left, right),
            (Val::Variant(id, index, left), Val::Variant(other, position, right)) if id == other && derived(*id) => {
                if index == position {
                    all(left, right)
                } else {
                    Some(false)
                }
            }
            (left, right) => (plain(left) && plain(right)).then(|| left == right),
        }
    }
}

/// So many operators deep the type of a number is looked for.
const SEEN: usize = 5;

/// Both sides have the type of the result.
fn is_arithmetic(op: &BinOp) -> bool {
    let of_numbers = matches!(op, BinOp::Add(_) | BinOp::Sub(_) | BinOp::Mul(_) | BinOp::Div(_) | BinOp::Rem(_));
    of_numbers || matches!(op, BinOp::BitAnd(_) | BinOp::BitOr(_) | BinOp::BitXor(_))
}

/// A number without a type: that of the place, where rustc sees what does not fit, or `i32`.
fn is_literal(expr: &Expr) -> bool {
    match unwrap(expr) {
        Expr::Lit(_) => true,
        Expr::Unary(unary) => is_literal(&unary.expr),
        Expr::Binary(binary) => is_literal(&binary.left) && is_literal(&binary.right),
        _ => false,
    }
}

/// Literals, and lists of them, in which nothing makes an `f32` of a float.
pub(super) fn are_literals(expr: &Expr) -> bool {
    match unwrap(expr) {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Float(number) => number.suffix() != "f32",
            Lit::Int(number) => number.suffix() != "f32",
            _ => true,
        },
        Expr::Unary(unary) => are_literals(&unary.expr),
        Expr::Binary(binary) => are_literals(&binary.left) && are_literals(&binary.right),
        Expr::Reference(inner) => are_literals(&inner.expr),
        Expr::Array(array) => array.elems.iter().all(are_literals),
        Expr::Tuple(tuple) => tuple.elems.iter().all(are_literals),
        Expr::Macro(call) => {
            let parser = Punctuated::<Expr, Token![,]>::parse_terminated;
            call.mac.path.is_ident("vec")
                && call.mac.parse_body_with(parser).is_ok_and(|items| items.iter().all(are_literals))
        }
        Expr::Call(call) => {
            matches!(&*call.func, Expr::Path(path) if path.path.is_ident("Some")) && call.args.iter().all(are_literals)
        }
        _ => false,
    }
}

/// No float, and no type of the user, whose `Clone` or `PartialEq` may be anything, is inside.
pub(super) fn plain(value: &Val) -> bool {
    match value {
        Val::Unit | Val::Bool(_) | Val::Int(_) | Val::Char(_) | Val::Str(_) | Val::Duration(_) | Val::None => true,
        Val::Some(inner) => plain(inner),
        Val::Seq(values) => values.iter().all(plain),
        Val::F32(_)
        | Val::F64(_)
        | Val::Map(_)
        | Val::Struct(..)
        | Val::Variant(..)
        | Val::Json(_)
        | Val::Recipe(_)
        | Val::Rule(_)
        | Val::Generator
        | Val::Place(_) => false,
    }
}

/// `value as target`, as the language converts numbers.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "as the language does"
)]
pub(super) fn cast_to(value: &Val, target: &str) -> Option<Val> {
    let integer = |value: i128| {
        Some(Val::Int(match target {
            "i8" => (value as i8).into(),
            "i16" => (value as i16).into(),
            "i32" => (value as i32).into(),
            "i64" | "isize" => (value as i64).into(),
            "i128" => value,
            "u8" => (value as u8).into(),
            "u16" => (value as u16).into(),
            "u32" => (value as u32).into(),
            "u64" | "usize" => (value as u64).into(),
            _ => return None,
        }))
    };
    match (value, target) {
        (Val::Int(value), "f64") => Some(Val::F64(*value as f64)),
        (Val::Int(value), "f32") => Some(Val::F32(*value as f32)),
        (Val::F32(value), "f64") => Some(Val::F64((*value).into())),
        // A literal may have been an `f32` from the start.
        (Val::F64(_), "f64") | (Val::F32(_), "f32") => Some(value.clone()),
        (Val::Int(value), _) => integer(*value),
        (Val::Bool(value), _) => integer((*value).into()),
        _ => None,
    }
}

/// `<`, `<=`, `>` or `>=`; nothing is in order with what is no number.
fn order(op: &BinOp, ordering: Option<Ordering>) -> Option<Val> {
    let is = |test: fn(Ordering) -> bool| Some(Val::Bool(ordering.is_some_and(test)));
    match op {
        BinOp::Lt(_) => is(Ordering::is_lt),
        BinOp::Le(_) => is(Ordering::is_le),
        BinOp::Gt(_) => is(Ordering::is_gt),
        BinOp::Ge(_) => is(Ordering::is_ge),
        _ => None,
    }
}

fn float_operation<T>(op: &BinOp, left: T, right: T) -> Option<T>
where
    T: std::ops::Add<Output = T> + std::ops::Sub<Output = T> + std::ops::Mul<Output = T> + std::ops::Div<Output = T>,
{
    Some(match op {
        BinOp::Add(_) => left + right,
        BinOp::Sub(_) => left - right,
        BinOp::Mul(_) => left * right,
        BinOp::Div(_) => left / right,
        _ => return None,
    })
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
