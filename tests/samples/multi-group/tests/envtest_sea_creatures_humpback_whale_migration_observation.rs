// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The controller on a real API server: validation, defaults and merges are those of a cluster.

use kube::{Api, ResourceExt};
use manager::testing::ControlPlane;
use multi_group::api::sea_creatures::v1alpha1::humpback_whale_migration_observation as api;
use multi_group::controller::sea_creatures::humpback_whale_migration_observation::register;

const SAMPLE: &str =
    include_str!("../config/samples/sea-creatures_v1alpha1_humpbackwhalemigrationobservation.yaml");

#[tokio::test]
async fn the_sample_gets_a_status() {
    let Some(plane) = ControlPlane::start().await else {
        return;
    };
    plane.run(register).await;
    let objects: Api<api::HumpbackWhaleMigrationObservation> = Api::all(plane.client());
    let object = plane.apply(&objects, SAMPLE).await;
    let has_status = |found: Option<&api::HumpbackWhaleMigrationObservation>| {
        found.is_some_and(|found| found.status.is_some())
    };
    plane
        .wait(
            &objects,
            &object.name_any(),
            "the object has a status",
            has_status,
        )
        .await;
}
