//! Fields that all objects and Deployments have.

use serde_json::Value;

pub(in crate::ship) fn kind(object: &Value) -> &str {
    text(&object["kind"])
}

pub(in crate::ship) fn name(object: &Value) -> &str {
    text(&object["metadata"]["name"])
}

/// Returns the namespace of an object; empty if it has none.
pub(in crate::ship) fn namespace(object: &Value) -> &str {
    text(&object["metadata"]["namespace"])
}

/// Returns the namespace of an object, if it has one.
pub(in crate::ship) fn home(object: &Value) -> Option<&str> {
    object["metadata"]["namespace"].as_str()
}

/// Returns the API group of an object; empty for the core.
pub(in crate::ship) fn group(object: &Value) -> &str {
    text(&object["apiVersion"]).split_once('/').map_or("", |(group, _)| group)
}

/// Returns the version of an object, without its group.
pub(in crate::ship) fn version(object: &Value) -> &str {
    let version = text(&object["apiVersion"]);
    version.split_once('/').map_or(version, |(_, version)| version)
}

/// `Kind NAME`, for messages.
pub(in crate::ship) fn shown(object: &Value) -> String {
    format!("{} `{}`", kind(object), name(object))
}

/// Returns the text of a string; empty for any other value.
pub(in crate::ship) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns the items of a list; empty for any other value.
pub(in crate::ship) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns the pod spec of a Deployment.
pub(in crate::ship) fn pod(deployment: &Value) -> &Value {
    &deployment["spec"]["template"]["spec"]
}

/// Returns the containers of a Deployment, then its init containers.
pub(in crate::ship) fn containers(deployment: &Value) -> impl Iterator<Item = &Value> {
    let pod = pod(deployment);
    items(&pod["containers"]).iter().chain(items(&pod["initContainers"]))
}
