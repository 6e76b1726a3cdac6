// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The controller on a real API server, which validates, defaults and merges objects.

mod control_plane;

use control_plane::ControlPlane;
use kube::{Api, ResourceExt};
use multi_group::api::sea_creatures::v1alpha1::humpback_whale_migration_observation as api;
use multi_group::controller::sea_creatures::humpback_whale_migration_observation::register;

const SAMPLE: &str =
    include_str!("../config/samples/sea-creatures_v1alpha1_humpbackwhalemigrationobservation.yaml");

#[tokio::test]
async fn the_sample_gets_a_status() {
    let Some(plane) =
        ControlPlane::start("envtest_sea_creatures_humpback_whale_migration_observation").await
    else {
        return;
    };
    plane.run(register).await;
    let objects: Api<api::HumpbackWhaleMigrationObservation> = Api::all(plane.client.clone());
    let object = plane.apply(&objects, SAMPLE).await;
    let told = |found: Option<&api::HumpbackWhaleMigrationObservation>| {
        found.is_some_and(|found| found.status.is_some())
    };
    plane
        .wait(
            &objects,
            &object.name_any(),
            "the object has a status",
            told,
        )
        .await;
}
