//! A closed-world evaluator: literals, constants, constructors and functions that are made of them.
//!
//! What is not positively known is refused; nothing here guesses. The code is taken to compile, so a wrong type needs
//! no answer, but every number is checked against the type that it has.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use quote::ToTokens;
use serde_json::{Map, Value};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned as _;
use syn::{
    BinOp, Block, Expr, ExprCall, ExprGroup, ExprMethodCall, ExprParen, ExprStruct, Fields, FnArg, ImplItem, Item, Lit,
    Member, Pat, Path, Stmt, UnOp,
};

use crate::diagnostic::Code;
use crate::schema::{Recipe, TypeId, known, recipe};
use crate::source::{ItemRef, ModuleId, Namespace, Resolution};

use super::flow::{is_statement, with};
use super::json;
use super::schema_code::{Own, Place, is_json_function};
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

    /// An expression that stands for a number of elements.
    pub(super) fn integer(&mut self, scope: &Scope, expr: &Expr, ty: Option<TypeId>) -> Option<usize> {
        match self.eval(scope, &Env::new(), expr, ty) {
            Ok(Val::Int(value)) => usize::try_from(value).ok(),
            _ => None,
        }
    }

    /// The value of an expression; `ty` is the type that the place asks for.
    pub(super) fn eval(&mut self, scope: &Scope, env: &Env, expr: &Expr, ty: Option<TypeId>) -> Eval {
        let tail = std::mem::take(&mut self.tail);
        self.spend(scope, expr, 1)?;
        if self.nested >= NESTED {
            return self.no(scope, expr);
        }
        self.nested += 1;
        let value = self.expression(scope, env, expr, ty, tail);
        self.nested -= 1;
        let value = value?;
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

    fn expression(&mut self, scope: &Scope, env: &Env, expr: &Expr, ty: Option<TypeId>, tail: bool) -> Eval {
        match expr {
            Expr::Lit(lit) => match self.literal(&lit.lit, ty, false) {
                Some(value) => Ok(value),
                None => self.no(scope, expr),
            },
            Expr::Paren(ExprParen { expr, .. }) | Expr::Group(ExprGroup { expr, .. }) => {
                self.tail = tail;
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
            Expr::Block(block) if block.label.is_none() => {
                self.tail = tail;
                self.block(scope, env, &block.block, ty)
            }
            Expr::Unary(unary) => self.unary(scope, env, expr, &unary.op, &unary.expr, ty),
            Expr::Binary(binary) => self.binary(scope, env, expr, (&binary.left, &binary.op, &binary.right), ty),
            Expr::Cast(cast) => {
                let target = self.ty(scope, &cast.ty);
                // A literal is of the type that it is cast to.
                let literal = matches!(unwrap(&cast.expr), Expr::Lit(_)) && self.fits(0, Some(target)).is_some();
                let value = self.eval(scope, env, &cast.expr, Some(target).filter(|_| literal))?;
                match self.primitive_name(Some(target)).and_then(|target| cast_to(&value, target)) {
                    Some(value) => Ok(value),
                    None => self.no(scope, expr),
                }
            }
            Expr::Range(range) => self.range(scope, env, range, ty),
            Expr::Path(path) if path.qself.is_none() => self.path(scope, env, expr, &path.path, ty),
            Expr::Struct(literal) if literal.qself.is_none() => self.struct_literal(scope, env, literal, ty),
            Expr::Call(call) => self.call(scope, env, call, ty),
            Expr::MethodCall(call) => self.method(scope, env, call, ty),
            Expr::Array(array) => {
                let elem = self.argument(ty, &["[]", "&", "std::vec::Vec"]);
                let values: Eval<Vec<Val>> = array.elems.iter().map(|item| self.eval(scope, env, item, elem)).collect();
                Ok(Val::Seq(values?))
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
            Expr::If(branch) => {
                let Some((_, other)) = &branch.else_branch else { return self.no(scope, expr) };
                let bound = self.condition(scope, env, &branch.cond)?;
                self.tail = tail;
                match bound {
                    Some(bound) => self.block(scope, &with(env, &bound), &branch.then_branch, ty),
                    None => self.eval(scope, env, other, ty),
                }
            }
            Expr::Match(choice) => {
                let (bound, body) = self.arm(scope, env, choice)?;
                self.tail = tail;
                self.eval(scope, &with(env, &bound), body, ty)
            }
            Expr::Return(ret) if tail => match &ret.expr {
                Some(value) => self.eval(scope, env, value, ty),
                None => Ok(Val::Unit),
            },
            Expr::Field(access) => self.member_value(scope, env, access),
            _ => self.no(scope, expr),
        }
    }

    fn literal(&self, lit: &Lit, ty: Option<TypeId>, negative: bool) -> Option<Val> {
        let float = |text: &str, suffix: &str| {
            let text = if negative { format!("-{text}") } else { text.to_owned() };
            match (suffix, self.primitive_name(ty)) {
                ("f32", _) | ("", Some("f32")) => text.parse().ok().map(Val::F32),
                ("f64", _) | ("", Some("f64") | None) => text.parse().ok().map(Val::F64),
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

    pub(super) fn primitive_name(&self, ty: Option<TypeId>) -> Option<&'static str> {
        self.known(ty?).map(|(known, _)| known.path)
    }

    /// Whether an integer is one of the type; `None` when the type is no integer.
    pub(super) fn fits(&self, value: i128, ty: Option<TypeId>) -> Option<bool> {
        in_range(value, self.primitive_name(ty)?)
    }

    /// The type argument of a known type with one of these paths.
    fn argument(&self, ty: Option<TypeId>, paths: &[&str]) -> Option<TypeId> {
        let (known, arguments) = self.known(ty?)?;
        if known.path == "&" && !paths.contains(&"&") {
            return self.argument(Some(arguments[0]), paths);
        }
        paths.contains(&known.path).then(|| arguments.first().copied()).flatten()
    }

    pub(super) fn block(&mut self, scope: &Scope, env: &Env, block: &Block, ty: Option<TypeId>) -> Eval {
        self.block_with(scope, env, Own::new(), block, ty)
    }

    /// A block with variables that are its own from the start.
    fn block_with(&mut self, scope: &Scope, env: &Env, mut own: Own, block: &Block, ty: Option<TypeId>) -> Eval {
        let tail = std::mem::take(&mut self.tail);
        self.spend(scope, block, env.values().map(Val::weight).sum())?;
        let mut env = env.clone();
        let Some((last, before)) = block.stmts.split_last() else { return Ok(Val::Unit) };
        self.local_constants(scope, &mut env, before)?;
        let returned = returned_variable(last, before);
        for stmt in before {
            match stmt {
                Stmt::Item(Item::Const(_)) => {}
                Stmt::Local(local) => {
                    let expected = ty.filter(|_| returned.is_some() && returned == bound_name(local));
                    let (name, ty) = self.local(scope, &mut env, local, expected)?;
                    // A name that is used again would leave references to the first one behind.
                    let taken = env.values().any(|value| matches!(value, Val::Place(place) if place.is_in(&name)));
                    if own.insert(name, ty).is_some() && taken {
                        return self.no(scope, local);
                    }
                }
                Stmt::Expr(Expr::If(branch), _) if tail && branch.else_branch.is_none() && returns(branch) => {
                    if let Some(bound) = self.condition(scope, &env, &branch.cond)? {
                        self.tail = true;
                        return self.block(scope, &with(&env, &bound), &branch.then_branch, ty);
                    }
                }
                Stmt::Expr(expr, semicolon) if semicolon.is_some() || is_statement(expr) => {
                    self.statement(scope, &mut env, &own, expr)?;
                }
                stmt => return self.no(scope, stmt),
            }
        }
        match last {
            Stmt::Expr(expr @ Expr::Return(_), _) | Stmt::Expr(expr, None) => {
                self.tail = tail;
                self.eval(scope, &env, expr, ty)
            }
            stmt => self.no(scope, stmt),
        }
    }

    /// Adds the constants that a block declares, which are known in all of it.
    fn local_constants(&mut self, scope: &Scope, env: &mut Env, stmts: &[Stmt]) -> Eval<()> {
        for stmt in stmts {
            let Stmt::Item(Item::Const(item)) = stmt else { continue };
            // A pattern would find the one outside.
            let hides = self.value_path(scope, &Path::from(item.ident.clone())).is_some();
            if hides || !item.attrs.is_empty() || !item.generics.params.is_empty() {
                return self.no(scope, stmt);
            }
            let ty = self.ty(scope, &item.ty);
            let value = self.eval(scope, env, &item.expr, Some(ty))?;
            env.insert(item.ident.to_string(), value);
        }
        Ok(())
    }

    /// Binds `let name = …;`, and returns the name and its type; `expected` is what follows from its use.
    pub(super) fn local(
        &mut self,
        scope: &Scope,
        env: &mut Env,
        local: &syn::Local,
        expected: Option<TypeId>,
    ) -> Eval<(String, Option<TypeId>)> {
        let (pat, ty) = match &local.pat {
            Pat::Type(typed) => (&*typed.pat, Some(self.ty(scope, &typed.ty))),
            // Without its type a number may be of any width.
            pat => (pat, expected),
        };
        let (Pat::Ident(name), Some(init)) = (pat, &local.init) else { return self.no(scope, local) };
        if name.subpat.is_some() || name.by_ref.is_some() || init.diverge.is_some() {
            return self.no(scope, local);
        }
        let value = match self.place(env, &init.expr) {
            Some(place) => Val::Place(place),
            None => self.eval(scope, env, &init.expr, ty)?,
        };
        let known = match &value {
            Val::Int(_) | Val::F32(_) | Val::F64(_) => ty.is_some(),
            Val::Seq(_) if name.mutability.is_some() => self.grows(scope, &init.expr, ty),
            // What changes a variable is a statement, and those are all known.
            _ => true,
        };
        if !known {
            return self.no(scope, local);
        }
        env.insert(name.ident.to_string(), value);
        Ok((name.ident.to_string(), ty))
    }

    fn unary(&mut self, scope: &Scope, env: &Env, expr: &Expr, op: &UnOp, inner: &Expr, ty: Option<TypeId>) -> Eval {
        if let (UnOp::Neg(_), Expr::Lit(lit)) = (op, inner) {
            return self.literal(&lit.lit, ty, true).map_or_else(|| self.no(scope, expr), Ok);
        }
        let value = self.eval(scope, env, inner, ty)?;
        match (op, value) {
            // A `Deref` of the user makes another value of it.
            (UnOp::Deref(_), Val::Struct(id, _) | Val::Variant(id, ..)) if self.implements(id, "std::ops::Deref") => {
                self.no(scope, expr)
            }
            (UnOp::Deref(_), value) => Ok(value),
            (UnOp::Not(_), Val::Bool(value)) => Ok(Val::Bool(!value)),
            (UnOp::Neg(_), Val::Int(value)) if ty.is_some() && self.fits(-value, ty) == Some(true) => {
                Ok(Val::Int(-value))
            }
            (UnOp::Neg(_), Val::F64(value)) => Ok(Val::F64(-value)),
            (UnOp::Neg(_), Val::F32(value)) => Ok(Val::F32(-value)),
            _ => self.no(scope, expr),
        }
    }

    fn binary(
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
        let left = self.eval(scope, env, left, ty)?;
        let factor = matches!((op, &left), (BinOp::Mul(_), Val::Duration(_)));
        let right_ty = if factor { self.primitive("u32") } else { ty };
        let right = self.eval(scope, env, right, right_ty)?;
        let value = match (op, left, right) {
            // Only values whose `PartialEq` is that of the language or derived: a user's type may have its own.
            (BinOp::Eq(_), left, right) => self.equal(&left, &right).map(Val::Bool),
            (BinOp::Ne(_), left, right) => self.equal(&left, &right).map(|equal| Val::Bool(!equal)),
            (BinOp::Add(_), Val::Str(left), Val::Str(right)) => Some(Val::Str(left + &right)),
            (BinOp::And(_), Val::Bool(left), Val::Bool(right)) => Some(Val::Bool(left && right)),
            (BinOp::Or(_), Val::Bool(left), Val::Bool(right)) => Some(Val::Bool(left || right)),
            (op, Val::F64(left), Val::F64(right)) => float_operation(op, left, right).map(Val::F64),
            (op, Val::F32(left), Val::F32(right)) => float_operation(op, left, right).map(Val::F32),
            (BinOp::Add(_), Val::Duration(left), Val::Duration(right)) => left.checked_add(right).map(Val::Duration),
            (BinOp::Mul(_), Val::Duration(left), Val::Int(right)) => {
                u32::try_from(right).ok().and_then(|right| left.checked_mul(right)).map(Val::Duration)
            }
            (op, Val::Int(left), Val::Int(right)) => match op {
                BinOp::Lt(_) => Some(Val::Bool(left < right)),
                BinOp::Le(_) => Some(Val::Bool(left <= right)),
                BinOp::Gt(_) => Some(Val::Bool(left > right)),
                BinOp::Ge(_) => Some(Val::Bool(left >= right)),
                BinOp::Add(_) => left.checked_add(right).map(Val::Int),
                BinOp::Sub(_) => left.checked_sub(right).map(Val::Int),
                BinOp::Mul(_) => left.checked_mul(right).map(Val::Int),
                BinOp::Div(_) => left.checked_div(right).map(Val::Int),
                BinOp::Rem(_) => left.checked_rem(right).map(Val::Int),
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
                let fits = if ty.is_some() { self.fits(value, ty) } else { Some(i32::try_from(value).is_ok()) };
                if fits == Some(true) { Ok(Val::Int(value)) } else { self.no(scope, expr) }
            }
            Some(value) => Ok(value),
            None => self.no(scope, expr),
        }
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
        match self.value_path(scope, path) {
            Some(Target::Item(item)) => self.constant(scope, expr, item),
            Some(Target::Member(id, name)) => {
                if let Some((index, Fields::Unit)) = self.variant(id, &name) {
                    return Ok(Val::Variant(id, index, Vec::new()));
                }
                self.associated_const(id, &name).unwrap_or_else(|| self.no(scope, expr))
            }
            Some(Target::Foreign(path)) if path[0] == "k8s_openapi" => match self.outside_constant(scope, &path) {
                Some(text) => Ok(Val::Str(text)),
                None => self.no(scope, expr),
            },
            Some(Target::Foreign(path)) => match path.join("::").as_str() {
                "std::option::Option::None" => Ok(Val::None),
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
            None => self.no(scope, expr),
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
            Resolution::Member(item, name) => match self.tree.item(item) {
                Item::Type(_) => {
                    let id = self.ty(scope, &owner_type(path)?);
                    self.user(id).is_some().then_some(Target::Member(id, name))
                }
                _ => self.item_type(scope, item).map(|id| Target::Member(id, name)),
            },
            Resolution::Foreign(path) => Some(Target::Foreign(path)),
            Resolution::Primitive(_) | Resolution::Unresolved(_) => None,
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
        generics.type_params().next().is_none().then(|| self.plain_user_type(item))
    }

    fn constant(&mut self, scope: &Scope, expr: &Expr, item: ItemRef) -> Eval {
        if self.tree.unknown_cfg(item).is_some() {
            return self.no(scope, expr);
        }
        let (ty, value) = match self.tree.item(item) {
            Item::Const(item) => (&item.ty, &item.expr),
            Item::Static(item) => (&item.ty, &item.expr),
            _ => return self.no(scope, expr),
        };
        if has_cfg(value) {
            return self.no(scope, expr);
        }
        let (ty, value) = (ty.clone(), value.clone());
        let inner = Scope::module(self.tree.module(item));
        let ty = self.ty(&inner, &ty);
        self.deeper(scope, expr, |types| types.eval(&inner, &Env::new(), &value, Some(ty)))
    }

    fn deeper(&mut self, scope: &Scope, expr: &impl ToTokens, run: impl FnOnce(&mut Self) -> Eval) -> Eval {
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
            (Val::F64(left), Val::F64(right)) => Some(left.total_cmp(right).is_eq() || (*left == 0.0 && *right == 0.0)),
            (Val::F32(left), Val::F32(right)) => Some(left.total_cmp(right).is_eq() || (*left == 0.0 && *right == 0.0)),
            (Val::F32(_) | Val::F64(_), _) | (_, Val::F32(_) | Val::F64(_)) => None,
            (Val::Json(left), Val::Json(right)) => Some(left == right),
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
            (left, right) => (plain(left) && plain(right)).then(|| left == right),
        }
    }

    /// The types of the fields of a struct or variant.
    pub(super) fn field_types(&mut self, id: TypeId, fields: &Fields) -> Vec<TypeId> {
        let Some(user) = self.user(id).cloned() else { return Vec::new() };
        fields.iter().map(|field| self.ty(&user.scope, &field.ty)).collect()
    }

    /// Associated items of a type outside of trait impls. Items that cfg may remove are not there.
    pub(super) fn inherent<T>(&mut self, id: TypeId, find: impl Fn(&ImplItem) -> Option<T>) -> Option<(T, Scope)> {
        let user = self.user(id)?.clone();
        for block in self.tree.impls(user.item).iter().copied() {
            let Item::Impl(item) = self.tree.item(block) else { continue };
            if item.trait_.is_some() || item.generics.type_params().next().is_some() {
                continue;
            }
            if self.tree.unknown_cfg(block).is_some() {
                return None;
            }
            if let Some(found) = item.items.iter().filter(|item| !has_cfg(item)).find_map(&find) {
                let scope = Scope { module: self.tree.module(block), ..user.scope };
                return Some((found, scope));
            }
        }
        None
    }

    fn associated_const(&mut self, id: TypeId, name: &str) -> Option<Eval> {
        let (item, scope) = self.inherent(id, |item| match item {
            ImplItem::Const(item) if item.ident == name => Some(item.clone()),
            _ => None,
        })?;
        let ty = self.ty(&scope, &item.ty);
        Some(self.deeper(&scope, &item.expr, |types| types.eval(&scope, &Env::new(), &item.expr, Some(ty))))
    }

    fn struct_literal(&mut self, scope: &Scope, env: &Env, literal: &ExprStruct, expected: Option<TypeId>) -> Eval {
        let resolved = match self.resolve(scope, &literal.path) {
            Resolution::Member(item, name) => self.item_type(scope, item).map(|id| Target::Member(id, name)),
            Resolution::Foreign(path) if path[0] == "k8s_openapi" => {
                return self.outside_literal(scope, env, literal, &path);
            }
            Resolution::Local(_) => {
                let path = syn::TypePath { attrs: Vec::new(), qself: None, path: literal.path.clone() };
                // Arguments that are left out are those of the type that is asked for, or around the code.
                let bare = literal.path.segments.last().is_some_and(|last| last.arguments.is_none());
                let inferred = [expected, scope.this].into_iter().flatten();
                let inferred = inferred.filter(|_| bare).find(|id| self.names(scope, &literal.path, *id));
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

    fn names(&self, scope: &Scope, path: &Path, this: TypeId) -> bool {
        let Resolution::Local(item) = self.resolve(scope, path) else { return false };
        self.user(this).is_some_and(|user| user.item == item)
    }

    pub(super) fn call(&mut self, scope: &Scope, env: &Env, call: &ExprCall, ty: Option<TypeId>) -> Eval {
        let Expr::Path(function) = &*call.func else { return self.no(scope, call) };
        if let Some(name) = self.schema_name_call(scope, call) {
            return Ok(Val::Str(name));
        }
        if let Some(schema) = self.json_schema_call(scope, env, call)? {
            return Ok(schema);
        }
        if let Some(qself) = &function.qself {
            let id = self.ty(scope, &qself.ty);
            let last = function.path.segments.last().map(|segment| segment.ident.to_string());
            return if last.as_deref() == Some("default") && call.args.is_empty() {
                self.default_of(scope, call, id)
            } else {
                self.no(scope, call)
            };
        }
        let arguments: Vec<&Expr> = call.args.iter().collect();
        if let Some(id) = generic_default(scope, &function.path).filter(|_| arguments.is_empty()) {
            return self.default_of(scope, call, id);
        }
        // The arguments of a generic type are those of the type that is asked for.
        let asked = ty.filter(|id| self.shape(*id).is_some() && self.names(scope, &function.path, *id));
        match asked.map(Target::Itself).or_else(|| self.value_path(scope, &function.path)) {
            Some(Target::Foreign(path)) => self.foreign_call(scope, env, call, &path, &function.path, &arguments, ty),
            Some(Target::Itself(id)) => match self.shape(id).cloned() {
                Some(fields @ Fields::Unnamed(_)) => {
                    Ok(Val::Struct(id, self.constructor(scope, env, call, id, &fields, &arguments)?))
                }
                _ => self.no(scope, call),
            },
            Some(Target::Member(id, name)) => {
                if let Some((index, fields)) = self.variant(id, &name) {
                    let fields = fields.clone();
                    return Ok(Val::Variant(id, index, self.constructor(scope, env, call, id, &fields, &arguments)?));
                }
                let found = self.inherent(id, |item| match item {
                    ImplItem::Fn(item) if item.sig.ident == name => Some((item.sig.clone(), item.block.clone())),
                    _ => None,
                });
                match found {
                    Some(((sig, block), inner)) => {
                        let inner = self.turbofish(scope, &function.path, &sig, inner);
                        self.function(scope, env, call, (&sig, &block, &inner), None, &arguments)
                    }
                    // A generic block may have a function of this name, too.
                    None if name == "default" && arguments.is_empty() && self.takes_default_of_trait(id) => {
                        self.default_of(scope, call, id)
                    }
                    None => self.no(scope, call),
                }
            }
            Some(Target::Item(item)) => match self.tree.item(item) {
                Item::Fn(found) if self.tree.unknown_cfg(item).is_none() => {
                    let (sig, block) = (found.sig.clone(), found.block.clone());
                    let inner = Scope::module(self.tree.module(item));
                    let inner = self.turbofish(scope, &function.path, &sig, inner);
                    self.function(scope, env, call, (&sig, &block, &inner), None, &arguments)
                }
                _ => self.no(scope, call),
            },
            None => self.no(scope, call),
        }
    }

    /// The scope of a generic function with the types that `path::<A, B>` gives it.
    fn turbofish(&mut self, scope: &Scope, path: &Path, sig: &syn::Signature, inner: Scope) -> Scope {
        let Some(syn::PathArguments::AngleBracketed(list)) = path.segments.last().map(|last| &last.arguments) else {
            return inner;
        };
        let given: Vec<&syn::Type> = list
            .args
            .iter()
            .filter_map(|argument| if let syn::GenericArgument::Type(ty) = argument { Some(ty) } else { None })
            .filter(|ty| !matches!(ty, syn::Type::Infer(_)))
            .collect();
        let parameters: Vec<String> = sig.generics.type_params().map(|param| param.ident.to_string()).collect();
        if given.len() != parameters.len() || sig.generics.const_params().next().is_some() {
            return inner;
        }
        let mut generics = (*inner.generics).clone();
        for (name, ty) in parameters.into_iter().zip(given) {
            generics.insert(name, self.ty(scope, ty));
        }
        Scope { generics: Rc::new(generics), ..inner }
    }

    fn constructor(
        &mut self,
        scope: &Scope,
        env: &Env,
        call: &ExprCall,
        id: TypeId,
        fields: &Fields,
        arguments: &[&Expr],
    ) -> Eval<Vec<Val>> {
        let types = self.field_types(id, fields);
        if types.len() != arguments.len() {
            return self.no(scope, call);
        }
        arguments.iter().zip(types).map(|(argument, ty)| self.eval(scope, env, argument, Some(ty))).collect()
    }

    fn function(
        &mut self,
        scope: &Scope,
        env: &Env,
        call: &impl ToTokens,
        (sig, block, inner): (&syn::Signature, &Block, &Scope),
        receiver: Option<Val>,
        arguments: &[&Expr],
    ) -> Eval {
        let bound = sig.generics.type_params().all(|param| inner.generics.contains_key(&param.ident.to_string()));
        let taken = usize::from(receiver.is_some());
        let mut values: Vec<Val> = receiver.into_iter().collect();
        if !bound || sig.asyncness.is_some() || sig.inputs.len() != arguments.len() + taken {
            return self.no(scope, call);
        }
        for (input, argument) in sig.inputs.iter().skip(taken).zip(arguments) {
            let FnArg::Typed(input) = input else { return self.no(scope, call) };
            let ty = self.ty(inner, &input.ty);
            values.push(self.eval(scope, env, argument, Some(ty))?);
        }
        self.invoke(scope, call, (sig, block, inner), values)
    }

    /// Runs a function on values.
    pub(super) fn invoke(
        &mut self,
        scope: &Scope,
        call: &impl ToTokens,
        (sig, block, inner): (&syn::Signature, &Block, &Scope),
        values: Vec<Val>,
    ) -> Eval {
        if sig.inputs.len() != values.len() || sig.asyncness.is_some() {
            return self.no(scope, call);
        }
        let mut env = Env::new();
        let mut own = Own::new();
        for (input, value) in sig.inputs.iter().zip(values) {
            let name = match input {
                FnArg::Receiver(receiver) => {
                    if matches!(receiver.kind, syn::ReceiverKind::Value) {
                        own.insert("self".to_owned(), inner.this);
                    }
                    "self".to_owned()
                }
                FnArg::Typed(input) => match &*input.pat {
                    Pat::Wild(_) => continue,
                    Pat::Ident(name) if name.mutability.is_none() => name.ident.to_string(),
                    Pat::Ident(name) if !matches!(*input.ty, syn::Type::Reference(_)) => {
                        let ty = self.ty(inner, &input.ty);
                        own.insert(name.ident.to_string(), Some(ty));
                        name.ident.to_string()
                    }
                    Pat::Reference(inner) => match &*inner.pat {
                        Pat::Ident(name) if name.mutability.is_none() => name.ident.to_string(),
                        _ => return self.no(scope, call),
                    },
                    _ => return self.no(scope, call),
                },
            };
            env.insert(name, value);
        }
        if has_cfg(block) {
            return self.no(scope, call);
        }
        let output = match &sig.output {
            syn::ReturnType::Default => None,
            syn::ReturnType::Type(_, ty) if matches!(**ty, syn::Type::ImplTrait(_)) => return self.no(scope, call),
            syn::ReturnType::Type(_, ty) => Some(self.ty(inner, ty)),
        };
        self.deeper(scope, call, |types| {
            types.tail = true;
            types.block_with(inner, &env, own, block, output)
        })
    }

    #[allow(clippy::too_many_arguments)]
    fn foreign_call(
        &mut self,
        scope: &Scope,
        env: &Env,
        call: &ExprCall,
        path: &[String],
        written: &Path,
        arguments: &[&Expr],
        ty: Option<TypeId>,
    ) -> Eval {
        let path = path.join("::");
        let (owner, function) = path.rsplit_once("::").unwrap_or(("", &path));
        match (owner, function, arguments) {
            ("std::option::Option", "Some", [value]) => {
                let inner = self.argument(ty, &["std::option::Option"]);
                Ok(Val::Some(Box::new(self.eval(scope, env, value, inner)?)))
            }
            ("std::default::Default", "default", []) => match ty {
                Some(ty) => self.default_of(scope, call, ty),
                None => self.no(scope, call),
            },
            (_, _, [value]) if is_json_function(&path) => self.json_function(scope, env, call, &path, value, ty),
            ("serde_json::Map" | "schemars::Schema", "new" | "default", []) => Ok(Val::Json(Value::Object(Map::new()))),
            ("std::borrow::Cow", "Borrowed" | "Owned", [value]) => self.eval(scope, env, value, None),
            ("std::string::String", "new", []) => Ok(Val::Str(String::new())),
            ("std::string::String", "from", [value]) => match self.eval(scope, env, value, None)? {
                Val::Str(text) => Ok(Val::Str(text)),
                _ => self.no(scope, call),
            },
            (_, "new", []) if LISTS.contains(&owner) || SETS.contains(&owner) => Ok(Val::Seq(Vec::new())),
            (_, "new", []) if MAPS.contains(&owner) => Ok(Val::Map(Vec::new())),
            (_, "new", [value]) if POINTERS.contains(&owner) => {
                let inner = self.argument(ty, &POINTERS);
                self.eval(scope, env, value, inner)
            }
            (_, "from", [value]) if LISTS[..3].contains(&owner) => {
                let element = self.argument(ty, &LISTS);
                match unwrap(value) {
                    Expr::Array(array) => self.list(scope, env, array.elems.iter(), element).map(Val::Seq),
                    _ => self.no(scope, call),
                }
            }
            (_, "from", [value]) if SETS[..2].contains(&owner) => {
                let element = self.argument(ty, &SETS);
                match unwrap(value) {
                    Expr::Array(array) => {
                        let values = self.list(scope, env, array.elems.iter(), element)?;
                        // A hash set of several elements has no order to write down.
                        let one = owner == SETS[0] || values.len() < 2;
                        sorted(values)
                            .filter(|_| one)
                            .map_or_else(|| self.no(scope, call), |values| Ok(Val::Seq(values)))
                    }
                    _ => self.no(scope, call),
                }
            }
            (_, "from", [value]) if MAPS[..2].contains(&owner) => {
                let types = ty.and_then(|ty| self.known(ty)).filter(|(known, _)| MAPS.contains(&known.path));
                let types = types.map(|(_, arguments)| arguments).unwrap_or_default();
                let Expr::Array(array) = unwrap(value) else { return self.no(scope, call) };
                let mut entries = Vec::new();
                for entry in &array.elems {
                    let Expr::Tuple(pair) = unwrap(entry) else { return self.no(scope, call) };
                    let (Some(key), Some(value), 2) = (pair.elems.first(), pair.elems.last(), pair.elems.len()) else {
                        return self.no(scope, call);
                    };
                    let key = self.eval(scope, env, key, types.first().copied())?;
                    let value = self.eval(scope, env, value, types.get(1).copied())?;
                    entries.push((key, value));
                }
                Ok(Val::Map(entries))
            }
            ("k8s_openapi::apimachinery::pkg::api::resource", "Quantity", [value]) => {
                let text = self.primitive("std::string::String");
                match self.eval(scope, env, value, text)? {
                    Val::Str(text) => Ok(Val::Json(text.into())),
                    _ => self.no(scope, call),
                }
            }
            ("k8s_openapi::apimachinery::pkg::util::intstr::IntOrString", "Int" | "String", [value]) => {
                let inner = self.primitive(if function == "Int" { "i32" } else { "std::string::String" });
                match self.eval(scope, env, value, inner)? {
                    Val::Str(text) => Ok(Val::Json(text.into())),
                    Val::Int(number) => Ok(Val::Json(json::integer(number))),
                    _ => self.no(scope, call),
                }
            }
            (_, "default", []) => {
                let Some(of) = owner_type(written) else { return self.no(scope, call) };
                let id = self.ty(scope, &of);
                match (self.known(id), ty) {
                    // `Vec::default()` leaves the arguments to inference.
                    (None, Some(ty)) if self.known(ty).is_some_and(|(known, _)| known.path == owner) => {
                        self.default_of(scope, call, ty)
                    }
                    (Some(_), _) => self.default_of(scope, call, id),
                    (None, _) if matches!(self.info(id), Info::Outside(_)) => self.default_of(scope, call, id),
                    (None, _) => self.no(scope, call),
                }
            }
            _ => {
                let given: Eval<Vec<Val>> =
                    arguments.iter().map(|argument| self.eval(scope, env, argument, None)).collect();
                match std_value::called(&path, &given?) {
                    Some(value) => Ok(value),
                    None => self.no(scope, call),
                }
            }
        }
    }

    /// `start..end` where a `Range` is asked for.
    fn range(&mut self, scope: &Scope, env: &Env, range: &syn::ExprRange, ty: Option<TypeId>) -> Eval {
        let element = self.argument(ty, &["std::ops::Range"]);
        let (Some(start), Some(end), Some(_)) = (&range.start, &range.end, element) else {
            return self.no(scope, range);
        };
        if !matches!(range.limits, syn::RangeLimits::HalfOpen(_)) {
            return self.no(scope, range);
        }
        let start = self.eval(scope, env, start, element)?;
        let end = self.eval(scope, env, end, element)?;
        let (start, end) = (self.json(scope, range, &start)?, self.json(scope, range, &end)?);
        Ok(Val::Json(serde_json::json!({ "start": start, "end": end })))
    }

    fn list<'e>(
        &mut self,
        scope: &Scope,
        env: &Env,
        items: impl Iterator<Item = &'e Expr>,
        element: Option<TypeId>,
    ) -> Eval<Vec<Val>> {
        items.map(|item| self.eval(scope, env, item, element)).collect()
    }

    fn method(&mut self, scope: &Scope, env: &Env, call: &ExprMethodCall, ty: Option<TypeId>) -> Eval {
        let method = call.method.to_string();
        let receiver = match &*call.receiver {
            // The `Ok` of a call has the type that the place asks for.
            Expr::Call(inner) if matches!(method.as_str(), "unwrap" | "expect") => self.call(scope, env, inner, ty)?,
            Expr::MethodCall(inner) if inner.method == "parse" && matches!(method.as_str(), "unwrap" | "expect") => {
                return self.parsed(scope, env, inner, ty);
            }
            receiver => self.eval(scope, env, receiver, None)?,
        };
        if let Some(value) = self.schema_method(scope, env, call, &receiver)? {
            return Ok(value);
        }
        let arguments: Vec<&Expr> = call.args.iter().collect();
        if let Val::Struct(id, _) | Val::Variant(id, ..) = &receiver {
            let id = *id;
            let found = self.inherent(id, |item| match item {
                ImplItem::Fn(item) if item.sig.ident == method => Some((item.sig.clone(), item.block.clone())),
                _ => None,
            });
            let clones = method == "clone" && arguments.is_empty() && self.derives_clone(id);
            return match found {
                Some(((sig, block), inner)) => {
                    self.function(scope, env, call, (&sig, &block, &inner), Some(receiver), &arguments)
                }
                None if clones => Ok(receiver),
                None => self.no(scope, call),
            };
        }
        match self.std_method(scope, env, call, (receiver, &method, &arguments), ty)? {
            Some(value) => Ok(value),
            None => self.no(scope, call),
        }
    }

    /// `text.parse().unwrap()` for types of std.
    fn parsed(&mut self, scope: &Scope, env: &Env, call: &ExprMethodCall, ty: Option<TypeId>) -> Eval {
        let written = match call.turbofish.as_ref().and_then(|turbofish| turbofish.args.first()) {
            Some(syn::GenericArgument::Type(ty)) => Some(self.ty(scope, ty)),
            _ => ty,
        };
        let Val::Str(text) = self.eval(scope, env, &call.receiver, None)? else { return self.no(scope, call) };
        let value = self.primitive_name(written).and_then(|name| std_value::parsed(name, &text));
        match value.filter(|value| !matches!(value, Val::Int(number) if self.fits(*number, written) != Some(true))) {
            Some(value) => Ok(value),
            None => self.no(scope, call),
        }
    }

    /// `T::default` is that of the trait.
    fn takes_default_of_trait(&self, id: TypeId) -> bool {
        let Some(user) = self.user(id) else { return false };
        let own = |block: &ItemRef| match self.tree.item(*block) {
            Item::Impl(item) if item.trait_.is_none() => {
                item.items.iter().any(|item| matches!(item, ImplItem::Fn(function) if function.sig.ident == "default"))
            }
            _ => false,
        };
        !self.tree.impls(user.item).iter().any(own)
    }

    /// Whether a type of the user has an `impl` of the trait of this canonical path.
    fn implements(&self, id: TypeId, canonical: &str) -> bool {
        let Some(user) = self.user(id) else { return false };
        self.tree.impls(user.item).iter().any(|block| self.trait_of(*block).as_deref() == Some(canonical))
    }

    fn derives_clone(&self, id: TypeId) -> bool {
        self.user(id).is_some_and(|user| self.derives_trait(user.item, "std::clone::Clone"))
    }

    fn macro_call(&mut self, scope: &Scope, env: &Env, expr: &Expr, mac: &syn::Macro, ty: Option<TypeId>) -> Eval {
        let Resolution::Foreign(path) = self.resolve_in(scope, &mac.path, Namespace::Macros) else {
            return self.no(scope, expr);
        };
        match path.join("::").as_str() {
            "std::vec" => {
                let parser = syn::punctuated::Punctuated::<Expr, syn::Token![,]>::parse_terminated;
                let Ok(items) = mac.parse_body_with(parser) else { return self.no(scope, expr) };
                let element = self.argument(ty, &LISTS);
                self.list(scope, env, items.iter(), element).map(Val::Seq)
            }
            "serde_json::json" => self.recipe_tokens(scope, env, &mac.tokens).map(Val::from),
            "schemars::json_schema" => match self.recipe_tokens(scope, env, &mac.tokens)? {
                Recipe::Json(value) if !value.is_object() && !value.is_boolean() => self.no(scope, expr),
                recipe => Ok(Val::from(recipe)),
            },
            "std::matches" => {
                let Ok(test) = mac.parse_body::<Matches>() else { return self.no(scope, expr) };
                let value = self.eval(scope, env, &test.value, None)?;
                let mut bound = Env::new();
                let holds = self.matches(scope, &test.pat, &value, &mut bound)?;
                match test.guard {
                    Some(guard) if holds => self.eval(scope, &with(env, &bound), &guard, None),
                    _ => Ok(Val::Bool(holds)),
                }
            }
            "std::concat" | "std::env" | "std::format" | "std::include_str" | "std::module_path" => {
                match self.text_macro(scope, env, &path.join("::"), &mac.tokens)? {
                    Some(text) => Ok(Val::Str(text)),
                    None => self.no(scope, expr),
                }
            }
            _ => self.no(scope, expr),
        }
    }

    /// `T::default()`.
    pub(super) fn default_of(&mut self, scope: &Scope, at: &impl ToTokens, id: TypeId) -> Eval {
        // Its fields are looked up by name.
        self.spend(scope, at, 20)?;
        if let Some((known, arguments)) = self.known(id) {
            return match known.path {
                "bool" => Ok(Val::Bool(false)),
                "char" => Ok(Val::Char('\0')),
                "f32" => Ok(Val::F32(0.0)),
                "f64" => Ok(Val::F64(0.0)),
                "std::string::String" | "str" => Ok(Val::Str(String::new())),
                // Its methods are not those of a text.
                "std::path::PathBuf" => Ok(Val::Json("".into())),
                "std::option::Option" => Ok(Val::None),
                "std::marker::PhantomData" => Ok(Val::Unit),
                "serde_json::Value" | "serde_json::value::Value" => Ok(Val::Json(Value::Null)),
                "serde_json::Map" => Ok(Val::Map(Vec::new())),
                path if LISTS.contains(&path) || SETS.contains(&path) => Ok(Val::Seq(Vec::new())),
                path if MAPS.contains(&path) => Ok(Val::Map(Vec::new())),
                path if POINTERS.contains(&path) || WRAPPERS.contains(&path) => {
                    self.default_of(scope, at, arguments[0])
                }
                "[T]" => Ok(Val::Seq(Vec::new())),
                "[]" => match known::array_length(known) {
                    Some(0) => Ok(Val::Seq(Vec::new())),
                    Some(length) => Ok(Val::Seq(vec![self.default_of(scope, at, arguments[0])?; length])),
                    None => self.no(scope, at),
                },
                "std::time::Duration" => Ok(Val::Duration(Duration::ZERO)),
                "std::ops::Range" => {
                    let end = self.default_of(scope, at, arguments[0])?;
                    let end = self.json(scope, at, &end)?;
                    Ok(Val::Json(serde_json::json!({ "start": end, "end": end })))
                }
                "()" if arguments.is_empty() => Ok(Val::Unit),
                "()" => {
                    let values: Eval<Vec<Val>> =
                        arguments.iter().map(|argument| self.default_of(scope, at, *argument)).collect();
                    values.map(Val::Seq)
                }
                path if in_range(0, path).is_some() => Ok(Val::Int(0)),
                "smol_str::SmolStr" => Ok(Val::Str(String::new())),
                "bytes::Bytes" | "bytes::BytesMut" => Ok(Val::Seq(Vec::new())),
                "uuid::Uuid" => Ok(std_value::nil_uuid()),
                _ => match known.default {
                    Some(default) => Ok(Val::Json(default())),
                    None => match self.linked_default(scope, known.path) {
                        Some(default) => Ok(Val::Json(default)),
                        None => self.no(scope, at),
                    },
                },
            };
        }
        if let Some(default) = self.outside_default(id) {
            return Ok(Val::Json(default));
        }
        let Some(user) = self.user(id).cloned() else { return self.no(scope, at) };
        self.deeper(scope, at, |types| {
            if types.derives_trait(user.item, "std::default::Default") {
                return types.derived_default(scope, at, id, user.item);
            }
            for block in types.tree.impls(user.item).iter().copied() {
                if types.trait_of(block).as_deref() != Some("std::default::Default") {
                    continue;
                }
                let Item::Impl(item) = types.tree.item(block) else { continue };
                let function = item.items.iter().find_map(|item| match item {
                    ImplItem::Fn(function) if function.sig.ident == "default" => Some(function.clone()),
                    _ => None,
                });
                let inner = Scope { module: types.tree.module(block), ..user.scope.clone() };
                if let (Some(function), None) = (function.filter(|_| !has_cfg(item)), types.tree.unknown_cfg(block)) {
                    return types.invoke(scope, at, (&function.sig, &function.block, &inner), Vec::new());
                }
            }
            types.no(scope, at)
        })
    }

    fn derived_default(&mut self, scope: &Scope, at: &impl ToTokens, id: TypeId, item: ItemRef) -> Eval {
        let tree = self.tree;
        match tree.item(item) {
            Item::Struct(item) => {
                let types = self.field_types(id, &item.fields);
                let values: Eval<Vec<Val>> = types.into_iter().map(|ty| self.default_of(scope, at, ty)).collect();
                Ok(Val::Struct(id, values?))
            }
            Item::Enum(item) => {
                let marked = |variant: &syn::Variant| variant.attrs.iter().any(|attr| attr.path().is_ident("default"));
                match item.variants.iter().position(marked) {
                    Some(index) => Ok(Val::Variant(id, index, Vec::new())),
                    None => self.no(scope, at),
                }
            }
            _ => self.no(scope, at),
        }
    }

    /// The value that a function without parameters returns, as `#[serde(default = "path")]` calls it.
    pub(super) fn call_path(&mut self, scope: &Scope, path: &syn::ExprPath, ty: TypeId) -> Eval {
        let func = Box::new(Expr::Path(path.clone()));
        let call = ExprCall {
            attrs: Vec::new(),
            func,
            paren_token: syn::token::Paren::default(),
            args: syn::punctuated::Punctuated::new(),
        };
        self.call(scope, &Env::new(), &call, Some(ty))
    }

    /// Whether `path(&value)` is true, as `#[serde(skip_serializing_if = "path")]` calls it with a field of type `ty`.
    pub(super) fn test_path(&mut self, scope: &Scope, path: &syn::ExprPath, value: &Val, ty: TypeId) -> Eval<bool> {
        if let Some(qself) = &path.qself {
            // `<[_]>::is_empty`, `<str>::is_empty`
            let plain = match &*qself.ty {
                syn::Type::Slice(_) => matches!(value, Val::Seq(_)),
                syn::Type::Path(of) => of.path.is_ident("str") && matches!(value, Val::Str(_)),
                _ => false,
            };
            let answer = match path.path.segments.last() {
                Some(last) if plain && qself.position == 0 => test(&last.ident.to_string(), value),
                _ => None,
            };
            return answer.map_or_else(|| self.no(scope, path), Ok);
        }
        let result = match self.value_path(scope, &path.path) {
            Some(Target::Foreign(path)) => {
                let known = path.first().is_some_and(|krate| PLAIN.contains(&krate.as_str()));
                match (path.join("::").as_str(), value) {
                    ("std::ops::Not::not", Val::Bool(value)) => return Ok(!value),
                    _ => path.last().filter(|_| known).and_then(|name| test(name, value)),
                }
            }
            Some(Target::Item(item)) => {
                let tree = self.tree;
                let Item::Fn(function) = tree.item(item) else { return self.no(scope, path) };
                let inner = Scope::module(tree.module(item));
                let generics = self.inferred(tree.module(item), &function.sig, ty);
                let Some(generics) = generics.filter(|_| tree.unknown_cfg(item).is_none()) else {
                    return self.no(scope, path);
                };
                let inner = Scope { generics: Rc::new(generics), ..inner };
                match self.invoke(scope, path, (&function.sig, &function.block, &inner), vec![value.clone()])? {
                    Val::Bool(answer) => Some(answer),
                    _ => None,
                }
            }
            Some(Target::Member(id, name)) => {
                let found = self.inherent(id, |item| match item {
                    ImplItem::Fn(item) if item.sig.ident == name => Some((item.sig.clone(), item.block.clone())),
                    _ => None,
                });
                let Some(((sig, block), inner)) = found else { return self.no(scope, path) };
                match self.invoke(scope, path, (&sig, &block, &inner), vec![value.clone()])? {
                    Val::Bool(answer) => Some(answer),
                    _ => None,
                }
            }
            _ => None,
        };
        result.map_or_else(|| self.no(scope, path), Ok)
    }

    /// The type parameters of `fn(&T) -> …` when it is called with a value of type `ty`.
    fn inferred(&mut self, module: ModuleId, sig: &syn::Signature, ty: TypeId) -> Option<BTreeMap<String, TypeId>> {
        let mut bound = BTreeMap::new();
        let names: Vec<String> = sig.generics.type_params().map(|param| param.ident.to_string()).collect();
        if names.is_empty() {
            return Some(bound);
        }
        let Some(FnArg::Typed(input)) = sig.inputs.first() else { return None };
        let syn::Type::Reference(input) = &*input.ty else { return None };
        self.infer(&Scope::module(module), &input.elem, ty, &names, &mut bound);
        (bound.len() == names.len()).then_some(bound)
    }

    fn infer(
        &mut self,
        scope: &Scope,
        written: &syn::Type,
        ty: TypeId,
        names: &[String],
        bound: &mut BTreeMap<String, TypeId>,
    ) {
        let syn::Type::Path(written) = written else { return };
        if let Some(name) = written.path.get_ident().map(ToString::to_string).filter(|name| names.contains(name)) {
            bound.insert(name, ty);
            return;
        }
        let Some((known, arguments)) = self.known(ty) else { return };
        let Resolution::Foreign(path) = self.resolve(scope, &written.path) else { return };
        let Some(syn::PathArguments::AngleBracketed(list)) = written.path.segments.last().map(|last| &last.arguments)
        else {
            return;
        };
        if path.join("::") == known.path {
            for (argument, ty) in list.args.iter().zip(arguments) {
                if let syn::GenericArgument::Type(argument) = argument {
                    self.infer(scope, argument, ty, names, bound);
                }
            }
        }
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

pub(super) const LISTS: [&str; 5] = [
    "std::vec::Vec",
    "std::collections::VecDeque",
    "std::collections::LinkedList",
    "std::collections::BinaryHeap",
    "smallvec::SmallVec",
];
pub(super) const SETS: [&str; 3] = ["std::collections::BTreeSet", "std::collections::HashSet", "indexmap::IndexSet"];
pub(super) const MAPS: [&str; 3] = ["std::collections::BTreeMap", "std::collections::HashMap", "indexmap::IndexMap"];
/// Crates whose `is_empty`, `is_none` and the like are those of std.
const PLAIN: [&str; 4] = ["std", "serde_json", "indexmap", "smallvec"];
const POINTERS: [&str; 3] = ["std::boxed::Box", "std::rc::Rc", "std::sync::Arc"];
/// Types whose default is that of their argument, and which are written like it.
const WRAPPERS: [&str; 7] = [
    "std::borrow::Cow",
    "std::cell::Cell",
    "std::cell::RefCell",
    "std::cmp::Reverse",
    "std::num::Wrapping",
    "std::sync::Mutex",
    "std::sync::RwLock",
];

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

/// The type argument of which `T::default` is the default.
fn generic_default(scope: &Scope, path: &Path) -> Option<TypeId> {
    let mut segments = path.segments.iter();
    match (segments.next(), segments.next(), segments.next()) {
        (Some(of), Some(function), None) if function.ident == "default" => {
            scope.generics.get(&of.ident.to_string()).copied()
        }
        _ => None,
    }
}

/// `is_empty`, `is_none` and `is_some` of std types.
pub(super) fn test(name: &str, value: &Val) -> Option<bool> {
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
        | Val::Generator
        | Val::Place(_) => false,
    }
}

pub(super) fn sorted(values: Vec<Val>) -> Option<Vec<Val>> {
    if values.len() < 2 {
        return Some(values);
    }
    let texts: Option<std::collections::BTreeSet<String>> =
        values.iter().map(|value| if let Val::Str(text) = value { Some(text.clone()) } else { None }).collect();
    if let Some(texts) = texts {
        return Some(texts.into_iter().map(Val::Str).collect());
    }
    let numbers: Option<std::collections::BTreeSet<i128>> =
        values.iter().map(|value| if let Val::Int(number) = value { Some(*number) } else { None }).collect();
    numbers.map(|numbers| numbers.into_iter().map(Val::Int).collect())
}

/// Whether something inside depends on a `cfg`; those in bodies of functions are not applied.
fn has_cfg(tokens: &impl ToTokens) -> bool {
    fn any(tokens: proc_macro2::TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            proc_macro2::TokenTree::Group(group) => any(group.stream()),
            proc_macro2::TokenTree::Ident(ident) => ident == "cfg" || ident == "cfg_attr",
            _ => false,
        })
    }
    any(tokens.to_token_stream())
}

fn unwrap(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(inner) => unwrap(&inner.expr),
        Expr::Group(inner) => unwrap(&inner.expr),
        expr => expr,
    }
}

/// `value as target`, as the language converts numbers.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)]
fn cast_to(value: &Val, target: &str) -> Option<Val> {
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

/// The variable that a block ends with, when one `let` binds it.
fn returned_variable(last: &Stmt, before: &[Stmt]) -> Option<String> {
    let Stmt::Expr(Expr::Path(path), None) = last else { return None };
    let name = path.path.get_ident()?.to_string();
    let bound =
        before.iter().filter(|stmt| matches!(stmt, Stmt::Local(local) if bound_name(local).as_ref() == Some(&name)));
    (bound.count() == 1).then_some(name)
}

/// The name of `let name = …`.
fn bound_name(local: &syn::Local) -> Option<String> {
    match &local.pat {
        Pat::Ident(name) => Some(name.ident.to_string()),
        Pat::Type(typed) => match &*typed.pat {
            Pat::Ident(name) => Some(name.ident.to_string()),
            _ => None,
        },
        _ => None,
    }
}

/// The function ends with this branch.
fn returns(branch: &syn::ExprIf) -> bool {
    matches!(branch.then_branch.stmts.last(), Some(Stmt::Expr(Expr::Return(_), _)))
}

/// The arguments of `matches!`.
struct Matches {
    value: Expr,
    pat: Pat,
    guard: Option<Expr>,
}

impl Parse for Matches {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let value = input.parse()?;
        input.parse::<syn::Token![,]>()?;
        let pat = Pat::parse_multi_with_leading_vert(input)?;
        let guard = if input.peek(syn::Token![if]) {
            input.parse::<syn::Token![if]>()?;
            Some(input.parse()?)
        } else {
            None
        };
        input.parse::<Option<syn::Token![,]>>()?;
        Ok(Matches { value, pat, guard })
    }
}

fn in_range(value: i128, ty: &str) -> Option<bool> {
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
