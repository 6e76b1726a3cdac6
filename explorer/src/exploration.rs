//! The parts of an exploration that do not depend on the API server: oracles, schedules, states and findings.
//!
//! The explorer in memory uses them, and `memcached-sdk explore`, which runs a binary on a real API server.

mod change;
mod finding;
mod history;
mod oracle;
mod requests;
mod schedule;
mod state;

use std::collections::BTreeMap;

use serde_json::Value;

#[cfg(feature = "runtime")]
pub(crate) use change::CLAIM_FINALIZER;
pub use change::{Drift, drifts};
pub use finding::{Finding, IDLE, write_counts};
pub use history::{SpecSchema, changes};
pub use oracle::Oracle;
pub use requests::Requests;
pub use schedule::{Event, Fault, Phase, Schedule};
#[cfg(feature = "runtime")]
pub(crate) use schedule::{after, time};
#[cfg(feature = "runtime")]
pub(crate) use state::lines;
pub use state::{ClusterState, ComparedField};

/// The manager of the samples.
pub const AUTHOR: &str = "author";
/// The manager of changes by another client.
pub const STRANGER: &str = "stranger";
/// Managers that are not the operator.
pub const OTHERS: [&str; 3] = [AUTHOR, STRANGER, "kube-controller-manager"];

/// The place of an object: its resource with the group, such as `deployments.apps`, its namespace and its name.
pub type ObjectKey = (String, String, String);

/// A place as schedules and differences print it.
pub fn place((resource, namespace, name): &ObjectKey) -> String {
    format!("{resource} {namespace}/{name}")
}

/// Returns true if a manager that is not in [`OTHERS`] has written an object that is not in `before`, or was another one there.
pub fn has_written(before: &BTreeMap<ObjectKey, Value>, after: &BTreeMap<ObjectKey, Value>) -> bool {
    let is_written = |object: &Value| {
        let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
        entries.filter_map(|entry| entry["manager"].as_str()).any(|manager| !OTHERS.contains(&manager))
    };
    after.iter().any(|(key, object)| before.get(key) != Some(object) && is_written(object))
}

/// Parses a resource and `NAMESPACE/NAME`.
pub(crate) fn parse_place(resource: &str, place: &str) -> Option<ObjectKey> {
    let (namespace, name) = place.split_once('/')?;
    Some((resource.to_owned(), namespace.to_owned(), name.to_owned()))
}

/// The line of a finding about a request that the operator's roles forbid. The resource has its subresource and group.
pub fn forbidden(verb: &str, resource: &str, namespace: &str) -> String {
    let within = if namespace.is_empty() { String::new() } else { format!(" in {namespace}") };
    format!("+ no rule permits: {verb} {resource}{within}")
}

/// The first item of each list, then the second ones, and so on.
pub fn in_turn<T>(lists: Vec<Vec<T>>) -> Vec<T> {
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
