//! Macros of std and serde that return values: lists, maps, JSON, schemas and texts.

use syn::punctuated::Punctuated;
use syn::{Expr, Token};

use crate::schema::known::ValueKind;
use crate::schema::{Recipe, TypeId};
use crate::source::{Namespace, Resolution};

use super::evaluator::{Env, Eval, Evaluator};
use super::syntax::text_literal;
use crate::api::types::TypeScope;
use crate::api::value::Val;

impl Evaluator<'_, '_> {
    pub(in crate::api) fn macro_call(
        &mut self,
        scope: &TypeScope,
        env: &Env,
        expr: &Expr,
        mac: &syn::Macro,
        ty: Option<TypeId>,
    ) -> Eval {
        let Resolution::Foreign(path) = self.types.resolve_in(scope, &mac.path, Namespace::Macros) else {
            return self.unsupported(scope, expr);
        };
        match path.join("::").as_str() {
            "std::vec" => {
                let element = self.types.argument(ty, ValueKind::is_list);
                let Some(items) = expressions(mac) else { return self.unsupported(scope, expr) };
                self.list(scope, env, items.iter(), element).map(Val::Seq)
            }
            "serde_json::json" => self.recipe_tokens(scope, env, &mac.tokens).map(Val::from),
            "schemars::json_schema" => match self.recipe_tokens(scope, env, &mac.tokens)? {
                Recipe::Json(value) if !value.is_object() && !value.is_boolean() => self.unsupported(scope, expr),
                recipe => Ok(Val::from(recipe)),
            },
            "std::module_path" => Ok(Val::Str(self.tree.module_path(scope.module).join("::"))),
            "std::concat" => {
                let Some(parts) = expressions(mac) else { return self.unsupported(scope, expr) };
                let mut text = String::new();
                for part in &parts {
                    match self.eval(scope, env, part, None)?.displayed() {
                        Some(part) => text.push_str(&part),
                        None => return self.unsupported(scope, part),
                    }
                }
                Ok(Val::Str(text))
            }
            "std::format" => {
                let text = self.format(scope, env, mac)?;
                self.or_unsupported(scope, expr, text.map(Val::Str))
            }
            _ => self.unsupported(scope, expr),
        }
    }

    /// Evaluates `format!` with only `{}` and `{name}`. Returns `None` for other arguments.
    fn format(&mut self, scope: &TypeScope, env: &Env, mac: &syn::Macro) -> Eval<Option<String>> {
        let Some(arguments) = expressions(mac) else { return Ok(None) };
        let mut values = arguments.iter();
        let Some(template) = values.next().and_then(text_literal) else { return Ok(None) };
        let mut text = String::new();
        let mut rest = template.as_str();
        while let Some(at) = rest.find(['{', '}']) {
            text.push_str(&rest[..at]);
            let doubled = rest[at..].starts_with("{{") || rest[at..].starts_with("}}");
            if doubled {
                text.push_str(&rest[at..=at]);
                rest = &rest[at + 2..];
                continue;
            }
            let Some(name) = rest[at..].strip_prefix('{').and_then(|rest| rest.split_once('}')) else {
                return Ok(None);
            };
            let expr = if name.0.is_empty() {
                match values.next() {
                    Some(expr) => expr.clone(),
                    None => return Ok(None),
                }
            } else {
                match syn::parse_str::<syn::Ident>(name.0) {
                    Ok(ident) => syn::parse_quote!(#ident),
                    Err(_) => return Ok(None),
                }
            };
            let Some(value) = self.eval(scope, env, &expr, None)?.displayed() else { return Ok(None) };
            text.push_str(&value);
            rest = name.1;
        }
        text.push_str(rest);
        Ok(values.next().is_none().then_some(text))
    }
}

/// The arguments of a macro that takes expressions.
fn expressions(mac: &syn::Macro) -> Option<Punctuated<Expr, Token![,]>> {
    mac.parse_body_with(Punctuated::parse_terminated).ok()
}
