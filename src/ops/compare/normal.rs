//! The normal form of a CRD: equal for CRDs that mean the same to the API server.

use serde_json::{Map, Value, json};

use crate::crd::{description, walk};

/// Stands for a value of a Helm template.
pub(super) const UNKNOWN: &str = "helm-value";

/// Keywords of a schema without a meaning if they are false, and keywords without a meaning if they are empty.
const FALSE: [&str; 7] = [
    "exclusiveMaximum",
    "exclusiveMinimum",
    "nullable",
    "uniqueItems",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
];
const EMPTY: [&str; 11] = [
    "allOf",
    "anyOf",
    "description",
    "enum",
    "format",
    "oneOf",
    "pattern",
    "properties",
    "required",
    "title",
    "x-kubernetes-validations",
];

/// Returns the parts of a CRD that the API server stores and that types decide, in a fixed order.
///
/// A conversion is not compared: it belongs to the deployment.
pub(super) fn normal(crd: &Value, max_desc_len: Option<usize>) -> Value {
    let mut crd = json!({
        "apiVersion": crd["apiVersion"],
        "kind": crd["kind"],
        "metadata": { "name": crd["metadata"]["name"] },
        "spec": crd["spec"],
    });
    if let Some(limit) = max_desc_len {
        description::limit(&mut crd, limit);
    }
    walk::edit(&mut crd, &mut |_, _, schema| normal_schema(schema));
    let Some(spec) = crd["spec"].as_object_mut() else { return crd };
    spec.remove("conversion");
    drop_if(spec, "preserveUnknownFields", |value| *value == false);
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
        let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        drop_if(names, "singular", |value| *value == kind.to_lowercase());
        drop_if(names, "listKind", |value| *value == format!("{kind}List"));
        for key in ["categories", "shortNames"] {
            sort(names, key);
            drop_if(names, key, is_empty);
        }
    }
    let kind = spec["names"]["kind"].clone();
    let versions = spec.get_mut("versions").and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten().filter_map(Value::as_object_mut) {
        if let Some(schema) = version.get_mut("schema").and_then(|schema| schema["openAPIV3Schema"].as_object_mut()) {
            normal_root(schema, &kind);
        }
        drop_if(version, "deprecated", |value| *value == false);
        for key in ["additionalPrinterColumns", "deprecationWarning", "selectableFields", "subresources"] {
            drop_if(version, key, is_empty);
        }
        let columns = version.get_mut("additionalPrinterColumns").and_then(Value::as_array_mut);
        for column in columns.into_iter().flatten().filter_map(Value::as_object_mut) {
            drop_if(column, "priority", |value| *value == 0);
            drop_if(column, "description", is_empty);
            drop_if(column, "format", is_empty);
        }
    }
    if let Some(versions) = spec.get_mut("versions").and_then(Value::as_array_mut) {
        versions.sort_by(|one, other| one["name"].as_str().cmp(&other["name"].as_str()));
    }
    crd
}

/// Drops parts of the schema of an object that are the same for every kind: kube writes a title, controller-gen the properties.
fn normal_root(schema: &mut Map<String, Value>, kind: &Value) {
    drop_if(schema, "title", |title| title == kind);
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for (key, of_type) in [("apiVersion", "string"), ("kind", "string"), ("metadata", "object")] {
        let is_plain = |property: &Value| {
            let Some(keywords) = property.as_object() else { return false };
            keywords.iter().all(|(key, value)| key == "description" || (key == "type" && value == of_type))
        };
        drop_if(properties, key, is_plain);
    }
}

fn normal_schema(schema: &mut Map<String, Value>) {
    for key in FALSE {
        drop_if(schema, key, |value| *value == false);
    }
    for key in EMPTY {
        drop_if(schema, key, is_empty);
    }
    for key in ["enum", "required"] {
        sort(schema, key);
    }
    for key in ["default", "enum", "maximum", "minimum", "multipleOf"] {
        if let Some(value) = schema.get_mut(key) {
            whole_numbers(value);
        }
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
}

fn drop_if(map: &mut Map<String, Value>, key: &str, is_default: impl FnOnce(&Value) -> bool) {
    if map.get(key).is_some_and(|value| value.is_null() || is_default(value)) {
        map.remove(key);
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Null => true,
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Sorts a list whose order has no meaning.
fn sort(map: &mut Map<String, Value>, key: &str) {
    if let Some(list) = map.get_mut(key).and_then(Value::as_array_mut) {
        list.sort_by_key(Value::to_string);
    }
}

/// Writes `1.0` as `1`.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let text = number.to_string();
            if let Some(whole) = text.strip_suffix(".0").and_then(|whole| whole.parse::<i64>().ok()) {
                *value = whole.into();
            }
        }
        Value::Array(list) => list.iter_mut().for_each(whole_numbers),
        Value::Object(map) => map.values_mut().for_each(whole_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Returns `crd` with the values of `other` where a template computes them.
pub(super) fn adopted(crd: &Value, other: &Value) -> Value {
    let mut crd = crd.clone();
    adopt(&mut crd, other);
    crd
}

fn adopt(value: &mut Value, other: &Value) {
    match (value, other) {
        (Value::Object(map), Value::Object(other)) => {
            for (key, value) in map {
                adopt(value, other.get(key).unwrap_or(&Value::Null));
            }
        }
        (Value::Array(list), Value::Array(other)) => {
            list.iter_mut().zip(other).for_each(|(value, other)| adopt(value, other));
        }
        (value @ Value::String(_), other) if value.as_str().is_some_and(|text| text.contains(UNKNOWN)) => {
            *value = other.clone();
        }
        _ => {}
    }
}
