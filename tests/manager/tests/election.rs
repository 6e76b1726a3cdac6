//! Two replicas and a Lease.

mod mock;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::watcher;
use manager::{Action, Failure, Manager, Objects};
use mock::Server;
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

#[derive(Debug, thiserror::Error)]
#[error("never")]
struct Never;

impl Failure for Never {
    fn reason(&self) -> &'static str {
        "Never"
    }
}

struct Replica {
    objects: Objects<ConfigMap>,
    looks: mpsc::UnboundedReceiver<()>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), manager::Error>>,
}

fn replica(server: &Server) -> Replica {
    let mut manager: Manager = server.manager(&[], &FLAGS);
    let (sender, looks) = mpsc::unbounded_channel();
    let objects = manager.objects::<ConfigMap>(&watcher::Config::default());
    manager.controller("test", &objects).run(move |_: Arc<ConfigMap>| {
        let sent = sender.send(());
        async move {
            sent.expect("the test listens");
            Ok::<_, Never>(Action::Done)
        }
    });
    let (stop, stopped) = oneshot::channel::<()>();
    let task = tokio::spawn(manager.run_until(async {
        let _ = stopped.await;
    }));
    Replica { objects, looks, stop, task }
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), what).await.expect("in time")
}

#[tokio::test]
async fn one_works_and_the_other_follows_when_it_stops_or_loses_the_lease() {
    let server = Server::default();
    server.put("api/v1/namespaces/default/configmaps/a", json!({ "data": { "v": "1" } }));
    let mut first = replica(&server);
    soon(first.looks.recv()).await.expect("the first one works");
    let mut second = replica(&server);
    while server.count(&format!("GET {LEASE}")) + server.count(&format!("LIST {LEASE}")) < 4 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert!(second.looks.try_recv().is_err(), "a standby must not reconcile");
    let map = json!({ "metadata": { "name": "c", "namespace": "default" } });
    let map: ConfigMap = serde_json::from_value(map).expect("a config map");
    let refused = second.objects.apply(&map, "test.example.com").await.err().expect("a standby must not write");
    assert!(format!("{refused:?}").contains("Refused"), "{refused:?}");
    assert_eq!(server.count("PATCH"), 0);
    first.objects.apply(&map, "test.example.com").await.expect("the leader may");

    drop(first.stop);
    soon(first.task).await.expect("no panic").expect("a clean end");
    soon(second.looks.recv()).await.expect("the second one follows");

    // Somebody else takes the lease, dies, and is waited for.
    let other = json!({ "spec": { "holderIdentity": "other", "leaseDurationSeconds": 1 } });
    server.put(LEASE, other);
    server.put("api/v1/namespaces/default/configmaps/b", json!({ "data": { "v": "1" } }));
    soon(second.looks.recv()).await.expect("the second one contends again");
    drop(second.stop);
    soon(second.task).await.expect("no panic").expect("a clean end");
}
