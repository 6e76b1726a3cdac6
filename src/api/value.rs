//! A closed-world evaluator of the language that `docs/reference/evaluated-code.md` states: literals, constants, constructors
//! and functions that are made of them.
//!
//! What is not positively known is refused; nothing here guesses. The code is taken to compile, so a wrong type needs
//! no answer, but every number is checked against the type that it has.

use std::collections::BTreeMap;
use std::time::Duration;

use quote::ToTokens;
use serde_json::Value;
use syn::spanned::Spanned as _;
use syn::{Expr, ExprGroup, ExprParen, ExprStruct, Fields, GenericParam, Item, Member, Path, UnOp};

use crate::diagnostic::Code;
use crate::schema::{Recipe, TypeId, recipe};
use crate::source::{CfgSet, ItemRef, Namespace, Resolution};

use super::maker::rewrites;
use super::rule::CelRule;
use super::schema_code::Place;
use super::std_value;
use super::types::{Info, Refusal, Scope, Types};

/// A value of a Rust expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Val {
    Unit,
    Bool(bool),
    Int(i128),
    F32(f32),
    F64(f64),
    Char(char),
    Str(String),
    Duration(Duration),
    None,
    Some(Box<Val>),
    /// Lists, sets, arrays and tuples.
    Seq(Vec<Val>),
    Map(Vec<(Val, Val)>),
    /// A struct of the user: its fields in the order of the declaration.
    Struct(TypeId, Vec<Val>),
    /// A variant of an enum of the user: its index and fields.
    Variant(TypeId, usize, Vec<Val>),
    /// A value of another crate, as serde writes it.
    Json(Value),
    /// A schema, or JSON with schemas inside.
    Recipe(Recipe),
    /// A rule in CEL.
    Rule(Box<CelRule>),
    /// The `SchemaGenerator` that a function makes a schema with.
    Generator,
    /// A reference into the schema that a variable holds.
    Place(Place),
}

impl Val {
    /// How much there is to copy.
    pub(super) fn weight(&self) -> usize {
        match self {
            Val::Unit
            | Val::Bool(_)
            | Val::Int(_)
            | Val::F32(_)
            | Val::F64(_)
            | Val::Char(_)
            | Val::Duration(_)
            | Val::None
            | Val::Generator
            | Val::Rule(_)
            | Val::Place(_) => 1,
            Val::Str(text) => 1 + text.len() / 64,
            Val::Some(inner) => 1 + inner.weight(),
            Val::Seq(values) | Val::Struct(_, values) | Val::Variant(_, _, values) => {
                1 + values.iter().map(Val::weight).sum::<usize>()
            }
            Val::Map(entries) => 1 + entries.iter().map(|(key, value)| key.weight() + value.weight()).sum::<usize>(),
            Val::Json(value) => recipe::weight(value),
            Val::Recipe(recipe) => recipe.weight(),
        }
    }
}

/// Values of function parameters.
pub(super) type Env = BTreeMap<String, Val>;

type Eval<T = Val> = Result<T, Refusal>;

/// What `[a, b]` may stand for.
const ARRAYS: [&str; 4] = ["[]", "[T]", "&", "std::vec::Vec"];

/// More nested calls than a default ever has.
const DEPTH: usize = 32;

/// More expressions inside each other than a default ever has; each takes some 10 kB of stack in an unoptimised build.
const NESTED: usize = 1_000;

/// More expressions and parts of values than all defaults of a resource ever have; see [`Types::spend`].
pub(super) const BUDGET: usize = 100_000;

impl Types<'_> {
    pub(super) fn no<T>(&self, scope: &Scope, what: &impl ToTokens) -> Eval<T> {
        let message = format!("cannot evaluate `{}` without running code", self.text(scope, what));
        Err(Refusal::new(Code::Expression, scope, what.to_token_stream().span(), message)
            .help("use literals, constants, or functions that only return them"))
    }

    /// The refusal of what a path names, when nothing is found.
    pub(super) fn unknown<T>(&self, scope: &Scope, what: &impl ToTokens, path: &Path) -> Eval<T> {
        match self.resolve_in(scope, path, Namespace::Values) {
            Resolution::Unresolved(why) if !scope.has_owner(path) => {
                Err(Refusal::new(Code::Expression, scope, path.span(), why)
                    .help("write the full path of it, or a `use` that names it"))
            }
            _ => self.no(scope, what),
        }
    }

    /// An expression that stands for a number of elements.
    pub(super) fn integer(&mut self, scope: &Scope, expr: &Expr, ty: Option<TypeId>) -> Option<usize> {
        match self.eval(scope, &Env::new(), expr, ty) {
            Ok(Val::Int(value)) => usize::try_from(value).ok(),
            _ => None,
        }
    }

    /// The value of an expression; `ty` is the type that the place asks for.
    pub(super) fn eval(&mut self, scope: &Scope, env: &Env, expr: &Expr, ty: Option<TypeId>) -> Eval {
        self.spend(scope, expr, 1)?;
        if self.nested >= NESTED {
            return self.no(scope, expr);
        }
        self.nested += 1;
        let value = self.expression(scope, env, expr, ty);
        self.nested -= 1;
        let value = value?;
        if ty.is_some_and(|ty| !self.conforms(&value, ty)) {
            return self.no(scope, expr);
        }
        if let Val::Str(_) = value {
            self.spend(scope, expr, value.weight())?;
        }
        Ok(value)
    }

    /// Takes the cost of evaluating `what` from the budget: each call may double the work, so that a few lines of code
    /// would run for years, or fill the memory.
    pub(super) fn spend(&mut self, scope: &Scope, what: &impl ToTokens, cost: usize) -> Eval<()> {
        let left = self.budget.checked_sub(cost);
        self.budget = left.unwrap_or_default();
        if left.is_some() { Ok(()) } else { self.no(scope, what) }
    }

    fn expression(&mut self, scope: &Scope, env: &Env, expr: &Expr, ty: Option<TypeId>) -> Eval {
        match expr {
            Expr::Lit(lit) => self.literal(&lit.lit, ty, false).map_or_else(|| self.no(scope, expr), Ok),
            Expr::Unary(unary) => match (&unary.op, &*unary.expr) {
                (UnOp::Neg(_), Expr::Lit(lit)) => {
                    self.literal(&lit.lit, ty, true).map_or_else(|| self.no(scope, expr), Ok)
                }
                _ => self.no(scope, expr),
            },
            Expr::Binary(binary) => self.sum(scope, env, binary, ty),
            Expr::Paren(ExprParen { expr, .. }) | Expr::Group(ExprGroup { expr, .. }) => {
                self.eval(scope, env, expr, ty)
            }
            Expr::Reference(inner) if inner.mutability.is_some() => match self.eval(scope, env, &inner.expr, None)? {
                Val::Generator => Ok(Val::Generator),
                _ => self.no(scope, expr),
            },
            Expr::Reference(inner) => {
                let ty =
                    ty.and_then(|ty| self.known(ty)).filter(|(known, _)| known.path == "&").map(|(_, args)| args[0]);
                self.eval(scope, env, &inner.expr, ty)
            }
            Expr::Block(block) if block.label.is_none() => self.block(scope, env, &block.block, ty),
            Expr::Path(path) if path.qself.is_none() => self.path(scope, env, expr, &path.path, ty),
            Expr::Struct(literal) if literal.qself.is_none() => self.struct_literal(scope, env, literal, ty),
            Expr::Call(call) => self.call(scope, env, call, ty),
            Expr::MethodCall(call) => self.method(scope, env, call, ty),
            Expr::Array(array) => {
                let elem = self.argument(ty, &ARRAYS);
                self.list(scope, env, array.elems.iter(), elem).map(Val::Seq)
            }
            Expr::Tuple(tuple) => {
                let types = ty.and_then(|ty| self.known(ty)).filter(|(known, _)| known.path == "()");
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
            _ => self.no(scope, expr),
        }
    }

    pub(super) fn primitive_name(&self, ty: Option<TypeId>) -> Option<&'static str> {
        self.known(ty?).map(|(known, _)| known.path)
    }

    /// The type argument of a known type with one of these paths.
    pub(super) fn argument(&self, ty: Option<TypeId>, paths: &[&str]) -> Option<TypeId> {
        let (known, arguments) = self.known(ty?)?;
        if known.path == "&" && !paths.contains(&"&") {
            return self.argument(Some(arguments[0]), paths);
        }
        paths.contains(&known.path).then(|| arguments.first().copied()).flatten()
    }

    fn path(&mut self, scope: &Scope, env: &Env, expr: &Expr, path: &Path, ty: Option<TypeId>) -> Eval {
        if let Some(value) = path.get_ident().and_then(|ident| env.get(&ident.to_string())) {
            self.spend(scope, expr, value.weight())?;
            return Ok(value.clone());
        }
        if let Some(id) = path.get_ident().and_then(|ident| scope.generics.get(&ident.to_string()))
            && let Info::Const(value) = self.info(*id)
        {
            return Ok(value.clone());
        }
        match self.asked_variant(scope, path, ty).or_else(|| self.value_path(scope, path)) {
            Some(Target::Item(item)) => self.constant(scope, expr, item),
            Some(Target::Member(id, name)) => {
                if let Some((index, Fields::Unit)) = self.variant(id, &name) {
                    return Ok(Val::Variant(id, index, Vec::new()));
                }
                self.associated_const(scope, id, &name).unwrap_or_else(|| self.no(scope, expr))
            }
            Some(Target::Foreign(path)) if path[0] == "k8s_openapi" => match self.outside_constant(scope, &path) {
                Some(text) => Ok(Val::Str(text)),
                None => self.no(scope, expr),
            },
            Some(Target::Foreign(path)) => match path.join("::").as_str() {
                "std::option::Option::None" => Ok(Val::None),
                "std::marker::PhantomData" => Ok(Val::Unit),
                "serde_json::Value::Null" | "serde_json::value::Value::Null" => Ok(Val::Json(Value::Null)),
                path => match std_value::constant(path) {
                    Some(Val::Int(value)) if self.fits(value, ty) == Some(false) => self.no(scope, expr),
                    Some(value) => Ok(value),
                    None => self.no(scope, expr),
                },
            },
            Some(Target::Itself(id)) => match self.shape(id) {
                Some(Fields::Unit) => Ok(Val::Struct(id, Vec::new())),
                _ => self.no(scope, expr),
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
        match self.resolve_in(scope, path, Namespace::Values) {
            Resolution::Local(item) => match self.tree.item(item) {
                Item::Struct(_) => self.item_type(scope, item).map(Target::Itself),
                _ => Some(Target::Item(item)),
            },
            Resolution::Member(item, name) => {
                let Some(owner) = owner_type(path) else {
                    // An import brought it in.
                    return self.item_type(scope, item).map(|id| Target::Member(id, name));
                };
                let written = path.segments.iter().rev().nth(1).is_some_and(|owner| !owner.arguments.is_none());
                if written || matches!(self.tree.item(item), Item::Type(_)) {
                    let id = self.ty(scope, &owner);
                    return self.user(id).is_some().then_some(Target::Member(id, name));
                }
                self.item_type(scope, item).map(|id| Target::Member(id, name))
            }
            Resolution::Foreign(path) => Some(Target::Foreign(path)),
            Resolution::Unresolved(_) | Resolution::Primitive(_) => None,
        }
    }

    /// A variant of the enum that the place asks for, from which its arguments follow.
    pub(super) fn asked_variant(&mut self, scope: &Scope, path: &Path, ty: Option<TypeId>) -> Option<Target> {
        let (id, user) = (ty?, self.user(ty?)?);
        match self.resolve_in(scope, path, Namespace::Values) {
            Resolution::Member(item, name) if user.item == item && self.variant(id, &name).is_some() => {
                Some(Target::Member(id, name))
            }
            _ => None,
        }
    }

    /// The type of an item that is named without arguments; inside its own impl that is `Self`.
    fn item_type(&mut self, scope: &Scope, item: ItemRef) -> Option<TypeId> {
        if let Some(this) = scope.this
            && self.user(this).is_some_and(|user| user.item == item)
        {
            return Some(this);
        }
        let generics = match self.tree.item(item) {
            Item::Struct(item) => &item.generics,
            Item::Enum(item) => &item.generics,
            _ => return None,
        };
        let plain = generics.params.iter().all(|param| matches!(param, GenericParam::Lifetime(_)));
        plain.then(|| self.plain_user_type(item))
    }

    fn constant(&mut self, scope: &Scope, expr: &Expr, item: ItemRef) -> Eval {
        if self.tree.unknown_cfg(item).is_some() {
            return self.no(scope, expr);
        }
        let tree = self.tree;
        let (ty, value) = match tree.item(item) {
            Item::Const(item) if !rewrites(&item.attrs) => (&item.ty, &item.expr),
            Item::Static(item) if !rewrites(&item.attrs) => (&item.ty, &item.expr),
            _ => return self.no(scope, expr),
        };
        let inner = Scope::module(self.tree.module(item));
        let Some(value) = self.of_build(&inner, &**value, CfgSet::apply_to_expr) else { return self.no(scope, expr) };
        let ty = self.ty(&inner, ty);
        self.deeper(scope, expr, |types| types.eval(&inner, &Env::new(), &value, Some(ty)))
    }

    pub(super) fn deeper(&mut self, scope: &Scope, expr: &impl ToTokens, run: impl FnOnce(&mut Self) -> Eval) -> Eval {
        if self.depth >= DEPTH {
            return self.no(scope, expr);
        }
        self.depth += 1;
        let result = run(self);
        self.depth -= 1;
        result
    }

    pub(super) fn variant(&self, id: TypeId, name: &str) -> Option<(usize, &Fields)> {
        let Item::Enum(item) = self.tree.item(self.user(id)?.item) else { return None };
        let position = item.variants.iter().position(|variant| variant.ident == name)?;
        Some((position, &item.variants[position].fields))
    }

    pub(super) fn shape(&self, id: TypeId) -> Option<&Fields> {
        match self.tree.item(self.user(id)?.item) {
            Item::Struct(item) => Some(&item.fields),
            _ => None,
        }
    }

    /// The types of the fields of a struct or variant.
    pub(super) fn field_types(&mut self, id: TypeId, fields: &Fields) -> Vec<TypeId> {
        let Some(user) = self.user(id).cloned() else { return Vec::new() };
        fields.iter().map(|field| self.ty(&user.scope, &field.ty)).collect()
    }

    fn struct_literal(&mut self, scope: &Scope, env: &Env, literal: &ExprStruct, expected: Option<TypeId>) -> Eval {
        let resolved = match self.resolve(scope, &literal.path) {
            Resolution::Member(item, name) => self
                .asked_variant(scope, &literal.path, expected)
                .or_else(|| self.item_type(scope, item).map(|id| Target::Member(id, name))),
            Resolution::Foreign(path) if path[0] == "k8s_openapi" => {
                return self.outside_literal(scope, env, literal, &path);
            }
            Resolution::Local(_) => {
                let path = syn::TypePath { attrs: Vec::new(), qself: None, path: literal.path.clone() };
                // Arguments that are left out are those of the type that is asked for.
                let bare = literal.path.segments.last().is_some_and(|last| last.arguments.is_none());
                let inferred = expected.filter(|id| bare && self.names(scope, &literal.path, *id));
                let id = inferred.unwrap_or_else(|| self.ty(scope, &syn::Type::Path(path)));
                Some(Target::Itself(id))
            }
            _ => self.value_path(scope, &literal.path),
        };
        let (id, variant, fields) = match resolved {
            Some(Target::Itself(id)) => match self.shape(id) {
                Some(fields) => (id, None, fields.clone()),
                None => return self.no(scope, literal),
            },
            Some(Target::Member(id, name)) => match self.variant(id, &name) {
                Some((index, fields)) => (id, Some(index), fields.clone()),
                None => return self.no(scope, literal),
            },
            _ => return self.no(scope, literal),
        };
        let types = self.field_types(id, &fields);
        let rest = match &literal.rest {
            Some(rest) if variant.is_none() => Some(self.eval(scope, env, rest, Some(id))?),
            Some(rest) => return self.no(scope, rest),
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
                _ => return self.no(scope, literal),
            });
        }
        Ok(match variant {
            Some(index) => Val::Variant(id, index, values),
            None => Val::Struct(id, values),
        })
    }

    pub(super) fn names(&self, scope: &Scope, path: &Path, this: TypeId) -> bool {
        let Resolution::Local(item) = self.resolve(scope, path) else { return false };
        self.user(this).is_some_and(|user| user.item == item)
    }
}

/// What a path in an expression names.
pub(super) enum Target {
    /// A constant, static or function.
    Item(ItemRef),
    /// The type itself: a unit or tuple struct, or `Self`.
    Itself(TypeId),
    /// A variant or associated item of a type.
    Member(TypeId, String),
    /// Something of another crate.
    Foreign(Vec<String>),
}

/// The type that a path names before its last segment: `Foo` of `Foo::default`.
pub(super) fn owner_type(path: &syn::Path) -> Option<syn::Type> {
    let mut path = path.clone();
    path.segments.pop();
    path.segments.pop_punct();
    if path.segments.is_empty() {
        return None;
    }
    Some(syn::Type::Path(syn::TypePath { attrs: Vec::new(), qself: None, path }))
}
