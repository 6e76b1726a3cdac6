// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The Frigate of v1 to and from that of v1beta1, the hub.

use manager::webhook::Spoke;

use super::frigate::Frigate;
use crate::api::ship::v1beta1::frigate::Frigate as Hub;

/// Copies fields with the same name and type; convert the others here. The manager keeps the metadata, and the values that a
/// version can't hold.
impl Spoke for Frigate {
    type Hub = Hub;
    type Error = serde_json::Error;

    fn to_hub(&self) -> Result<Hub, Self::Error> {
        serde_json::from_value(serde_json::to_value(self)?)
    }

    fn from_hub(hub: &Hub) -> Result<Self, Self::Error> {
        serde_json::from_value(serde_json::to_value(hub)?)
    }
}
