//! Rendered objects → a bundle for the Operator Lifecycle Manager (OLM), bundles → a catalog; and what is to be said of bundles.
//!
//! A bundle is a folder: `manifests/` with the `ClusterServiceVersion` (CSV) and the objects beside it, `metadata/` with its
//! annotations, `tests/`. The formats are those of <https://olm.operatorframework.io/docs/tasks/creating-operator-bundle/>.

pub(crate) mod base;
pub(crate) mod bundle;
pub(crate) mod catalog;
pub(crate) mod folder;
pub(crate) mod metadata;
mod owned;
mod permissions;
pub(crate) mod scorecard;
pub(crate) mod validate;
mod webhooks;

use serde_json::Value;

/// The API group of OLM.
const GROUP: &str = "operators.coreos.com";
/// The kind that says what an operator is.
const CSV: &str = "ClusterServiceVersion";
/// Where OLM puts the certificate of a webhook server, in every container of its Deployment.
const CERTIFICATES: &str = "/tmp/k8s-webhook-server/serving-certs";

/// What a bundle may have beside its CSV.
/// <https://olm.operatorframework.io/docs/tasks/creating-operator-manifests/#packaging-additional-objects-alongside-an-operator>
const SUPPORTED: [&str; 19] = [
    "ClusterRole",
    "ClusterRoleBinding",
    "ConfigMap",
    "ConsoleCLIDownload",
    "ConsoleLink",
    "ConsoleQuickStart",
    "ConsoleYAMLSample",
    "CustomResourceDefinition",
    "NetworkPolicy",
    "PodDisruptionBudget",
    "PriorityClass",
    "PrometheusRule",
    "Role",
    "RoleBinding",
    "Secret",
    "Service",
    "ServiceAccount",
    "ServiceMonitor",
    "VerticalPodAutoscaler",
];

fn kind(object: &Value) -> &str {
    text(&object["kind"])
}

fn name(object: &Value) -> &str {
    text(&object["metadata"]["name"])
}

fn namespace(object: &Value) -> &str {
    text(&object["metadata"]["namespace"])
}

/// The group of an object; empty for the core.
fn group(object: &Value) -> &str {
    text(&object["apiVersion"]).split_once('/').map_or("", |(group, _)| group)
}

/// The version of an object, without its group.
fn version(object: &Value) -> &str {
    let version = text(&object["apiVersion"]);
    version.split_once('/').map_or(version, |(_, version)| version)
}

/// A string, or nothing.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The items of a list, or none.
fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// For people: `Kind NAME`.
fn shown(object: &Value) -> String {
    format!("{} `{}`", kind(object), name(object))
}
