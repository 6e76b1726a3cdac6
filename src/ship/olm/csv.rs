//! Parts of a `ClusterServiceVersion` that `generate bundle` writes completely.
//!
//! The author owns the rest of a CSV. It stays a [`Value`] with any fields.

use serde::Serialize;
use serde_json::{Map, Value, json};

/// `spec.install`: Deployments, and the permissions of their accounts.
#[derive(Debug, Serialize)]
pub(super) struct Install {
    pub(super) strategy: &'static str,
    pub(super) spec: InstallSpec,
}

/// The install strategy `deployment`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InstallSpec {
    pub(super) deployments: Vec<InstallDeployment>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) permissions: Vec<CsvPermission>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) cluster_permissions: Vec<CsvPermission>,
}

/// A Deployment of the operator.
#[derive(Debug, Serialize)]
pub(super) struct InstallDeployment {
    pub(super) name: String,
    /// The labels of the Deployment.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub(super) label: Value,
    /// The spec of the Deployment.
    pub(super) spec: Value,
}

/// The rules of an account.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CsvPermission {
    pub(super) service_account_name: String,
    pub(super) rules: Vec<Value>,
}

/// An item of `spec.relatedImages`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct RelatedImage {
    pub(super) name: String,
    pub(super) image: String,
}

/// An item of `spec.webhookdefinitions`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WebhookDefinition {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) generate_name: Value,
    pub(super) admission_review_versions: Value,
    pub(super) side_effects: Value,
    #[serde(rename = "conversionCRDs", skip_serializing_if = "Vec::is_empty")]
    pub(super) conversion_crds: Vec<String>,
    #[serde(flatten)]
    pub(super) server: WebhookServer,
    /// Fields that OLM copies into the configuration of the webhook.
    #[serde(flatten)]
    pub(super) rest: Map<String, Value>,
}

/// The server of a webhook: the Deployment behind its Service.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WebhookServer {
    pub(super) deployment_name: String,
    pub(super) container_port: u64,
    pub(super) target_port: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) webhook_path: Option<Value>,
}

/// Sets a list of an object, or removes it if it is empty.
pub(super) fn put<T: Serialize>(object: &mut Value, field: &str, list: &[T]) {
    if !list.is_empty() {
        object[field] = json!(list);
    } else if let Some(map) = object.as_object_mut() {
        map.remove(field);
    }
}
