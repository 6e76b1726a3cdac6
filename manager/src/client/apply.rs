//! The payload of server-side apply.

use kube::ResourceExt;
use serde_json::{Value, json};

use crate::object::{Kind, Object};

/// A condition on the server's object. The server rejects the request if it does not hold.
pub(crate) enum Precondition {
    None,
    /// The object must not exist. Otherwise the answer is a conflict.
    Absent,
    /// The object must have this UID. Otherwise the request is invalid.
    Uid(String),
}

impl Precondition {
    pub(crate) fn same_as<K: Object>(object: &K) -> Self {
        object.uid().map_or(Self::None, Self::Uid)
    }
}

/// Returns `object` as a manifest, with `apiVersion` and `kind`.
pub(crate) fn manifest<K: Object>(kind: &Kind<K>, object: &K) -> serde_json::Result<Value> {
    let mut value = serde_json::to_value(object)?;
    value["apiVersion"] = json!(kind.api_version());
    value["kind"] = json!(kind.name());
    Ok(value)
}

pub(crate) fn provided(manifest: &Value, precondition: Precondition) -> Value {
    let mut value = manifest.clone();
    match precondition {
        Precondition::None => {}
        // The server compares the version only with an existing object, and no object has version 1.
        Precondition::Absent => value["metadata"]["resourceVersion"] = json!("1"),
        Precondition::Uid(uid) => value["metadata"]["uid"] = json!(uid),
    }
    value
}
