// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The controller on a real API server: validation, defaults and merges are those of a cluster.

use kube::{Api, ResourceExt};
use manager::testing::ControlPlane;
use multi_group::api::ship::v1beta1::frigate as api;
use multi_group::controller::ship::frigate::register;

const SAMPLE: &str = include_str!("../config/samples/ship_v1beta1_frigate.yaml");

#[tokio::test]
async fn the_sample_gets_a_status() {
    let Some(plane) = ControlPlane::start().await else {
        return;
    };
    plane.run(register).await;
    let objects: Api<api::Frigate> = Api::default_namespaced(plane.client());
    let object = plane.apply(&objects, SAMPLE).await;
    let has_status =
        |found: Option<&api::Frigate>| found.is_some_and(|found| found.status.is_some());
    plane
        .wait(
            &objects,
            &object.name_any(),
            "the object has a status",
            has_status,
        )
        .await;
}
