//! Validation of `metadata`.

use serde_json::Value;

use crate::resource::Resource;
use crate::resource::rules::{is_label, is_subdomain};
use crate::response::{FieldError, Refusal};

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
                     and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
                     '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
                         and must start and end with an alphanumeric character (e.g. 'example.com', regex used for \
                         validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', \
                           and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  \
                           or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const NAME_PART: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with \
                         an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation \
                         is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

/// The errors of `metadata` in a new object.
pub(crate) fn validate(resource: &Resource, object: &Value) -> Result<Vec<FieldError>, Refusal> {
    let metadata = &object["metadata"];
    let mut errors = Vec::new();
    let (is_valid, detail): (fn(&str) -> bool, _) = match resource.plural.as_str() {
        "namespaces" | "services" | "statefulsets" if !resource.custom => (is_label, LABEL),
        "roles" | "rolebindings" | "clusterroles" | "clusterrolebindings" | "poddisruptionbudgets"
            if !resource.custom =>
        {
            (is_segment, "")
        }
        _ => (is_subdomain, SUBDOMAIN),
    };
    match metadata["name"].as_str().unwrap_or_default() {
        "" => errors.push(FieldError::required("metadata.name", "name or generateName is required")),
        name if name.len() > 253 || (name.len() > 63 && detail == LABEL) => {
            return Err(Refusal::unsupported("the error for a long name"));
        }
        name if !is_valid(name) && detail.is_empty() => {
            return Err(Refusal::unsupported(&format!("the error for the name {name:?}")));
        }
        name if detail == LABEL && name.contains('.') => {
            if !is_subdomain(name) {
                return Err(Refusal::unsupported(&format!("the errors for the name {name:?}")));
            }
            errors.push(FieldError::invalid("metadata.name", &metadata["name"], "must not contain dots"));
        }
        name if !is_valid(name) => {
            errors.push(FieldError::invalid("metadata.name", &metadata["name"], detail));
        }
        _ => {}
    }
    if let Some(prefix) = metadata["generateName"].as_str()
        && !is_valid(&format!("{prefix}x"))
    {
        return Err(Refusal::unsupported("the error for an invalid generateName"));
    }
    errors.extend(labels(metadata)?);
    errors.extend(annotations(metadata)?);
    errors.extend(owners(metadata)?);
    for finalizer in metadata["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        // Built-in kinds want a domain before the name.
        let is_known = resource.custom || finalizer.contains('/') || is_standard(finalizer);
        if !is_qualified(finalizer) || !is_known {
            return Err(Refusal::unsupported(&format!("the error for the finalizer {finalizer:?}")));
        }
    }
    Ok(errors)
}

/// True for a name that can be a part of a path.
fn is_segment(name: &str) -> bool {
    name != "." && name != ".." && !name.contains(['/', '%'])
}

fn is_standard(finalizer: &str) -> bool {
    matches!(finalizer, "orphan" | "foregroundDeletion" | "kubernetes")
}

fn labels(metadata: &Value) -> Result<Vec<FieldError>, Refusal> {
    let mut errors = Vec::new();
    for (key, value) in metadata["labels"].as_object().into_iter().flatten() {
        if !is_qualified(key) {
            errors.push(qualified_error("metadata.labels", key)?);
        }
        let value = value.as_str().unwrap_or_default();
        if value.len() > 63 {
            return Err(Refusal::unsupported("the error for a long value of a label"));
        }
        if !value.is_empty() && !is_name_part(value) {
            errors.push(FieldError::invalid("metadata.labels", &value.into(), LABEL_VALUE));
        }
    }
    Ok(errors)
}

fn annotations(metadata: &Value) -> Result<Vec<FieldError>, Refusal> {
    let mut errors = Vec::new();
    let mut size = 0;
    for (key, value) in metadata["annotations"].as_object().into_iter().flatten() {
        if !is_qualified(&key.to_lowercase()) {
            errors.push(qualified_error("metadata.annotations", key)?);
        }
        size += key.len() + value.as_str().unwrap_or_default().len();
    }
    if size > 256 * 1024 {
        return Err(Refusal::unsupported("the error for large annotations"));
    }
    Ok(errors)
}

fn owners(metadata: &Value) -> Result<Vec<FieldError>, Refusal> {
    let mut errors = Vec::new();
    let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
    if owners.clone().filter(|owner| owner["controller"] == true).count() > 1 {
        return Err(Refusal::unsupported("the error for two controlling owners"));
    }
    for (at, owner) in owners.enumerate() {
        for field in ["apiVersion", "kind", "name", "uid"] {
            if owner[field].as_str().unwrap_or_default().is_empty() {
                let detail = if field == "apiVersion" { "version must not be empty" } else { "must not be empty" };
                let path = format!("metadata.ownerReferences[{at}].{field}");
                errors.push(FieldError::invalid(path, &"".into(), detail));
            }
        }
    }
    // The server leaves the index out.
    errors.iter_mut().for_each(|error| {
        if let (Some(start), Some(end)) = (error.field.find('['), error.field.find(']')) {
            error.field.replace_range(start..=end, "");
        }
    });
    Ok(errors)
}

fn is_name_part(text: &str) -> bool {
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    text.len() <= 63
        && ends(bytes.first())
        && ends(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

/// True for a name with an optional domain before it.
fn is_qualified(key: &str) -> bool {
    match key.split_once('/') {
        Some((domain, name)) => is_subdomain(domain) && is_name_part(name),
        None => is_name_part(key),
    }
}

fn qualified_error(field: &str, key: &str) -> Result<FieldError, Refusal> {
    if key.contains('/') || key.is_empty() || key.len() > 63 {
        return Err(Refusal::unsupported(&format!("the error for the key {key:?} in {field}")));
    }
    Ok(FieldError::invalid(field, &key.into(), NAME_PART))
}

/// The errors of `metadata` in an update, which kube-apiserver collects twice.
pub(crate) fn validate_update(object: &Value, old: &Value) -> Result<Vec<FieldError>, Refusal> {
    let (new, old) = (&object["metadata"], &old["metadata"]);
    let mut errors = Vec::new();
    if !old["deletionTimestamp"].is_null() {
        let known = old["finalizers"].as_array().cloned().unwrap_or_default();
        let mut added: Vec<&str> = new["finalizers"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|finalizer| !known.contains(finalizer))
            .filter_map(Value::as_str)
            .collect();
        added.sort_unstable();
        if !added.is_empty() {
            let detail = "no new finalizers can be added if the object is being deleted, found new finalizers";
            let shown: Vec<String> = added.iter().map(|finalizer| format!("{finalizer:?}")).collect();
            let detail = format!("{detail} []string{{{}}}", shown.join(", "));
            errors.push(FieldError::forbidden("metadata.finalizers", &detail));
        }
    }
    let immutable =
        ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"];
    for field in immutable {
        if new[field] != old[field] {
            errors.push(FieldError::invalid(format!("metadata.{field}"), &new[field], "field is immutable"));
        }
    }
    errors.extend(labels(new)?);
    errors.extend(annotations(new)?);
    errors.extend(owners(new)?);
    Ok(errors)
}
