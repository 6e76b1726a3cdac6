//! Reconciles against an API server that is a map of JSON objects.

mod mock;

use std::sync::Arc;

use manager::{Action, Failure, Objects, condition};
use memcached_operator::api::v1alpha1::memcached::Phase;
use memcached_operator::controller::Result;
use memcached_operator::controller::memcached::{Context, FINALIZER, reconcile};
use serde_json::{Value, json};

const OBJECT: &str = "/apis/cache.example.com/v1alpha1/namespaces/default/memcacheds/sample";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/default/deployments/sample";
const SERVICE: &str = "/api/v1/namespaces/default/services/sample";
const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/default/events";

#[tokio::test]
async fn a_new_object_gets_all_it_needs_and_then_peace() {
    let world = World::with(json!({}), 3);
    assert!(matches!(world.reconcile().await, Ok(Action::Done)));
    let written = world.server.requests();
    let expected = [
        format!("PATCH {OBJECT}"),
        format!("PATCH {SERVICE}"),
        format!("PATCH {DEPLOYMENT}"),
        format!("PATCH {OBJECT}/status"),
    ];
    assert_eq!(written, expected);
    assert_eq!(world.server.get(DEPLOYMENT)["spec"]["replicas"], 3);
    assert_eq!(
        world.object().metadata.finalizers,
        Some(vec![FINALIZER.to_owned()])
    );
    assert_eq!(
        world
            .object()
            .status
            .as_ref()
            .and_then(|status| status.phase),
        Some(Phase::Pending)
    );

    assert!(matches!(world.reconcile().await, Ok(Action::Done)));
    assert_eq!(world.server.requests(), [""; 0], "nothing has changed");
}

#[tokio::test]
async fn a_change_of_the_spec_reaches_the_deployment_alone() {
    let world = World::with(json!({}), 3);
    assert!(world.reconcile().await.is_ok());
    world.server.requests();

    world.change(&json!({ "spec": { "size": 5 } }));
    assert!(world.reconcile().await.is_ok());
    assert_eq!(
        world.server.requests(),
        [
            format!("PATCH {DEPLOYMENT}"),
            format!("PATCH {OBJECT}/status")
        ]
    );
    assert_eq!(world.server.get(DEPLOYMENT)["spec"]["replicas"], 5);
}

#[tokio::test]
async fn an_object_is_let_go_after_the_cleanup() {
    let metadata = json!({
        "finalizers": [FINALIZER, "other.example.com/finalizer"],
        "deletionTimestamp": "2020-01-01T00:00:00Z",
    });
    let world = World::with(metadata, 3);
    assert!(matches!(world.reconcile().await, Ok(Action::Done)));
    assert_eq!(
        world.server.requests(),
        [format!("POST {EVENTS}"), format!("PATCH {OBJECT}")]
    );
    assert_eq!(
        world.server.events(),
        ["Normal Deleting: Cleaned up after sample"]
    );
    let left = &world.server.get(OBJECT)["metadata"]["finalizers"];
    assert_eq!(*left, json!(["other.example.com/finalizer"]));

    assert!(matches!(world.reconcile().await, Ok(Action::Done)));
    assert_eq!(
        world.server.requests(),
        [""; 0],
        "a finalizer is not added to what is being deleted"
    );
}

#[tokio::test]
async fn a_failure_is_told_in_the_status_and_tried_again() {
    for (code, reason) in [(500, "ServerError"), (403, "Forbidden"), (422, "Invalid")] {
        let world = World::with(json!({}), 3);
        world.server.refuse(DEPLOYMENT, code);
        let Err(error) = world.reconcile().await else {
            panic!("{code} is an error")
        };
        assert_eq!((error.reason(), error.is_permanent()), (reason, false));
        assert_eq!(error.to_string(), "can't apply the Deployment: not today");

        let status = world.object().status.clone().unwrap_or_default();
        assert!(condition::is_true(&status.conditions, "Degraded"));
        assert_eq!(status.conditions[0].reason, reason);
        assert_eq!(
            world.server.events(),
            ["Warning Degraded: can't apply the Deployment: not today"]
        );
    }
}

/// One object and the caches of its controller.
struct World {
    server: mock::Server,
    context: Arc<Context>,
}

impl World {
    fn with(metadata: Value, size: i32) -> Self {
        let server = mock::Server::default();
        let client = server.client();
        let context = Arc::new(Context {
            objects: Objects::new(client.clone()),
            deployments: Objects::new(client.clone()),
            services: Objects::new(client.clone()),
            pods: Objects::new(client),
            image: "test".to_owned(),
        });
        let world = Self { server, context };
        world.change(&json!({
            "apiVersion": "cache.example.com/v1alpha1",
            "kind": "Memcached",
            "metadata": metadata,
            "spec": { "size": size },
        }));
        world
    }

    /// Changes the object as another client would. The watch delivers the change.
    fn change(&self, change: &Value) {
        let changed = self.server.put(OBJECT, change);
        let changed = serde_json::from_value(changed).expect("an object of the kind");
        self.context.objects.put(changed);
    }

    fn object(&self) -> Arc<memcached_operator::api::v1alpha1::memcached::Memcached> {
        self.context
            .objects
            .get("default", "sample")
            .expect("it was put there")
    }

    async fn reconcile(&self) -> Result<Action> {
        reconcile(self.object(), self.context.clone()).await
    }
}
