//! What server-side apply is sent.

use kube::ResourceExt;
use serde_json::{Value, json};

use crate::object::{Kind, Object};

/// What must be so on the server; otherwise it changes nothing.
pub(crate) enum Precondition {
    /// Nothing.
    None,
    /// The object does not exist; else the answer is a conflict.
    Absent,
    /// The object still is the one with this UID; else the request is invalid.
    Uid(String),
}

impl Precondition {
    pub(crate) fn same_as<K: Object>(object: &K) -> Self {
        object.uid().map_or(Self::None, Self::Uid)
    }
}

/// `object` as server-side apply wants it.
pub(crate) fn manifest<K: Object>(kind: &Kind<K>, object: &K) -> serde_json::Result<Value> {
    let mut value = serde_json::to_value(object)?;
    value["apiVersion"] = json!(kind.api_version());
    value["kind"] = json!(kind.name());
    Ok(value)
}

/// What to send, so that the server applies it only under this condition.
pub(crate) fn provided(manifest: &Value, precondition: Precondition) -> Value {
    let mut value = manifest.clone();
    match precondition {
        Precondition::None => {}
        // The server compares it with what is there, and with nothing else; no object has the first version.
        Precondition::Absent => value["metadata"]["resourceVersion"] = json!("1"),
        Precondition::Uid(uid) => value["metadata"]["uid"] = json!(uid),
    }
    value
}
