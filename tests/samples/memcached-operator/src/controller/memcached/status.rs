//! Derives the status from objects in the cluster. Nothing here calls the API server.

use k8s_openapi::api::apps::v1 as apps;
use manager::condition::{self, Observed};

use super::desired;
use crate::api::v1alpha1::memcached::{Memcached, MemcachedStatus, Phase};

/// The status after a successful apply.
pub(super) fn observed(
    object: &Memcached,
    deployment: &apps::Deployment,
    nodes: Vec<String>,
) -> MemcachedStatus {
    let wanted = object.spec.size;
    let seen = deployment.status.clone().unwrap_or_default();
    let replicas = seen.replicas.unwrap_or_default();
    let ready = seen.available_replicas.unwrap_or_default();
    let updated = seen.updated_replicas.unwrap_or_default();
    let up_to_date = seen.observed_generation >= deployment.metadata.generation;

    let available = up_to_date && ready >= wanted;
    let progressing = !up_to_date || updated != wanted || replicas != wanted || ready != wanted;
    let failure = seen
        .conditions
        .iter()
        .flatten()
        .find(|condition| is_failure(condition));

    let counted = format!("{ready} of {wanted} replicas are available");
    let conditions = [
        Observed {
            type_: "Available",
            status: Some(available),
            reason: if available {
                "AllReplicasAvailable"
            } else {
                "ReplicasUnavailable"
            }
            .to_owned(),
            message: counted.clone(),
        },
        Observed {
            type_: "Progressing",
            status: Some(progressing),
            reason: if progressing {
                "RollingOut"
            } else {
                "RolledOut"
            }
            .to_owned(),
            message: counted,
        },
        Observed {
            type_: "Degraded",
            status: Some(failure.is_some()),
            reason: failure
                .and_then(|failure| failure.reason.clone())
                .unwrap_or_else(|| "AsExpected".to_owned()),
            message: failure
                .and_then(|failure| failure.message.clone())
                .unwrap_or_default(),
        },
    ];
    let mut status = with_conditions(object, conditions);
    status.nodes = nodes;
    status.phase = Some(match (failure, available, progressing) {
        (Some(_), ..) => Phase::Degraded,
        (None, true, false) => Phase::Running,
        (None, false, _) if ready == 0 => Phase::Pending,
        _ => Phase::Progressing,
    });
    status.replicas = Some(replicas);
    let selector = desired::selector(object);
    let selector: Vec<_> = selector
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    status.selector = Some(selector.join(","));
    status
}

/// The status after a failed apply: the values that were observed before, and the reason of the failure.
pub(super) fn degraded(object: &Memcached, reason: &str, message: &str) -> MemcachedStatus {
    let degraded = Observed {
        type_: "Degraded",
        status: Some(true),
        reason: reason.to_owned(),
        message: message.to_owned(),
    };
    let mut status = with_conditions(object, [degraded]);
    status.phase = Some(Phase::Degraded);
    status
}

fn with_conditions(
    object: &Memcached,
    conditions: impl IntoIterator<Item = Observed>,
) -> MemcachedStatus {
    let mut status = object.status.clone().unwrap_or_default();
    for observed in conditions {
        condition::set(&mut status.conditions, observed, object.metadata.generation);
    }
    status
}

/// Returns true if the Deployment has given up or its pods are refused.
fn is_failure(condition: &apps::DeploymentCondition) -> bool {
    match condition.type_.as_str() {
        "Progressing" => condition.status == "False",
        "ReplicaFailure" => condition.status == "True",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn object(size: i32) -> Memcached {
        let manifest = json!({
            "apiVersion": "cache.example.com/v1alpha1",
            "kind": "Memcached",
            "metadata": { "name": "a", "generation": 3 },
            "spec": { "size": size },
        });
        serde_json::from_value(manifest).unwrap()
    }

    fn deployment(status: &Value) -> apps::Deployment {
        let manifest = json!({ "metadata": { "generation": 2 }, "status": status });
        serde_json::from_value(manifest).unwrap()
    }

    fn check(size: i32, seen: &Value, expected: (&str, Phase)) {
        let status = observed(&object(size), &deployment(seen), vec!["pod".into()]);
        let initial = |condition: &str| condition[..1].to_owned();
        let conditions: String = status
            .conditions
            .iter()
            .map(|condition| initial(&condition.status))
            .collect();
        assert_eq!(
            (conditions.as_str(), status.phase),
            (expected.0, Some(expected.1))
        );
        assert!(
            status
                .conditions
                .iter()
                .all(|condition| condition.observed_generation == Some(3))
        );
        assert!(
            status
                .conditions
                .iter()
                .all(|condition| !condition.reason.is_empty())
        );
        assert_eq!(status.nodes, ["pod"]);
        assert_eq!(
            status.selector.as_deref(),
            Some("app.kubernetes.io/instance=a,app.kubernetes.io/name=memcached")
        );
    }

    /// The letters are the statuses of Available, Progressing and Degraded.
    #[test]
    fn the_deployment_is_summed_up() {
        let replicas = |observed: i64, replicas: i32, updated: i32, available: i32| {
            json!({
                "observedGeneration": observed,
                "replicas": replicas,
                "updatedReplicas": updated,
                "availableReplicas": available,
            })
        };
        check(3, &json!({}), ("FTF", Phase::Pending));
        check(3, &replicas(2, 3, 3, 0), ("FTF", Phase::Pending));
        check(3, &replicas(2, 3, 3, 1), ("FTF", Phase::Progressing));
        check(3, &replicas(2, 3, 3, 3), ("TFF", Phase::Running));
        check(3, &replicas(1, 3, 3, 3), ("FTF", Phase::Progressing));
        check(3, &replicas(2, 4, 1, 3), ("TTF", Phase::Progressing));
        check(0, &replicas(2, 0, 0, 0), ("TFF", Phase::Running));
    }

    #[test]
    fn a_stuck_deployment_is_degraded() {
        let stuck = json!({
            "observedGeneration": 2,
            "conditions": [{ "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded" }],
        });
        check(3, &stuck, ("FTT", Phase::Degraded));
    }

    #[test]
    fn a_failure_leaves_the_rest_of_the_status() {
        let mut object = object(3);
        object.status = Some(observed(
            &object,
            &deployment(&json!({})),
            vec!["pod".into()],
        ));
        let status = degraded(&object, "Forbidden", "no");
        assert_eq!(
            (status.phase, status.nodes),
            (Some(Phase::Degraded), vec!["pod".to_owned()])
        );
        assert!(condition::is_true(&status.conditions, "Degraded"));
        assert_eq!(status.conditions.len(), 3);
    }
}
