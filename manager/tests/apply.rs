//! Writes: when an object is applied, and how often a status is written.

mod mock;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::watcher;
use kube::{CustomResource, Resource, ResourceExt};
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

/// Applies an object. Returns the change and the number of requests.
async fn apply(
    server: &Server,
    objects: &Objects<Deployment>,
    desired: &Deployment,
) -> (Change, usize) {
    let before = server.count("PATCH");
    let applied = objects
        .apply(desired, "test.example.com")
        .await
        .expect("it is applied");
    (applied.change, server.count("PATCH") - before)
}

/// Another client changes the object, and the watch delivers the change.
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
        assert_eq!(
            apply(&server, &objects, &desired(&json!({}))).await,
            (Change::Created, 1)
        );
        assert_eq!(
            apply(&server, &objects, &desired(&json!({}))).await,
            (Change::None, 0)
        );
        // The server decides the result.
        let (_, requests) = apply(&server, &objects, &desired(&change)).await;
        assert_eq!(requests, 1, "{change}");
        assert_eq!(
            apply(&server, &objects, &desired(&change)).await,
            (Change::None, 0),
            "{change}"
        );
    }
}

#[tokio::test]
async fn a_change_by_others_is_answered_by_one_apply_unless_it_is_of_the_status() {
    let server = Server::default();
    let objects = Objects::new(server.client());
    let desired = desired(&json!({}));
    apply(&server, &objects, &desired).await;
    for (pointer, value, change) in [
        ("/metadata/labels/two", json!("3"), Change::Updated),
        (
            "/metadata/labels",
            json!({ "three": "3", "one": "1", "two": "2" }),
            Change::None,
        ),
        (
            "/spec/selector/matchLabels/one",
            json!("2"),
            Change::Updated,
        ),
        ("/spec/template/spec/containers", json!([]), Change::Updated),
    ] {
        meanwhile(&server, &objects, pointer, value);
        assert_eq!(
            apply(&server, &objects, &desired).await,
            (change, 1),
            "{pointer}"
        );
        assert_eq!(
            apply(&server, &objects, &desired).await,
            (Change::None, 0),
            "{pointer}"
        );
    }
    let object = server.put(DEPLOYMENT, json!({ "status": { "replicas": 3 } }));
    objects.put(serde_json::from_value(object).expect("a deployment"));
    assert_eq!(apply(&server, &objects, &desired).await, (Change::None, 0));
}

#[tokio::test]
async fn after_a_start_each_object_is_applied_once() {
    let server = Server::default();
    let desired = desired(&json!({}));
    apply(&server, &Objects::new(server.client()), &desired).await;
    let objects = Objects::new(server.client());
    objects.put(serde_json::from_value(server.get(DEPLOYMENT)).expect("a deployment"));
    assert_eq!(apply(&server, &objects, &desired).await, (Change::None, 1));
    assert_eq!(apply(&server, &objects, &desired).await, (Change::None, 0));
}

#[tokio::test]
async fn field_managers_do_not_keep_each_other_busy() {
    let server = Server::default();
    let objects = Objects::new(server.client());
    let desired = desired(&json!({}));
    for _ in 0..2 {
        for manager in ["one.example.com", "two.example.com"] {
            let applied = objects.apply(&desired, manager).await;
            applied.expect("it is applied");
        }
    }
    let before = server.count("PATCH");
    for manager in ["one.example.com", "two.example.com"] {
        let applied = objects.apply(&desired, manager).await.expect("it is fine");
        assert_eq!(applied.change, Change::None);
    }
    assert_eq!(server.count("PATCH"), before);
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

/// Like [`desired`], with a controller.
fn controlled_by(uid: &str) -> Deployment {
    let mut deployment = desired(&json!({}));
    let owner = json!({ "apiVersion": "example.com/v1", "kind": "Thing", "name": "a", "uid": uid, "controller": true });
    deployment.metadata.owner_references =
        Some(vec![serde_json::from_value(owner).expect("an owner")]);
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
            let error = objects
                .apply(&controlled_by("1"), "test.example.com")
                .await
                .err()
                .expect("it is refused");
            let kube::Error::Api(status) = &error else {
                panic!("{error}")
            };
            assert_eq!(
                (status.code, status.reason.as_str()),
                (409, "AlreadyExists")
            );
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
    // The watched label is gone, so the object leaves the cache.
    server.put(
        DEPLOYMENT,
        json!({ "metadata": { "labels": { "one": "2" } } }),
    );
    let objects = Objects::new(server.client());
    assert_eq!(apply(&server, &objects, &ours).await, (Change::Updated, 2));
    assert_eq!(server.get(DEPLOYMENT)["metadata"]["labels"]["one"], "1");
    // The object lost its owner, as after `kubectl delete --cascade=orphan`.
    server.put(
        DEPLOYMENT,
        json!({ "metadata": { "ownerReferences": null } }),
    );
    let objects = Objects::new(server.client());
    assert_eq!(
        apply(&server, &objects, &controlled_by("3")).await,
        (Change::Updated, 2)
    );
    assert_eq!(
        server.get(DEPLOYMENT)["metadata"]["ownerReferences"][0]["uid"],
        "3"
    );
    assert_eq!(
        apply(&server, &objects, &controlled_by("3")).await,
        (Change::None, 0)
    );
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
    let error = objects
        .apply(&changed, "test.example.com")
        .await
        .err()
        .expect("it is refused");
    assert!(
        matches!(&error, kube::Error::Api(status) if status.code == 422),
        "{error}"
    );
    assert_eq!(server.get(DEPLOYMENT), foreign);
}

#[tokio::test]
async fn what_is_created_once_is_never_overwritten() {
    let map = |value: &str, owner: Option<&str>| -> ConfigMap {
        let mut map = json!({ "metadata": { "name": "a", "namespace": "default" }, "data": { "key": value } });
        if let Some(uid) = owner {
            let owner = controlled_by(uid).metadata.owner_references;
            map["metadata"]["ownerReferences"] = json!(owner);
        }
        serde_json::from_value(map).expect("a config map")
    };
    let server = Server::default();
    let first = Objects::new(server.client());
    for (objects, value, change) in [
        (&first, "1", Change::Created),
        (&first, "2", Change::None),
        // A cache without the object.
        (&Objects::new(server.client()), "3", Change::None),
    ] {
        let made = objects
            .create(&map(value, Some("1")), "test.example.com")
            .await;
        let made = made.expect("it is there");
        assert_eq!(made.change, change, "{value}");
        let data = made.object.data.clone().unwrap_or_default();
        assert_eq!(data["key"], "1");
    }
    for objects in [first, Objects::new(server.client())] {
        let refused = objects
            .create(&map("4", Some("2")), "test.example.com")
            .await;
        let error = refused.err().expect("it is that of another");
        assert!(error.to_string().contains("that of Thing a (1)"), "{error}");
    }
    assert_eq!(server.count("PATCH"), 0);
}

#[tokio::test]
async fn what_is_created_without_an_owner_says_whose_it_is() {
    const MAP: &str = "api/v1/namespaces/default/configmaps/a";
    let map = || -> ConfigMap {
        let map = json!({ "metadata": { "name": "a", "namespace": "default" } });
        serde_json::from_value(map).expect("a config map")
    };
    let made_by =
        |manager: &str| json!({ "metadata": { "managedFields": [{ "manager": manager }] } });
    let controller = controlled_by("1").metadata.owner_references;
    let mut owned = made_by("test.example.com");
    owned["metadata"]["ownerReferences"] = json!(controller);
    for (there, cached, changes, lists) in [
        // The creator knows its object without a request.
        (None, false, [Change::Created, Change::None], 0),
        (
            Some(made_by("test.example.com")),
            false,
            [Change::None; 2],
            2,
        ),
        // The cache has no managed fields, so there is one request.
        (
            Some(made_by("test.example.com")),
            true,
            [Change::None; 2],
            1,
        ),
        (
            Some(made_by("kubectl-create")),
            false,
            [Change::Foreign; 2],
            2,
        ),
        (
            Some(made_by("kubectl-create")),
            true,
            [Change::Foreign; 2],
            2,
        ),
        (Some(owned), true, [Change::Foreign; 2], 0),
    ] {
        let server = Server::default();
        let objects = Objects::<ConfigMap>::new(server.client());
        let before = there.as_ref().map(|there| server.put(MAP, there.clone()));
        if cached {
            let before = serde_json::from_value(before.clone().unwrap_or_default());
            objects.put(before.expect("a config map"));
        }
        for change in changes {
            let made = objects.create(&map(), "test.example.com").await;
            let made = made.expect("it is there");
            assert_eq!(made.change, change, "{there:?} {cached}");
            assert_eq!(made.object.name_any(), "a");
        }
        assert_eq!(server.count("LIST"), lists, "{there:?} {cached}");
        if let Some(before) = before {
            assert_eq!(server.get(MAP), before);
        }
    }
}

#[tokio::test]
async fn a_foreign_successor_of_what_was_made_is_foreign() {
    const MAP: &str = "api/v1/namespaces/default/configmaps/a";
    let server = Server::default();
    let objects = Objects::<ConfigMap>::new(server.client());
    let map = json!({ "metadata": { "name": "a", "namespace": "default" } });
    let map: ConfigMap = serde_json::from_value(map).expect("a config map");
    let made = objects.create(&map, "test.example.com").await;
    assert_eq!(made.expect("it is made").change, Change::Created);
    server.delete(MAP);
    let successor = server.put(MAP, json!({ "data": { "password": "known" } }));
    objects.put(serde_json::from_value(successor).expect("a config map"));
    let found = objects.create(&map, "test.example.com").await;
    assert_eq!(found.expect("it is there").change, Change::Foreign);
}

/// An owner reference across namespaces is an error, and nothing is sent.
#[tokio::test(start_paused = true)]
async fn what_is_owned_from_another_namespace_is_not_sent() {
    let server = Server::default();
    server.put(THING, json!({ "spec": { "size": 0 } }));
    let mut manager = server.manager(&[], &[]);
    let things = manager.objects::<Thing>(&watcher::Config::default());
    let objects = manager.objects::<Deployment>(&watcher::Config::default());
    let said = Arc::<Mutex<Vec<String>>>::default();
    let log = said.clone();
    manager.controller("things", &things).run(
        move |thing: Arc<Thing>, _| {
            let (log, objects) = (log.clone(), objects.clone());
            async move {
                for namespace in ["other", "default"] {
                    let mut owned = desired(&json!({}));
                    owned.metadata.namespace = Some(namespace.to_owned());
                    owned.metadata.owner_references =
                        thing.controller_owner_ref(&()).map(|owner| vec![owner]);
                    let applied = objects.apply(&owned, "test.example.com").await;
                    let created = objects.create(&owned, "test.example.com").await;
                    for result in [applied, created] {
                        let text = result
                            .err()
                            .map_or("fine".to_owned(), |error| error.to_string());
                        log.lock().expect("no panic").push(text);
                    }
                }
                Ok::<_, Failed>(Action::Done)
            }
        },
        Arc::new(()),
    );
    let running = tokio::spawn(manager.run_until(std::future::pending()));
    let deadline = Instant::now() + Duration::from_secs(20);
    while said.lock().expect("no panic").len() < 4 {
        assert!(Instant::now() < deadline, "{said:?}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let said = said.lock().expect("no panic").clone();
    let refused =
        "other/a can't be owned by Thing default/a: an owner is in the same namespace, or in none";
    assert!(
        said[..2].iter().all(|text| text.contains(refused)),
        "{said:#?}"
    );
    assert_eq!(said[2..], ["fine", "fine"]);
    assert_eq!(server.count("PATCH apis/apps/v1/namespaces/other"), 0);
    assert_eq!(server.count("POST apis/apps/v1/namespaces/other"), 0);
    running.abort();
}

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Thing",
    namespaced,
    status = "ThingStatus"
)]
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
    let things = things.status_at_most_every(Duration::from_secs(1));
    let seen = Arc::<AtomicU64>::default();
    let (last, objects) = (seen.clone(), things.clone());
    manager.controller("things", &things).ignore_status().run(
        move |thing: Arc<Thing>, _| {
            let (last, objects) = (last.clone(), objects.clone());
            async move {
                let status = ThingStatus {
                    seen: thing.spec.size,
                };
                objects
                    .apply_status(&thing, &status, "test.example.com")
                    .await
                    .map_err(Failed)?;
                last.store(status.seen, Ordering::SeqCst);
                Ok::<_, Failed>(Action::Done)
            }
        },
        Arc::new(()),
    );
    let running = tokio::spawn(manager.run_until(std::future::pending()));
    let started = Instant::now();
    let writes = || server.count(&format!("PATCH {THING}/status"));
    let mut size = 0;
    while started.elapsed() < Duration::from_millis(1500) {
        size += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
        server.put(
            THING,
            json!({ "metadata": { "generation": size }, "spec": { "size": size } }),
        );
        while seen.load(Ordering::SeqCst) < size {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    let in_time = || {
        things
            .get("default", "a")
            .is_some_and(|thing| thing.status == Some(ThingStatus { seen: size }))
    };
    while !in_time() && started.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(in_time(), "the last status is written");
    assert!(size > 10, "{size} changes are too few to tell");
    let seconds = usize::try_from(started.elapsed().as_secs()).expect("a short time");
    assert!(
        (2..=seconds + 1).contains(&writes()),
        "{} writes in {seconds} seconds",
        writes()
    );
    assert_eq!(things.list("default")[0].name_any(), "a");
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn a_status_that_was_put_off_and_is_refused_fails_the_reconcile() {
    let server = Server::default();
    server.put(
        THING,
        json!({ "spec": { "size": 1 }, "metadata": { "generation": 1 } }),
    );
    let mut manager = server.manager(&[], &[]);
    let things = manager.objects::<Thing>(&watcher::Config::default());
    let things = things.status_at_most_every(Duration::from_secs(1));
    let outcomes = Arc::<Mutex<Vec<String>>>::default();
    let (log, objects) = (outcomes.clone(), things.clone());
    manager.controller("things", &things).ignore_status().run(
        move |thing: Arc<Thing>, _| {
            let (log, objects) = (log.clone(), objects.clone());
            async move {
                let status = ThingStatus {
                    seen: thing.spec.size,
                };
                let written = objects
                    .apply_status(&thing, &status, "test.example.com")
                    .await;
                let outcome = written
                    .as_ref()
                    .map_or("failed".to_owned(), |change| format!("{change:?}"));
                log.lock()
                    .expect("no panic")
                    .push(format!("{}: {outcome}", thing.spec.size));
                written.map(|_| Action::Done).map_err(Failed)
            }
        },
        Arc::new(()),
    );
    let running = tokio::spawn(manager.run_until(std::future::pending()));
    let wait = async |expected: &[&str]| {
        let deadline = Instant::now() + Duration::from_secs(20);
        while *outcomes.lock().expect("no panic") != expected {
            assert!(Instant::now() < deadline, "not {expected:?}: {outcomes:?}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    wait(&["1: Written"]).await;
    server.refuse(&format!("PATCH {THING}/status"), 500);
    server.put(
        THING,
        json!({ "spec": { "size": 2 }, "metadata": { "generation": 2 } }),
    );
    // The write is deferred, refused after the second and retried like any failure.
    wait(&["1: Written", "2: Deferred", "2: failed", "2: failed"]).await;
    server.refuse(&format!("PATCH {THING}/status"), 200);
    wait(&[
        "1: Written",
        "2: Deferred",
        "2: failed",
        "2: failed",
        "2: Written",
    ])
    .await;
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn a_status_of_an_older_version_is_refused_and_seen_again() {
    let server = Server::default();
    server.put(
        THING,
        json!({ "spec": { "size": 1 }, "metadata": { "generation": 1 } }),
    );
    let mut manager = server.manager(&[], &[]);
    let things = manager.objects::<Thing>(&watcher::Config::default());
    let outcomes = Arc::<Mutex<Vec<String>>>::default();
    let (log, objects, others) = (outcomes.clone(), things.clone(), server.clone());
    manager.controller("things", &things).ignore_status().run(
        move |thing: Arc<Thing>, _| {
            let (log, objects, others) = (log.clone(), objects.clone(), others.clone());
            async move {
                if log.lock().expect("no panic").is_empty() {
                    // Another replica wrote during the pause.
                    others.put(THING, json!({ "status": { "seen": 7 } }));
                }
                let status = ThingStatus {
                    seen: thing.spec.size,
                };
                let written = objects
                    .apply_status(&thing, &status, "test.example.com")
                    .await;
                let outcome = format!(
                    "{:?} {:?}",
                    written.as_ref().ok(),
                    others.get(THING)["status"]["seen"]
                );
                log.lock().expect("no panic").push(outcome);
                written.map(|_| Action::Done).map_err(Failed)
            }
        },
        Arc::new(()),
    );
    let running = tokio::spawn(manager.run_until(std::future::pending()));
    let deadline = Instant::now() + Duration::from_secs(20);
    while outcomes.lock().expect("no panic").len() < 2 {
        assert!(Instant::now() < deadline, "{outcomes:?}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(
        *outcomes.lock().expect("no panic"),
        ["Some(Deferred) Number(7)", "Some(Written) Number(1)"]
    );
    running.abort();
}
