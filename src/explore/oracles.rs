//! The schedules of each oracle, made from the undisturbed runs.

use explorer::Oracle;
use explorer::exploration::{Event, Phase, Requests, Schedule, changes, drifts, in_turn};
use serde_json::Value;

use super::api::ClusterObjects;
use super::history;

/// The undisturbed runs, from which schedules are made.
pub(super) struct Undisturbed<'a> {
    pub(super) requests: &'a Requests,
    /// The objects of the operator at the settled end, without the samples.
    pub(super) owned: &'a ClusterObjects,
    /// The schema and the value of the first sample's spec.
    pub(super) spec: (&'a Value, &'a Value),
}

/// All schedules: in turn one of each oracle.
pub(super) fn schedules(oracles: &[Oracle], runs: &Undisturbed<'_>) -> Vec<Schedule> {
    in_turn(oracles.iter().map(|oracle| schedules_of(*oracle, runs)).collect())
}

fn schedules_of(oracle: Oracle, runs: &Undisturbed<'_>) -> Vec<Schedule> {
    let events: Vec<Event> = match oracle {
        Oracle::Crash => return runs.requests.crashes(),
        Oracle::Deletion => return runs.requests.deletions(),
        Oracle::Faults => return runs.requests.faults(),
        Oracle::Drift => drifts(runs.owned).into_iter().map(|(drift, key)| Event::Drift(drift, key)).collect(),
        Oracle::History => {
            let (schema, spec) = runs.spec;
            history::sequences(&changes(schema, spec), spec).into_iter().map(Event::History).collect()
        }
        // The others judge all runs.
        _ => Vec::new(),
    };
    events.into_iter().map(|event| Schedule { phase: Phase::Keep, event }).collect()
}
