//! Strategic merge patch: lists merge by the keys of their schema.

use serde_json::{Map, Value};

use crate::response::Refusal;
use crate::schema::{Node, Shape};

/// Merges a patch into an object of a built-in kind.
pub(super) fn merge(node: &Node, object: &Value, patch: &Map<String, Value>) -> Result<Value, Refusal> {
    let mut merged = object.as_object().cloned().unwrap_or_default();
    let mut patch = patch.clone();
    match patch.remove("$patch") {
        None => {}
        Some(directive) if directive == "merge" => {}
        Some(directive) if directive == "replace" => return Ok(Value::Object(patch)),
        Some(directive) if directive == "delete" => return Ok(Value::Object(Map::new())),
        Some(directive) => return Err(Refusal::unsupported(&format!("$patch: {directive}"))),
    }
    for (name, change) in patch {
        if name.starts_with('$') {
            return Err(Refusal::unsupported(&format!("`{name}` in a strategic merge patch")));
        }
        let Some(field) = node.field(&name).0 else {
            return Err(Refusal::unsupported("the error for an unknown field in a strategic merge patch"));
        };
        let before = merged.get(&name);
        let value = match (change, before) {
            (Value::Null, _) => {
                merged.remove(&name);
                continue;
            }
            (Value::Object(change), before) if matches!(field.shape, Shape::Object { .. }) => match before {
                Some(before @ Value::Object(_)) => merge(field, before, &change)?,
                _ => new_value(Value::Object(change))?,
            },
            (Value::Array(change), Some(Value::Array(before))) if merges(field) => merge_list(field, before, change)?,
            (change, _) => new_value(change)?,
        };
        merged.insert(name, value);
    }
    Ok(Value::Object(merged))
}

/// A value that replaces another one, or that is new: nulls in it are removed.
fn new_value(value: Value) -> Result<Value, Refusal> {
    Ok(match value {
        Value::Object(map) => {
            let mut kept = Map::new();
            for (name, value) in map {
                if name.starts_with('$') {
                    return Err(Refusal::unsupported(&format!("`{name}` in a new value of a strategic merge patch")));
                }
                if !value.is_null() {
                    kept.insert(name, new_value(value)?);
                }
            }
            Value::Object(kept)
        }
        Value::Array(values) => Value::Array(values.into_iter().map(new_value).collect::<Result<_, _>>()?),
        value => value,
    })
}

fn merges(field: &Node) -> bool {
    field.rules["x-kubernetes-patch-strategy"]
        .as_str()
        .is_some_and(|strategy| strategy.split(',').any(|part| part == "merge"))
}

fn merge_list(field: &Node, before: &[Value], patch: Vec<Value>) -> Result<Value, Refusal> {
    let Shape::Array { items, .. } = &field.shape else {
        return Ok(Value::Array(patch));
    };
    let key = field.rules["x-kubernetes-patch-merge-key"].as_str();
    let identity = |item: &Value| match key {
        Some(key) => item[key].clone(),
        None => item.clone(),
    };
    let mut merged: Vec<Value> = before.to_vec();
    let mut changed: Vec<Value> = Vec::new();
    if patch.iter().any(|item| item["$patch"] == "replace") {
        let rest = patch.into_iter().filter(|item| item["$patch"].is_null());
        return Ok(Value::Array(rest.map(new_value).collect::<Result<_, _>>()?));
    }
    for item in patch {
        let id = identity(&item);
        if id.is_null() {
            return Err(Refusal::unsupported("the error for an item without its key in a strategic merge patch"));
        }
        if item["$patch"] == "delete" {
            merged.retain(|other| identity(other) != id);
            continue;
        }
        match merged.iter().position(|other| identity(other) == id) {
            Some(at) => {
                if let Value::Object(change) = &item {
                    merged[at] = merge(items, &merged[at], change)?;
                }
            }
            None => merged.push(new_value(item)?),
        }
        changed.push(id);
    }
    // Items of the patch keep its order, the others theirs; a new item comes before the others.
    let (patched, mut others): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|item| changed.contains(&identity(item)));
    let place = |item: &Value| before.iter().position(|other| identity(other) == identity(item));
    let mut patched = patched;
    patched.sort_by_key(|item| changed.iter().position(|id| *id == identity(item)));
    others.reverse();
    patched.reverse();
    let mut sorted = Vec::new();
    loop {
        let first = match (others.last(), patched.last()) {
            (None, None) => break,
            (Some(other), Some(item)) => match (place(other), place(item)) {
                (Some(left), Some(right)) if left < right => &mut others,
                _ => &mut patched,
            },
            (Some(_), None) => &mut others,
            (None, Some(_)) => &mut patched,
        };
        sorted.extend(first.pop());
    }
    Ok(Value::Array(sorted))
}
