//! Histories: changes of a spec that the schema of its CRD permits.

use serde_json::{Value, json};

/// Changes of the field at `path`: each property gets other valid values and boundary values, and is removed.
pub(super) fn changes(schema: &Value, current: &Value, path: &mut Vec<String>, found: &mut Vec<Value>) {
    let mut add = |path: &[String], value: Value| {
        let nested = path.iter().rev().fold(value, |inner, field| json!({ field: inner }));
        if !found.contains(&nested) {
            found.push(nested);
        }
    };
    if let Some(values) = schema["enum"].as_array() {
        values.iter().filter(|value| *value != current).for_each(|value| add(path, value.clone()));
        return;
    }
    match schema["type"].as_str() {
        Some("integer" | "number") => {
            let number = current.as_i64().unwrap_or_default();
            add(path, (number + 1).into());
            for bound in ["minimum", "maximum"] {
                if let Some(bound) = schema[bound].as_i64() {
                    add(path, bound.into());
                }
            }
        }
        Some("string") => add(path, format!("{}x", current.as_str().unwrap_or_default()).into()),
        Some("boolean") => add(path, (!current.as_bool().unwrap_or_default()).into()),
        Some("array") => add(path, json!([])),
        Some("object") => {
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                path.push(name.clone());
                if !current[name.as_str()].is_null() {
                    found.push(path.iter().rev().fold(Value::Null, |inner, field| json!({ field: inner })));
                }
                changes(property, &current[name.as_str()], path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

/// Sequences of changes: all single ones, and each one with the return to `original`. Removals come first, because
/// operators forget them most often.
pub(super) fn sequences(changes: &[Value], original: &Value) -> Vec<Vec<Value>> {
    let mut all = Vec::new();
    let (first, last): (Vec<&Value>, Vec<&Value>) = changes.iter().partition(|change| removes(change));
    for change in first.into_iter().chain(last) {
        let mut back = change.clone();
        restore(&mut back, &json!({ "spec": original }));
        all.push(vec![change.clone()]);
        all.push(vec![change.clone(), back]);
    }
    all
}

fn removes(patch: &Value) -> bool {
    patch.as_object().map_or(patch.is_null(), |fields| fields.values().all(removes))
}

/// Replaces the leaves of a patch by the values of `original`.
fn restore(patch: &mut Value, original: &Value) {
    match patch {
        Value::Object(fields) if original.is_object() => {
            fields.iter_mut().for_each(|(name, field)| restore(field, &original[name.as_str()]));
        }
        _ => patch.clone_from(original),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_gives_changes_and_ways_back() {
        let schema = json!({ "type": "object", "properties": {
            "size": { "type": "integer", "minimum": 0 },
            "mode": { "enum": ["a", "b"] },
            "more": { "type": "object", "properties": { "on": { "type": "boolean" } } },
        } });
        let spec = json!({ "size": 1, "mode": "a" });
        let mut found = Vec::new();
        changes(&schema, &spec, &mut vec!["spec".to_owned()], &mut found);
        let expected = [
            json!({ "spec": { "mode": null } }),
            json!({ "spec": { "mode": "b" } }),
            json!({ "spec": { "more": { "on": true } } }),
            json!({ "spec": { "size": null } }),
            json!({ "spec": { "size": 2 } }),
            json!({ "spec": { "size": 0 } }),
        ];
        assert_eq!(found, expected);
        let all = sequences(&[found[4].clone(), found[3].clone()], &spec);
        let back = json!({ "spec": { "size": 1 } });
        assert_eq!(all[1], [found[3].clone(), back.clone()]);
        assert_eq!(all[3], [found[4].clone(), back.clone()]);
    }
}
