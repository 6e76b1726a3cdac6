//! Digests that show if an object has changed since a write, apart from its status.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde_json::{Map, Value};

use crate::object::Object;

/// Hashes with a random key of this process, so that the hash of a secret reveals nothing.
pub(crate) fn hash(text: &str) -> u64 {
    static STATE: OnceLock<RandomState> = OnceLock::new();
    STATE.get_or_init(RandomState::new).hash_one(text)
}

/// Returns the digest of all fields and their owners, except for the status and the fields that change with it.
pub(super) fn of<K: Object>(object: &K) -> Option<u64> {
    let mut value = serde_json::to_value(object).ok()?;
    let fields = value.as_object_mut()?;
    // A list of a dynamic kind may omit the first two.
    for field in ["apiVersion", "kind", "status"] {
        fields.remove(field);
    }
    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in ["generation", "managedFields", "resourceVersion"] {
            metadata.remove(field);
        }
    }
    let entries = object.meta().managed_fields.iter().flatten();
    let (of_status, others): (Vec<_>, Vec<_>) =
        entries.partition(|entry| entry.subresource.as_deref() == Some("status"));
    for Fields(owned) in of_status.into_iter().filter_map(Fields::of) {
        drop_owned(&mut value, owned);
    }
    let others: Vec<_> = others
        .iter()
        .map(|entry| {
            let fields = entry.fields_v1.as_ref().map(|fields| &fields.0);
            (&entry.manager, &entry.operation, &entry.subresource, fields)
        })
        .collect();
    let owners = serde_json::to_string(&others).ok()?;
    Some(hash(&format!("{value}{owners}")))
}

/// The fields of an entry, as `{"f:spec": {"f:ports": {"k:{\"port\":1}": {".": {}}}}}`.
struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    fn of(entry: &'a ManagedFieldsEntry) -> Option<Self> {
        entry.fields_v1.as_ref()?.0.as_object().map(Self)
    }
}

/// Removes owned fields. Fields within list items stay.
fn drop_owned(value: &mut Value, owned: &Map<String, Value>) {
    let Some(fields) = value.as_object_mut() else {
        return;
    };
    for (key, inner) in owned {
        let Some(name) = key.strip_prefix("f:") else {
            continue;
        };
        match inner.as_object().filter(|inner| !inner.is_empty()) {
            None => _ = fields.remove(name),
            Some(inner) => {
                let Some(field) = fields.get_mut(name) else {
                    continue;
                };
                drop_owned(field, inner);
                // The map existed only for its owned fields.
                if inner.contains_key(".") && field.as_object().is_some_and(Map::is_empty) {
                    fields.remove(name);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;
    use kube::core::DynamicObject;
    use serde_json::json;

    use super::*;

    fn deployment(change: &Value) -> Deployment {
        let ours = json!({ "f:spec": { "f:replicas": {} } });
        let status =
            json!({ "f:metadata": { "f:annotations": { "f:revision": {} } }, "f:status": {} });
        let mut value = json!({
            "metadata": {
                "annotations": { "revision": "1", "other": "1" },
                "generation": 1,
                "managedFields": [
                    { "manager": "us", "operation": "Apply", "fieldsV1": ours, "time": "2020-01-01T00:00:00Z" },
                    { "manager": "x", "operation": "Update", "fieldsV1": status, "subresource": "status" },
                ],
                "resourceVersion": "1",
            },
            "spec": { "replicas": 1, "selector": {}, "template": {} },
            "status": { "replicas": 1 },
        });
        for (pointer, new) in change.as_object().into_iter().flatten() {
            *value.pointer_mut(pointer).expect("a place that exists") = new.clone();
        }
        serde_json::from_value(value).expect("a deployment")
    }

    #[test]
    fn all_but_the_status_and_what_comes_with_it_counts() {
        let before = of(&deployment(&json!({})));
        for (pointer, value, counts) in [
            ("/spec/replicas", json!(2), true),
            ("/metadata/annotations/other", json!("2"), true),
            ("/metadata/annotations/revision", json!("2"), false),
            ("/metadata/resourceVersion", json!("2"), false),
            ("/metadata/generation", json!(2), false),
            ("/status/replicas", json!(2), false),
            (
                "/metadata/managedFields/0/time",
                json!("2021-01-01T00:00:00Z"),
                false,
            ),
            ("/metadata/managedFields/0/fieldsV1", json!({}), true),
            ("/metadata/managedFields/0/manager", json!("them"), true),
        ] {
            let after = of(&deployment(&json!({ pointer: value })));
            assert_eq!(after != before, counts, "{pointer}");
        }
    }

    #[test]
    fn a_dynamic_object_is_the_same_in_a_listing() {
        let mut object = json!({ "apiVersion": "v1", "kind": "X", "metadata": { "name": "a" } });
        let read =
            |object: &Value| serde_json::from_value::<DynamicObject>(object.clone()).unwrap();
        let told = of(&read(&object));
        for field in ["apiVersion", "kind"] {
            object.as_object_mut().unwrap().remove(field);
        }
        assert_eq!(of(&read(&object)), told);
    }

    #[test]
    fn a_map_that_came_with_the_status_does_not_count() {
        let made = json!({ ".": {}, "f:revision": {} });
        let status = json!({ "f:metadata": { "f:annotations": made }, "f:status": {} });
        let with = deployment(&json!({
            "/metadata/annotations": { "revision": "1" },
            "/metadata/managedFields/1/fieldsV1": status,
        }));
        let mut without = with.clone();
        without.metadata.annotations = None;
        assert_eq!(of(&with), of(&without));
    }
}
