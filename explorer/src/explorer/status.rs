//! Conventions of a status: `observedGeneration` and conditions.
//!
//! <https://github.com/kubernetes/community/blob/main/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties>

use std::collections::BTreeSet;

use serde_json::Value;

use crate::server::ApiServer;

/// The violations in the settled objects of `resources`.
pub(super) fn violations(server: &ApiServer, resources: &BTreeSet<String>) -> Vec<String> {
    let mut found = BTreeSet::new();
    for resource in resources {
        for object in server.objects(resource) {
            let mut reasons = Vec::new();
            settled(&object, &mut reasons);
            let place = place(resource, &object);
            found.extend(reasons.into_iter().map(|reason| format!("+ {place}: {reason}")));
        }
    }
    found.into_iter().collect()
}

/// The conditions of `resources` whose time changes without their status, after the first `start` changes.
pub(super) fn bumps(server: &ApiServer, resources: &BTreeSet<String>, start: usize) -> Vec<String> {
    let mut found = BTreeSet::new();
    for change in server.history(start) {
        if let (Some(before), true, false) = (&change.before, resources.contains(&change.key.0), change.deleted) {
            for kind in bumped(before, &change.after) {
                let place = place(&change.key.0, before);
                found.insert(format!("+ {place}: lastTransitionTime of {kind} changes without its status"));
            }
        }
    }
    found.into_iter().collect()
}

fn place(resource: &str, object: &Value) -> String {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    format!("{resource} {}/{}", text("namespace"), text("name"))
}

fn settled(object: &Value, reasons: &mut Vec<String>) {
    let generation = object["metadata"]["generation"].as_i64();
    let observed = &object["status"]["observedGeneration"];
    if !observed.is_null() && observed.as_i64() != generation {
        reasons.push(format!("observedGeneration is {observed}, generation is {}", generation.unwrap_or_default()));
    }
    let mut kinds = BTreeSet::new();
    for condition in object["status"]["conditions"].as_array().into_iter().flatten() {
        let text = |field: &str| condition[field].as_str().unwrap_or_default();
        let kind = text("type");
        for field in ["type", "status", "reason", "lastTransitionTime"] {
            if text(field).is_empty() {
                reasons.push(format!("the condition {kind:?} has no {field}"));
            }
        }
        if !kinds.insert(kind.to_owned()) {
            reasons.push(format!("two conditions have the type {kind}"));
        }
        if !matches!(text("status"), "True" | "False" | "Unknown" | "") {
            reasons.push(format!("the status of the condition {kind} is {:?}", text("status")));
        }
        let reason = text("reason");
        let is_camel = reason.starts_with(|first: char| first.is_ascii_uppercase())
            && reason.chars().all(|letter| letter.is_ascii_alphanumeric());
        if !reason.is_empty() && !is_camel {
            reasons.push(format!("the reason {reason:?} of the condition {kind} is not in CamelCase"));
        }
        if condition["observedGeneration"].as_i64() > generation {
            reasons.push(format!("observedGeneration of the condition {kind} is greater than the generation"));
        }
    }
}

/// The types of conditions with another time and the same status.
fn bumped(before: &Value, after: &Value) -> Vec<String> {
    let conditions = |object: &Value| object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let earlier = conditions(before);
    let is_bumped = |now: &&Value| {
        earlier.iter().any(|then| {
            then["type"] == now["type"]
                && then["status"] == now["status"]
                && then["lastTransitionTime"] != now["lastTransitionTime"]
        })
    };
    let after = conditions(after);
    after.iter().filter(is_bumped).map(|now| now["type"].as_str().unwrap_or_default().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_settled_status_follows_the_conventions() {
        let reasons = |generation: i64, status: Value| {
            let mut reasons = Vec::new();
            settled(&json!({ "metadata": { "generation": generation }, "status": status }), &mut reasons);
            reasons
        };
        let time = "2030-01-01T00:00:00Z";
        let good = json!({ "type": "Ready", "status": "True", "reason": "AllReady", "lastTransitionTime": time });
        assert_eq!(reasons(1, json!({ "observedGeneration": 1, "conditions": [good] })), Vec::<String>::new());
        let bad = json!({ "type": "Ready", "status": "yes", "reason": "not ready", "observedGeneration": 3 });
        let found = reasons(2, json!({ "observedGeneration": 1, "conditions": [bad, bad] }));
        let of_condition = [
            "the condition \"Ready\" has no lastTransitionTime",
            "the status of the condition Ready is \"yes\"",
            "the reason \"not ready\" of the condition Ready is not in CamelCase",
            "observedGeneration of the condition Ready is greater than the generation",
        ];
        let mut expected = vec!["observedGeneration is 1, generation is 2"];
        expected.extend(of_condition);
        expected.push(of_condition[0]);
        expected.push("two conditions have the type Ready");
        expected.extend(&of_condition[1..]);
        assert_eq!(found, expected);
    }

    #[test]
    fn a_transition_time_belongs_to_a_status() {
        let object = |status: &str, time: &str| json!({ "status": { "conditions": [{ "type": "Ready", "status": status, "lastTransitionTime": time }] } });
        assert_eq!(bumped(&object("True", "1"), &object("True", "2")), ["Ready"]);
        assert_eq!(bumped(&object("True", "1"), &object("False", "2")), Vec::<String>::new());
    }
}
