//! Structural schemas of CRDs: pruning, defaults and validation.

use serde_json::{Map, Value};

use super::{ListType, Node, Shape};
use crate::response::{FieldError, Refusal};

/// Keywords of schemas whose validation the server has, or that it may ignore.
const KEYWORDS: &[&str] = &[
    "type",
    "description",
    "title",
    "example",
    "externalDocs",
    "properties",
    "additionalProperties",
    "items",
    "default",
    "required",
    "nullable",
    "enum",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "pattern",
    "format",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-validations",
];

/// Formats that need no validation, and `date-time`.
const FORMATS: &[&str] =
    &["date-time", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float", "double", "uint"];

/// Returns an error for the first keyword of a CRD's schema that the server does not have.
pub(crate) fn check(schema: &Value, path: &str) -> Result<(), Refusal> {
    let Some(map) = schema.as_object() else {
        return Ok(());
    };
    for (keyword, value) in map {
        let known = match keyword.as_str() {
            "format" => value.as_str().is_some_and(|format| FORMATS.contains(&format)),
            keyword => KEYWORDS.contains(&keyword),
        };
        // The usual companion of `x-kubernetes-int-or-string` only repeats it.
        let companion = keyword == "anyOf" && schema["x-kubernetes-int-or-string"] == true;
        if !known && !companion {
            return Err(Refusal::unsupported(&format!("`{keyword}: {value}` in the schema at `{path}`")));
        }
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        check(property, &format!("{path}.{name}"))?;
    }
    check(&schema["items"], &format!("{path}[]"))?;
    check(&schema["additionalProperties"], &format!("{path}.*"))
}

/// Removes the fields that the schema does not list. The root keeps the fields of every object.
pub(crate) fn prune(node: &Node, value: &mut Value, root: bool) {
    match (&node.shape, value) {
        (Shape::Object { properties, additional, .. }, Value::Object(map)) => {
            map.retain(|name, _| {
                properties.contains_key(name)
                    || additional.is_some()
                    || (root && matches!(name.as_str(), "apiVersion" | "kind" | "metadata"))
            });
            for (name, value) in map.iter_mut() {
                if root && name == "metadata" {
                    continue;
                }
                if let (Some(field), named) = node.field(name)
                    && (named || !node.preserve)
                {
                    prune(field, value, false);
                }
            }
        }
        (Shape::Array { items, .. }, Value::Array(values)) => {
            values.iter_mut().for_each(|value| prune(items, value, false));
        }
        _ => {}
    }
}

/// Sets defaults. A null that is not allowed counts as missing if there is a default.
pub(crate) fn default(node: &Node, value: &mut Value) {
    match (&node.shape, value) {
        (Shape::Object { properties, additional, .. }, Value::Object(map)) => {
            for (name, property) in properties {
                let Some(default) = &property.default else {
                    continue;
                };
                if map.get(name).is_none_or(|value| value.is_null() && !property.nullable) {
                    map.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in map.iter_mut() {
                if let Some(node) = properties.get(name).or(additional.as_ref()) {
                    default(node, value);
                }
            }
        }
        (Shape::Array { items, .. }, Value::Array(values)) => values.iter_mut().for_each(|value| default(items, value)),
        _ => {}
    }
}

/// Removes each null that the schema does not allow.
pub(crate) fn remove_nulls(node: &Node, value: &mut Value) {
    match (&node.shape, value) {
        (Shape::Object { .. }, Value::Object(map)) => {
            map.retain(|name, value| match node.field(name) {
                (Some(field), named) if named || !node.preserve => !value.is_null() || field.nullable,
                _ => true,
            });
            for (name, value) in map.iter_mut() {
                if let (Some(field), _) = node.field(name) {
                    remove_nulls(field, value);
                }
            }
        }
        (Shape::Array { items, .. }, Value::Array(values)) => {
            values.iter_mut().for_each(|value| remove_nulls(items, value));
        }
        _ => {}
    }
}

/// Collects the errors of a value.
pub(crate) fn validate(node: &Node, value: &Value, path: &str, root: bool, errors: &mut Vec<FieldError>) {
    let rules = &node.rules;
    let of = |keyword: &str| rules[keyword].as_f64();
    if value.is_null() && node.nullable {
        return;
    }
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let expected = match &node.shape {
        Shape::Any => found,
        Shape::Object { .. } => "object",
        Shape::Array { .. } => "array",
        Shape::String => "string",
        Shape::Integer => "integer",
        Shape::Number if found == "integer" => found,
        Shape::Number => "number",
        Shape::Boolean => "boolean",
        Shape::IntOrString if matches!(found, "integer" | "string") => found,
        Shape::IntOrString => "integer,string",
    };
    if expected != found {
        let detail = format!("{path} in body must be of type {expected}: {found:?}");
        errors.push(FieldError::of_type(path, &found.into(), &detail));
        return;
    }
    if let Some(allowed) = rules["enum"].as_array()
        && !allowed.contains(value)
    {
        errors.push(FieldError::unsupported(path, value, allowed));
    }
    match value {
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or_default();
            let mut bound = |keyword: &str, exclusive: &str, wrong: bool, equal: bool, words: &str| {
                let Some(limit) = of(keyword) else { return };
                let strict = rules[exclusive] == true;
                if wrong || (strict && equal) {
                    let or_equal = if strict { "" } else { " or equal to" };
                    let detail = format!("{path} in body should be {words} than{or_equal} {limit}");
                    errors.push(FieldError::invalid(path, value, &detail));
                }
            };
            let (minimum, maximum) = (of("minimum"), of("maximum"));
            let below = minimum.is_some_and(|limit| number < limit);
            bound("minimum", "exclusiveMinimum", below, minimum == Some(number), "greater");
            let above = maximum.is_some_and(|limit| number > limit);
            bound("maximum", "exclusiveMaximum", above, maximum == Some(number), "less");
        }
        Value::String(text) => {
            let length = text.chars().count();
            if let Some(limit) = rules["maxLength"].as_u64()
                && length as u64 > limit
            {
                let message = format!("Too long: may not be more than {limit} bytes");
                errors.push(FieldError { reason: "FieldValueTooLong", field: path.to_owned(), message });
            }
            if let Some(limit) = rules["minLength"].as_u64()
                && (length as u64) < limit
            {
                let detail = format!("{path} in body should be at least {limit} chars long");
                errors.push(FieldError::invalid(path, value, &detail));
            }
            if let Some(pattern) = rules["pattern"].as_str()
                && regex::Regex::new(pattern).is_ok_and(|regex| !regex.is_match(text))
            {
                let detail = format!("{path} in body should match '{pattern}'");
                errors.push(FieldError::invalid(path, value, &detail));
            }
            if rules["format"] == "date-time" && !is_date_time(text) {
                let detail = format!("{path} in body must be of type date-time: {text:?}");
                errors.push(FieldError::of_type(path, value, &detail));
            }
        }
        Value::Array(values) => validate_list(node, values, path, errors),
        Value::Object(map) => validate_map(node, map, path, root, errors),
        _ => {}
    }
}

/// Returns true for a date and a time with an offset, as [RFC 3339](https://www.rfc-editor.org/rfc/rfc3339#section-5.6)
/// defines them, except that leap seconds are refused.
fn is_date_time(text: &str) -> bool {
    let text = text.to_ascii_uppercase();
    text.contains('T') && !text.contains(":60") && text.parse::<jiff::Timestamp>().is_ok()
}

fn validate_list(node: &Node, values: &[Value], path: &str, errors: &mut Vec<FieldError>) {
    let rules = &node.rules;
    if let Some(limit) = rules["maxItems"].as_u64()
        && values.len() as u64 > limit
    {
        let items = if limit == 1 { "item" } else { "items" };
        let message = format!("Too many: {}: must have at most {limit} {items}", values.len());
        errors.push(FieldError { reason: "FieldValueTooMany", field: path.to_owned(), message });
    }
    if let Some(limit) = rules["minItems"].as_u64()
        && (values.len() as u64) < limit
    {
        let detail = format!("{path} in body should have at least {limit} items");
        errors.push(FieldError::invalid(path, &(values.len().into()), &detail));
    }
    if let Shape::Array { items, .. } = &node.shape {
        for (at, value) in values.iter().enumerate() {
            validate(items, value, &format!("{path}[{at}]"), false, errors);
        }
    }
}

fn validate_map(node: &Node, map: &Map<String, Value>, path: &str, root: bool, errors: &mut Vec<FieldError>) {
    let below = |name: &str| {
        if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
    };
    for (name, value) in map {
        if root && matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
            continue;
        }
        if let (Some(field), _) = node.field(name) {
            validate(field, value, &below(name), false, errors);
        }
    }
    for name in &node.required {
        if !map.contains_key(name) {
            errors.push(FieldError::required(below(name), ""));
        }
    }
}

/// Collects the duplicates in lists with keys.
pub(crate) fn duplicates(node: &Node, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    match (&node.shape, value) {
        (Shape::Object { .. }, Value::Object(map)) => {
            for (name, value) in map {
                let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                if let (Some(field), _) = node.field(name) {
                    duplicates(field, value, &below, errors);
                }
            }
        }
        (Shape::Array { items, list }, Value::Array(values)) => {
            let key = |value: &Value| match list {
                ListType::Map(keys) => Value::Object(
                    keys.iter().filter_map(|key| Some((key.clone(), value.get(key)?.clone()))).collect::<Map<_, _>>(),
                ),
                _ => value.clone(),
            };
            for (at, value) in values.iter().enumerate() {
                let path = format!("{path}[{at}]");
                let is_key = *list != ListType::Atomic;
                if is_key && values[..at].iter().any(|other| key(other) == key(value)) {
                    errors.push(FieldError::duplicate(path.clone(), &key(value)));
                }
                duplicates(items, value, &path, errors);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::is_date_time;

    #[test]
    fn a_date_time_has_a_time_and_an_offset() {
        for text in ["2024-02-29T23:59:59Z", "2024-02-29t00:00:00.123z", "2024-02-29T00:00:00+02:00"] {
            assert!(is_date_time(text), "{text}");
        }
        for text in ["", "now", "2024-02-29", "2023-02-29T00:00:00Z", "2024-02-29T00:00:00", "2024-02-29T24:00:00Z"] {
            assert!(!is_date_time(text), "{text}");
        }
    }
}
