// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The controller under crashes, faults, drift, deletions and changes of the spec. `make explore` runs longer.

use explorer::{ApiServer, Explorer};
use kube::CustomResourceExt;
use manager::testing::{object_from_yaml, operator_roles, run_operator};
use multi_group::api::sea_creatures::v1alpha1::humpback_whale_migration_observation as api;
use multi_group::controller::sea_creatures::humpback_whale_migration_observation::register;
use serde_json::json;

const SAMPLE: &str =
    include_str!("../config/samples/sea-creatures_v1alpha1_humpbackwhalemigrationobservation.yaml");

#[test]
fn every_history_ends_in_the_desired_state() {
    let server = ApiServer::new();
    let crd = json!(api::HumpbackWhaleMigrationObservation::crd());
    server.add_crd(&crd).expect("the server supports the CRD");
    Explorer::new(&server, |client| run_operator(client, register))
        .roles(operator_roles())
        .releases("tests/fixtures/humpbackwhalemigrationobservations.sea-creatures.example.org")
        .sample(object_from_yaml(SAMPLE))
        // +kubebuilder:scaffold:webhooks
        .explore()
        .assert_clean();
}
