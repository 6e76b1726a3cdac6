//! Values → JSON, as `serde_json::to_value` converts them, and the literals of `json!`.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use serde_derive_internals::Derive;
use serde_derive_internals::ast::{Data, Field, Style};
use serde_derive_internals::attr::TagType;
use serde_json::{Map, Number, Value};
use syn::Expr;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::spanned::Spanned as _;

use crate::diagnostic::Code;
use crate::schema::{Recipe, TypeId};

use super::evaluator::{Env, Eval, Evaluator};
use crate::api::canonical::SERIALIZE;
use crate::api::serde_type::serde_type;
use crate::api::types::{Refusal, TypeScope};
use crate::api::value::Val;

impl Evaluator<'_, '_> {
    fn unserialisable<T>(&self, scope: &TypeScope, at: &impl ToTokens, why: &str) -> Eval<T> {
        let message = format!("cannot determine the JSON of `{}`: {why}", self.types.text(scope, at));
        Err(Refusal::new(Code::Expression, scope, at.to_token_stream().span(), message))
    }

    /// Evaluates `serde_json::to_value(value)`. Refusals are reported at `at`.
    pub(in crate::api) fn json(&mut self, scope: &TypeScope, at: &impl ToTokens, value: &Val) -> Eval<Value> {
        Ok(self.written(scope, at, value)?.value())
    }

    fn written(&mut self, scope: &TypeScope, at: &impl ToTokens, value: &Val) -> Eval<Written> {
        Ok(match value {
            Val::Unit | Val::Json(Value::Null) => Written::Unit,
            Val::None => Written::None,
            Val::Some(value) => Written::Some(Box::new(self.written(scope, at, value)?)),
            Val::Bool(value) => Written::Other(Value::Bool(*value)),
            Val::Int(value) => match integer(*value) {
                Value::Null => return self.unserialisable(scope, at, "the number has more than 64 bits"),
                number => Written::Other(number),
            },
            Val::F32(value) => Written::Other(Value::from(*value)),
            Val::F64(value) => Written::Other(Value::from(*value)),
            Val::Char(value) => Written::Other(Value::String(value.to_string())),
            Val::Str(value) => Written::Other(Value::String(value.clone())),
            Val::Duration(value) => {
                let parts = [("secs", value.as_secs().into()), ("nanos", value.subsec_nanos().into())];
                Written::Object(parts.map(|(name, part)| (name.to_owned(), part)).into_iter().collect())
            }
            Val::Seq(values) => {
                let values: Eval<Vec<Value>> = values.iter().map(|value| self.json(scope, at, value)).collect();
                Written::Other(Value::Array(values?))
            }
            Val::Map(entries) => {
                if entries.len() > 1 && entries.iter().any(|(key, _)| key.is_of_user()) {
                    return self.unserialisable(scope, at, "keys of it may be equal");
                }
                let mut map = Map::new();
                for (key, value) in entries {
                    let key = match key {
                        Val::Int(number) => number.to_string(),
                        key => match self.written(scope, at, key)? {
                            Written::Variant(name, None) => name,
                            Written::Other(Value::String(text)) => text,
                            Written::Other(Value::Number(number)) if !number.is_f64() => number.to_string(),
                            Written::Some(_) | Written::None => {
                                return self.unserialisable(scope, at, "a key is an option");
                            }
                            _ => return self.unserialisable(scope, at, "a key is not a string"),
                        },
                    };
                    map.insert(key, self.json(scope, at, value)?);
                }
                Written::Object(map)
            }
            Val::Struct(id, values) => self.user_written(scope, at, *id, None, values)?,
            Val::Variant(id, index, values) => self.user_written(scope, at, *id, Some(*index), values)?,
            Val::Json(Value::Object(map)) => Written::Object(map.clone()),
            Val::Json(value) => Written::Other(value.clone()),
            Val::Recipe(_) | Val::Generator | Val::ObjectOf(_) => {
                return self.unserialisable(scope, at, "it depends on the schema of a type");
            }
        })
    }

    fn user_written(
        &mut self,
        scope: &TypeScope,
        at: &impl ToTokens,
        id: TypeId,
        variant: Option<usize>,
        values: &[Val],
    ) -> Eval<Written> {
        let Some(user) = self.types.user(id).cloned() else {
            return self.unserialisable(scope, at, "its type is unknown");
        };
        if !self.types.derives_trait(user.item, SERIALIZE) {
            return self.unserialisable(scope, at, "its type has no `derive(Serialize)` that sees it as it is written");
        }
        let Some(input) = self.types.derive_input(user.item) else {
            return self.unserialisable(scope, at, "its type is unknown");
        };
        let Ok(container) = serde_type(&input, Derive::Serialize) else {
            return self.unserialisable(scope, at, "its serde attributes are wrong");
        };
        if container.attrs.type_into().is_some() || container.attrs.remote().is_some() {
            return self.unserialisable(scope, at, "it is converted before");
        }
        let inner = &user.scope;
        match (&container.data, variant) {
            (Data::Struct(style, fields), None) => {
                if container.attrs.transparent() {
                    let position = fields.iter().position(|field| field.attrs.transparent());
                    return match position {
                        Some(position) => self.field_written(inner, at, &fields[position], &values[position]),
                        None => self.unserialisable(scope, at, "no field is transparent"),
                    };
                }
                let mut written = self.fields_written(inner, at, *style, fields, values)?;
                if let (TagType::Internal { tag }, Written::Object(map)) = (container.attrs.tag(), &mut written) {
                    // A field with the name of the tag is written after the tag.
                    let name = &container.attrs.name().serialize_name().value;
                    map.entry(tag.clone()).or_insert_with(|| name.clone().into());
                }
                Ok(written)
            }
            (Data::Enum(variants), Some(index)) => {
                let variant = &variants[index];
                if variant.attrs.skip_serializing() || variant.attrs.serialize_with().is_some() {
                    return self.unserialisable(scope, at, "the variant has attributes that decide it");
                }
                let name = variant.attrs.name().serialize_name().value.clone();
                let style = match variant.style {
                    Style::Newtype if variant.fields[0].attrs.skip_serializing() => Style::Unit,
                    style => style,
                };
                let content = self.fields_written(inner, at, style, &variant.fields, values)?;
                let content = (!matches!(style, Style::Unit)).then_some(content);
                let tag = if variant.attrs.untagged() { &TagType::None } else { container.attrs.tag() };
                let mut map = Map::new();
                match tag {
                    TagType::External => return Ok(Written::Variant(name, content.map(Written::value))),
                    TagType::None => return Ok(content.unwrap_or(Written::Unit)),
                    TagType::Internal { tag } => {
                        map.insert(tag.clone(), name.into());
                        match content.map_or(Some(Map::new()), |content| content.entries(Entries::Tagged)) {
                            Some(entries) => map.extend(entries),
                            None => return self.unserialisable(scope, at, "a tagged variant holds no object"),
                        }
                    }
                    TagType::Adjacent { tag, content: key } => {
                        map.insert(tag.clone(), name.into());
                        map.extend(content.map(|content| (key.clone(), content.value())));
                    }
                }
                Ok(Written::Object(map))
            }
            _ => self.unserialisable(scope, at, "its value does not fit its type"),
        }
    }

    fn field_written(
        &mut self,
        scope: &TypeScope,
        at: &impl ToTokens,
        field: &Field<'_>,
        value: &Val,
    ) -> Eval<Written> {
        if field.attrs.serialize_with().is_some() || field.attrs.getter().is_some() {
            return self.unserialisable(scope, field.original, "a function of the user writes it");
        }
        self.written(scope, at, value)
    }

    fn fields_written(
        &mut self,
        scope: &TypeScope,
        at: &impl ToTokens,
        style: Style,
        fields: &[Field<'_>],
        values: &[Val],
    ) -> Eval<Written> {
        match style {
            Style::Unit => Ok(Written::Unit),
            Style::Newtype => self.field_written(scope, at, &fields[0], &values[0]),
            Style::Tuple => {
                let mut array = Vec::new();
                for (field, value) in fields.iter().zip(values) {
                    if !self.skips(scope, field, value)? {
                        array.push(self.field_written(scope, at, field, value)?.value());
                    }
                }
                Ok(Written::Other(Value::Array(array)))
            }
            Style::Struct => {
                let mut map = Map::new();
                for (field, value) in fields.iter().zip(values) {
                    if self.skips(scope, field, value)? {
                        continue;
                    }
                    let written = self.field_written(scope, at, field, value)?;
                    if !field.attrs.flatten() {
                        map.insert(field.attrs.name().serialize_name().value.clone(), written.value());
                    } else if let Some(entries) = written.entries(Entries::Flattened) {
                        map.extend(entries);
                    } else {
                        return self.unserialisable(scope, field.original, "a flattened field is not an object");
                    }
                }
                Ok(Written::Object(map))
            }
        }
    }

    fn skips(&mut self, scope: &TypeScope, field: &Field<'_>, value: &Val) -> Eval<bool> {
        if field.attrs.skip_serializing() {
            return Ok(true);
        }
        match field.attrs.skip_serializing_if() {
            Some(path) => {
                let ty = self.ty(scope, field.ty);
                self.test_path(scope, path, value, ty)
            }
            None => Ok(false),
        }
    }

    /// Evaluates the argument of `json!`, without schemas inside.
    pub(in crate::api) fn json_tokens(&mut self, scope: &TypeScope, env: &Env, tokens: &TokenStream) -> Eval<Value> {
        match self.recipe_tokens(scope, env, tokens)? {
            Recipe::Json(value) => Ok(value),
            _ => self.unserialisable(scope, tokens, "it depends on the schema of a type"),
        }
    }

    /// Evaluates the argument of `json!` or `json_schema!`.
    pub(super) fn recipe_tokens(&mut self, scope: &TypeScope, env: &Env, tokens: &TokenStream) -> Eval<Recipe> {
        match Json::parse.parse2(tokens.clone()) {
            Ok(json) => self.json_literal(scope, env, json),
            Err(_) => self.unserialisable(scope, tokens, "it is not valid JSON"),
        }
    }

    fn json_literal(&mut self, scope: &TypeScope, env: &Env, json: Json) -> Eval<Recipe> {
        Ok(match json {
            Json::Null => Recipe::Json(Value::Null),
            Json::Array(items) => {
                let items: Eval<Vec<Recipe>> =
                    items.into_iter().map(|item| self.json_literal(scope, env, item)).collect();
                Recipe::array(items?)
            }
            Json::Object(entries) => {
                let mut object = Vec::new();
                let string = self.types.string();
                for (key, value) in entries {
                    let Val::Str(text) = self.eval(scope, env, &key, string)? else {
                        return self.unserialisable(scope, &key, "a key is not a string");
                    };
                    object.push((text, self.json_literal(scope, env, value)?));
                }
                Recipe::object(object)
            }
            Json::Expr(expr) => {
                let value = self.untyped(scope, env, &expr)?;
                self.recipe(scope, &expr, value)?
            }
        })
    }

    /// Converts a value to JSON that may contain schemas.
    pub(super) fn recipe(&mut self, scope: &TypeScope, at: &impl ToTokens, value: Val) -> Eval<Recipe> {
        Ok(match value {
            Val::Recipe(recipe) => recipe,
            Val::Some(value) => self.recipe(scope, at, *value)?,
            Val::Seq(values) => {
                let values: Eval<Vec<Recipe>> = values.into_iter().map(|value| self.recipe(scope, at, value)).collect();
                Recipe::array(values?)
            }
            value => Recipe::Json(self.json(scope, at, &value)?),
        })
    }
}

/// Converts an integer to JSON, which has no integers beyond 64 bits.
pub(super) fn integer(value: i128) -> Value {
    let number = u64::try_from(value).map(Number::from).or_else(|_| i64::try_from(value).map(Number::from));
    number.map_or(Value::Null, Value::Number)
}

/// A value in the data model of serde, as far as serializers distinguish it. Newtype structs and transparent structs are their
/// inner value. <https://serde.rs/data-model.html>
enum Written {
    /// `()` and structs without fields.
    Unit,
    None,
    Some(Box<Written>),
    /// A map or struct.
    Object(Map<String, Value>),
    /// A variant of an externally tagged enum with its content.
    Variant(String, Option<Value>),
    /// A text, number, list …
    Other(Value),
}

/// serde's serializers that only accept values with entries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entries {
    /// The serializer of a field with `#[serde(flatten)]`.
    Flattened,
    /// The serializer of a variant of an enum with `#[serde(tag = …)]`.
    Tagged,
}

impl Written {
    pub(in crate::api) fn value(self) -> Value {
        match self {
            Self::Unit | Self::None => Value::Null,
            Self::Some(inner) => inner.value(),
            Self::Object(map) => Value::Object(map),
            Self::Variant(name, None) => Value::String(name),
            Self::Variant(name, Some(content)) => Value::Object(Map::from_iter([(name, content)])),
            Self::Other(value) => value,
        }
    }

    /// Returns the entries for the surrounding map. `None` is an error of the serializer.
    pub(in crate::api) fn entries(self, into: Entries) -> Option<Map<String, Value>> {
        match self {
            Self::Unit => Some(Map::new()),
            Self::None => (into == Entries::Flattened).then(Map::new),
            Self::Some(inner) if into == Entries::Flattened => inner.entries(into),
            Self::Some(_) | Self::Other(_) => None,
            Self::Object(map) => Some(map),
            Self::Variant(name, content) => Some(Map::from_iter([(name, content.unwrap_or_default())])),
        }
    }
}

/// The grammar of `json!`.
enum Json {
    Null,
    Array(Vec<Json>),
    Object(Vec<(Expr, Json)>),
    Expr(Box<Expr>),
}

impl Parse for Json {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let ahead = input.fork();
        let first: TokenTree = ahead.parse()?;
        let alone = ahead.is_empty() || ahead.peek(syn::Token![,]);
        let json = match first {
            TokenTree::Ident(ident) if alone && ident == "null" => Json::Null,
            TokenTree::Group(group) if alone && group.delimiter() == Delimiter::Bracket => {
                let parser = syn::punctuated::Punctuated::<Json, syn::Token![,]>::parse_terminated;
                Json::Array(parser.parse2(group.stream())?.into_iter().collect())
            }
            TokenTree::Group(group) if alone && group.delimiter() == Delimiter::Brace => {
                let parser = syn::punctuated::Punctuated::<Entry, syn::Token![,]>::parse_terminated;
                let entries = parser.parse2(group.stream())?;
                Json::Object(entries.into_iter().map(|entry| (entry.key, entry.value)).collect())
            }
            _ => return Ok(Json::Expr(input.parse()?)),
        };
        input.parse::<TokenTree>()?;
        Ok(json)
    }
}

struct Entry {
    key: Expr,
    value: Json,
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut key = TokenStream::new();
        while !input.peek(syn::Token![:]) || input.peek(syn::Token![::]) {
            if input.peek(syn::Token![::]) {
                input.parse::<syn::Token![::]>()?.to_tokens(&mut key);
            } else {
                key.extend([input.parse::<TokenTree>()?]);
            }
        }
        let key = syn::parse2(key)?;
        input.parse::<syn::Token![:]>()?;
        Ok(Entry { key, value: input.parse()? })
    }
}
