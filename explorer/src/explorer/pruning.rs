//! Pruning: schedules that repeat the changes of others are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Value, json};

use super::Explorer;
use super::gate::Logged;
use crate::exploration::{ClusterState, Event, Phase, Schedule};
use crate::server::ApiServer;

/// The settled states after histories, and the changes that were made in them.
#[derive(Default)]
pub(super) struct Visited {
    /// The hash of the state after a history.
    states: BTreeMap<String, u64>,
    /// The hash of a state with a change that was made in it.
    changes: BTreeSet<(u64, String)>,
}

impl Visited {
    /// Records the state after a history.
    pub(super) fn settled(&mut self, patches: &[Value], state: u64) {
        self.states.insert(text(patches), state);
    }

    /// Returns true if the last patch of a history was applied to an equal state before.
    pub(super) fn repeats(&mut self, patches: &[Value]) -> bool {
        let Some((last, earlier)) = patches.split_last() else { return false };
        let state = self.states.get(&text(earlier));
        state.is_some_and(|state| !self.changes.insert((*state, last.to_string())))
    }
}

fn text(patches: &[Value]) -> String {
    Value::from(patches.to_vec()).to_string()
}

impl Explorer {
    /// The hash of the settled state of a server, with the owners of its fields.
    pub(super) fn hash(&self, state: &ClusterState, server: &ApiServer) -> u64 {
        let mut hasher = DefaultHasher::new();
        for (place, object) in &state.0 {
            (place, object.to_string()).hash(&mut hasher);
        }
        for (key, object) in server.all() {
            if self.ignored.contains(&key.0) {
                continue;
            }
            for entry in object["metadata"]["managedFields"].as_array().into_iter().flatten() {
                let [manager, part] = ["manager", "subresource"].map(|field| &entry[field]);
                json!([manager, part, entry["fieldsV1"]]).to_string().hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}

/// True for a crash before a write that leaves the state of the crash after the write before it.
pub(super) fn repeats(schedule: &Schedule, create: &[Logged], delete: &[Logged]) -> bool {
    let Event::Die { write, after: false } = schedule.event else { return false };
    let log = if schedule.phase == Phase::Delete { delete } else { create };
    let found = log.iter().filter(|request| request.write).nth(write - 1);
    found.is_some_and(|request| request.follows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_an_equal_state_repeats() {
        let mut visited = Visited::default();
        let [one, two, back] = [json!({ "size": 1 }), json!({ "size": 2 }), json!({ "size": null })];
        visited.settled(&[], 0);
        // The history leads to the state with this hash, if it does not repeat another one.
        for (history, repeats, state) in [
            (vec![&one], false, 1),
            (vec![&two], false, 2),
            (vec![&one, &two], false, 2),
            (vec![&two, &one], false, 1),
            (vec![&one, &back], false, 0),
            (vec![&one, &two, &one], true, 1),
            (vec![&one, &back, &one], true, 1),
            (vec![&one, &back, &back], false, 0),
        ] {
            let history: Vec<Value> = history.into_iter().cloned().collect();
            assert_eq!(visited.repeats(&history), repeats, "{history:?}");
            visited.settled(&history, state);
        }
    }
}
