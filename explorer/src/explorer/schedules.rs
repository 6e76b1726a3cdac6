//! The schedules of each oracle.

use std::collections::BTreeSet;

use serde_json::Value;

use super::event::{MemoryEvent, MemorySchedule};
use super::run::Outcome;
use super::trial::Baseline;
use super::{Explorer, history, pruning};
use crate::exploration::{Drift, Event, ObjectKey, Oracle, Phase, Requests, drifts, in_turn};

impl Explorer {
    /// All schedules: in turn one of each oracle.
    pub(super) fn schedules(&self, baseline: &Baseline) -> Vec<MemorySchedule> {
        in_turn(self.oracles.iter().map(|oracle| self.schedules_of(*oracle, baseline)).collect())
    }

    fn schedules_of(&self, oracle: Oracle, baseline: &Baseline) -> Vec<MemorySchedule> {
        let writes = |outcome: &Outcome| outcome.log.iter().map(|request| request.write).collect();
        let requests = Requests { create: writes(&baseline.create), delete: writes(&baseline.delete) };
        let common = |schedules: Vec<_>| schedules.into_iter().map(MemorySchedule::from).collect();
        match oracle {
            // All runs are judged by them.
            Oracle::Quiet | Oracle::Permission | Oracle::Invariant | Oracle::Status => Vec::new(),
            Oracle::Webhooks if self.server.reviewed().is_empty() => Vec::new(),
            Oracle::Webhooks => keep([MemoryEvent::Review]),
            Oracle::Release => self.upgrades(),
            Oracle::Stale => self.stale(baseline, &requests),
            Oracle::Neighbours => in_turn(vec![self.shares(), self.neighbours()]),
            Oracle::Overlap => {
                let runs = requests.writes().into_iter();
                let events = runs.flat_map(|(phase, writes)| writes.map(move |write| (phase, write)));
                events.map(|(phase, write)| MemorySchedule { phase, event: MemoryEvent::Overlap { write } }).collect()
            }
            Oracle::Crash => {
                let mut crashes = requests.crashes();
                crashes.retain(|crash| !pruning::repeats(crash, &baseline.create.log, &baseline.delete.log));
                common(crashes)
            }
            Oracle::Faults => common(requests.faults()),
            Oracle::Deletion => {
                let mut all = keep([MemoryEvent::Recreate { unseen: false }]);
                all.extend(requests.deletions().into_iter().map(MemorySchedule::from));
                all
            }
            Oracle::Drift => {
                keep(self.drifts(baseline).into_iter().map(|(drift, key)| Event::Drift(drift, key).into()))
            }
            Oracle::History => keep(self.histories().into_iter().map(|patches| Event::History(patches).into())),
        }
    }

    /// Deletions of the operator's objects for the samples, and changes of its fields in them.
    fn drifts(&self, baseline: &Baseline) -> Vec<(Drift, ObjectKey)> {
        let before = baseline.idle.all();
        let samples: Vec<ObjectKey> = self.samples.iter().filter_map(|sample| self.server.place(sample).ok()).collect();
        let mut objects = baseline.settled.all();
        objects.retain(|key, _| !before.contains_key(key) && !samples.contains(key) && !self.ignored.contains(&key.0));
        drifts(&objects)
    }

    /// Late and missed events, and late and old lists.
    fn stale(&self, baseline: &Baseline, requests: &Requests) -> Vec<MemorySchedule> {
        let log = &baseline.create.log;
        let watched: BTreeSet<&String> = log.iter().filter_map(|request| request.watch.as_ref()).collect();
        let slow = watched.iter().map(|resource| MemoryEvent::Slow { resource: (*resource).clone() });
        let mut groups: Vec<Vec<MemorySchedule>> = vec![keep(slow)];
        for (phase, writes) in requests.writes() {
            for resource in &watched {
                let lags = writes.clone().map(|write| MemoryEvent::Lag { write, resource: (*resource).clone() });
                groups.push(lags.map(|event| MemorySchedule { phase, event }).collect());
            }
            let misses = writes.clone().map(|write| MemoryEvent::Miss { write });
            groups.push(misses.map(|event| MemorySchedule { phase, event }).collect());
            if log.iter().any(|request| request.cached) {
                let rewinds = writes.flat_map(|write| [write, 0].map(|before| MemoryEvent::Rewind { write, before }));
                groups.push(rewinds.map(|event| MemorySchedule { phase, event }).collect());
            }
        }
        let deletions = self.drifts(baseline).into_iter().filter(|(drift, _)| *drift == Drift::Delete);
        let unseen = deletions.map(|(_, key)| MemoryEvent::DeleteUnseen(key));
        groups.push(keep([MemoryEvent::Recreate { unseen: true }].into_iter().chain(unseen)));
        in_turn(groups)
    }

    /// The histories of the first sample.
    pub(super) fn histories(&self) -> Vec<Vec<Value>> {
        let sample = self.samples.first().cloned().unwrap_or_default();
        history::sequences(&self.changes(&sample))
    }

    /// Changes of the spec of a sample that its schema permits.
    pub(super) fn changes(&self, sample: &Value) -> Vec<Value> {
        let schema = self.server.schema(sample);
        schema.map(|schema| history::spec_changes(&schema, sample)).unwrap_or_default()
    }
}

/// Schedules with the samples of the settled state.
pub(super) fn keep(events: impl IntoIterator<Item = MemoryEvent>) -> Vec<MemorySchedule> {
    events.into_iter().map(|event| MemorySchedule { phase: Phase::Keep, event }).collect()
}
