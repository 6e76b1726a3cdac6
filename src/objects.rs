//! Rendered objects, as charts and bundles read them: which of them is the manager, and which values name other objects.

pub(crate) mod manager;
pub(crate) mod references;
mod text;
mod words;

use serde_json::Value;

/// Returns the kind of an object.
pub(crate) fn kind(object: &Value) -> &str {
    object["kind"].as_str().unwrap_or_default()
}

/// Returns the name of an object.
pub(crate) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// Returns the namespace of an object, if it has one.
pub(crate) fn namespace(object: &Value) -> Option<&str> {
    object["metadata"]["namespace"].as_str()
}
