//! Writes that leave the server alone: what is applied when, and how often a status is written.

mod mock;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::Deployment;
use kube::runtime::watcher;
use kube::{CustomResource, ResourceExt};
use manager::{Action, Change, Failure, Objects};
use mock::Server;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const DEPLOYMENT: &str = "apis/apps/v1/namespaces/default/deployments/a";
const THING: &str = "apis/example.com/v1/namespaces/default/things/a";

fn desired(change: &Value) -> Deployment {
    let mut value = json!({
        "metadata": { "name": "a", "namespace": "default", "labels": { "one": "1", "two": "2" } },
        "spec": {
            "selector": { "matchLabels": { "one": "1" } },
            "replicas": 3,
            "template": { "spec": { "containers": [{
                "name": "main",
                "args": ["-v", "-x"],
                "ports": [{ "containerPort": 1 }, { "containerPort": 2 }],
                "resources": { "limits": { "memory": "1024Mi", "cpu": "0.5" } },
            }] } },
        },
    });
    json_patch(&mut value, change);
    serde_json::from_value(value).expect("a deployment")
}

fn json_patch(value: &mut Value, change: &Value) {
    for (pointer, new) in change.as_object().into_iter().flatten() {
        *value.pointer_mut(pointer).expect("a place that exists") = new.clone();
    }
}

/// The change, and how many requests it took.
async fn apply(server: &Server, objects: &Objects<Deployment>, desired: &Deployment) -> (Change, usize) {
    let before = server.count("PATCH");
    let applied = objects.apply(desired, "test.example.com").await.expect("it is applied");
    (applied.change, server.count("PATCH") - before)
}

/// Somebody else changes the object, and the watch delivers it.
fn meanwhile(server: &Server, objects: &Objects<Deployment>, pointer: &str, value: Value) {
    let mut object = server.put(DEPLOYMENT, json!({}));
    json_patch(&mut object, &json!({ pointer: value }));
    let object = server.put(DEPLOYMENT, object);
    objects.put(serde_json::from_value(object).expect("a deployment"));
}

#[tokio::test]
async fn what_is_removed_is_applied_once() {
    let container = "/spec/template/spec/containers/0";
    for change in [
        json!({ format!("{container}/args"): ["-v"] }),
        json!({ "/metadata/labels": { "one": "1" } }),
        json!({ format!("{container}/ports"): [{ "containerPort": 1 }] }),
    ] {
        let server = Server::default();
        let objects = Objects::new(server.client());
        assert_eq!(apply(&server, &objects, &desired(&json!({}))).await, (Change::Created, 1));
        assert_eq!(apply(&server, &objects, &desired(&json!({}))).await, (Change::None, 0));
        assert_eq!(apply(&server, &objects, &desired(&change)).await, (Change::Updated, 1), "{change}");
        assert_eq!(apply(&server, &objects, &desired(&change)).await, (Change::None, 0), "{change}");
    }
}

#[tokio::test]
async fn quantities_in_other_words_are_no_change_and_drift_is_undone() {
    let limits = "/spec/template/spec/containers/0/resources/limits";
    let server = Server::default();
    let objects = Objects::new(server.client());
    let desired = desired(&json!({}));
    apply(&server, &objects, &desired).await;
    meanwhile(&server, &objects, limits, json!({ "memory": "1Gi", "cpu": "500m" }));
    assert_eq!(apply(&server, &objects, &desired).await, (Change::None, 0));
    meanwhile(&server, &objects, limits, json!({ "memory": "2Gi", "cpu": "500m" }));
    assert_eq!(apply(&server, &objects, &desired).await, (Change::Updated, 1));
    meanwhile(&server, &objects, "/metadata/labels/two", json!("3"));
    assert_eq!(apply(&server, &objects, &desired).await, (Change::Updated, 1));
    assert_eq!(apply(&server, &objects, &desired).await, (Change::None, 0));
}

#[tokio::test]
async fn what_the_server_insists_on_is_not_fought_over() {
    let server = Server::default();
    server.insist(json!({ "spec": { "replicas": 7 } }));
    let objects = Objects::new(server.client());
    let three = desired(&json!({}));
    assert_eq!(apply(&server, &objects, &three).await, (Change::Created, 1));
    assert_eq!(apply(&server, &objects, &three).await, (Change::None, 0));
    server.insist(json!({}));
    meanwhile(&server, &objects, "/spec/replicas", json!(9));
    assert_eq!(apply(&server, &objects, &three).await, (Change::Updated, 1));
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Thing", namespaced, status = "ThingStatus")]
struct ThingSpec {
    size: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct ThingStatus {
    seen: u64,
}

struct Failed(kube::Error);

impl fmt::Display for Failed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl Failure for Failed {
    fn reason(&self) -> &'static str {
        "Failed"
    }
}

#[tokio::test]
async fn a_status_is_written_once_a_second_and_the_last_one_counts() {
    let server = Server::default();
    server.put(THING, json!({ "spec": { "size": 0 } }));
    let mut manager = server.manager(&[], &[]);
    let things = manager.objects::<Thing>(&watcher::Config::default());
    let seen = Arc::<AtomicU64>::default();
    let (last, objects) = (seen.clone(), things.clone());
    manager.controller("things", &things).ignore_status().run(move |thing: Arc<Thing>| {
        let (last, objects) = (last.clone(), objects.clone());
        async move {
            let status = ThingStatus { seen: thing.spec.size };
            objects.apply_status(&thing, &status, "test.example.com").await.map_err(Failed)?;
            last.store(status.seen, Ordering::SeqCst);
            Ok::<_, Failed>(Action::Done)
        }
    });
    let running = tokio::spawn(manager.run_until(std::future::pending()));
    let started = Instant::now();
    let writes = || server.count(&format!("PATCH {THING}/status"));
    let mut size = 0;
    while started.elapsed() < Duration::from_millis(1500) {
        size += 1;
        server.put(THING, json!({ "metadata": { "generation": size }, "spec": { "size": size } }));
        while seen.load(Ordering::SeqCst) < size {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    let in_time = || things.get("default", "a").is_some_and(|thing| thing.status == Some(ThingStatus { seen: size }));
    while !in_time() && started.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(in_time(), "the last status is written");
    assert!(size > 10, "{size} changes are too few to tell");
    let seconds = usize::try_from(started.elapsed().as_secs()).expect("a short time");
    assert!((2..=seconds + 1).contains(&writes()), "{} writes in {seconds} seconds", writes());
    assert_eq!(things.list("default")[0].name_any(), "a");
    running.abort();
}
