//! Blocks: `let` statements and schema edits without control flow, then a value.

use proc_macro2::{Delimiter, TokenTree};
use quote::ToTokens;
use syn::{Block, Expr, Pat, Stmt};

use crate::schema::TypeId;
use crate::source::macros::{any, is_punct};

use super::evaluator::{Env, Eval, Evaluator};
use super::schema_code::Locals;
use crate::api::types::TypeScope;
use crate::api::value::Val;

impl Evaluator<'_, '_> {
    pub(super) fn block(&mut self, scope: &TypeScope, env: &Env, block: &Block, ty: Option<TypeId>) -> Eval {
        self.spend(scope, block, env.values().map(Val::weight).sum())?;
        let (mut env, mut own) = (env.clone(), Locals::new());
        let Some((last, before)) = block.stmts.split_last() else { return Ok(Val::Unit) };
        for stmt in before {
            match stmt {
                Stmt::Local(local) => {
                    let name = self.local(scope, &mut env, local)?;
                    // Shadowing would leave references to the first variable.
                    let taken = env.values().any(|value| matches!(value, Val::ObjectOf(variable) if *variable == name));
                    if !own.insert(name) && taken {
                        return self.unsupported(scope, local);
                    }
                }
                Stmt::Expr(Expr::MethodCall(call), Some(_)) => self.edit(scope, &mut env, &own, call)?,
                stmt => return self.unsupported(scope, stmt),
            }
        }
        match last {
            Stmt::Expr(expr, None) => self.eval(scope, &env, expr, ty),
            // `json! { … }` at the end.
            Stmt::Macro(last) if last.semi_token.is_none() => {
                let expr = Expr::Macro(syn::ExprMacro { attrs: last.attrs.clone(), mac: last.mac.clone() });
                self.eval(scope, &env, &expr, ty)
            }
            stmt => self.unsupported(scope, stmt),
        }
    }

    /// Binds `let name = …;`, and returns the name.
    fn local(&mut self, scope: &TypeScope, env: &mut Env, local: &syn::Local) -> Eval<String> {
        let (pat, ty) = match &local.pat {
            Pat::Type(typed) => (&*typed.pat, Some(self.ty(scope, &typed.ty))),
            pat => (pat, None),
        };
        let (Pat::Ident(name), Some(init)) = (pat, &local.init) else { return self.unsupported(scope, local) };
        if name.subpat.is_some() || name.by_ref.is_some() || init.diverge.is_some() {
            return self.unsupported(scope, local);
        }
        let value = match self.ensured_object(env, &init.expr) {
            Some(variable) => Val::ObjectOf(variable),
            None => self.eval(scope, env, &init.expr, ty)?,
        };
        env.insert(name.ident.to_string(), value);
        Ok(name.ident.to_string())
    }
}

/// Returns true if something inside depends on a `#[cfg]`.
pub(super) fn has_cfg(tokens: &impl ToTokens) -> bool {
    any(tokens.to_token_stream(), &|_, from| match from {
        [sign, TokenTree::Group(attribute), ..]
            if is_punct(sign, '#') && attribute.delimiter() == Delimiter::Bracket =>
        {
            let first = attribute.stream().into_iter().next();
            matches!(first, Some(TokenTree::Ident(name)) if name == "cfg" || name == "cfg_attr")
        }
        _ => false,
    })
}
