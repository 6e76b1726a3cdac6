//! The random content of objects.

use serde_json::{Value, json};

use super::custom::{gadget, widget};
use super::network::{ingress, policy};
use super::workloads::{cron, daemon, pod_spec, workload};
use super::{identity, merge, one};
use crate::random::Random;

pub(super) fn metadata(random: &mut Random) -> Value {
    let mut metadata = json!({});
    if random.percent(50) {
        metadata["labels"] = json!({ "color": random.pick(&["red", "blue", "green"]) });
    }
    if random.percent(20) {
        metadata["labels"]["size"] = random.pick(&["1", "2", "", "large"]).into();
    }
    if random.percent(30) {
        metadata["annotations"] = json!({ "note": random.pick(&["x", "y", ""]) });
    }
    if random.percent(20) {
        metadata["finalizers"] = random
            .pick(&[&["example.com/one"][..], &["example.com/one", "example.com/two"], &["example.com/two"], &[]])
            .into();
    }
    if random.percent(10) {
        metadata["ownerReferences"] = json!([{
            "apiVersion": "v1", "kind": "ConfigMap", "name": random.pick(&["a", "b"]),
            "uid": "11111111-0000-4000-8000-00000000000a", "controller": random.percent(50),
        }]);
    }
    if random.percent(4) {
        metadata["labels"]["-bad"] = "x".into();
    }
    metadata
}

/// A new object of a kind.
pub(super) fn new(random: &mut Random, kind: &str) -> Value {
    let (api_version, name) = identity(kind);
    let mut object = json!({ "apiVersion": api_version, "kind": name, "metadata": metadata(random) });
    merge(&mut object, &content(random, kind, false));
    object
}

/// The changes of an update or a patch.
pub(super) fn change(random: &mut Random, kind: &str) -> Value {
    let mut change = json!({});
    if random.percent(60) {
        change["metadata"] = metadata(random);
        if random.percent(20) {
            change["metadata"]["finalizers"] = Value::Null;
        }
        if random.percent(10) {
            change["metadata"]["labels"] = Value::Null;
        }
    }
    if random.percent(70) {
        merge(&mut change, &content(random, kind, true));
    }
    change
}

pub(super) fn status(random: &mut Random, kind: &str) -> Value {
    let condition = json!({
        "type": random.pick(&["Ready", "Available"]), "status": random.pick(&["True", "False"]),
        "reason": "Because", "message": random.pick(&["", "one"]), "lastTransitionTime": "2020-01-01T00:00:00Z",
    });
    match kind {
        "widgets" => json!({ "status": { "ready": random.below(3), "conditions": [condition] } }),
        "replicasets" | "statefulsets" => json!({
            "status": { "replicas": 2, "readyReplicas": random.below(3), "observedGeneration": random.below(3) },
        }),
        "daemonsets" => json!({ "status": {
            "numberReady": random.below(3), "desiredNumberScheduled": 2, "observedGeneration": random.below(3),
        } }),
        "cronjobs" => {
            one(random, &[json!({ "status": { "lastScheduleTime": "2020-01-01T00:00:00Z" } }), json!({ "status": {} })])
        }
        "jobs" => json!({ "status": { "active": random.below(3), "ready": random.below(2) } }),
        "persistentvolumeclaims" => json!({ "status": {
            "phase": random.pick(&["Pending", "Bound"]), "accessModes": ["ReadWriteOnce"], "capacity": { "storage": "1Gi" },
        } }),
        "poddisruptionbudgets" => json!({ "status": { "currentHealthy": random.below(3), "expectedPods": 2 } }),
        "horizontalpodautoscalers" => {
            json!({ "status": { "currentReplicas": random.below(3), "desiredReplicas": random.below(3) } })
        }
        "gadgets" => {
            json!({ "status": { "replicas": random.below(3), "selector": random.pick(&["app=x", ""]), "old": true } })
        }
        "deployments" => json!({ "status": { "observedGeneration": random.below(3), "replicas": random.below(3) } }),
        "pods" => {
            json!({ "status": { "phase": random.pick(&["Pending", "Running", "Succeeded"]), "podIP": "10.0.0.1" } })
        }
        _ => json!({ "status": { "loadBalancer": {} } }),
    }
}

/// The fields of a kind beside its metadata; for an update, only those that may change.
fn content(random: &mut Random, kind: &str, update: bool) -> Value {
    match kind {
        "configmaps" => {
            let mut object = json!({ "data": { "x": random.pick(&["1", "2", ""]) } });
            if random.percent(30) {
                object["data"]["y.z"] = one(random, &[json!("1"), json!(null)]);
            }
            if random.percent(5) {
                object["data"]["not a key"] = "1".into();
            }
            if random.percent(5) {
                object["immutable"] = random.percent(70).into();
            }
            if random.percent(10) {
                object["data"] = Value::Null;
            }
            object
        }
        "secrets" => match random.below(3) {
            0 => json!({ "data": { "x": random.pick(&["YQ==", "YWI=", "YWJj"]) } }),
            1 => json!({ "stringData": { "y": random.pick(&["a", "ab", "abc", ""]) } }),
            _ => json!({ "data": { "x": "" } }),
        },
        "services" => {
            let mut object = json!({ "spec": { "selector": { "app": random.pick(&["a", "b"]) } } });
            if !update || random.percent(50) {
                object["spec"]["ports"] = one(
                    random,
                    &[
                        json!([{ "port": 80 }]),
                        json!([{ "port": 80, "name": "a" }, { "port": 81, "name": "b", "targetPort": "x" }]),
                        json!([{ "port": 53, "protocol": "UDP", "targetPort": 5353 }]),
                    ],
                );
            }
            if !update && random.percent(20) {
                object["spec"]["clusterIP"] = "None".into();
            }
            object
        }
        "pods" if update => json!({}),
        "pods" => {
            let mut object = json!({ "spec": pod_spec(random) });
            if random.percent(20) {
                object["spec"]["nodeName"] = "node".into();
            }
            if random.percent(20) {
                object["spec"]["restartPolicy"] = "Never".into();
            }
            if random.percent(5) {
                object["spec"]["serviceAccountName"] = "missing".into();
            }
            object
        }
        "deployments" => {
            let mut object = json!({ "spec": { "replicas": random.pick(&[0, 1, 3]) } });
            if random.percent(3) {
                object["spec"]["replicas"] = (-1).into();
            }
            if !update || random.percent(40) {
                object["spec"]["selector"] = json!({ "matchLabels": { "app": "x" } });
                object["spec"]["template"] =
                    json!({ "metadata": { "labels": { "app": "x" } }, "spec": pod_spec(random) });
            }
            if random.percent(10) {
                object["spec"]["strategy"] = json!({ "type": "Recreate", "rollingUpdate": null });
            }
            object
        }
        "leases" => {
            let mut object = json!({ "spec": { "holderIdentity": random.pick(&["one", "two", ""]) } });
            if random.percent(50) {
                object["spec"]["leaseDurationSeconds"] = random.pick(&[15, 30, 0]).into();
            }
            if random.percent(30) {
                object["spec"]["renewTime"] = "2020-01-01T00:00:00.000000Z".into();
                object["spec"]["leaseTransitions"] = random.pick(&[0, 1]).into();
            }
            object
        }
        "gadgets" => gadget(random),
        "replicasets" | "statefulsets" | "jobs" => workload(random, kind, update),
        "persistentvolumeclaims" if update => json!({}),
        "persistentvolumeclaims" => {
            let mut object = json!({ "spec": {
                "accessModes": one(random, &[json!(["ReadWriteOnce"]), json!(["ReadWriteOnce", "ReadOnlyMany"]), json!([])]),
                "resources": { "requests": { "storage": random.pick(&["1Gi", "500Mi"]) } },
            } });
            if random.percent(30) {
                object["spec"]["storageClassName"] = random.pick(&["fast", ""]).into();
            }
            if random.percent(10) {
                object["spec"]["resources"] = json!({});
            }
            object
        }
        "ingresses" => ingress(random),
        "poddisruptionbudgets" => {
            let mut object = json!({ "spec": { "selector": { "matchLabels": { "app": random.pick(&["x", "y"]) } } } });
            let field = random.pick(&["minAvailable", "maxUnavailable"]);
            object["spec"][field] = one(random, &[json!(1), json!(0), json!("50%"), json!(-1), json!(null)]);
            object
        }
        "horizontalpodautoscalers" => {
            let mut object = json!({ "spec": {
                "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": random.pick(&["a", "b"]) },
                "maxReplicas": random.pick(&[3, 5, 0, -1]),
            } });
            if random.percent(40) {
                object["spec"]["minReplicas"] = random.pick(&[1, 4, 0]).into();
            }
            if random.percent(30) {
                let target = json!({ "type": "Utilization", "averageUtilization": random.pick(&[50, 70]) });
                object["spec"]["metrics"] = json!([{ "type": "Resource", "resource": { "name": random.pick(&["cpu", "memory"]), "target": target } }]);
            }
            object
        }
        "namespaces" => {
            let mut object = json!({});
            if !update && random.percent(10) {
                object["spec"]["finalizers"] = json!(["example.com/one"]);
            }
            object
        }
        "daemonsets" => daemon(random, update),
        "cronjobs" => cron(random, update),
        "networkpolicies" => policy(random),
        "clusterroles" => {
            let rule = json!({ "apiGroups": [random.pick(&["", "apps"])], "resources": ["pods"], "verbs": ["get"] });
            let mut object = json!({ "rules": one(random, &[
                json!([rule]), json!([rule, { "nonResourceURLs": ["/x"], "verbs": ["get"] }]), json!([]), json!(null),
                json!([{ "nonResourceURLs": ["/x"], "resources": ["pods"], "verbs": [] }]),
            ]) });
            if random.percent(20) {
                object["aggregationRule"] = one(
                    random,
                    &[
                        json!({ "clusterRoleSelectors": [{ "matchLabels": { "color": "red" } }] }),
                        json!({ "clusterRoleSelectors": [] }),
                    ],
                );
            }
            object
        }
        "roles" => {
            let rule =
                json!({ "apiGroups": [random.pick(&["", "apps"])], "resources": ["pods"], "verbs": ["get", "list"] });
            json!({ "rules": one(random, &[
                json!([rule]), json!([rule, { "verbs": ["get"] }]), json!([]), json!(null),
                json!([{ "nonResourceURLs": ["/x"], "verbs": [] }]),
            ]) })
        }
        "rolebindings" | "clusterrolebindings" => {
            let mut object = json!({ "subjects": one(random, &[
                json!([{ "kind": "ServiceAccount", "name": "default", "namespace": "NAMESPACE" }]),
                json!([{ "kind": "ServiceAccount", "name": "default" }]),
                json!([{ "kind": "User", "name": "ada" }, { "kind": "Group", "name": "" }]),
                json!([]),
            ]) });
            if !update || random.percent(20) {
                object["roleRef"] = json!({
                    "apiGroup": "rbac.authorization.k8s.io", "kind": random.pick(&["Role", "ClusterRole", "Role", "Rule"]),
                    "name": random.pick(&["a", "b"]),
                });
            }
            object
        }
        _ => widget(random),
    }
}
