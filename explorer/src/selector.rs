//! Label and field selectors.

use serde_json::Value;

use crate::resource::Resource;
use crate::response::Refusal;

/// Requirements that an object must meet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<FieldRequirement>,
}

#[derive(Clone, Debug)]
enum Requirement {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Missing(String),
}

#[derive(Clone, Debug)]
struct FieldRequirement {
    path: Vec<String>,
    value: String,
    equal: bool,
}

impl Selector {
    pub(crate) fn read(resource: &Resource, labels: &str, fields: &str) -> Result<Self, Refusal> {
        Ok(Self { labels: read_labels(labels)?, fields: read_fields(resource, fields)? })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        self.labels.iter().all(|requirement| match requirement {
            Requirement::In(key, values) => labels[key].as_str().is_some_and(|value| values.iter().any(|v| v == value)),
            Requirement::NotIn(key, values) => {
                labels[key].as_str().is_none_or(|value| values.iter().all(|v| v != value))
            }
            Requirement::Exists(key) => !labels[key].is_null(),
            Requirement::Missing(key) => labels[key].is_null(),
        }) && self.fields.iter().all(|field| {
            let found = field.path.iter().fold(object, |value, name| &value[name]);
            (found.as_str().unwrap_or_default() == field.value) == field.equal
        })
    }
}

/// Splits at commas outside of parentheses.
fn parts(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text.is_empty() {
        parts.push(&text[start..]);
    }
    parts
}

fn read_labels(text: &str) -> Result<Vec<Requirement>, Refusal> {
    let mut requirements = Vec::new();
    for part in parts(text) {
        let part = part.trim();
        let one = |value: &str| vec![value.trim().to_owned()];
        let key = |key: &str| key.trim().to_owned();
        let set = part.strip_suffix(')').and_then(|part| part.split_once('('));
        let requirement = if let Some((left, values)) = set {
            let values = values.split(',').map(|value| value.trim().to_owned()).collect();
            match left.trim().split_once(char::is_whitespace) {
                Some((name, operator)) if operator.trim() == "in" => Requirement::In(key(name), values),
                Some((name, operator)) if operator.trim() == "notin" => Requirement::NotIn(key(name), values),
                _ => {
                    return Err(Refusal::unsupported(&format!("the label selector {text:?}")));
                }
            }
        } else if let Some((name, value)) = part.split_once("!=") {
            Requirement::NotIn(key(name), one(value))
        } else if let Some((name, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
            Requirement::In(key(name), one(value))
        } else if let Some(name) = part.strip_prefix('!') {
            Requirement::Missing(key(name))
        } else {
            Requirement::Exists(key(part))
        };
        let (Requirement::In(name, _)
        | Requirement::NotIn(name, _)
        | Requirement::Exists(name)
        | Requirement::Missing(name)) = &requirement;
        if name.is_empty() || name.contains(|letter: char| !letter.is_ascii_alphanumeric() && !"-_./".contains(letter))
        {
            return Err(Refusal::unsupported(&format!("the label selector {text:?}")));
        }
        requirements.push(requirement);
    }
    Ok(requirements)
}

fn read_fields(resource: &Resource, text: &str) -> Result<Vec<FieldRequirement>, Refusal> {
    let mut requirements = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (name, value, equal) = if let Some((name, value)) = part.split_once("!=") {
            (name, value, false)
        } else if let Some((name, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
            (name, value, true)
        } else {
            return Err(Refusal::unsupported(&format!("the field selector {text:?}")));
        };
        let own: &[&str] = match (resource.custom, resource.plural.as_str()) {
            (false, "pods") => &["spec.nodeName", "status.phase", "spec.serviceAccountName", "spec.restartPolicy"],
            (false, "secrets") => &["type"],
            _ => &[],
        };
        if !["metadata.name", "metadata.namespace"].contains(&name) && !own.contains(&name) {
            return Err(Refusal::unsupported(&format!("the field selector {text:?}")));
        }
        requirements.push(FieldRequirement {
            path: name.split('.').map(str::to_owned).collect(),
            value: value.to_owned(),
            equal,
        });
    }
    Ok(requirements)
}
