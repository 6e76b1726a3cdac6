//! `metadata.managedFields`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::fields::FieldSet;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    Apply,
    Update,
}

/// The identity of an entry. The API version does not distinguish two entries with `Apply`.
#[derive(Clone, Debug, Eq)]
pub(crate) struct Manager {
    pub(crate) name: String,
    pub(crate) operation: Operation,
    pub(crate) api_version: String,
    pub(crate) subresource: String,
}

impl Manager {
    fn identity(&self) -> (Operation, &str, &str, &str) {
        let version = if self.operation == Operation::Apply { "" } else { &self.api_version };
        (self.operation, &self.name, version, &self.subresource)
    }

    /// The manager as conflicts print it.
    pub(crate) fn describe(&self) -> String {
        let mut text = format!("{:?}", self.name);
        if !self.subresource.is_empty() {
            text += &format!(" with subresource {:?}", self.subresource);
        }
        if self.operation == Operation::Update {
            text += &format!(" using {}", self.api_version);
        }
        text
    }
}

impl PartialEq for Manager {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Ord for Manager {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.identity().cmp(&other.identity())
    }
}

impl PartialOrd for Manager {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The fields of a manager.
#[derive(Clone, Debug)]
pub(crate) struct Owned {
    pub(crate) set: FieldSet,
    pub(crate) time: Option<String>,
}

/// The managers of an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct ManagedFields(BTreeMap<Manager, Owned>);

impl ManagedFields {
    /// Reads `managedFields`. Invalid entries count as none, as in kube-apiserver.
    pub(crate) fn read(entries: &Value) -> Self {
        let mut managed = Self::default();
        for entry in entries.as_array().into_iter().flatten() {
            let operation = match entry["operation"].as_str() {
                Some("Apply") => Operation::Apply,
                Some("Update") => Operation::Update,
                _ => return Self::default(),
            };
            let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
            if text("apiVersion").is_empty() || text("fieldsType") != "FieldsV1" {
                return Self::default();
            }
            let manager = Manager {
                name: text("manager"),
                operation,
                api_version: text("apiVersion"),
                subresource: text("subresource"),
            };
            let time = entry["time"].as_str().map(str::to_owned);
            managed.0.insert(manager, Owned { set: FieldSet::from_json(&entry["fieldsV1"]), time });
        }
        managed
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, manager: &Manager) -> Option<&Owned> {
        self.0.get(manager)
    }

    /// The entry of a manager, which may have another API version.
    pub(crate) fn entry(&self, manager: &Manager) -> Option<(&Manager, &Owned)> {
        self.0.get_key_value(manager)
    }

    /// Removes the managers that do not match.
    pub(crate) fn retain(&mut self, keep: impl Fn(&Manager) -> bool) {
        self.0.retain(|manager, _| keep(manager));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Manager, &Owned)> {
        self.0.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&Manager, &mut Owned)> {
        self.0.iter_mut()
    }

    /// Replaces the fields of a manager.
    pub(crate) fn put(&mut self, manager: Manager, set: FieldSet, time: Option<String>) {
        self.0.remove(&manager);
        self.0.insert(manager, Owned { set, time });
    }

    /// Adds fields to those of a manager.
    pub(crate) fn add(&mut self, manager: Manager, set: FieldSet, time: &str) {
        let before = self.0.get(&manager).map(|owned| owned.set.clone()).unwrap_or_default();
        self.put(manager, before.union(&set), Some(time.to_owned()));
    }

    /// Removes managers without fields.
    pub(crate) fn retain_owners(&mut self) {
        self.0.retain(|_, owned| !owned.set.is_empty());
    }

    /// Merges the oldest entries with `Update` above `most` into one, for each API version.
    pub(crate) fn cap(&mut self, most: usize) {
        let mut updaters: Vec<Manager> =
            self.0.keys().filter(|manager| manager.operation == Operation::Update).cloned().collect();
        let mut left = updaters.len();
        if left <= most {
            return;
        }
        updaters.sort_by_key(|manager| (self.0[manager].time.clone(), manager.name.clone()));
        let mut first: BTreeMap<String, Manager> = BTreeMap::new();
        for manager in updaters {
            if left <= most {
                break;
            }
            let version = manager.api_version.clone();
            let Some(oldest) = first.get(&version) else {
                first.insert(version, manager);
                continue;
            };
            let bucket = Manager {
                name: "ancient-changes".to_owned(),
                operation: Operation::Update,
                api_version: version,
                subresource: String::new(),
            };
            if !self.0.contains_key(&bucket)
                && let Some(owned) = self.0.remove(oldest)
            {
                self.0.insert(bucket.clone(), owned);
            }
            if let Some(owned) = self.0.remove(&manager) {
                let time = owned.time.clone().unwrap_or_default();
                self.add(bucket, owned.set, &time);
            }
            left -= 1;
        }
    }

    /// Writes `managedFields` of an object.
    pub(crate) fn write(&self, object: &mut Value) {
        let mut entries: Vec<_> = self.0.iter().collect();
        entries.sort_by(|(a, x), (b, y)| {
            let key =
                |manager: &Manager| (manager.name.clone(), manager.api_version.clone(), manager.subresource.clone());
            (a.operation, &x.time, key(a)).cmp(&(b.operation, &y.time, key(b)))
        });
        let entries: Vec<Value> = entries
            .into_iter()
            .map(|(manager, owned)| {
                let mut entry = Map::new();
                entry.insert("manager".to_owned(), manager.name.clone().into());
                entry.insert("operation".to_owned(), format!("{:?}", manager.operation).into());
                entry.insert("apiVersion".to_owned(), manager.api_version.clone().into());
                if let Some(time) = &owned.time {
                    entry.insert("time".to_owned(), time.clone().into());
                }
                entry.insert("fieldsType".to_owned(), "FieldsV1".into());
                entry.insert("fieldsV1".to_owned(), owned.set.to_json());
                if !manager.subresource.is_empty() {
                    entry.insert("subresource".to_owned(), manager.subresource.clone().into());
                }
                Value::Object(entry)
            })
            .collect();
        if entries.is_empty() {
            super::remove_managed(object);
        } else {
            if !object["metadata"].is_object() {
                object["metadata"] = json!({});
            }
            object["metadata"]["managedFields"] = entries.into();
        }
    }
}
