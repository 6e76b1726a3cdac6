//! Control flow of evaluated code: patterns, `match`, `if let`, loops over known lists, and closures.
//!
//! A pattern either matches, does not, or is not decided, which refuses the expression.

use syn::{Expr, ExprField, ExprMatch, Fields, Item, Member, Pat, Stmt};

use crate::schema::TypeId;
use crate::source::{Namespace, Resolution};

use super::maker::rewrites;
use super::schema_code::Own;
use super::types::{Refusal, Scope, Types};
use super::value::{Env, Target, Val};

type Eval<T = Val> = Result<T, Refusal>;

/// More rounds than a list in the source has elements.
const ROUNDS: usize = 1000;

impl Types<'_> {
    /// A condition: the variables that it binds when it is true, or nothing when it is false.
    pub(super) fn condition(&mut self, scope: &Scope, env: &Env, condition: &Expr) -> Eval<Option<Env>> {
        let mut bound = Env::new();
        let holds = match condition {
            Expr::Let(condition) => {
                let value = self.eval(scope, env, &condition.expr, None)?;
                self.matches(scope, &condition.pat, &value, &mut bound)?
            }
            condition => match self.eval(scope, env, condition, None)? {
                Val::Bool(holds) => holds,
                _ => return self.no(scope, condition),
            },
        };
        Ok(holds.then_some(bound))
    }

    /// The arm of a `match` that is taken, and the variables that it binds.
    pub(super) fn arm<'e>(&mut self, scope: &Scope, env: &Env, choice: &'e ExprMatch) -> Eval<(Env, &'e Expr)> {
        let value = self.eval(scope, env, &choice.expr, None)?;
        for arm in &choice.arms {
            let mut bound = Env::new();
            if !arm.attrs.is_empty() {
                return self.no(scope, arm);
            }
            let (pat, guard) = match &arm.pat {
                Pat::Guard(guarded) => (&*guarded.pat, Some(&*guarded.guard)),
                pat => (pat, None),
            };
            if !self.matches(scope, pat, &value, &mut bound)? {
                continue;
            }
            if let Some(guard) = guard
                && self.eval(scope, &with(env, &bound), guard, None)? != Val::Bool(true)
            {
                continue;
            }
            return Ok((bound, &arm.body));
        }
        self.no(scope, choice)
    }

    /// Whether a pattern matches a value; its variables go to `env`.
    pub(super) fn matches(&mut self, scope: &Scope, pat: &Pat, value: &Val, env: &mut Env) -> Eval<bool> {
        match (pat, value) {
            (Pat::Wild(_), _) => Ok(true),
            (Pat::Paren(inner), _) => self.matches(scope, &inner.pat, value, env),
            (Pat::Reference(inner), _) => self.matches(scope, &inner.pat, value, env),
            (Pat::Or(choice), _) => {
                for case in &choice.cases {
                    if self.matches(scope, case, value, env)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            (Pat::Ident(name), _) if name.subpat.is_none() && name.mutability.is_none() => {
                let path = syn::Path::from(name.ident.clone());
                match self.value_path(scope, &path) {
                    None if is_variable(&name.ident) && self.is_free(scope, &path) => {
                        env.insert(name.ident.to_string(), value.clone());
                        Ok(true)
                    }
                    Some(Target::Item(item)) if matches!(self.tree.item(item), Item::Fn(_)) => {
                        env.insert(name.ident.to_string(), value.clone());
                        Ok(true)
                    }
                    _ => self.is_constant_value(scope, pat, &path, value),
                }
            }
            (Pat::Path(path), _) if path.qself.is_none() => self.is_constant_value(scope, pat, &path.path, value),
            (Pat::Lit(literal), _) => {
                let ty = self.float_type(value);
                let literal = self.eval(scope, &Env::new(), &Expr::Lit(literal.clone()), ty)?;
                self.same(scope, pat, &literal, value)
            }
            (Pat::Range(range), Val::Int(value)) => {
                let mut bound = |end: &Option<Box<Expr>>| match end
                    .as_deref()
                    .map(|end| self.eval(scope, &Env::new(), end, None))
                {
                    Some(Ok(Val::Int(bound))) => Ok(Some(bound)),
                    Some(_) => self.no(scope, pat),
                    None => Ok(None),
                };
                let (start, end) = (bound(&range.start)?, bound(&range.end)?);
                let closed = matches!(range.limits, syn::RangeLimits::Closed(_));
                Ok(start.is_none_or(|start| start <= *value)
                    && end.is_none_or(|end| *value < end || closed && *value == end))
            }
            (Pat::Tuple(tuple), Val::Seq(values)) if tuple.elems.len() == values.len() => {
                self.all_match(scope, tuple.elems.iter().zip(values), env)
            }
            (Pat::TupleStruct(found), _) if found.qself.is_none() => {
                let elems: Vec<&Pat> = found.elems.iter().collect();
                self.constructor_matches(scope, pat, &found.path, &elems, value, env)
            }
            (Pat::Struct(found), Val::Variant(id, index, values)) if found.qself.is_none() => {
                let Some((position, Fields::Named(fields))) = self.variant_of_path(scope, &found.path, *id) else {
                    return self.no(scope, pat);
                };
                if position != *index {
                    return Ok(false);
                }
                let of = |member: &Member| match member {
                    Member::Named(name) => fields.named.iter().position(|field| field.ident.as_ref() == Some(name)),
                    Member::Unnamed(_) => None,
                };
                let pairs: Option<Vec<_>> =
                    found.fields.iter().map(|field| Some((&*field.pat, &values[of(&field.member)?]))).collect();
                match pairs {
                    Some(pairs) => self.all_match(scope, pairs.into_iter(), env),
                    None => self.no(scope, pat),
                }
            }
            _ => self.no(scope, pat),
        }
    }

    /// Nothing that is known has this name, so that it is a variable in a pattern.
    fn is_free(&self, scope: &Scope, path: &syn::Path) -> bool {
        matches!(self.resolve_in(scope, path, Namespace::Values), Resolution::Unresolved(_))
    }

    fn all_match<'p>(
        &mut self,
        scope: &Scope,
        pairs: impl Iterator<Item = (&'p Pat, &'p Val)>,
        env: &mut Env,
    ) -> Eval<bool> {
        for (pat, value) in pairs {
            if !self.matches(scope, pat, value, env)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// `Some(…)` and the tuple variants of the user's enums.
    fn constructor_matches(
        &mut self,
        scope: &Scope,
        pat: &Pat,
        path: &syn::Path,
        elems: &[&Pat],
        value: &Val,
        env: &mut Env,
    ) -> Eval<bool> {
        if elems.iter().any(|elem| matches!(elem, Pat::Rest(_))) && elems.len() > 1 {
            return self.no(scope, pat);
        }
        match (self.value_path(scope, path), value) {
            (Some(Target::Foreign(path)), _) if path.join("::") == "std::option::Option::Some" => {
                match (value, elems) {
                    (Val::None, _) => Ok(false),
                    (Val::Some(inner), [elem]) => self.matches(scope, elem, inner, env),
                    _ => self.no(scope, pat),
                }
            }
            (Some(Target::Member(of, name)), Val::Variant(id, index, values)) if of == *id => {
                match self.variant(of, &name) {
                    Some((position, Fields::Unnamed(_))) if position != *index => Ok(false),
                    Some((_, Fields::Unnamed(_))) if matches!(elems, [Pat::Rest(_)]) => Ok(true),
                    Some((_, Fields::Unnamed(_))) if elems.len() == values.len() => {
                        self.all_match(scope, elems.iter().copied().zip(values), env)
                    }
                    _ => self.no(scope, pat),
                }
            }
            _ => self.no(scope, pat),
        }
    }

    fn variant_of_path(&mut self, scope: &Scope, path: &syn::Path, id: TypeId) -> Option<(usize, Fields)> {
        match self.value_path(scope, path)? {
            Target::Member(of, name) if of == id => {
                self.variant(of, &name).map(|(position, fields)| (position, fields.clone()))
            }
            _ => None,
        }
    }

    /// Whether a value is the constant or the variant without fields that a path names.
    fn is_constant_value(&mut self, scope: &Scope, pat: &Pat, path: &syn::Path, value: &Val) -> Eval<bool> {
        let expr = Expr::Path(syn::ExprPath { attrs: Vec::new(), qself: None, path: path.clone() });
        match (self.eval(scope, &Env::new(), &expr, None)?, value) {
            // A pattern compares variants by the language, whatever `PartialEq` says.
            (Val::Variant(of, wanted, _), Val::Variant(id, index, _)) if of == *id => Ok(wanted == *index),
            (Val::None, Val::Some(_)) => Ok(false),
            (constant, value) => self.same(scope, pat, &constant, value),
        }
    }

    fn same(&mut self, scope: &Scope, pat: &Pat, left: &Val, right: &Val) -> Eval<bool> {
        match self.equal(left, right) {
            Some(equal) => Ok(equal),
            None => self.no(scope, pat),
        }
    }

    /// `value.field` of a struct or tuple.
    pub(super) fn member_value(&mut self, scope: &Scope, env: &Env, access: &ExprField) -> Eval {
        let position = |index: &syn::Index| index.index as usize;
        let found = match (self.eval(scope, env, &access.base, None)?, &access.member) {
            (Val::Struct(id, values), member) => {
                let at = self.member(scope, id, member);
                at.and_then(|at| values.into_iter().nth(at))
            }
            (Val::Seq(values), Member::Unnamed(index)) => values.into_iter().nth(position(index)),
            _ => None,
        };
        found.map_or_else(|| self.no(scope, access), Ok)
    }

    /// The position of a field of the user's struct; one that code in the scope can't see does not hide that of a `Deref`.
    fn member(&self, scope: &Scope, id: TypeId, member: &Member) -> Option<usize> {
        let fields = self.shape(id)?;
        let at = match member {
            Member::Named(name) => fields.iter().position(|field| field.ident.as_ref() == Some(name)),
            Member::Unnamed(index) => Some(index.index as usize).filter(|_| matches!(fields, Fields::Unnamed(_))),
        }?;
        let home = self.user(id)?.scope.module;
        self.is_visible(scope, &fields.iter().nth(at)?.vis, home).then_some(at)
    }

    /// Runs statements of an inner block, whose own variables end with it.
    pub(super) fn run(&mut self, scope: &Scope, env: &mut Env, own: &Own, stmts: &[Stmt]) -> Eval<()> {
        let mut inner = own.clone();
        let mut hidden = Vec::new();
        for stmt in stmts {
            match stmt {
                Stmt::Local(local) => {
                    let before = env.clone();
                    let (name, ty) = self.local(scope, env, local, None)?;
                    if refers(&before, &name) {
                        return self.no(scope, local);
                    }
                    inner.insert(name.clone(), ty);
                    hidden.push((before.get(&name).cloned(), name));
                }
                Stmt::Expr(expr, _) => self.statement(scope, env, &inner, expr)?,
                stmt => return self.no(scope, stmt),
            }
        }
        restore(env, hidden);
        Ok(())
    }

    /// Runs statements with the variables of a pattern.
    pub(super) fn run_with(&mut self, scope: &Scope, env: &mut Env, own: &Own, bound: Env, body: &Expr) -> Eval<()> {
        if bound.keys().any(|name| refers(env, name)) {
            return self.no(scope, body);
        }
        let hidden = bound.into_iter().map(|(name, value)| (env.insert(name.clone(), value), name)).collect();
        match body {
            Expr::Block(block) if block.label.is_none() => self.run(scope, env, own, &block.block.stmts)?,
            body => self.statement(scope, env, own, body)?,
        }
        restore(env, hidden);
        Ok(())
    }

    /// `for` over a list that is known.
    pub(super) fn each(&mut self, scope: &Scope, env: &mut Env, own: &Own, each: &syn::ExprForLoop) -> Eval<()> {
        let Val::Seq(values) = self.eval(scope, env, &each.expr, None)? else { return self.no(scope, &each.expr) };
        if values.len() > ROUNDS || each.label.is_some() {
            return self.no(scope, &each.expr);
        }
        let body = Expr::Block(syn::ExprBlock { attrs: Vec::new(), label: None, block: each.body.clone() });
        for value in values {
            let mut bound = Env::new();
            if !self.matches(scope, &each.pat, &value, &mut bound)? {
                return self.no(scope, &each.pat);
            }
            self.run_with(scope, env, own, bound, &body)?;
        }
        Ok(())
    }

    /// `variable.field = value;` of a variable of the block.
    pub(super) fn assign(&mut self, scope: &Scope, env: &mut Env, own: &Own, assign: &syn::ExprAssign) -> Eval<()> {
        let mut members = Vec::new();
        let mut left = &*assign.left;
        while let Expr::Field(access) = left {
            members.push(&access.member);
            left = &access.base;
        }
        let name = match left {
            Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
            _ => None,
        };
        let Some(name) = name.filter(|name| own.contains_key(name) && !members.is_empty()) else {
            return self.no(scope, assign);
        };
        let Some(mut whole) = env.get(&name).cloned() else { return self.no(scope, assign) };
        let mut place = &mut whole;
        let mut ty = None;
        for member in members.into_iter().rev() {
            let Val::Struct(id, values) = place else { return self.no(scope, assign) };
            let (Some(at), Some(fields)) = (self.member(scope, *id, member), self.shape(*id).cloned()) else {
                return self.no(scope, assign);
            };
            ty = self.field_types(*id, &fields).get(at).copied();
            place = &mut values[at];
        }
        *place = self.eval(scope, env, &assign.right, ty)?;
        env.insert(name, whole);
        Ok(())
    }

    /// A closure or the name of a function, called with one value.
    pub(super) fn apply(&mut self, scope: &Scope, env: &Env, function: &Expr, value: Val, ty: Option<TypeId>) -> Eval {
        match function {
            Expr::Closure(closure) if closure.inputs.len() == 1 && closure.asyncness.is_none() => {
                self.spend(scope, function, env.values().map(Val::weight).sum())?;
                let mut bound = Env::new();
                let pat = match &closure.inputs[0] {
                    Pat::Type(typed) => &*typed.pat,
                    pat => pat,
                };
                if !self.matches(scope, pat, &value, &mut bound)? {
                    return self.no(scope, function);
                }
                self.eval(scope, &with(env, &bound), &closure.body, ty)
            }
            Expr::Path(path) if path.qself.is_none() => match (self.value_path(scope, &path.path), value) {
                (Some(Target::Foreign(path)), Val::Str(text)) => match path.join("::").as_str() {
                    "std::string::String::from"
                    | "std::string::ToString::to_string"
                    | "std::borrow::ToOwned::to_owned"
                    | "std::str::to_owned"
                    | "std::str::to_string" => Ok(Val::Str(text)),
                    _ => self.no(scope, function),
                },
                (Some(Target::Item(item)), value) => match self.tree.item(item) {
                    Item::Fn(found)
                        if found.sig.generics.params.is_empty()
                            && self.tree.unknown_cfg(item).is_none()
                            && !rewrites(&found.attrs) =>
                    {
                        let (sig, block) = (found.sig.clone(), found.block.clone());
                        let inner = Scope::module(self.tree.module(item));
                        self.invoke(scope, function, (&sig, &block, &inner), vec![value])
                    }
                    _ => self.no(scope, function),
                },
                _ => self.no(scope, function),
            },
            _ => self.no(scope, function),
        }
    }
}

/// A variable refers to the schema in this one: with another one of its name it would refer to that.
fn refers(env: &Env, name: &str) -> bool {
    env.values().any(|value| matches!(value, Val::Place(place) if place.is_in(name)))
}

/// Brings back the variables that those of an inner block have hidden.
fn restore(env: &mut Env, hidden: Vec<(Option<Val>, String)>) {
    for (value, name) in hidden.into_iter().rev() {
        match value {
            Some(value) => drop(env.insert(name, value)),
            None => drop(env.remove(&name)),
        }
    }
}

/// Variables and those of a pattern, which hide them.
pub(super) fn with(env: &Env, bound: &Env) -> Env {
    let mut all = env.clone();
    all.extend(bound.iter().map(|(name, value)| (name.clone(), value.clone())));
    all
}

/// An expression that ends without a semicolon where its value is `()`.
pub(super) fn is_statement(expr: &Expr) -> bool {
    matches!(expr, Expr::If(_) | Expr::Match(_) | Expr::ForLoop(_) | Expr::Block(_))
}

/// A name in a pattern that nothing in scope has: a variable, unless it may be a constant that was not found.
pub(super) fn is_variable(name: &syn::Ident) -> bool {
    name.to_string().starts_with(|first: char| first.is_lowercase() || first == '_')
}
