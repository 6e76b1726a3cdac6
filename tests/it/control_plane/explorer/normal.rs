//! Answers without times, UIDs and other values that two servers cannot share.

use std::collections::BTreeMap;

use serde_json::Value;

/// Replaces values by the order in which they appear, so that equal and changed values can be told apart.
#[derive(Default)]
pub(super) struct Normal {
    uids: BTreeMap<String, usize>,
    versions: BTreeMap<String, usize>,
}

impl Normal {
    pub(super) fn of(&mut self, value: &Value) -> Value {
        let mut value = value.clone();
        if value["items"].is_array() || value["type"] == "BOOKMARK" {
            // Other objects of the real server have revisions too.
            value["metadata"]["resourceVersion"] = "".into();
        }
        if value["metadata"]["continue"].as_str().is_some_and(|token| !token.is_empty()) {
            value["metadata"]["continue"] = "token".into();
        }
        if value["details"]["causes"].as_array().is_some_and(|causes| causes.len() > 1) {
            // The real server finds the errors in the order of Go's maps.
            let message = value["message"].as_str().unwrap();
            value["message"] = message.split([':', '[']).next().unwrap().into();
        }
        self.walk("", &mut value);
        value
    }

    fn walk(&mut self, field: &str, value: &mut Value) {
        if value["status"]["phase"] == "Terminating"
            && let Some(finalizers) = value["metadata"]["finalizers"].as_array_mut()
        {
            // The deletion of a namespace puts them into the order of Go's maps.
            finalizers.sort_by_key(Value::to_string);
        }
        match value {
            Value::Object(map) => map.iter_mut().for_each(|(field, value)| self.walk(field, value)),
            Value::Array(values) => {
                values.iter_mut().for_each(|value| self.walk(field, value));
                if field == "managedFields" {
                    // Entries are sorted by time.
                    values.sort_by_key(Value::to_string);
                }
                if field == "causes" {
                    values.sort_by_key(Value::to_string);
                }
            }
            Value::String(text) => {
                if field == "resourceVersion" && !text.is_empty() {
                    *text = format!("version {}", number(&mut self.versions, text));
                } else {
                    *text = self.text(text);
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) -> String {
        let mut out = String::new();
        for word in split(text) {
            let is_uid = word.len() == 36 && word.matches('-').count() == 4;
            let is_time = word.len() >= 20 && word.ends_with('Z') && word.contains('T') && word.contains(':');
            if is_uid {
                out.push_str(&format!("uid {}", number(&mut self.uids, word)));
            } else if is_time {
                out.push_str("time");
            } else if word.starts_with("10.96.") {
                out.push_str("address");
            } else if let Some(rest) = word.strip_prefix("kube-api-access-") {
                assert_eq!(rest.len(), 5);
                out.push_str("kube-api-access");
            } else if word.starts_with("explorer-") {
                // After the numbers of the process and of the run comes the name of an object without a namespace.
                let rest = word.splitn(4, '-').nth(3);
                out.push_str(&rest.map_or("namespace".to_owned(), |rest| format!("namespace-{rest}")));
            } else if [
                "in record (",
                "ResourceVersion in the precondition (",
                "ResourceVersion in precondition: ",
                "ResourceVersion in object meta: ",
            ]
            .into_iter()
            .any(|before| out.ends_with(before))
            {
                out.push_str("version");
            } else {
                out.push_str(word);
            }
        }
        out
    }
}

fn number(known: &mut BTreeMap<String, usize>, text: &str) -> usize {
    let next = known.len();
    *known.entry(text.to_owned()).or_insert(next)
}

/// Splits a text into words and what is between them.
fn split(text: &str) -> Vec<&str> {
    let is_inner = |letter: char| letter.is_ascii_alphanumeric() || "-.:_".contains(letter);
    let mut parts = Vec::new();
    let mut start = 0;
    let mut inside = None;
    for (at, letter) in text.char_indices() {
        let now = is_inner(letter);
        if inside.is_some_and(|before| before != now) {
            parts.push(&text[start..at]);
            start = at;
        }
        inside = Some(now);
    }
    parts.push(&text[start..]);
    parts
}
