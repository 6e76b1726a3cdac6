//! The controller on a real API server: validation, defaults and merges are those of a cluster.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use kube::{Api, Resource, ResourceExt};
use manager::testing::ControlPlane;
use memcached_operator::api::v1alpha1::memcached as api;
use memcached_operator::controller::memcached::register;

const SAMPLE: &str = include_str!("../config/samples/cache_v1alpha1_memcached.yaml");

#[tokio::test]
async fn the_sample_gets_all_it_needs_and_a_status() {
    let Some(plane) = ControlPlane::start().await else {
        return;
    };
    plane.run(register).await;
    let objects: Api<api::Memcached> = Api::default_namespaced(plane.client());
    let object = plane.apply(&objects, SAMPLE).await;
    let owner = object
        .controller_owner_ref(&())
        .expect("an object of the server");
    let name = &owner.name;

    // No built-in controller creates pods here.
    let pending = |found: Option<&api::Memcached>| {
        let status = found.and_then(|found| found.status.as_ref());
        status.and_then(|status| status.phase) == Some(api::Phase::Pending)
    };
    plane
        .wait(&objects, name, "the status says Pending", pending)
        .await;

    let deployments: Api<Deployment> = Api::default_namespaced(plane.client());
    let deployment = deployments
        .get(name)
        .await
        .expect("it is made before the status");
    assert!(deployment.owner_references().contains(&owner));

    let services: Api<Service> = Api::default_namespaced(plane.client());
    let service = services
        .get(name)
        .await
        .expect("it is made before the status");
    assert!(service.owner_references().contains(&owner));
}
