//! The schema of a CRD without the parts that Rust types cannot express.

use serde_json::{Map, Value, json};

use super::{SchemaMap, TypesFinding};
use crate::schema;

/// Keywords whose schemas kube rewrites.
const LOGIC: [&str; 4] = ["allOf", "anyOf", "not", "oneOf"];

/// Removes what the types cannot express, with a finding for each part, and what is equal to its absence.
pub(super) fn clean(schema: &SchemaMap, path: &str, findings: &mut Vec<TypesFinding>) -> SchemaMap {
    let mut cleaned = Map::new();
    for (key, value) in schema {
        let value = match (key.as_str(), value) {
            ("nullable" | "uniqueItems", Value::Bool(false)) | (_, Value::Null) => continue,
            ("properties", Value::Object(properties)) => {
                if properties.is_empty() {
                    continue;
                }
                let each = properties.iter().map(|(name, property)| {
                    let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    (name.clone(), part(property, &path, findings))
                });
                Value::Object(each.collect())
            }
            ("required", Value::Array(names)) if names.is_empty() => continue,
            ("items", Value::Object(_)) => part(value, &format!("{path}[]"), findings),
            ("additionalProperties", Value::Object(_)) => part(value, &format!("{path}.*"), findings),
            ("additionalProperties", Value::Bool(_)) if schema.contains_key("properties") => {
                findings.push(finding(path, "`additionalProperties` beside `properties` is not written"));
                continue;
            }
            ("anyOf", _) if is_int_or_string(schema) && *value == either() => continue,
            (key, _) if LOGIC.contains(&key) && !is_kept(schema, key, value) => {
                let message = format!(
                    "`{key}` is not written, because kube moves its properties and types to the schema around it"
                );
                findings.push(finding(path, message));
                continue;
            }
            _ => value.clone(),
        };
        cleaned.insert(key.clone(), value);
    }
    let required: Vec<Value> = cleaned.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    if let Some(Value::Object(properties)) = cleaned.get_mut("properties") {
        for (_, property) in properties.iter_mut().filter(|(name, _)| !required.iter().any(|other| other == *name)) {
            // kube makes an optional one nullable, unless the schema says otherwise.
            if let Value::Object(property) = property
                && is_int_or_string(property)
            {
                property.entry("nullable").or_insert(Value::Bool(false));
            }
        }
    }
    cleaned
}

/// A finding about the schema at a path.
pub(super) fn finding(path: &str, message: impl Into<String>) -> TypesFinding {
    TypesFinding { path: path.to_owned(), message: message.into() }
}

/// Returns true for a schema of integers and strings.
pub(super) fn is_int_or_string(schema: &SchemaMap) -> bool {
    schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true))
}

fn part(value: &Value, path: &str, findings: &mut Vec<TypesFinding>) -> Value {
    value.as_object().map_or_else(|| value.clone(), |schema| Value::Object(clean(schema, path, findings)))
}

fn either() -> Value {
    json!([{ "type": "integer" }, { "type": "string" }])
}

/// Returns true if kube keeps the keyword as it is.
fn is_kept(schema: &SchemaMap, key: &str, value: &Value) -> bool {
    let mut probe = Map::from_iter([(key.to_owned(), value.clone())]);
    probe.extend(schema.get("type").map(|ty| ("type".to_owned(), ty.clone())));
    schema::is_kept(&Value::Object(probe))
}
