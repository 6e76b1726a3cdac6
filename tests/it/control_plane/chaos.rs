//! Three replicas of the Memcached operator under failures: processes are killed, terminated or paused longer than the
//! lease, networks refuse or stall, the API server restarts, etcd pauses. The operator always has work. The audit log
//! must show no write outside leadership. After each round, one replica leads and all objects have converged.
//!
//! A seed determines ten rounds. `CHAOS_SEED` is the first seed and `CHAOS_ROUNDS` the number of rounds.
//! `CHAOS_RESULTS` names a file of completed rounds. `make chaos` is the long run.

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use self::api::Api;
use self::evidence::Evidence;
use self::fault::{Fault, Round};
use self::judge::{LeaseWrite, Verdict, judge};
use self::proxy::Network;
use self::replica::Replica;
use self::results::RoundResult;
use self::workload::Workload;
use crate::control_plane::{ControlPlane, Process};
use crate::generated::{Project, SYSTEM};
use crate::random::Random;
use crate::wait;

mod api;
mod evidence;
mod fault;
mod judge;
pub(super) mod proxy;
mod replica;
mod results;
mod workload;

const REPLICAS: [&str; 3] = ["replica-a", "replica-b", "replica-c"];
/// One second less than the lease duration.
const RENEW_DEADLINE: Duration = Duration::from_secs(2);
const ROUNDS_OF_A_SEED: usize = 10;
/// Ten times the usual time to settle on two busy cores.
const LIMIT: Duration = Duration::from_secs(180);

#[test]
fn no_replica_writes_outside_its_leadership() {
    let number = |variable: &str| std::env::var(variable).ok().map(|text| text.parse::<u64>().unwrap());
    let file = std::env::var_os("CHAOS_RESULTS").map(PathBuf::from);
    let mut results = file.as_deref().map(results::read).unwrap_or_default();
    let first = number("CHAOS_SEED").unwrap_or(1);
    let seeds = number("CHAOS_ROUNDS").map_or(1, |rounds| rounds.div_ceil(ROUNDS_OF_A_SEED as u64));
    for seed in first..first + seeds {
        if results.iter().any(|result| result.seed == seed) {
            continue;
        }
        println!("seed {seed}; replay: CHAOS_SEED={seed} cargo test --test it chaos:: -- --nocapture");
        let of_this = World::start(seed).suffer();
        println!("{}", results::table(&of_this));
        if let Some(file) = &file {
            results::append(file, &of_this);
        }
        results.extend(of_this);
    }
    println!("{}", results::table(&results));
}

struct World {
    seed: u64,
    random: Random,
    workload: Workload,
    api: Api,
    // The drop order matters: clients before their server.
    _without_tls: Process,
    replicas: Vec<Replica>,
    plane: ControlPlane,
    /// Index of the replica that led when the cluster was healthy.
    leader: usize,
}

/// A fault, the affected replicas and the time since 1970.
struct Incident {
    fault: Fault,
    leader: String,
    began: Duration,
    over: Duration,
}

impl World {
    /// Starts with one leader and a running workload.
    fn start(seed: u64) -> Self {
        let project = Project::sample();
        let mut plane = ControlPlane::audited(evidence::POLICY);
        project.deploy(&plane.admin);
        plane.admin.run(&["create", "namespace", workload::NAMESPACE]);
        plane.without_controllers();
        let (without_tls, address) = plane.without_tls();
        let api = Api(address);
        let replicas = REPLICAS.iter().map(|name| Replica::start(&plane, project, name)).collect();
        wait::until(LIMIT, || api.get("/readyz")).unwrap();
        let workload = Workload::start(api, seed);
        Self { seed, random: Random(seed), workload, api, _without_tls: without_tls, replicas, plane, leader: 0 }
    }

    /// Runs the rounds of the seed and judges them.
    fn suffer(mut self) -> Vec<RoundResult> {
        let clocks = (SystemTime::now(), Instant::now());
        self.settle(Duration::ZERO);
        let rounds = Round::plan(ROUNDS_OF_A_SEED, &mut self.random);
        let incidents: Vec<_> = rounds.iter().map(|round| self.round(round)).collect();
        self.workload.halt();
        let drift = clocks.0.elapsed().unwrap().abs_diff(clocks.1.elapsed());
        assert!(drift < Duration::from_millis(100), "the clock of this machine was set meanwhile, by {drift:?}");

        let Evidence { leases, writes } = Evidence::read(&self.plane.audit_log());
        let verdict = judge(&leases, &writes, RENEW_DEADLINE);
        assert!(verdict.violations.is_empty(), "seed {}:\n{}", self.seed, verdict.violations.join("\n"));
        assert!(verdict.judged > 300, "too few writes to prove anything: {verdict:?}");
        let results = incidents.iter().enumerate().map(|(index, incident)| {
            let until = incidents.get(index + 1).map_or(Duration::MAX, |next| next.began);
            let of_this: Vec<_> =
                writes.iter().filter(|write| (incident.began..until).contains(&write.received)).cloned().collect();
            let Verdict { judged, late, overtaken, .. } = judge(&leases, &of_this, RENEW_DEADLINE);
            let (failover, changed_hands) = incident.failover(&leases);
            RoundResult {
                seed: self.seed,
                round: index + 1,
                fault: incident.fault.name().to_owned(),
                failover_seconds: failover.as_secs_f64(),
                changed_hands,
                writes: judged,
                late,
                overtaken,
            }
        });
        results.collect()
    }

    fn round(&mut self, round: &Round) -> Incident {
        let leader = self.replicas[self.leader].identity().unwrap();
        let mut victims = vec![self.leader];
        if round.two {
            victims.push((self.leader + 1) % self.replicas.len());
        }
        std::thread::sleep(round.delay);
        let began = now();
        let starts: usize = self.replicas.iter().map(Replica::starts).sum();
        self.strike(round.fault, &victims);
        std::thread::sleep(round.length);
        self.heal(round.fault);
        let over = now();
        let settling = Instant::now();
        self.settle(over);
        let restarts = self.replicas.iter().map(Replica::starts).sum::<usize>() - starts;
        println!("{round:?}: settled after {:?}, {restarts} processes started", settling.elapsed());
        Incident { fault: round.fault, leader, began, over }
    }

    fn strike(&mut self, fault: Fault, victims: &[usize]) {
        match fault {
            Fault::RestartApiServer => {
                self.plane.api_server().terminate();
            }
            Fault::PauseEtcd => self.plane.etcd().pause(),
            _ => {}
        }
        for victim in victims {
            let replica = &mut self.replicas[*victim];
            match fault {
                Fault::Kill => replica.kill(),
                Fault::Terminate => replica.terminate().unwrap_or_else(|error| panic!("{error}")),
                Fault::Pause => replica.pause(),
                Fault::Refuse => replica.set_network(Network::Refused),
                Fault::Stall => replica.set_network(Network::Stalled),
                Fault::RestartApiServer | Fault::PauseEtcd => {}
            }
        }
    }

    /// Ends the fault. The operator has to repair the rest.
    fn heal(&mut self, fault: Fault) {
        match fault {
            Fault::RestartApiServer => self.plane.api_server().restart(),
            Fault::PauseEtcd => self.plane.etcd().resume(),
            _ => {}
        }
        for replica in &mut self.replicas {
            replica.heal();
        }
        let ready = wait::until(LIMIT, || self.api.get("/readyz"));
        ready.unwrap_or_else(|error| panic!("seed {}: {error}\n{}", self.seed, self.state()));
    }

    /// Waits until one replica leads, has renewed the Lease since `since`, and all objects have converged.
    fn settle(&mut self, since: Duration) {
        self.workload.halt();
        let settled = wait::until(LIMIT, || {
            self.replicas.iter_mut().for_each(Replica::keep_running);
            let leader = self.leader()?;
            self.renewed(leader, since)?;
            self.workload.converged()?;
            Ok(leader)
        });
        self.leader = settled.unwrap_or_else(|missing| panic!("seed {}: {missing}\n{}", self.seed, self.state()));
        self.workload.go_on();
    }

    /// The only replica that claims to lead, once all contend.
    fn leader(&self) -> Result<usize, String> {
        let silent = self.replicas.iter().find(|replica| replica.identity().is_none());
        if let Some(silent) = silent {
            return Err(format!("does not contend:\n{}", silent.log()));
        }
        let leaders: Vec<_> = (0..self.replicas.len()).filter(|index| self.replicas[*index].leads()).collect();
        match leaders[..] {
            [leader] => Ok(leader),
            _ => Err(format!("the replicas {leaders:?} think that they lead")),
        }
    }

    fn renewed(&self, leader: usize, since: Duration) -> Result<(), String> {
        let list = self.api.get(&format!("/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases"))?;
        let spec = &list["items"][0]["spec"];
        let renewed = spec["renewTime"].as_str().is_some_and(|_| evidence::time(&spec["renewTime"]) > since);
        let holder = spec["holderIdentity"].as_str().map(str::to_owned);
        if renewed && holder == self.replicas[leader].identity() {
            Ok(())
        } else {
            Err(format!("replica {leader} thinks that it leads, and the Lease is {spec:#}"))
        }
    }

    fn state(&self) -> String {
        let logs: String = self.replicas.iter().map(Replica::log).collect();
        format!("{}{logs}", self.plane.admin.state())
    }
}

impl Incident {
    /// Returns the time until the next leadership and whether the leader changed.
    fn failover(&self, leases: &[LeaseWrite]) -> (Duration, bool) {
        let outage = self.fault.is_outage();
        let since = if outage { self.over } else { self.began };
        let leads_again = |lease: &&LeaseWrite| {
            let taken_over = lease.holder != self.leader && lease.received > self.began;
            let again = if outage { lease.answered > self.over } else { taken_over || lease.received > self.over };
            !lease.holder.is_empty() && again
        };
        let next = leases.iter().find(leads_again).expect("settled");
        (next.answered.saturating_sub(since), next.holder != self.leader)
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap()
}
