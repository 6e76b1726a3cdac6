//! Two replicas with a Lease, or with the ConfigMap of leader for life.

mod mock;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::watcher;
use manager::{Action, Manager, Objects};
use mock::{Never, Server};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

const LEASE: &str = "apis/coordination.k8s.io/v1/namespaces/default/leases/test";
const FLAGS: [&str; 5] = [
    "--leader-elect",
    "--leader-election-id=test",
    "--leader-election-lease-duration=3s",
    "--leader-election-renew-deadline=2s",
    "--leader-election-retry-period=200ms",
];

struct Replica {
    objects: Objects<ConfigMap>,
    looks: mpsc::UnboundedReceiver<()>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), manager::Error>>,
}

fn replica(server: &Server, flags: &[&str]) -> Replica {
    let mut manager: Manager = server.manager(&[], &[&FLAGS, flags].concat());
    let (sender, looks) = mpsc::unbounded_channel();
    let objects = manager.objects::<ConfigMap>(&watcher::Config::default());
    manager.controller("test", &objects).run(
        move |_: Arc<ConfigMap>, _| {
            let sent = sender.send(());
            async move {
                sent.expect("the test listens");
                Ok::<_, Never>(Action::Done)
            }
        },
        Arc::new(()),
    );
    let (stop, stopped) = oneshot::channel::<()>();
    let task = tokio::spawn(manager.run_until(async {
        let _ = stopped.await;
    }));
    Replica {
        objects,
        looks,
        stop,
        task,
    }
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), what)
        .await
        .expect("in time")
}

#[tokio::test]
async fn one_works_and_the_other_follows_when_it_stops_or_loses_the_lease() {
    let server = Server::default();
    server.put(
        "api/v1/namespaces/default/configmaps/a",
        json!({ "data": { "v": "1" } }),
    );
    let mut first = replica(&server, &[]);
    soon(first.looks.recv()).await.expect("the first one works");
    let mut second = replica(&server, &[]);
    while server.count(&format!("GET {LEASE}")) + server.count(&format!("LIST {LEASE}")) < 4 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert!(
        second.looks.try_recv().is_err(),
        "a standby must not reconcile"
    );
    let map = json!({ "metadata": { "name": "c", "namespace": "default" } });
    let map: ConfigMap = serde_json::from_value(map).expect("a config map");
    let refused = second
        .objects
        .apply(&map, "test.example.com")
        .await
        .err()
        .expect("a standby must not write");
    assert!(format!("{refused:?}").contains("Refused"), "{refused:?}");
    assert_eq!(server.count("PATCH"), 0);
    first
        .objects
        .apply(&map, "test.example.com")
        .await
        .expect("the leader may");

    drop(first.stop);
    soon(first.task)
        .await
        .expect("no panic")
        .expect("a clean end");
    soon(second.looks.recv())
        .await
        .expect("the second one follows");

    // Another holder takes the Lease and dies; the replicas wait for it.
    let other = json!({ "spec": { "holderIdentity": "other", "leaseDurationSeconds": 1 } });
    server.put(LEASE, other);
    server.put(
        "api/v1/namespaces/default/configmaps/b",
        json!({ "data": { "v": "1" } }),
    );
    soon(second.looks.recv())
        .await
        .expect("the second one contends again");
    drop(second.stop);
    soon(second.task)
        .await
        .expect("no panic")
        .expect("a clean end");
}

/// A replica that cannot work must not block the others.
async fn contends_when_its_caches_are_full(server: &Server, flags: &[&str], lock: &str) {
    const LIST: &str = "LIST api/v1/configmaps";
    server.put(
        "api/v1/namespaces/other/configmaps/a",
        json!({ "data": { "v": "1" } }),
    );
    server.refuse(LIST, 403);
    let mut replica = replica(server, flags);
    // The retry pauses are 1, 2 and 4 seconds, the lease duration is 3.
    soon(async {
        while server.count(LIST) < 4 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let about = || Vec::from_iter(server.requests().into_iter().filter(|it| it.contains(lock)));
    assert_eq!(about(), [""; 0]);
    server.refuse(LIST, 200);
    soon(replica.looks.recv()).await.expect("it leads");
    assert_ne!(about(), [""; 0]);
    drop(replica.stop);
    soon(replica.task)
        .await
        .expect("no panic")
        .expect("a clean end");
}

#[tokio::test]
async fn a_replica_contends_only_when_its_caches_are_full() {
    contends_when_its_caches_are_full(&Server::default(), &[], "/leases").await;
}

#[cfg(not(feature = "leader-for-life"))]
#[tokio::test]
async fn without_its_feature_a_leader_for_life_is_refused() {
    let flags = ["--leader-election-mode=life", "--leader-election-pod=a"];
    let ended = soon(replica(&Server::default(), &flags).task)
        .await
        .expect("no panic");
    let error = ended.expect_err("it can't run").to_string();
    assert!(error.contains("the feature `leader-for-life`"), "{error}");
}

/// On leadership, an event reports each object that could not be read before.
#[tokio::test]
async fn who_leads_tells_of_what_it_could_not_read_before() {
    let server = Server::default();
    let map = |name: &str| format!("api/v1/namespaces/default/configmaps/{name}");
    let other = json!({ "spec": { "holderIdentity": "other", "leaseDurationSeconds": 60 } });
    server.put(LEASE, other);
    for name in ["a", "b"] {
        server.put(&map(name), json!({ "data": "text" }));
    }
    let replica = replica(&server, &[]);
    let wait = async |what: &str, condition: &dyn Fn() -> bool| {
        let wait = async {
            while !condition() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(20), wait).await;
        assert!(waited.is_ok(), "never came: {what}");
    };
    let asked = || server.count(&format!("GET {LEASE}")) + server.count(&format!("LIST {LEASE}"));
    let events = || server.count("POST apis/events.k8s.io/v1/namespaces/default/events");
    // `b` becomes readable before the leadership, so only `a` is reported.
    server.put(&map("b"), json!({ "data": null }));
    wait("it is read", &|| {
        replica.objects.get("default", "b").is_some()
    })
    .await;
    let before = asked();
    wait("it stands by", &|| asked() > before + 2).await;
    assert_eq!(events(), 0);
    server.put(LEASE, json!({ "spec": { "holderIdentity": "" } }));
    wait("an event", &|| events() > 0).await;
    drop(replica.stop);
    soon(replica.task)
        .await
        .expect("no panic")
        .expect("a clean end");
    assert_eq!(events(), 1);
}

#[tokio::test]
async fn a_reconcile_is_stopped_when_the_leadership_is_lost() {
    let server = Server::default();
    server.put(
        "api/v1/namespaces/other/configmaps/a",
        json!({ "data": { "v": "1" } }),
    );
    let mut manager: Manager = server.manager(&[], &FLAGS);
    let calls = Arc::<AtomicUsize>::default();
    let starts = Arc::<AtomicUsize>::default();
    let (called, started) = (calls.clone(), starts.clone());
    let objects = manager.objects::<ConfigMap>(&watcher::Config::default());
    manager.controller("test", &objects).run(
        move |_: Arc<ConfigMap>, _| {
            let called = called.clone();
            started.fetch_add(1, Ordering::SeqCst);
            async move {
                loop {
                    called.fetch_add(1, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                #[allow(unreachable_code, reason = "it says what a reconcile returns")]
                Ok::<_, Never>(Action::Done)
            }
        },
        Arc::new(()),
    );
    let (stop, stopped) = oneshot::channel::<()>();
    let task = tokio::spawn(manager.run_until(async {
        let _ = stopped.await;
    }));
    let count = |what: &AtomicUsize| what.load(Ordering::SeqCst);
    soon(async {
        while count(&calls) < 10 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    // Another holder takes the Lease.
    let other = json!({ "spec": { "holderIdentity": "other", "leaseDurationSeconds": 1 } });
    server.put(LEASE, other);
    let quiet = async {
        loop {
            let before = count(&calls);
            tokio::time::sleep(Duration::from_millis(100)).await;
            if count(&calls) == before {
                break;
            }
        }
    };
    soon(quiet).await;
    assert_eq!(count(&starts), 1);
    // The other holder is silent, so the stopped tasks start again.
    soon(async {
        while count(&starts) < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    drop(stop);
    task.abort();
}

#[cfg(feature = "leader-for-life")]
mod life {
    use super::*;

    const LOCK: &str = "api/v1/namespaces/default/configmaps/test";

    /// The lock is a ConfigMap, so reconciles see it.
    struct Life {
        server: Server,
    }

    impl Life {
        fn new() -> Self {
            Self {
                server: Server::default(),
            }
        }

        fn replica(&self, pod: &str) -> Replica {
            self.server
                .put(&pod_path(pod), json!({ "status": { "phase": "Running" } }));
            replica(
                &self.server,
                &[
                    "--leader-election-mode=life",
                    &format!("--leader-election-pod={pod}"),
                ],
            )
        }

        /// Waits until this pod owns the lock.
        async fn led_by(&self, pod: &str) {
            soon(async {
                let pod = self.server.get(&pod_path(pod));
                while self.server.get(LOCK)["metadata"]["ownerReferences"][0]["uid"]
                    != pod["metadata"]["uid"]
                {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            })
            .await;
        }

        /// Waits for this number of further reads of the lock.
        async fn looked_at(&self, times: usize) {
            let count = || self.server.count(&format!("LIST {LOCK}"));
            let before = count();
            soon(async {
                while count() < before + times {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            })
            .await;
        }
    }

    fn pod_path(pod: &str) -> String {
        format!("api/v1/namespaces/default/pods/{pod}")
    }

    #[tokio::test]
    async fn a_leader_for_life_leads_until_its_pod_is_gone() {
        let life = Life::new();
        let mut a = life.replica("a");
        soon(a.looks.recv()).await.expect("the first one works");
        let uid = &life.server.get(&pod_path("a"))["metadata"]["uid"];
        let owner = json!([{ "apiVersion": "v1", "kind": "Pod", "name": "a", "uid": uid }]);
        let lock = life.server.get(LOCK);
        assert_eq!(lock["metadata"]["ownerReferences"], owner);

        // The process ends and restarts in the same pod.
        let mut b = life.replica("b");
        drop(a.stop);
        soon(a.task).await.expect("no panic").expect("a clean end");
        life.looked_at(2).await;
        let mut a = life.replica("a");
        soon(a.looks.recv()).await.expect("the same pod leads on");
        assert_eq!(life.server.get(LOCK), lock);
        assert!(b.looks.try_recv().is_err(), "a standby must not reconcile");

        // The pod is deleted, and garbage collection deletes the lock: the running process must
        // notice.
        life.server.delete(&pod_path("a"));
        life.looked_at(2).await;
        assert_eq!(
            life.server.get(LOCK),
            lock,
            "only garbage collection removes the lock"
        );
        life.server.delete(LOCK);
        life.led_by("b").await;
        soon(b.looks.recv()).await.expect("the second one follows");
        // Wait until both replicas have read the lock.
        life.looked_at(6).await;
        while a.looks.try_recv().is_ok() {}
        life.server.put(
            "api/v1/namespaces/default/configmaps/x",
            json!({ "data": { "v": "1" } }),
        );
        soon(b.looks.recv()).await.expect("the second one works");
        assert!(
            a.looks.try_recv().is_err(),
            "a process without a pod must not reconcile"
        );
    }

    #[tokio::test]
    async fn a_replica_contends_only_when_its_caches_are_full() {
        let server = Server::default();
        server.put(&pod_path("a"), json!({ "status": { "phase": "Running" } }));
        let flags = ["--leader-election-mode=life", "--leader-election-pod=a"];
        contends_when_its_caches_are_full(&server, &flags, "/namespaces/default/").await;
    }

    #[tokio::test]
    async fn an_evicted_leader_is_deleted() {
        let life = Life::new();
        let a = life.replica("a");
        life.led_by("a").await;
        let mut b = life.replica("b");
        life.looked_at(2).await;
        drop(a.stop);
        soon(a.task).await.expect("no panic").expect("a clean end");
        life.server.put(
            &pod_path("a"),
            json!({ "status": { "phase": "Failed", "reason": "Evicted" } }),
        );
        soon(async {
            while !life.server.get(&pod_path("a")).is_null() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        })
        .await;
        life.server.delete(LOCK);
        soon(b.looks.recv()).await.expect("the second one follows");
    }

    #[tokio::test]
    async fn a_leader_for_life_needs_a_pod() {
        for (flags, expected) in [
            (
                &["--leader-election-mode=life"][..],
                "`POD_NAME` is not set",
            ),
            (
                &[
                    "--leader-election-mode=life",
                    "--leader-election-pod=nobody",
                ],
                "there is no pod `nobody` in the namespace `default`",
            ),
            (
                &["--leader-election-takeover-after=1s"],
                "`--leader-election-takeover-after` requires `--leader-election-mode=life`",
            ),
        ] {
            let ended = soon(replica(&Server::default(), flags).task)
                .await
                .expect("no panic");
            let error = ended.expect_err("it can't run").to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
