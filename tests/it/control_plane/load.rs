//! The Memcached operator with many objects: behind a proxy that fails, and against the clock.
//!
//! `make soak` and `make bench-operator` run the long versions of the tests here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::control_plane::audit::{Log, Request};
use crate::control_plane::{ControlPlane, Process};
use crate::generated::Project;
use crate::wait;

mod bench;
// Drawn at random, and therefore tested here, where all tests are.
#[path = "../../load/src/fate.rs"]
#[allow(dead_code)]
mod fate;
mod programs;
mod soak;

/// Where the Memcacheds of these tests are.
const NAMESPACE: &str = "load";
/// Ten times what a step takes on two busy cores.
const LIMIT: Duration = Duration::from_secs(120);

/// A control plane on which a project is deployed, but no operator runs.
fn deployed(project: &Project, policy: &str) -> ControlPlane {
    let plane = ControlPlane::audited(policy);
    project.deploy(&plane.admin);
    plane.admin.run(&["create", "namespace", NAMESPACE]);
    plane
}

/// Waits until a user has written nothing for this time, as the log tells it; the API server itself makes a request every
/// few seconds, so the log goes on.
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

/// What a user writes while the log goes on for this time.
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

/// The memory of a process, in bytes: now, and the most it ever had.
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

/// The processor time that a process has used.
fn processor_time(process: &Process) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", process.pid())).unwrap();
    // The name, in parentheses, may have spaces.
    let fields: Vec<_> = text.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = [fields[11], fields[12]].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    // The kernel tells user space hundredths of a second, whatever it counts in.
    Duration::from_millis(10 * ticks)
}

/// Writes a kubeconfig of a server that asks for no credentials.
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
