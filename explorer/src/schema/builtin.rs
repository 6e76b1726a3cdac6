//! Built-in types: their schemas from the OpenAPI document, and objects as Go reads them.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};

use self::defaults::default;
pub(crate) use self::defaults::default_job;
use self::tables::{ALWAYS, FIELDS, POINTERS, listed};
use super::{Node, Shape};
use crate::response::Refusal;

mod defaults;
mod tables;

/// The schemas of the built-in types that the server knows, from the OpenAPI document of kube-apiserver.
pub(crate) const OPENAPI: &str = include_str!("openapi.json");

/// Returns the schema of a type, by the end of its name in the document, such as `core.v1.Pod`.
pub(crate) fn schema(name: &str) -> Arc<Node> {
    static READ: OnceLock<BTreeMap<String, Arc<Node>>> = OnceLock::new();
    let read = READ.get_or_init(|| {
        let components: Map<String, Value> = serde_json::from_str(OPENAPI).unwrap_or_default();
        let mut read = BTreeMap::new();
        for name in components.keys() {
            Node::read(&json!({ "$ref": format!("#/{name}") }), &components, &mut read);
        }
        read
    });
    read.get(&format!("io.k8s.api.{name}")).cloned().unwrap_or_default()
}

/// Reads an object of a built-in type as Go does: drops unknown fields and zeros, and sets defaults.
pub(crate) fn read(node: &Node, value: &mut Value, path: &str) -> Result<(), Refusal> {
    let wrong = |value: &Value| {
        let text = format!("decoding errors of built-in types: `{path}` has the value {value}");
        Err(Refusal::unsupported(&text))
    };
    match (&node.shape, &mut *value) {
        (_, Value::Null) | (Shape::Any, _) => Ok(()),
        (Shape::Object { properties, additional, .. }, Value::Object(map)) => {
            let name = node.name.as_deref().unwrap_or_default();
            if properties.is_empty() && additional.is_none() {
                return Ok(());
            }
            if let Some(additional) = additional {
                for (key, value) in map.iter_mut() {
                    read(additional, value, &format!("{path}.{key}"))?;
                    // A null in a map of texts is an empty text.
                    if value.is_null() {
                        *value = match additional.shape {
                            Shape::String => "".into(),
                            _ => return wrong(value),
                        };
                    }
                }
                return Ok(());
            }
            map.retain(|field, value| properties.contains_key(field) && !value.is_null());
            let known = listed(FIELDS, name);
            let pointers = listed(POINTERS, name).unwrap_or_default();
            for (field, value) in map.iter_mut() {
                read(&properties[field], value, &format!("{path}.{field}"))?;
                let is_known = |known: &[&str]| known.contains(&field.as_str()) || pointers.contains(&field.as_str());
                if known.is_some_and(|known| !is_known(known)) && !is_zero(&properties[field], value) {
                    let name = name.rsplit("api.").next().unwrap_or(name);
                    return Err(Refusal::unsupported(&format!("the field `{field}` of {name}")));
                }
            }
            map.retain(|field, value| {
                pointers.contains(&field.as_str())
                    || node.required.contains(field)
                    || !is_zero(&properties[field], value)
            });
            default(name, map);
            for (field, property) in properties {
                let Some(default) = &property.default else {
                    continue;
                };
                let always = || ALWAYS.iter().any(|(known, kept)| name.ends_with(known) && kept == field);
                let kept = match default {
                    Value::Object(_) => always(),
                    Value::String(text) => !text.is_empty() || node.required.contains(field) || always(),
                    _ => node.required.contains(field) || always(),
                };
                if kept && (!map.contains_key(field) || map[field] == "") {
                    let mut value = default.clone();
                    read(property, &mut value, path)?;
                    map.insert(field.clone(), value);
                }
            }
            Ok(())
        }
        (Shape::Array { items, .. }, Value::Array(values)) => {
            for (at, value) in values.iter_mut().enumerate() {
                if value.is_null() {
                    return wrong(value);
                }
                read(items, value, &format!("{path}[{at}]"))?;
            }
            Ok(())
        }
        (Shape::String, Value::String(text)) => {
            if node.rules["format"] == "byte" && !is_base64(text) {
                return wrong(value);
            }
            if node.rules["format"] == "date-time" {
                return match time(node, text) {
                    Some(time) => {
                        *value = time.into();
                        Ok(())
                    }
                    None => wrong(value),
                };
            }
            Ok(())
        }
        (Shape::Integer, Value::Number(number)) if number.is_i64() => Ok(()),
        (Shape::Number, Value::Number(_)) | (Shape::Boolean, Value::Bool(_)) => Ok(()),
        (Shape::IntOrString, Value::String(text)) => {
            if node.name.as_deref().is_some_and(|name| name.ends_with("Quantity")) {
                match quantity(text) {
                    Some(canonical) => *value = canonical.into(),
                    None => {
                        return Err(Refusal::unsupported(&format!("the quantity {text:?} of `{path}`")));
                    }
                }
            }
            Ok(())
        }
        (Shape::IntOrString, Value::Number(number)) if number.is_i64() => {
            if node.name.as_deref().is_some_and(|name| name.ends_with("Quantity")) {
                *value = number.to_string().into();
                return read(node, value, path);
            }
            Ok(())
        }
        (_, value) => wrong(value),
    }
}

fn is_zero(node: &Node, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(map) => map.is_empty() && matches!(&node.shape, Shape::Object { additional: Some(_), .. }),
    }
}

/// Returns a time in the form of the server: in UTC, with seconds, or with microseconds for `MicroTime`.
fn time(node: &Node, text: &str) -> Option<String> {
    let time: jiff::Timestamp = text.parse().ok()?;
    let micro = node.name.as_deref().is_some_and(|name| name.ends_with("MicroTime"));
    Some(time.strftime(if micro { "%Y-%m-%dT%H:%M:%S.%6fZ" } else { "%Y-%m-%dT%H:%M:%SZ" }).to_string())
}

/// Returns a quantity in the form that the server writes, or none if it would be another one.
fn quantity(text: &str) -> Option<String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let suffix = &text[digits.len()..];
    let canonical = !digits.is_empty()
        && digits.bytes().all(|digit| digit.is_ascii_digit())
        && (digits == "0" && suffix.is_empty() || !digits.starts_with('0'));
    let divisible = match suffix {
        "" | "k" | "M" | "G" => digits.ends_with("000"),
        "m" => digits.ends_with("000"),
        "Ki" | "Mi" | "Gi" => digits.parse::<u64>().ok()? % 1024 == 0,
        _ => return None,
    };
    (canonical && !divisible).then(|| text.to_owned())
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() - body.len() <= 2
        && body.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/')
}

/// The base64 form of a text, for `stringData`.
pub(crate) fn to_base64(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bytes = [chunk[0], chunk.get(1).copied().unwrap_or(0), chunk.get(2).copied().unwrap_or(0)];
        let all = u32::from(bytes[0]) << 16 | u32::from(bytes[1]) << 8 | u32::from(bytes[2]);
        for at in 0..4 {
            let letter = LETTERS[(all >> (18 - 6 * at) & 63) as usize];
            out.push(if at <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    out
}
