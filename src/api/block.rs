//! Blocks: their constants and variables, and where a function ends early.

use std::borrow::Cow;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Block, Expr, Item, Pat, Path, Stmt};

use crate::schema::TypeId;
use crate::source::{CfgSet, Namespace, Resolution};

use super::flow::{is_statement, is_variable, with};
use super::schema_code::Own;
use super::types::{Refusal, Scope, Types};
use super::value::{Env, Val};

type Eval<T = Val> = Result<T, Refusal>;

impl Types<'_> {
    pub(super) fn block(&mut self, scope: &Scope, env: &Env, block: &Block, ty: Option<TypeId>) -> Eval {
        self.block_with(scope, env, Own::new(), block, ty)
    }

    /// A block with variables that are its own from the start.
    pub(super) fn block_with(
        &mut self,
        scope: &Scope,
        env: &Env,
        mut own: Own,
        block: &Block,
        ty: Option<TypeId>,
    ) -> Eval {
        let tail = std::mem::take(&mut self.tail);
        self.spend(scope, block, env.values().map(Val::weight).sum())?;
        let mut env = env.clone();
        let Some((last, before)) = block.stmts.split_last() else { return Ok(Val::Unit) };
        self.local_constants(scope, &mut env, &block.stmts)?;
        let returned = returned_variable(last, before);
        for stmt in before {
            match stmt {
                Stmt::Item(Item::Const(_)) => {}
                Stmt::Local(syn::Local { pat: Pat::Wild(_), init: Some(init), .. }) if init.diverge.is_none() => {
                    if self.is_edit(&env, &init.expr) {
                        self.statement(scope, &mut env, &own, &init.expr)?;
                    } else {
                        self.eval(scope, &env, &init.expr, None)?;
                    }
                }
                Stmt::Local(local) => {
                    let expected = ty.filter(|_| returned.is_some() && returned == bound_name(local));
                    let (name, ty) = self.local(scope, &mut env, local, expected)?;
                    // A name that is used again would leave references to the first one behind.
                    let taken = env.values().any(|value| matches!(value, Val::Place(place) if place.is_in(&name)));
                    if own.insert(name, ty).is_some() && taken {
                        return self.no(scope, local);
                    }
                }
                Stmt::Macro(call) if self.only_prints(scope, &call.mac) => {}
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
            // `json! { … }` at the end.
            Stmt::Macro(last) if last.semi_token.is_none() => {
                let expr = Expr::Macro(syn::ExprMacro { attrs: last.attrs.clone(), mac: last.mac.clone() });
                self.eval(scope, &env, &expr, ty)
            }
            stmt => self.no(scope, stmt),
        }
    }

    /// The macro declares nothing.
    fn makes_value(&self, scope: &Scope, mac: &syn::Macro) -> bool {
        match self.resolve_in(scope, &mac.path, Namespace::Macros) {
            Resolution::Foreign(path) => {
                ["log", "maplit", "schemars", "serde_json", "std", "tracing"].contains(&&*path[0])
            }
            _ => false,
        }
    }

    /// `println!` of variables and texts, which changes nothing.
    fn only_prints(&self, scope: &Scope, mac: &syn::Macro) -> bool {
        let plain = |token| {
            matches!(token, TokenTree::Literal(_) | TokenTree::Ident(_))
                || matches!(token, TokenTree::Punct(punct) if matches!(punct.as_char(), ',' | '&' | '.' | '='))
        };
        match self.resolve_in(scope, &mac.path, Namespace::Macros) {
            Resolution::Foreign(path) if path[0] == "std" => {
                ["eprint", "eprintln", "print", "println"].contains(&path[path.len() - 1].as_str())
                    && mac.tokens.clone().into_iter().all(plain)
            }
            _ => false,
        }
    }

    /// Code without what `cfg` takes out of it, which `apply` does; `None` when that is not decided.
    pub(super) fn of_build<'c, T: Clone + ToTokens>(
        &self,
        scope: &Scope,
        code: &'c T,
        apply: fn(&CfgSet, &mut T),
    ) -> Option<Cow<'c, T>> {
        if !has_cfg(code) {
            return Some(Cow::Borrowed(code));
        }
        let mut code = code.clone();
        apply(self.tree.cfg(scope.module), &mut code);
        (scope.outside.is_none() && !has_cfg(&code)).then_some(Cow::Owned(code))
    }

    /// Adds the constants that a block declares, which are known in all of it, as other items are that it may declare.
    fn local_constants(&mut self, scope: &Scope, env: &mut Env, stmts: &[Stmt]) -> Eval<()> {
        for stmt in stmts {
            let item = match stmt {
                Stmt::Item(Item::Const(item)) => item,
                Stmt::Item(_) => return self.no(scope, stmt),
                Stmt::Macro(call) if !self.makes_value(scope, &call.mac) => return self.no(scope, stmt),
                _ => continue,
            };
            // A pattern would find the one outside.
            let hides = self.value_path(scope, &Path::from(item.ident.clone())).is_some();
            if hides || is_variable(&item.ident) || !item.attrs.is_empty() || !item.generics.params.is_empty() {
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
            // Without its type a float may be of any width; an integer is the same in all of them.
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
            value if ty.is_none() && has_float(value) => false,
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
}

/// Whether something inside depends on a `#[cfg]`.
fn has_cfg(tokens: &impl ToTokens) -> bool {
    fn any(tokens: TokenStream) -> bool {
        let mut before = None;
        tokens.into_iter().any(|token| match token {
            TokenTree::Group(group) => {
                let attribute = before.take() == Some('#') && group.delimiter() == Delimiter::Bracket;
                let first = group.stream().into_iter().next();
                let cfg = |first| matches!(first, Some(TokenTree::Ident(name)) if name == "cfg" || name == "cfg_attr");
                (attribute && cfg(first)) || any(group.stream())
            }
            token => {
                before = if let TokenTree::Punct(punct) = token { Some(punct.as_char()) } else { None };
                false
            }
        })
    }
    any(tokens.to_token_stream())
}

/// A float is inside whose type no field says.
fn has_float(value: &Val) -> bool {
    match value {
        Val::F32(_) | Val::F64(_) => true,
        Val::Some(inner) => has_float(inner),
        Val::Seq(values) => values.iter().any(has_float),
        Val::Map(entries) => entries.iter().any(|(key, value)| has_float(key) || has_float(value)),
        _ => false,
    }
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
