//! The values of the evaluated language.

use std::time::Duration;

use serde_json::Value;

use crate::schema::{Recipe, TypeId, recipe};

/// A value of a Rust expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Val {
    Unit,
    Bool(bool),
    Int(i128),
    F32(f32),
    F64(f64),
    Char(char),
    Str(String),
    Duration(Duration),
    None,
    Some(Box<Val>),
    /// Lists, sets, arrays and tuples.
    Seq(Vec<Val>),
    Map(Vec<(Val, Val)>),
    /// A struct of the user: its fields in the order of the declaration.
    Struct(TypeId, Vec<Val>),
    /// A variant of an enum of the user: its index and fields.
    Variant(TypeId, usize, Vec<Val>),
    /// A value of another crate, as serde writes it.
    Json(Value),
    /// A schema, or JSON with schemas inside.
    Recipe(Recipe),
    /// The `SchemaGenerator` parameter of a function.
    Generator,
    /// The object of the schema in this variable.
    ObjectOf(String),
}

impl Val {
    /// Returns the number of parts in a copy of the value.
    pub(super) fn weight(&self) -> usize {
        match self {
            Val::Unit
            | Val::Bool(_)
            | Val::Int(_)
            | Val::F32(_)
            | Val::F64(_)
            | Val::Char(_)
            | Val::Duration(_)
            | Val::None
            | Val::Generator
            | Val::ObjectOf(_) => 1,
            Val::Str(text) => 1 + text.len() / 64,
            Val::Some(inner) => 1 + inner.weight(),
            Val::Seq(values) | Val::Struct(_, values) | Val::Variant(_, _, values) => {
                1 + values.iter().map(Val::weight).sum::<usize>()
            }
            Val::Map(entries) => 1 + entries.iter().map(|(key, value)| key.weight() + value.weight()).sum::<usize>(),
            Val::Json(value) => recipe::weight(value),
            Val::Recipe(recipe) => recipe.weight(),
        }
    }
}

impl From<Recipe> for Val {
    fn from(recipe: Recipe) -> Self {
        match recipe {
            Recipe::Json(value) => Val::Json(value),
            recipe => Val::Recipe(recipe),
        }
    }
}

impl Val {
    /// Returns the output of `Display`, which `to_string`, `format!` and `concat!` use.
    pub(super) fn displayed(&self) -> Option<String> {
        match self {
            Val::Str(text) => Some(text.clone()),
            Val::Int(value) => Some(value.to_string()),
            Val::Bool(value) => Some(value.to_string()),
            Val::Char(value) => Some(value.to_string()),
            _ => None,
        }
    }

    /// Returns true if its `Into<serde_json::Value>` is equal to the output of serde.
    pub(super) fn is_simple(&self) -> bool {
        matches!(self, Val::Bool(_) | Val::Int(_) | Val::Str(_) | Val::Json(_) | Val::Recipe(_))
    }

    /// Returns true if it contains a value of a user-defined type, whose conversions are unknown.
    pub(super) fn is_of_user(&self) -> bool {
        match self {
            Val::Struct(..) | Val::Variant(..) => true,
            Val::Some(inner) => inner.is_of_user(),
            Val::Seq(values) => values.iter().any(Val::is_of_user),
            Val::Map(entries) => entries.iter().any(|(key, value)| key.is_of_user() || value.is_of_user()),
            _ => false,
        }
    }
}
