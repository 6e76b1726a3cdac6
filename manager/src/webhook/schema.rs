//! Validates values against a structural schema. CEL rules and formats are not evaluated.

use std::collections::BTreeSet;

use kube::Resource;
use kube::core::CustomResourceExt;
use regex::Regex;
use serde_json::{Map, Value};

/// Returns the schema of this version of the kind; null if its CRD has none.
pub(super) fn of<K: CustomResourceExt + Resource<DynamicType = ()>>() -> Value {
    let version = K::version(&());
    let mut versions = K::crd().spec.versions.into_iter();
    let schema = versions
        .find(|declared| declared.name == version)
        .and_then(|version| version.schema?.open_api_v3_schema);
    serde_json::to_value(schema).unwrap_or_default()
}

/// Returns the places that the schema refuses, as JSON pointers.
pub(super) fn violations(schema: &Value, value: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    look(schema, value, "", &mut found);
    found
}

fn look(schema: &Value, value: &Value, pointer: &str, found: &mut BTreeSet<String>) {
    let fits = match value {
        Value::Null => schema["nullable"] == true || schema.get("type").is_none(),
        value => typed(schema, value) && bounded(schema, value) && combined(schema, value),
    };
    if !fits {
        found.insert(pointer.to_owned());
    }
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let known = schema["properties"].get(key);
                if let Some(schema) = known.or_else(|| schema.get("additionalProperties")) {
                    let key = key.replace('~', "~0").replace('/', "~1");
                    look(schema, value, &format!("{pointer}/{key}"), found);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                look(&schema["items"], item, &format!("{pointer}/{index}"), found);
            }
        }
        _ => {}
    }
}

fn typed(schema: &Value, value: &Value) -> bool {
    if schema["x-kubernetes-int-or-string"] == true {
        return value.is_string() || value.is_i64() || value.is_u64();
    }
    match schema["type"].as_str().unwrap_or_default() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => true,
    }
}

fn bounded(schema: &Value, value: &Value) -> bool {
    let number = |key: &str| schema[key].as_f64();
    let size = |least: &str, most: &str, size: usize| {
        let [least, most] = [least, most].map(|key| schema[key].as_u64());
        let size = u64::try_from(size).unwrap_or(u64::MAX);
        least.is_none_or(|least| size >= least) && most.is_none_or(|most| size <= most)
    };
    let listed = schema["enum"]
        .as_array()
        .is_none_or(|values| values.contains(value));
    let fits = match value {
        Value::Number(value) => {
            let value = value.as_f64().unwrap_or_default();
            let open = |key: &str| schema[key] == true;
            number("minimum")
                .is_none_or(|least| value > least || value == least && !open("exclusiveMinimum"))
                && number("maximum")
                    .is_none_or(|most| value < most || value == most && !open("exclusiveMaximum"))
                && number("multipleOf").is_none_or(|step| (value / step).fract() == 0.0)
        }
        Value::String(text) => {
            let pattern = schema["pattern"].as_str().map(Regex::new);
            // A pattern that Rust cannot parse may be valid for the API server.
            let matches =
                pattern.is_none_or(|pattern| pattern.map_or(true, |it| it.is_match(text)));
            matches && size("minLength", "maxLength", text.chars().count())
        }
        Value::Array(items) => {
            let unique = schema["uniqueItems"] == true || schema["x-kubernetes-list-type"] == "set";
            size("minItems", "maxItems", items.len()) && (!unique || distinct(items))
        }
        Value::Object(fields) => {
            let required = schema["required"].as_array().into_iter().flatten();
            let mut required = required.filter_map(Value::as_str);
            size("minProperties", "maxProperties", fields.len())
                && required.all(|field| fields.contains_key(field))
        }
        Value::Bool(_) | Value::Null => true,
    };
    listed && fits
}

fn distinct(items: &[Value]) -> bool {
    let texts: BTreeSet<String> = items.iter().map(Value::to_string).collect();
    texts.len() == items.len()
}

fn combined(schema: &Value, value: &Value) -> bool {
    let fit = |schema: &&Value| violations(schema, value).is_empty();
    let count = |key: &str| {
        let schemas = schema[key].as_array()?;
        Some((schemas.iter().filter(fit).count(), schemas.len()))
    };
    count("allOf").is_none_or(|(fit, all)| fit == all)
        && count("anyOf").is_none_or(|(fit, _)| fit > 0)
        && count("oneOf").is_none_or(|(fit, _)| fit == 1)
        && schema.get("not").is_none_or(|schema| !fit(&schema))
}

/// Removes the innermost field on the way to the pointer.
pub(super) fn remove(value: &mut Value, pointer: &str) {
    let mut pointer = pointer;
    while let Some((parent, key)) = pointer.rsplit_once('/') {
        let parent_value = value.pointer_mut(parent).and_then(Value::as_object_mut);
        let key = key.replace("~1", "/").replace("~0", "~");
        if parent_value.is_some_and(|fields: &mut Map<String, Value>| fields.remove(&key).is_some())
        {
            return;
        }
        pointer = parent;
    }
}
