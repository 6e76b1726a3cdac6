//! A type with a linked `JsonSchema` impl, and its role in the evaluator.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

pub(super) struct Impl {
    pub(super) inline: fn() -> bool,
    pub(super) name: fn() -> Cow<'static, str>,
    pub(super) id: fn() -> Cow<'static, str>,
    pub(super) schema: fn(&mut SchemaGenerator) -> Schema,
    pub(super) non_optional: fn(&mut SchemaGenerator) -> Schema,
    pub(super) is_option: fn() -> bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ValueKind {
    Bool,
    Char,
    /// An integer with its minimum and maximum.
    Integer(i128, i128),
    /// `u128`: its maximum exceeds the evaluator's integers.
    U128,
    F32,
    F64,
    Str,
    String,
    Option,
    Vec,
    /// `VecDeque`
    List,
    TreeSet,
    HashSet,
    IndexSet,
    TreeMap,
    HashMap,
    IndexMap,
    Box,
    /// `Rc` and `Arc`
    Shared,
    Cow,
    Reference,
    /// `(A, B, …)` of this many elements.
    Tuple(usize),
    /// `[T; N]` of this length.
    Array(usize),
    Slice,
    Phantom,
    /// `serde_json::Value`
    Json,
    /// `serde_json::Map`
    JsonMap,
    /// `schemars::Schema`
    Schema,
    /// `PathBuf`
    Path,
    /// `std::time::Duration`
    Duration,
    Uuid,
    /// Its values are not evaluated.
    Other,
}

impl ValueKind {
    pub(crate) fn is_list(self) -> bool {
        matches!(self, ValueKind::Vec | ValueKind::List)
    }

    pub(crate) fn is_set(self) -> bool {
        matches!(self, ValueKind::TreeSet | ValueKind::HashSet | ValueKind::IndexSet)
    }

    pub(crate) fn is_map(self) -> bool {
        matches!(self, ValueKind::TreeMap | ValueKind::HashMap | ValueKind::IndexMap)
    }

    pub(crate) fn is_pointer(self) -> bool {
        matches!(self, ValueKind::Box | ValueKind::Shared)
    }

    /// A type with the default and the serialization of its argument.
    pub(crate) fn is_transparent(self) -> bool {
        self.is_pointer() || self == ValueKind::Cow
    }

    /// The last type argument may be a hasher.
    pub(crate) fn is_hashed(self) -> bool {
        matches!(self, ValueKind::HashMap | ValueKind::HashSet | ValueKind::IndexMap | ValueKind::IndexSet)
    }

    /// Returns true if the integer is in the type's range; `None` if the type is not an integer.
    pub(crate) fn holds(self, value: i128) -> Option<bool> {
        match self {
            ValueKind::Integer(min, max) => Some((min..=max).contains(&value)),
            _ => None,
        }
    }
}

pub(crate) struct LinkedType {
    /// Canonical path, the real package first: `std::vec::Vec`, `k8s_openapi::api::core::v1::PodSpec`.
    pub(crate) path: &'static str,
    /// The number of type arguments that affect the schema.
    pub(crate) arity: usize,
    pub(crate) kind: ValueKind,
    /// `serde_json::to_value(T::default())`, if known.
    pub(crate) default: Option<fn() -> Value>,
    pub(super) imp: Impl,
}

impl std::fmt::Debug for LinkedType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.path)
    }
}

impl LinkedType {
    pub(super) const fn of<T: JsonSchema + ?Sized>(path: &'static str, arity: usize, kind: ValueKind) -> LinkedType {
        let imp = Impl {
            inline: T::inline_schema,
            name: T::schema_name,
            id: T::schema_id,
            schema: T::json_schema,
            non_optional: T::_schemars_private_non_optional_json_schema,
            is_option: T::_schemars_private_is_option,
        };
        LinkedType { path, arity, kind, default: None, imp }
    }

    /// `JsonSchema::schema_name`, for a type without arguments.
    pub(crate) fn name(&self) -> Option<String> {
        (self.arity == 0).then(|| (self.imp.name)().into_owned())
    }

    /// The declaring crate; `None` for a language type.
    pub(crate) fn krate(&self) -> Option<&'static str> {
        self.path.split_once("::").map(|(krate, _)| krate)
    }

    pub(super) const fn with_default(self, default: fn() -> Value) -> LinkedType {
        LinkedType { default: Some(default), ..self }
    }
}
