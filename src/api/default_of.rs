//! `T::default()`: of types of std and other crates, derived, and written by hand.

use std::time::Duration;

use quote::ToTokens;
use serde_json::Value;
use syn::Item;
use syn::spanned::Spanned as _;

use crate::diagnostic::Code;
use crate::schema::{TypeId, known};
use crate::source::ItemRef;

use super::call::{LISTS, MAPS, POINTERS, SETS};
use super::number::in_range;
use super::std_value;
use super::types::{Refusal, Scope, Types};
use super::value::Val;

type Eval<T = Val> = Result<T, Refusal>;

impl Types<'_> {
    /// `<T>::default()`: a function of this name that the type has itself comes first.
    pub(super) fn default_called(&mut self, scope: &Scope, ty: &syn::Type, at: &impl ToTokens, id: TypeId) -> Eval {
        if scope.is_parameter(ty) || !self.has_own(id, "default") {
            return self.default_of(scope, at, id);
        }
        match self.own_function(scope, id, "default") {
            Some((sig, block, inner)) => self.invoke(scope, at, (&sig, &block, &inner), Vec::new()),
            None => self.no(scope, at),
        }
    }

    /// The `default` of the trait.
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
            match types.trait_function(id, "std::default::Default", "default") {
                Some((function, inner)) => {
                    types.invoke(scope, at, (&function.sig, &function.block, &inner), Vec::new())
                }
                None if types.implements(id, "std::default::Default") => types.no(scope, at),
                None => {
                    let message = format!("`{}` has no `Default` in the source", types.text(scope, at));
                    Err(Refusal::new(Code::Expression, scope, at.to_token_stream().span(), message)
                        .help("derive `Default`, or write an `impl Default` for it"))
                }
            }
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
}

/// Types whose default is that of their argument, and which are written like it.
pub(super) const WRAPPERS: [&str; 7] = [
    "std::borrow::Cow",
    "std::cell::Cell",
    "std::cell::RefCell",
    "std::cmp::Reverse",
    "std::num::Wrapping",
    "std::sync::Mutex",
    "std::sync::RwLock",
];
