//! A closed-world evaluator of the language in `docs/reference/evaluated-code.md`: literals, constants, constructors, and
//! functions of them.
//!
//! Unknown code is refused; the evaluator never guesses. It assumes that the code compiles, so it does not report type
//! errors. But it checks every number against its type.

mod block;
mod call;
mod cel_rule;
mod condition;
mod default_of;
mod evaluator;
mod foreign;
mod impl_block;
mod k8s;
mod macros;
mod method;
mod number;
mod path;
mod schema_code;
mod serialize;
mod syntax;
mod type_expr;

use quote::ToTokens;
use syn::{Expr, ExprGroup, ExprParen, ExprStruct, Fields, Item, Member, UnOp};

use crate::schema::TypeId;
use crate::schema::known::ValueKind;
use crate::source::{ItemRef, Resolution};

use super::item_attrs::rewrites;
use super::types::TypeScope;
use super::value::Val;

use block::has_cfg;
use evaluator::EvalTarget;
pub(super) use evaluator::{Budget, Env, Eval, Evaluator};
pub(super) use schema_code::ByHand;

impl Evaluator<'_, '_> {
    /// Evaluates an expression. `ty` is the expected type.
    pub(super) fn eval(&mut self, scope: &TypeScope, env: &Env, expr: &Expr, ty: Option<TypeId>) -> Eval {
        self.spend(scope, expr, 1)?;
        if self.nested >= NESTED {
            return self.unsupported(scope, expr);
        }
        self.nested += 1;
        let value = self.expression(scope, env, expr, ty);
        self.nested -= 1;
        let value = value?;
        if ty.is_some_and(|ty| !self.types.conforms(&value, ty)) {
            return self.unsupported(scope, expr);
        }
        if let Val::Str(_) = value {
            self.spend(scope, expr, value.weight())?;
        }
        Ok(value)
    }

    fn expression(&mut self, scope: &TypeScope, env: &Env, expr: &Expr, ty: Option<TypeId>) -> Eval {
        match expr {
            Expr::Lit(lit) => self.or_unsupported(scope, expr, self.literal(&lit.lit, ty, false)),
            Expr::Unary(unary) => match (&unary.op, &*unary.expr) {
                (UnOp::Neg(_), Expr::Lit(lit)) => self.or_unsupported(scope, expr, self.literal(&lit.lit, ty, true)),
                _ => self.unsupported(scope, expr),
            },
            Expr::Binary(binary) => self.sum(scope, env, binary, ty),
            Expr::Paren(ExprParen { expr, .. }) | Expr::Group(ExprGroup { expr, .. }) => {
                self.eval(scope, env, expr, ty)
            }
            Expr::Reference(inner) if inner.mutability.is_some() => match self.eval(scope, env, &inner.expr, None)? {
                Val::Generator => Ok(Val::Generator),
                _ => self.unsupported(scope, expr),
            },
            Expr::Reference(inner) => {
                let ty = ty.and_then(|ty| self.types.known(ty)).filter(|(known, _)| known.kind == ValueKind::Reference);
                self.eval(scope, env, &inner.expr, ty.map(|(_, arguments)| arguments[0]))
            }
            Expr::Block(block) if block.label.is_none() => self.block(scope, env, &block.block, ty),
            Expr::Path(path) if path.qself.is_none() => self.path(scope, env, expr, &path.path, ty),
            Expr::Struct(literal) if literal.qself.is_none() => self.struct_literal(scope, env, literal, ty),
            Expr::Call(call) => self.call(scope, env, call, ty),
            Expr::MethodCall(call) => self.method(scope, env, call, ty),
            Expr::Array(array) => {
                let elem = self
                    .types
                    .argument(ty, |kind| matches!(kind, ValueKind::Array(_) | ValueKind::Slice | ValueKind::Vec));
                self.list(scope, env, array.elems.iter(), elem).map(Val::Seq)
            }
            Expr::Tuple(tuple) => {
                let types = ty
                    .and_then(|ty| self.types.known(ty))
                    .filter(|(known, _)| matches!(known.kind, ValueKind::Tuple(_)));
                let types = types.map(|(_, arguments)| arguments).unwrap_or_default();
                let values: Eval<Vec<Val>> = tuple
                    .elems
                    .iter()
                    .enumerate()
                    .map(|(index, item)| self.eval(scope, env, item, types.get(index).copied()))
                    .collect();
                let values = values?;
                Ok(if values.is_empty() { Val::Unit } else { Val::Seq(values) })
            }
            Expr::Macro(call) => self.macro_call(scope, env, expr, &call.mac, ty),
            _ => self.unsupported(scope, expr),
        }
    }

    fn constant(&mut self, scope: &TypeScope, expr: &Expr, item: ItemRef) -> Eval {
        if self.tree.unknown_cfg(item).is_some() {
            return self.unsupported(scope, expr);
        }
        let tree = self.tree;
        let (ty, value) = match tree.item(item) {
            Item::Const(item) if !rewrites(&item.attrs) => (&item.ty, &item.expr),
            Item::Static(item) if !rewrites(&item.attrs) => (&item.ty, &item.expr),
            _ => return self.unsupported(scope, expr),
        };
        let inner = TypeScope::module(self.tree.module(item));
        if has_cfg(value) {
            return self.unsupported(scope, expr);
        }
        let ty = self.ty(&inner, ty);
        self.deeper(scope, expr, |eval| eval.eval(&inner, &Env::new(), value, Some(ty)))
    }

    fn deeper(&mut self, scope: &TypeScope, expr: &impl ToTokens, run: impl FnOnce(&mut Self) -> Eval) -> Eval {
        if self.depth >= DEPTH {
            return self.unsupported(scope, expr);
        }
        self.depth += 1;
        let result = run(self);
        self.depth -= 1;
        result
    }

    fn field_types(&mut self, id: TypeId, fields: &Fields) -> Vec<TypeId> {
        let Some(user) = self.types.user(id).cloned() else { return Vec::new() };
        fields.iter().map(|field| self.ty(&user.scope, &field.ty)).collect()
    }

    fn struct_literal(&mut self, scope: &TypeScope, env: &Env, literal: &ExprStruct, expected: Option<TypeId>) -> Eval {
        let resolved = match self.types.resolve(scope, &literal.path) {
            Resolution::Member(item, name) => self
                .expected_variant(scope, &literal.path, expected)
                .or_else(|| self.types.item_type(scope, item).map(|id| EvalTarget::Member(id, name))),
            Resolution::Foreign(path) if path[0] == "k8s_openapi" => {
                return self.k8s_literal(scope, env, literal, &path);
            }
            Resolution::Local(_) => {
                let path = syn::TypePath { attrs: Vec::new(), qself: None, path: literal.path.clone() };
                // Omitted arguments come from the expected type.
                let bare = literal.path.segments.last().is_some_and(|last| last.arguments.is_none());
                let inferred = expected.filter(|id| bare && self.types.names(scope, &literal.path, *id));
                let id = inferred.unwrap_or_else(|| self.ty(scope, &syn::Type::Path(path)));
                Some(EvalTarget::Itself(id))
            }
            _ => self.value_path(scope, &literal.path),
        };
        let (id, variant, fields) = match resolved {
            Some(EvalTarget::Itself(id)) => match self.types.shape(id) {
                Some(fields) => (id, None, fields.clone()),
                None => return self.unsupported(scope, literal),
            },
            Some(EvalTarget::Member(id, name)) => match self.types.variant(id, &name) {
                Some((index, fields)) => (id, Some(index), fields.clone()),
                None => return self.unsupported(scope, literal),
            },
            _ => return self.unsupported(scope, literal),
        };
        let types = self.field_types(id, &fields);
        let rest = match &literal.rest {
            Some(rest) if variant.is_none() => Some(self.eval(scope, env, rest, Some(id))?),
            Some(rest) => return self.unsupported(scope, rest),
            None => None,
        };
        let mut values = Vec::new();
        for (index, (field, ty)) in fields.iter().zip(types).enumerate() {
            let given = literal.fields.iter().find(|given| match (&given.member, &field.ident) {
                (Member::Named(name), Some(ident)) => name == ident,
                (Member::Unnamed(position), None) => position.index as usize == index,
                _ => false,
            });
            values.push(match (given, &rest) {
                (Some(given), _) => self.eval(scope, env, &given.expr, Some(ty))?,
                (None, Some(Val::Struct(of, values))) if *of == id => values[index].clone(),
                _ => return self.unsupported(scope, literal),
            });
        }
        Ok(match variant {
            Some(index) => Val::Variant(id, index, values),
            None => Val::Struct(id, values),
        })
    }
}

/// The limit of nested calls.
const DEPTH: usize = 32;

/// The limit of nested expressions. Each takes about 10 kB of stack in an unoptimised build.
const NESTED: usize = 1_000;
