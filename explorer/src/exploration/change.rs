//! Changes of an operator's objects by another client.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{OTHERS, ObjectKey, in_turn};

/// [Storage object in use protection](https://kubernetes.io/docs/concepts/storage/persistent-volumes/).
pub(crate) const CLAIM_FINALIZER: &str = "kubernetes.io/pvc-protection";

/// A change by another client. Fields are JSON pointers.
#[derive(Clone, Debug, PartialEq)]
pub enum Drift {
    /// The object is deleted.
    Delete,
    /// A field gets another value.
    Change(String),
    /// A field is removed.
    Remove(String),
}

impl Drift {
    /// The object after the change. None if the object is deleted.
    pub fn apply(&self, mut object: Value) -> Option<Value> {
        let (Self::Change(pointer) | Self::Remove(pointer)) = self else { return None };
        if let (Self::Change(_), Some(field)) = (self, object.pointer_mut(pointer)) {
            *field = other_value(field).unwrap_or_default();
        } else if let Some((parent, name)) = pointer.rsplit_once('/') {
            match object.pointer_mut(parent) {
                Some(Value::Object(fields)) => {
                    fields.remove(&name.replace("~1", "/").replace("~0", "~"));
                }
                Some(Value::Array(items)) => {
                    if let Some(at) = name.parse().ok().filter(|at| *at < items.len()) {
                        items.remove(at);
                    }
                }
                _ => {}
            }
        }
        Some(object)
    }
}

/// Deletions of the operator's objects, then changes of its fields: first one field of each object.
pub fn drifts(objects: &BTreeMap<ObjectKey, Value>) -> Vec<(Drift, ObjectKey)> {
    let mut lists = Vec::new();
    for (key, object) in objects {
        let fields = owned_fields(object);
        if fields.is_empty() {
            continue;
        }
        // A deleted claim stays while a Pod uses it.
        let finalizers = object["metadata"]["finalizers"].as_array();
        let stays = finalizers.is_some_and(|all| all.iter().any(|finalizer| finalizer == CLAIM_FINALIZER));
        let mut drifts = if stays { Vec::new() } else { vec![Drift::Delete] };
        // Data and spec before labels.
        let (last, first): (Vec<String>, Vec<String>) =
            fields.into_iter().partition(|field| field.starts_with("/metadata"));
        for pointer in first.into_iter().chain(last) {
            if object.pointer(&pointer).and_then(other_value).is_some() {
                drifts.push(Drift::Change(pointer.clone()));
            }
            drifts.push(Drift::Remove(pointer));
        }
        lists.push(drifts.into_iter().map(|drift| (drift, key.clone())).collect());
    }
    in_turn(lists)
}

/// The JSON pointers of the fields that the operator owns, outside subresources.
///
/// Two kinds of fields are left out: keys of list items, because an item with another key is another item, and owner
/// references, because a watch of owned objects does not see an object without them.
fn owned_fields(object: &Value) -> Vec<String> {
    let mut pointers = Vec::new();
    for entry in object["metadata"]["managedFields"].as_array().into_iter().flatten() {
        let text = |field: &str| entry[field].as_str().unwrap_or_default();
        // To the API server, an empty subresource is the same as none.
        if text("subresource").is_empty() && !OTHERS.contains(&text("manager")) {
            leaves(&entry["fieldsV1"], object, "", &Value::Null, &mut pointers);
        }
    }
    pointers.retain(|pointer| !pointer.starts_with("/metadata/ownerReferences"));
    pointers.sort();
    pointers.dedup();
    pointers
}

/// `key` has the key fields of a list item.
fn leaves(fields: &Value, value: &Value, pointer: &str, key: &Value, pointers: &mut Vec<String>) {
    for (name, below) in fields.as_object().into_iter().flatten() {
        let mut item_key = Value::Null;
        let step = if let Some(field) = name.strip_prefix("f:") {
            if !key[field].is_null() {
                continue;
            }
            field.replace('~', "~0").replace('/', "~1")
        } else if let Some(key) = name.strip_prefix("k:") {
            item_key = serde_json::from_str(key).unwrap_or_default();
            let is_item =
                |item: &Value| item_key.as_object().into_iter().flatten().all(|(field, value)| item[field] == *value);
            match value.as_array().and_then(|items| items.iter().position(is_item)) {
                Some(at) => at.to_string(),
                None => continue,
            }
        } else {
            continue;
        };
        let Some(inner) = value.pointer(&format!("/{step}")) else { continue };
        let pointer = format!("{pointer}/{step}");
        if below.as_object().is_some_and(Map::is_empty) {
            pointers.push(pointer);
        } else {
            leaves(below, inner, &pointer, &item_key, pointers);
        }
    }
}

/// Another value of the same type. None for lists, objects and null.
fn other_value(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => Some(format!("{text}x").into()),
        Value::Bool(truth) => Some((!truth).into()),
        Value::Number(number) => number.as_i64().map(|number| (number + 1).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn owned_fields_are_those_of_the_operator_without_keys() {
        let object = json!({
            "metadata": { "managedFields": [
                { "manager": "manager", "fieldsV1": {
                    "f:data": { "f:a.b": {}, "f:c~/": {} },
                    "f:ports": { "k:{\"port\":80}": { ".": {}, "f:port": {}, "f:name": {} } },
                    "f:metadata": { "f:ownerReferences": { "k:{\"uid\":\"1\"}": {} } },
                } },
                { "manager": "author", "fieldsV1": { "f:data": { "f:c": {} } } },
                { "manager": "manager", "subresource": "status", "fieldsV1": { "f:status": {} } },
            ] },
            "data": { "a.b": "", "c": "", "c~/": "" },
            "ports": [{ "port": 80, "name": "web" }],
            "status": {},
        });
        assert_eq!(owned_fields(&object), ["/data/a.b", "/data/c~0~1", "/ports/0/name"]);
    }

    #[test]
    fn an_empty_subresource_is_the_object_itself() {
        for subresource in [json!(""), Value::Null] {
            let entry = json!({ "manager": "manager", "subresource": subresource, "fieldsV1": { "f:data": {} } });
            let object = json!({ "metadata": { "managedFields": [entry] }, "data": {} });
            assert_eq!(owned_fields(&object), ["/data"]);
        }
    }

    #[test]
    fn an_object_gets_deletions_and_changes_of_each_field_with_data_first() {
        let fields = json!({ "f:data": { "f:a": {}, "f:b": {} }, "f:metadata": { "f:labels": { "f:c": {} } } });
        let object = json!({
            "metadata": { "labels": { "c": "d" }, "managedFields": [{ "manager": "manager", "fieldsV1": fields }] },
            "data": { "a": 1, "b": [2, 3] },
        });
        let key = |name: &str| ("configmaps".to_owned(), "default".to_owned(), name.to_owned());
        let objects = [(key("one"), object.clone()), (key("strange"), json!({})), (key("two"), object)];
        let found = drifts(&objects.into());
        let of = |name: &str| -> Vec<Drift> {
            found.iter().filter(|(_, of)| of.2 == name).map(|(drift, _)| drift.clone()).collect()
        };
        let (a, b, c) = ("/data/a".to_owned(), "/data/b".to_owned(), "/metadata/labels/c".to_owned());
        let expected = [
            Drift::Delete,
            Drift::Change(a.clone()),
            Drift::Remove(a),
            Drift::Remove(b),
            Drift::Change(c.clone()),
            Drift::Remove(c),
        ];
        assert_eq!((of("one"), of("two"), of("strange")), (expected.to_vec(), expected.to_vec(), Vec::new()));
        assert_eq!([&found[0].1.2, &found[1].1.2], ["one", "two"]);
    }

    #[test]
    fn a_drift_changes_one_field() {
        let object = json!({ "data": { "a/b": "c" }, "list": [1, true] });
        for (drift, expected) in [
            (Drift::Delete, None),
            (Drift::Change("/data/a~1b".to_owned()), Some(json!({ "data": { "a/b": "cx" }, "list": [1, true] }))),
            (Drift::Remove("/data/a~1b".to_owned()), Some(json!({ "data": {}, "list": [1, true] }))),
            (Drift::Change("/list/1".to_owned()), Some(json!({ "data": { "a/b": "c" }, "list": [1, false] }))),
            (Drift::Remove("/list/0".to_owned()), Some(json!({ "data": { "a/b": "c" }, "list": [true] }))),
            (Drift::Remove("/list/2".to_owned()), Some(object.clone())),
        ] {
            assert_eq!(drift.apply(object.clone()), expected, "{drift:?}");
        }
    }
}
