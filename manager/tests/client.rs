//! Caches, server requests and the manager, except `apply`, against a mock API server.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic, too")]

mod mock;

use std::collections::BTreeMap;
use std::future::{Ready, ready};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::{ApiResource, DynamicObject, Expression, GroupVersionKind, Selector};
use kube::discovery::Scope;
use kube::runtime::events::EventType;
use kube::runtime::finalizer::Event;
use kube::runtime::watcher;
use kube::{Api, ResourceExt};
use manager::{Action, Applied, Change, Manager, ObjectKey, Objects, Runs};
use mock::Server;
use serde_json::{Value, json};

const A: &str = "api/v1/namespaces/default/configmaps/a";
const FINALIZER: &str = "example.com/finalizer";

fn put(server: &Server, maps: &Objects<ConfigMap>, path: &str, change: Value) -> Arc<ConfigMap> {
    let object = server.put(path, change);
    let object: ConfigMap = serde_json::from_value(object).unwrap();
    maps.put(object.clone());
    Arc::new(object)
}

fn names(maps: &[Arc<ConfigMap>]) -> String {
    maps.iter()
        .map(|map| map.name_any())
        .collect::<Vec<_>>()
        .concat()
}

#[test]
fn the_cache_lists_by_namespace_label_and_index() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let _entered = runtime.enter();
    let server = Server::default();
    let maps = Objects::new(server.client());
    let by_size = maps.index(|map: &ConfigMap| map.annotations().get("size").cloned());
    for (namespace, name, app, size) in [
        ("one", "a", "x", "1"),
        ("one", "b", "y", "2"),
        ("two", "c", "x", "2"),
    ] {
        let metadata = json!({ "labels": { "app": app }, "annotations": { "size": size } });
        let path = format!("api/v1/namespaces/{namespace}/configmaps/{name}");
        put(&server, &maps, &path, json!({ "metadata": metadata }));
    }
    let listed = ["one", "two", "three"].map(|namespace| names(&maps.list(namespace)));
    assert_eq!(listed, ["ab", "c", ""]);
    assert_eq!(names(&maps.list(None)), "abc");
    let app = Selector::from_iter([("app", "x")]);
    assert_eq!(names(&maps.list_matching("one", &app)), "a");
    assert_eq!(names(&maps.list_matching(None, &app)), "ac");
    let other = Selector::from_iter([Expression::NotEqual("app".to_owned(), "x".to_owned())]);
    assert_eq!(names(&maps.list_matching(None, &other)), "b");
    assert_eq!(names(&by_size.list("2")), "bc");
    assert_eq!(names(&by_size.list("3")), "");
}

#[tokio::test]
async fn a_live_object_is_that_of_the_server() {
    let server = Server::default();
    let maps = Objects::<ConfigMap>::new(server.client());
    put(&server, &maps, A, json!({ "data": { "v": "1" } }));
    server.put(A, json!({ "data": { "v": "2" } }));
    let value = |map: &ConfigMap| map.data.as_ref().unwrap()["v"].clone();
    assert_eq!(value(&maps.get("default", "a").unwrap()), "1");
    let live = maps.get_live("default", "a").await.unwrap();
    assert_eq!(value(&live.unwrap()), "2");
    assert!(maps.get_live("default", "b").await.unwrap().is_none());
}

#[tokio::test]
async fn an_object_is_deleted_and_a_successor_stays() {
    let server = Server::default();
    let maps = Objects::new(server.client());
    let map = put(&server, &maps, A, json!({}));
    let params = DeleteParams::default();
    assert!(maps.delete(&map, &params).await.unwrap());
    assert!(maps.get("default", "a").is_none());
    assert!(!maps.delete(&map, &params).await.unwrap());
    let successor = put(&server, &maps, A, json!({}));
    let error = maps.delete(&map, &params).await.unwrap_err();
    assert!(
        matches!(&error, kube::Error::Api(status) if status.is_conflict()),
        "{error:?}"
    );
    assert!(maps.get("default", "a").is_some() && !server.get(A).is_null());
    let predecessor = Preconditions {
        uid: map.uid(),
        ..Preconditions::default()
    };
    let wrong = DeleteParams {
        preconditions: Some(predecessor),
        ..DeleteParams::default()
    };
    assert!(maps.delete(&successor, &wrong).await.is_err());
    assert!(maps.delete(&successor, &params).await.unwrap());
}

#[tokio::test]
async fn the_answer_to_a_patch_is_in_the_cache() {
    let server = Server::default();
    let maps = Objects::new(server.client());
    let map = put(&server, &maps, A, json!({ "data": { "v": "1" } }));
    let patch = Patch::Merge(json!({ "data": { "v": "2" } }));
    let params = PatchParams::default();
    let answer = maps.patch(&map, &params, &patch).await.unwrap();
    let cached = maps.get("default", "a").unwrap();
    assert_eq!(answer.data.as_ref().unwrap()["v"], "2");
    assert_eq!(answer, cached);
}

#[tokio::test]
async fn the_managers_client_writes_only_as_the_leader() {
    let server = Server::default();
    let flags = [
        "--leader-elect",
        "--leader-election-id=test",
        "--leader-election-namespace=default",
    ];
    for (flags, expected) in [(&flags[..], "Refused"), (&[], "")] {
        let manager = server.manager(&[], flags);
        let maps: Api<ConfigMap> = Api::namespaced(manager.client(), "default");
        assert!(maps.get_opt("b").await.unwrap().is_none());
        let mut map = ConfigMap::default();
        map.metadata.name = Some("a".to_owned());
        let written = maps.create(&PostParams::default(), &map).await;
        let said = format!("{:?}", written.err());
        assert!(said.contains(expected), "{said}");
        assert_eq!(server.get(A).is_null(), !expected.is_empty(), "{said}");
    }
}

#[tokio::test]
async fn an_object_with_a_finalizer_is_applied_and_cleaned_up() {
    let deleted = json!({ "metadata": { "deletionTimestamp": "2020-01-01T00:00:00Z" } });
    let ours = json!({ "metadata": { "finalizers": ["other", FINALIZER] } });
    let others = json!({ "metadata": { "finalizers": ["other"] } });
    let again = Action::Requeue;
    // States in order, result of reconcile, expected call, and remaining finalizers.
    for (states, returned, called, left) in [
        (&[&others][..], Ok(Action::Done), "Apply 2", 2),
        (&[&ours], Ok(again), "Apply 2", 2),
        (&[&ours], Err(()), "Apply 2", 2),
        (&[&ours, &deleted], Ok(Action::Done), "Cleanup 2", 1),
        (&[&ours, &deleted], Ok(again), "Cleanup 2", 2),
        (&[&ours, &deleted], Err(()), "Cleanup 2", 2),
        (&[&others, &deleted], Ok(Action::Done), "", 1),
    ] {
        let server = Server::default();
        let maps = Objects::new(server.client());
        for state in states {
            put(&server, &maps, A, (*state).clone());
        }
        let object = maps.get("default", "a").unwrap();
        let calls = Mutex::new(String::new());
        let done = maps.finalizer(object, FINALIZER, async |event| {
            let (what, object) = match event {
                Event::Apply(object) => ("Apply", object),
                Event::Cleanup(object) => ("Cleanup", object),
            };
            let call = format!("{what} {}", object.finalizers().len());
            calls.lock().unwrap().push_str(&call);
            returned
        });
        let done = done.await.unwrap();
        assert_eq!(done, returned, "{called}");
        assert_eq!(*calls.lock().unwrap(), called);
        let finalizers = &server.get(A)["metadata"]["finalizers"];
        assert_eq!(finalizers.as_array().unwrap().len(), left, "{called}");
    }
}

#[tokio::test]
async fn a_finalizer_that_cannot_be_written_is_the_outer_error() {
    let server = Server::default();
    let maps = Objects::new(server.client());
    let object = put(&server, &maps, A, json!({}));
    server.refuse(&format!("PATCH {A}"), 403);
    let done = maps.finalizer(object, FINALIZER, async |_| -> Result<_, ()> {
        panic!("it is not protected yet")
    });
    assert!(done.await.is_err());
}

/// Reconciles by object.
#[derive(Clone, Default)]
struct Looks(Arc<Mutex<BTreeMap<String, usize>>>);

impl Looks {
    fn at(&self, name: &str) -> usize {
        self.0
            .lock()
            .unwrap()
            .get(name)
            .copied()
            .unwrap_or_default()
    }

    fn add(&self, name: &str) {
        *self.0.lock().unwrap().entry(name.to_owned()).or_default() += 1;
    }

    async fn wait(&self, name: &str, looks: usize) {
        let wait = async {
            while self.at(name) < looks {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(200), wait).await;
        assert!(waited.is_ok(), "{name} was not looked at {looks} times");
        assert_eq!(self.at(name), looks, "{name}");
    }
}

fn looking(
    looks: &Looks,
) -> impl Fn(Arc<ConfigMap>, Arc<()>) -> Ready<kube::Result<Action>> + use<> {
    let looks = looks.clone();
    move |map, _| {
        looks.add(&map.name_any());
        ready(Ok(Action::Done))
    }
}

fn maps(manager: &mut Manager) -> Objects<ConfigMap> {
    manager.objects(&watcher::Config::default())
}

#[tokio::test(start_paused = true)]
async fn a_controller_looks_when_predicates_owners_and_streams_say_so() {
    let server = Server::default();
    for name in ["a", "b", "c"] {
        server.put(
            &format!("api/v1/namespaces/default/configmaps/{name}"),
            json!({}),
        );
    }
    let mut manager = server.manager(&[], &[]);
    let (looks, maps) = (Looks::default(), maps(&mut manager));
    let secrets = manager.objects::<Secret>(&watcher::Config::default());
    let (keys, mut received) = tokio::sync::mpsc::channel(1);
    let is_news = |before: Option<&Secret>, now: &Secret| {
        before.is_none_or(|before| before.labels() != now.labels())
    };
    manager
        .controller("maps", &maps)
        .owns_when(&secrets, is_news)
        .watches_when(
            &secrets,
            |_, now| now.labels().contains_key("shared"),
            ObjectKey::owners_of::<ConfigMap>,
        )
        .reconcile_on(futures::stream::poll_fn(move |context| {
            received.poll_recv(context)
        }))
        .run(looking(&looks), Arc::new(()));
    let running = tokio::spawn(manager.run_until(std::future::pending()));
    for name in ["a", "b", "c"] {
        looks.wait(name, 1).await;
    }
    let secret = |change: Value| server.put("api/v1/namespaces/default/secrets/x", change);
    let owner = |name: &str, controller| json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": name, "controller": controller });
    let owners = json!([owner("a", true), owner("b", false)]);
    secret(json!({ "metadata": { "labels": { "v": "1" }, "ownerReferences": owners } }));
    looks.wait("a", 2).await;
    // An ignored change, then a change for all owners.
    secret(json!({ "metadata": { "annotations": { "v": "2" } } }));
    secret(json!({ "metadata": { "labels": { "shared": "" } } }));
    looks.wait("b", 2).await;
    looks.wait("a", 3).await;
    // A deletion always triggers.
    server.delete("api/v1/namespaces/default/secrets/x");
    looks.wait("b", 3).await;
    looks.wait("a", 4).await;
    let key = ObjectKey {
        namespace: Some("default".to_owned()),
        name: "c".to_owned(),
    };
    keys.send(key).await.unwrap();
    looks.wait("c", 2).await;
    // The controller works on after the stream has ended.
    drop(keys);
    server.put(
        "api/v1/namespaces/default/configmaps/c",
        json!({ "data": {} }),
    );
    looks.wait("c", 3).await;
    assert_eq!((looks.at("a"), looks.at("b")), (4, 3));
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn what_runs_always_does_not_wait_for_leadership() {
    let server = Server::default();
    server.put(A, json!({}));
    // Another replica leads.
    let spec = json!({ "holderIdentity": "other", "leaseDurationSeconds": 3600, "renewTime": "2020-01-01T00:00:00.000000Z", "leaseTransitions": 1 });
    server.put(
        "apis/coordination.k8s.io/v1/namespaces/default/leases/test",
        json!({ "spec": spec }),
    );
    let flags = [
        "--leader-elect",
        "--leader-election-id=test",
        "--leader-election-namespace=default",
    ];
    let mut manager = server.manager(&[], &flags);
    let (always, leader, maps) = (Looks::default(), Looks::default(), maps(&mut manager));
    let controller = manager.controller("always", &maps);
    controller
        .runs(Runs::Always)
        .run(looking(&always), Arc::new(()));
    manager
        .controller("leader", &maps)
        .run(looking(&leader), Arc::new(()));
    for (runs, looks) in [(Runs::Always, &always), (Runs::Leader, &leader)] {
        let looks = looks.clone();
        manager.task("task", runs, move || {
            looks.add("task");
            ready(Ok::<_, kube::Error>(()))
        });
    }
    let stop = async {
        always.wait("a", 1).await;
        always.wait("task", 1).await;
    };
    manager.run_until(stop).await.unwrap();
    assert_eq!((leader.at("a"), leader.at("task")), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_task_that_fails_or_panics_is_run_again_and_one_that_is_done_is_not() {
    let server = Server::default();
    let mut manager = server.manager(&[], &[]);
    let (looks, ended) = (Looks::default(), Looks::default());
    let (runs, done) = (looks.clone(), ended.clone());
    manager.task("task", Runs::Leader, move || {
        runs.add("run");
        let run = runs.at("run");
        let done = done.clone();
        async move {
            match run {
                1 => Err(kube::Error::LinesCodecMaxLineLengthExceeded),
                2 => panic!("on purpose"),
                _ => {
                    done.add("done");
                    Ok(())
                }
            }
        }
    });
    let started = tokio::time::Instant::now();
    let stop = async {
        ended.wait("done", 1).await;
        let pauses = started.elapsed().as_secs();
        assert_eq!(pauses, 1 + 2);
        tokio::time::sleep(Duration::from_secs(1000)).await;
    };
    manager.run_until(stop).await.unwrap();
    assert_eq!(looks.at("run"), 3);
}

#[tokio::test]
async fn what_a_test_removes_is_gone_from_the_cache_alone() {
    let server = Server::default();
    let maps = Objects::new(server.client());
    put(&server, &maps, A, json!({}));
    let all = maps.index(|_: &ConfigMap| Some(()));
    for _ in 0..2 {
        maps.remove("default", "a");
        assert!(maps.get("default", "a").is_none());
        assert_eq!(names(&all.list(&())), "");
    }
    assert!(maps.get_live("default", "a").await.unwrap().is_some());
}

#[tokio::test]
async fn an_event_is_published_with_a_note_of_at_most_a_kilobyte_and_never_fails() {
    const EVENT: &str = "apis/events.k8s.io/v1/namespaces/default/events";
    let server = Server::default();
    let maps = Objects::new(server.client());
    let map = put(&server, &maps, A, json!({}));
    let long = format!("x{}", "ä".repeat(600));
    for (reason, note, expected) in [("One", "short", 5), ("Two", &long, 1023), ("Three", "", 0)] {
        maps.publish(&map, EventType::Warning, reason, note).await;
        let event = server.get(EVENT);
        let published = event["note"].as_str().unwrap();
        assert!(note.starts_with(published));
        assert_eq!(published.len(), expected);
        assert_eq!(
            (&event["type"], &event["reason"], &event["action"]),
            (&json!("Warning"), &json!(reason), &json!("Reconcile"))
        );
        assert_eq!(event["regarding"]["name"], "a");
        server.delete(EVENT);
    }
    for code in [403, 404, 500] {
        server.refuse(&format!("POST {EVENT}"), code);
        maps.publish(&map, EventType::Normal, "Refused", "").await;
        assert_eq!(server.get(EVENT), Value::Null);
    }
}

/// An object without its kind.
fn dynamic(value: &str) -> DynamicObject {
    let metadata = json!({ "name": "a", "namespace": "default" });
    serde_json::from_value(json!({ "metadata": metadata, "data": { "v": value } })).unwrap()
}

#[tokio::test]
async fn a_dynamic_object_is_written_as_one_of_its_kind() {
    let server = Server::default();
    let resource = ApiResource::erase::<ConfigMap>(&());
    let maps = Objects::<DynamicObject>::new_with(server.client(), &resource, &Scope::Namespaced);
    let created = maps.create(&dynamic("1"), "test").await.unwrap();
    let written = || {
        let object = server.get(A);
        ["apiVersion", "kind"].map(|field| object[field].as_str().unwrap_or_default().to_owned())
    };
    let is_new = |made: &Applied<DynamicObject>| made.change == Change::Created;
    assert_eq!(
        (is_new(&created), written()),
        (true, ["v1", "ConfigMap"].map(str::to_owned))
    );
    let params = DeleteParams::default();
    assert!(maps.delete(&created.object, &params).await.unwrap());
    let applied = maps.apply(&dynamic("2"), "test").await.unwrap();
    assert_eq!(
        (is_new(&applied), written()),
        (true, ["v1", "ConfigMap"].map(str::to_owned))
    );
    assert_eq!(maps.get("default", "a").unwrap().data["data"]["v"], "2");
}

#[tokio::test]
async fn dynamic_kinds_share_no_cache() {
    let mut manager = Server::default().manager(&["default"], &[]);
    let [widgets, again, gadgets] = ["Widget", "Widget", "Gadget"].map(|kind| {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", kind));
        let everything = watcher::Config::default();
        manager.objects_with::<DynamicObject>(&resource, &Scope::Namespaced, &everything)
    });
    let mut widget = dynamic("1");
    widget.metadata.resource_version = Some("1".to_owned());
    widgets.put(widget);
    let known = [widgets, again, gadgets].map(|objects| objects.list(None).len());
    assert_eq!(known, [1, 1, 0]);
}
