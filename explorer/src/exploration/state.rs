//! States: the objects of a cluster without the values that differ between equal runs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{ObjectKey, place};

/// The start of the generated name of a volume in each Pod.
const TOKEN_VOLUME: &str = "kube-api-access-";

/// The place of fields: a resource or the place of an object, and a JSON pointer in the compared form of objects.
pub type ComparedField = (String, String);

/// Objects by their place, without values that differ between equal runs: times, UIDs, versions, generated names and
/// allocated addresses.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterState(pub BTreeMap<String, Value>);

impl ClusterState {
    /// The state without the values of the fields in `generated`.
    pub fn new(objects: BTreeMap<ObjectKey, Value>, generated: &BTreeSet<ComparedField>) -> Self {
        let mut names = BTreeMap::new();
        let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for ((resource, namespace, name), object) in &objects {
            let metadata = &object["metadata"];
            if let Some(prefix) = metadata["generateName"].as_str() {
                let count = counts.entry((namespace, prefix)).or_default();
                *count += 1;
                names.insert(name.clone(), format!("{prefix}#{count}"));
            }
            if let Some(uid) = metadata["uid"].as_str() {
                names.insert(uid.to_owned(), format!("uid of {resource} {name}"));
            }
        }
        let states = objects.into_iter().map(|(mut key, mut object)| {
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
            normalize(&mut object, &names);
            if let Some(name) = names.get(&key.2) {
                key.2.clone_from(name);
            }
            (place(&key), object)
        });
        Self(states.collect()).without_values(generated)
    }

    /// The state without the values of the fields in `generated`.
    #[must_use]
    pub fn without_values(mut self, generated: &BTreeSet<ComparedField>) -> Self {
        for (place, object) in &mut self.0 {
            let resource = place.split(' ').next();
            for (_, pointer) in generated.iter().filter(|(of, _)| of == place || Some(of.as_str()) == resource) {
                if let Some(value) = object.pointer_mut(pointer) {
                    *value = "a generated value".into();
                }
            }
        }
        self
    }

    /// The objects that `other` has too.
    #[must_use]
    pub fn within(mut self, other: &Self) -> Self {
        self.0.retain(|place, _| other.0.contains_key(place));
        self
    }

    /// The objects that `other` does not have.
    #[must_use]
    pub fn without(mut self, other: &Self) -> Self {
        self.0.retain(|place, _| !other.0.contains_key(place));
        self
    }

    /// The objects of other resources than these.
    #[must_use]
    pub fn without_resources(mut self, resources: &[String]) -> Self {
        self.0.retain(|place, _| !resources.iter().any(|resource| place.split(' ').next() == Some(resource)));
        self
    }

    /// The lines of a diff, without common fields.
    pub fn diff(&self, found: &Self) -> Vec<String> {
        let mut all = Vec::new();
        for (place, expected) in &self.0 {
            match found.0.get(place) {
                None => all.push(format!("- {place}")),
                Some(found) if found == expected => {}
                Some(found) => {
                    all.push(format!("  {place}"));
                    all.extend(lines(expected, found));
                }
            }
        }
        all.extend(found.0.keys().filter(|place| !self.0.contains_key(*place)).map(|place| format!("+ {place}")));
        all
    }

    /// The fields with different values in both states.
    pub fn differing(&self, other: &Self) -> BTreeSet<ComparedField> {
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

/// The lines of a diff of two objects.
pub(crate) fn lines(expected: &Value, found: &Value) -> Vec<String> {
    let mut fields = Vec::new();
    compare("", expected, found, &mut fields);
    let sides = fields
        .into_iter()
        .flat_map(|(pointer, before, after)| [("-", pointer.clone(), before), ("+", pointer, after)])
        .filter(|(.., value)| !value.is_null());
    sides.map(|(sign, pointer, value)| format!("{sign}   {pointer}: {value}")).collect()
}

fn normalize(value: &mut Value, names: &BTreeMap<String, String>) {
    match value {
        Value::String(text) => {
            if let Some(name) = names.get(text) {
                text.clone_from(name);
            } else if is_token_volume(text) {
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

/// Returns true for the name that the API server gives to the volume with the token of a Pod: it ends in five random
/// letters or digits.
fn is_token_volume(text: &str) -> bool {
    let is_letter = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    text.strip_prefix(TOKEN_VOLUME).is_some_and(|end| end.len() == 5 && end.bytes().all(is_letter))
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn state(object: &Value, generated: &[(&str, &str)]) -> ClusterState {
        let resource = format!("{}s", object["kind"].as_str().unwrap().to_lowercase());
        let key = (resource, "default".to_owned(), object["metadata"]["name"].as_str().unwrap().to_owned());
        let generated = generated.iter().map(|(of, pointer)| ((*of).to_owned(), (*pointer).to_owned())).collect();
        ClusterState::new([(key, object.clone())].into(), &generated)
    }

    #[test]
    fn states_differ_in_values_that_the_operator_chooses() {
        let map = |uid: &str, time: &str, data: Value| {
            let metadata = json!({ "name": "a", "uid": uid, "resourceVersion": uid, "creationTimestamp": time });
            json!({ "kind": "ConfigMap", "metadata": metadata, "data": data, "owner": uid, "at": time })
        };
        let before = map("u1", "2026-01-01T00:00:00Z", json!({ "a": "1", "b": "2" }));
        let after = map("u2", "2026-01-01T00:00:01Z", json!({ "a": "1", "b": "3" }));
        let [one, two] = [&before, &after].map(|object| state(object, &[]));
        let expected = ["  configmaps default/a", "-   /data/b: \"2\"", "+   /data/b: \"3\""];
        assert_eq!(one.diff(&two), expected);
        assert_eq!(one.diff(&ClusterState(BTreeMap::new())), ["- configmaps default/a"]);
        let field = ("configmaps default/a".to_owned(), "/data/b".to_owned());
        assert_eq!(one.differing(&two), [field].into());
        for of in ["configmaps", "configmaps default/a"] {
            let [one, two] = [&before, &after].map(|object| state(object, &[(of, "/data/b")]));
            assert_eq!(one.diff(&two), [""; 0]);
        }
    }

    #[test]
    fn generated_names_do_not_depend_on_other_namespaces() {
        let map = |namespace: &str| {
            let key = ("configmaps".to_owned(), namespace.to_owned(), format!("map-{namespace}"));
            (key, json!({ "metadata": { "generateName": "map-" } }))
        };
        let before = ClusterState::new([map("default")].into(), &BTreeSet::new());
        let after = ClusterState::new([map("a"), map("default")].into(), &BTreeSet::new());
        assert_eq!(before.diff(&after), ["+ configmaps a/map-#1"]);
    }

    #[test]
    fn the_token_volume_of_a_pod_has_no_random_end() {
        let pod = |volume: &str| state(&json!({ "kind": "Pod", "metadata": { "name": "a" }, "volume": volume }), &[]);
        assert_eq!(pod("kube-api-access-b4x9z").diff(&pod("kube-api-access-2bcdf")), [""; 0]);
        // The operator may choose a name with this start.
        assert_eq!(pod("kube-api-access-mine").diff(&pod("kube-api-access-own")).len(), 3);
    }

    #[test]
    fn a_generated_field_is_one_of_the_compared_form() {
        let conditions = |first: &str, time: &str| {
            let (ready, other) = (json!({ "type": "Ready", "at": time }), json!({ "type": "A", "at": "b" }));
            let list = if first == "Ready" { json!([ready, other]) } else { json!([other, ready]) };
            let object = json!({ "kind": "Shop", "metadata": { "name": "a" }, "conditions": list });
            state(&object, &[("shops", "/conditions/1/at")])
        };
        assert_eq!(conditions("Ready", "one").diff(&conditions("A", "two")), [""; 0]);
    }
}
