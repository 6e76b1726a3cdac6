// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The controller under crashes, faults, drift, deletions and changes of the spec. `make explore` runs longer.

use explorer::{ApiServer, Explorer};
use kube::CustomResourceExt;
use manager::testing::{object_from_yaml, operator_roles, operator_webhooks, run_operator};
use multi_group::api::ship::v1beta1::frigate as api;
use multi_group::controller::ship::frigate::register;
use serde_json::json;

const SAMPLE: &str = include_str!("../config/samples/ship_v1beta1_frigate.yaml");

#[test]
fn every_history_ends_in_the_desired_state() {
    let server = ApiServer::new();
    let crd = json!(api::Frigate::crd());
    server.add_crd(&crd).expect("the server supports the CRD");
    Explorer::new(&server, |client| run_operator(client, register))
        .roles(operator_roles())
        .releases("tests/fixtures/frigates.ship.example.org")
        .sample(object_from_yaml(SAMPLE))
        .webhooks(operator_webhooks(
            multi_group::webhook::ship::v1beta1::frigate::register,
        ))
        // +kubebuilder:scaffold:webhooks
        .explore()
        .assert_clean();
}
