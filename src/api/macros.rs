//! Macros of std and serde that make values: lists, maps, JSON, schemas and texts.

use proc_macro2::TokenStream;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{Expr, Lit, Pat, Token};

use crate::schema::{Recipe, TypeId};
use crate::source::{Cfg, Namespace, Resolution};

use super::call::{LISTS, MAPS};
use super::flow::with;
use super::number::plain;
use super::schema_code::text_literal;
use super::types::{Refusal, Scope, Types};
use super::value::{Env, Val};

type Eval<T = Val> = Result<T, Refusal>;

/// More elements than a list in the source has.
const MOST: i128 = 1_000;

impl Types<'_> {
    pub(super) fn macro_call(
        &mut self,
        scope: &Scope,
        env: &Env,
        expr: &Expr,
        mac: &syn::Macro,
        ty: Option<TypeId>,
    ) -> Eval {
        let Resolution::Foreign(path) = self.resolve_in(scope, &mac.path, Namespace::Macros) else {
            return self.no(scope, expr);
        };
        match path.join("::").as_str() {
            "std::vec" => {
                let element = self.argument(ty, &LISTS);
                if let Ok(Repeated { item, times }) = mac.parse_body() {
                    return self.repeated(scope, env, &item, &times, element);
                }
                let parser = Punctuated::<Expr, Token![,]>::parse_terminated;
                let Ok(items) = mac.parse_body_with(parser) else { return self.no(scope, expr) };
                self.list(scope, env, items.iter(), element).map(Val::Seq)
            }
            "maplit::btreemap" | "maplit::hashmap" => {
                let Ok(pairs) = mac.parse_body_with(Punctuated::<Pair, Token![,]>::parse_terminated) else {
                    return self.no(scope, expr);
                };
                let types = ty.and_then(|ty| self.known(ty)).filter(|(known, _)| MAPS.contains(&known.path));
                let types = types.map(|(_, arguments)| arguments).unwrap_or_default();
                let mut entries: Vec<(Val, Val)> = Vec::new();
                for Pair { key, value } in pairs {
                    let key = self.eval(scope, env, &key, types.first().copied())?;
                    let value = self.eval(scope, env, &value, types.get(1).copied())?;
                    entries.retain(|(other, _)| *other != key);
                    entries.push((key, value));
                }
                Ok(Val::Map(entries))
            }
            "std::cfg" => match self.tree.cfg(scope.module).decide(mac.tokens.clone()) {
                Cfg::On if scope.outside.is_none() => Ok(Val::Bool(true)),
                Cfg::Off if scope.outside.is_none() => Ok(Val::Bool(false)),
                _ => self.no(scope, expr),
            },
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

    /// `[item; times]`, whose item is copied or cloned.
    pub(super) fn repeated(
        &mut self,
        scope: &Scope,
        env: &Env,
        item: &Expr,
        times: &Expr,
        element: Option<TypeId>,
    ) -> Eval {
        let usize_type = self.primitive("usize");
        let value = self.eval(scope, env, item, element)?;
        match self.eval(scope, env, times, usize_type)? {
            Val::Int(times @ 0..=MOST) if plain(&value) => {
                let times = usize::try_from(times).unwrap_or_default();
                self.spend(scope, item, value.weight() * times)?;
                Ok(Val::Seq(vec![value; times]))
            }
            _ => self.no(scope, times),
        }
    }

    /// `concat!`, `env!`, `format!`, `include_str!` and `module_path!` by the canonical path of the macro; `None` when something
    /// in it is not known.
    pub(super) fn text_macro(
        &mut self,
        scope: &Scope,
        env: &Env,
        path: &str,
        tokens: &TokenStream,
    ) -> Eval<Option<String>> {
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
    pub(super) fn constant_text(&mut self, scope: &Scope, env: &Env, expr: &Expr) -> Eval<Option<String>> {
        Ok(match expr {
            Expr::Lit(lit) => match &lit.lit {
                Lit::Str(text) => Some(text.value()),
                Lit::Bool(value) => Some(value.value.to_string()),
                Lit::Char(value) => Some(value.value().to_string()),
                Lit::Int(value) if value.suffix().is_empty() => Some(value.base10_digits().to_owned()),
                _ => None,
            },
            Expr::Group(inner) => self.constant_text(scope, env, &inner.expr)?,
            Expr::Macro(call) => match self.resolve_in(scope, &call.mac.path, Namespace::Macros) {
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
    fn format(&mut self, scope: &Scope, env: &Env, arguments: &Punctuated<Expr, Token![,]>) -> Eval<Option<String>> {
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

/// `item; times`, the arguments of `vec!`.
struct Repeated {
    item: Expr,
    times: Expr,
}

impl Parse for Repeated {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let item = input.parse()?;
        input.parse::<Token![;]>()?;
        Ok(Repeated { item, times: input.parse()? })
    }
}

/// `key => value`
struct Pair {
    key: Expr,
    value: Expr,
}

impl Parse for Pair {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let key = input.parse()?;
        input.parse::<Token![=>]>()?;
        Ok(Pair { key, value: input.parse()? })
    }
}
