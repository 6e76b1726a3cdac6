//! Silent connections: a load balancer in front of the API server fails over. Existing connections stay open without
//! carrying data, and new ones work. The operator has to detect this.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::chaos::proxy::Proxy;
use super::{ControlPlane, Process};
use crate::generated::{ACCOUNT, Project, SYSTEM};
use crate::wait;

/// Maximum time to detect a dead connection.
const NOTICED: Duration = Duration::from_secs(30);
/// Additional time for a reconcile on two busy cores.
const RECONCILED: Duration = Duration::from_secs(20);
const LIMIT: Duration = Duration::from_secs(300);

#[test]
fn one_replica_notices_that_its_connections_are_dead() {
    let stalled = Stalled::start(1);
    // The stall hits any phase of a watch.
    for name in ["first", "second"] {
        stalled.stall_and_create(name);
    }
}

#[test]
fn two_replicas_notice_that_their_connections_are_dead_and_the_leader_leads_on() {
    let stalled = Stalled::start(2);
    let leader = stalled.holder();
    stalled.stall_and_create("first");
    stalled.stall_and_create("second");
    assert_eq!(stalled.holder(), leader, "{}", stalled.logs());
    assert_eq!(stalled.logs().matches("not leading any more").count(), 0, "{}", stalled.logs());
}

struct Stalled {
    replicas: Vec<Process>,
    proxy: Proxy,
    plane: ControlPlane,
}

impl Stalled {
    fn start(replicas: usize) -> Self {
        let project = Project::sample();
        let plane = ControlPlane::start();
        project.deploy(&plane.admin);
        let proxy = Proxy::start(plane.address());
        let server = format!("https://{}", proxy.address());
        let kubeconfig = plane.service_account_by_way_of(&server, SYSTEM, ACCOUNT);
        let start = |number| {
            let dir = plane.dir().join(format!("replica-{number}"));
            std::fs::create_dir(&dir).unwrap();
            operator(&dir, project.binary(), &kubeconfig, replicas > 1)
        };
        let replicas = (0..replicas).map(start).collect();
        let stalled = Self { replicas, proxy, plane };
        stalled.create("before");
        stalled.reconciled("before", LIMIT);
        stalled
    }

    fn create(&self, name: &str) {
        let object = json!({
            "apiVersion": "cache.example.com/v1alpha1",
            "kind": "Memcached",
            "metadata": { "name": name },
            "spec": { "size": 1, "containerPort": 11211 },
        });
        self.plane.admin.send(&["apply", "-f", "-"], &object.to_string());
    }

    fn reconciled(&self, name: &str, limit: Duration) -> Duration {
        let started = Instant::now();
        let deployed = || self.plane.admin.get(&["deployment", name]).map(|_| ());
        wait::until(limit, deployed).unwrap_or_else(|missing| panic!("{missing}\n{}", self.logs()));
        started.elapsed()
    }

    fn stall_and_create(&self, name: &str) {
        self.proxy.stall_old();
        self.create(name);
        let took = self.reconciled(name, LIMIT);
        println!("{name}: reconciled {took:?} after the connections were stalled");
        assert!(took < NOTICED + RECONCILED, "{name}: {took:?}\n{}", self.logs());
    }

    fn holder(&self) -> String {
        let leases = self.plane.admin.get(&["leases", "-n", SYSTEM]).unwrap();
        leases["items"][0]["spec"]["holderIdentity"].as_str().unwrap().to_owned()
    }

    fn logs(&self) -> String {
        self.replicas.iter().map(|replica| format!("---\n{}\n", replica.log_text())).collect()
    }
}

fn operator(dir: &Path, program: &Path, kubeconfig: &Path, elect: bool) -> Process {
    let mut args = vec!["--health-probe-bind-address=0".to_owned(), "--log-format=json".to_owned()];
    if elect {
        args.push("--leader-elect".to_owned());
        args.push(format!("--leader-election-namespace={SYSTEM}"));
    }
    let env = [("KUBECONFIG".to_owned(), kubeconfig.display().to_string())];
    Process::start(dir, program, &args, &env)
}
