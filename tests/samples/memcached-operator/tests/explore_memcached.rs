//! The controller under crashes, faults, drift, deletions and changes of the spec. `make explore` runs longer.

use explorer::{ApiServer, Explorer};
use kube::CustomResourceExt;
use manager::testing::{object_from_yaml, operator_roles, run_operator};
use memcached_operator::api::v1alpha1::memcached as api;
use memcached_operator::controller::memcached::register;
use serde_json::json;

const SAMPLE: &str = include_str!("../config/samples/cache_v1alpha1_memcached.yaml");

#[test]
fn every_history_ends_in_the_desired_state() {
    let server = ApiServer::new();
    let crd = json!(api::Memcached::crd());
    server.add_crd(&crd).expect("the server supports the CRD");
    Explorer::new(&server, |client| run_operator(client, register))
        .roles(operator_roles())
        .releases("tests/fixtures/memcacheds.cache.example.com")
        .sample(object_from_yaml(SAMPLE))
        // +kubebuilder:scaffold:webhooks
        .explore()
        .assert_clean();
}
