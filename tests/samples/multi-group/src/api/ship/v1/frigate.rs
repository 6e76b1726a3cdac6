// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The kind `Frigate`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The desired state.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "ship.example.org",
    version = "v1",
    storage = false,
    kind = "Frigate",
    plural = "frigates",
    namespaced,
    doc = "Frigate is the schema of the frigates API",
    derive = "PartialEq",
    status = "FrigateStatus"
)]
#[serde(rename_all = "camelCase")]
pub struct FrigateSpec {
    /// An example field. Replace it with your own fields and run `make manifests`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foo: Option<String>,
}

/// The observed state.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FrigateStatus {
    /// The conditions of the object, one entry per type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "manager::condition::schema")]
    pub conditions: Vec<Condition>,
}
