//! `T::default()`: for types of std and other crates, derived, and handwritten.

use std::time::Duration;

use quote::ToTokens;
use serde_json::Value;
use syn::Item;
use syn::spanned::Spanned as _;

use crate::diagnostic::Code;
use crate::schema::TypeId;
use crate::schema::known::ValueKind;
use crate::source::ItemRef;

use super::evaluator::{Eval, Evaluator};
use crate::api::canonical::DEFAULT;
use crate::api::types::{Refusal, TypeScope};
use crate::api::value::Val;

impl Evaluator<'_, '_> {
    /// Evaluates `<T>::default()`. An inherent function of this name takes precedence.
    pub(in crate::api) fn default_called(
        &mut self,
        scope: &TypeScope,
        ty: &syn::Type,
        at: &impl ToTokens,
        id: TypeId,
    ) -> Eval {
        if scope.is_parameter(ty) || !self.types.has_own(id, "default") {
            return self.default_of(scope, at, id);
        }
        match self.own_function(id, "default") {
            Some(function) => self.invoke(scope, at, &function, Vec::new()),
            None => self.unsupported(scope, at),
        }
    }

    /// Evaluates the `default` of the trait.
    pub(super) fn default_of(&mut self, scope: &TypeScope, at: &impl ToTokens, id: TypeId) -> Eval {
        // The lookup of fields by name costs work.
        self.spend(scope, at, 20)?;
        if let Some((known, arguments)) = self.types.known(id) {
            if let Some(plain) = plain_default(known.kind) {
                return Ok(plain);
            }
            return match known.kind {
                kind if kind.is_transparent() => self.default_of(scope, at, arguments[0]),
                ValueKind::Array(length) => Ok(Val::Seq(vec![self.default_of(scope, at, arguments[0])?; length])),
                ValueKind::Tuple(_) => {
                    let values: Eval<Vec<Val>> =
                        arguments.iter().map(|argument| self.default_of(scope, at, *argument)).collect();
                    values.map(Val::Seq)
                }
                _ => {
                    let linked = || self.types.linked_default(scope, known.path);
                    let default = known.default.map(|default| default()).or_else(linked);
                    self.or_unsupported(scope, at, default.map(Val::Json))
                }
            };
        }
        if let Some(default) = self.types.k8s_default(id) {
            return Ok(Val::Json(default));
        }
        let Some(user) = self.types.user(id).cloned() else { return self.unsupported(scope, at) };
        self.deeper(scope, at, |eval| {
            if eval.types.derives_trait(user.item, DEFAULT) {
                return eval.derived_default(scope, at, id, user.item);
            }
            match eval.trait_function(id, DEFAULT, "default") {
                Some(function) => eval.invoke(scope, at, &function, Vec::new()),
                None if eval.types.implements(id, DEFAULT) => eval.unsupported(scope, at),
                None => {
                    let message = format!("`{}` has no `Default` in the source", eval.types.text(scope, at));
                    Err(Refusal::new(Code::Expression, scope, at.to_token_stream().span(), message)
                        .help("derive `Default`, or write an `impl Default` for it"))
                }
            }
        })
    }

    fn derived_default(&mut self, scope: &TypeScope, at: &impl ToTokens, id: TypeId, item: ItemRef) -> Eval {
        let tree = self.tree;
        match tree.item(item) {
            Item::Struct(item) => {
                let types = self.field_types(id, &item.fields);
                let values: Eval<Vec<Val>> = types.into_iter().map(|ty| self.default_of(scope, at, ty)).collect();
                Ok(Val::Struct(id, values?))
            }
            Item::Enum(item) => {
                let marked = |variant: &syn::Variant| variant.attrs.iter().any(|attr| attr.path().is_ident("default"));
                let marked = item.variants.iter().position(marked);
                self.or_unsupported(scope, at, marked.map(|index| Val::Variant(id, index, Vec::new())))
            }
            _ => self.unsupported(scope, at),
        }
    }
}

/// Returns the default of a type whose default does not depend on its arguments.
pub(super) fn plain_default(kind: ValueKind) -> Option<Val> {
    Some(match kind {
        ValueKind::Bool => Val::Bool(false),
        ValueKind::Char => Val::Char('\0'),
        ValueKind::Integer(..) => Val::Int(0),
        ValueKind::F32 => Val::F32(0.0),
        ValueKind::F64 => Val::F64(0.0),
        ValueKind::String | ValueKind::Str => Val::Str(String::new()),
        // A path does not have the methods of a text.
        ValueKind::Path => Val::Json("".into()),
        ValueKind::Duration => Val::Duration(Duration::ZERO),
        ValueKind::Option => Val::None,
        ValueKind::Phantom | ValueKind::Tuple(0) => Val::Unit,
        ValueKind::Json => Val::Json(Value::Null),
        ValueKind::Uuid => Val::Json(uuid::Uuid::nil().to_string().into()),
        ValueKind::Slice | ValueKind::Array(0) => Val::Seq(Vec::new()),
        kind if kind.is_list() || kind.is_set() => Val::Seq(Vec::new()),
        kind if kind.is_map() || kind == ValueKind::JsonMap => Val::Map(Vec::new()),
        _ => return None,
    })
}
