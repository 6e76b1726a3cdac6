//! The fields of a `ClusterServiceVersion` that `generate bundle` sets.
//!
//! The author owns the rest of a CSV: each `rest` holds any fields.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// A CSV.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Csv {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) metadata: CsvMetadata,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) spec: CsvSpec,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// `metadata`.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct CsvMetadata {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) annotations: BTreeMap<String, Value>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// `spec`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CsvSpec {
    #[serde(default)]
    pub(super) version: Value,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(super) replaces: Value,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(super) skips: Value,
    #[serde(default, deserialize_with = "ignored")]
    pub(super) install: Option<Install>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(super) install_modes: Value,
    #[serde(rename = "customresourcedefinitions", default, deserialize_with = "or_default")]
    pub(super) definitions: CsvDefinitions,
    #[serde(default, deserialize_with = "ignored", skip_serializing_if = "Vec::is_empty")]
    pub(super) webhookdefinitions: Vec<WebhookDefinition>,
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub(super) related_images: Vec<RelatedImage>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// `spec.customresourcedefinitions`.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct CsvDefinitions {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) owned: Vec<Value>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// Skips a field that is replaced. Otherwise `rest` would hold it.
fn ignored<'de, D: Deserializer<'de>, T: Default>(from: D) -> Result<T, D::Error> {
    IgnoredAny::deserialize(from).map(|_| T::default())
}

/// Reads `null` as the default, like a missing field.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}

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
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
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
