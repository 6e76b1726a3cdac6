//! Conditions: functions that decide if a field is omitted, as `#[serde(skip_serializing_if = "path")]` calls them.

use std::cmp::Ordering;
use std::rc::Rc;

use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::{BinOp, Expr, FnArg, Item, Lit, Member, Pat, RangeLimits, Signature, Stmt, Token, UnOp};

use crate::schema::TypeId;
use crate::source::{Namespace, Resolution};

use super::block::has_cfg;
use super::evaluator::{Env, Eval, EvalFunction, EvalTarget, Evaluator};
use crate::api::canonical::{DEREF, PARTIAL_EQ};
use crate::api::item_attrs::rewrites;
use crate::api::types::TypeScope;
use crate::api::value::Val;

impl Evaluator<'_, '_> {
    /// Evaluates `path(&value)`, as `#[serde(skip_serializing_if = "path")]` calls it with a field of type `ty`.
    pub(in crate::api) fn test_path(
        &mut self,
        scope: &TypeScope,
        path: &syn::ExprPath,
        value: &Val,
        ty: TypeId,
    ) -> Eval<bool> {
        self.called_with(scope, path, value, ty).map_err(|refusal| refusal.help(HELP))
    }

    fn called_with(&mut self, scope: &TypeScope, path: &syn::ExprPath, value: &Val, ty: TypeId) -> Eval<bool> {
        if path.qself.is_some() {
            return self.unsupported(scope, path);
        }
        match self.value_path(scope, &path.path) {
            Some(EvalTarget::Foreign(found)) => {
                let known = PLAIN.contains(&found[0].as_str());
                let answer = match (found.join("::").as_str(), value) {
                    ("std::ops::Not::not", Val::Bool(value)) => Some(!value),
                    _ => found.last().filter(|_| known).and_then(|name| test(name, value)),
                };
                self.or_unsupported(scope, path, answer)
            }
            Some(EvalTarget::Item(item)) => {
                let tree = self.tree;
                let Item::Fn(function) = tree.item(item) else { return self.unsupported(scope, path) };
                let inner = TypeScope::module(tree.module(item));
                let usable = tree.unknown_cfg(item).is_none() && !rewrites(&function.attrs);
                let Some(inner) = inferred(&function.sig, ty, inner).filter(|_| usable) else {
                    return self.unsupported(scope, path);
                };
                let function =
                    EvalFunction { sig: function.sig.clone(), block: (*function.block).clone(), scope: inner };
                self.condition(scope, path, &function, value)
            }
            Some(EvalTarget::Member(id, name)) => match self.own_function(id, &name) {
                Some(function) => self.condition(scope, path, &function, value),
                None => self.unsupported(scope, path),
            },
            _ => self.unsupported(scope, path),
        }
    }

    /// Evaluates a user-defined condition for a value.
    fn condition(&mut self, scope: &TypeScope, at: &impl ToTokens, function: &EvalFunction, value: &Val) -> Eval<bool> {
        let EvalFunction { sig, block, scope: inner } = function;
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
        // `Deref` would call the method with another value.
        let is_of = of.is_some_and(|of| self.types.conforms(value, of));
        if !is_of || sig.inputs.len() != 1 || !self.is_bound(sig, inner) {
            return self.unsupported(scope, at);
        }
        if has_cfg(block) {
            return self.unsupported(scope, at);
        }
        match block.stmts.as_slice() {
            [Stmt::Expr(expr, None)] => self.holds(inner, &Subject(vec![(name, value)]), expr),
            _ => self.unsupported(inner, block),
        }
    }

    fn holds(&mut self, scope: &TypeScope, subject: &Subject<'_>, expr: &Expr) -> Eval<bool> {
        self.spend(scope, expr, subject.weight())?;
        let answer = match expr {
            Expr::Path(_) | Expr::Field(_) => subject.flag(self, expr),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => subject.flag(self, expr),
            Expr::Paren(inner) => Some(self.holds(scope, subject, &inner.expr)?),
            Expr::Group(inner) => Some(self.holds(scope, subject, &inner.expr)?),
            Expr::Lit(literal) => match &literal.lit {
                Lit::Bool(value) => Some(value.value),
                _ => None,
            },
            Expr::Block(inner) if inner.label.is_none() => match inner.block.stmts.as_slice() {
                [Stmt::Expr(value, None)] => Some(self.holds(scope, subject, value)?),
                _ => None,
            },
            Expr::Binary(binary) if matches!(binary.op, BinOp::And(_) | BinOp::Or(_)) => {
                let decides = matches!(binary.op, BinOp::Or(_));
                let left = self.holds(scope, subject, &binary.left)?;
                Some(if left == decides { left } else { self.holds(scope, subject, &binary.right)? })
            }
            Expr::If(inner) => {
                let Some((_, otherwise)) = &inner.else_branch else { return self.unsupported(scope, expr) };
                let then = match &*inner.cond {
                    Expr::Let(condition) => self.fits(scope, subject, &condition.expr, &condition.pat)?,
                    condition => self.holds(scope, subject, condition)?.then(|| subject.clone()),
                };
                match (inner.then_branch.stmts.as_slice(), then) {
                    ([Stmt::Expr(value, None)], Some(bound)) => Some(self.holds(scope, &bound, value)?),
                    ([Stmt::Expr(_, None)], None) => Some(self.holds(scope, subject, otherwise)?),
                    _ => None,
                }
            }
            Expr::Match(inner) => {
                let mut answer = None;
                for arm in &inner.arms {
                    if let Some(bound) = self.fits(scope, subject, &inner.expr, &arm.pat)? {
                        answer = Some(self.holds(scope, &bound, &arm.body)?);
                        break;
                    }
                }
                answer
            }
            Expr::Macro(call) => match self.types.resolve_in(scope, &call.mac.path, Namespace::Macros) {
                Resolution::Foreign(path) if path.join("::") == "std::matches" => {
                    match call.mac.parse_body::<Matches>() {
                        Ok(Matches(matched, pattern)) => Some(self.fits(scope, subject, &matched, &pattern)?.is_some()),
                        Err(_) => None,
                    }
                }
                _ => None,
            },
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) => Some(!self.holds(scope, subject, &unary.expr)?),
            Expr::Binary(binary) => {
                let (left, right) = (subject.place(self, &binary.left), subject.place(self, &binary.right));
                let left = self.operand(scope, &binary.left, left, right)?;
                let right = self.operand(scope, &binary.right, right, Some(&left))?;
                match &binary.op {
                    BinOp::Eq(_) => self.equal(&left, &right),
                    BinOp::Ne(_) => self.equal(&left, &right).map(|equal| !equal),
                    BinOp::Lt(_) => ordered(&left, &right, Ordering::is_lt),
                    BinOp::Le(_) => ordered(&left, &right, Ordering::is_le),
                    BinOp::Gt(_) => ordered(&left, &right, Ordering::is_gt),
                    BinOp::Ge(_) => ordered(&left, &right, Ordering::is_ge),
                    _ => None,
                }
            }
            Expr::MethodCall(call) => {
                let name = call.method.to_string();
                let receiver = subject.place(self, &call.receiver).filter(|_| call.args.is_empty());
                match receiver {
                    // Inherent methods take precedence over trait methods.
                    Some(value @ (Val::Struct(id, _) | Val::Variant(id, ..))) => {
                        let (value, id) = (value.clone(), *id);
                        match self.own_function(id, &name) {
                            Some(function) if self.depth < CALLS => {
                                self.depth += 1;
                                let answer = self.condition(scope, call, &function, &value);
                                self.depth -= 1;
                                Some(answer?)
                            }
                            _ => None,
                        }
                    }
                    Some(value) if !self.tree.may_be_of_trait(scope.module, &name) => test(&name, value),
                    _ => None,
                }
            }
            _ => None,
        };
        self.or_unsupported(scope, expr, answer)
    }

    /// Evaluates one side of a comparison: a part of the subject, or a value with the type of the `other` side.
    fn operand(&mut self, scope: &TypeScope, expr: &Expr, part: Option<&Val>, other: Option<&Val>) -> Eval {
        if let Some(value) = part {
            return Ok(value.clone());
        }
        let ty = other.and_then(|other| self.float(other));
        self.eval(scope, &Env::new(), expr, ty)
    }

    /// The type of a float. A literal on the other side has the same type.
    fn float(&mut self, value: &Val) -> Option<TypeId> {
        match value {
            Val::F32(_) => self.types.primitive("f32"),
            Val::F64(_) => self.types.primitive("f64"),
            _ => None,
        }
    }

    /// Matches the value at `matched` against a pattern and its guard. Returns the subject with the bindings of the pattern.
    fn fits<'v>(
        &mut self,
        scope: &TypeScope,
        subject: &Subject<'v>,
        matched: &Expr,
        pattern: &Pat,
    ) -> Eval<Option<Subject<'v>>> {
        let Some(value) = subject.place(self, matched) else { return self.unsupported(scope, matched) };
        let (pattern, guard) = match pattern {
            Pat::Guard(pattern) => (&*pattern.pat, Some(&*pattern.guard)),
            pattern => (pattern, None),
        };
        let mut bound = subject.clone();
        let fits = self.fits_pattern(scope, pattern, value, &mut bound);
        Ok(match (self.or_unsupported(scope, pattern, fits)?, guard) {
            (true, Some(guard)) => self.holds(scope, &bound, guard)?.then_some(bound),
            (fits, _) => fits.then_some(bound),
        })
    }

    fn fits_pattern<'v>(
        &mut self,
        scope: &TypeScope,
        pattern: &Pat,
        value: &'v Val,
        bound: &mut Subject<'v>,
    ) -> Option<bool> {
        match pattern {
            Pat::Wild(_) | Pat::Rest(_) => Some(true),
            Pat::Paren(inner) => self.fits_pattern(scope, &inner.pat, value, bound),
            Pat::Reference(inner) => self.fits_pattern(scope, &inner.pat, value, bound),
            Pat::Or(inner) => {
                for case in &inner.cases {
                    if self.fits_pattern(scope, case, value, bound)? {
                        return Some(true);
                    }
                }
                Some(false)
            }
            Pat::Lit(literal) => {
                let literal = self.limit(scope, &Expr::Lit(literal.clone()), value)?;
                self.equal(&literal, value)
            }
            Pat::Range(range) => {
                let from = match &range.start {
                    Some(start) => ordered(&self.limit(scope, start, value)?, value, Ordering::is_le)?,
                    None => true,
                };
                let to = match (&range.end, &range.limits) {
                    (Some(end), RangeLimits::HalfOpen(_)) => {
                        ordered(value, &self.limit(scope, end, value)?, Ordering::is_lt)?
                    }
                    (Some(end), RangeLimits::Closed(_)) => {
                        ordered(value, &self.limit(scope, end, value)?, Ordering::is_le)?
                    }
                    (None, _) => true,
                };
                Some(from && to)
            }
            Pat::Ident(name) if name.subpat.is_none() => {
                self.fits_path(scope, &name.ident.clone().into(), &[], value, bound).or_else(|| {
                    let binds = name.ident.to_string().starts_with(|first: char| first.is_lowercase() || first == '_');
                    binds.then(|| bound.0.push((name.ident.to_string(), value)))?;
                    Some(true)
                })
            }
            Pat::Path(path) if path.qself.is_none() => self.fits_path(scope, &path.path, &[], value, bound),
            Pat::TupleStruct(inner) => {
                let rest = matches!(inner.elems.last(), Some(Pat::Rest(_)));
                let given = inner.elems.len() - usize::from(rest);
                let parts: Vec<(usize, &Pat)> = inner.elems.iter().take(given).enumerate().collect();
                self.fits_path(scope, &inner.path, &parts, value, bound)
            }
            Pat::Struct(inner) => {
                let Some(EvalTarget::Member(id, name)) = self.value_path(scope, &inner.path) else { return None };
                let (_, fields) = self.types.variant(id, &name)?;
                let position = |member: &Member| match member {
                    Member::Named(name) => fields.iter().position(|field| field.ident.as_ref() == Some(name)),
                    Member::Unnamed(index) => Some(index.index as usize),
                };
                let parts: Option<Vec<(usize, &Pat)>> =
                    inner.fields.iter().map(|field| Some((position(&field.member)?, &*field.pat))).collect();
                self.fits_path(scope, &inner.path, &parts?, value, bound)
            }
            _ => None,
        }
    }

    /// Evaluates a literal or constant in a pattern.
    fn limit(&mut self, scope: &TypeScope, expr: &Expr, value: &Val) -> Option<Val> {
        let ty = self.float(value);
        self.eval(scope, &Env::new(), expr, ty).ok()
    }

    /// Matches a variant with patterns for some of its fields.
    fn fits_path<'v>(
        &mut self,
        scope: &TypeScope,
        path: &syn::Path,
        parts: &[(usize, &Pat)],
        value: &'v Val,
        bound: &mut Subject<'v>,
    ) -> Option<bool> {
        let mut all = |this: &mut Self, values: &'v [Val]| {
            let fits: Option<Vec<bool>> = parts
                .iter()
                .map(|(position, pattern)| this.fits_pattern(scope, pattern, values.get(*position)?, bound))
                .collect();
            fits.map(|fits| !fits.contains(&false))
        };
        match (self.value_path(scope, path)?, value) {
            (EvalTarget::Member(id, name), Val::Variant(of, index, values)) => {
                let item = |id: TypeId| self.types.user(id).map(|user| user.item);
                let (wanted, _) = self.types.variant(id, &name)?;
                if item(id).is_none() || item(id) != item(*of) {
                    return None;
                }
                if wanted == *index { all(self, values) } else { Some(false) }
            }
            (EvalTarget::Foreign(path), value) => match (path.last().map(String::as_str), value) {
                (Some("None"), Val::None) => Some(true),
                (Some("None"), Val::Some(_)) | (Some("Some"), Val::None) => Some(false),
                (Some("Some"), Val::Some(inner)) => all(self, std::slice::from_ref(inner)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Compares two values if their `PartialEq` is built in or derived.
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
            // Different JSON may be equal in Rust: two texts may be one path, and two objects one number.
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

/// Crates whose `is_empty`, `is_none` and similar methods behave as in std.
const PLAIN: [&str; 4] = ["std", "serde_json", "indexmap", "smallvec"];

/// Help for a condition that cannot be evaluated.
const HELP: &str = "write the condition with `==`, `<`, `matches!`, `match` and methods such as `is_empty`, or name \
                    another one for the schema: `#[schemars(skip_serializing_if = \"…\")]`";

/// The limit of nested method calls in a condition.
const CALLS: usize = 32;

/// The arguments of `matches!`.
struct Matches(Expr, Pat);

impl Parse for Matches {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let matched = input.parse()?;
        input.parse::<Token![,]>()?;
        let mut pattern = Pat::parse_multi_with_leading_vert(input)?;
        if let Some(if_token) = input.parse::<Option<Token![if]>>()? {
            let guard = Box::new(input.parse()?);
            pattern = Pat::Guard(syn::PatGuard { attrs: Vec::new(), pat: Box::new(pattern), if_token, guard });
        }
        input.parse::<Option<Token![,]>>()?;
        Ok(Self(matched, pattern))
    }
}

/// The variables of a condition, innermost last: its parameter, which is a reference to the field, and the bindings of
/// patterns.
#[derive(Clone)]
struct Subject<'v>(Vec<(String, &'v Val)>);

impl<'v> Subject<'v> {
    /// Returns the value of a variable or of a field in it, also behind `&` and `*`.
    fn place(&self, eval: &Evaluator<'_, '_>, expr: &Expr) -> Option<&'v Val> {
        match expr {
            Expr::Paren(inner) => self.place(eval, &inner.expr),
            Expr::Reference(inner) if inner.mutability.is_none() => self.place(eval, &inner.expr),
            Expr::Unary(inner) if matches!(inner.op, UnOp::Deref(_)) => {
                let value = self.place(eval, &inner.expr)?;
                // A user-defined `Deref` may return any other value.
                let id = if let Val::Struct(id, _) | Val::Variant(id, ..) = value { Some(*id) } else { None };
                id.is_none_or(|id| !eval.types.implements(id, DEREF)).then_some(value)
            }
            Expr::Field(inner) => {
                let Val::Struct(id, values) = self.place(eval, &inner.base)? else { return None };
                let fields = eval.types.shape(*id)?;
                let position = fields.iter().enumerate().position(|(index, field)| match &inner.member {
                    Member::Named(name) => field.ident.as_ref() == Some(name),
                    Member::Unnamed(position) => position.index as usize == index,
                })?;
                values.get(position)
            }
            Expr::Path(path) => self.0.iter().rev().find(|(name, _)| path.path.is_ident(name)).map(|(_, value)| *value),
            _ => None,
        }
    }

    fn flag(&self, eval: &Evaluator<'_, '_>, expr: &Expr) -> Option<bool> {
        if let Val::Bool(value) = self.place(eval, expr)? { Some(*value) } else { None }
    }

    fn weight(&self) -> usize {
        self.0.iter().map(|(_, value)| value.weight()).sum()
    }
}

/// Returns the scope of a condition `fn(&T) -> …` for values of type `ty`. `T` must be its only type parameter.
fn inferred(sig: &Signature, ty: TypeId, scope: TypeScope) -> Option<TypeScope> {
    let mut parameters = sig.generics.type_params();
    let Some(parameter) = parameters.next() else { return Some(scope) };
    let Some(FnArg::Typed(input)) = sig.inputs.first() else { return None };
    let is_it = matches!(&*input.ty, syn::Type::Reference(of)
        if matches!(&*of.elem, syn::Type::Path(path) if path.path.is_ident(&parameter.ident)));
    let generics = Rc::new([(parameter.ident.to_string(), ty)].into());
    (is_it && parameters.next().is_none()).then_some(TypeScope { generics, ..scope })
}

/// Compares two numbers or characters; `None` for other values.
fn ordered(left: &Val, right: &Val, is: fn(Ordering) -> bool) -> Option<bool> {
    match (left, right) {
        (Val::Int(left), Val::Int(right)) => Some(is(left.cmp(right))),
        (Val::Char(left), Val::Char(right)) => Some(is(left.cmp(right))),
        (Val::F32(left), Val::F32(right)) => Some(left.partial_cmp(right).is_some_and(is)),
        (Val::F64(left), Val::F64(right)) => Some(left.partial_cmp(right).is_some_and(is)),
        _ => None,
    }
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
