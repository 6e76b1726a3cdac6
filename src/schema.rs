//! Derives the structural `OpenAPI` v3 schema that `kube` writes into a CRD, from a type as data.
//!
//! Input: a [`Graph`] with what the `JsonSchema` derive sees of each type: names after serde's renames, evaluated
//! constraints and defaults. Output: a schema equal to that of the compiled type. Reads no Rust source, and has no
//! errors of its own: it runs the real impls of schemars. [`structural`] has the transforms of kube-core, [`release`]
//! the differences of older releases of both.

pub mod release;

pub(crate) mod k8s;
pub(crate) mod known;

mod by_code;
mod derived;
mod field_origins;
mod graph;
mod linked;
mod quiet;
pub(crate) mod recipe;
mod slot;
mod structural;
mod type_id;

use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::AddNullable;
use serde_json::Value;

pub use field_origins::FieldOrigins;
pub(crate) use field_origins::field_origins;
pub(crate) use graph::{
    Constraints, Container, Graph, Merge, Meta, NumberBounds, SchemaField, SchemaId, SchemaShape, Tag, Type, Unknown,
    Validated, Variant, VariantData,
};
pub(crate) use quiet::quietly;
pub(crate) use recipe::{Recipe, SchemaChange, SchemaEdit};
pub(crate) use type_id::TypeId;

/// The reason why `crd()` of the compiled type would panic.
#[derive(Debug)]
pub(crate) enum SchemaFailure {
    /// kube-core cannot make the schema structural.
    NotStructural {
        /// The smallest type of the user that shows the failure.
        culprit: Option<TypeId>,
        panic: String,
    },
    /// The schema is not a valid `JSONSchemaProps`.
    NotProps(serde_json::Error),
    Recursive,
    /// The schema has too many parts to build in memory.
    TooLarge,
}

/// The number of parts in a CRD of 1.5 MiB, the limit of etcd: few schemas are shorter than `"a":{"type":"object"},`.
const MOST_PARTS: usize = 65_536;

/// The schema of a root type, exactly as the code from kube-derive makes it.
pub(crate) fn root(graph: &Arc<Graph>, root: TypeId) -> Result<JSONSchemaProps, SchemaFailure> {
    let mut sizes = vec![None; graph.types.len()];
    let long = (0..graph.types.len()).any(|at| graph.id_size(TypeId(at), &mut sizes) > MOST_PARTS);
    if long || graph.size(root) > MOST_PARTS {
        return Err(SchemaFailure::TooLarge);
    }
    let schema = run(graph, root).map_err(|panic| {
        let failing: Vec<TypeId> =
            graph.containers().map(|(id, _)| id).filter(|&id| id != root && run(graph, id).is_err()).collect();
        let culprit =
            failing.iter().copied().find(|&id| failing.iter().all(|&other| other == id || !graph.reaches(id, other)));
        SchemaFailure::NotStructural { culprit, panic }
    })?;
    if contains_reference(&schema) {
        return Err(SchemaFailure::Recursive);
    }
    serde_json::from_value(schema).map_err(SchemaFailure::NotProps)
}

fn run(graph: &Arc<Graph>, root: TypeId) -> Result<Value, String> {
    let make = || slot::with_root(graph, root, || generator().into_root_schema_for::<slot::SlotRoot>().to_value());
    let mut schema = quietly(make)?;
    structural::rewrite(&mut schema, graph.releases)?;
    Ok(schema)
}

/// Returns true if the newest kube-core keeps the schema as it is.
pub(crate) fn is_kept(schema: &Value) -> bool {
    let mut rewritten = schema.clone();
    structural::rewrite(&mut rewritten, release::Releases::of(|_| None)).is_ok() && rewritten == *schema
}

fn generator() -> SchemaGenerator {
    SchemaSettings::openapi3()
        .with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .with_transform(AddNullable::default())
        .into_generator()
}

/// Searches schema positions only: elsewhere `$ref` is a property name or a part of a default.
fn contains_reference(value: &Value) -> bool {
    let Value::Object(map) = value else { return false };
    map.iter().any(|(key, value)| match key.as_str() {
        "$ref" => value.is_string(),
        "properties" | "patternProperties" => {
            value.as_object().is_some_and(|properties| properties.values().any(contains_reference))
        }
        "items" | "additionalProperties" | "not" | "propertyNames" | "contains" | "additionalItems" => match value {
            Value::Array(items) => items.iter().any(contains_reference),
            other => contains_reference(other),
        },
        "oneOf" | "anyOf" | "allOf" | "prefixItems" => {
            value.as_array().is_some_and(|schemas| schemas.iter().any(contains_reference))
        }
        _ => false,
    })
}
