//! Histories: changes of a spec that its schema permits.

use serde_json::{Value, json};

/// The schema of a field.
pub trait SpecSchema {
    /// The JSON schema of this level.
    fn rules(&self) -> &Value;

    /// The fields of an object.
    fn properties(&self) -> Vec<(&String, &Self)>;
}

impl SpecSchema for Value {
    fn rules(&self) -> &Value {
        self
    }

    fn properties(&self) -> Vec<(&String, &Self)> {
        self["properties"].as_object().into_iter().flatten().collect()
    }
}

/// Merge patches of the spec: each field gets other valid values and boundary values, and is removed.
pub fn changes<S: SpecSchema>(schema: &S, spec: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    collect(schema, spec, &mut vec!["spec".to_owned()], &mut found);
    found
}

fn collect<S: SpecSchema>(schema: &S, current: &Value, path: &mut Vec<String>, found: &mut Vec<Value>) {
    let mut add = |path: &[String], value: Value| {
        let patch = path.iter().rev().fold(value, |inner, field| json!({ field: inner }));
        if !found.contains(&patch) {
            found.push(patch);
        }
    };
    for value in values(schema.rules(), current) {
        add(path, value);
    }
    for (name, property) in schema.properties() {
        let field = &current[name.as_str()];
        path.push(name.clone());
        collect(property, field, path, found);
        if !field.is_null() {
            found.push(path.iter().rev().fold(Value::Null, |inner, field| json!({ field: inner })));
        }
        path.pop();
    }
}

/// Values of a field without fields of its own.
fn values(rules: &Value, current: &Value) -> Vec<Value> {
    if let Some(values) = rules["enum"].as_array() {
        return values.clone();
    }
    match rules["type"].as_str() {
        Some("integer" | "number") => {
            let number = current.as_i64().unwrap_or_default();
            let mut values = vec![number + 1, rules["minimum"].as_i64().unwrap_or_default()];
            values.extend(rules["maximum"].as_i64());
            values.into_iter().map(Value::from).collect()
        }
        Some("boolean") => vec![true.into(), false.into()],
        Some("array") => vec![json!([])],
        kind if kind == Some("string") || rules["x-kubernetes-int-or-string"] == true => {
            vec![format!("{}x", current.as_str().unwrap_or_default()).into()]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_gives_changes() {
        let schema = json!({ "type": "object", "properties": {
            "mode": { "enum": ["a", "b"] },
            "more": { "type": "object", "properties": { "on": { "type": "boolean" } } },
            "port": { "x-kubernetes-int-or-string": true },
            "size": { "type": "integer", "minimum": 1, "maximum": 9 },
        } });
        let spec = json!({ "mode": "a", "size": 2 });
        let expected = [
            json!({ "spec": { "mode": "a" } }),
            json!({ "spec": { "mode": "b" } }),
            json!({ "spec": { "mode": null } }),
            json!({ "spec": { "more": { "on": true } } }),
            json!({ "spec": { "more": { "on": false } } }),
            json!({ "spec": { "port": "x" } }),
            json!({ "spec": { "size": 3 } }),
            json!({ "spec": { "size": 1 } }),
            json!({ "spec": { "size": 9 } }),
            json!({ "spec": { "size": null } }),
        ];
        assert_eq!(changes(&schema, &spec), expected);
    }
}
