//! The schedules of each oracle, made from the undisturbed runs.

use explorer::Oracle;
use explorer::exploration::{Event, Phase, Requests, Schedule, changes, drifts, in_turn};
use serde_json::Value;

use super::api::ClusterObjects;
use super::event::BinarySchedule;
use super::history;
use super::release::ReleaseRuns;

/// The undisturbed runs, from which schedules are made.
pub(super) struct Undisturbed<'a> {
    pub(super) requests: &'a Requests,
    /// The objects of the operator at the settled end, without the samples.
    pub(super) owned: &'a ClusterObjects,
    /// The schema and the value of the first sample's spec.
    pub(super) spec: (&'a Value, &'a Value),
    pub(super) releases: Option<&'a ReleaseRuns>,
}

/// All schedules: in turn one of each oracle.
pub(super) fn schedules(oracles: &[Oracle], runs: &Undisturbed<'_>) -> Vec<BinarySchedule> {
    in_turn(oracles.iter().map(|oracle| schedules_of(*oracle, runs)).collect())
}

fn schedules_of(oracle: Oracle, runs: &Undisturbed<'_>) -> Vec<BinarySchedule> {
    let keep = |event| Schedule { phase: Phase::Keep, event };
    let schedules: Vec<Schedule> = match oracle {
        Oracle::Crash => runs.requests.crashes(),
        Oracle::Deletion => runs.requests.deletions(),
        Oracle::Faults => runs.requests.faults(),
        Oracle::Release => return runs.releases.map(ReleaseRuns::schedules).unwrap_or_default(),
        Oracle::Drift => drifts(runs.owned).into_iter().map(|(drift, key)| keep(Event::Drift(drift, key))).collect(),
        Oracle::History => {
            let (schema, spec) = runs.spec;
            let histories = history::sequences(&changes(schema, spec), spec).into_iter();
            histories.map(|patches| keep(Event::History(patches))).collect()
        }
        // The others judge all runs.
        _ => Vec::new(),
    };
    schedules.into_iter().map(|Schedule { phase, event }| Schedule { phase, event: event.into() }).collect()
}
