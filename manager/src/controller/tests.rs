//! Controller metrics.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::registry::Registry;

use super::queue::{Priority, Queue};
use crate::metrics::{self, Metrics, ReconcileOutcome};
use crate::object::ObjectKey;

/// Metrics that dashboards for Go operators query.
const ON_DASHBOARDS: [&str; 11] = [
    "controller_runtime_active_workers",
    "controller_runtime_reconcile_errors_total",
    "controller_runtime_reconcile_total",
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "workqueue_adds_total",
    "workqueue_depth",
    "workqueue_queue_duration_seconds_bucket",
    "workqueue_retries_total",
    "workqueue_unfinished_work_seconds",
    "workqueue_work_duration_seconds_bucket",
];

async fn page() -> String {
    tokio::time::pause();
    let mut registry = Registry::default();
    let metrics = Metrics::new(&mut registry);
    let queue = Arc::new(Queue::new(metrics.queue("memcached")));
    let load = queue.clone();
    metrics.ask("memcached", move || load.load());
    let controller = metrics.controller("memcached", 8);
    let key = |name: &str| ObjectKey {
        namespace: Some("default".into()),
        name: name.into(),
    };
    queue.add(key("a"), Priority::Normal);
    queue.add(key("b"), Priority::Normal);
    queue.add(key("b"), Priority::Normal);
    tokio::time::advance(Duration::from_millis(2)).await;
    let first = queue.next().await;
    controller.started();
    tokio::time::advance(Duration::from_millis(7)).await;
    controller.ended(ReconcileOutcome::Panic, Duration::from_millis(7));
    queue.retry(first.clone());
    queue.done(&first);
    queue.next().await;
    controller.started();
    tokio::time::advance(Duration::from_millis(3)).await;
    queue.add(key("c"), Priority::Low);
    metrics.set_leader("0123abcd.example.com", true);
    metrics.requested("10.0.0.1:443", "GET", "200");
    metrics.requested("10.0.0.1:443", "GET", "200");
    metrics.requested("10.0.0.1:443", "PATCH", "<error>");
    metrics::page(&registry)
}

#[tokio::test]
async fn metrics_mean_what_they_mean_in_controller_runtime() {
    let text = page().await;
    let mut samples: Vec<_> = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.starts_with("process_"))
        .filter(|line| {
            let bucket = line.contains("_bucket{");
            !bucket
                || ["\"0.005\"", "\"0.01\"", "\"+Inf\""]
                    .iter()
                    .any(|le| line.contains(le))
        })
        .collect();
    let expected = r#"
controller_runtime_active_workers{controller="memcached"} 1
controller_runtime_max_concurrent_reconciles{controller="memcached"} 8
controller_runtime_reconcile_errors_total{controller="memcached"} 1
controller_runtime_reconcile_panics_total{controller="memcached"} 1
controller_runtime_terminal_reconcile_errors_total{controller="memcached"} 0
controller_runtime_reconcile_total{controller="memcached",result="error"} 1
controller_runtime_reconcile_total{controller="memcached",result="requeue"} 0
controller_runtime_reconcile_total{controller="memcached",result="requeue_after"} 0
controller_runtime_reconcile_total{controller="memcached",result="success"} 0
controller_runtime_reconcile_time_seconds_bucket{le="0.005",controller="memcached"} 0
controller_runtime_reconcile_time_seconds_bucket{le="0.01",controller="memcached"} 1
controller_runtime_reconcile_time_seconds_bucket{le="+Inf",controller="memcached"} 1
controller_runtime_reconcile_time_seconds_sum{controller="memcached"} 0.007
controller_runtime_reconcile_time_seconds_count{controller="memcached"} 1
workqueue_adds_total{controller="memcached",name="memcached"} 3
workqueue_depth{controller="memcached",name="memcached"} 1
workqueue_longest_running_processor_seconds{controller="memcached",name="memcached"} 0.003
workqueue_queue_duration_seconds_bucket{le="0.01",controller="memcached",name="memcached"} 2
workqueue_queue_duration_seconds_bucket{le="+Inf",controller="memcached",name="memcached"} 2
workqueue_queue_duration_seconds_sum{controller="memcached",name="memcached"} 0.011
workqueue_queue_duration_seconds_count{controller="memcached",name="memcached"} 2
workqueue_retries_total{controller="memcached",name="memcached"} 1
workqueue_unfinished_work_seconds{controller="memcached",name="memcached"} 0.003
workqueue_work_duration_seconds_bucket{le="0.01",controller="memcached",name="memcached"} 1
workqueue_work_duration_seconds_bucket{le="+Inf",controller="memcached",name="memcached"} 1
workqueue_work_duration_seconds_sum{controller="memcached",name="memcached"} 0.007
workqueue_work_duration_seconds_count{controller="memcached",name="memcached"} 1
leader_election_master_status{name="0123abcd.example.com"} 1
rest_client_requests_total{code="200",host="10.0.0.1:443",method="GET"} 2
rest_client_requests_total{code="<error>",host="10.0.0.1:443",method="PATCH"} 1
"#;
    samples.sort_unstable();
    let mut expected: Vec<_> = expected.trim().lines().collect();
    expected.sort_unstable();
    assert_eq!(samples, expected);
}

#[tokio::test]
async fn dashboards_find_what_they_ask_for() {
    let text = page().await;
    for name in ON_DASHBOARDS {
        // Process metrics exist only on Linux.
        if name.starts_with("process_") && !cfg!(target_os = "linux") {
            continue;
        }
        let is_sample = |line: &str| line.starts_with(name) && !line.starts_with('#');
        assert!(text.lines().any(is_sample), "no `{name}` in\n{text}");
    }
}
