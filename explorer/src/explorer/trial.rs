//! A trial: one schedule, compared with the undisturbed run.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Explorer;
use super::act::{create, drifting};
use super::event::{MemoryEvent, MemorySchedule};
use super::gate::{Disturbance, Held};
use super::pruning::Visited;
use super::report::Report;
use super::run::Outcome;
use crate::exploration::{ClusterState, Drift, Event, Fault, Finding, Oracle, Phase, has_written};
use crate::server::{ApiServer, Verdict};

/// The states that runs start from, and their ends without a disturbance.
pub(super) struct Baseline {
    /// The end without samples: the objects of the operator itself.
    pub(super) idle: ApiServer,
    pub(super) settled: ApiServer,
    pub(super) kept: ClusterState,
    pub(super) deleted: ClusterState,
    pub(super) create: Outcome,
    pub(super) delete: Outcome,
    pub(super) visited: RefCell<Visited>,
    /// The ends for new samples by their key: see [`Explorer::end`].
    pub(super) fresh: RefCell<BTreeMap<String, Result<ClusterState, String>>>,
}

impl Explorer {
    /// Runs the undisturbed schedules: create, keep and delete. Without a settled state, no other schedule can be judged.
    pub(super) fn baseline(&self, report: &mut Report) -> Result<Baseline, ()> {
        let settled = self.server.snapshot();
        let create = self.run(&settled, Disturbance::Nothing, vec![self.create()], false);
        let restless = create.restless.is_some();
        self.judge(report, &MemorySchedule::undisturbed(Phase::Create), create.clone(), &[]);
        if restless {
            return Err(());
        }
        let again = self.run(&self.server.snapshot(), Disturbance::Nothing, vec![self.create()], false);
        report.deterministic = Some(create.log == again.log);
        let idle = self.server.snapshot();
        self.run(&idle, Disturbance::Nothing, Vec::new(), false);
        let empty = self.state(&idle);
        let mut objects = settled.all();
        objects.retain(|key, _| !self.ignored.contains(&key.0));
        report.idle = !has_written(&idle.all(), &objects);
        let kept = self.state(&settled);
        let exact =
            |server: &ApiServer| ClusterState::new(server.all(), &BTreeSet::new()).without_resources(&self.ignored);
        let copy = settled.snapshot();
        let keep = self.run(&copy, Disturbance::Nothing, Vec::new(), false);
        let difference = exact(&settled).diff(&exact(&copy));
        let restless = keep.restless.is_some() || !difference.is_empty();
        self.judge(report, &MemorySchedule::undisturbed(Phase::Keep), keep, &difference);
        if restless {
            return Err(());
        }
        let copy = settled.snapshot();
        let delete = self.run(&copy, Disturbance::Nothing, vec![self.delete()], true);
        let deleted = self.state(&copy);
        self.judge(report, &MemorySchedule::undisturbed(Phase::Delete), delete.clone(), &empty.diff(&deleted));
        let visited = RefCell::<Visited>::default();
        visited.borrow_mut().settled(&[], self.hash(&kept, &settled));
        Ok(Baseline { idle, settled, kept, deleted, create, delete, visited, fresh: RefCell::default() })
    }

    /// Runs a schedule, and compares its end. Returns none if the schedule has no effect: its request is not
    /// sent, or another client's change is refused, changes nothing, or repeats that of another history.
    pub(super) fn trial(&self, baseline: &Baseline, schedule: &MemorySchedule) -> Option<(Outcome, Vec<String>)> {
        let server = if schedule.phase == Phase::Create { self.server.snapshot() } else { baseline.settled.snapshot() };
        let acts = match &schedule.event {
            MemoryEvent::Review => return Some((Outcome::default(), self.review(baseline))),
            MemoryEvent::Release(upgrade, name) => return self.upgrade(baseline, *upgrade, name),
            MemoryEvent::Beside(share, at) => return self.share(baseline, *share, *at),
            MemoryEvent::Neighbour(visit, namespace, name) => {
                return self.neighbour(baseline, &server, *visit, namespace, name);
            }
            MemoryEvent::Common(Event::Drift(drift, key)) => vec![drifting(&server, drift, key)?],
            MemoryEvent::DeleteUnseen(key) => vec![drifting(&server, &Drift::Delete, key)?],
            MemoryEvent::Recreate { .. } => vec![self.recreation(&server)?],
            MemoryEvent::Common(Event::History(patches)) => {
                if baseline.visited.borrow_mut().repeats(patches) {
                    return None;
                }
                self.patches(&server, patches)?
            }
            _ => match schedule.phase {
                Phase::Create => vec![self.create()],
                Phase::Keep => Vec::new(),
                Phase::Delete => vec![self.delete()],
            },
        };
        let outcome = self.run(&server, self.disturbance(&schedule.event), acts, schedule.phase == Phase::Delete);
        if !outcome.disturbed {
            return None;
        }
        let end = self.state(&server);
        if let MemoryEvent::Common(Event::History(patches)) = &schedule.event {
            baseline.visited.borrow_mut().settled(patches, self.hash(&end, &server));
        }
        let difference = match &schedule.event {
            MemoryEvent::Common(Event::History(_)) => match self.fresh(&server, baseline) {
                Ok(expected) => expected.diff(&end),
                Err(reason) => vec![format!("a new object with this spec: {reason}")],
            },
            _ if schedule.removes() => baseline.deleted.diff(&end),
            _ => baseline.kept.diff(&end),
        };
        Some((outcome, difference))
    }

    fn disturbance(&self, event: &MemoryEvent) -> Disturbance {
        match event.clone() {
            MemoryEvent::Common(Event::Die { write, after }) => Disturbance::Die { write, after, stale: None },
            MemoryEvent::Common(Event::Delete { write }) => Disturbance::Act { write, act: self.delete() },
            MemoryEvent::Common(Event::Fault { request, fault }) => {
                Disturbance::Fault { request, verdict: verdict(fault), after: fault == Fault::Timeout }
            }
            MemoryEvent::Rewind { write, before } => Disturbance::Die { write, after: true, stale: Some(before) },
            MemoryEvent::Lag { write, resource } => Disturbance::Lag { write, held: Held::new(&resource, false) },
            MemoryEvent::Slow { resource } => Disturbance::Slow { resource },
            MemoryEvent::Miss { write } => Disturbance::Lag { write, held: Held::new("", true) },
            MemoryEvent::DeleteUnseen(_) | MemoryEvent::Recreate { unseen: true } => {
                Disturbance::Lag { write: 0, held: Held::new("", true) }
            }
            MemoryEvent::Overlap { write } => Disturbance::Overlap { write },
            MemoryEvent::Common(Event::Nothing | Event::Drift(..) | Event::History(_))
            | MemoryEvent::Recreate { unseen: false }
            | MemoryEvent::Review
            | MemoryEvent::Release(..)
            | MemoryEvent::Beside(..)
            | MemoryEvent::Neighbour(..) => Disturbance::Nothing,
        }
    }

    pub(super) fn state(&self, server: &ApiServer) -> ClusterState {
        ClusterState::new(server.all(), &self.generated).without_resources(&self.ignored)
    }

    /// The resources of the samples.
    pub(super) fn kinds(&self) -> BTreeSet<String> {
        self.samples.iter().filter_map(|sample| Some(self.server.place(sample).ok()?.0)).collect()
    }

    /// The end for new samples, the first one with the spec that it has on `server`.
    fn fresh(&self, server: &ApiServer, baseline: &Baseline) -> Result<ClusterState, String> {
        let mut samples = self.samples.clone();
        let sample = samples.first_mut().ok_or("no sample")?;
        sample["spec"] = server.all().remove(&self.server.place(sample)?).unwrap_or_default()["spec"].take();
        let key = sample["spec"].to_string();
        self.end(baseline, key, &self.server.snapshot(), samples)
    }

    /// The end of a run that creates samples, or the reason why it does not settle. Each key runs once.
    pub(super) fn end(
        &self,
        baseline: &Baseline,
        key: String,
        server: &ApiServer,
        samples: Vec<Value>,
    ) -> Result<ClusterState, String> {
        if let Some(known) = baseline.fresh.borrow().get(&key) {
            return known.clone();
        }
        let outcome = self.run(server, Disturbance::Nothing, vec![create(samples)], false);
        let end = outcome.restless.map_or_else(|| Ok(self.state(server)), Err);
        baseline.fresh.borrow_mut().insert(key, end.clone());
        end
    }

    /// Counts a run, and adds its finding.
    pub(super) fn judge(
        &self,
        report: &mut Report,
        schedule: &MemorySchedule,
        mut outcome: Outcome,
        difference: &[String],
    ) {
        *report.trials.entry(schedule.oracle()).or_default() += 1;
        report.unsupported.extend(outcome.unsupported);
        let difference = outcome.restless.map_or_else(|| difference.to_vec(), |reason| vec![reason]);
        let mut status = outcome.status;
        // With an old cache or two processes, a correct operator cannot know the earlier time.
        if !matches!(schedule.oracle(), Oracle::Stale | Oracle::Overlap) {
            status.extend(outcome.bumped);
        } else {
            // Neither can it know the object that a webhook compares.
            outcome.reviews.clear();
        }
        let writes = outcome.log.into_iter().filter(|request| request.write).map(|request| request.text);
        let writes: Vec<String> = writes.collect();
        // A forbidden request explains all other differences.
        let of_oracle = if outcome.forbidden.is_empty() { difference } else { Vec::new() };
        for (oracle, difference) in [
            (Oracle::Permission, outcome.forbidden),
            (schedule.oracle(), of_oracle),
            (Oracle::Invariant, outcome.broken),
            (Oracle::Webhooks, outcome.reviews),
            (Oracle::Status, status),
        ] {
            let counts = self.wanted.is_none_or(|wanted| oracle == wanted || oracle == Oracle::Quiet);
            if counts && !difference.is_empty() {
                let (schedule, writes) = (schedule.to_string(), writes.clone());
                report.add(Finding { oracle, schedule, difference, writes, repeats: 0 });
            }
        }
    }
}

fn verdict(fault: Fault) -> Verdict {
    let code = match fault {
        Fault::DropBefore => return Verdict::DropBefore,
        Fault::DropAfter => return Verdict::DropAfter,
        Fault::Code(code) => code,
        Fault::Timeout => 504,
    };
    Verdict::Refuse(code, Fault::reason(code).to_owned(), "refused by the explorer".to_owned())
}
