//! Leader for life on a real control plane. Each replica is a process with a pod object, under a ServiceAccount with
//! the component's roles only. Garbage collection is real.

use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::IDENTITY;
use crate::control_plane::audit::{Log, Request};
use crate::control_plane::{ControlPlane, Process};
use crate::generated::{ACCOUNT, Project, SYSTEM};

const LOCK: &str = "87a7d51f.example.com";
/// Ten times a usual step on two busy cores.
const LIMIT: Duration = Duration::from_secs(120);

struct World {
    plane: ControlPlane,
    log: RefCell<Log>,
    env: [(String, String); 1],
    project: &'static Project,
}

impl World {
    /// Applies `config/default` with the component, without an operator.
    fn deploy() -> Self {
        let project = Project::for_life();
        let plane = ControlPlane::start();
        let config = plane.dir().join("config");
        project.config_for_life(&config);
        Project::deploy_from(&config, &plane.admin);
        let account = plane.service_account(SYSTEM, ACCOUNT);
        let env = [("KUBECONFIG".to_owned(), account.kubeconfig().display().to_string())];
        let log = RefCell::new(Log::of(&plane.audit_log()));
        Self { plane, log, env, project }
    }

    /// Creates a pod object and starts a process with its identity.
    fn replica(&mut self, name: &str, node: Option<&str>, flags: &[&str]) -> Process {
        let mut spec = json!({ "containers": [{ "name": "manager", "image": "controller:latest" }] });
        if let Some(node) = node {
            spec["nodeName"] = json!(node);
        }
        let metadata = json!({ "name": name, "namespace": SYSTEM });
        let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec });
        self.plane.admin.send(&["create", "-f", "-"], &pod.to_string());
        let dir = self.plane.dir().join(name);
        std::fs::create_dir(&dir).unwrap();
        let process = self.start(&dir, &[&[&*format!("--leader-election-pod={name}")], flags].concat());
        self.plane.admin.show_log(process.log());
        process
    }

    fn start(&self, dir: &Path, flags: &[&str]) -> Process {
        let usual = [
            "--health-probe-bind-address=0",
            "--leader-elect",
            "--leader-election-mode=life",
            &format!("--leader-election-namespace={SYSTEM}"),
            "--leader-election-lease-duration=3s",
            "--leader-election-renew-deadline=2s",
            "--leader-election-retry-period=200ms",
        ];
        let args: Vec<_> = usual.iter().chain(flags).map(|flag| (*flag).to_owned()).collect();
        Process::start(dir, self.project.binary(), &args, &self.env)
    }

    fn get(&self, kind: &str, name: &str) -> Result<Value, String> {
        self.plane.admin.get(&["-n", SYSTEM, kind, name])
    }

    #[track_caller]
    fn run(&self, args: &[&str]) {
        self.plane.admin.run(&[&["-n", SYSTEM], args].concat());
    }

    fn owner(&self) -> Result<Value, String> {
        Ok(self.get("configmap", LOCK)?["metadata"]["ownerReferences"][0].clone())
    }

    /// Waits until one of these pods owns the lock and its process has done new work. Returns its name.
    #[track_caller]
    fn led_by(&self, names: &[&str]) -> String {
        let admin = &self.plane.admin;
        let owner = admin.wait(&format!("{names:?} to own the lock"), LIMIT, || {
            let owner = self.owner()?;
            if names.iter().any(|name| owner["name"] == *name) { Ok(owner) } else { Err(format!("it is {owner}")) }
        });
        let name = owner["name"].as_str().unwrap();
        assert_eq!(owner["uid"], self.get("pod", name).unwrap()["metadata"]["uid"]);
        let memcached = json!({
            "apiVersion": "cache.example.com/v1alpha1",
            "kind": "Memcached",
            "metadata": { "name": format!("of-{name}"), "namespace": "default" },
            "spec": { "size": 0 },
        });
        admin.send(&["apply", "-f", "-"], &memcached.to_string());
        admin.wait_for(&format!("{name} to work"), &["deployment", &format!("of-{name}")], |_| true);
        name.to_owned()
    }

    #[track_caller]
    fn says(&self, process: &Process, text: &str) {
        self.plane.admin.wait(&format!("the log to say `{text}`"), LIMIT, || {
            let log = process.log_text();
            if log.contains(text) { Ok(()) } else { Err(log) }
        });
    }

    fn requests(&self) -> Vec<Request> {
        let mut log = self.log.borrow_mut();
        log.read().iter().filter(|request| request.user == IDENTITY).cloned().collect()
    }

    /// Waits for this number of further reads of the lock.
    #[track_caller]
    fn looked_at(&self, times: usize) {
        let reads = || {
            let requests = self.requests();
            requests.iter().filter(|request| request.verb == "get" && request.resource == "configmaps").count()
        };
        let before = reads();
        self.plane.admin.wait("the lock to be read", LIMIT, || {
            let more = reads() - before;
            if more >= times { Ok(()) } else { Err(format!("{more} times of {times}")) }
        });
    }
}

#[test]
fn a_pod_leads_until_it_is_gone() {
    let mut world = World::deploy();
    let mut a = world.replica("a", None, &[]);
    world.led_by(&["a"]);
    let b = world.replica("b", None, &[]);
    world.says(&b, "another pod leads");

    // A restarted container is in the same pod: it leads on, with an unchanged lock.
    let lock = world.get("configmap", LOCK).unwrap();
    a.restart();
    world.plane.admin.wait("the pod to lead on", LIMIT, || {
        let log = a.log_text();
        if log.matches(": leading").count() == 2 { Ok(()) } else { Err(log) }
    });
    assert_eq!(world.get("configmap", LOCK).unwrap(), lock);

    // The process outlives its pod, but stops working.
    world.run(&["delete", "pod", "a"]);
    world.led_by(&["b"]);
    world.says(&a, "not leading any more");
    assert!(a.running());

    // The status that the kubelet writes on eviction.
    let mut c = world.replica("c", None, &[]);
    world.says(&c, "another pod leads");
    let evicted = json!({ "status": { "phase": "Failed", "reason": "Evicted" } });
    world.run(&["patch", "pod", "b", "--subresource=status", "--type=merge", "-p", &evicted.to_string()]);
    world.led_by(&["c"]);
    world.plane.admin.wait_gone(&["-n", SYSTEM, "pod", "b"]);
    world.says(&b, "not leading any more");

    // After the lock is deleted, an existing pod leads.
    world.run(&["delete", "configmap", LOCK]);
    world.led_by(&["c"]);
    world.says(&c, "not leading any more");

    let lock = world.get("configmap", LOCK).unwrap();
    assert_eq!(c.terminate(), Some(0));
    assert_eq!(world.get("configmap", LOCK).unwrap(), lock, "the lock is the pod's, not the process's");

    let pod = ["--leader-election-pod=nobody"];
    for (flags, expected) in [(&[][..], "`POD_NAME` is not set"), (&pod, "there is no pod `nobody`")] {
        let mut process = world.start(world.plane.dir(), flags);
        world.says(&process, expected);
        world
            .plane
            .admin
            .wait("the process to end", LIMIT, || if process.running() { Err(process.log_text()) } else { Ok(()) });
    }
    world.roles_are_exact();
}

#[test]
fn a_node_that_is_not_ready_is_waited_for_unless_the_user_says_otherwise() {
    let mut world = World::deploy();
    let conditions = json!([{ "type": "Ready", "status": "False", "reason": "Lost" }]);
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "lost" } });
    world.plane.admin.send(&["create", "-f", "-"], &node.to_string());
    let status = json!({ "status": { "conditions": conditions } }).to_string();
    world.run(&["patch", "node", "lost", "--subresource=status", "--type=merge", "-p", &status]);

    let a = world.replica("a", Some("lost"), &[]);
    world.led_by(&["a"]);
    let b = world.replica("b", None, &[]);
    world.says(&b, "another pod leads");
    // Without a kubelet, the pod stays in deletion.
    world.run(&["delete", "pod", "a", "--wait=false"]);
    world.looked_at(10);
    assert_eq!(world.owner().unwrap()["name"], "a");
    assert!(world.get("pod", "a").unwrap()["metadata"]["deletionTimestamp"].is_string());

    let c = world.replica("c", None, &["--leader-election-takeover-after=2s"]);
    world.says(&c, "the node of the leader is not ready");
    world.led_by(&["b", "c"]);
    world.says(&a, "not leading any more");
}

impl World {
    /// No request was refused, and the component's role has no unused rule.
    fn roles_are_exact(&self) {
        let requests = self.requests();
        let refused: Vec<_> = requests.iter().filter(|request| request.code == 403).collect();
        assert!(refused.is_empty(), "{refused:?}");
        let leases = requests.iter().filter(|request| request.resource == "leases").count();
        assert_eq!(leases, 0);
        let error = self.get("role", "memcached-operator-leader-election-role").unwrap_err();
        assert!(error.contains("NotFound"), "{error}");

        let role = self.get("role", "memcached-operator-leader-for-life-role").unwrap();
        let rules = role["rules"].as_array().unwrap();
        let granted = rules.iter().flat_map(|rule| {
            let resource = rule["resources"][0].as_str().unwrap();
            let verbs = rule["verbs"].as_array().unwrap().iter();
            verbs.map(move |verb| (verb.as_str().unwrap(), resource))
        });
        let unused: Vec<_> = granted
            .filter(|(verb, resource)| {
                !requests.iter().any(|request| request.verb == *verb && request.resource == *resource)
            })
            .collect();
        assert!(unused.is_empty(), "granted, and never used: {unused:?}");
    }
}
