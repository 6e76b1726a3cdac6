//! Users change objects while the operator uses a faulty proxy. After the faults end, everything must match the users'
//! last state: no lost object, no stuck object, no write at rest.
//!
//! `SOAK_OBJECTS` makes the run longer, `SOAK_SEED` replays its faults and changes.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::programs::{Proxy, Users};
use super::{LIMIT, Memory, NAMESPACE, deployed, wait_for_quiet, writes_within};
use crate::control_plane::audit::{self, Log};
use crate::control_plane::{ControlPlane, Process, free_ports};
use crate::generated::{ACCOUNT, Project, SYSTEM};
use crate::http;

const IDENTITY: &str = "system:serviceaccount:memcached-operator-system:memcached-operator-controller-manager";

struct World {
    operator: Process,
    proxy: Proxy,
    metrics: u16,
    log: Log,
    // Dropped last, because the others are its clients.
    plane: ControlPlane,
}

impl World {
    /// Starts a ready operator behind a proxy with these options.
    fn start(seed: u64, options: &[&str]) -> Self {
        let project = Project::sample();
        let mut plane = deployed(project, audit::OF_OPERATORS);
        let account = plane.service_account(SYSTEM, ACCOUNT);
        let proxy = Proxy::start(&plane, &account, seed, options);
        let [probes, metrics] = free_ports();
        let args = [
            format!("--health-probe-bind-address=127.0.0.1:{probes}"),
            format!("--metrics-bind-address=127.0.0.1:{metrics}"),
            "--metrics-secure=false".to_owned(),
        ];
        let env = [("KUBECONFIG".to_owned(), proxy.kubeconfig.display().to_string())];
        let operator = Process::start(plane.dir(), project.binary(), &args, &env);
        plane.admin.show_log(operator.log());
        plane.admin.wait("the operator to be ready", 2 * LIMIT, || http::get(probes, "/readyz"));
        Self { operator, proxy, metrics, log: Log::of(&plane.audit_log()), plane }
    }

    /// Differences from the users' last state.
    fn problems(&self, left: &BTreeMap<String, Value>) -> Vec<String> {
        let mut problems = self.busy().err().into_iter().collect::<Vec<_>>();
        let list = self.plane.admin.get(&["-n", NAMESPACE, "memcacheds,deployments,services,pods"]);
        match list {
            Ok(list) => problems.extend(State::of(&list).problems(left)),
            Err(error) => problems.push(error),
        }
        problems
    }

    /// Fails if the operator's metrics show pending work.
    fn busy(&self) -> Result<(), String> {
        let text = http::get(self.metrics, "/metrics")?;
        for name in ["workqueue_depth", "controller_runtime_active_workers"] {
            let lines: Vec<_> = text.lines().filter(|line| line.starts_with(&format!("{name}{{"))).collect();
            if lines.is_empty() || lines.iter().any(|line| !line.ends_with(" 0")) {
                return Err(format!("the operator says {lines:?}"));
            }
        }
        Ok(())
    }

    #[track_caller]
    fn wait_until_as_left(&mut self, left: &BTreeMap<String, Value>, limit: Duration) {
        let deadline = Instant::now() + limit;
        loop {
            // Comparing everything loads the API server, so wait for quiet first.
            wait_for_quiet(&self.plane, &mut self.log, IDENTITY, Duration::from_secs(3), limit);
            let problems = self.problems(left);
            if problems.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "{}\n{}", first(&problems), self.plane.admin.state());
        }
    }
}

fn first(problems: &[String]) -> String {
    let mut text = format!("{} problems:", problems.len());
    for problem in problems.iter().take(20) {
        write!(text, "\n{problem}").unwrap();
    }
    text
}

struct State {
    memcacheds: BTreeMap<String, Value>,
    deployments: BTreeMap<String, Value>,
    services: BTreeMap<String, Value>,
    /// Sorted names of remaining pods by Memcached.
    pods: BTreeMap<String, Vec<String>>,
}

impl State {
    fn of(list: &Value) -> Self {
        let of_kind = |kind: &str| -> BTreeMap<String, Value> {
            let items = list["items"].as_array().unwrap().iter().filter(|item| item["kind"] == kind);
            items.map(|item| (text(&item["metadata"]["name"]), item.clone())).collect()
        };
        let mut pods = BTreeMap::<_, Vec<_>>::new();
        for (name, pod) in of_kind("Pod") {
            if pod["metadata"]["deletionTimestamp"].is_null() {
                let owner = &pod["metadata"]["annotations"]["cache.example.com/memcached"];
                pods.entry(text(owner)).or_default().push(name);
            }
        }
        Self {
            memcacheds: of_kind("Memcached"),
            deployments: of_kind("Deployment"),
            services: of_kind("Service"),
            pods,
        }
    }

    fn problems(&self, left: &BTreeMap<String, Value>) -> Vec<String> {
        let mut problems = Vec::new();
        for (name, spec) in left {
            problems.extend(self.problem(name, spec).err().map(|problem| format!("{name}: {problem}")));
        }
        for (kind, objects) in
            [("Memcached", &self.memcacheds), ("Deployment", &self.deployments), ("Service", &self.services)]
        {
            let strangers = objects.keys().filter(|name| !left.contains_key(*name));
            problems.extend(strangers.map(|name| format!("{name}: its {kind} is still there")));
        }
        problems
    }

    fn problem(&self, name: &str, spec: &Value) -> Result<(), String> {
        let found = |objects: &BTreeMap<String, Value>, kind: &str| {
            objects.get(name).cloned().ok_or_else(|| format!("no {kind}"))
        };
        let memcached = found(&self.memcacheds, "Memcached")?;
        let deployment = found(&self.deployments, "Deployment")?;
        let service = found(&self.services, "Service")?;
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        let or = |value: &Value, default: Value| if value.is_null() { default } else { value.clone() };
        let uid = &memcached["metadata"]["uid"];
        let port = or(&spec["containerPort"], json!(11211));
        let pods = self.pods.get(name).cloned().unwrap_or_default();
        let status = &memcached["status"];
        let seen = &deployment["status"];
        for (what, is, should) in [
            ("the deletion of the Memcached", &memcached["metadata"]["deletionTimestamp"], &Value::Null),
            ("the size of the Memcached", &memcached["spec"]["size"], &spec["size"]),
            ("the owner of the Deployment", &deployment["metadata"]["ownerReferences"][0]["uid"], uid),
            ("the owner of the Service", &service["metadata"]["ownerReferences"][0]["uid"], uid),
            ("the replicas of the Deployment", &deployment["spec"]["replicas"], &spec["size"]),
            ("the arguments", &or(&container["args"], json!([])), &or(&spec["extraArgs"], json!([]))),
            ("the port of the container", &container["ports"][0]["containerPort"], &port),
            ("the port of the Service", &service["spec"]["ports"][0]["port"], &port),
            // Without a kubelet no pod gets ready, and a rollout stops after its first pod.
            ("the rollout", &seen["observedGeneration"], &deployment["metadata"]["generation"]),
            ("the replicas of the status", &status["replicas"], &or(&seen["replicas"], json!(0))),
            ("the nodes of the status", &or(&status["nodes"], json!([])), &json!(pods)),
        ] {
            if is != should {
                return Err(format!("{what}: {is}, not {should}"));
            }
        }
        let conditions = status["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let generation = &memcached["metadata"]["generation"];
        if conditions.len() != 3 || conditions.iter().any(|condition| condition["observedGeneration"] != *generation) {
            return Err(format!("conditions that are not of generation {generation}: {conditions:?}"));
        }
        Ok(())
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn number(variable: &str) -> Option<u32> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap())
}

/// A hundred objects with up to three pods. A long run has no pods, because only the operator is under test.
#[test]
fn nothing_is_lost_behind_a_faulty_proxy() {
    let seed = number("SOAK_SEED").unwrap_or(1).into();
    let users = match number("SOAK_OBJECTS") {
        Some(objects) => Users { objects, changes: objects, rate: 100, size: 0, seed, options: &[] },
        None => Users { objects: 100, changes: 900, rate: 25, size: 3, seed, options: &[] },
    };
    println!("{} objects, {} changes; SOAK_SEED={seed} replays this", users.objects, users.changes);
    let mut world = World::start(seed, &[]);
    let before = Memory::of(&world.operator);
    let start = Instant::now();
    let left = users.work(&world.plane);
    println!("after {:?} the users are done and {} objects are left", start.elapsed(), left.len());

    world.proxy.stop_faults();
    let counts = world.proxy.counts().unwrap();
    println!("requests at the proxy: {counts:?}");
    for class in [super::fate::Class::Read, super::fate::Class::Watch, super::fate::Class::Write] {
        for (_, name) in super::fate::rates(class) {
            assert!(counts.contains_key(*name), "no fault `{name}`: {counts:?}");
        }
    }
    // A watch retries up to 30 seconds after its last failure.
    world.wait_until_as_left(&left, Duration::from_secs(400) + users.objects * Duration::from_millis(300));
    println!("after {:?} everything is as the users left it", start.elapsed());

    let at_rest = writes_within(&mut world.log, IDENTITY, Duration::from_secs(30));
    assert_eq!(at_rest, [], "written at rest");
    let after = Memory::of(&world.operator);
    let each = (after.resident.saturating_sub(before.resident)) / left.len() as u64;
    println!(
        "memory: {} KiB before, {} KiB at rest, {} KiB at most; {each} bytes for each object",
        before.resident / 1024,
        after.resident / 1024,
        after.peak / 1024
    );
    let refused: Vec<_> = world.log.read().iter().filter(|request| request.code == 403).collect();
    assert!(refused.is_empty(), "{refused:?}");
    it_still_works(&mut world);
    assert_eq!(world.operator.terminate(), Some(0));
}

/// A hanging operator is quiet, too.
fn it_still_works(world: &mut World) {
    let seen = world.log.read().len();
    let memcached = json!({
        "apiVersion": "cache.example.com/v1alpha1",
        "kind": "Memcached",
        "metadata": { "name": "last", "namespace": NAMESPACE },
        "spec": { "size": 0 },
    });
    world.plane.admin.send(&["create", "-f", "-"], &memcached.to_string());
    let World { plane, log, .. } = world;
    plane.admin.wait("the operator to write the status of one more object", LIMIT, || {
        let written = |request: &&audit::Request| request.name == "last" && request.resource == "memcacheds/status";
        log.read()[seen..].iter().find(written).map(drop).ok_or_else(|| "not written".to_owned())
    });
}

#[test]
fn a_lost_object_and_a_write_at_rest_are_found() {
    let mut world = World::start(1, &["--without-faults", "--swallow=m-00002"]);
    let users = Users { objects: 4, changes: 0, rate: 10, size: 1, seed: 1, options: &["--plain"] };
    let mut left = users.work(&world.plane);
    let lost = left.remove("m-00002").unwrap();
    // All other objects have converged.
    let stranger = "m-00002: its Memcached is still there";
    let World { plane, log, .. } = &mut world;
    wait_for_quiet(plane, log, IDENTITY, Duration::from_secs(3), LIMIT);
    world.plane.admin.wait("the others to be as they should", LIMIT, || {
        let problems = world.problems(&left);
        if problems == [stranger] { Ok(()) } else { Err(first(&problems)) }
    });
    left.insert("m-00002".to_owned(), lost);
    assert_eq!(world.problems(&left), ["m-00002: no Deployment"]);

    // The API server rejects it, but it is a request.
    let account = world.plane.service_account(SYSTEM, ACCOUNT);
    let deployments = format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments");
    let again = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "m-00001" } }).to_string();
    let again = || account.attempt(&["create", "--raw", &deployments, "-f", "-"], &again);
    let log = &mut world.log;
    let at_rest = std::thread::scope(|scope| {
        let writer = scope.spawn(again);
        let writes = writes_within(log, IDENTITY, Duration::from_secs(15));
        writer.join().unwrap().unwrap_err();
        writes
    });
    let what: Vec<_> = at_rest.iter().map(|write| (write.verb.as_str(), write.resource.as_str())).collect();
    assert_eq!(what, [("create", "deployments")]);
}

#[test]
fn faults_are_drawn_from_the_seed_and_the_request() {
    use super::fate::{Class, Fate, Plan, rates};
    let fates = |seed: u64, paths: &[&str]| -> BTreeMap<String, Vec<Fate>> {
        let mut plan = Plan::new(seed);
        let mut fates = BTreeMap::<String, Vec<Fate>>::new();
        for _ in 0..1000 {
            for path in paths {
                fates.entry((*path).to_owned()).or_default().push(plan.draw(Class::Write, "PATCH", path));
            }
        }
        fates
    };
    let both = fates(1, &["/a", "/b"]);
    assert_eq!(both, fates(1, &["/b", "/a"]), "the order of different requests does not matter");
    assert_ne!(both, fates(2, &["/a", "/b"]));
    assert_ne!(both["/a"], both["/b"]);
    for (share, name) in rates(Class::Write) {
        let count = both["/a"].iter().filter(|fate| fate.name() == *name).count() as u64;
        assert!((5 * share..15 * share).contains(&count), "{count} of 1000 are {name}, not {share} in a hundred");
    }
}
