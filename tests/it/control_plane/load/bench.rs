//! Requests and time of the operator for many new objects, compared with a minimal client and a Go operator.
//!
//! `BENCH_OBJECTS` sets the number of objects. `BENCH_GO_OPERATOR` names a Go operator for the same kind; it gets the
//! flags and environment that kubebuilder scaffolds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use super::programs::{self, Users};
use super::{LIMIT, Memory, NAMESPACE, deployed, processor_time, wait_for_quiet, writes_within};
use crate::control_plane::audit::{self, Log, Request};
use crate::control_plane::{ControlPlane, Process, free_ports};
use crate::generated::Project;
use crate::wait;

pub(super) const IMAGE: &str = "localhost/memcached:1.6.18";
/// Number of concurrent reconciles, the operator's default.
const CONCURRENCY: usize = 8;

enum Worker {
    Operator(PathBuf),
    Floor { release: bool },
}

struct Contestant {
    name: &'static str,
    worker: Worker,
    service: bool,
    /// Time without a write that counts as at rest.
    quiet: Duration,
}

struct Run {
    name: &'static str,
    objects: usize,
    /// From the start of the program to the last first status.
    seconds: f64,
    requests: Vec<Request>,
    /// Writes that did not change the object.
    unchanged: Vec<Request>,
    at_rest: Vec<Request>,
    /// `None` for a program that exits by itself.
    used: Option<(Duration, Memory)>,
    /// The final specs of a Deployment and a Service.
    specs: [Value; 2],
}

impl Contestant {
    /// One run on a new control plane.
    fn run(&self, objects: u32) -> Run {
        let plane = deployed(Project::sample(), audit::WITH_VERSIONS);
        let users = Users { objects, changes: 0, rate: 10_000, size: 1, seed: 1, options: &["--plain"] };
        let names: BTreeSet<String> = users.work(&plane).into_keys().collect();
        let user = "contestant";
        let account = plane.administrator(user);
        let mut log = Log::of(&plane.audit_log());
        let limit = LIMIT + objects * Duration::from_millis(300);

        let start = Timestamp::now();
        let mut process = self.start(&plane, account.kubeconfig());
        let end = wait::until(limit, || complete(log.read(), user, &names, self.service));
        let end = end.unwrap_or_else(|missing| panic!("{}: {missing}\n{}", self.name, process.log_text()));
        wait_for_quiet(&plane, &mut log, user, self.quiet, limit);
        let at_rest = writes_within(&mut log, user, 2 * self.quiet);
        let used = process.running().then(|| (processor_time(&process), Memory::of(&process)));
        if matches!(self.worker, Worker::Operator(_)) {
            assert!(used.is_some(), "{} has ended:\n{}", self.name, process.log_text());
        }
        let specs = ["deployment", "service"].map(|kind| {
            let object = plane.admin.get(&["-n", NAMESPACE, kind, names.first().unwrap()]);
            object.map(|object| object["spec"].clone()).unwrap_or_default()
        });
        Run {
            name: self.name,
            objects: names.len(),
            seconds: end.duration_since(start).as_secs_f64(),
            unchanged: unchanged(log.read(), user),
            requests: log.read().iter().filter(|request| request.user == user).cloned().collect(),
            at_rest,
            used,
            specs,
        }
    }

    fn start(&self, plane: &ControlPlane, kubeconfig: &Path) -> Process {
        match &self.worker {
            Worker::Operator(program) => {
                let [probes] = free_ports();
                let args = [format!("--health-probe-bind-address=127.0.0.1:{probes}")];
                let env = [
                    ("KUBECONFIG".to_owned(), kubeconfig.display().to_string()),
                    ("MEMCACHED_IMAGE".to_owned(), IMAGE.to_owned()),
                ];
                Process::start(plane.dir(), program, &args, &env)
            }
            Worker::Floor { release } => {
                let mut args = vec!["floor".to_owned(), format!("--namespace={NAMESPACE}")];
                args.push(format!("--concurrency={CONCURRENCY}"));
                if !self.service {
                    args.push("--without-service".to_owned());
                }
                programs::start(*release, plane.dir(), "floor", kubeconfig, &args)
            }
        }
    }
}

/// The time at which the last owned object or status was written. A status counts only after its Deployment.
fn complete(requests: &[Request], user: &str, names: &BTreeSet<String>, service: bool) -> Result<Timestamp, String> {
    let mut first = BTreeMap::<(&str, &str), Timestamp>::new();
    for write in requests.iter().filter(|request| request.user == user && request.writes() && request.succeeded()) {
        let (kind, name) = (write.resource.as_str(), write.name.as_str());
        if kind != "memcacheds/status" || first.contains_key(&("deployments", name)) {
            first.entry((kind, name)).or_insert(write.time);
        }
    }
    let kinds: &[&str] =
        if service { &["deployments", "services", "memcacheds/status"] } else { &["deployments", "memcacheds/status"] };
    let mut end = Timestamp::MIN;
    for name in names {
        for kind in kinds {
            let time = first.get(&(*kind, name.as_str())).ok_or_else(|| format!("{name}: {kind} is not written"))?;
            end = end.max(*time);
        }
    }
    Ok(end)
}

/// Writes of a user that left the resource version unchanged.
fn unchanged(requests: &[Request], user: &str) -> Vec<Request> {
    let mut seen = BTreeSet::new();
    let mut unchanged = Vec::new();
    for request in requests.iter().filter(|request| request.writes() && request.succeeded()) {
        let Some(version) = &request.version else { continue };
        let kind = request.resource.split('/').next();
        let new = seen.insert((kind, &request.namespace, &request.name, version));
        if !new && request.user == user {
            unchanged.push(request.clone());
        }
    }
    unchanged
}

impl Run {
    /// Number of writes by kind and verb.
    fn writes(&self) -> BTreeMap<(String, String), usize> {
        self.count(Request::writes)
    }

    fn count(&self, which: impl Fn(&Request) -> bool) -> BTreeMap<(String, String), usize> {
        let mut counts = BTreeMap::new();
        for request in self.requests.iter().filter(|request| which(request)) {
            *counts.entry((request.resource.clone(), request.verb.clone())).or_default() += 1;
        }
        counts
    }

    /// Objects of a kind that were not written exactly once, with their number of writes.
    fn not_once(&self, kind: &str) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for request in self.requests.iter().filter(|request| request.writes() && request.resource == kind) {
            *counts.entry(request.name.clone()).or_default() += 1;
        }
        counts.retain(|_, count| *count != 1);
        counts
    }

    fn row(&self, floor: f64) -> String {
        let each = |kind: &str| {
            let of_kind = self.writes().into_iter().filter(|((resource, _), _)| resource == kind);
            format!("{:.2}", of_kind.map(|(_, count)| count).sum::<usize>() as f64 / self.objects as f64)
        };
        let all = self.writes().values().sum::<usize>() as f64 / self.objects as f64;
        let mut row = format!("| {} | {:.1} | {:.2} | {all:.2} |", self.name, self.seconds, self.seconds / floor);
        for kind in ["memcacheds", "deployments", "services", "memcacheds/status"] {
            write!(row, " {} |", each(kind)).unwrap();
        }
        let events = self.requests.iter().filter(|request| request.writes() && request.resource == "events").count();
        write!(
            row,
            " {:.2} | {} | {} |",
            events as f64 / self.objects as f64,
            self.unchanged.len(),
            self.at_rest.len()
        )
        .unwrap();
        match self.used {
            Some((time, memory)) => {
                let megabytes = |bytes: u64| bytes as f64 / 1e6;
                write!(row, " {:.1} | {:.1} |", time.as_secs_f64(), megabytes(memory.peak)).unwrap();
            }
            None => row.push_str(" | |"),
        }
        row
    }
}

fn table(runs: &[Run]) -> String {
    let floors: Vec<_> = runs.iter().filter(|run| run.used.is_none()).map(|run| run.seconds).collect();
    let floor = floors.iter().sum::<f64>() / floors.len() as f64;
    let mut text = "| who | s | of the floor | writes | finalizer | Deployment | Service | status | events \
                    | nothing changed | at rest | CPU s | peak MB |\n\
                    |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    for run in runs {
        writeln!(text, "{}", run.row(floor)).unwrap();
    }
    text.push('\n');
    for run in runs {
        let requests: Vec<_> =
            run.count(|_| true).iter().map(|((resource, verb), count)| format!("{count} {verb} {resource}")).collect();
        writeln!(text, "{}: {}", run.name, requests.join(", ")).unwrap();
    }
    text
}

/// Checks the goals except time and memory.
fn check(run: &Run) {
    for kind in ["memcacheds", "deployments", "services"] {
        let counts: BTreeMap<_, usize> = run.not_once(kind);
        assert_eq!(counts, BTreeMap::new(), "{}: not written exactly once: {kind}", run.name);
    }
    assert_eq!(run.unchanged, [], "{}: writes that changed nothing", run.name);
    assert_eq!(run.at_rest, [], "{}: written at rest", run.name);
}

/// The minimal client must create the same objects; otherwise it is not a lower bound.
fn compare(run: &Run, floor: &Run) {
    assert_eq!(run.specs, floor.specs, "{} and {}", run.name, floor.name);
}

#[test]
fn every_owned_object_is_written_once() {
    if let Ok(objects) = std::env::var("BENCH_OBJECTS") {
        return bench(objects.parse().unwrap());
    }
    let operator = Worker::Operator(Project::sample().binary().to_owned());
    let floor = Worker::Floor { release: false };
    let quiet = Duration::from_secs(5);
    let runs = [("operator", operator), ("floor", floor)]
        .map(|(name, worker)| Contestant { name, worker, service: true, quiet }.run(20));
    println!("{}", table(&runs));
    check(&runs[0]);
    check(&runs[1]);
    compare(&runs[0], &runs[1]);
}

/// A release build, with measurements that depend on the machine.
fn bench(objects: u32) {
    let go = std::env::var_os("BENCH_GO_OPERATOR").map(PathBuf::from);
    let operator = |project: &Project| Worker::Operator(project.binary().to_owned());
    let floor = || Worker::Floor { release: true };
    let ours = Project::release("bench", str::to_owned);
    // Build before the measurement.
    programs::program(true);
    // Measure the minimal client twice: the difference shows the machine's noise.
    let mut rounds = vec![(true, vec![("floor", floor()), ("operator", operator(&ours)), ("floor again", floor())])];
    if let Some(program) = go {
        let ours = Project::release("bench-without-service", without_service);
        let go = Worker::Operator(program);
        rounds.push((false, vec![("floor", floor()), ("operator", operator(&ours)), ("Go operator", go)]));
    }
    println!("{objects} objects of size 1, {CONCURRENCY} at the same time");
    for (service, contestants) in rounds {
        let runs: Vec<_> = contestants
            .into_iter()
            .map(|(name, worker)| {
                let run = Contestant { name, worker, service, quiet: Duration::from_secs(15) }.run(objects);
                println!("{name} is done after {:.1} s", run.seconds);
                run
            })
            .collect();
        println!("\n{} Service\n\n{}", if service { "with a" } else { "without a" }, table(&runs));
        check(&runs[1]);
        compare(&runs[1], &runs[0]);
    }
}

fn without_service(controller: &str) -> String {
    let start = controller.find("    let service = context").unwrap();
    let last = "Error::during(\"apply the Service\"))?;\n";
    let end = start + controller[start..].find(last).unwrap() + last.len();
    format!("{}{}", &controller[..start], &controller[end..])
}
