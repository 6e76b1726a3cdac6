//! Samples of a kind: checks one against the schema, and builds a minimal one.

use serde_json::{Map, Value, json};

use super::structural;
use super::walk::SchemaPath;

mod text;

type SampleObject = Map<String, Value>;

/// Fields of every object, which the schema of a kind omits.
pub(crate) const GENERAL: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Checks an object against a schema after the server's defaulting. The error is the path and the reason.
pub(crate) fn fits(schema: &SampleObject, object: &Value) -> Result<(), (SchemaPath, String)> {
    let (mut schema, mut object) = (schema.clone(), object.clone());
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| !GENERAL.iter().any(|general| name == general));
    }
    for name in GENERAL {
        object.as_object_mut().and_then(|fields| fields.remove(name));
    }
    fill_in(&schema, &mut object);
    structural::accepts(&schema, &object, &SchemaPath::default())
}

/// The required fields of an object, without the general ones, with valid values; `None` if no valid values are found.
pub(crate) fn least(schema: &SampleObject) -> Option<SampleObject> {
    let mut fields = required(schema);
    for name in GENERAL {
        fields.remove(name);
    }
    fits(schema, &Value::Object(fields.clone())).is_ok().then_some(fields)
}

fn fill_in(schema: &SampleObject, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, schema) in properties(schema) {
                if let Some(default) = default(schema) {
                    fields.entry(name.clone()).or_insert_with(|| default.clone());
                }
            }
            let others = schema.get("additionalProperties").and_then(Value::as_object);
            for (name, value) in fields {
                let named = schema.get("properties").and_then(|all| all[name].as_object());
                if let Some(schema) = named.or(others) {
                    fill_in(schema, value);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                if let Some(schema) = schema.get("items").and_then(Value::as_object) {
                    fill_in(schema, item);
                }
            }
        }
        _ => {}
    }
}

/// The required fields; of alternatives, those of the first schema.
fn required(schema: &SampleObject) -> SampleObject {
    let all = |key: &str| schema.get(key).and_then(Value::as_array).into_iter().flatten();
    let first = |key: &str| all(key).take(1);
    let parts = all("allOf").chain(first("oneOf")).chain(first("anyOf")).filter_map(Value::as_object);
    let mut fields: SampleObject = parts.flat_map(required).collect();
    for name in all("required").filter_map(Value::as_str) {
        let field = properties(schema).find(|(field, _)| *field == name);
        let value = field.map_or(Value::Null, |(_, schema)| value(name, schema));
        fields.insert(name.to_owned(), value);
    }
    // Schemas in `oneOf` may require a field that only the outer schema defines.
    for (name, found) in &mut fields {
        if found.is_null()
            && let Some((_, schema)) = properties(schema).find(|(field, _)| *field == name)
        {
            *found = value(name, schema);
        }
    }
    fields
}

fn value(name: &str, schema: &SampleObject) -> Value {
    if let Some(default) = default(schema) {
        return default.clone();
    }
    let choices = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    if let Some(choice) = choices.into_iter().find(|choice| !choice.is_null()) {
        return choice.clone();
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("array") => {
            let items = schema.get("items").and_then(Value::as_object);
            let count = schema.get("minItems").and_then(Value::as_u64).unwrap_or_default().min(100);
            // An item of `hosts` is named `host`.
            let one = name.strip_suffix('s').unwrap_or(name);
            (0..count).map(|_| items.map_or(Value::Null, |items| value(one, items))).collect()
        }
        Some("boolean") => json!(false),
        Some("integer" | "number") => number(name, schema),
        Some("string") => json!(text::text(name, schema)),
        None if schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) => number(name, schema),
        _ => Value::Object(required(schema)),
    }
}

/// A number that fits the name, usually 1, moved into the bounds.
fn number(name: &str, schema: &SampleObject) -> Value {
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    let beyond = |key: &str| if schema.get(key) == Some(&Value::Bool(true)) { 1.0 } else { 0.0 };
    let mut number = text::number(name);
    if let Some(least) = bound("minimum") {
        number = number.max(least + beyond("exclusiveMinimum"));
    }
    if let Some(most) = bound("maximum") {
        number = number.min(most - beyond("exclusiveMaximum"));
    }
    if let Some(step) = bound("multipleOf").filter(|step| *step > 0.0) {
        number = (number / step).ceil() * step;
    }
    // Serializes without a point if it has no fraction.
    serde_json::from_str(&number.to_string()).unwrap_or_default()
}

fn properties(schema: &SampleObject) -> impl Iterator<Item = (&String, &SampleObject)> {
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    fields.filter_map(|(name, schema)| Some((name, schema.as_object()?)))
}

fn default(schema: &SampleObject) -> Option<&Value> {
    schema.get("default").filter(|default| !default.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(spec: &Value) -> SampleObject {
        let schema = json!({ "type": "object", "required": ["spec", "metadata"], "properties": { "spec": spec } });
        schema.as_object().unwrap().clone()
    }

    #[test]
    fn what_is_required_gets_a_value() {
        for (field, expected) in [
            (json!({ "type": "string" }), json!("example")),
            (json!({ "type": "string", "minLength": 9 }), json!("exampleex")),
            (json!({ "type": "string", "maxLength": 2 }), json!("ex")),
            (json!({ "type": "string", "enum": [null, "b", "a"] }), json!("b")),
            (json!({ "type": "string", "default": "c" }), json!("c")),
            (json!({ "type": "string", "format": "date-time" }), json!("2020-01-01T00:00:00Z")),
            (json!({ "type": "string", "pattern": "^[a-c]{2}$" }), json!("aa")),
            (json!({ "type": "integer" }), json!(1)),
            (json!({ "type": "integer", "minimum": 0 }), json!(1)),
            (json!({ "type": "integer", "minimum": 1024 }), json!(1024)),
            (json!({ "type": "integer", "maximum": 0, "exclusiveMaximum": true }), json!(-1)),
            (json!({ "type": "integer", "minimum": 3, "multipleOf": 4 }), json!(4)),
            (json!({ "type": "number", "minimum": 1.5 }), json!(1.5)),
            (json!({ "type": "boolean" }), json!(false)),
            (json!({ "type": "array", "items": { "type": "string" } }), json!([])),
            (json!({ "type": "array", "minItems": 2, "items": { "type": "integer" } }), json!([1, 1])),
            (
                json!({
                    "type": "object",
                    "required": ["hosts", "port"],
                    "properties": {
                        "hosts": { "type": "array", "minItems": 1, "items": { "type": "string" } },
                        "port": { "type": "integer", "maximum": 443 },
                    },
                }),
                json!({ "hosts": ["example.com"], "port": 443 }),
            ),
            (json!({ "x-kubernetes-int-or-string": true }), json!(1)),
            (json!({ "type": "object", "additionalProperties": { "type": "string" } }), json!({})),
            (
                json!({
                    "type": "object",
                    "required": ["a"],
                    "properties": { "a": { "type": "boolean" }, "b": { "type": "boolean" } },
                }),
                json!({ "a": false }),
            ),
            (
                json!({
                    "type": "object",
                    "oneOf": [{ "required": ["a"] }, { "required": ["b"] }],
                    "properties": { "a": { "type": "integer" }, "b": { "type": "boolean" } },
                }),
                json!({ "a": 1 }),
            ),
        ] {
            let spec = json!({ "type": "object", "required": ["x"], "properties": { "x": field } });
            let schema = schema(&spec);
            assert_eq!(least(&schema).map(Value::Object), Some(json!({ "spec": { "x": expected } })), "{field}");
        }
    }

    #[test]
    fn where_nothing_fits_there_is_no_value() {
        let spec = json!({ "type": "integer", "minimum": 3, "maximum": 2 });
        assert_eq!(least(&schema(&spec)), None);
    }

    #[test]
    fn an_object_is_judged_after_its_defaults() {
        let spec = json!({
            "type": "object",
            "required": ["a", "b"],
            "properties": { "a": { "type": "integer", "maximum": 3 }, "b": { "type": "integer", "default": 1 } },
        });
        let schema = schema(&spec);
        let judge = |spec: Value| {
            let object = json!({ "apiVersion": "v1", "kind": "A", "metadata": { "name": "a" }, "spec": spec });
            fits(&schema, &object).map_err(|(path, why)| format!("{path}: {why}"))
        };
        assert_eq!(judge(json!({ "a": 3 })), Ok(()));
        assert_eq!(judge(json!({ "b": 3 })), Err("spec: it lacks the required field `a`".to_owned()));
        assert_eq!(judge(json!({ "a": 4 })), Err("spec.a: it is out of range".to_owned()));
        assert_eq!(judge(json!({ "a": "3" })), Err("spec.a: it is not a valid integer".to_owned()));
        assert_eq!(judge(json!({ "a": 3, "c": 1 })), Err("spec: it has the unknown field `c`".to_owned()));
    }
}
