//! The schemas of built-in types, packed from the OpenAPI document of the real server.

use std::net::SocketAddr;

use serde_json::{Map, Value};

use super::sides::exchange;

/// Documents of group versions, with the types that the server in memory knows.
const TYPES: [(&str, &str, &[&str]); 10] = [
    (
        "api/v1",
        "core.v1",
        &["ConfigMap", "Namespace", "PersistentVolumeClaim", "Pod", "Secret", "Service", "ServiceAccount"],
    ),
    ("apis/apps/v1", "apps.v1", &["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"]),
    ("apis/apps/v1", "autoscaling.v1", &["Scale"]),
    ("apis/autoscaling/v2", "autoscaling.v2", &["HorizontalPodAutoscaler"]),
    ("apis/batch/v1", "batch.v1", &["CronJob", "Job"]),
    ("apis/coordination.k8s.io/v1", "coordination.v1", &["Lease"]),
    ("apis/events.k8s.io/v1", "events.v1", &["Event"]),
    ("apis/networking.k8s.io/v1", "networking.v1", &["Ingress", "NetworkPolicy"]),
    ("apis/policy/v1", "policy.v1", &["PodDisruptionBudget"]),
    ("apis/rbac.authorization.k8s.io/v1", "rbac.v1", &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]),
];

/// Returns the types and all that they reach, without descriptions.
pub(super) fn packed(address: SocketAddr) -> Value {
    let mut packed = Map::new();
    for (path, package, kinds) in TYPES {
        let (code, text) = exchange(address, "GET", &format!("/openapi/v3/{path}"), "", "test", "");
        assert_eq!(code, 200, "{text}");
        let document: Value = serde_json::from_str(&text).unwrap();
        let schemas = &document["components"]["schemas"];
        let mut left: Vec<String> = kinds.iter().map(|kind| format!("io.k8s.api.{package}.{kind}")).collect();
        while let Some(name) = left.pop() {
            if !packed.contains_key(&name) {
                let schema = without_descriptions(&schemas[&name]);
                assert!(schema.is_object(), "{path} has no {name}");
                references(&schema, &mut left);
                packed.insert(name, schema);
            }
        }
    }
    Value::Object(packed)
}

fn without_descriptions(schema: &Value) -> Value {
    let Some(map) = schema.as_object() else { return schema.clone() };
    let mut packed = Map::new();
    for (keyword, value) in map {
        match keyword.as_str() {
            "description" | "x-kubernetes-group-version-kind" | "x-kubernetes-unions" => {}
            "properties" => {
                let properties = value.as_object().unwrap().iter();
                let properties = properties.map(|(name, schema)| (name.clone(), without_descriptions(schema)));
                packed.insert(keyword.clone(), Value::Object(properties.collect()));
            }
            // The one reference beside other keywords.
            "allOf" => packed.extend(value[0].as_object().unwrap().clone()),
            _ => {
                packed.insert(keyword.clone(), without_descriptions(value));
            }
        }
    }
    Value::Object(packed)
}

fn references(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(map) => {
            for (keyword, value) in map {
                match (keyword.as_str(), value) {
                    ("$ref", Value::String(text)) => found.push(text.rsplit('/').next().unwrap().to_owned()),
                    (_, value) => references(value, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}
