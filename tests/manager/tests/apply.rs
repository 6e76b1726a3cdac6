//! Writes that leave the server alone: what is applied when, and how often a status is written.

mod mock;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::runtime::watcher;
use kube::{CustomResource, ResourceExt};
use manager::{Action, Change, Failure, Objects};
use mock::Server;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;

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

/// As [`desired`], controlled by somebody.
fn controlled_by(uid: &str) -> Deployment {
    let mut deployment = desired(&json!({}));
    let owner = json!({ "apiVersion": "example.com/v1", "kind": "Thing", "name": "a", "uid": uid, "controller": true });
    deployment.metadata.owner_references = Some(vec![serde_json::from_value(owner).expect("an owner")]);
    deployment
}

#[tokio::test]
async fn what_belongs_to_nobody_or_to_another_is_left_alone() {
    let foreign = json!({ "spec": { "replicas": 1 } });
    let other = serde_json::to_value(controlled_by("2")).expect("JSON");
    for (there, whose) in [(foreign, "nobody's"), (other, "that of Thing a (2)")] {
        for cached in [false, true] {
            let server = Server::default();
            let before = server.put(DEPLOYMENT, there.clone());
            let objects = Objects::<Deployment>::new(server.client());
            if cached {
                objects.put(serde_json::from_value(before.clone()).expect("a deployment"));
            }
            let error = objects.apply(&controlled_by("1"), "test.example.com").await.err().expect("it is refused");
            let kube::Error::Api(status) = &error else { panic!("{error}") };
            assert_eq!((status.code, status.reason.as_str()), (409, "AlreadyExists"));
            let message = format!(
                "Deployment a exists and is {whose}, not that of Thing a (1): delete it, or choose another name"
            );
            assert_eq!(status.message, message);
            assert_eq!(server.get(DEPLOYMENT), before, "{whose}");
            let sent = if cached { 0 } else { 1 };
            assert_eq!(server.count("PATCH"), sent, "{whose}");
        }
    }
}

#[tokio::test]
async fn what_is_ours_is_written_once_and_found_when_the_cache_has_not_got_it() {
    let server = Server::default();
    let ours = controlled_by("1");
    let objects = Objects::new(server.client());
    assert_eq!(apply(&server, &objects, &ours).await, (Change::Created, 1));
    assert_eq!(apply(&server, &objects, &ours).await, (Change::None, 0));
    // A label by which it was watched is gone, and the cache with it.
    server.put(DEPLOYMENT, json!({ "metadata": { "labels": { "one": "2" } } }));
    let objects = Objects::new(server.client());
    assert_eq!(apply(&server, &objects, &ours).await, (Change::Updated, 2));
    assert_eq!(server.get(DEPLOYMENT)["metadata"]["labels"]["one"], "1");
    // It lost its owner, as after `kubectl delete --cascade=orphan`.
    server.put(DEPLOYMENT, json!({ "metadata": { "ownerReferences": null } }));
    let objects = Objects::new(server.client());
    assert_eq!(apply(&server, &objects, &controlled_by("3")).await, (Change::Updated, 2));
    assert_eq!(server.get(DEPLOYMENT)["metadata"]["ownerReferences"][0]["uid"], "3");
    assert_eq!(apply(&server, &objects, &controlled_by("3")).await, (Change::None, 0));
}

#[tokio::test]
async fn a_successor_of_what_the_cache_knows_is_not_taken_for_it() {
    let server = Server::default();
    let objects = Objects::new(server.client());
    apply(&server, &objects, &controlled_by("1")).await;
    server.delete(DEPLOYMENT);
    let foreign = server.put(DEPLOYMENT, json!({ "spec": { "replicas": 1 } }));
    let mut changed = controlled_by("1");
    changed.metadata.labels = None;
    let error = objects.apply(&changed, "test.example.com").await.err().expect("it is refused");
    assert!(matches!(&error, kube::Error::Api(status) if status.code == 422), "{error}");
    assert_eq!(server.get(DEPLOYMENT), foreign);
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

#[tokio::test(start_paused = true)]
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
        tokio::time::sleep(Duration::from_millis(20)).await;
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

#[tokio::test(start_paused = true)]
async fn a_status_that_was_put_off_and_is_refused_fails_the_reconcile() {
    let server = Server::default();
    server.put(THING, json!({ "spec": { "size": 1 }, "metadata": { "generation": 1 } }));
    let mut manager = server.manager(&[], &[]);
    let things = manager.objects::<Thing>(&watcher::Config::default());
    let outcomes = Arc::<Mutex<Vec<String>>>::default();
    let (log, objects) = (outcomes.clone(), things.clone());
    manager.controller("things", &things).ignore_status().run(move |thing: Arc<Thing>| {
        let (log, objects) = (log.clone(), objects.clone());
        async move {
            let status = ThingStatus { seen: thing.spec.size };
            let written = objects.apply_status(&thing, &status, "test.example.com").await;
            let outcome = written.as_ref().map_or("failed".to_owned(), bool::to_string);
            log.lock().expect("no panic").push(format!("{}: {outcome}", thing.spec.size));
            written.map(|_| Action::Done).map_err(Failed)
        }
    });
    let running = tokio::spawn(manager.run_until(std::future::pending()));
    let wait = async |expected: &[&str]| {
        let deadline = Instant::now() + Duration::from_secs(20);
        while *outcomes.lock().expect("no panic") != expected {
            assert!(Instant::now() < deadline, "not {expected:?}: {outcomes:?}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    wait(&["1: true"]).await;
    server.refuse(&format!("PATCH {THING}/status"), 500);
    server.put(THING, json!({ "spec": { "size": 2 }, "metadata": { "generation": 2 } }));
    // Put off, refused when the second is over, and tried again like any failure.
    wait(&["1: true", "2: false", "2: failed", "2: failed"]).await;
    server.refuse(&format!("PATCH {THING}/status"), 200);
    wait(&["1: true", "2: false", "2: failed", "2: failed", "2: true"]).await;
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn a_status_of_an_older_version_is_refused_and_seen_again() {
    let server = Server::default();
    server.put(THING, json!({ "spec": { "size": 1 }, "metadata": { "generation": 1 } }));
    let mut manager = server.manager(&[], &[]);
    let things = manager.objects::<Thing>(&watcher::Config::default());
    let outcomes = Arc::<Mutex<Vec<String>>>::default();
    let (log, objects, others) = (outcomes.clone(), things.clone(), server.clone());
    manager.controller("things", &things).ignore_status().run(move |thing: Arc<Thing>| {
        let (log, objects, others) = (log.clone(), objects.clone(), others.clone());
        async move {
            if log.lock().expect("no panic").is_empty() {
                // Another replica has written while this one was held up.
                others.put(THING, json!({ "status": { "seen": 7 } }));
            }
            let status = ThingStatus { seen: thing.spec.size };
            let written = objects.apply_status(&thing, &status, "test.example.com").await;
            let outcome = format!("{:?} {:?}", written.as_ref().ok(), others.get(THING)["status"]["seen"]);
            log.lock().expect("no panic").push(outcome);
            written.map(|_| Action::Done).map_err(Failed)
        }
    });
    let running = tokio::spawn(manager.run_until(std::future::pending()));
    let deadline = Instant::now() + Duration::from_secs(20);
    while outcomes.lock().expect("no panic").len() < 2 {
        assert!(Instant::now() < deadline, "{outcomes:?}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(*outcomes.lock().expect("no panic"), ["Some(false) Number(7)", "Some(true) Number(1)"]);
    running.abort();
}
