//! The values of a chart: their defaults and their schema.

use serde_json::{Map, Value, json};

use super::watched;
use crate::yaml;

/// The sections of values.yaml in their order, with their comments.
const SECTIONS: [(&str, &str); 12] = [
    ("nameOverride", "Replaces the name of the chart."),
    ("fullnameOverride", "The prefix of all object names; by default the name of the release."),
    ("manager", "The manager's Deployment. `envOverrides` is for --set: manager.envOverrides.NAME=VALUE."),
    (
        watched::VALUE,
        "The namespaces that the operator watches; they must exist. Each gets the operator's Roles and their bindings.",
    ),
    ("serviceAccount", "The ServiceAccount of the manager. When it is not enabled, `name` is an existing one."),
    ("rbac", "`helpers` are the roles for users: admin, editor and viewer of each kind."),
    ("crd", "The CRDs. With `keep`, CRDs and their objects stay when the release is uninstalled."),
    ("metrics", "The metrics endpoint, with its Service and roles."),
    (
        "webhook",
        "The webhooks; without them nothing is defaulted or validated. CRDs that the operator converts need them.",
    ),
    ("certManager", "Certificates by cert-manager, which must be installed."),
    ("prometheus", "A ServiceMonitor, which requires the Prometheus operator."),
    ("networkPolicy", "NetworkPolicies that restrict connections to the manager."),
];

/// Returns the value at a path with dots. Creates a missing value.
pub(super) fn at<'a>(values: &'a mut Value, path: &str) -> &'a mut Value {
    path.split('.').fold(values, |value, key| &mut value[key])
}

/// Returns true if there is a value at a path with dots.
pub(super) fn has(values: &Value, path: &str) -> bool {
    path.split('.').try_fold(values, |value, key| value.get(key)).is_some()
}

/// Renders values.yaml.
pub(super) fn text(values: &Value) -> String {
    let section = |(name, comment): (&str, &str)| {
        let value = values.get(name)?;
        Some(format!("# {comment}\n{}", yaml::document(&json!({ name: value }))))
    };
    SECTIONS.into_iter().filter_map(section).collect::<Vec<_>>().join("\n")
}

/// Lists the values of `defaults` that are missing in `values`, as paths with dots. Types of Kubernetes may have any fields.
pub(super) fn missing(defaults: &Value, values: &Value) -> Vec<String> {
    let mut missing = Vec::new();
    for (key, default) in defaults.as_object().into_iter().flatten() {
        match values.get(key) {
            None => missing.push(key.clone()),
            Some(value) if is_ours(key) => {
                missing.extend(self::missing(default, value).into_iter().map(|path| format!("{key}.{path}")));
            }
            Some(_) => {}
        }
    }
    missing
}

/// Returns true if this program defines the fields of a value, and not Kubernetes.
fn is_ours(key: &str) -> bool {
    matches!(key, "image" | "helpers") || SECTIONS.iter().any(|(name, _)| *name == key)
}

/// Renders values.schema.json. A key must be one of the values and have its type. Types of Kubernetes are not checked. Additional
/// keys are only allowed at the top level, for templates of the author.
pub(super) fn schema(values: &Value) -> String {
    let mut schema = of(values, true);
    // `null` removes a default.
    if has(values, watched::VALUE) {
        schema["required"] = json!([watched::VALUE]);
    }
    schema["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("additionalProperties");
    }
    format!("{schema:#}\n")
}

fn of(value: &Value, is_defined_here: bool) -> Value {
    match value {
        Value::Null => json!({}),
        Value::Bool(_) => json!({ "type": "boolean" }),
        Value::Number(_) => json!({ "type": "integer", "minimum": 0 }),
        Value::String(_) => json!({ "type": "string" }),
        Value::Array(_) => json!({ "type": "array" }),
        Value::Object(map) if is_defined_here => {
            let properties: Map<String, Value> = map
                .iter()
                .map(|(key, value)| {
                    (key.clone(), if key == watched::VALUE { namespaces() } else { of(value, is_ours(key)) })
                })
                .collect();
            json!({ "type": "object", "properties": properties, "additionalProperties": false })
        }
        Value::Object(_) => json!({ "type": "object" }),
    }
}

/// The schema of a list of namespaces. An empty list would mean all namespaces, and a duplicate would create an object twice.
fn namespaces() -> Value {
    let namespace = json!({ "type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "maxLength": 63 });
    json!({ "type": "array", "items": namespace, "minItems": 1, "uniqueItems": true })
}
