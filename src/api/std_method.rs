//! Methods of std on values: of texts, options, lists and their iterators, numbers.

use syn::{Expr, ExprMethodCall, GenericArgument};

use crate::schema::TypeId;

use super::call::{LISTS, MAPS, SETS, sorted};
use super::number::plain;
use super::predicate::test;
use super::types::{Refusal, Scope, Types};
use super::value::{Env, Val};

type Eval<T = Val> = Result<T, Refusal>;

/// Longer texts than a schema has, in bytes.
const LONG: usize = 1 << 20;

impl Types<'_> {
    /// The result of a method of std; `None` when it is no known one.
    pub(super) fn std_method(
        &mut self,
        scope: &Scope,
        env: &Env,
        call: &ExprMethodCall,
        (receiver, method, arguments): (Val, &str, &[&Expr]),
        ty: Option<TypeId>,
    ) -> Eval<Option<Val>> {
        Ok(match (receiver, arguments) {
            (Val::Str(text), arguments) => self.text_method(scope, env, (&text, method, arguments), ty)?,
            (value @ (Val::Some(_) | Val::None), arguments) => {
                self.option_method(scope, env, (value, method, arguments), ty)?
            }
            (Val::Seq(items), arguments) => self.list_method(scope, env, call, (items, method, arguments), ty)?,
            (Val::Int(value), [other]) if matches!(method, "min" | "max") => {
                match self.eval(scope, env, other, None)? {
                    Val::Int(other) => {
                        Some(Val::Int(if method == "min" { value.min(other) } else { value.max(other) }))
                    }
                    _ => None,
                }
            }
            (value, []) => match (method, value) {
                ("into", value) if self.is_json(ty) && value.is_simple() => Some(value),
                ("into", value @ Val::Int(number)) if self.fits(number, ty) == Some(true) => Some(value),
                ("as_secs", Val::Duration(value)) => Some(Val::Int(value.as_secs().into())),
                ("as_millis", Val::Duration(value)) => i128::try_from(value.as_millis()).ok().map(Val::Int),
                ("as_secs_f64", Val::Duration(value)) => Some(Val::F64(value.as_secs_f64())),
                ("as_secs_f32", Val::Duration(value)) => Some(Val::F32(value.as_secs_f32())),
                ("get", value @ Val::Int(_)) => Some(value),
                ("to_string", Val::Int(value)) => Some(Val::Str(value.to_string())),
                ("to_string", Val::Bool(value)) => Some(Val::Str(value.to_string())),
                ("to_string", Val::Char(value)) => Some(Val::Str(value.to_string())),
                ("clone", value) if self.clones(&value) => Some(value),
                (name, value) => test(name, &value).map(Val::Bool),
            },
            _ => None,
        })
    }

    fn text_method(
        &mut self,
        scope: &Scope,
        env: &Env,
        (text, method, arguments): (&str, &str, &[&Expr]),
        ty: Option<TypeId>,
    ) -> Eval<Option<Val>> {
        let mut given = Vec::new();
        for argument in arguments {
            match self.eval(scope, env, argument, None)? {
                Val::Str(text) => given.push(text),
                _ => return Ok(None),
            }
        }
        let given: Vec<&str> = given.iter().map(String::as_str).collect();
        Ok(Some(match (method, given.as_slice()) {
            ("to_string" | "to_owned" | "clone" | "as_str" | "into_owned", []) => Val::Str(text.to_owned()),
            // Into what, only the type says.
            ("into", []) if self.is_text(ty) => Val::Str(text.to_owned()),
            ("into", []) if self.primitive_name(ty) == Some("std::path::PathBuf") => Val::Json(text.into()),
            ("len", []) => Val::Int(i128::try_from(text.len()).unwrap_or_default()),
            ("to_lowercase", []) => Val::Str(text.to_lowercase()),
            ("to_uppercase", []) => Val::Str(text.to_uppercase()),
            ("to_ascii_lowercase", []) => Val::Str(text.to_ascii_lowercase()),
            ("to_ascii_uppercase", []) => Val::Str(text.to_ascii_uppercase()),
            ("trim", []) => Val::Str(text.trim().to_owned()),
            ("is_empty", []) => Val::Bool(text.is_empty()),
            ("starts_with", [part]) => Val::Bool(text.starts_with(part)),
            ("ends_with", [part]) => Val::Bool(text.ends_with(part)),
            ("contains", [part]) => Val::Bool(text.contains(part)),
            ("replace", [from, to]) if text.len() * to.len() < LONG => Val::Str(text.replace(from, to)),
            _ => return Ok(None),
        }))
    }

    fn option_method(
        &mut self,
        scope: &Scope,
        env: &Env,
        (value, method, arguments): (Val, &str, &[&Expr]),
        ty: Option<TypeId>,
    ) -> Eval<Option<Val>> {
        Ok(match (method, arguments, value) {
            ("unwrap" | "unwrap_or_default", [], Val::Some(inner)) | ("unwrap_or_else", [_], Val::Some(inner)) => {
                Some(*inner)
            }
            ("expect", [why], Val::Some(inner)) => {
                self.eval(scope, env, why, None)?;
                Some(*inner)
            }
            ("unwrap_or", [other], value) => {
                let other = self.eval(scope, env, other, ty)?;
                Some(if let Val::Some(inner) = value { *inner } else { other })
            }
            ("unwrap_or_else", [Expr::Closure(other)], Val::None) if other.inputs.is_empty() => {
                Some(self.eval(scope, env, &other.body, ty)?)
            }
            ("as_ref" | "copied", [], value) | ("or", [_], value @ Val::Some(_)) => Some(value),
            ("as_deref", [], value) if plain(&value) => Some(value),
            ("clone" | "cloned", [], value) if self.clones(&value) => Some(value),
            ("map", [function], Val::Some(inner)) => {
                Some(Val::Some(Box::new(self.apply(scope, env, function, *inner, None)?)))
            }
            ("map" | "and_then" | "filter", [_], Val::None) => Some(Val::None),
            ("filter", [function], Val::Some(inner)) => {
                match self.apply(scope, env, function, (*inner).clone(), None)? {
                    Val::Bool(true) => Some(Val::Some(inner)),
                    Val::Bool(false) => Some(Val::None),
                    _ => None,
                }
            }
            ("is_some_and", [_], Val::None) => Some(Val::Bool(false)),
            ("is_none_or", [_], Val::None) => Some(Val::Bool(true)),
            ("is_some_and" | "is_none_or", [function], Val::Some(inner)) => {
                Some(self.apply(scope, env, function, *inner, None)?)
            }
            ("map_or", [other, _], Val::None) | ("or", [other], Val::None) => Some(self.eval(scope, env, other, ty)?),
            ("map_or", [_, function], Val::Some(inner)) | ("and_then", [function], Val::Some(inner)) => {
                Some(self.apply(scope, env, function, *inner, ty)?)
            }
            (name, [], value) => test(name, &value).map(Val::Bool),
            _ => None,
        })
    }

    fn list_method(
        &mut self,
        scope: &Scope,
        env: &Env,
        call: &ExprMethodCall,
        (items, method, arguments): (Vec<Val>, &str, &[&Expr]),
        ty: Option<TypeId>,
    ) -> Eval<Option<Val>> {
        Ok(Some(match (method, arguments) {
            ("iter" | "into_iter" | "as_slice" | "copied", []) => Val::Seq(items),
            ("clone" | "cloned" | "to_vec", []) if items.iter().all(|item| self.clones(item)) => Val::Seq(items),
            ("rev", []) => Val::Seq(items.into_iter().rev().collect()),
            ("len" | "count", []) => Val::Int(i128::try_from(items.len()).unwrap_or_default()),
            ("is_empty", []) => Val::Bool(items.is_empty()),
            ("map", [function]) => {
                let made: Eval<Vec<Val>> =
                    items.into_iter().map(|item| self.apply(scope, env, function, item, None)).collect();
                Val::Seq(made?)
            }
            ("filter", [function]) => {
                let mut kept = Vec::new();
                for item in items {
                    match self.apply(scope, env, function, item.clone(), None)? {
                        Val::Bool(true) => kept.push(item),
                        Val::Bool(false) => {}
                        _ => return Ok(None),
                    }
                }
                Val::Seq(kept)
            }
            ("any" | "all", [function]) => {
                let mut found = Vec::new();
                for item in items {
                    found.push(self.apply(scope, env, function, item, None)?);
                }
                if !found.iter().all(|value| matches!(value, Val::Bool(_))) {
                    return Ok(None);
                }
                Val::Bool(
                    found.contains(&Val::Bool(true)) && method == "any"
                        || !found.contains(&Val::Bool(false)) && method == "all",
                )
            }
            ("contains", [item]) => {
                let item = self.eval(scope, env, item, None)?;
                let equal: Option<Vec<bool>> = items.iter().map(|other| self.equal(other, &item)).collect();
                match equal {
                    Some(equal) => Val::Bool(equal.contains(&true)),
                    None => return Ok(None),
                }
            }
            ("join", [separator]) => match (self.eval(scope, env, separator, None)?, texts(&items)) {
                (Val::Str(separator), Some(texts)) if separator.len() * texts.len() < LONG => {
                    Val::Str(texts.join(&separator))
                }
                _ => return Ok(None),
            },
            ("concat", []) => match texts(&items) {
                Some(texts) => Val::Str(texts.concat()),
                None => return Ok(None),
            },
            ("collect", []) => return Ok(self.collected(scope, call, items, ty)),
            ("into", []) => match self.primitive_name(ty) {
                Some(name) if LISTS[0] == name => Val::Seq(items),
                Some(name) if MAPS[..2].contains(&name) => return Ok(entries(items).map(Val::Map)),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        }))
    }

    /// What `collect` makes of the elements, when its type is written down or asked for.
    fn collected(&mut self, scope: &Scope, call: &ExprMethodCall, items: Vec<Val>, ty: Option<TypeId>) -> Option<Val> {
        let written = call.turbofish.as_ref().and_then(|turbofish| match turbofish.args.first() {
            // `Vec<_>`: what is in it is known already.
            Some(GenericArgument::Type(syn::Type::Path(path))) => {
                let mut path = path.clone();
                let unit: syn::Type = syn::parse_quote!(());
                for segment in &mut path.path.segments {
                    if let syn::PathArguments::AngleBracketed(list) = &mut segment.arguments {
                        list.args.iter_mut().for_each(|argument| *argument = GenericArgument::Type(unit.clone()));
                    }
                }
                Some(self.ty(scope, &syn::Type::Path(path)))
            }
            _ => None,
        });
        let name = self.primitive_name(written.or(ty))?;
        match name {
            name if name == LISTS[0] => Some(Val::Seq(items)),
            name if name == SETS[0] => sorted(items).map(Val::Seq),
            name if MAPS.contains(&name) => entries(items).map(Val::Map),
            "std::string::String" => texts(&items).map(|texts| Val::Str(texts.concat())),
            _ => None,
        }
    }

    /// Whether a variable of this type and value can grow by `push` in the order that it is written in.
    pub(super) fn grows(&mut self, scope: &Scope, init: &Expr, ty: Option<TypeId>) -> bool {
        if ty.is_some() {
            return self.primitive_name(ty).is_some_and(|name| name == LISTS[0]);
        }
        match init {
            // A macro that gives a list is `vec!`.
            Expr::Macro(_) => true,
            Expr::Call(call) => match &*call.func {
                Expr::Path(path) if path.qself.is_none() => match self.value_path(scope, &path.path) {
                    Some(super::value::Target::Foreign(path)) => path.join("::").starts_with("std::vec::Vec::"),
                    _ => false,
                },
                _ => false,
            },
            _ => false,
        }
    }
}

/// Pairs as the entries of a map, of which the last of a key stays.
fn entries(items: Vec<Val>) -> Option<Vec<(Val, Val)>> {
    let mut entries: Vec<(Val, Val)> = Vec::new();
    for item in items {
        let Val::Seq(pair) = item else { return None };
        let [key, value]: [Val; 2] = pair.try_into().ok()?;
        entries.retain(|(other, _)| *other != key);
        entries.push((key, value));
    }
    Some(entries)
}

fn texts(items: &[Val]) -> Option<Vec<String>> {
    items.iter().map(|item| if let Val::Str(text) = item { Some(text.clone()) } else { None }).collect()
}
