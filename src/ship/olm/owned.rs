//! The CRDs of a CSV, with descriptors of their fields.

use serde_json::{Map, Value, json};

use crate::ship::objects::{items, name, text};

/// Returns one entry for each served version of a CRD. Entries and fields in `base` come from the author; the schema provides the
/// rest.
pub(super) fn owned(crds: &[Value], base: &[Value]) -> Vec<Value> {
    let mut all = Vec::new();
    for crd in crds {
        let kind = &crd["spec"]["names"]["kind"];
        for version in items(&crd["spec"]["versions"]).iter().filter(|version| version["served"] != false) {
            let of_base = base.iter().find(|entry| {
                entry["name"] == *name(crd) && entry["version"] == version["name"] && entry["kind"] == *kind
            });
            let mut entry = of_base.cloned().unwrap_or_else(|| json!({}));
            let schema = &version["schema"]["openAPIV3Schema"];
            let mut say = |key: &str, value: Value| {
                if entry[key].is_null() || entry[key] == "" {
                    entry[key] = value;
                }
            };
            say("name", name(crd).into());
            say("version", version["name"].clone());
            say("kind", kind.clone());
            say("displayName", words(text(kind)).into());
            say("description", Some(line(schema)).filter(|line| !line.is_empty()).map_or(Value::Null, Value::from));
            for (part, list) in [("spec", "specDescriptors"), ("status", "statusDescriptors")] {
                let fields = schema["properties"][part]["properties"].as_object();
                let descriptors = descriptors(fields, items(&entry[list]));
                if !descriptors.is_empty() {
                    entry[list] = descriptors.into();
                }
            }
            if let Some(entry) = entry.as_object_mut() {
                entry.retain(|_, value| !value.is_null());
            }
            all.push(entry);
        }
    }
    all.sort_by(|a, b| {
        let key = |entry: &Value| (text(&entry["name"]).to_owned(), text(&entry["version"]).to_owned());
        key(a).cmp(&key(b))
    });
    all
}

/// Returns a descriptor for each top-level field, and the descriptors of the author, which may describe nested fields.
fn descriptors(fields: Option<&Map<String, Value>>, base: &[Value]) -> Vec<Value> {
    let mut all: Vec<Value> = base.to_vec();
    for (field, schema) in fields.into_iter().flatten() {
        let at = all.iter().position(|descriptor| descriptor["path"] == *field).unwrap_or_else(|| {
            all.push(json!({ "path": field }));
            all.len() - 1
        });
        let descriptor = &mut all[at];
        if descriptor["displayName"].is_null() {
            descriptor["displayName"] = words(field).into();
        }
        if descriptor["description"].is_null() && !line(schema).is_empty() {
            descriptor["description"] = line(schema).into();
        }
    }
    all.sort_by(|a, b| text(&a["path"]).cmp(text(&b["path"])));
    all
}

/// Returns the first paragraph of a description in one line.
fn line(schema: &Value) -> String {
    let paragraph = text(&schema["description"]).split("\n\n").next().unwrap_or_default();
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Converts `containerPort` to `Container Port`, and `HTTPServer` to `HTTP Server`.
pub(super) fn words(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut words = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| letters[before]);
        let begins = letter.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_ascii_digit()
                    || before.is_uppercase() && letters.get(at + 1).is_some_and(|next| next.is_lowercase())
            });
        match before {
            None | Some('-' | '_' | ' ') => words.extend(letter.to_uppercase()),
            Some(_) if matches!(letter, '-' | '_' | ' ') => words.push(' '),
            Some(_) => {
                if begins {
                    words.push(' ');
                }
                words.push(*letter);
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn a_name_is_words() {
        for (name, expected) in [
            ("containerPort", "Container Port"),
            ("size", "Size"),
            ("HTTPServer", "HTTP Server"),
            ("clusterIPs", "Cluster I Ps"),
            ("memcached-operator", "Memcached Operator"),
            ("", ""),
        ] {
            assert_eq!(words(name), expected);
        }
    }
}
