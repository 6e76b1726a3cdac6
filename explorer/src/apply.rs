//! Field management: the owners of fields, server-side apply and its conflicts.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::resource::KindVersions;
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
    /// The versions that managers of the object may have.
    pub(crate) kind: &'a KindVersions,
    /// The time of the request, for `managedFields`.
    pub(crate) now: &'a str,
}

/// The fields of a comparison that concern other managers.
struct Changes {
    changed: FieldSet,
    removed: FieldSet,
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

    /// Compares two objects of the writer's version in the version of each manager, except `own`. Removes managers of
    /// versions that do not exist. Returns none if a version cannot read an object.
    fn changes(
        &self,
        schema: &Node,
        old: &Value,
        new: &Value,
        managed: &mut ManagedFields,
    ) -> Result<Option<BTreeMap<String, Changes>>, Refusal> {
        let compared = typed::compare(schema, old, new);
        let changed = self.without_reset(&compared.modified).union(&self.without_reset(&compared.added));
        let changes = Changes { changed, removed: self.without_reset(&compared.removed) };
        let mut all = BTreeMap::from([(self.api_version.to_owned(), changes)]);
        managed
            .retain(|manager| self.kind.at(&manager.api_version).is_some() || manager.api_version == self.api_version);
        for (manager, _) in managed.iter() {
            let version = manager.api_version.as_str();
            if all.contains_key(version) {
                continue;
            }
            let Some(resource) = self.kind.at(version) else { continue };
            let (old, new) = (self.converted(old, version)?, self.converted(new, version)?);
            let schema = &resource.schema;
            if [&old, &new]
                .into_iter()
                .any(|object| !typed::is_valid(schema, object) || !typed::is_declared(schema, object))
            {
                return Ok(None);
            }
            let compared = typed::compare(schema, &old, &new);
            let mut changed = compared.modified.union(&compared.added);
            let mut removed = compared.removed;
            // The status resets fields in all versions that have it, other endpoints in their own version.
            if self.subresource == "status" && resource.status {
                (changed, removed) = (self.without_reset(&changed), self.without_reset(&removed));
            }
            all.insert(version.to_owned(), Changes { changed, removed });
        }
        Ok(Some(all))
    }

    /// Converts an object to a version, which must be able to read it.
    fn readable(&self, object: &Value, api_version: &str) -> Result<Value, Refusal> {
        let object = self.converted(object, api_version)?;
        let schema = self.kind.at(api_version).map(|resource| resource.schema.clone()).unwrap_or_default();
        if typed::is_valid(&schema, &object) && typed::is_declared(&schema, &object) {
            return Ok(object);
        }
        Err(Refusal::unsupported("the error for an object that the version of one of its managers cannot read"))
    }

    fn converted(&self, object: &Value, api_version: &str) -> Result<Value, Refusal> {
        if object["apiVersion"].is_null() {
            return Ok(object.clone());
        }
        self.kind.convert(object.clone(), api_version)
    }
}

/// Writes `managedFields` of an object that replaces `live`, null for a new one.
///
/// # Errors
///
/// A conversion has failed.
pub(crate) fn update(schema: &Node, live: &Value, object: &mut Value, writer: &Writer<'_>) -> Result<(), Refusal> {
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
        return Ok(());
    }
    let existing = live["metadata"]["uid"].is_string();
    if !(managed.is_empty() && existing) {
        let mut old = live.clone();
        remove_managed(&mut old);
        if !track(schema, &old, object, &mut managed, writer)? {
            return Ok(());
        }
        managed.cap(MAX_UPDATERS);
    }
    managed.write(object);
    Ok(())
}

/// Records the differences between two objects as an update by the writer. Returns false if a version of a manager cannot
/// read them.
fn track(
    schema: &Node,
    live: &Value,
    object: &Value,
    managed: &mut ManagedFields,
    writer: &Writer<'_>,
) -> Result<bool, Refusal> {
    let key = writer.key(Operation::Update);
    let Some(changes) = writer.changes(schema, live, object, managed)? else {
        return Ok(false);
    };
    for (manager, owned) in managed.iter_mut() {
        if let Some(Changes { changed, removed }) = changes.get(&manager.api_version) {
            owned.set = owned.set.difference(changed).difference(removed);
        }
    }
    let mut set = changes[writer.api_version].changed.clone();
    for path in UNOWNED {
        set.remove(path);
    }
    if !set.is_empty() {
        managed.add(key, set, writer.now);
    }
    managed.retain_owners();
    Ok(true)
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
        track(schema, empty, &old, &mut managed, &before)?;
    }
    let key = writer.key(Operation::Apply);
    let Some(merged) = typed::merge(schema, &old, config) else {
        return Err(Refusal::unsupported("the error for an applied list with two equal keys"));
    };
    let mut set = writer.without_reset(&typed::fields(schema, config));
    let before = managed.get(&key).cloned();
    let last = managed.entry(&key).map(|(manager, owned)| (manager.api_version.clone(), owned.set.clone()));
    managed.put(key.clone(), set.clone(), None);
    let merged = match &last {
        Some((version, last)) if !last.is_empty() => prune(writer, version, merged, &managed, last)?,
        _ => merged,
    };

    let Some(changes) = writer.changes(schema, &old, &merged, &mut managed)? else {
        return Err(Refusal::unsupported(
            "the error for an object that the version of one of its managers cannot read",
        ));
    };
    let mut conflicts = Vec::new();
    for (manager, owned) in managed.iter_mut().filter(|(manager, _)| **manager != key) {
        let Some(Changes { changed, removed }) = changes.get(&manager.api_version) else { continue };
        let conflict = owned.set.intersection(changed);
        for path in conflict.paths() {
            conflicts.push((manager.describe(), path));
        }
        owned.set = owned.set.difference(&conflict).difference(removed);
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

/// Removes the fields that the manager applied before, in `version`, and nobody owns now.
fn prune(
    writer: &Writer<'_>,
    version: &str,
    merged: Value,
    managed: &ManagedFields,
    last: &FieldSet,
) -> Result<Value, Refusal> {
    let Some(resource) = writer.kind.at(version) else {
        return Ok(merged);
    };
    let schema = &resource.schema;
    let converted = writer.readable(&merged, version)?;
    let members = |schema: &Node, set: &FieldSet| typed::named_members(schema, set);
    let mut pruned = typed::remove(schema, &converted, &members(schema, last));
    // The owners of the pruned version come first.
    let mut owned: BTreeMap<(bool, &str), FieldSet> = BTreeMap::new();
    for (manager, entry) in managed.iter() {
        let set = owned.entry((manager.api_version != version, &manager.api_version)).or_default();
        *set = set.union(&entry.set);
    }
    for ((_, at), owned) in &owned {
        let Some(resource) = writer.kind.at(at) else { continue };
        let schema = &resource.schema;
        let (merged, left) = (writer.readable(&converted, at)?, writer.readable(&pruned, at)?);
        let all = members(schema, &typed::fields(schema, &merged));
        let left = members(schema, &typed::fields(schema, &left));
        pruned = typed::remove(schema, &merged, &all.difference(&left.union(&members(schema, owned))));
    }
    // Items that nobody applied stay, even inside of what is removed.
    let pruned = writer.readable(&pruned, version)?;
    let all = members(schema, &typed::fields(schema, &converted));
    let left = members(schema, &typed::fields(schema, &pruned));
    let pruned = typed::remove(schema, &converted, &all.difference(&left).intersection(&members(schema, last)));
    writer.converted(&pruned, writer.api_version)
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
