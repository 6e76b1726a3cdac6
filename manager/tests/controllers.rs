//! Controllers against a mock API server: triggers, timing and failures.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic, too")]

mod mock;

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::jiff::{Timestamp, ToSpan};
use kube::ResourceExt;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher;
use manager::{Action, Failure, Manager};
use mock::Server;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;

const MAPS: &str = "api/v1/configmaps";
const A: &str = "api/v1/namespaces/default/configmaps/a";
const B: &str = "api/v1/namespaces/default/configmaps/b";

#[derive(Debug)]
struct Failed {
    permanent: bool,
}

impl fmt::Display for Failed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("failed")
    }
}

impl Failure for Failed {
    fn reason(&self) -> &'static str {
        "Failed"
    }

    fn is_permanent(&self) -> bool {
        self.permanent
    }
}

/// Data of each reconcile by object.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<BTreeMap<String, Vec<String>>>>);

impl Log {
    fn add(&self, object: &ConfigMap) -> usize {
        let data = object.data.as_ref().and_then(|data| data.get("v")).cloned();
        let mut log = self.0.lock().unwrap();
        let looks = log.entry(object.name_any()).or_default();
        looks.push(data.unwrap_or_default());
        looks.len()
    }

    fn looks(&self, name: &str) -> usize {
        self.0.lock().unwrap().get(name).map_or(0, Vec::len)
    }

    fn last(&self, name: &str) -> String {
        let log = self.0.lock().unwrap();
        log.get(name)
            .and_then(|looks| looks.last())
            .cloned()
            .unwrap_or_default()
    }
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let wait = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    assert!(
        tokio::time::timeout(Duration::from_secs(20), wait)
            .await
            .is_ok(),
        "never came: {what}"
    );
}

struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

fn start(manager: Manager) -> Running {
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(async move {
        let stopped = async {
            let _ = stopped.await;
        };
        manager.run_until(stopped).await.expect("the manager runs");
    });
    Running { stop, task }
}

impl Running {
    async fn stop(self) {
        let _ = self.stop.send(());
        let ended = tokio::time::timeout(Duration::from_secs(20), self.task).await;
        ended.expect("the manager stops").expect("without a panic");
    }
}

fn version(v: impl ToString) -> serde_json::Value {
    json!({ "data": { "v": v.to_string() } })
}

/// A controller of ConfigMaps that logs and runs `reconcile`.
fn simple(
    manager: &mut Manager,
    name: &str,
    reconcile: impl Fn(usize, &ConfigMap) -> Result<Action, Failed> + Send + Sync + 'static,
) -> Log {
    let log = Log::default();
    let objects = manager.objects::<ConfigMap>(&watcher::Config::default());
    let (looks, reconcile) = (log.clone(), Arc::new(reconcile));
    manager.controller(name, &objects).run(
        move |object: Arc<ConfigMap>, _| {
            let (looks, reconcile) = (looks.clone(), reconcile.clone());
            async move { reconcile(looks.add(&object), &object) }
        },
        Arc::new(()),
    );
    log
}

#[tokio::test(start_paused = true)]
async fn two_controllers_of_a_kind_share_one_watch() {
    let server = Server::default();
    server.put(A, version(1));
    let mut manager = server.manager(&[], &[]);
    let one = simple(&mut manager, "one", |_, _| Ok(Action::Done));
    let two = simple(&mut manager, "two", |_, _| Ok(Action::Done));
    let running = start(manager);
    until("both look", || one.looks("a") == 1 && two.looks("a") == 1).await;
    server.put(A, version(2));
    until("both see the change", || {
        one.last("a") == "2" && two.last("a") == "2"
    })
    .await;
    running.stop().await;
    assert_eq!(server.count(&format!("LIST {MAPS}")), 1);
}

#[tokio::test(start_paused = true)]
async fn a_watch_asks_for_no_more_than_it_keeps() {
    let server = Server::default();
    let fields = json!([{ "manager": "test", "operation": "Apply" }]);
    server.put(
        A,
        json!({ "metadata": { "managedFields": fields }, "data": { "v": "1" } }),
    );
    let mut manager = server.manager(&[], &[]);
    let log = simple(&mut manager, "maps", |_, _| Ok(Action::Done));
    let all = manager.objects::<ConfigMap>(&watcher::Config::default());
    let some =
        manager.objects::<PartialObjectMeta<ConfigMap>>(&watcher::Config::default().labels("app"));
    let running = start(manager);
    until("both caches", || {
        log.looks("a") == 1 && some.get("default", "a").is_some()
    })
    .await;
    running.stop().await;
    assert!(
        all.get("default", "a")
            .is_some_and(|map| map.metadata.managed_fields.is_none())
    );
    let mut lists = server.requests();
    lists.retain(|request| request.starts_with("LIST"));
    lists.sort();
    assert_eq!(
        lists,
        [format!("LIST {MAPS}"), format!("LIST {MAPS} metadata app")]
    );
}

#[tokio::test(start_paused = true)]
async fn two_controllers_of_one_name_are_refused() {
    let server = Server::default();
    let mut manager = server.manager(&[], &[]);
    simple(&mut manager, "one", |_, _| Ok(Action::Done));
    simple(&mut manager, "one", |_, _| Ok(Action::Done));
    let error = manager
        .run_until(std::future::pending())
        .await
        .expect_err("refused");
    assert_eq!(error.to_string(), "two controllers have the name `one`");
}

#[tokio::test(start_paused = true)]
async fn only_the_wanted_namespaces_are_watched() {
    let server = Server::default();
    for namespace in ["a", "b", "c"] {
        server.put(
            &format!("api/v1/namespaces/{namespace}/configmaps/in-{namespace}"),
            version(1),
        );
    }
    let mut manager = server.manager(&["a", "b"], &[]);
    let log = simple(&mut manager, "maps", |_, _| Ok(Action::Done));
    let running = start(manager);
    until("two objects", || {
        log.looks("in-a") == 1 && log.looks("in-b") == 1
    })
    .await;
    running.stop().await;
    assert_eq!(log.looks("in-c"), 0);
    assert_eq!(server.count("LIST api/v1/namespaces/a/configmaps"), 1);
    assert_eq!(server.count(&format!("LIST {MAPS}")), 0);
}

#[tokio::test(start_paused = true)]
async fn an_operator_of_namespaces_must_know_them() {
    let server = Server::default();
    let error = server
        .manager(&[], &[])
        .namespaced()
        .err()
        .expect("refused")
        .to_string();
    assert!(error.starts_with("`WATCH_NAMESPACE` is not set"), "{error}");
    assert!(server.manager(&["a"], &[]).namespaced().is_ok());
}

#[tokio::test(start_paused = true)]
async fn after_an_expired_watch_the_listing_tells_what_was_missed() {
    let server = Server::default();
    let owned = "api/v1/namespaces/default/secrets/x";
    let owner = json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "1", "controller": true }]);
    server.put(A, version(1));
    server.put(owned, json!({ "metadata": { "ownerReferences": owner } }));
    let mut manager = server.manager(&[], &[]);
    let log = Log::default();
    let objects = manager.objects::<ConfigMap>(&watcher::Config::default());
    let secrets = manager.objects::<Secret>(&watcher::Config::default());
    let looks = log.clone();
    manager.controller("maps", &objects).owns(&secrets).run(
        move |object: Arc<ConfigMap>, _| {
            looks.add(&object);
            async { Ok::<_, Failed>(Action::Done) }
        },
        Arc::new(()),
    );
    let running = start(manager);
    until("the first look", || log.looks("a") >= 1).await;
    server.put(B, version(1));
    server.put(A, version(2));
    server.expire();
    until("what was missed", || {
        log.last("a") == "2" && log.looks("b") == 1
    })
    .await;
    let before = log.looks("a");
    server.delete(owned);
    server.expire();
    until("the deletion of the owned object", || {
        log.looks("a") > before
    })
    .await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_tried_again_and_stops_nobody_else() {
    let server = Server::default();
    server.put(A, version(1));
    server.put(B, version(1));
    let mut manager = server.manager(&[], &[]);
    let log = simple(&mut manager, "maps", |look, object| {
        assert!(object.name_any() != "a" || look >= 3, "on purpose");
        Ok(Action::Done)
    });
    let running = start(manager);
    until("a third look", || {
        log.looks("a") == 3 && log.looks("b") == 1
    })
    .await;
    server.put(A, version(2));
    until("a fourth", || log.looks("a") == 4).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_permanent_error_waits_for_a_change() {
    let server = Server::default();
    server.put(A, version(1));
    server.put(B, version(1));
    let mut manager = server.manager(&[], &[]);
    let log = simple(&mut manager, "maps", |_, object| {
        Err(Failed {
            permanent: object.name_any() == "a",
        })
    });
    let running = start(manager);
    until("retries of the other", || log.looks("b") >= 5).await;
    assert_eq!(log.looks("a"), 1);
    server.put(A, version(2));
    until("a look at the change", || log.looks("a") == 2).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_hangs_is_stopped_before_the_next_of_its_object() {
    struct Inside(Arc<AtomicUsize>);
    impl Drop for Inside {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    let server = Server::default();
    server.put(A, version(1));
    let mut manager = server.manager(&[], &[]);
    let objects = manager.objects::<ConfigMap>(&watcher::Config::default());
    let (log, inside, most) = (
        Log::default(),
        Arc::<AtomicUsize>::default(),
        Arc::<AtomicUsize>::default(),
    );
    let (looks, now, top) = (log.clone(), inside.clone(), most.clone());
    let controller = manager
        .controller("maps", &objects)
        .reconcile_timeout(Duration::from_millis(30));
    controller.run(
        move |object: Arc<ConfigMap>, _| {
            looks.add(&object);
            top.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let inside = Inside(now.clone());
            async move {
                let _inside = inside;
                std::future::pending::<()>().await;
                Ok::<_, Failed>(Action::Done)
            }
        },
        Arc::new(()),
    );
    let running = start(manager);
    until("three attempts", || log.looks("a") >= 3).await;
    assert_eq!(most.load(Ordering::SeqCst), 1);
    running.stop().await;
    assert_eq!(inside.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn objects_are_worked_on_at_the_same_time_but_each_by_one() {
    let server = Server::default();
    let names: Vec<_> = (0..4).map(|number| format!("m{number}")).collect();
    let path = |name: &str| format!("api/v1/namespaces/default/configmaps/{name}");
    for name in &names {
        server.put(&path(name), version(0));
    }
    let mut manager = server.manager(&[], &[]);
    let objects = manager.objects::<ConfigMap>(&watcher::Config::default());
    let (log, working) = (
        Log::default(),
        Arc::<Mutex<BTreeMap<String, usize>>>::default(),
    );
    let twice = Arc::<AtomicUsize>::default();
    let (looks, doubled) = (log.clone(), twice.clone());
    let controller = manager
        .controller("maps", &objects)
        .max_concurrent_reconciles(NonZeroUsize::MIN.saturating_add(3));
    controller.run(
        move |object: Arc<ConfigMap>, _| {
            let (looks, working, doubled) = (looks.clone(), working.clone(), doubled.clone());
            async move {
                let count = |change: fn(usize) -> usize| {
                    let mut working = working.lock().unwrap();
                    let count = working.entry(object.name_any()).or_default();
                    *count = change(*count);
                    *count
                };
                if count(|count| count + 1) > 1 {
                    doubled.fetch_add(1, Ordering::SeqCst);
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
                looks.add(&object);
                count(|count| count - 1);
                let planned = [
                    Action::Done,
                    Action::Requeue,
                    Action::RequeueAfter(Duration::from_millis(1)),
                ];
                Ok::<_, Failed>(planned[looks.looks(&object.name_any()) % 3])
            }
        },
        Arc::new(()),
    );
    let running = start(manager);
    for change in 1..=200 {
        for name in &names {
            server.put(&path(name), version(change));
        }
        tokio::time::sleep(Duration::from_micros(500)).await;
    }
    until("the last change of each", || {
        names.iter().all(|name| log.last(name) == "200")
    })
    .await;
    running.stop().await;
    assert_eq!(twice.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_missing_stops_nobody_else_and_starts_when_it_comes() {
    let server = Server::default();
    server.serve("api/v1/secrets", false);
    server.put(A, version(1));
    server.put("api/v1/namespaces/default/secrets/s", json!({}));
    let mut manager = server.manager(&[], &[]);
    let maps = simple(&mut manager, "maps", |_, _| Ok(Action::Done));
    let secrets = manager.objects::<Secret>(&watcher::Config::default());
    let seen = Arc::<AtomicUsize>::default();
    let count = seen.clone();
    manager.controller("secrets", &secrets).run(
        move |_: Arc<Secret>, _| {
            count.fetch_add(1, Ordering::SeqCst);
            async { Ok::<_, Failed>(Action::Done) }
        },
        Arc::new(()),
    );
    let running = start(manager);
    until("the other controller works", || maps.looks("a") == 1).await;
    assert_eq!(seen.load(Ordering::SeqCst), 0);
    server.serve("api/v1/secrets", true);
    until("it starts", || seen.load(Ordering::SeqCst) == 1).await;
    running.stop().await;
}

/// The response of `/readyz`, once it is served.
async fn readyz(port: u16) -> String {
    let ask = async || -> std::io::Result<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        stream
            .write_all(
                b"GET /readyz?verbose HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            )
            .await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    };
    let answer = async {
        loop {
            match ask().await {
                Ok(answer) => break answer,
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    let answer = tokio::time::timeout(Duration::from_secs(20), answer)
        .await
        .expect("it is served");
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer in HTTP");
    format!("{} {body}", head.split(' ').nth(1).expect("a status"))
}

/// Runs in real time, because of the connection.
#[tokio::test]
async fn who_asks_why_it_is_not_ready_hears_of_the_kind_that_is_missing() {
    let server = Server::default();
    server.serve("api/v1/secrets", false);
    let port = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let mut manager = server.manager(
        &[],
        &[&format!("--health-probe-bind-address=127.0.0.1:{port}")],
    );
    simple(&mut manager, "maps", |_, _| Ok(Action::Done));
    manager.objects::<Secret>(&watcher::Config::default());
    let running = start(manager);
    let wait = async |expected: &str| {
        let mut answer = String::new();
        for _ in 0..4_000 {
            answer = readyz(port).await;
            if answer == expected {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("not {expected:?}, but {answer:?}");
    };
    let unready = |why: &str| {
        format!("500 [-]caches failed: Secret (v1) is {why}\n[+]watches ok\nreadyz check failed\n")
    };
    let forbidden = "forbidden: does a role of the operator allow to list and watch it?";
    wait(&unready("not served by the cluster: is its CRD installed?")).await;
    server.refuse("LIST api/v1/secrets", 403);
    server.serve("api/v1/secrets", true);
    wait(&unready(forbidden)).await;
    server.refuse("LIST api/v1/secrets", 200);
    wait("200 [+]caches ok\n[+]watches ok\nreadyz check passed\n").await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_an_optional_kind() {
    let server = Server::default();
    server.serve("api/v1/secrets", false);
    server.put(A, version(1));
    let mut manager = server.manager(&[], &[]);
    let (maps, secrets) = (
        manager.objects::<ConfigMap>(&watcher::Config::default()),
        manager.objects::<Secret>(&watcher::Config::default()),
    );
    let (log, secrets) = (Log::default(), secrets.optional());
    let looks = log.clone();
    manager
        .controller("maps", &maps)
        .watches(&secrets, |secret| [manager::ObjectKey::of(secret)])
        .run(
            move |object: Arc<ConfigMap>, _| {
                looks.add(&object);
                async { Ok::<_, Failed>(Action::Done) }
            },
            Arc::new(()),
        );
    let running = start(manager);
    until("a look without the kind", || log.looks("a") == 1).await;
    assert!(!secrets.is_served());
    server.put("api/v1/namespaces/default/secrets/a", json!({}));
    server.serve("api/v1/secrets", true);
    until("a look because of the kind", || log.looks("a") == 2).await;
    assert!(secrets.is_served());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_changes_overtakes_what_was_there() {
    let server = Server::default();
    let path = |name: &str| format!("api/v1/namespaces/default/configmaps/{name}");
    for name in ["m1", "m2", "m3", "m4"] {
        server.put(&path(name), version(1));
    }
    let mut manager = server.manager(&[], &["--max-concurrent-reconciles=1"]);
    let objects = manager.objects::<ConfigMap>(&watcher::Config::default());
    let order = Arc::<Mutex<Vec<String>>>::default();
    let gate = Arc::new(Semaphore::new(0));
    let (looks, open) = (order.clone(), gate.clone());
    manager.controller("maps", &objects).run(
        move |object: Arc<ConfigMap>, _| {
            looks.lock().unwrap().push(object.name_any());
            let open = open.clone();
            async move {
                open.acquire().await.expect("it is open").forget();
                Ok::<_, Failed>(Action::Done)
            }
        },
        Arc::new(()),
    );
    let running = start(manager);
    until("the first", || order.lock().unwrap().len() == 1).await;
    server.put(&path("m4"), version(2));
    until("the change", || {
        let map = objects.get("default", "m4");
        map.is_some_and(|map| map.data.as_ref().is_some_and(|data| data["v"] == "2"))
    })
    .await;
    gate.add_permits(4);
    until("the last", || order.lock().unwrap().len() == 4).await;
    assert_eq!(*order.lock().unwrap(), ["m1", "m4", "m2", "m3"]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_before_the_caches_are_full_takes_no_second() {
    for flags in [&[][..], &["--leader-elect", "--leader-election-id=test"]] {
        let server = Server::default();
        server.serve("api/v1/secrets", false);
        let mut manager = server.manager(&[], flags);
        simple(&mut manager, "maps", |_, _| Ok(Action::Done));
        let secrets = manager.objects::<Secret>(&watcher::Config::default());
        manager
            .controller("secrets", &secrets)
            .run(|_, _| async { Ok::<_, Failed>(Action::Done) }, Arc::new(()));
        let running = start(manager);
        until("a list", || server.count("LIST api/v1/secrets") > 0).await;
        let started = tokio::time::Instant::now();
        running.stop().await;
        let took = started.elapsed();
        assert!(took < Duration::from_secs(1), "{flags:?}: {took:?}");
    }
}

/// Panics in an author's code outside reconcile.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Trap {
    Display,
    Reason,
    Permanent,
    Drop,
    Map,
    Predicate,
}

struct Trapped(Trap);

impl fmt::Display for Trapped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        assert_ne!(self.0, Trap::Display, "on purpose");
        formatter.write_str("failed")
    }
}

impl Failure for Trapped {
    fn reason(&self) -> &'static str {
        assert_ne!(self.0, Trap::Reason, "on purpose");
        "Failed"
    }

    fn is_permanent(&self) -> bool {
        assert_ne!(self.0, Trap::Permanent, "on purpose");
        false
    }
}

impl Drop for Trapped {
    fn drop(&mut self) {
        assert!(
            self.0 != Trap::Drop || std::thread::panicking(),
            "on purpose"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_panics_an_object_is_looked_at_again() {
    for trap in [
        Trap::Display,
        Trap::Reason,
        Trap::Permanent,
        Trap::Drop,
        Trap::Map,
        Trap::Predicate,
    ] {
        let server = Server::default();
        server.put(A, version(1));
        server.put("api/v1/namespaces/default/secrets/a", json!({}));
        let mut manager = server.manager(&[], &[]);
        let maps = manager.objects::<ConfigMap>(&watcher::Config::default());
        let secrets = manager.objects::<Secret>(&watcher::Config::default());
        let log = Log::default();
        let looks = log.clone();
        let is_new = |secret: &Secret| secret.metadata.labels.is_some();
        manager
            .controller("maps", &maps)
            .when(move |before, _| {
                assert!(trap != Trap::Predicate || before.is_none(), "on purpose");
                true
            })
            .watches(&secrets, move |secret| {
                assert!(trap != Trap::Map || is_new(secret), "on purpose");
                [manager::ObjectKey::of(secret)]
            })
            .run(
                move |object: Arc<ConfigMap>, _| {
                    let look = looks.add(&object);
                    async move {
                        match look {
                            2 => Err(Trapped(trap)),
                            _ => Ok(Action::Done),
                        }
                    }
                },
                Arc::new(()),
            );
        let running = start(manager);
        until("a first look", || log.looks("a") >= 1).await;
        server.put(A, version(2));
        until(&format!("a retry after {trap:?}"), || log.looks("a") >= 3).await;
        let before = log.looks("a");
        let label = json!({ "metadata": { "labels": { "is": "new" } } });
        server.put("api/v1/namespaces/default/secrets/a", label);
        until(&format!("a look at what is watched after {trap:?}"), || {
            log.looks("a") > before
        })
        .await;
        running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn who_comes_back_at_once_does_not_spin() {
    for action in [
        Action::RequeueAfter(Duration::ZERO),
        Action::RequeueAt(Timestamp::UNIX_EPOCH),
    ] {
        let server = Server::default();
        server.put(A, version(1));
        let mut manager = server.manager(&[], &[]);
        let log = simple(&mut manager, "maps", move |_, _| Ok(action));
        let running = start(manager);
        until("it comes back", || log.looks("a") >= 3).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        let looks = log.looks("a");
        assert!(
            (10..=20).contains(&looks),
            "{looks} looks in a minute: {action:?}"
        );
        running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn who_comes_back_at_a_time_is_not_seen_before() {
    let server = Server::default();
    server.put(A, version(1));
    let mut manager = server.manager(&[], &[]);
    let at = Timestamp::now() + 1.hour();
    let log = simple(&mut manager, "maps", move |_, _| Ok(Action::RequeueAt(at)));
    let running = start(manager);
    until("a first look", || log.looks("a") == 1).await;
    tokio::time::sleep(Duration::from_secs(59 * 60)).await;
    assert_eq!(log.looks("a"), 1);
    tokio::time::sleep(Duration::from_secs(90)).await;
    assert_eq!(log.looks("a"), 2);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_panics_begins_again() {
    let server = Server::default();
    server.put(A, version(1));
    let mut manager = server.manager(&[], &[]);
    let log = simple(&mut manager, "maps", |_, _| Ok(Action::Done));
    let running = start(manager);
    until("the first look", || log.looks("a") == 1).await;
    server.panic_at(&format!("WATCH {MAPS}"));
    server.put(A, version(2));
    until("the panic", || log.last("a") == "2").await;
    server.put(A, version(3));
    until("a look after the panic", || log.last("a") == "3").await;
    running.stop().await;
    assert_eq!(server.count(&format!("LIST {MAPS}")), 2);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_read_is_told_once_and_hides_no_other() {
    let server = Server::default();
    server.put(A, json!({ "data": "text" }));
    server.put(B, version(1));
    let mut manager = server.manager(&[], &[]);
    let log = simple(&mut manager, "maps", |_, _| Ok(Action::Done));
    let running = start(manager);
    let events = || server.count("POST apis/events.k8s.io/v1/namespaces/default/events");
    until("the other, and an event", || {
        log.looks("b") == 1 && events() == 1
    })
    .await;
    server.put(B, version(2));
    server.expire();
    until("a listing", || {
        server.count(&format!("LIST {MAPS}")) == 2 && log.last("b") == "2"
    })
    .await;
    assert_eq!((log.looks("a"), events()), (0, 1));
    server.delete(A);
    server.put(A, version(3));
    until("it can be read", || log.last("a") == "3").await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_waits_for_running_reconciles_but_not_for_ever() {
    for (timeout, let_go) in [("20s", true), ("30ms", false)] {
        let server = Server::default();
        server.put(A, version(1));
        let flag = format!("--graceful-shutdown-timeout={timeout}");
        let mut manager = server.manager(&[], &[&flag]);
        let objects = manager.objects::<ConfigMap>(&watcher::Config::default());
        let (gate, log, ends) = (
            Arc::new(Semaphore::new(0)),
            Log::default(),
            Arc::<AtomicUsize>::default(),
        );
        let (open, looks, ended) = (gate.clone(), log.clone(), ends.clone());
        manager.controller("maps", &objects).run(
            move |object: Arc<ConfigMap>, _| {
                let (open, looks, ended) = (open.clone(), looks.clone(), ended.clone());
                async move {
                    looks.add(&object);
                    let _pass = open.acquire().await;
                    ended.fetch_add(1, Ordering::SeqCst);
                    Ok::<_, Failed>(Action::Requeue)
                }
            },
            Arc::new(()),
        );
        let running = start(manager);
        until("it runs", || log.looks("a") == 1).await;
        let stopping = tokio::spawn(running.stop());
        server.put(B, version(1));
        if let_go {
            assert!(!stopping.is_finished());
            gate.add_permits(1);
        }
        stopping.await.expect("it stops");
        assert_eq!(
            ends.load(Ordering::SeqCst),
            usize::from(let_go),
            "{timeout}"
        );
    }
}
