//! Field management: the owners of fields, server-side apply and its conflicts.

use serde_json::{Value, json};

use crate::response::Refusal;
use crate::schema::Node;
use fields::FieldSet;
use managed::{ManagedFields, Manager, Operation};

pub(crate) mod fields;
pub(crate) mod managed;
pub(crate) mod typed;

/// The most managers with `Update` that an object keeps.
const MAX_UPDATERS: usize = 10;

/// Metadata that nobody owns.
const UNOWNED: [&[&str]; 12] = [
    &["apiVersion"],
    &["kind"],
    &["metadata"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "creationTimestamp"],
    &["metadata", "selfLink"],
    &["metadata", "uid"],
    &["metadata", "clusterName"],
    &["metadata", "generation"],
    &["metadata", "managedFields"],
    &["metadata", "resourceVersion"],
];

/// The writer of a request, and the fields that the endpoint resets.
pub(crate) struct Writer<'a> {
    pub(crate) manager: &'a str,
    pub(crate) api_version: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) reset: &'a [&'a [&'a str]],
    /// The time of the request, for `managedFields`.
    pub(crate) now: &'a str,
}

impl Writer<'_> {
    fn key(&self, operation: Operation) -> Manager {
        let manager = if self.manager.is_empty() { "unknown" } else { self.manager };
        Manager {
            name: manager.to_owned(),
            operation,
            api_version: self.api_version.to_owned(),
            subresource: self.subresource.to_owned(),
        }
    }

    fn without_reset(&self, set: &FieldSet) -> FieldSet {
        let mut set = set.clone();
        for path in self.reset {
            set.remove_below(path);
        }
        set
    }
}

/// Writes `managedFields` of an object that replaces `live`, null for a new one.
pub(crate) fn update(schema: &Node, live: &Value, object: &mut Value, writer: &Writer<'_>) {
    let requested = object["metadata"]["managedFields"].take();
    let current = ManagedFields::read(&live["metadata"]["managedFields"]);
    let mut managed = if writer.subresource.is_empty() {
        match requested.as_array() {
            Some(entries) if entries.is_empty() || (entries.len() == 1 && entries[0] == json!({})) => {
                ManagedFields::default()
            }
            Some(_) => match ManagedFields::read(&requested) {
                managed if managed.is_empty() => current,
                managed => managed,
            },
            None => current,
        }
    } else {
        current
    };
    remove_managed(object);
    if !typed::is_valid(schema, object) {
        // kube-apiserver forgets all owners of an object that it cannot read.
        return;
    }
    let existing = live["metadata"]["uid"].is_string();
    if !(managed.is_empty() && existing) {
        let mut old = live.clone();
        remove_managed(&mut old);
        track(schema, &old, object, &mut managed, writer);
        managed.cap(MAX_UPDATERS);
    }
    managed.write(object);
}

/// Records the differences between two objects as an update by the writer.
fn track(schema: &Node, live: &Value, object: &Value, managed: &mut ManagedFields, writer: &Writer<'_>) {
    let key = writer.key(Operation::Update);
    let compared = typed::compare(schema, live, object);
    let removed = writer.without_reset(&compared.removed);
    let modified = writer.without_reset(&compared.modified).union(&writer.without_reset(&compared.added));
    for (_, owned) in managed.iter_mut() {
        owned.set = owned.set.difference(&modified).difference(&removed);
    }
    let mut set = modified;
    for path in UNOWNED {
        set.remove(path);
    }
    if !set.is_empty() {
        managed.add(key, set, writer.now);
    }
    managed.retain_owners();
}

/// Merges an applied configuration into `live`, which is `empty` for a new object. Returns the object and its owners.
pub(crate) fn apply(
    schema: &Node,
    empty: &Value,
    live: &Value,
    config: &Value,
    force: bool,
    writer: &Writer<'_>,
) -> Result<(Value, ManagedFields), Refusal> {
    if !typed::is_valid(schema, config) || !typed::is_declared(schema, config) {
        return Err(Refusal::unsupported("the error for an applied object that does not have the types of its schema"));
    }
    let mut managed = ManagedFields::read(&live["metadata"]["managedFields"]);
    let mut old = live.clone();
    remove_managed(&mut old);
    if managed.is_empty() && live["metadata"]["uid"].is_string() {
        let before = Writer { manager: "before-first-apply", ..*writer };
        track(schema, empty, &old, &mut managed, &before);
    }
    let key = writer.key(Operation::Apply);
    let Some(merged) = typed::merge(schema, &old, config) else {
        return Err(Refusal::unsupported("the error for an applied list with two equal keys"));
    };
    let mut set = writer.without_reset(&typed::fields(schema, config));
    let before = managed.get(&key).cloned();
    let last = before.as_ref().map(|owned| owned.set.clone());
    managed.put(key.clone(), set.clone(), None);
    let merged = match &last {
        Some(last) if !last.is_empty() => prune(schema, merged, &managed, last),
        _ => merged,
    };

    let compared = typed::compare(schema, &old, &merged);
    let removed = writer.without_reset(&compared.removed);
    let changed = writer.without_reset(&compared.modified).union(&writer.without_reset(&compared.added));
    let mut conflicts = Vec::new();
    for (manager, owned) in managed.iter_mut().filter(|(manager, _)| **manager != key) {
        let conflict = owned.set.intersection(&changed);
        for path in conflict.paths() {
            conflicts.push((manager.describe(), path));
        }
        owned.set = owned.set.difference(&conflict).difference(&removed);
    }
    if !conflicts.is_empty() && !force {
        return Err(conflict(&conflicts));
    }
    for path in UNOWNED {
        set.remove(path);
    }
    // An apply that changes no value keeps its time, or has none.
    let time = if merged == old { before.and_then(|owned| owned.time) } else { Some(writer.now.to_owned()) };
    managed.put(key, set, time);
    managed.retain_owners();
    Ok((merged, managed))
}

/// Removes the fields that the manager applied before and nobody owns now.
fn prune(schema: &Node, merged: Value, managed: &ManagedFields, last: &FieldSet) -> Value {
    let members = |set: &FieldSet| typed::named_members(schema, set);
    let last = members(last);
    let removed = typed::remove(schema, &merged, &last);
    let mut owned = FieldSet::default();
    for (_, entry) in managed.iter() {
        owned = owned.union(&entry.set);
    }
    let all = members(&typed::fields(schema, &merged));
    let left = members(&typed::fields(schema, &removed));
    let pruned = typed::remove(schema, &merged, &all.difference(&left.union(&members(&owned))));
    // Items that nobody applied stay, even inside of what is removed.
    let left = members(&typed::fields(schema, &pruned));
    typed::remove(schema, &merged, &all.difference(&left).intersection(&last))
}

fn conflict(conflicts: &[(String, String)]) -> Refusal {
    let causes: Vec<Value> = conflicts
        .iter()
        .map(|(manager, path)| {
            json!({ "reason": "FieldManagerConflict", "message": format!("conflict with {manager}"), "field": path })
        })
        .collect();
    let message = match conflicts {
        [(manager, path)] => {
            format!("Apply failed with 1 conflict: conflict with {manager}: {path}")
        }
        _ => {
            let mut lines = Vec::new();
            let mut last = "";
            for (manager, path) in conflicts {
                if manager != last {
                    lines.push(format!("conflicts with {manager}:"));
                    last = manager;
                }
                lines.push(format!("- {path}"));
            }
            format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
        }
    };
    Refusal::new(409, "Conflict", message, json!({ "causes": causes }))
}

/// Removes `managedFields`.
pub(crate) fn remove_managed(object: &mut Value) {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
}
