//! Rendered objects, as charts and bundles read them: which of them is the manager, and which values name other objects.

pub(super) mod manager;
pub(super) mod references;
mod text;
pub(super) mod words;

use serde_json::Value;

pub(super) fn kind(object: &Value) -> &str {
    text(&object["kind"])
}

pub(super) fn name(object: &Value) -> &str {
    text(&object["metadata"]["name"])
}

/// Returns the namespace of an object; empty if it has none.
pub(super) fn namespace(object: &Value) -> &str {
    text(&object["metadata"]["namespace"])
}

/// Returns the namespace of an object, if it has one.
pub(super) fn home(object: &Value) -> Option<&str> {
    object["metadata"]["namespace"].as_str()
}

/// Returns the API group of an object; empty for the core.
pub(super) fn group(object: &Value) -> &str {
    text(&object["apiVersion"]).split_once('/').map_or("", |(group, _)| group)
}

/// Returns the version of an object, without its group.
pub(super) fn version(object: &Value) -> &str {
    let version = text(&object["apiVersion"]);
    version.split_once('/').map_or(version, |(_, version)| version)
}

/// `Kind NAME`, for messages.
pub(super) fn shown(object: &Value) -> String {
    format!("{} `{}`", kind(object), name(object))
}

/// Returns the text of a string; empty for any other value.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns the items of a list; empty for any other value.
pub(super) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns the pod spec of a Deployment.
pub(super) fn pod(deployment: &Value) -> &Value {
    &deployment["spec"]["template"]["spec"]
}

/// Returns the containers of a Deployment, then its init containers.
pub(super) fn containers(deployment: &Value) -> impl Iterator<Item = &Value> {
    let pod = pod(deployment);
    items(&pod["containers"]).iter().chain(items(&pod["initContainers"]))
}
