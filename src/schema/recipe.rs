//! Schemas that code builds without a derive, as data: JSON with the schemas of types inside.

use serde_json::{Map, Value};

use super::type_id::TypeId;

/// The result of a function `fn(&mut SchemaGenerator) -> Schema`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Recipe {
    Json(Value),
    /// A JSON object; the last of equal keys wins.
    Object(Vec<(String, Recipe)>),
    Array(Vec<Recipe>),
    /// `generator.subschema_for::<T>()`
    Subschema(TypeId),
    /// `T::json_schema(generator)`
    Schema(TypeId),
    /// A recipe with edits, applied in order.
    Edited(Box<Recipe>, Vec<SchemaEdit>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SchemaEdit {
    /// Converts a boolean to the equivalent object, like `Schema::ensure_object`; otherwise a boolean stays unchanged.
    pub(crate) ensure: bool,
    pub(crate) change: SchemaChange,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SchemaChange {
    Insert(String, Recipe),
    Remove(String),
}

impl Recipe {
    /// An object, as plain JSON if possible.
    pub(crate) fn object(entries: Vec<(String, Recipe)>) -> Self {
        let plain: Option<Map<String, Value>> = entries
            .iter()
            .map(|(key, value)| if let Recipe::Json(value) = value { Some((key.clone(), value.clone())) } else { None })
            .collect();
        plain.map_or(Recipe::Object(entries), |map| Recipe::Json(Value::Object(map)))
    }

    /// An array, as plain JSON if possible.
    pub(crate) fn array(items: Vec<Recipe>) -> Self {
        let plain: Option<Vec<Value>> =
            items.iter().map(|item| if let Recipe::Json(value) = item { Some(value.clone()) } else { None }).collect();
        plain.map_or(Recipe::Array(items), |items| Recipe::Json(Value::Array(items)))
    }

    #[must_use]
    pub(crate) fn edited(self, edit: SchemaEdit) -> Self {
        match self {
            Recipe::Edited(base, mut edits) => {
                edits.push(edit);
                Recipe::Edited(base, edits)
            }
            base => Recipe::Edited(Box::new(base), vec![edit]),
        }
    }

    /// The size, without the schemas of types.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Recipe::Json(value) => weight(value),
            Recipe::Object(entries) => 1 + entries.iter().map(|(_, value)| value.weight()).sum::<usize>(),
            Recipe::Array(items) => 1 + items.iter().map(Recipe::weight).sum::<usize>(),
            Recipe::Subschema(_) | Recipe::Schema(_) => 1,
            Recipe::Edited(base, edits) => {
                let inserted = |edit: &SchemaEdit| match &edit.change {
                    SchemaChange::Insert(_, value) => 1 + value.weight(),
                    SchemaChange::Remove(_) => 1,
                };
                base.weight() + edits.iter().map(inserted).sum::<usize>()
            }
        }
    }

    /// The types whose schemas it contains.
    pub(super) fn types(&self) -> Vec<TypeId> {
        match self {
            Recipe::Json(_) => Vec::new(),
            Recipe::Object(entries) => entries.iter().flat_map(|(_, value)| value.types()).collect(),
            Recipe::Array(items) => items.iter().flat_map(Recipe::types).collect(),
            Recipe::Subschema(ty) | Recipe::Schema(ty) => vec![*ty],
            Recipe::Edited(base, edits) => {
                let inserted = edits.iter().flat_map(|edit| match &edit.change {
                    SchemaChange::Insert(_, value) => value.types(),
                    SchemaChange::Remove(_) => Vec::new(),
                });
                base.types().into_iter().chain(inserted).collect()
            }
        }
    }
}

/// The cost of JSON against the budget.
pub(crate) fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => 1 + text.len() / 64,
        Value::Array(values) => 1 + values.iter().map(weight).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(weight).sum::<usize>(),
    }
}
