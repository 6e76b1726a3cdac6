//! The fields in which two CRDs differ.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The maximum number of places in a message.
const SHOWN: usize = 4;

const SHIPPED_ONLY: &str = "only shipped";
const SOURCE_ONLY: &str = "only in the source";

/// Paths of fields, each with the keywords that differ.
type Places = BTreeMap<String, BTreeSet<String>>;

/// Lists the places as the end of a sentence: ``in 2 places: `v1 spec.size` (minimum), `spec.names` (shortNames)``.
pub(super) fn listed(shipped: &Value, source: &Value) -> String {
    let mut places = Places::new();
    of_crd(shipped, source, &mut places);
    if !places.is_empty() && places.values().flatten().all(|keyword| keyword == "description") {
        return format!("only in {}", counted(places.len(), "description"));
    }
    let shown: Vec<String> = places.iter().take(SHOWN).map(place).collect();
    let more = places.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("in {}: {}{more}", counted(places.len(), "place"), shown.join(", "))
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn place((path, keywords): (&String, &BTreeSet<String>)) -> String {
    let keywords: Vec<&str> = keywords.iter().map(String::as_str).collect();
    format!("`{path}` ({})", keywords.join(", "))
}

fn add(places: &mut Places, path: &str, keyword: &str) {
    places.entry(path.to_owned()).or_default().insert(keyword.to_owned());
}

fn of_crd(shipped: &Value, source: &Value, places: &mut Places) {
    for key in keys(shipped, source) {
        if key != "spec" && shipped[&key] != source[&key] {
            add(places, "CustomResourceDefinition", &key);
        }
    }
    let (shipped, source) = (&shipped["spec"], &source["spec"]);
    for key in keys(shipped, source) {
        match (key.as_str(), shipped.get(&key), source.get(&key)) {
            (_, shipped, source) if shipped == source => {}
            ("versions", Some(shipped), Some(source)) => of_versions(shipped, source, places),
            ("names", Some(shipped), Some(source)) => {
                for name in keys(shipped, source).iter().filter(|name| shipped.get(name) != source.get(name)) {
                    add(places, "spec.names", name);
                }
            }
            _ => add(places, "spec", &key),
        }
    }
}

fn of_versions(shipped: &Value, source: &Value, places: &mut Places) {
    let by_name = |versions: &Value| -> BTreeMap<String, Value> {
        let versions = versions.as_array().into_iter().flatten();
        versions.map(|version| (version["name"].as_str().unwrap_or_default().to_owned(), version.clone())).collect()
    };
    let (shipped, source) = (by_name(shipped), by_name(source));
    for name in shipped.keys().chain(source.keys()).collect::<BTreeSet<_>>() {
        match (shipped.get(name), source.get(name)) {
            (Some(_), None) => add(places, name, SHIPPED_ONLY),
            (None, Some(_)) => add(places, name, SOURCE_ONLY),
            (Some(shipped), Some(source)) => of_version(name, shipped, source, places),
            (None, None) => {}
        }
    }
}

fn of_version(name: &str, shipped: &Value, source: &Value, places: &mut Places) {
    for key in keys(shipped, source).iter().filter(|key| shipped.get(key) != source.get(key)) {
        if key == "schema" {
            let (shipped, source) = (&shipped[key]["openAPIV3Schema"], &source[key]["openAPIV3Schema"]);
            of_schema(&FieldPlace { version: name, fields: String::new() }, shipped, source, places);
        } else {
            add(places, name, key);
        }
    }
}

/// A field of a version.
struct FieldPlace<'a> {
    version: &'a str,
    fields: String,
}

impl FieldPlace<'_> {
    fn then(&self, step: &str) -> Self {
        let dot = if self.fields.is_empty() || step == "[]" { "" } else { "." };
        Self { fields: format!("{}{dot}{step}", self.fields), ..*self }
    }

    fn add(&self, places: &mut Places, keyword: &str) {
        add(places, format!("{} {}", self.version, self.fields).trim_end(), keyword);
    }
}

fn of_schema(path: &FieldPlace<'_>, shipped: &Value, source: &Value, places: &mut Places) {
    for key in keys(shipped, source) {
        match (key.as_str(), shipped.get(&key), source.get(&key)) {
            (_, shipped, source) if shipped == source => {}
            ("properties", shipped, source) => {
                let none = Value::Null;
                let (shipped, source) = (shipped.unwrap_or(&none), source.unwrap_or(&none));
                for name in keys(shipped, source) {
                    let path = path.then(&name);
                    match (shipped.get(&name), source.get(&name)) {
                        (Some(_), None) => path.add(places, SHIPPED_ONLY),
                        (None, Some(_)) => path.add(places, SOURCE_ONLY),
                        (Some(shipped), Some(source)) => of_schema(&path, shipped, source, places),
                        (None, None) => {}
                    }
                }
            }
            ("items", Some(shipped), Some(source)) => of_schema(&path.then("[]"), shipped, source, places),
            ("additionalProperties", Some(shipped @ Value::Object(_)), Some(source @ Value::Object(_))) => {
                of_schema(&path.then("*"), shipped, source, places);
            }
            _ => path.add(places, &key),
        }
    }
}

/// The keys of both objects.
fn keys(one: &Value, other: &Value) -> BTreeSet<String> {
    [one, other].into_iter().filter_map(Value::as_object).flat_map(|map| map.keys().cloned()).collect()
}
