//! The Memcached operator with many objects: behind a faulty proxy, and as a benchmark.
//!
//! `make soak` and `make bench-operator` are the long runs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::control_plane::audit::{Log, Request};
use crate::control_plane::{ControlPlane, Process};
use crate::generated::Project;
use crate::wait;

mod bench;
// The unit tests of this module run here.
#[path = "../../load/src/fate.rs"]
#[allow(dead_code)]
mod fate;
mod programs;
mod soak;

const NAMESPACE: &str = "load";
/// Ten times a usual step on two busy cores.
const LIMIT: Duration = Duration::from_secs(120);

fn deployed(project: &Project, policy: &str) -> ControlPlane {
    let plane = ControlPlane::audited(policy);
    project.deploy(&plane.admin);
    plane.admin.run(&["create", "namespace", NAMESPACE]);
    plane
}

/// Waits until a user has not written for this time by the log's clock. The API server's own requests advance it every
/// few seconds.
#[track_caller]
fn wait_for_quiet(plane: &ControlPlane, log: &mut Log, user: &str, quiet: Duration, limit: Duration) {
    plane.admin.wait(&format!("`{user}` to write nothing for {quiet:?}"), limit, || {
        let requests = log.read();
        let last = requests.iter().rfind(|request| request.user == user && request.writes());
        let end = requests.last().map(|request| request.time);
        match (last, end) {
            (Some(last), Some(end)) if quiet_between(last, end, quiet) => Ok(()),
            (last, _) => Err(format!("its last write is {last:?}")),
        }
    });
}

fn quiet_between(last: &Request, end: k8s_openapi::jiff::Timestamp, quiet: Duration) -> bool {
    Duration::try_from(end.duration_since(last.time)).is_ok_and(|passed| passed >= quiet)
}

/// The writes of a user during this time of the log's clock.
fn writes_within(log: &mut Log, user: &str, window: Duration) -> Vec<Request> {
    let seen = log.read().len();
    let start = log.read().last().map(|request| request.time).unwrap();
    let closed = wait::until(10 * window, || {
        let end = log.read().last().map(|request| request.time).unwrap();
        let passed = Duration::try_from(end.duration_since(start)).unwrap_or_default();
        if passed >= window { Ok(()) } else { Err(format!("the log has gone on for {passed:?}")) }
    });
    assert_eq!(closed, Ok(()));
    log.read()[seen..].iter().filter(|request| request.user == user && request.writes()).cloned().collect()
}

/// Memory of a process in bytes: current and peak.
#[derive(Clone, Copy)]
struct Memory {
    resident: u64,
    peak: u64,
}

impl Memory {
    fn of(process: &Process) -> Self {
        let text = std::fs::read_to_string(format!("/proc/{}/status", process.pid())).unwrap();
        let kilobytes = |name: &str| -> u64 {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse().unwrap()
        };
        Self { resident: kilobytes("VmRSS") * 1024, peak: kilobytes("VmHWM") * 1024 }
    }
}

fn processor_time(process: &Process) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", process.pid())).unwrap();
    // The name in parentheses may contain spaces.
    let fields: Vec<_> = text.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = [fields[11], fields[12]].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    // The kernel always reports ticks of 10 ms to user space.
    Duration::from_millis(10 * ticks)
}

fn anonymous_kubeconfig(dir: &Path, server: &str) -> PathBuf {
    let config = serde_json::json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "proxy", "cluster": { "server": server } }],
        "contexts": [{ "name": "proxy", "context": { "cluster": "proxy", "user": "" } }],
        "current-context": "proxy",
    });
    let path = dir.join("proxy.kubeconfig");
    std::fs::write(&path, config.to_string()).unwrap();
    path
}
