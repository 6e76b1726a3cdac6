//! Explores an operator's binary: runs it against a kube-apiserver through a proxy that disturbs its requests, and
//! compares the ends of the runs.
//!
//! Must stay true: only objects that runs have made are deleted, and all processes end with this one.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use explorer::Finding;
use explorer::exploration::{self, ClusterState, Event, Phase, Requests};
use hyper::Method;
use serde_json::Value;

use crate::diagnostic::Problem;

mod api;
mod cluster;
mod event;
mod history;
mod oracles;
mod process;
mod proxy;
mod release;
mod report;
mod request;
mod setup;
mod trial;
mod world;

pub(crate) use explorer::Oracle;
pub(crate) use report::ExploreReport;

use api::ClusterObjects;
use event::{BinaryEvent, BinarySchedule};
use oracles::Undisturbed;
use proxy::CountedRequest;
use release::ReleaseRuns;
use report::ExploreFinding;
use world::{End, World};

/// The API server of an exploration.
#[derive(Clone, Debug)]
pub(crate) enum ClusterChoice {
    /// An own one, from a folder with etcd and kube-apiserver.
    Own(PathBuf),
    /// The one of a kubeconfig.
    Of(PathBuf),
}

/// The inputs of an exploration.
#[derive(Clone, Debug)]
pub(crate) struct Exploration {
    pub(crate) cluster: ClusterChoice,
    pub(crate) crds: Vec<Value>,
    pub(crate) samples: Vec<Value>,
    /// Roles of the operator. Without one, all requests are permitted.
    pub(crate) roles: Vec<Value>,
    /// The operator's program and its arguments.
    pub(crate) command: Vec<OsString>,
    /// The program of the previous release, with these arguments.
    pub(crate) previous: Option<Vec<OsString>>,
    pub(crate) budget: Duration,
    /// The quiet time after which a state is settled.
    pub(crate) settle: Duration,
    /// The only oracle; else all.
    pub(crate) only: Option<Oracle>,
    /// The only schedule.
    pub(crate) replay: Option<String>,
    /// The other flags of the command that replays a schedule.
    pub(crate) flags: Vec<String>,
}

/// The ends of the undisturbed runs.
struct Baseline {
    /// Objects of the operator at the settled end.
    owned: ClusterObjects,
    kept: ClusterState,
    /// The end without samples.
    idle: ClusterState,
    requests: Requests,
    /// The ends of new objects by their spec, or the reason why they do not settle.
    fresh: BTreeMap<String, Result<ClusterState, String>>,
    /// None without a previous release.
    releases: Option<ReleaseRuns>,
}

/// The end of a run with a disturbance.
struct Trial {
    difference: Vec<String>,
    writes: Vec<String>,
    forbidden: Vec<String>,
    log: Vec<String>,
}

struct BinaryExplorer<'a> {
    options: &'a Exploration,
    world: World,
    report: ExploreReport,
    /// True if the cluster has the samples and the settled end.
    settled: bool,
    say: &'a mut dyn FnMut(&str),
}

/// Returns the oracle of a schedule. The error is a sentence.
pub(crate) fn oracle_of(schedule: &str) -> Result<Oracle, String> {
    let schedule: BinarySchedule = schedule.parse()?;
    Ok(schedule.event.oracle(schedule.phase))
}

/// Explores. `say` gets the progress.
pub(crate) fn explore(options: &Exploration, say: &mut dyn FnMut(&str)) -> Result<ExploreReport> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let started = Instant::now();
        // The cluster goes last.
        let (cluster, world) = setup::prepare(options, say).await?;
        let report = ExploreReport::default();
        let mut explorer = BinaryExplorer { options, world, report, settled: false, say };
        let end = explorer.run(Instant::now()).await;
        explorer.world.stop().await;
        if end.is_ok() {
            explorer.world.reset().await?;
        }
        setup::leave(options, &explorer.world.api).await;
        end?;
        explorer.report.elapsed = started.elapsed();
        let report = explorer.report;
        drop(cluster);
        Ok(report)
    })
}

impl BinaryExplorer<'_> {
    async fn run(&mut self, started: Instant) -> Result<()> {
        let Some(mut baseline) = self.baseline().await? else { return Ok(()) };
        if let Some(text) = &self.options.replay {
            return self.replay(baseline, text).await;
        }
        let all = [Oracle::Crash, Oracle::Deletion, Oracle::Drift, Oracle::Faults, Oracle::History, Oracle::Release];
        let oracles: Vec<Oracle> = match self.options.only {
            Some(Oracle::Quiet) => Vec::new(),
            Some(Oracle::Permission) | None => all.to_vec(),
            Some(oracle) => vec![oracle],
        };
        if self.options.previous.is_some() && oracles.contains(&Oracle::Release) {
            self.releases(&mut baseline).await?;
        }
        let sample = self.world.samples.first();
        let kind = sample.map(|sample| sample.object.clone()).unwrap_or_default();
        let schema = setup::spec_schema(&self.options.crds, &kind);
        let runs = Undisturbed {
            requests: &baseline.requests,
            owned: &baseline.owned,
            spec: (&schema, &kind["spec"]),
            releases: baseline.releases.as_ref(),
        };
        let schedules = oracles::schedules(&oracles, &runs);
        let count = schedules.len();
        (self.say)(&format!("{count} schedules, at most {} s", self.options.budget.as_secs()));
        for schedule in schedules {
            if started.elapsed() >= self.options.budget {
                self.report.out_of_budget = true;
                break;
            }
            let Some(trial) = self.trial(&mut baseline, &schedule).await? else { continue };
            self.confirm(&mut baseline, &schedule, trial).await?;
        }
        Ok(())
    }

    async fn replay(&mut self, mut baseline: Baseline, text: &str) -> Result<()> {
        let schedule: BinarySchedule = text.parse().map_err(Problem::new)?;
        if schedule.event.oracle(schedule.phase) == Oracle::Release && !self.releases(&mut baseline).await? {
            return Ok(());
        }
        self.settled = false;
        let Some(trial) = self.trial(&mut baseline, &schedule).await? else {
            let problem = Problem::new(format!("`{text}` has no effect: its request or object does not exist"));
            return Err(problem.help("the operator no longer sends this request; explore without `--replay`").into());
        };
        // Findings of the undisturbed runs are not asked for.
        self.report.findings.clear();
        self.count(&schedule);
        self.judge(&schedule, trial);
        Ok(())
    }

    /// Adds the finding of a run if a second run has it too: a difference that depends on chance or on an earlier run is
    /// not a finding.
    async fn confirm(&mut self, baseline: &mut Baseline, schedule: &BinarySchedule, trial: Trial) -> Result<()> {
        self.count(schedule);
        if trial.difference.is_empty() && trial.forbidden.is_empty() {
            return Ok(());
        }
        let finding = self.finding(schedule.event.oracle(schedule.phase), schedule, &trial);
        if self.report.same(&finding).is_some() {
            self.judge(schedule, trial);
            return Ok(());
        }
        self.settled = false;
        match self.trial(baseline, schedule).await? {
            Some(again) if !again.difference.is_empty() || !again.forbidden.is_empty() => {
                (self.say)(&format!("found: {schedule}"));
                self.judge(schedule, again);
            }
            _ => self.report.unconfirmed.push(schedule.to_string()),
        }
        Ok(())
    }

    /// Runs the undisturbed schedules: create, keep and delete. Returns none without a settled state: no other schedule
    /// can be judged.
    async fn baseline(&mut self) -> Result<Option<Baseline>> {
        (self.say)("undisturbed runs");
        let create = BinarySchedule::undisturbed(Phase::Create);
        self.world.reset().await?;
        self.world.start().await?;
        let idle = match self.world.settle(None).await? {
            End::Settled(idle) => idle,
            End::Restless(reason) => {
                let trial = self.ended(vec![format!("without samples: {reason}")]);
                self.judge(&create, trial);
                return Ok(None);
            }
        };
        self.world.learn_watches();
        let before = self.world.objects().await?;
        let Some((first, requests)) = self.undisturbed_create().await? else { return Ok(None) };
        self.report.idle = !exploration::has_written(&before, &self.world.objects().await?);

        let keep = BinarySchedule::undisturbed(Phase::Keep);
        self.world.stop().await;
        self.world.start().await?;
        self.world.proxy.arm(&Event::Nothing);
        let end = self.world.settle(Some(&first)).await?;
        let trial = self.ended(end.difference(&first));
        self.count(&keep);
        self.judge(&keep, trial);

        let delete = BinarySchedule::undisturbed(Phase::Delete);
        self.world.proxy.arm(&Event::Nothing);
        self.world.proxy.delete_samples().await?;
        let end = self.world.settle(Some(&idle)).await?;
        let deletion = self.world.proxy.state().log.clone();
        let trial = self.ended(end.difference(&idle));
        self.count(&delete);
        self.judge(&delete, trial);

        self.world.reset().await?;
        self.world.start().await?;
        let Some((second, again)) = self.undisturbed_create().await? else { return Ok(None) };
        let writes = |log: &[CountedRequest]| -> Vec<CountedRequest> {
            log.iter().filter(|request| request.write).cloned().collect()
        };
        self.report.deterministic = Some(writes(&requests) == writes(&again));
        self.world.generated = first.differing(&second);
        let mut objects = self.world.objects().await?;
        let kept = ClusterState::new(objects.clone(), &self.world.generated);
        let idle = idle.without_values(&self.world.generated);
        self.settled = true;
        let samples: Vec<_> = self.world.samples.iter().map(world::PlacedSample::key).collect();
        objects.retain(|key, _| !samples.contains(key));
        let flags = |log: Vec<CountedRequest>| log.into_iter().map(|request| request.write).collect();
        let requests = Requests { create: flags(again), delete: flags(deletion) };
        Ok(Some(Baseline { owned: objects, kept, idle, requests, fresh: BTreeMap::new(), releases: None }))
    }

    /// Creates the samples. Returns the end and the requests; none if the state does not settle.
    async fn undisturbed_create(&mut self) -> Result<Option<(ClusterState, Vec<CountedRequest>)>> {
        self.world.proxy.arm(&Event::Nothing);
        self.world.create_samples().await?;
        let end = self.world.settle(None).await?;
        let create = BinarySchedule::undisturbed(Phase::Create);
        self.count(&create);
        let requests = self.world.proxy.state().log.clone();
        match end {
            End::Settled(state) => {
                let trial = self.ended(Vec::new());
                self.judge(&create, trial);
                Ok(Some((state, requests)))
            }
            End::Restless(reason) => {
                let trial = self.ended(vec![reason]);
                self.judge(&create, trial);
                Ok(None)
            }
        }
    }

    /// The end of the run, with the requests and the output of the operator.
    fn ended(&self, difference: Vec<String>) -> Trial {
        let state = self.world.proxy.state();
        let writes = state.log.iter().filter(|request| request.write).map(|request| request.line.clone()).collect();
        let forbidden = state.forbidden.iter().cloned().collect();
        drop(state);
        Trial { difference, writes, forbidden, log: self.world.log() }
    }

    fn count(&mut self, schedule: &BinarySchedule) {
        *self.report.trials.entry(schedule.event.oracle(schedule.phase)).or_default() += 1;
    }

    /// Adds the findings of a run. A forbidden request explains all other differences.
    fn judge(&mut self, schedule: &BinarySchedule, mut trial: Trial) {
        let oracle = if trial.forbidden.is_empty() {
            schedule.event.oracle(schedule.phase)
        } else {
            trial.difference = std::mem::take(&mut trial.forbidden);
            Oracle::Permission
        };
        let wanted = self.options.only.is_none_or(|only| oracle == only || oracle == Oracle::Quiet);
        if wanted && !trial.difference.is_empty() {
            let finding = self.finding(oracle, schedule, &trial);
            self.report.add(finding);
        }
    }

    fn finding(&self, oracle: Oracle, schedule: &BinarySchedule, trial: &Trial) -> ExploreFinding {
        let (difference, writes) = (trial.difference.clone(), trial.writes.clone());
        let finding = Finding { oracle, schedule: schedule.to_string(), difference, writes, repeats: 0 };
        let replay = report::replay(self.options, &finding.schedule);
        let hint = match schedule.event {
            _ if oracle == Oracle::Faults => {
                let seconds = self.world.patience().as_secs_f64();
                Some(format!(
                    "The operator had {seconds:.1} s to try again. If it waits longer, choose a longer `--settle`."
                ))
            }
            BinaryEvent::RollBack => {
                let hint = "The previous release does not know new objects and fields. Decide if they may stay.";
                Some(hint.to_owned())
            }
            _ => None,
        };
        ExploreFinding { finding, hint, log: trial.log.clone(), replay }
    }
}
