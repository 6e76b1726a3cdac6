//! Shutdown of an operator while reconciles block: by a signal and by a lost leadership. Runs in a
//! process of its own.

#![cfg(unix)]
#![allow(
    clippy::print_stderr,
    reason = "what the child says there is read by the test"
)]

mod mock;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::watcher;
use manager::Action;
use mock::{Never, Server};
use serde_json::json;

/// Ten times a usual step on two busy cores.
const LIMIT: Duration = Duration::from_secs(20);
const CHILD: &str = "SIGNALS_TEST_CHILD";

/// An operator whose only thread runs a reconcile that never returns.
#[tokio::main(flavor = "current_thread")]
async fn blocked() {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .init();
    let server = Server::default();
    server.put("api/v1/namespaces/default/configmaps/a", json!({}));
    let mut manager = server.manager(&[], &["--graceful-shutdown-timeout=1h"]);
    let objects = manager.objects::<ConfigMap>(&watcher::Config::default());
    manager.controller("test", &objects).run(
        |_: Arc<ConfigMap>, _| async {
            eprintln!("reconciling");
            std::thread::sleep(Duration::from_secs(3600));
            Ok::<_, Never>(Action::Done)
        },
        Arc::new(()),
    );
    manager.run().await.expect("it runs");
}

/// An operator that loses the Lease while a reconcile blocks a thread.
#[tokio::main(flavor = "multi_thread", worker_threads = 4)]
async fn stuck() {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .init();
    let server = Server::default();
    server.put("api/v1/namespaces/default/configmaps/a", json!({}));
    let flags = [
        "--leader-elect",
        "--leader-election-id=test",
        "--leader-election-lease-duration=3s",
        "--leader-election-renew-deadline=2s",
        "--leader-election-retry-period=200ms",
    ];
    let mut manager = server.manager(&[], &flags);
    let objects = manager.objects::<ConfigMap>(&watcher::Config::default());
    manager.controller("test", &objects).run(
        move |_: Arc<ConfigMap>, _| {
            let server = server.clone();
            async move {
                let other = json!({ "spec": { "holderIdentity": "other" } });
                let lease = "apis/coordination.k8s.io/v1/namespaces/default/leases/test";
                server.put(lease, other);
                std::thread::sleep(Duration::from_secs(3600));
                Ok::<_, Never>(Action::Done)
            }
        },
        Arc::new(()),
    );
    let error = manager.run().await.expect_err("it is stuck");
    eprintln!("{error}");
}

/// This test as a child process that is the operator.
struct Operator {
    process: Child,
    lines: Receiver<String>,
}

impl Operator {
    fn start(test: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().expect("a path"))
            .args(["--exact", test, "--nocapture"])
            .env(CHILD, "1")
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        let (sender, lines) = mpsc::channel();
        let output = BufReader::new(process.stderr.take().expect("a pipe"));
        std::thread::spawn(move || {
            output
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        Self { process, lines }
    }

    fn says(&self, expected: &str) {
        let deadline = Instant::now() + LIMIT;
        let mut said = Vec::new();
        while let Ok(line) = self
            .lines
            .recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            if line.contains(expected) {
                return;
            }
            said.push(line);
        }
        panic!("it never said {expected:?}, but {said:#?}");
    }

    fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill")
            .args(["-s", name, &pid])
            .status()
            .expect("there is `kill`");
        assert!(sent.success());
    }

    fn ends(&mut self) -> ExitStatus {
        let deadline = Instant::now() + LIMIT;
        loop {
            if let Some(status) = self.process.try_wait().expect("a child") {
                return status;
            }
            assert!(Instant::now() < deadline, "it goes on");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_second_signal_ends_the_process_at_once() {
    if std::env::var_os(CHILD).is_some() {
        return blocked();
    }
    for signals in [["TERM", "TERM"], ["INT", "TERM"]] {
        let mut operator = Operator::start("a_second_signal_ends_the_process_at_once");
        operator.says("reconciling");
        operator.signal(signals[0]);
        operator.says("told to stop");
        assert!(
            operator.process.try_wait().expect("a child").is_none(),
            "the first signal waits for the reconcile"
        );
        operator.signal(signals[1]);
        assert_eq!(operator.ends().code(), Some(1), "{signals:?}");
    }
}

/// A dropped runtime waits for blocked threads; the process must end anyway.
#[test]
fn a_reconcile_that_blocks_does_not_keep_the_process_of_a_lost_leader() {
    if std::env::var_os(CHILD).is_some() {
        return stuck();
    }
    let name = "a_reconcile_that_blocks_does_not_keep_the_process_of_a_lost_leader";
    let mut operator = Operator::start(name);
    operator.says("the leadership is lost, and the running reconciles did not end");
    assert_eq!(operator.ends().code(), Some(1));
}
