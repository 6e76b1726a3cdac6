// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks on a real API server, which calls them as in a cluster.

mod control_plane;

use control_plane::ControlPlane;
use kube::{Api, ResourceExt};
use multi_group::api::ship::v1beta1::frigate as api;
use multi_group::webhook::ship::v1beta1::frigate::register;

const SAMPLE: &str = include_str!("../config/samples/ship_v1beta1_frigate.yaml");

#[tokio::test]
async fn the_sample_is_allowed() {
    let Some(plane) = ControlPlane::start("envtest_webhook_ship_v1beta1_frigate").await else {
        return;
    };
    plane.run(register).await;
    let objects: Api<api::Frigate> = Api::default_namespaced(plane.client.clone());
    let object = plane.apply(&objects, SAMPLE).await;
    // Compare the changes of the webhooks here.
    assert!(
        object.uid().is_some(),
        "the server has stored it: {object:?}"
    );
}
