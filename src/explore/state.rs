//! States: the objects of a cluster without the values that differ between equal runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Formatter};

use serde_json::{Map, Value};

/// The place of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ObjectKey {
    /// The resource with its group, such as `deployments.apps`.
    pub(super) resource: String,
    pub(super) namespace: String,
    pub(super) name: String,
}

impl ObjectKey {
    /// Parses a resource and `NAMESPACE/NAME`.
    pub(super) fn parse(resource: &str, place: &str) -> Option<Self> {
        let (namespace, name) = place.split_once('/')?;
        Some(Self { resource: resource.to_owned(), namespace: namespace.to_owned(), name: name.to_owned() })
    }
}

impl Display for ObjectKey {
    fn fmt(&self, out: &mut Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} {}/{}", self.resource, self.namespace, self.name)
    }
}

/// Objects as the API server returns them.
pub(super) type ClusterObjects = BTreeMap<ObjectKey, Value>;

/// The place of a field: an object and a JSON pointer.
pub(super) type ComparedField = (String, String);

/// Objects without times, UIDs, versions, generated names and allocated addresses.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ClusterState(BTreeMap<String, Value>);

impl ClusterState {
    /// The state without the values of the fields in `generated`.
    pub(super) fn new(objects: &ClusterObjects, generated: &BTreeSet<ComparedField>) -> Self {
        let mut names = BTreeMap::new();
        let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for (key, object) in objects {
            let metadata = &object["metadata"];
            if let Some(prefix) = metadata["generateName"].as_str() {
                let count = counts.entry((&key.namespace, prefix)).or_default();
                *count += 1;
                names.insert(key.name.clone(), format!("{prefix}#{count}"));
            }
            if let Some(uid) = metadata["uid"].as_str() {
                names.insert(uid.to_owned(), format!("uid of {} {}", key.resource, key.name));
            }
        }
        let states = objects.iter().map(|(key, object)| {
            let mut object = object.clone();
            if let Some(metadata) = object["metadata"].as_object_mut() {
                for field in ["managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"] {
                    metadata.remove(field);
                }
            }
            if key.resource == "services"
                && object["spec"]["clusterIP"] != "None"
                && let Some(spec) = object["spec"].as_object_mut()
            {
                spec.remove("clusterIP");
                spec.remove("clusterIPs");
            }
            normalize(&mut object, &names);
            let name = names.get(&key.name).unwrap_or(&key.name);
            let place = format!("{} {}/{name}", key.resource, key.namespace);
            for (_, pointer) in generated.iter().filter(|(object, _)| *object == place) {
                if let Some(value) = object.pointer_mut(pointer) {
                    *value = "a generated value".into();
                }
            }
            (place, object)
        });
        Self(states.collect())
    }

    /// The lines of a diff, without common fields.
    pub(super) fn diff(&self, found: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        for (place, expected) in &self.0 {
            match found.0.get(place) {
                None => lines.push(format!("- {place}")),
                Some(found) if found == expected => {}
                Some(found) => {
                    lines.push(format!("  {place}"));
                    let mut fields = Vec::new();
                    compare("", expected, found, &mut fields);
                    for (pointer, before, after) in fields {
                        for (sign, value) in [("-", before), ("+", after)] {
                            if !value.is_null() {
                                lines.push(format!("{sign}   {pointer}: {value}"));
                            }
                        }
                    }
                }
            }
        }
        lines.extend(found.0.keys().filter(|place| !self.0.contains_key(*place)).map(|place| format!("+ {place}")));
        lines
    }

    /// The fields with different values in both states.
    pub(super) fn differing(&self, other: &Self) -> BTreeSet<ComparedField> {
        let mut places = BTreeSet::new();
        for (place, before) in &self.0 {
            let mut fields = Vec::new();
            if let Some(after) = other.0.get(place) {
                compare("", before, after, &mut fields);
            }
            let both = fields.into_iter().filter(|(_, before, after)| !before.is_null() && !after.is_null());
            places.extend(both.map(|(pointer, ..)| (place.clone(), pointer)));
        }
        places
    }
}

fn normalize(value: &mut Value, names: &BTreeMap<String, String>) {
    match value {
        Value::String(text) => {
            if let Some(name) = names.get(text) {
                text.clone_from(name);
            } else if text.len() >= 20 && text.parse::<jiff::Timestamp>().is_ok() {
                "a time".clone_into(text);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| normalize(item, names)),
        Value::Object(fields) => {
            fields.remove("observedGeneration");
            // A map by type: each writer appends the conditions that it knows first.
            if let Some(Value::Array(conditions)) = fields.get_mut("conditions") {
                conditions.sort_by_key(|condition| condition["type"].to_string());
            }
            fields.values_mut().for_each(|field| normalize(field, names));
        }
        _ => {}
    }
}

/// Collects the fields that differ, with both values.
fn compare(pointer: &str, expected: &Value, found: &Value, fields: &mut Vec<(String, Value, Value)>) {
    match (expected, found) {
        (Value::Object(before), Value::Object(after)) => {
            let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let pointer = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
                let side = |fields: &Map<String, Value>| fields.get(key).cloned().unwrap_or_default();
                compare(&pointer, &side(before), &side(after), fields);
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (at, (before, after)) in before.iter().zip(after).enumerate() {
                compare(&format!("{pointer}/{at}"), before, after, fields);
            }
        }
        _ if expected == found => {}
        _ => fields.push((pointer.to_owned(), expected.clone(), found.clone())),
    }
}

/// The JSON pointers of the fields that managers own, except the managers in `others`.
///
/// Two kinds of fields are left out: keys of list items, because an item with another key is another item, and owner
/// references, because a watch of owned objects does not see an object without them.
pub(super) fn owned_fields(object: &Value, others: &[&str]) -> Vec<String> {
    let mut pointers = Vec::new();
    for entry in object["metadata"]["managedFields"].as_array().into_iter().flatten() {
        let manager = entry["manager"].as_str().unwrap_or_default();
        let subresource = entry["subresource"].as_str().unwrap_or_default();
        if subresource.is_empty() && !others.contains(&manager) {
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
pub(super) fn other_value(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => Some(format!("{text}x").into()),
        Value::Bool(truth) => Some((!truth).into()),
        Value::Number(number) => number.as_i64().map(|number| (number + 1).into()),
        _ => None,
    }
}

/// Objects whose owners are all gone. An owner of a kind that is not in `kinds`, by group and kind, counts as present.
pub(super) fn orphans(objects: &ClusterObjects, kinds: &BTreeSet<(String, String)>) -> Vec<ObjectKey> {
    let uids: BTreeSet<&str> = objects.values().filter_map(|object| object["metadata"]["uid"].as_str()).collect();
    let gone = |owner: &Value| {
        let version = owner["apiVersion"].as_str().unwrap_or_default();
        let group = version.split_once('/').map_or("", |(group, _)| group);
        let kind = owner["kind"].as_str().unwrap_or_default();
        kinds.contains(&(group.to_owned(), kind.to_owned()))
            && !uids.contains(owner["uid"].as_str().unwrap_or_default())
    };
    let orphaned = objects.iter().filter(|(_, object)| {
        let owners = object["metadata"]["ownerReferences"].as_array().map(Vec::as_slice).unwrap_or_default();
        !owners.is_empty() && owners.iter().all(gone) && object["metadata"]["deletionTimestamp"].is_null()
    });
    orphaned.map(|(key, _)| key.clone()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn objects(list: &[Value]) -> ClusterObjects {
        let key = |object: &Value| ObjectKey {
            resource: format!("{}s", object["kind"].as_str().unwrap().to_lowercase()),
            namespace: "default".to_owned(),
            name: object["metadata"]["name"].as_str().unwrap().to_owned(),
        };
        list.iter().map(|object| (key(object), object.clone())).collect()
    }

    #[test]
    fn states_differ_in_values_that_the_operator_chooses() {
        let map = |uid: &str, time: &str, data: Value| {
            let metadata = json!({ "name": "a", "uid": uid, "resourceVersion": uid, "creationTimestamp": time });
            json!({ "kind": "ConfigMap", "metadata": metadata, "data": data, "owner": uid, "at": time })
        };
        let before = objects(&[map("u1", "2026-01-01T00:00:00Z", json!({ "a": "1", "b": "2" }))]);
        let after = objects(&[map("u2", "2026-01-01T00:00:01Z", json!({ "a": "1", "b": "3" }))]);
        let [one, two] = [&before, &after].map(|objects| ClusterState::new(objects, &BTreeSet::new()));
        let expected = ["  configmaps default/a", "-   /data/b: \"2\"", "+   /data/b: \"3\""];
        assert_eq!(one.diff(&two), expected);
        assert_eq!(one.diff(&ClusterState::new(&ClusterObjects::new(), &BTreeSet::new())), ["- configmaps default/a"]);
        let generated = one.differing(&two);
        let [one, two] = [&before, &after].map(|objects| ClusterState::new(objects, &generated));
        assert_eq!(one.diff(&two), [""; 0]);
    }

    #[test]
    fn owned_fields_are_those_of_the_operator_without_keys() {
        let object = json!({
            "metadata": { "managedFields": [
                { "manager": "manager", "fieldsV1": {
                    "f:data": { "f:a.b": {} },
                    "f:ports": { "k:{\"port\":80}": { ".": {}, "f:port": {}, "f:name": {} } },
                    "f:metadata": { "f:ownerReferences": { "k:{\"uid\":\"1\"}": {} } },
                } },
                { "manager": "author", "fieldsV1": { "f:data": { "f:c": {} } } },
                { "manager": "manager", "subresource": "status", "fieldsV1": { "f:status": {} } },
            ] },
            "data": { "a.b": "", "c": "" },
            "ports": [{ "port": 80, "name": "web" }],
            "status": {},
        });
        assert_eq!(owned_fields(&object, &["author"]), ["/data/a.b", "/ports/0/name"]);
    }

    #[test]
    fn an_object_is_an_orphan_without_a_present_owner() {
        let owned = |name: &str, kind: &str, uid: &str| {
            let owner = json!({ "apiVersion": "apps/v1", "kind": kind, "uid": uid });
            json!({ "kind": "Pod", "metadata": { "name": name, "uid": name, "ownerReferences": [owner] } })
        };
        let deployment = json!({ "kind": "Deployment", "metadata": { "name": "d", "uid": "1" } });
        let all = objects(&[
            deployment,
            owned("kept", "Deployment", "1"),
            owned("orphan", "Deployment", "2"),
            owned("unknown", "Job", "3"),
        ]);
        let kinds = [("apps".to_owned(), "Deployment".to_owned())].into();
        let names: Vec<String> = orphans(&all, &kinds).into_iter().map(|key| key.name).collect();
        assert_eq!(names, ["orphan"]);
    }
}
