//! Macros of std and serde that make values: lists, maps, JSON, schemas and texts.

use proc_macro2::TokenStream;
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::{Expr, Lit, Token};

use crate::schema::known::Kind;
use crate::schema::{Recipe, TypeId};
use crate::source::{Namespace, Resolution};

use super::syntax::text_literal;
use super::{Env, Eval, Evaluator};
use crate::api::types::Scope;
use crate::api::value::Val;

impl Evaluator<'_> {
    pub(in crate::api) fn macro_call(
        &mut self,
        scope: &Scope,
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
                let element = self.types.argument(ty, Kind::is_list);
                let parser = Punctuated::<Expr, Token![,]>::parse_terminated;
                let Ok(items) = mac.parse_body_with(parser) else { return self.unsupported(scope, expr) };
                self.list(scope, env, items.iter(), element).map(Val::Seq)
            }
            "serde_json::json" => self.recipe_tokens(scope, env, &mac.tokens).map(Val::from),
            "schemars::json_schema" => match self.recipe_tokens(scope, env, &mac.tokens)? {
                Recipe::Json(value) if !value.is_object() && !value.is_boolean() => self.unsupported(scope, expr),
                recipe => Ok(Val::from(recipe)),
            },
            "std::concat" | "std::env" | "std::format" | "std::include_str" | "std::module_path" => {
                match self.text_macro(scope, env, &path.join("::"), &mac.tokens)? {
                    Some(text) => Ok(Val::Str(text)),
                    None => self.unsupported(scope, expr),
                }
            }
            _ => self.unsupported(scope, expr),
        }
    }

    /// `concat!`, `env!`, `format!`, `include_str!` and `module_path!` by the canonical path of the macro; `None` when something
    /// in it is not known.
    fn text_macro(&mut self, scope: &Scope, env: &Env, path: &str, tokens: &TokenStream) -> Eval<Option<String>> {
        let parser = Punctuated::<Expr, Token![,]>::parse_terminated;
        let Ok(arguments) = parser.parse2(tokens.clone()) else { return Ok(None) };
        match path {
            "std::env" => {
                let manifest = self.tree.manifest_of(scope.module);
                // The rest of the environment is not the source's to say.
                Ok(match arguments.first().and_then(text_literal).as_deref() {
                    Some("CARGO_PKG_VERSION") => manifest.version.clone(),
                    Some("CARGO_PKG_NAME") => Some(manifest.name.clone()),
                    _ => None,
                })
            }
            "std::module_path" => Ok(Some(self.tree.module_path(scope.module).join("::"))),
            "std::include_str" => {
                let (Some(path), 1) = (arguments.first(), arguments.len()) else { return Ok(None) };
                let Some(path) = self.constant_text(scope, env, path)? else { return Ok(None) };
                Ok(self.tree.include(scope.module, &path))
            }
            "std::concat" => {
                let mut text = String::new();
                for argument in &arguments {
                    let Some(part) = self.constant_text(scope, env, argument)? else { return Ok(None) };
                    text.push_str(&part);
                }
                Ok(Some(text))
            }
            "std::format" => self.format(scope, env, &arguments),
            _ => Ok(None),
        }
    }

    /// What `concat!` writes for one of its arguments.
    pub(in crate::api) fn constant_text(&mut self, scope: &Scope, env: &Env, expr: &Expr) -> Eval<Option<String>> {
        Ok(match expr {
            Expr::Lit(lit) => match &lit.lit {
                Lit::Str(text) => Some(text.value()),
                Lit::Bool(value) => Some(value.value.to_string()),
                Lit::Char(value) => Some(value.value().to_string()),
                Lit::Int(value) if value.suffix().is_empty() => Some(value.base10_digits().to_owned()),
                _ => None,
            },
            Expr::Group(inner) => self.constant_text(scope, env, &inner.expr)?,
            Expr::Macro(call) => match self.types.resolve_in(scope, &call.mac.path, Namespace::Macros) {
                Resolution::Foreign(path) => match path.join("::") {
                    path if path == "std::format" => None,
                    path => self.text_macro(scope, env, &path, &call.mac.tokens)?,
                },
                _ => None,
            },
            _ => None,
        })
    }

    /// `format!` with `{}` and `{name}` only.
    pub(in crate::api) fn format(
        &mut self,
        scope: &Scope,
        env: &Env,
        arguments: &Punctuated<Expr, Token![,]>,
    ) -> Eval<Option<String>> {
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
            match self.eval(scope, env, &expr, None)? {
                Val::Str(value) => text.push_str(&value),
                Val::Int(value) => text.push_str(&value.to_string()),
                Val::Bool(value) => text.push_str(&value.to_string()),
                Val::Char(value) => text.push(value),
                _ => return Ok(None),
            }
            rest = name.1;
        }
        text.push_str(rest);
        Ok(values.next().is_none().then_some(text))
    }
}
