// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The manager as a pod of a real cluster: `make test-e2e` deploys the image IMG there, and removes it.

use manager::testing::DeployedOperator;

/// Files in config/samples, each with a condition for `kubectl wait --for`.
#[rustfmt::skip]
const SAMPLES: &[(&str, &str)] = &[
    ("ship_v1beta1_frigate.yaml", "jsonpath={.status.conditions}"),
    ("sea-creatures_v1alpha1_humpbackwhalemigrationobservation.yaml", "jsonpath={.status.conditions}"),
    ("ship_v1_frigate.yaml", "jsonpath={.status.conditions}"),
    // +kubebuilder:scaffold:e2e-samples
];

#[test]
#[ignore = "needs a cluster: make test-e2e"]
fn the_manager_works_in_a_cluster() {
    let operator = DeployedOperator::new("multi-group");
    operator.check(SAMPLES);
}
