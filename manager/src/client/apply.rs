//! The payload of server-side apply, and the takeover of list elements that make an apply invalid.
//!
//! Lists are merged by key fields. If another manager changes the key of an element, server-side apply adds the desired
//! element beside the changed one. If both have the same unique value, such as the name of a port, the server rejects
//! them. An apply removes elements that we own and no longer desire. So the takeover only moves the ownership of the
//! foreign element to us.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry};
use kube::ResourceExt;
use kube::core::response::StatusCause;
use serde_json::{Map, Value, json};

use crate::object::{self, Object};

/// A condition on the server's object. The server rejects the request if it does not hold.
pub(crate) enum Precondition {
    None,
    /// The object must not exist. Otherwise the answer is a conflict.
    Absent,
    /// The object must have this UID. Otherwise the request is invalid.
    Uid(String),
}

impl Precondition {
    pub(crate) fn same_as<K: Object>(object: &K) -> Self {
        object.uid().map_or(Self::None, Self::Uid)
    }
}

/// Returns the manifest with the precondition.
pub(crate) fn provided(manifest: &Value, precondition: Precondition) -> Value {
    let mut value = manifest.clone();
    match precondition {
        Precondition::None => {}
        // The server compares the version only with an existing object, and no object has version 1.
        Precondition::Absent => value["metadata"]["resourceVersion"] = json!("1"),
        Precondition::Uid(uid) => value["metadata"]["uid"] = json!(uid),
    }
    value
}

pub(super) struct Takeover {
    /// The `managedFields` to write.
    pub(super) managed_fields: Vec<ManagedFieldsEntry>,
    pub(super) elements: Vec<String>,
}

/// Returns the takeover if the causes of a rejection show that foreign elements conflict with desired ones.
pub(super) fn takeover(
    causes: &[StatusCause],
    desired: &Value,
    live: &Value,
    managed_fields: &[ManagedFieldsEntry],
    field_manager: &str,
) -> Option<Takeover> {
    let mut found = Vec::new();
    for cause in causes {
        let Some((list, field)) = place(&cause.field) else {
            continue;
        };
        for entry in managed_fields {
            let is_ours = is_apply_of(entry, field_manager);
            if is_ours || entry.subresource.is_some() {
                continue;
            }
            if let Some(Value::Object(owned)) = entry.fields_v1.as_ref().map(|fields| &fields.0) {
                let mut search = Search {
                    field: &field,
                    found: &mut found,
                };
                search.follow(&list, owned, desired, live, &mut Vec::new());
            }
        }
    }
    found.sort();
    found.dedup();
    if found.is_empty() {
        return None;
    }
    Some(Takeover {
        managed_fields: moved(&found, managed_fields, desired, field_manager),
        elements: found.iter().map(|path| shown(path)).collect(),
    })
}

/// Formats a path as `spec.ports[{"port":80}]`.
fn shown(path: &[String]) -> String {
    let mut shown = String::new();
    for part in path {
        match (part.strip_prefix("f:"), part.strip_prefix("k:")) {
            (Some(field), _) if shown.is_empty() => shown += field,
            (Some(field), _) => shown += &format!(".{field}"),
            (_, Some(keys)) => shown += &format!("[{keys}]"),
            _ => {}
        }
    }
    shown
}

fn is_apply_of(entry: &ManagedFieldsEntry, field_manager: &str) -> bool {
    entry.manager.as_deref() == Some(field_manager)
        && entry.operation.as_deref() == Some("Apply")
        && entry.subresource.is_none()
}

/// A step to a field, or to every element of a list.
enum PathStep {
    Field(String),
    Each,
}

/// Splits `spec.ports[1].name` into the steps to the list and the path within its element.
fn place(field: &str) -> Option<(Vec<PathStep>, Vec<String>)> {
    let (list, inside) = field.rsplit_once(']')?;
    let (list, _) = list.rsplit_once('[')?;
    let mut steps = Vec::new();
    for part in list.split('.') {
        let (name, index) = part
            .split_once('[')
            .map_or((part, None), |(name, index)| (name, Some(index)));
        steps.push(PathStep::Field(name.to_owned()));
        if index.is_some() {
            steps.push(PathStep::Each);
        }
    }
    let inside = inside
        .trim_start_matches('.')
        .split('.')
        .filter(|part| !part.is_empty());
    Some((steps, inside.map(str::to_owned).collect()))
}

struct Search<'a> {
    /// The field of an element that must be unique.
    field: &'a [String],
    found: &'a mut Vec<Vec<String>>,
}

impl Search<'_> {
    /// Follows the steps in the owned, the desired and the live object at the same time.
    fn follow(
        &mut self,
        steps: &[PathStep],
        owned: &Map<String, Value>,
        desired: &Value,
        live: &Value,
        path: &mut Vec<String>,
    ) {
        let inside = |key: &String| owned.get(key).and_then(Value::as_object);
        match steps.split_first() {
            Some((PathStep::Field(name), rest)) => {
                let key = format!("f:{name}");
                if let Some(owned) = inside(&key) {
                    path.push(key);
                    self.follow(rest, owned, &desired[name], &live[name], path);
                    path.pop();
                }
            }
            Some((PathStep::Each, rest)) => {
                for (key, keys) in owned.keys().filter_map(|key| Some((key, keys_of(key)?))) {
                    let (Some(desired), Some(live)) =
                        (element(desired, &keys), element(live, &keys))
                    else {
                        continue;
                    };
                    if let Some(owned) = inside(key) {
                        path.push(key.clone());
                        self.follow(rest, owned, desired, live, path);
                        path.pop();
                    }
                }
            }
            None => {
                let unique = |element: &Value| {
                    let field = self
                        .field
                        .iter()
                        .try_fold(element, |value, name| value.get(name));
                    field.filter(|value| !value.is_null()).cloned()
                };
                let wanted: Vec<Value> = desired
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(unique)
                    .collect();
                for (key, keys) in owned.keys().filter_map(|key| Some((key, keys_of(key)?))) {
                    let is_desired = element(desired, &keys).is_some();
                    let value = element(live, &keys).and_then(unique);
                    if !is_desired && value.is_some_and(|value| wanted.contains(&value)) {
                        let mut path = path.clone();
                        path.push(key.clone());
                        self.found.push(path);
                    }
                }
            }
        }
    }
}

/// Parses the key fields of an element: `k:{"port":80,"protocol":"TCP"}`.
fn keys_of(key: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(key.strip_prefix("k:")?).ok()
}

/// Returns the list element with these keys. A key that is missing has its default.
fn element<'a>(list: &'a Value, keys: &Map<String, Value>) -> Option<&'a Value> {
    let mut elements = list.as_array()?.iter();
    elements.find(|element| {
        let mut named = false;
        keys.iter().all(|(key, value)| {
            named |= element[key] == *value;
            element[key].is_null() || element[key] == *value
        }) && named
    })
}

/// Returns the entries after moving the ownership of these elements to us.
fn moved(
    elements: &[Vec<String>],
    entries: &[ManagedFieldsEntry],
    desired: &Value,
    field_manager: &str,
) -> Vec<ManagedFieldsEntry> {
    let mut entries = entries.to_vec();
    let mut ours = json!({});
    if let Some(entry) = entries
        .iter()
        .find(|entry| is_apply_of(entry, field_manager))
        && let Some(fields) = &entry.fields_v1
    {
        ours = fields.0.clone();
    }
    for path in elements {
        let mut owned = json!({});
        for entry in &mut entries {
            if is_apply_of(entry, field_manager) {
                continue;
            }
            if let Some(fields) = &mut entry.fields_v1
                && let Some(taken) = object::take_fields(&mut fields.0, path)
            {
                owned = taken;
            }
        }
        let place = path
            .iter()
            .fold(&mut ours, |place, key| &mut place[key.as_str()]);
        *place = owned;
    }
    entries.retain(|entry| {
        let fields = entry.fields_v1.as_ref();
        fields.is_none_or(|fields| fields.0 != json!({}))
    });
    match entries
        .iter_mut()
        .find(|entry| is_apply_of(entry, field_manager))
    {
        Some(entry) => entry.fields_v1 = Some(FieldsV1(ours)),
        None => entries.push(ManagedFieldsEntry {
            api_version: desired["apiVersion"].as_str().map(str::to_owned),
            fields_type: Some("FieldsV1".to_owned()),
            fields_v1: Some(FieldsV1(ours)),
            manager: Some(field_manager.to_owned()),
            operation: Some("Apply".to_owned()),
            ..ManagedFieldsEntry::default()
        }),
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(manager: &str, operation: &str, fields: &Value) -> ManagedFieldsEntry {
        serde_json::from_value(
            json!({ "manager": manager, "operation": operation, "fieldsV1": fields }),
        )
        .expect("an entry")
    }

    fn cause(field: &str) -> [StatusCause; 1] {
        [StatusCause {
            reason: "FieldValueDuplicate".to_owned(),
            message: String::new(),
            field: field.to_owned(),
        }]
    }

    /// The state after `kubectl edit` changed the port 11211 to 9999.
    #[test]
    fn the_port_that_has_the_name_of_ours_is_taken_over() {
        let theirs = r#"k:{"port":9999,"protocol":"TCP"}"#;
        let web = r#"k:{"port":80,"protocol":"TCP"}"#;
        let desired = json!({ "spec": { "ports": [{ "name": "main", "port": 11211 }] } });
        let live = json!({ "spec": { "ports": [
            { "name": "main", "port": 9999, "protocol": "TCP" },
            { "name": "web", "port": 80, "protocol": "TCP" },
        ] } });
        let fields = [
            entry("us", "Apply", &json!({ "f:spec": { "f:type": {} } })),
            entry(
                "them",
                "Update",
                &json!({ "f:spec": { "f:ports": { theirs: { ".": {}, "f:name": {} }, web: { ".": {} } } } }),
            ),
            entry(
                "more",
                "Update",
                &json!({ "f:spec": { "f:ports": { theirs: { ".": {} } } } }),
            ),
        ];
        let taken = takeover(&cause("spec.ports[1].name"), &desired, &live, &fields, "us")
            .expect("it is in the way");
        assert_eq!(
            taken.elements,
            [r#"spec.ports[{"port":9999,"protocol":"TCP"}]"#]
        );
        let left: Vec<_> = taken
            .managed_fields
            .iter()
            .map(|entry| entry.fields_v1.clone().map(|it| it.0))
            .collect();
        let ours = &left[0].as_ref().expect("fields")["f:spec"];
        assert!(
            ours["f:type"].is_object() && ours["f:ports"][theirs].is_object(),
            "{ours}"
        );
        assert_eq!(
            left[1..],
            [Some(
                json!({ "f:spec": { "f:ports": { web: { ".": {} } } } })
            )]
        );

        for (field, live) in [
            ("spec.ports[1].nodePort", live.clone()),
            ("spec.ports", live.clone()),
            ("spec.clusterIP", live.clone()),
            ("", live.clone()),
            (
                "spec.ports[1].name",
                json!({ "spec": { "ports": [{ "name": "other", "port": 9999, "protocol": "TCP" }] } }),
            ),
        ] {
            assert!(
                takeover(&cause(field), &desired, &live, &fields, "us").is_none(),
                "{field}"
            );
        }
    }

    #[test]
    fn elements_of_elements_are_found() {
        let main = r#"k:{"name":"main"}"#;
        let theirs = r#"k:{"containerPort":2,"protocol":"TCP"}"#;
        let desired = json!({ "spec": { "containers": [
            { "name": "side", "ports": [{ "name": "x", "containerPort": 2 }] },
            { "name": "main", "ports": [{ "name": "a", "containerPort": 1 }] },
        ] } });
        let live = json!({ "spec": { "containers": [
            { "name": "main", "ports": [{ "name": "a", "containerPort": 2, "protocol": "TCP" }] },
        ] } });
        let fields = [entry(
            "them",
            "Update",
            &json!({ "f:spec": { "f:containers": { main: { "f:ports": { theirs: { ".": {} } } } } } }),
        )];
        let taken = takeover(
            &cause("spec.containers[0].ports[1].name"),
            &desired,
            &live,
            &fields,
            "us",
        );
        let taken = taken.expect("it is in the way");
        let shown =
            r#"spec.containers[{"name":"main"}].ports[{"containerPort":2,"protocol":"TCP"}]"#;
        assert_eq!(taken.elements, [shown]);
        // The foreign entry became empty, and we had none.
        assert_eq!(taken.managed_fields.len(), 1);
        assert_eq!(taken.managed_fields[0].manager.as_deref(), Some("us"));
    }
}
