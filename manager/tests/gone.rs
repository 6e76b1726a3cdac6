//! Log levels of failures that need no action.

mod mock;

use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::watcher;
use manager::{Action, Manager};
use mock::Server;
use serde_json::json;

fn log() -> &'static Mutex<Vec<u8>> {
    static LOG: OnceLock<Mutex<Vec<u8>>> = OnceLock::new();
    LOG.get_or_init(|| {
        struct Writer;
        impl Write for Writer {
            fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
                log().lock().expect("a log").extend(text);
                Ok(text.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        tracing_subscriber::fmt()
            .with_writer(|| Writer)
            .with_max_level(tracing::Level::DEBUG)
            .with_ansi(false)
            .init();
        Mutex::default()
    })
}

/// Lines of this level about a reconcile.
fn lines(level: &str) -> Vec<String> {
    let log = String::from_utf8(log().lock().expect("a log").clone()).expect("UTF-8");
    let lines = log.lines().filter(|line| line.contains(" reconcile{"));
    let lines = lines.filter_map(|line| line.split_once(&format!(" {level} ")));
    let lines = lines.filter_map(|(_, line)| line.split_once("}: "));
    let lines = lines.filter_map(|(_, line)| line.split_once(": "));
    lines.map(|(_, line)| line.to_owned()).collect()
}

async fn wait(what: &str, condition: impl Fn() -> bool) {
    let wait = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(20), wait).await;
    assert!(waited.is_ok(), "never came: {what}");
}

fn error(code: u16, reason: &str, cause: &str) -> kube::Error {
    let status =
        json!({ "code": code, "reason": reason, "details": { "causes": [{ "reason": cause }] } });
    kube::Error::Api(serde_json::from_value(status).expect("a status"))
}

/// `fail-…` fails after its deletion, and so does `again-…`, which then has a successor. A
/// namespace is deleted, too.
#[tokio::test]
async fn failures_of_what_is_gone_are_no_errors() {
    log();
    let path =
        |namespace: &str, name: &str| format!("api/v1/namespaces/{namespace}/configmaps/{name}");
    let server = Server::default();
    let put = |namespace: &str, name: &str| {
        server.put(&path(namespace, name), json!({ "data": { "v": "1" } }))
    };
    put("one", "fail");
    put("one", "again");
    for name in ["a", "b", "c"] {
        put("terminating", name);
    }
    let mut manager: Manager = server.manager(&[], &[]);
    let objects = manager.objects::<ConfigMap>(&watcher::Config::default());
    let (cache, remote) = (objects.clone(), server.clone());
    manager.controller("test", &objects).run(
        move |map: Arc<ConfigMap>, _| {
            let (cache, remote) = (cache.clone(), remote.clone());
            async move {
                let name = map.metadata.name.clone().unwrap_or_default();
                let namespace = map.metadata.namespace.clone().unwrap_or_default();
                if namespace == "terminating" {
                    return Err(error(403, "Forbidden", "NamespaceTerminating"));
                }
                let path = format!("api/v1/namespaces/one/configmaps/{name}");
                if map.data.as_ref().is_none_or(|data| data["v"] != "1") {
                    return Ok(Action::Done);
                }
                remote.delete(&path);
                wait("the deletion", || cache.get("one", &name).is_none()).await;
                if name == "again" {
                    remote.put(&path, json!({ "data": { "v": "2" } }));
                    wait("the successor", || cache.get("one", &name).is_some()).await;
                }
                Err(error(404, "NotFound", ""))
            }
        },
        Arc::new(()),
    );
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(manager.run_until(async {
        let _ = stopped.await;
    }));
    wait("all failures", || {
        let done = |level| {
            lines(level)
                .into_iter()
                .filter(|line| !line.starts_with("reconciling"))
                .count()
        };
        done("DEBUG") + done(" INFO") + done("ERROR") >= 5
    })
    .await;
    drop(stop);
    running.await.expect("no panic").expect("a clean end");
    assert_eq!(lines("ERROR"), [""; 0]);
    assert_eq!(lines(" WARN"), [""; 0]);
    let told = "the namespace is being deleted: nothing is created in it";
    assert_eq!(lines(" INFO"), [told]);
}
