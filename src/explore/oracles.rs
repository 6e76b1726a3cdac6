//! The schedules of each oracle, made from the undisturbed runs.

use serde_json::Value;

use super::api::OTHERS;
use super::history;
use super::proxy::CountedRequest;
use super::schedule::{Disturbance, Drift, Fault, Oracle, Phase, Schedule};
use super::state::{ClusterObjects, ObjectKey, other_value, owned_fields};

/// The undisturbed runs, from which schedules are made.
pub(super) struct Undisturbed<'a> {
    pub(super) create: &'a [CountedRequest],
    pub(super) delete: &'a [CountedRequest],
    /// The objects of the operator at the settled end, without the samples.
    pub(super) owned: &'a ClusterObjects,
    /// The schema and the value of the first sample's spec.
    pub(super) spec: (&'a Value, &'a Value),
}

/// All schedules: in turn one of each oracle.
pub(super) fn schedules(oracles: &[Oracle], runs: &Undisturbed<'_>) -> Vec<Schedule> {
    in_turn(oracles.iter().map(|oracle| schedules_of(*oracle, runs)).collect())
}

/// The first item of each list, then the second ones, and so on.
fn in_turn<T>(lists: Vec<Vec<T>>) -> Vec<T> {
    let mut lists: Vec<_> = lists.into_iter().map(Vec::into_iter).collect();
    let mut all = Vec::new();
    loop {
        let before = all.len();
        all.extend(lists.iter_mut().filter_map(Iterator::next));
        if all.len() == before {
            return all;
        }
    }
}

fn schedules_of(oracle: Oracle, runs: &Undisturbed<'_>) -> Vec<Schedule> {
    let phases = [(Phase::Create, runs.create), (Phase::Delete, runs.delete)];
    let writes = |log: &[CountedRequest]| 1..=log.iter().filter(|request| request.write).count();
    let mut all = Vec::new();
    let mut add = |phase, disturbance| all.push(Schedule { phase, disturbance });
    match oracle {
        // All runs are judged by them.
        Oracle::Quiet | Oracle::Permission => {}
        Oracle::Crash => {
            // Both phases in turn, so that a small budget sees both.
            let most = writes(runs.create).count().max(writes(runs.delete).count());
            for write in 1..=most {
                for (phase, log) in phases {
                    if writes(log).contains(&write) {
                        add(phase, Disturbance::Die { write, after: true });
                    }
                }
            }
            for (phase, log) in phases {
                writes(log).for_each(|write| add(phase, Disturbance::Die { write, after: false }));
            }
        }
        Oracle::Deletion => writes(runs.create).for_each(|write| add(Phase::Create, Disturbance::Delete { write })),
        Oracle::Drift => {
            for (drift, key) in drifts(runs.owned) {
                add(Phase::Keep, Disturbance::Drift(drift, key));
            }
        }
        Oracle::History => {
            let (schema, spec) = runs.spec;
            let mut changes = Vec::new();
            history::changes(schema, spec, &mut vec!["spec".to_owned()], &mut changes);
            for patches in history::sequences(&changes, spec) {
                add(Phase::Keep, Disturbance::History(patches));
            }
        }
        Oracle::Faults => {
            // One fault for all requests, then the next one: a small budget sees each request.
            let faults = [
                (Fault::Code(409), true),
                (Fault::Code(500), false),
                (Fault::DropAfter, true),
                (Fault::DropBefore, false),
                (Fault::Timeout, true),
                (Fault::Code(429), false),
                (Fault::Code(504), false),
            ];
            for (fault, only_writes) in faults {
                for (phase, log) in phases {
                    let requests = (1..).zip(log).filter(|(_, logged)| logged.write || !only_writes);
                    requests.for_each(|(request, _)| add(phase, Disturbance::Fault { request, fault }));
                }
            }
        }
    }
    all
}

/// Deletions of the operator's objects, then changes of its fields: first one field of each object.
fn drifts(owned: &ClusterObjects) -> Vec<(Drift, ObjectKey)> {
    let mut lists = Vec::new();
    for (key, object) in owned {
        let fields = owned_fields(object, &OTHERS);
        if fields.is_empty() {
            continue;
        }
        let mut drifts = vec![Drift::Delete];
        // Data and spec before labels.
        let (last, first): (Vec<String>, Vec<String>) =
            fields.into_iter().partition(|field| field.starts_with("/metadata"));
        for pointer in first.into_iter().chain(last) {
            if object.pointer(&pointer).and_then(other_value).is_some() {
                drifts.push(Drift::Change(pointer.clone()));
            }
            drifts.push(Drift::Remove(pointer));
        }
        lists.push(drifts.into_iter().map(|drift| (drift, key.clone())).collect());
    }
    in_turn(lists)
}
