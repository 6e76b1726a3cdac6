//! The manager as a pod of a real cluster: `make test-e2e` deploys the image IMG there, and removes it.

use manager::testing::DeployedOperator;

/// Files in config/samples, each with a condition for `kubectl wait --for`.
#[rustfmt::skip]
const SAMPLES: &[(&str, &str)] = &[
    ("cache_v1alpha1_memcached.yaml", "condition=Available"),
    // +kubebuilder:scaffold:e2e-samples
];

#[test]
#[ignore = "needs a cluster: make test-e2e"]
fn the_manager_works_in_a_cluster() {
    let operator = DeployedOperator::new("memcached-operator");
    operator.check(SAMPLES);
}
