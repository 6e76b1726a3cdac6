//! Conditions: functions that say whether a field is left out, as `#[serde(skip_serializing_if = "path")]` calls them.

use std::cmp::Ordering;
use std::rc::Rc;

use syn::{BinOp, Expr, FnArg, Item, Pat, Signature, Stmt, UnOp};

use crate::schema::TypeId;

use super::block::has_cfg;
use super::{Env, Eval, Evaluator, Function, Target};
use crate::api::canonical::PARTIAL_EQ;
use crate::api::item_attrs::rewrites;
use crate::api::types::Scope;
use crate::api::value::Val;

impl Evaluator<'_> {
    /// Whether `path(&value)` is true, as `#[serde(skip_serializing_if = "path")]` calls it with a field of type `ty`.
    pub(in crate::api) fn test_path(
        &mut self,
        scope: &Scope,
        path: &syn::ExprPath,
        value: &Val,
        ty: TypeId,
    ) -> Eval<bool> {
        if path.qself.is_some() {
            return self.unsupported(scope, path);
        }
        match self.value_path(scope, &path.path) {
            Some(Target::Foreign(found)) => {
                let known = PLAIN.contains(&found[0].as_str());
                let answer = match (found.join("::").as_str(), value) {
                    ("std::ops::Not::not", Val::Bool(value)) => Some(!value),
                    _ => found.last().filter(|_| known).and_then(|name| test(name, value)),
                };
                self.or_unsupported(scope, path, answer)
            }
            Some(Target::Item(item)) => {
                let tree = self.tree;
                let Item::Fn(function) = tree.item(item) else { return self.unsupported(scope, path) };
                let inner = Scope::module(tree.module(item));
                let usable = tree.unknown_cfg(item).is_none() && !rewrites(&function.attrs);
                let Some(inner) = inferred(&function.sig, ty, inner).filter(|_| usable) else {
                    return self.unsupported(scope, path);
                };
                let function = Function { sig: function.sig.clone(), block: (*function.block).clone(), scope: inner };
                self.condition(scope, path, &function, value)
            }
            Some(Target::Member(id, name)) => match self.own_function(id, &name) {
                Some(function) => self.condition(scope, path, &function, value),
                None => self.unsupported(scope, path),
            },
            _ => self.unsupported(scope, path),
        }
    }

    /// What a condition of the user says of a value.
    fn condition(&mut self, scope: &Scope, at: &syn::ExprPath, function: &Function, value: &Val) -> Eval<bool> {
        let Function { sig, block, scope: inner } = function;
        let (name, of) = match sig.inputs.first() {
            Some(FnArg::Receiver(receiver)) if matches!(receiver.kind, syn::ReceiverKind::Reference(..)) => {
                ("self".to_owned(), inner.this)
            }
            Some(FnArg::Typed(input)) => match (&*input.pat, &*input.ty) {
                (Pat::Ident(name), syn::Type::Reference(ty)) if name.subpat.is_none() => {
                    (name.ident.to_string(), Some(self.ty(inner, &ty.elem)))
                }
                _ => return self.unsupported(scope, at),
            },
            _ => return self.unsupported(scope, at),
        };
        // Through a `Deref` it would be called with another value.
        let is_of = of.is_some_and(|of| self.types.conforms(value, of));
        if !is_of || sig.inputs.len() != 1 || !self.is_bound(sig, inner) {
            return self.unsupported(scope, at);
        }
        if has_cfg(block) {
            return self.unsupported(scope, at);
        }
        match block.stmts.as_slice() {
            [Stmt::Expr(expr, None)] => self.holds(inner, &Subject { name, value }, expr),
            _ => self.unsupported(inner, block),
        }
    }

    fn holds(&mut self, scope: &Scope, subject: &Subject<'_>, expr: &Expr) -> Eval<bool> {
        self.spend(scope, expr, subject.value.weight())?;
        let answer = match expr {
            expr if subject.is(expr) => {
                if let Val::Bool(value) = subject.value {
                    Some(*value)
                } else {
                    None
                }
            }
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) => Some(!self.holds(scope, subject, &unary.expr)?),
            Expr::Binary(binary) if matches!(binary.op, BinOp::Eq(_) | BinOp::Ne(_)) => {
                let mut side = |expr: &Expr| {
                    if subject.is(expr) { Ok(subject.value.clone()) } else { self.eval(scope, &Env::new(), expr, None) }
                };
                let (left, right) = (side(&binary.left)?, side(&binary.right)?);
                self.equal(&left, &right).map(|equal| equal == matches!(binary.op, BinOp::Eq(_)))
            }
            Expr::MethodCall(call) => {
                let name = call.method.to_string();
                let plain = call.args.is_empty() && !self.tree.may_be_of_trait(scope.module, &name);
                if plain && subject.is(&call.receiver) { test(&name, subject.value) } else { None }
            }
            _ => None,
        };
        self.or_unsupported(scope, expr, answer)
    }

    /// Whether two values are equal, where `PartialEq` is that of the language or derived.
    fn equal(&self, left: &Val, right: &Val) -> Option<bool> {
        let all = |left: &[Val], right: &[Val]| {
            let pairs = left.iter().zip(right).map(|(left, right)| self.equal(left, right));
            let equal: Option<Vec<bool>> = pairs.collect();
            equal.map(|equal| left.len() == right.len() && equal.into_iter().all(|equal| equal))
        };
        let derived = |id: TypeId| {
            let user = self.types.user(id);
            user.is_some_and(|user| self.types.derives_trait(user.item, PARTIAL_EQ))
        };
        match (left, right) {
            (Val::F64(left), Val::F64(right)) => Some(left.partial_cmp(right).is_some_and(Ordering::is_eq)),
            (Val::F32(left), Val::F32(right)) => Some(left.partial_cmp(right).is_some_and(Ordering::is_eq)),
            // Two texts may be one path, and two objects one number in other words.
            (Val::Json(left), Val::Json(right)) => (left == right).then_some(true),
            (Val::Some(left), Val::Some(right)) => self.equal(left, right),
            (Val::Some(_), Val::None) | (Val::None, Val::Some(_)) => Some(false),
            (Val::Seq(left), Val::Seq(right)) => all(left, right),
            (Val::Map(left), Val::Map(right)) if left.is_empty() || right.is_empty() => {
                Some(left.is_empty() && right.is_empty())
            }
            (Val::Struct(id, left), Val::Struct(other, right)) if id == other && derived(*id) => all(left, right),
            (Val::Variant(id, index, left), Val::Variant(other, position, right)) if id == other && derived(*id) => {
                if index == position {
                    all(left, right)
                } else {
                    Some(false)
                }
            }
            (
                Val::Unit | Val::Bool(_) | Val::Int(_) | Val::Char(_) | Val::Str(_) | Val::Duration(_) | Val::None,
                Val::Unit | Val::Bool(_) | Val::Int(_) | Val::Char(_) | Val::Str(_) | Val::Duration(_) | Val::None,
            ) => Some(left == right),
            _ => None,
        }
    }
}

/// Crates whose `is_empty`, `is_none` and the like are those of std.
const PLAIN: [&str; 4] = ["std", "serde_json", "indexmap", "smallvec"];

/// The parameter of a condition, which is a reference to the field.
struct Subject<'v> {
    name: String,
    value: &'v Val,
}

impl Subject<'_> {
    /// `value` or `*value`.
    fn is(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Path(path) => path.path.is_ident(&self.name),
            Expr::Unary(unary) => matches!(unary.op, UnOp::Deref(_)) && self.is(&unary.expr),
            _ => false,
        }
    }
}

/// The scope of a condition for values of type `ty`: `fn(&T) -> …` with no other parameter but `T`.
fn inferred(sig: &Signature, ty: TypeId, scope: Scope) -> Option<Scope> {
    let mut parameters = sig.generics.type_params();
    let Some(parameter) = parameters.next() else { return Some(scope) };
    let Some(FnArg::Typed(input)) = sig.inputs.first() else { return None };
    let is_it = matches!(&*input.ty, syn::Type::Reference(of)
        if matches!(&*of.elem, syn::Type::Path(path) if path.path.is_ident(&parameter.ident)));
    let generics = Rc::new([(parameter.ident.to_string(), ty)].into());
    (is_it && parameters.next().is_none()).then_some(Scope { generics, ..scope })
}

fn test(name: &str, value: &Val) -> Option<bool> {
    match (name, value) {
        ("is_none", Val::None) | ("is_some", Val::Some(_)) => Some(true),
        ("is_none", Val::Some(_)) | ("is_some", Val::None) => Some(false),
        ("is_empty", Val::Str(text)) => Some(text.is_empty()),
        ("is_empty", Val::Seq(values)) => Some(values.is_empty()),
        ("is_empty", Val::Map(entries)) => Some(entries.is_empty()),
        ("is_null", Val::Json(value)) => Some(value.is_null()),
        ("is_zero", Val::Duration(value)) => Some(value.is_zero()),
        _ => None,
    }
}
