// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks on a real API server, which calls them as it does in a cluster.

use kube::{Api, ResourceExt};
use manager::testing::ControlPlane;
use multi_group::api::ship::v1beta1::frigate as api;
use multi_group::webhook::ship::v1beta1::frigate::register;

const SAMPLE: &str = include_str!("../config/samples/ship_v1beta1_frigate.yaml");

#[tokio::test]
async fn the_sample_is_allowed() {
    let Some(plane) = ControlPlane::start().await else {
        return;
    };
    plane.run(register).await;
    let objects: Api<api::Frigate> = Api::default_namespaced(plane.client());
    let object = plane.apply(&objects, SAMPLE).await;
    // Compare here the fields that the webhooks set.
    assert!(
        object.uid().is_some(),
        "the server has stored it: {object:?}"
    );
}
