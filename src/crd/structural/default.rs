//! Validates defaults against a schema, like the API server.

use serde_json::{Map, Value};

use super::flag;
use crate::crd::walk::{SchemaPath, SchemaStep};

/// Keys with an exact implementation here: their rejections are certain.
const EXACT: [&str; 19] = [
    "additionalProperties",
    "allOf",
    "anyOf",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "nullable",
    "properties",
    "required",
    "type",
];

/// Validates types, fields, bounds and enums, but not patterns, string formats and rules. The error is the path and the
/// reason.
pub(crate) fn accepts(
    schema: &Map<String, Value>,
    value: &Value,
    path: &SchemaPath,
) -> Result<(), (SchemaPath, String)> {
    let fail = |why: &str| Err((path.clone(), why.to_owned()));
    if value.is_null() && flag(schema, "nullable") {
        return Ok(());
    }
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    if !is_of_type(kind, value) {
        return fail(&format!("it is not a valid {kind}"));
    }
    let choices = schema.get("enum").and_then(Value::as_array);
    if choices.is_some_and(|choices| !choices.contains(value)) {
        return fail("it is not a value of the `enum`");
    }
    if !in_range(schema, value) {
        return fail("it is out of range");
    }
    if !has_size(schema, value) {
        return fail("it is too short or too long");
    }
    logic(schema, value, path)?;
    for item in value.as_array().into_iter().flatten() {
        if let Some(items) = schema.get("items").and_then(Value::as_object) {
            accepts(items, item, &path.then(SchemaStep::Items))?;
        }
    }
    let Some(object) = value.as_object() else { return Ok(()) };
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    for name in required {
        // The server does not fill in defaults inside of a default.
        if !object.contains_key(name) {
            return fail(&format!("it lacks the required field `{name}`"));
        }
    }
    for (name, value) in object {
        let field = schema.get("properties").and_then(|fields| fields.get(name));
        if let Some(field) = field.or_else(|| schema.get("additionalProperties")).and_then(Value::as_object) {
            accepts(field, value, &path.field(name))?;
        } else if kind == "object"
            && field.is_none()
            && schema.get("additionalProperties") != Some(&Value::Bool(true))
            && !flag(schema, "x-kubernetes-preserve-unknown-fields")
        {
            return fail(&format!("it has the unknown field `{name}`"));
        }
    }
    Ok(())
}

fn is_of_type(kind: &str, value: &Value) -> bool {
    match kind {
        "array" => value.is_array(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "object" => value.is_object(),
        "string" => value.is_string(),
        _ => true,
    }
}

fn in_range(schema: &Map<String, Value>, value: &Value) -> bool {
    let Some(number) = value.as_f64() else { return true };
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    let above = |least: f64| number > least || (number >= least && !flag(schema, "exclusiveMinimum"));
    let below = |most: f64| number < most || (number <= most && !flag(schema, "exclusiveMaximum"));
    bound("minimum").is_none_or(above) && bound("maximum").is_none_or(below)
}

fn has_size(schema: &Map<String, Value>, value: &Value) -> bool {
    let (size, least, most) = match value {
        Value::String(text) => (text.chars().count(), "minLength", "maxLength"),
        Value::Array(items) => (items.len(), "minItems", "maxItems"),
        Value::Object(fields) => (fields.len(), "minProperties", "maxProperties"),
        _ => return true,
    };
    let size = size as u64;
    let bound = |key: &str| schema.get(key).and_then(Value::as_u64);
    bound(least).is_none_or(|least| size >= least) && bound(most).is_none_or(|most| size <= most)
}

fn logic(schema: &Map<String, Value>, value: &Value, path: &SchemaPath) -> Result<(), (SchemaPath, String)> {
    let schemas =
        |key: &str| schema.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object);
    let fits = |schema: &Map<String, Value>| accepts(schema, value, path).is_ok();
    for one in schemas("allOf") {
        accepts(one, value, path)?;
    }
    let fail = |why: &str| Err((path.clone(), why.to_owned()));
    if schemas("anyOf").next().is_some() && !schemas("anyOf").any(fits) {
        return fail("it matches no schema in `anyOf`");
    }
    let count = schemas("oneOf").filter(|one| fits(one)).count();
    if schemas("oneOf").next().is_some() && (count == 0 || (count > 1 && schemas("oneOf").all(is_exact))) {
        return fail(&format!("it matches {count} schemas in `oneOf`; exactly one must match"));
    }
    if schema.get("not").and_then(Value::as_object).is_some_and(|not| is_exact(not) && fits(not)) {
        return fail("it matches the schema in `not`");
    }
    Ok(())
}

/// Returns true if the server accepts every value that is accepted here.
fn is_exact(schema: &Map<String, Value>) -> bool {
    schema.iter().all(|(key, value)| {
        EXACT.contains(&key.as_str())
            && match (key.as_str(), value) {
                ("properties", Value::Object(fields)) => fields.values().filter_map(Value::as_object).all(is_exact),
                (_, Value::Array(schemas)) => schemas.iter().filter_map(Value::as_object).all(is_exact),
                ("items" | "additionalProperties", Value::Object(schema)) => is_exact(schema),
                _ => true,
            }
    })
}
