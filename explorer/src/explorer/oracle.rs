//! Oracles: schedules, and the states that two runs must share.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::str::FromStr;

use serde_json::Value;

use crate::server::ApiServer;
use crate::store::Key;

/// The start of the generated name of a volume in each Pod.
const TOKEN_VOLUME: &str = "kube-api-access-";

/// A property that runs of an operator must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Oracle {
    /// The state settles, and nothing is written after that, even by a new process.
    Quiet,
    /// The end is the same after a crash before or after each write.
    Crash,
    /// After a deletion at any time, nothing of the operator stays. After a new creation, the end is the same.
    Deletion,
    /// Each owned field and object is repaired.
    Drift,
    /// The end is the same after a fault of each request.
    Faults,
    /// The end is the same after all histories of a spec, and for a new object.
    History,
    /// The end is the same after watches with late events, watches that miss events, and lists from an old cache.
    Stale,
    /// A second object changes nothing of the first one, and the deletion of one changes nothing of the other. Neither do
    /// controllers of [`crate::Explorer::beside`].
    Neighbours,
    /// The end is the same after two processes at once.
    Overlap,
    /// The roles of [`crate::Explorer::role`] permit all requests.
    Permission,
    /// The properties of [`crate::Explorer::invariant`] and [`crate::Explorer::always`] hold in all runs.
    Invariant,
    /// Webhooks and conversions agree with the operator, with deletions and with each other.
    Webhooks,
    /// The end is the same for the objects of an earlier release, which [`crate::Explorer::release`] adds.
    Release,
    /// The status of the samples follows the conventions of `observedGeneration` and of conditions.
    Status,
}

impl Oracle {
    /// The sentence for a violation.
    pub(super) fn claim(self) -> &'static str {
        match self {
            Self::Quiet => "the state does not settle",
            Self::Crash => "a crash leaves another state",
            Self::Deletion => "the deletion of the samples leaves another state",
            Self::Drift => "a change by another client is not repaired",
            Self::Faults => "a failed request leaves another state",
            Self::History => "changes of the spec leave another state than a new object with the spec",
            Self::Stale => "a late or missed event leaves another state",
            Self::Neighbours => "another object changes the state",
            Self::Overlap => "two processes leave another state",
            Self::Permission => "a request is forbidden",
            Self::Invariant => "an invariant does not hold",
            Self::Webhooks => "a webhook or a conversion is wrong",
            Self::Release => "an upgrade leaves another state than a new object",
            Self::Status => "the status does not follow the conventions",
        }
    }
}

impl Display for Oracle {
    fn fmt(&self, out: &mut Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Quiet => "quiet",
            Self::Crash => "crash",
            Self::Deletion => "deletion",
            Self::Drift => "drift",
            Self::Faults => "faults",
            Self::History => "history",
            Self::Stale => "stale",
            Self::Neighbours => "neighbours",
            Self::Overlap => "overlap",
            Self::Permission => "permission",
            Self::Invariant => "invariant",
            Self::Webhooks => "webhooks",
            Self::Release => "release",
            Self::Status => "status",
        })
    }
}

/// The change of the samples in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// A server without samples; they are created.
    Create,
    /// A settled server; the samples stay.
    Keep,
    /// A settled server; the samples are deleted.
    Delete,
}

/// The disturbance of a schedule.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Event {
    Nothing,
    /// No run: webhooks and conversions get the samples and the objects of the undisturbed run.
    Review,
    Die {
        write: usize,
        after: bool,
    },
    /// The samples are deleted between a write and its answer.
    Delete {
        write: usize,
    },
    /// Another client changes an object.
    Drift(Drift, Key),
    /// A request fails: with a code, or as a dropped connection before or after the effect.
    Fault {
        request: usize,
        fault: Fault,
    },
    /// Merge patches of the first sample, each after the state has settled.
    History(Vec<Value>),
    /// The process dies after a write, and the next one lists the state before the write `before`.
    Rewind {
        write: usize,
        before: usize,
    },
    /// Events of one resource are late, from a write on.
    Lag {
        write: usize,
        resource: String,
    },
    /// All watches miss the events after a write.
    Miss {
        write: usize,
    },
    /// Another client deletes an object, and all watches miss the event.
    DeleteUnseen(Key),
    /// The samples are deleted and created again at once. If `unseen`, all watches miss the events.
    Recreate {
        unseen: bool,
    },
    /// A second object, by its namespace and name.
    Neighbour(Visit, String, String),
    /// The operator starts on the objects of an earlier release, by the name of the release.
    Release(Upgrade, String),
    /// Another controller runs beside the operator, by its number.
    Beside(Share, usize),
    /// Another process takes over while a write is under way.
    Overlap {
        write: usize,
    },
}

/// The time that a second object stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visit {
    /// Created, and kept.
    Stay,
    /// Created, then deleted.
    Leave,
    /// Created, and kept while the first one is deleted.
    Outlive,
}

/// A disturbance of the start on the objects of an earlier release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Upgrade {
    Nothing,
    /// The author's objects are deleted.
    Delete,
    /// The process dies before or after the effect of a write.
    Die {
        write: usize,
        after: bool,
    },
}

/// The time that the objects of two controllers stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    Both,
    /// The samples of the other controller are deleted.
    Leave,
    /// The samples are deleted.
    Outlive,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Drift {
    Delete,
    /// A field gets another value.
    Change(String),
    Remove(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Code(u16),
    DropBefore,
    DropAfter,
    /// The answer is 504, after the effect.
    Timeout,
}

/// A run, as one line of text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Schedule {
    pub(super) phase: Phase,
    pub(super) event: Event,
}

impl Schedule {
    pub(super) fn oracle(&self) -> Oracle {
        match (&self.event, self.phase) {
            (Event::Nothing, Phase::Delete) | (Event::Delete { .. }, _) => Oracle::Deletion,
            (Event::Nothing, _) => Oracle::Quiet,
            (Event::Review, _) => Oracle::Webhooks,
            (Event::Die { .. }, _) => Oracle::Crash,
            (Event::Drift(..), _) => Oracle::Drift,
            (Event::Fault { .. }, _) => Oracle::Faults,
            (Event::History(_), _) => Oracle::History,
            (Event::Recreate { unseen: false }, _) => Oracle::Deletion,
            (
                Event::Rewind { .. }
                | Event::Lag { .. }
                | Event::Miss { .. }
                | Event::DeleteUnseen(_)
                | Event::Recreate { .. },
                _,
            ) => Oracle::Stale,
            (Event::Release(..), _) => Oracle::Release,
            (Event::Neighbour(..) | Event::Beside(..), _) => Oracle::Neighbours,
            (Event::Overlap { .. }, _) => Oracle::Overlap,
        }
    }
}

impl Display for Schedule {
    fn fmt(&self, out: &mut Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self.phase {
            Phase::Create => "create: ",
            Phase::Keep => "keep: ",
            Phase::Delete => "delete: ",
        })?;
        let time = |after: bool| if after { "after" } else { "before" };
        match &self.event {
            Event::Nothing => out.write_str("nothing"),
            Event::Review => out.write_str("review"),
            Event::Die { write, after } => write!(out, "die {} write {write}", time(*after)),
            Event::Delete { write } => write!(out, "delete after write {write}"),
            Event::Drift(drift, key) => {
                let (verb, pointer) = match drift {
                    Drift::Delete => ("delete", ""),
                    Drift::Change(pointer) => ("change", pointer.as_str()),
                    Drift::Remove(pointer) => ("remove", pointer.as_str()),
                };
                let separator = if pointer.is_empty() { "" } else { " " };
                write!(out, "{verb} {} {}/{}{separator}{pointer}", key.0, key.1, key.2)
            }
            Event::History(patches) => write!(out, "patch {}", Value::from(patches.clone())),
            Event::Rewind { write, before } => write!(out, "die after write {write} and list before write {before}"),
            Event::Lag { write, resource } => write!(out, "lag {resource} after write {write}"),
            Event::Miss { write } => write!(out, "miss events after write {write}"),
            Event::DeleteUnseen(key) => write!(out, "delete-unseen {} {}/{}", key.0, key.1, key.2),
            Event::Recreate { unseen } => out.write_str(if *unseen { "recreate-unseen" } else { "recreate" }),
            Event::Neighbour(visit, namespace, name) => {
                let verb = match visit {
                    Visit::Stay => "add",
                    Visit::Leave => "add-and-delete",
                    Visit::Outlive => "outlive",
                };
                write!(out, "{verb} {namespace}/{name}")
            }
            Event::Release(Upgrade::Nothing, name) => write!(out, "release {name}"),
            Event::Release(Upgrade::Delete, name) => write!(out, "release-and-delete {name}"),
            Event::Release(Upgrade::Die { write, after }, name) => {
                write!(out, "release-and-die {name} {} write {write}", time(*after))
            }
            Event::Beside(share, at) => {
                let verb = match share {
                    Share::Both => "beside",
                    Share::Leave => "beside-and-delete",
                    Share::Outlive => "beside-and-outlive",
                };
                write!(out, "{verb} {at}")
            }
            Event::Overlap { write } => write!(out, "take over at write {write}"),
            Event::Fault { request, fault: Fault::Timeout } => write!(out, "answer 504 after request {request}"),
            Event::Fault { request, fault: Fault::Code(code) } => write!(out, "answer {code} to request {request}"),
            Event::Fault { request, fault } => {
                write!(out, "drop {} request {request}", time(*fault == Fault::DropAfter))
            }
        }
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a valid schedule");
        let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
        let (phase, event) = text.split_once(": ").ok_or_else(wrong)?;
        let phase = match phase {
            "create" => Phase::Create,
            "keep" => Phase::Keep,
            "delete" => Phase::Delete,
            _ => return Err(wrong()),
        };
        if let Some(patches) = event.strip_prefix("patch ") {
            let event = Event::History(serde_json::from_str(patches).map_err(|_| wrong())?);
            return Ok(Self { phase, event });
        }
        let words: Vec<&str> = event.splitn(4, ' ').collect();
        let event = match words[..] {
            ["recreate"] => Event::Recreate { unseen: false },
            ["recreate-unseen"] => Event::Recreate { unseen: true },
            ["miss", "events", "after", rest] => {
                Event::Miss { write: number(rest.strip_prefix("write ").ok_or_else(wrong)?)? }
            }
            ["lag", resource, "after", rest] => {
                let write = number(rest.strip_prefix("write ").ok_or_else(wrong)?)?;
                Event::Lag { write, resource: resource.to_owned() }
            }
            ["take", "over", "at", rest] => {
                Event::Overlap { write: number(rest.strip_prefix("write ").ok_or_else(wrong)?)? }
            }
            ["die", "after", "write", rest] if rest.contains(' ') => {
                let (write, before) = rest.split_once(" and list before write ").ok_or_else(wrong)?;
                Event::Rewind { write: number(write)?, before: number(before)? }
            }
            ["release", name] => Event::Release(Upgrade::Nothing, name.to_owned()),
            ["release-and-delete", name] => Event::Release(Upgrade::Delete, name.to_owned()),
            ["release-and-die", name, time, rest] => {
                let write = number(rest.strip_prefix("write ").ok_or_else(wrong)?)?;
                Event::Release(Upgrade::Die { write, after: time == "after" }, name.to_owned())
            }
            ["beside", at] => Event::Beside(Share::Both, number(at)?),
            ["beside-and-delete", at] => Event::Beside(Share::Leave, number(at)?),
            ["beside-and-outlive", at] => Event::Beside(Share::Outlive, number(at)?),
            [verb @ ("add" | "add-and-delete" | "outlive"), place] => {
                let visit = match verb {
                    "add" => Visit::Stay,
                    "outlive" => Visit::Outlive,
                    _ => Visit::Leave,
                };
                let (namespace, name) = place.split_once('/').ok_or_else(wrong)?;
                Event::Neighbour(visit, namespace.to_owned(), name.to_owned())
            }
            ["delete-unseen", resource, place] => {
                let (namespace, name) = place.split_once('/').ok_or_else(wrong)?;
                Event::DeleteUnseen((resource.to_owned(), namespace.to_owned(), name.to_owned()))
            }
            ["answer", "504", "after", rest] => {
                let request = number(rest.strip_prefix("request ").ok_or_else(wrong)?)?;
                Event::Fault { request, fault: Fault::Timeout }
            }
            ["nothing"] => Event::Nothing,
            ["review"] => Event::Review,
            ["die", time, "write", write] => Event::Die { write: number(write)?, after: time == "after" },
            ["delete", "after", "write", write] => Event::Delete { write: number(write)? },
            ["drop", time, "request", request] => {
                let fault = if time == "after" { Fault::DropAfter } else { Fault::DropBefore };
                Event::Fault { request: number(request)?, fault }
            }
            ["answer", code, "to", rest] => {
                let code = code.parse().map_err(|_| wrong())?;
                let request = number(rest.strip_prefix("request ").ok_or_else(wrong)?)?;
                Event::Fault { request, fault: Fault::Code(code) }
            }
            [verb, resource, place, ref rest @ ..] => {
                let pointer = rest.first().copied().unwrap_or_default().to_owned();
                let drift = match verb {
                    "delete" => Drift::Delete,
                    "change" => Drift::Change(pointer),
                    "remove" => Drift::Remove(pointer),
                    _ => return Err(wrong()),
                };
                let (namespace, name) = place.split_once('/').ok_or_else(wrong)?;
                Event::Drift(drift, (resource.to_owned(), namespace.to_owned(), name.to_owned()))
            }
            _ => return Err(wrong()),
        };
        Ok(Self { phase, event })
    }
}

/// The objects of a server without the values that differ between equal runs: times, UIDs, versions, generated names and
/// allocated addresses.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Image(pub(super) BTreeMap<String, Value>);

impl Image {
    pub(super) fn new(server: &ApiServer, ignored: &[String], generated: &[(String, String)]) -> Self {
        let all = server.all();
        let mut names = BTreeMap::new();
        let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for (key, object) in &all {
            let metadata = &object["metadata"];
            if let (Some(name), Some(prefix)) = (metadata["name"].as_str(), metadata["generateName"].as_str()) {
                let count = counts.entry((key.1.as_str(), prefix)).or_default();
                *count += 1;
                names.insert(name.to_owned(), format!("{prefix}#{count}"));
            }
            if let Some(uid) = metadata["uid"].as_str() {
                names.insert(uid.to_owned(), format!("uid of {} {}", key.0, key.2));
            }
        }
        let objects = all.iter().filter(|(key, _)| !ignored.contains(&key.0)).map(|(key, object)| {
            let mut object = object.clone();
            if let Some(metadata) = object["metadata"].as_object_mut() {
                for field in ["managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"] {
                    metadata.remove(field);
                }
            }
            if key.0 == "services"
                && object["spec"]["clusterIP"] != "None"
                && let Some(spec) = object["spec"].as_object_mut()
            {
                spec.remove("clusterIP");
                spec.remove("clusterIPs");
            }
            for (_, pointer) in generated.iter().filter(|(resource, _)| *resource == key.0) {
                if let Some(value) = object.pointer_mut(pointer) {
                    *value = "a generated value".into();
                }
            }
            normalize(&mut object, &names);
            let name = names.get(&key.2).unwrap_or(&key.2);
            (format!("{} {}/{name}", key.0, key.1), object)
        });
        Self(objects.collect())
    }

    /// The objects that `other` has too.
    pub(super) fn within(mut self, other: &Self) -> Self {
        self.0.retain(|place, _| other.0.contains_key(place));
        self
    }

    /// The objects that `other` does not have.
    pub(super) fn without(&self, other: &Self) -> Self {
        let mut image = self.clone();
        image.0.retain(|place, _| !other.0.contains_key(place));
        image
    }

    /// The objects of other resources than these.
    pub(super) fn without_resources(mut self, resources: &[String]) -> Self {
        let is = |place: &str, resource: &String| place.split(' ').next() == Some(resource);
        self.0.retain(|place, _| !resources.iter().any(|resource| is(place, resource)));
        self
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
                    compare("", expected, found, &mut lines);
                }
            }
        }
        lines.extend(found.0.keys().filter(|place| !self.0.contains_key(*place)).map(|place| format!("+ {place}")));
        lines
    }
}

fn normalize(value: &mut Value, names: &BTreeMap<String, String>) {
    match value {
        Value::String(text) => {
            if let Some(name) = names.get(text) {
                text.clone_from(name);
            } else if text.starts_with(TOKEN_VOLUME) {
                TOKEN_VOLUME.clone_into(text);
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

pub(super) fn compare(pointer: &str, expected: &Value, found: &Value, lines: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(before), Value::Object(after)) => {
            let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let pointer = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
                let side = |fields: &serde_json::Map<String, Value>| fields.get(key).cloned().unwrap_or_default();
                compare(&pointer, &side(before), &side(after), lines);
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (at, (before, after)) in before.iter().zip(after).enumerate() {
                compare(&format!("{pointer}/{at}"), before, after, lines);
            }
        }
        _ if expected == found => {}
        _ => {
            for (sign, value) in [("-", expected), ("+", found)] {
                if !value.is_null() {
                    lines.push(format!("{sign}   {pointer}: {value}"));
                }
            }
        }
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
        if entry["subresource"].is_null() && !others.contains(&manager) {
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
        let step = if name.strip_prefix("f:").is_some_and(|field| !key[field].is_null()) {
            continue;
        } else if let Some(field) = name.strip_prefix("f:") {
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
        let Some(inner) = value.pointer(&format!("/{step}")) else {
            continue;
        };
        let pointer = format!("{pointer}/{step}");
        if below.as_object().is_some_and(serde_json::Map::is_empty) {
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

#[cfg(test)]
mod tests {
    use http::Method;
    use serde_json::json;

    use super::Image;
    use crate::server::ApiServer;

    #[test]
    fn generated_names_do_not_depend_on_other_namespaces() {
        let server = ApiServer::new();
        server.add_namespace("a");
        let create = |namespace: &str| {
            let place = ("configmaps".to_owned(), namespace.to_owned(), String::new());
            let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "map-" } });
            server.act(Method::POST, &place, "", "test", &map).unwrap();
        };
        create("default");
        let before = Image::new(&server, &[], &[]);
        create("a");
        assert_eq!(before.diff(&Image::new(&server, &[], &[])), ["+ configmaps a/map-#1"]);
    }
}
