//! Controllers beside the operator: neither changes the objects of the other.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::act::{create, delete};
use super::event::{MemoryEvent, MemorySchedule, Share};
use super::gate::Disturbance;
use super::run::Outcome;
use super::schedules::keep;
use super::trial::Baseline;
use super::{Explorer, Start, boxed};
use crate::exploration::{ClusterState, place};
use crate::server::ApiServer;

/// Another controller, with the objects that it acts on.
pub(super) struct Beside {
    start: Start,
    samples: Vec<Value>,
}

impl Explorer {
    /// Adds another controller, of this operator or of another one, with the objects that it acts on. The server has its CRDs.
    /// Both run at once, and each must do what it does alone. With the samples of this explorer, both act on the same objects.
    #[must_use]
    pub fn beside<F>(mut self, start: impl Fn(kube::Client) -> F + 'static, samples: Vec<Value>) -> Self
    where
        F: Future + 'static,
    {
        self.beside.push(Beside { start: boxed(start), samples });
        self
    }

    pub(super) fn shares(&self) -> Vec<MemorySchedule> {
        let shares = [Share::Both, Share::Leave, Share::Outlive];
        let all =
            shares.into_iter().flat_map(|share| (1..=self.beside.len()).map(move |at| MemoryEvent::Beside(share, at)));
        keep(all)
    }

    /// Runs with another controller. Returns none if that one does not settle alone, or if the samples to delete are those of
    /// both.
    pub(super) fn share(&self, baseline: &Baseline, share: Share, at: usize) -> Option<(Outcome, Vec<String>)> {
        let beside = self.beside.get(at.checked_sub(1)?)?;
        let key = |sample: &Value| self.server.place(sample).ok();
        let is_shared = |sample: &Value| self.samples.iter().any(|own| key(own) == key(sample));
        let others: Vec<Value> = beside.samples.iter().filter(|sample| !is_shared(sample)).cloned().collect();
        if share != Share::Both && others.len() < beside.samples.len() {
            return None;
        }
        let alone = self.server.snapshot();
        let outcome =
            self.run_all(&[&beside.start], &alone, Disturbance::Nothing, vec![create(beside.samples.clone())], false);
        if outcome.restless.is_some() {
            return None;
        }
        let mut known = deletions(&alone);
        known.extend(deletions(&baseline.settled));
        let alone = self.state(&alone);
        let mut acts = vec![create(self.samples.iter().chain(&others).cloned().collect())];
        acts.extend(match share {
            Share::Both => None,
            Share::Leave => Some(delete(others)),
            Share::Outlive => Some(self.delete()),
        });
        let server = self.server.snapshot();
        let outcome = self.run_all(&[&self.start, &beside.start], &server, Disturbance::Nothing, acts, false);
        let end = self.state(&server);
        let difference = match share {
            Share::Both => {
                let expected = merged(&baseline.kept, &alone, &end);
                let mut difference = expected.diff(&end);
                let lost = deletions(&server).into_iter().filter(|place| expected.0.contains_key(place));
                let lost = lost.filter(|place| !known.contains(place) && end.0.contains_key(place));
                difference.extend(lost.map(|place| format!("+ {place} was deleted, and made again")));
                difference
            }
            // The other controller may leave objects of its own.
            Share::Leave => baseline.kept.diff(&end.clone().within(&baseline.kept)),
            Share::Outlive => merged(&baseline.deleted, &alone, &end).diff(&end),
        };
        Some((outcome, difference))
    }
}

/// The places of deleted objects.
fn deletions(server: &ApiServer) -> BTreeSet<String> {
    server.history(0).iter().filter(|change| change.deleted).map(|change| place(&change.key)).collect()
}

/// The objects of two ends. Where both have a field with different values, the one at the end is right.
fn merged(first: &ClusterState, second: &ClusterState, end: &ClusterState) -> ClusterState {
    let mut objects: BTreeMap<String, Value> = first.0.clone();
    for (place, object) in &second.0 {
        let both = objects.remove(place).map(|own| both(&own, object, end.0.get(place).unwrap_or(&Value::Null)));
        objects.insert(place.clone(), both.unwrap_or_else(|| object.clone()));
    }
    ClusterState(objects)
}

fn both(first: &Value, second: &Value, end: &Value) -> Value {
    match (first, second) {
        (Value::Null, other) | (other, Value::Null) => other.clone(),
        (Value::Object(one), Value::Object(other)) => {
            let keys = one.keys().chain(other.keys());
            keys.map(|key| (key.clone(), both(&first[key.as_str()], &second[key.as_str()], &end[key.as_str()])))
                .collect()
        }
        (Value::Array(one), Value::Array(other)) => {
            let all = || one.iter().chain(other);
            let is_union = |items: &Vec<Value>| {
                items.iter().all(|item| all().any(|known| known == item)) && all().all(|item| items.contains(item))
            };
            if end.as_array().is_some_and(is_union) { end.clone() } else { first.clone() }
        }
        _ if end == second => second.clone(),
        _ => first.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::both;

    #[test]
    fn an_object_of_two_controllers_has_the_fields_of_both() {
        let one = json!({ "finalizers": ["a"], "status": { "ready": true }, "size": 1 });
        let other = json!({ "finalizers": ["b"], "status": { "count": 2 }, "size": 2 });
        let end = json!({ "finalizers": ["b", "a"], "status": { "ready": true, "count": 2 }, "size": 2 });
        assert_eq!(both(&one, &other, &end), end);
        let lost = json!({ "finalizers": ["b"], "status": { "count": 2 }, "size": 3 });
        let expected = json!({ "finalizers": ["a"], "status": { "ready": true, "count": 2 }, "size": 1 });
        assert_eq!(both(&one, &other, &lost), expected);
    }
}
