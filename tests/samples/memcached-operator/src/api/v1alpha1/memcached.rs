//! The kind `Memcached`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The desired state.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "cache.example.com",
    version = "v1alpha1",
    kind = "Memcached",
    plural = "memcacheds",
    shortname = "mc",
    namespaced,
    doc = "Memcached runs pods of one image, behind a headless Service",
    derive = "PartialEq",
    status = "MemcachedStatus",
    scale(
        spec_replicas_path = ".spec.size",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn = r#"{"name":"Size","type":"integer","jsonPath":".spec.size"}"#,
    printcolumn = r#"{"name":"Replicas","type":"integer","jsonPath":".status.replicas"}"#,
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct MemcachedSpec {
    /// The number of pods.
    #[schemars(range(min = 0))]
    pub size: i32,

    /// The port that the container listens on.
    #[serde(default = "default_container_port")]
    #[schemars(range(min = 1, max = 65535))]
    pub container_port: i32,

    /// The image of the container; by default the one that the operator was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub image: Option<String>,

    /// The memory that each container may use, in mebibytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub memory_limit_megabytes: Option<i32>,

    /// Arguments for the container.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_args: Vec<String>,
}

/// The observed state.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemcachedStatus {
    /// The conditions Available, Progressing and Degraded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "manager::condition::schema")]
    pub conditions: Vec<Condition>,

    /// The names of the pods, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,

    /// A summary of the conditions for people; programs read the conditions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,

    /// The number of pods that exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,

    /// The label selector of the pods, for autoscalers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
}

/// The conditions in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum Phase {
    /// No pod is available yet.
    Pending,
    /// Some pods are available, or old ones are being replaced.
    Progressing,
    /// All pods are available.
    Running,
    /// Something is wrong that may need help.
    Degraded,
}

fn default_container_port() -> i32 {
    11211
}
