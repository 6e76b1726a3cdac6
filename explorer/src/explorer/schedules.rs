//! The schedules of each oracle.

use std::collections::BTreeSet;

use serde_json::Value;

use super::oracle::{Drift, Event, Fault, Oracle, Phase, Schedule, Visit, other_value, owned_fields};
use super::run::Outcome;
use super::{Baseline, Explorer, NEIGHBOUR, OTHERS, history};
use crate::schema::Shape;
use crate::store::Key;

impl Explorer {
    /// All schedules: in turn one of each oracle.
    pub(super) fn schedules(&self, baseline: &Baseline) -> Vec<Schedule> {
        in_turn(self.oracles.iter().map(|oracle| self.schedules_of(*oracle, baseline)).collect())
    }

    fn schedules_of(&self, oracle: Oracle, baseline: &Baseline) -> Vec<Schedule> {
        let phases = [(Phase::Create, &baseline.create), (Phase::Delete, &baseline.delete)];
        let writes = |outcome: &Outcome| 1..=outcome.log.iter().filter(|request| request.write).count();
        let mut all = Vec::new();
        match oracle {
            // All runs are judged by them.
            Oracle::Quiet | Oracle::Permission | Oracle::Invariant | Oracle::Status => {}
            Oracle::Webhooks if !self.server.reviewed().is_empty() => {
                all.push(Schedule { phase: Phase::Keep, event: Event::Review });
            }
            Oracle::Webhooks => {}
            Oracle::Release => all = self.upgrades(),
            Oracle::Stale => all = self.stale(baseline),
            Oracle::Neighbours => all = in_turn(vec![self.shares(), self.neighbours()]),
            Oracle::Overlap => {
                for (phase, outcome) in phases {
                    let overlaps = writes(outcome).map(|write| Event::Overlap { write });
                    all.extend(overlaps.map(|event| Schedule { phase, event }));
                }
            }
            Oracle::Crash => {
                for (phase, outcome) in phases {
                    let crashes =
                        writes(outcome).flat_map(|write| [false, true].map(|after| Event::Die { write, after }));
                    all.extend(crashes.map(|event| Schedule { phase, event }));
                }
            }
            Oracle::Deletion => {
                let deletions = writes(&baseline.create).map(|write| Event::Delete { write });
                all.push(Schedule { phase: Phase::Keep, event: Event::Recreate { unseen: false } });
                all.extend(deletions.map(|event| Schedule { phase: Phase::Create, event }));
            }
            Oracle::Drift => {
                let drifts = self.drifts(baseline).map(|(drift, key)| Event::Drift(drift, key));
                all.extend(drifts.map(|event| Schedule { phase: Phase::Keep, event }));
            }
            Oracle::History => {
                let histories = self.histories().into_iter().map(Event::History);
                all.extend(histories.map(|event| Schedule { phase: Phase::Keep, event }));
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
                    for (phase, outcome) in phases {
                        let requests = (1..).zip(&outcome.log).filter(|(_, logged)| logged.write || !only_writes);
                        let events = requests.map(|(request, _)| Event::Fault { request, fault });
                        all.extend(events.map(|event| Schedule { phase, event }));
                    }
                }
            }
        }
        all
    }

    /// Deletions of the operator's objects for the samples, and changes of its fields in them.
    fn drifts<'a>(&'a self, baseline: &'a Baseline) -> impl Iterator<Item = (Drift, Key)> + 'a {
        let before = baseline.idle.all();
        let samples: Vec<Key> = self.samples.iter().filter_map(|sample| self.server.place(sample).ok()).collect();
        let objects = baseline.settled.all().into_iter();
        let objects = objects.filter(move |(key, object)| {
            let is_ours = !owned_fields(object, &OTHERS).is_empty();
            is_ours && !before.contains_key(key) && !samples.contains(key) && !self.ignored.contains(&key.0)
        });
        objects.flat_map(|(key, object)| {
            let mut drifts = vec![Drift::Delete];
            for pointer in owned_fields(&object, &OTHERS) {
                if object.pointer(&pointer).and_then(other_value).is_some() {
                    drifts.push(Drift::Change(pointer.clone()));
                }
                drifts.push(Drift::Remove(pointer));
            }
            drifts.into_iter().map(move |drift| (drift, key.clone()))
        })
    }

    /// Late and missed events, and old lists.
    fn stale(&self, baseline: &Baseline) -> Vec<Schedule> {
        let phases = [(Phase::Create, &baseline.create), (Phase::Delete, &baseline.delete)];
        let mut groups: Vec<Vec<Schedule>> = Vec::new();
        for (phase, outcome) in phases {
            let writes = 1..=outcome.log.iter().filter(|request| request.write).count();
            let watched: BTreeSet<&String> =
                baseline.create.log.iter().filter_map(|request| request.watch.as_ref()).collect();
            for resource in watched {
                let lags = writes.clone().map(|write| Event::Lag { write, resource: resource.clone() });
                groups.push(lags.map(|event| Schedule { phase, event }).collect());
            }
            groups.push(writes.clone().map(|write| Schedule { phase, event: Event::Miss { write } }).collect());
            if baseline.create.log.iter().any(|request| request.cached) {
                let rewinds = writes.flat_map(|write| {
                    let befores = [write, 0];
                    befores.into_iter().map(move |before| Event::Rewind { write, before })
                });
                groups.push(rewinds.map(|event| Schedule { phase, event }).collect());
            }
        }
        let mut unseen = vec![Event::Recreate { unseen: true }];
        let deletions = self.drifts(baseline).filter(|(drift, _)| *drift == Drift::Delete);
        unseen.extend(deletions.map(|(_, key)| Event::DeleteUnseen(key)));
        groups.push(unseen.into_iter().map(|event| Schedule { phase: Phase::Keep, event }).collect());
        in_turn(groups)
    }

    /// Objects beside the first sample: with its name in another namespace, and with a name that starts with its name.
    fn neighbours(&self) -> Vec<Schedule> {
        let Some((_, namespace, name)) = self.samples.first().and_then(|sample| self.server.place(sample).ok()) else {
            return Vec::new();
        };
        let mut places = vec![(namespace.clone(), format!("{name}-2"))];
        if !namespace.is_empty() {
            places.push((NEIGHBOUR.to_owned(), name));
        }
        let visits = [Visit::Leave, Visit::Outlive, Visit::Stay];
        let all =
            visits.into_iter().flat_map(|visit| places.iter().map(move |(namespace, name)| (visit, namespace, name)));
        let events = all.map(|(visit, namespace, name)| Event::Neighbour(visit, namespace.clone(), name.clone()));
        events.map(|event| Schedule { phase: Phase::Keep, event }).collect()
    }

    /// The histories of the first sample.
    pub(super) fn histories(&self) -> Vec<Vec<Value>> {
        let sample = self.samples.first().cloned().unwrap_or_default();
        let mut operations = Vec::new();
        if let Some(schema) = self.server.schema(&sample)
            && let Shape::Object { properties, .. } = &schema.shape
            && let Some(spec) = properties.get("spec")
        {
            history::operations(spec, &sample["spec"], &mut vec!["spec".to_owned()], &mut operations);
        }
        history::sequences(&operations)
    }
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
