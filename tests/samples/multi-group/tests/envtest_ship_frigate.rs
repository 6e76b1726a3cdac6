// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The controller on a real API server, which validates, defaults and merges objects.

mod control_plane;

use control_plane::ControlPlane;
use kube::{Api, ResourceExt};
use multi_group::api::ship::v1beta1::frigate as api;
use multi_group::controller::ship::frigate::register;

const SAMPLE: &str = include_str!("../config/samples/ship_v1beta1_frigate.yaml");

#[tokio::test]
async fn the_sample_gets_a_status() {
    let Some(plane) = ControlPlane::start("envtest_ship_frigate").await else {
        return;
    };
    plane.run(register).await;
    let objects: Api<api::Frigate> = Api::default_namespaced(plane.client.clone());
    let object = plane.apply(&objects, SAMPLE).await;
    let told = |found: Option<&api::Frigate>| found.is_some_and(|found| found.status.is_some());
    plane
        .wait(
            &objects,
            &object.name_any(),
            "the object has a status",
            told,
        )
        .await;
}
