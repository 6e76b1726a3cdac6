//! Reconciles against an API server that is a map of JSON objects.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use kube::runtime::events::Recorder;
use manager::{Action, Failure, Objects, condition};
use memcached_operator::api::v1alpha1::memcached::{Memcached, Phase};
use memcached_operator::controller::memcached::{Context, FINALIZER, reconcile};
use memcached_operator::controller::{Error, Result};
use serde_json::{Value, json};

const OBJECT: &str = "cache.example.com/v1alpha1/memcacheds/sample";
const DEPLOYMENT: &str = "apps/v1/deployments/sample";

#[tokio::test]
async fn a_new_object_gets_all_it_needs_and_then_peace() {
    let world = World::with(json!({ "name": "sample" }), 3);
    assert!(matches!(world.reconcile().await, Ok(Action::Done)));
    let written = world.server.requests();
    let expected = [
        format!("PATCH {OBJECT}"),
        "PATCH v1/services/sample".to_owned(),
        format!("PATCH {DEPLOYMENT}"),
        "POST events.k8s.io/v1/events".to_owned(),
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
    let world = World::with(json!({ "name": "sample" }), 3);
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
        "name": "sample",
        "finalizers": [FINALIZER, "other.example.com/finalizer"],
        "deletionTimestamp": "2020-01-01T00:00:00Z",
    });
    let world = World::with(metadata, 3);
    assert!(matches!(world.reconcile().await, Ok(Action::Done)));
    assert_eq!(
        world.server.requests(),
        [
            "POST events.k8s.io/v1/events".to_owned(),
            format!("PATCH {OBJECT}")
        ]
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
        let world = World::with(json!({ "name": "sample" }), 3);
        world.server.refuse(DEPLOYMENT, code);
        let Err(error) = world.reconcile().await else {
            panic!("{code} is an error")
        };
        assert_eq!((error.reason(), error.is_permanent()), (reason, false));
        assert_eq!(error.to_string(), "can't apply the Deployment: not today");

        let status = world.object().status.clone().unwrap_or_default();
        assert!(condition::is_true(&status.conditions, "Degraded"));
        assert_eq!(status.conditions[0].reason, reason);
    }
}

/// One object, and what its controller knows of the server.
struct World {
    server: Server,
    context: Arc<Context>,
}

impl World {
    fn with(mut metadata: Value, size: i32) -> Self {
        metadata["namespace"] = json!("default");
        metadata["uid"] = json!("1");
        let server = Server::default();
        let object = json!({
            "apiVersion": "cache.example.com/v1alpha1",
            "kind": "Memcached",
            "metadata": metadata,
            "spec": { "size": size },
        });
        server.put(OBJECT, object);
        let client = server.client();
        let context = Arc::new(Context {
            objects: Objects::new(client.clone()),
            deployments: Objects::new(client.clone()),
            services: Objects::new(client.clone()),
            pods: Objects::new(client.clone()),
            recorder: Recorder::new(client, "test".into()),
            image: "test".to_owned(),
        });
        let world = Self { server, context };
        world.change(&json!({}));
        world
    }

    /// Somebody else changes the object, and the watch delivers it.
    fn change(&self, patch: &Value) {
        let changed = self.server.patch(OBJECT, patch);
        let changed = serde_json::from_value(changed).expect("an object of the kind");
        self.context.objects.put(changed);
    }

    fn object(&self) -> Arc<Memcached> {
        self.context
            .objects
            .get("default", "sample")
            .expect("it was put there")
    }

    async fn reconcile(&self) -> Result<Action, Error> {
        reconcile(self.object(), self.context.clone()).await
    }
}

/// Stores what it is sent; server-side apply is a merge here.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Value>,
    requests: Vec<String>,
    refused: Option<(&'static str, u16)>,
    version: u64,
}

impl Server {
    fn client(&self) -> Client {
        let server = self.clone();
        let answer = move |request: Request<Body>| {
            let server = server.clone();
            async move { Ok::<_, Infallible>(server.answer(request).await) }
        };
        Client::new(tower::service_fn(answer), "default")
    }

    async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path().replace("/namespaces/default/", "/");
        let path = path
            .trim_start_matches("/apis/")
            .trim_start_matches("/api/");
        self.state()
            .requests
            .push(format!("{} {path}", parts.method));
        let refused = self.state().refused.filter(|(refused, _)| path == *refused);
        let (code, answer) = if let Some((_, code)) = refused {
            (
                code,
                json!({ "status": "Failure", "message": "not today", "code": code }),
            )
        } else {
            let body = body.collect_bytes().await.unwrap_or_default();
            let change = serde_json::from_slice(&body).expect("every request has a body");
            (200, self.patch(path.trim_end_matches("/status"), &change))
        };
        let mut response = Response::new(Body::from(answer.to_string().into_bytes()));
        *response.status_mut() = StatusCode::from_u16(code).expect("a code that exists");
        response
    }

    fn put(&self, path: &str, object: Value) {
        self.state().objects.insert(path.to_owned(), object);
    }

    fn get(&self, path: &str) -> Value {
        self.state().objects[path].clone()
    }

    fn patch(&self, path: &str, change: &Value) -> Value {
        let state = &mut *self.state();
        state.version += 1;
        let object = state.objects.entry(path.to_owned()).or_default();
        merge(object, change);
        object["metadata"]["resourceVersion"] = json!(state.version.to_string());
        object.clone()
    }

    fn refuse(&self, path: &'static str, code: u16) {
        self.state().refused = Some((path, code));
    }

    /// What was asked since the last time.
    fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state().requests)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn merge(target: &mut Value, patch: &Value) {
    match patch {
        Value::Object(fields) => {
            if !target.is_object() {
                *target = json!({});
            }
            for (key, value) in fields {
                merge(&mut target[key.as_str()], value);
            }
        }
        value => *target = value.clone(),
    }
}
