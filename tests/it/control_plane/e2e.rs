//! The Memcached operator on a real control plane, from generation to garbage collection. It runs under a
//! ServiceAccount with the generated roles only.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::control_plane::audit::{self, Log, Request};
use crate::control_plane::{ControlPlane, Process, free_ports};
use crate::generated::{ACCOUNT, Project, SYSTEM};
use crate::sandbox::{Run, Sandbox};
use crate::{http, wait};

mod confined;
mod life;
mod switched_on;

const NAMESPACE: &str = "e2e";
const ROLE: &str = "memcached-operator-manager-role";
const IDENTITY: &str = "system:serviceaccount:memcached-operator-system:memcached-operator-controller-manager";
/// Ten times a usual step on two busy cores.
const LIMIT: Duration = Duration::from_secs(60);

/// The deployed project on its own control plane.
struct World {
    operator: Option<Process>,
    probes: u16,
    metrics: u16,
    plane: ControlPlane,
    log: RefCell<Log>,
    project: &'static Project,
}

impl World {
    /// Applies `config/default` without an operator.
    fn deploy() -> Self {
        let project = Project::sample();
        let plane = ControlPlane::start();
        project.deploy(&plane.admin);
        plane.admin.run(&["create", "namespace", NAMESPACE]);
        let [probes, metrics] = free_ports();
        let log = RefCell::new(Log::of(&plane.audit_log()));
        Self { operator: None, probes, metrics, plane, log, project }
    }

    fn start_operator(&mut self) {
        let account = self.plane.service_account(SYSTEM, ACCOUNT);
        let env = [
            ("KUBECONFIG".to_owned(), account.kubeconfig().display().to_string()),
            ("MEMCACHED_IMAGE".to_owned(), "localhost/memcached:1.6.18".to_owned()),
        ];
        let args = [
            format!("--health-probe-bind-address=127.0.0.1:{}", self.probes),
            format!("--metrics-bind-address=127.0.0.1:{}", self.metrics),
            "--leader-elect".to_owned(),
            format!("--leader-election-namespace={SYSTEM}"),
        ];
        let operator = Process::start(self.plane.dir(), self.project.binary(), &args, &env);
        self.plane.admin.show_log(operator.log());
        self.operator = Some(operator);
        self.plane.admin.wait("the operator to be ready", LIMIT, || self.probe("/readyz"));
    }

    fn operator(&mut self) -> &mut Process {
        self.operator.as_mut().unwrap()
    }

    fn probe(&self, path: &str) -> Result<(), String> {
        http::get(self.probes, path).map(drop)
    }

    fn kubectl(&self) -> &Cluster {
        &self.plane.admin
    }

    #[track_caller]
    fn run(&self, args: &[&str]) -> String {
        self.kubectl().run(&[&["-n", NAMESPACE], args].concat())
    }

    #[track_caller]
    fn create(&self, name: &str, spec: &Value) {
        self.kubectl().send(&["create", "-f", "-"], &memcached(name, spec).to_string());
    }

    #[track_caller]
    fn patch(&self, name: &str, spec: &Value) {
        self.run(&["patch", "memcached", name, "--type=merge", "-p", &json!({ "spec": spec }).to_string()]);
    }

    fn get(&self, kind: &str, name: &str) -> Result<Value, String> {
        self.kubectl().get(&["-n", NAMESPACE, kind, name])
    }

    #[track_caller]
    fn wait_for(&self, what: &str, kind: &str, name: &str, condition: impl Fn(&Value) -> bool) -> Value {
        self.kubectl().wait_for(what, &["-n", NAMESPACE, kind, name], condition)
    }

    /// Waits until the Deployment of a Memcached has this number of replicas.
    #[track_caller]
    fn deployment(&self, name: &str, replicas: u64) -> Value {
        self.kubectl().wait(&format!("the Deployment of `{name}`"), LIMIT, || self.has_deployment(name, replicas))
    }

    fn has_deployment(&self, name: &str, replicas: u64) -> Result<Value, String> {
        let deployment = self.get("deployment", name)?;
        if deployment["spec"]["replicas"] == replicas {
            Ok(deployment)
        } else {
            Err(format!("not {replicas} replicas in\n{deployment:#}"))
        }
    }

    /// Acts as the kubelet: marks these pods as running and ready.
    fn run_pods(&self, pods: &[String]) {
        for pod in pods {
            let now = "2026-01-01T00:00:00Z";
            let ready = json!({ "type": "Ready", "status": "True", "lastTransitionTime": now });
            let status = json!({ "status": { "phase": "Running", "conditions": [ready] } }).to_string();
            // A pod of an older rollout may be gone.
            let _ = self.kubectl().attempt(
                &["-n", NAMESPACE, "patch", "pod", pod, "--subresource=status", "--type=merge", "-p", &status],
                "",
            );
        }
    }

    /// Sorted names of a Memcached's pods, found by owner reference, not by label.
    fn pods(&self, name: &str) -> Vec<String> {
        let of = |kind: &str, owner: &Value| -> Vec<Value> {
            let list = self.kubectl().get(&["-n", NAMESPACE, kind]).unwrap();
            let items = list["items"].as_array().unwrap().clone();
            items.into_iter().filter(|item| item["metadata"]["ownerReferences"][0]["uid"] == *owner).collect()
        };
        let Ok(memcached) = self.get("memcached", name) else { return Vec::new() };
        let mut pods = Vec::new();
        for deployment in of("deployments", &memcached["metadata"]["uid"]) {
            for set in of("replicasets", &deployment["metadata"]["uid"]) {
                let names = of("pods", &set["metadata"]["uid"]);
                pods.extend(names.iter().map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned()));
            }
        }
        pods.sort();
        pods
    }

    /// Waits until the status of a Memcached lists all its pods as running.
    #[track_caller]
    fn all_run(&self, name: &str, size: u64) -> Value {
        self.kubectl().wait(&format!("`{name}` to run {size} pods"), LIMIT, || {
            let pods = self.pods(name);
            self.run_pods(&pods);
            if pods.len() as u64 != size {
                return Err(format!("its pods are {pods:?}"));
            }
            let memcached = self.get("memcached", name)?;
            let status = &memcached["status"];
            let nodes: Vec<_> = status["nodes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let generation = &memcached["metadata"]["generation"];
            let is = |type_: &str, value: &str| {
                condition(status, type_)
                    .is_some_and(|it| it["status"] == value && it["observedGeneration"] == *generation)
            };
            let complete = nodes == pods && status["replicas"] == size && status["phase"] == "Running";
            if complete && is("Available", "True") && is("Progressing", "False") && is("Degraded", "False") {
                Ok(memcached)
            } else {
                Err(format!("its pods are {pods:?}, it is\n{memcached:#}"))
            }
        })
    }

    /// The operator's requests in the audit log.
    fn requests(&self) -> Vec<Request> {
        let mut log = self.log.borrow_mut();
        log.read().iter().filter(|request| request.user == IDENTITY).cloned().collect()
    }

    /// Waits for some seconds without a write of the operator. Returns the number of its requests.
    fn wait_until_at_rest(&self) -> usize {
        let quiet = Duration::from_secs(5);
        let mut last = (self.writes().len(), Instant::now());
        self.kubectl().wait("the operator to be at rest", Duration::from_secs(120), || {
            let writes = self.writes();
            if writes.len() > last.0 {
                last = (writes.len(), Instant::now());
            }
            if last.1.elapsed() >= quiet { Ok(()) } else { Err(format!("it goes on writing: {:?}", writes.last())) }
        });
        last.0
    }

    fn writes(&self) -> Vec<Request> {
        self.requests().into_iter().filter(Request::writes).collect()
    }
}

/// Runs `rbac verify` in a project on the operator's requests.
fn verify(plane: &ControlPlane, project: &Path) -> Run {
    let sandbox = Sandbox::new();
    // The last line may be incomplete.
    let text = std::fs::read_to_string(plane.audit_log()).unwrap();
    sandbox.file("audit.log", &text[..=text.rfind('\n').unwrap()]);
    let log = sandbox.path("audit.log").display().to_string();
    let arguments = format!("rbac verify --audit-log {log} --user {SYSTEM}/{ACCOUNT}");
    sandbox.finish(&arguments, sandbox.command(&arguments).current_dir(project))
}

fn memcached(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "cache.example.com/v1alpha1",
        "kind": "Memcached",
        "metadata": { "name": name, "namespace": NAMESPACE },
        "spec": spec,
    })
}

fn condition<'a>(status: &'a Value, type_: &str) -> Option<&'a Value> {
    status["conditions"].as_array()?.iter().find(|condition| condition["type"] == type_)
}

fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap().to_owned()
}

fn container(deployment: &Value) -> &Value {
    &deployment["spec"]["template"]["spec"]["containers"][0]
}

fn forbidden(requests: &[Request]) -> Vec<&Request> {
    requests.iter().filter(|request| request.code == 403).collect()
}

#[test]
fn from_the_command_to_garbage_collection() {
    let mut world = World::deploy();
    world.start_operator();
    objects_appear(&world);
    the_schema_rejects(&world);
    size_follows_edits_and_scale(&world);
    drift_is_undone(&world);
    what_belongs_to_somebody_else_is_left_alone(&world);
    a_killed_operator_catches_up(&mut world);
    an_idle_operator_writes_nothing(&mut world);
    deletion_finishes(&world);
    metrics_are_scraped(&world);
    every_request_was_allowed_and_every_rule_was_used(&world);
    assert_eq!(world.operator().terminate(), Some(0));
}

fn objects_appear(world: &World) {
    world.create("one", &json!({ "size": 1 }));
    let large =
        json!({ "size": 3, "containerPort": 11222, "memoryLimitMegabytes": 64, "extraArgs": ["-p", "11222", "-v"] });
    world.create("two", &large);
    world.create("none", &json!({ "size": 0, "image": "localhost/memcached:mine" }));

    let one = world.deployment("one", 1);
    let two = world.deployment("two", 3);
    let none = world.deployment("none", 0);
    assert_eq!(container(&one)["image"], "localhost/memcached:1.6.18");
    assert_eq!(container(&none)["image"], "localhost/memcached:mine");
    assert_eq!(container(&two)["args"], json!(["-p", "11222", "-v"]));
    assert_eq!(container(&two)["ports"][0]["containerPort"], 11222);
    assert_eq!(container(&two)["resources"]["limits"]["memory"], "64Mi");
    for (name, deployment) in [("one", &one), ("two", &two), ("none", &none)] {
        let owner = &deployment["metadata"]["ownerReferences"][0];
        assert_eq!(owner["uid"], uid(&world.get("memcached", name).unwrap()), "{deployment:#}");
        assert_eq!(owner["controller"], true, "{deployment:#}");
        let service = world.wait_for("the Service", "service", name, |_| true);
        assert_eq!(service["spec"]["clusterIP"], "None");
        assert_eq!(service["spec"]["selector"], deployment["spec"]["selector"]["matchLabels"]);
        assert_eq!(service["spec"]["ports"][0]["port"], container(deployment)["ports"][0]["containerPort"]);
    }
    // No Memcached selects the pods of another.
    let selectors: BTreeSet<_> =
        [&one, &two, &none].map(|deployment| deployment["spec"]["selector"].to_string()).into_iter().collect();
    assert_eq!(selectors.len(), 3, "{selectors:?}");

    world.wait_for("the status to tell of pods that do not run yet", "memcached", "two", |memcached| {
        let available = condition(&memcached["status"], "Available");
        memcached["status"]["replicas"] == 3 && available.is_some_and(|available| available["status"] == "False")
    });
    world.all_run("one", 1);
    world.all_run("none", 0);
    let two = world.all_run("two", 3);
    let selector = two["status"]["selector"].as_str().unwrap();
    let selected = world.run(&["get", "pods", "-l", selector, "-o", "name"]);
    assert_eq!(selected.lines().count(), 3, "{selected}");
    for name in ["one", "two", "none"] {
        events(world, name, "Available");
    }
    let table = world.run(&["get", "mc"]);
    assert!(table.starts_with("NAME "), "{table}");
}

/// Waits for an event about a Memcached.
fn events(world: &World, name: &str, reason: &str) {
    world.kubectl().wait_for(
        &format!("an event `{reason}` of `{name}`"),
        &["-n", NAMESPACE, "events.events.k8s.io"],
        |list| {
            let mut items = list["items"].as_array().into_iter().flatten();
            items.any(|event| {
                event["reason"] == reason
                    && event["regarding"]["kind"] == "Memcached"
                    && event["regarding"]["name"] == name
            })
        },
    );
}

fn the_schema_rejects(world: &World) {
    for (spec, expected) in [
        (json!({}), "spec.size: Required value"),
        (json!({ "size": -1 }), "spec.size in body should be greater than or equal to 0"),
        (json!({ "size": "3" }), "spec.size: Invalid value: \"string\""),
        (json!({ "size": 1.5 }), "spec.size"),
        (json!({ "size": null }), "spec.size: Required value"),
        (json!({ "size": 4_294_967_296_u64 }), "spec.size"),
        (json!({ "size": 1, "containerPort": 0 }), "spec.containerPort in body should be greater than or equal to 1"),
        (
            json!({ "size": 1, "containerPort": 65536 }),
            "spec.containerPort in body should be less than or equal to 65535",
        ),
        (json!({ "size": 1, "memoryLimitMegabytes": 0 }), "spec.memoryLimitMegabytes"),
        (json!({ "size": 1, "extraArgs": "-v" }), "spec.extraArgs"),
        (json!({ "size": 1, "extraArgs": [1] }), "spec.extraArgs[0]"),
        (json!({ "size": 1, "image": 1 }), "spec.image"),
        (json!({ "size": 1, "sise": 2 }), "unknown field \"spec.sise\""),
    ] {
        let object = memcached("rejected", &spec).to_string();
        let answer = world.kubectl().attempt(&["create", "-f", "-"], &object);
        let error = answer.expect_err(&format!("accepted: {spec}"));
        assert!(error.contains(expected), "{spec}: not {expected:?} in {error}");
    }
    let accepted =
        json!({ "size": 0, "containerPort": 65535, "memoryLimitMegabytes": 1, "extraArgs": [], "image": "a" });
    let object = memcached("accepted", &accepted).to_string();
    world.kubectl().send(&["create", "--dry-run=server", "-f", "-"], &object);
}

fn size_follows_edits_and_scale(world: &World) {
    world.patch("two", &json!({ "size": 2 }));
    world.deployment("two", 2);
    world.all_run("two", 2);
    world.run(&["scale", "memcached", "two", "--replicas=4"]);
    assert_eq!(world.get("memcached", "two").unwrap()["spec"]["size"], 4);
    world.deployment("two", 4);
    world.all_run("two", 4);
    world.run(&["scale", "memcached", "two", "--replicas=0"]);
    world.deployment("two", 0);
    world.all_run("two", 0);
    world.patch("two", &json!({ "size": 2 }));
    world.all_run("two", 2);
}

fn drift_is_undone(world: &World) {
    let before = uid(&world.get("deployment", "one").unwrap());
    world.run(&["delete", "deployment", "one", "--wait=false"]);
    world.wait_for("the deleted Deployment to come back", "deployment", "one", |deployment| uid(deployment) != before);
    world.all_run("one", 1);

    let before = uid(&world.get("service", "one").unwrap());
    world.run(&["delete", "service", "one", "--wait=false"]);
    world.wait_for("the deleted Service to come back", "service", "one", |service| uid(service) != before);

    let label = "app.kubernetes.io/managed-by";
    let original = world.get("deployment", "two").unwrap()["metadata"]["labels"][label].clone();
    for change in [&format!("{label}=somebody"), &format!("{label}-")] {
        world.run(&["label", "deployment", "two", "--overwrite", change]);
        world.wait_for("the label to be set right", "deployment", "two", |deployment| {
            deployment["metadata"]["labels"][label] == original
        });
    }

    let change_args = |patch: Value| {
        let path = "/spec/template/spec/containers/0/args";
        let patch = json!([{ "op": "replace", "path": path, "value": patch }]).to_string();
        world.run(&["patch", "deployment", "two", "--type=json", "-p", &patch]);
    };
    let has_args = |what: &str, args: Value| {
        world.wait_for(what, "deployment", "two", |deployment| container(deployment)["args"] == args);
    };
    change_args(json!(["-p", "11222", "-vv"]));
    has_args("the changed argument to be set right", json!(["-p", "11222", "-v"]));
    change_args(json!(["-p", "11222", "-v", "-F"]));
    has_args("the added argument to go", json!(["-p", "11222", "-v"]));
    change_args(json!(["-p"]));
    has_args("the removed arguments to come back", json!(["-p", "11222", "-v"]));
    world.patch("two", &json!({ "extraArgs": ["-p", "11222"] }));
    has_args("the argument that is no longer wanted to go", json!(["-p", "11222"]));

    world.run(&["scale", "deployment", "two", "--replicas=5"]);
    world.deployment("two", 2);
    world.all_run("two", 2);
}

fn what_belongs_to_somebody_else_is_left_alone(world: &World) {
    world.run(&["create", "deployment", "taken", "--image=localhost/other:1", "--replicas=0"]);
    let before = world.get("deployment", "taken").unwrap();
    world.create("taken", &json!({ "size": 1 }));
    let degraded = |memcached: &Value| condition(&memcached["status"], "Degraded").cloned().unwrap_or_default();
    let memcached = world.wait_for("the status to tell of the other Deployment", "memcached", "taken", |memcached| {
        degraded(memcached)["reason"] == "AlreadyExists"
    });
    let message = format!(
        "can't apply the Deployment: Deployment taken exists and is nobody's, not that of Memcached taken ({}): \
         delete it, or choose another name",
        uid(&memcached)
    );
    assert_eq!(degraded(&memcached)["message"], message);
    assert_eq!(memcached["status"]["phase"], "Degraded");
    events(world, "taken", "Degraded");
    let after = world.get("deployment", "taken").unwrap();
    for place in ["/metadata/uid", "/metadata/labels", "/metadata/ownerReferences", "/spec"] {
        assert_eq!(after.pointer(place), before.pointer(place), "{place}");
    }

    world.run(&["delete", "deployment", "taken"]);
    world.wait_for("a Deployment of its own", "deployment", "taken", |deployment| {
        deployment["metadata"]["ownerReferences"][0]["uid"] == uid(&memcached)
    });
    world.all_run("taken", 1);
    world.run(&["delete", "memcached", "taken", "--wait=false"]);
    world.kubectl().wait_gone(&["-n", NAMESPACE, "memcached", "taken"]);
    world.kubectl().wait_gone(&["-n", NAMESPACE, "deployment", "taken"]);
}

fn a_killed_operator_catches_up(world: &mut World) {
    world.operator().kill();
    let before = uid(&world.get("deployment", "one").unwrap());
    world.run(&["delete", "deployment", "one", "--cascade=foreground", "--wait=true", "--timeout=120s"]);
    world.patch("two", &json!({ "size": 1 }));
    world.run(&["delete", "memcached", "none", "--wait=false"]);
    assert_eq!(world.get("deployment", "two").unwrap()["spec"]["replicas"], 2, "nobody but the operator changes it");
    let none = world.get("memcached", "none").expect("its finalizer keeps it");
    assert_eq!(none["metadata"]["finalizers"], json!(["cache.example.com/finalizer"]));

    world.start_operator();
    assert_ne!(uid(&world.deployment("one", 1)), before);
    world.all_run("one", 1);
    world.all_run("two", 1);
    world.kubectl().wait_gone(&["-n", NAMESPACE, "memcached", "none"]);
}

fn an_idle_operator_writes_nothing(world: &mut World) {
    let before = world.wait_until_at_rest();
    let window = Instant::now();
    let rest = wait::until(Duration::from_secs(30), || -> Result<(), String> {
        let writes = world.writes();
        assert_eq!(writes.len(), before, "wrote at rest: {:?}", &writes[before..]);
        Err("no write".to_owned())
    });
    assert_eq!(rest, Err("no write".to_owned()));
    assert!(window.elapsed() >= Duration::from_secs(30));
    assert!(world.operator().running());
    world.probe("/healthz").unwrap();
    world.patch("one", &json!({ "size": 2 }));
    world.deployment("one", 2);
    world.all_run("one", 2);
    assert!(world.writes().len() > before, "the audit log shows what the operator writes");
}

fn deletion_finishes(world: &World) {
    world.run(&["delete", "memcached", "one", "--wait=false"]);
    world.kubectl().wait_gone(&["-n", NAMESPACE, "memcached", "one"]);
    events(world, "one", "Deleting");
    for kind in ["deployment", "service"] {
        world.kubectl().wait_gone(&["-n", NAMESPACE, kind, "one"]);
    }
    world.deployment("two", 1);
    world.run(&["delete", "memcached", "--all", "--wait=false"]);
    world.kubectl().wait_gone(&["-n", NAMESPACE, "memcacheds,deployments,replicasets,pods,services"]);
}

fn every_request_was_allowed_and_every_rule_was_used(world: &World) {
    let requests = world.requests();
    assert_eq!(forbidden(&requests), Vec::<&Request>::new());

    // Except for health checks, all requests are from the control plane, the test or this ServiceAccount.
    let all = audit::requests(&world.plane.audit_log());
    let strangers: Vec<_> = all
        .iter()
        .filter(|request| {
            let user = request.user.as_str();
            let known = user == IDENTITY
                || matches!(user, "admin" | "system:apiserver" | "system:kube-controller-manager")
                || user.starts_with("system:serviceaccount:kube-system:");
            !known && !request.path.starts_with("/readyz")
        })
        .collect();
    assert!(strangers.is_empty(), "{strangers:?}");

    verify(&world.plane, &world.project.path("")).success();
    a_wrong_marker_is_found(world);
}

/// Counter-check: one permission too many and one too few.
fn a_wrong_marker_is_found(world: &World) {
    let controller = "src/controller/memcached.rs";
    for (from, to, expected) in [
        ("resources=pods,verbs=list", "resources=pods,verbs=delete;list", "no request in the log used `delete pods`"),
        (
            "resources=services,verbs=create;list",
            "resources=services,verbs=list",
            "`create services` was requested by `Objects<Service>::apply` and allowed by something else",
        ),
    ] {
        let project = Sandbox::new();
        for (path, text) in crate::sandbox::files(&world.project.path("")) {
            project.file(&path, &text);
        }
        project.replace(controller, from, to);
        let run = verify(&world.plane, project.root()).code(1);
        assert!(run.err().contains(expected) && run.err().ends_with(": 1 finding\n"), "{run}");
    }
}

fn metrics_are_scraped(world: &World) {
    world.run(&["create", "serviceaccount", "prometheus"]);
    let role = "--clusterrole=memcached-operator-metrics-reader";
    let account = format!("--serviceaccount={NAMESPACE}:prometheus");
    world.run(&["create", "clusterrolebinding", "prometheus", role, &account]);
    let user = json!({ "token": world.run(&["create", "token", "prometheus"]).trim() });
    world.kubectl().wait("the metrics", LIMIT, || world.kubectl().scrape(world.metrics, &user));
}

/// Counter-check of `every_request_was_allowed_and_every_rule_was_used`.
#[test]
fn a_rule_taken_from_the_role_is_a_refusal_that_is_found() {
    let mut world = World::deploy();
    let mut role = world.kubectl().get(&["clusterrole", ROLE]).unwrap();
    let rules = role["rules"].as_array_mut().unwrap();
    let before = rules.len();
    rules.retain(|rule| !rule["resources"].as_array().unwrap().contains(&json!("services")));
    assert!(rules.len() < before, "{role:#}");
    world.kubectl().send(&["replace", "-f", "-"], &role.to_string());

    let account = world.plane.service_account(SYSTEM, ACCOUNT);
    let env = [("KUBECONFIG".to_owned(), account.kubeconfig().display().to_string())];
    let args = [format!("--health-probe-bind-address=127.0.0.1:{}", world.probes)];
    world.operator = Some(Process::start(world.plane.dir(), world.project.binary(), &args, &env));
    world.create("one", &json!({ "size": 1 }));
    world.kubectl().wait("a refused request in the audit log", LIMIT, || {
        let requests = world.requests();
        let refused = forbidden(&requests);
        if refused.iter().any(|request| request.resource == "services") { Ok(()) } else { Err(format!("{refused:?}")) }
    });
    let run = verify(&world.plane, &world.project.path("")).code(1);
    assert!(run.err().contains("services` was requested by `Manager::objects::<Service>` and refused"), "{run}");
}

/// A standby replica, whose gate is shut, also serves metrics.
#[test]
fn metrics_are_for_those_who_may_read_them() {
    let world = World::deploy();
    let other = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": { "name": "test", "namespace": SYSTEM },
        "spec": { "holderIdentity": "other", "leaseDurationSeconds": 3600 },
    });
    world.kubectl().send(&["create", "-f", "-"], &other.to_string());
    let account = world.plane.service_account(SYSTEM, ACCOUNT);
    let env = [("KUBECONFIG".to_owned(), account.kubeconfig().display().to_string())];
    let [port] = free_ports();
    let args = [
        format!("--health-probe-bind-address=127.0.0.1:{}", world.probes),
        format!("--metrics-bind-address=127.0.0.1:{port}"),
        "--leader-elect".to_owned(),
        "--leader-election-id=test".to_owned(),
        format!("--leader-election-namespace={SYSTEM}"),
        "--leader-election-lease-duration=3600s".to_owned(),
    ];
    let operator = Process::start(world.plane.dir(), world.project.binary(), &args, &env);
    world.kubectl().wait("the operator to be ready", LIMIT, || world.probe("/readyz"));
    assert!(operator.log_text().contains("Serving metrics server"), "{}", operator.log_text());

    for name in ["prometheus", "stranger"] {
        world.run(&["create", "serviceaccount", name]);
    }
    let role = "--clusterrole=memcached-operator-metrics-reader";
    let account = format!("--serviceaccount={NAMESPACE}:prometheus");
    world.run(&["create", "clusterrolebinding", "prometheus", role, &account]);
    let account = |name: &str| json!({ "token": world.run(&["create", "token", name]).trim() });
    let scrape = |user: Value| world.kubectl().scrape(port, &user);

    let metrics = world.kubectl().wait("the metrics", LIMIT, || scrape(account("prometheus")));
    for expected in [
        "leader_election_master_status{name=\"test\"} 0\n",
        "workqueue_depth{controller=\"memcached\",name=\"memcached\"} 0\n",
    ] {
        assert!(metrics.contains(expected), "{metrics}");
    }
    let reviews = || {
        let requests = world.requests();
        let count = |resource: &str| requests.iter().filter(|request| request.resource == resource).count();
        [count("tokenreviews"), count("subjectaccessreviews")]
    };
    let [tokens, accesses] = reviews();
    for (user, expected) in [
        (json!({ "username": "prometheus", "password": "a" }), "You must be logged in"),
        (json!({ "token": "made-up" }), "You must be logged in"),
        (account("stranger"), "Forbidden"),
    ] {
        let error = scrape(user.clone()).expect_err("refused");
        assert!(error.contains(expected), "{user}: {error}");
    }
    assert_eq!(reviews(), [tokens + 2, accesses + 1]);

    // Counter-check: without this role, reviews fail.
    world.run(&["delete", "clusterrolebinding", "memcached-operator-metrics-auth-rolebinding"]);
    world.kubectl().wait("the reviews to be refused", LIMIT, || match scrape(account("prometheus")) {
        Err(error) if error.contains("Authentication failed") => Ok(()),
        other => Err(format!("{other:?}")),
    });
    assert!(operator.log_text().contains("tokenreviews.authentication.k8s.io is forbidden"), "{}", operator.log_text());
}

/// The parts of `config/default` that are commented out.
#[test]
fn the_options_of_config_can_be_switched_on() {
    let world = World::deploy();
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in crate::sandbox::files(&world.project.path("config")) {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let switch_on = |file: &str, lines: &[&str]| {
        let path = dir.path().join(file);
        let mut text = std::fs::read_to_string(&path).unwrap();
        for line in lines {
            assert!(text.contains(&format!("#{line}\n")), "{file}: {line}");
            text = text.replace(&format!("#{line}\n"), &format!("{line}\n"));
        }
        std::fs::write(path, text).unwrap();
    };
    let patch = ["- path: cert_metrics_manager_patch.yaml", "  target:", "    kind: Deployment", "- ../network-policy"];
    switch_on("default/kustomization.yaml", &patch);
    let default = dir.path().join("default").display().to_string();
    world.kubectl().run(&["apply", "--dry-run=server", "--warnings-as-errors", "-k", &default]);

    switch_on("default/kustomization.yaml", &["- ../prometheus"]);
    let patch = ["patches:", "- path: monitor_tls_patch.yaml", "  target:", "    kind: ServiceMonitor"];
    switch_on("prometheus/kustomization.yaml", &patch);
    let text = world.kubectl().run(&["kustomize", &default]);
    let objects: Vec<Value> = text.split("\n---\n").map(|text| serde_yaml::from_str(text).unwrap()).collect();
    let object = |kind: &str| objects.iter().find(|object| object["kind"] == kind).expect(kind);
    let service = &object("Service")["metadata"];
    let name = format!("{}.{}.svc", service["name"].as_str().unwrap(), service["namespace"].as_str().unwrap());
    let endpoint = &object("ServiceMonitor")["spec"]["endpoints"][0];
    assert_eq!(endpoint["tlsConfig"]["serverName"], name, "{endpoint:#}");
    assert_eq!(endpoint["tlsConfig"]["insecureSkipVerify"], Value::Null, "{endpoint:#}");
    let pod = &object("Deployment")["spec"]["template"]["spec"];
    let folder = container(object("Deployment"))["volumeMounts"][0]["mountPath"].as_str().unwrap();
    let args = container(object("Deployment"))["args"].as_array().unwrap();
    assert!(args.contains(&json!(format!("--metrics-cert-path={folder}"))), "{args:?}");
    assert_eq!(pod["volumes"][0]["secret"]["secretName"], "metrics-server-cert");
}

/// Counter-check of the waits: they fail without an operator.
#[test]
fn an_operator_that_does_not_run_is_found() {
    let world = World::deploy();
    world.create("one", &json!({ "size": 1 }));
    let found = wait::until(Duration::from_secs(10), || world.has_deployment("one", 1));
    let error = found.unwrap_err();
    assert!(error.contains("NotFound"), "{error}");
    assert_eq!(world.requests(), Vec::new());
    let memcached = world.get("memcached", "one").unwrap();
    assert_eq!(memcached["status"], Value::Null);
}
