//! Rolling upgrades under load of an operator with webhooks: `tests/upgrade`. Processes stand for pods, and [`service`]
//! for the kubelet and the Service.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::program::Program;
use super::{ControlPlane, Process, free_ports};
use crate::http;
use load::{Load, Outages};
use service::Service;

mod certificates;
pub(crate) mod load;
pub(super) mod service;

/// Ten times a usual step on two busy cores.
const LIMIT: Duration = Duration::from_secs(120);
/// An outage may last this multiple of the slowest start: on a busy machine, starts take unequal times.
const FACTOR: u32 = 5;
/// The readiness probe's `initialDelaySeconds` in `config/manager`. Processes start without this delay, but pods do
/// not.
const DELAY: Duration = Duration::from_secs(5);
pub(crate) const OBJECTS: usize = 4;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Release {
    pub(crate) name: &'static str,
    /// Served versions; the first one is stored.
    pub(crate) versions: &'static [&'static str],
    reconcile: &'static str,
    convert: bool,
    /// Serves defaulting and validating webhooks with the policy `Fail`.
    admit: bool,
}

pub(crate) const FIRST: Release =
    Release { name: "first", versions: &["v1alpha1"], reconcile: "v1alpha1", convert: false, admit: false };
/// Converts, and still stores the old version.
const BRIDGE: Release =
    Release { name: "bridge", versions: &["v1alpha1", "v1"], reconcile: "v1alpha1", convert: true, admit: true };
pub(crate) const SECOND: Release =
    Release { name: "second", versions: &["v1", "v1alpha1"], reconcile: "v1", convert: true, admit: true };
/// The controller stays on the old version.
const SPOKE: Release = Release { name: "spoke", reconcile: "v1alpha1", ..SECOND };

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Way {
    /// One replica after the other; an old one ends after a new one is ready.
    Roll,
    /// All old replicas end first.
    Cold,
}

impl Release {
    pub(crate) fn args(&self) -> Vec<String> {
        let mut args = vec![format!("--release={}", self.name), format!("--reconcile={}", self.reconcile)];
        if self.convert {
            args.push("--convert".to_owned());
        }
        if self.admit {
            args.push("--admit".to_owned());
            args.push("--webhook-configurations=mutating:things,validating:things".to_owned());
        }
        args
    }
}

struct Case {
    what: &'static str,
    releases: &'static [Release],
    way: Way,
    /// Numbers of replicas, one for each run.
    replicas: &'static [usize],
}

const CASES: [Case; 4] = [
    Case { what: "upgrade", releases: &[FIRST, SECOND], way: Way::Roll, replicas: &[2] },
    Case {
        what: "upgrade by way of a release that converts, and back",
        releases: &[FIRST, BRIDGE, SECOND, BRIDGE],
        way: Way::Roll,
        replicas: &[1, 2],
    },
    Case { what: "a controller of a spoke", releases: &[FIRST, SPOKE], way: Way::Roll, replicas: &[1] },
    Case { what: "cold start", releases: &[FIRST, SECOND], way: Way::Cold, replicas: &[1] },
];

pub(crate) fn program() -> Program {
    Program {
        name: "upgrade",
        change: |manifest| {
            let features = toml_edit::Array::from_iter(["webhook"]);
            manifest["dependencies"]["manager"]["features"] = toml_edit::value(features);
        },
        args: Vec::new(),
        limit: LIMIT,
        success: "",
    }
}

struct Replica {
    process: Process,
    probes: u16,
    webhooks: u16,
}

struct World {
    plane: ControlPlane,
    binary: PathBuf,
    service: Service,
    replicas: Vec<Replica>,
    started: usize,
    /// Longest time until a replica was ready.
    slowest: Duration,
    flags: &'static [&'static str],
}

impl World {
    fn new() -> Self {
        let binary = program().build();
        let plane = ControlPlane::start();
        let spec = json!({ "type": "ExternalName", "externalName": "localhost" });
        let service =
            json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "webhook-service" }, "spec": spec });
        plane.admin.send(&["create", "-f", "-"], &service.to_string());
        Self {
            plane,
            binary,
            service: Service::start(),
            replicas: Vec::new(),
            started: 0,
            slowest: Duration::ZERO,
            flags: &[],
        }
    }

    /// Applies the objects of `make deploy`, except the Deployment.
    fn apply(&self, release: &Release) {
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": manifests(release, self.service.port()) });
        self.plane.admin.send(&["apply", "-f", "-"], &list.to_string());
        self.plane.admin.run(&["wait", "crd/things.example.com", "--for=condition=Established", "--timeout=60s"]);
    }

    /// Starts a replica with the flags of a deployed operator, and waits until it is ready.
    fn start(&mut self, release: &Release) {
        self.started += 1;
        let dir = self.plane.dir().join(format!("replica-{}", self.started));
        std::fs::create_dir(&dir).unwrap();
        let [probes, webhooks] = free_ports();
        let flags = [
            format!("--health-probe-bind-address=127.0.0.1:{probes}"),
            "--metrics-bind-address=0".to_owned(),
            "--leader-elect".to_owned(),
            "--leader-election-namespace=default".to_owned(),
            format!("--webhook-port={webhooks}"),
        ];
        let own = self.flags.iter().map(|flag| (*flag).to_owned());
        let args: Vec<String> = release.args().into_iter().chain(flags).chain(own).collect();
        let env = [("KUBECONFIG".to_owned(), self.plane.admin.kubeconfig().display().to_string())];
        let started = Instant::now();
        let process = Process::start(&dir, &self.binary, &args, &env);
        self.plane.admin.show_log(process.log());
        self.service.add(probes, webhooks);
        self.replicas.push(Replica { process, probes, webhooks });
        self.plane.admin.wait("the replica to be ready", LIMIT, || http::get(probes, "/readyz").map(drop));
        self.slowest = self.slowest.max(started.elapsed());
        self.service.synced();
    }

    /// Ends the oldest replica like the kubelet.
    fn stop(&mut self) {
        let mut replica = self.replicas.remove(0);
        self.service.remove(replica.webhooks);
        assert_eq!(replica.process.terminate(), Some(0), "{}", replica.process.log_text());
    }

    fn roll(&mut self, release: &Release, way: Way) {
        let count = self.replicas.len();
        if way == Way::Cold {
            (0..count).for_each(|_| self.stop());
        }
        self.apply(release);
        for _ in 0..count {
            self.start(release);
            if way == Way::Roll {
                self.stop();
            }
        }
        for replica in &self.replicas {
            http::get(replica.probes, "/readyz").unwrap();
        }
        self.reconciled(release);
    }

    /// Creates the objects in the release's stored version.
    fn create(&self, release: &Release) {
        for number in 0..OBJECTS {
            let document = object(number, release);
            let create = || self.plane.admin.attempt(&["create", "-f", "-"], &document);
            self.plane.admin.wait("an object to be created", LIMIT, create);
        }
        self.reconciled(release);
    }

    /// Runs an action while users send requests for these versions.
    fn under_load<T>(&mut self, versions: &[&'static str], action: impl FnOnce(&mut Self) -> T) -> (Outages, T) {
        let (_proxy, address) = self.plane.without_tls();
        self.plane.admin.wait("the proxy", LIMIT, || http::send(address, LIMIT, "GET", "/readyz", ""));
        let load = Load::start(address, versions);
        let done = action(self);
        (load.end(), done)
    }

    /// Waits until this release has reconciled each object.
    fn reconciled(&self, release: &Release) {
        let kind = format!("things.{}.example.com", release.versions[0]);
        // kubectl caches the old versions for a while.
        self.plane.admin.wait("all objects to be reconciled", LIMIT, || {
            let list = self.plane.admin.get(&[&kind])?;
            let items = list["items"].as_array().unwrap();
            let done = items.iter().filter(|item| item["status"]["release"] == release.name).count();
            if done == OBJECTS { Ok(()) } else { Err(format!("{done} are: {list:#}")) }
        });
    }
}

/// The CRD and the webhook configurations of a release.
pub(crate) fn manifests(release: &Release, port: u16) -> Vec<Value> {
    let client = |path: &str| json!({ "service": { "name": "webhook-service", "namespace": "default", "path": path, "port": port } });
    let version = |(index, name): (usize, &&str)| {
        let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let field = if *name == "v1" { "size" } else { "replicas" };
        let spec = json!({ "type": "object", "required": [field], "properties": { field: { "type": "integer" }, "mode": { "type": "string" } } });
        let schema = json!({ "type": "object", "required": ["spec"], "properties": { "spec": spec, "status": open } });
        json!({
            "name": name, "served": true, "storage": index == 0,
            "schema": { "openAPIV3Schema": schema }, "subresources": { "status": {} },
        })
    };
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "kind": "Thing", "plural": "things" },
            "versions": release.versions.iter().enumerate().map(version).collect::<Vec<_>>(),
        },
    });
    if release.convert {
        definition["spec"]["conversion"] = json!({
            "strategy": "Webhook",
            "webhook": { "conversionReviewVersions": ["v1"], "clientConfig": client("/convert") },
        });
    }
    let configuration = |kind: &str, path: &str| {
        let rule = json!({
            "apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["things"],
            "operations": ["CREATE", "UPDATE"],
        });
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{kind}WebhookConfiguration"),
            "metadata": { "name": "things" },
            "webhooks": [{
                "name": "things.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "rules": [rule],
                "failurePolicy": "Fail", "clientConfig": client(path),
            }],
        })
    };
    let mut all = vec![definition];
    if release.admit {
        all.extend([configuration("Mutating", "/mutate"), configuration("Validating", "/validate")]);
    }
    all
}

pub(crate) fn object(number: usize, release: &Release) -> String {
    let version = release.versions[0];
    let spec = if version == "v1" { json!({ "size": 1 }) } else { json!({ "replicas": 1 }) };
    json!({
        "apiVersion": format!("example.com/{version}"), "kind": "Thing",
        "metadata": { "name": format!("thing-{number}"), "namespace": "default" }, "spec": spec,
    })
    .to_string()
}

fn run(case: &Case, replicas: usize) {
    let mut world = World::new();
    let [first, next @ ..] = case.releases else { panic!("a case has releases") };
    world.apply(first);
    (0..replicas).for_each(|_| world.start(first));
    world.create(first);
    let mut before = first;
    for release in next {
        let (outages, ()) = world.under_load(release.versions, |world| world.roll(release, case.way));
        let allowed = DELAY + world.slowest * FACTOR;
        eprintln!(
            "{}, {replicas} replicas, to `{}`: a start took {:?}; {outages}",
            case.what, release.name, world.slowest
        );
        assert!(outages.longest() < allowed, "{}: nothing worked for longer than {allowed:?}: {outages}", case.what);
        if before.convert && case.way == Way::Roll {
            assert_eq!(outages.failed(), 0, "{}, from a release that converts: {outages}", case.what);
        }
        before = release;
    }
}

#[test]
fn a_release_rolls_out_while_objects_are_stored_in_the_old_version() {
    for case in &CASES {
        for replicas in case.replicas {
            run(case, *replicas);
        }
    }
}
