//! The objects that workloads own: ReplicaSets, Pods and claims, as kube-controller-manager creates them.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};

use super::{CONTROLLER, key};
use crate::call::admission::{hash, suffix};
use crate::exploration::CLAIM_FINALIZER;
use crate::resource::rules::TEMPLATE_GENERATION;
use crate::server::ApiServer;
use crate::store::LETTERS;

/// The label of the Pods of one template.
const HASH: &str = "pod-template-hash";
/// The label of the Pods of one template, if no ReplicaSet is between.
const REVISION: &str = "controller-revision-hash";

/// Creates and deletes the children of all workloads once. Returns the number of writes.
pub(super) fn step(server: &ApiServer) -> Result<usize, String> {
    let mut writes = 0;
    for deployment in alive(server, "deployments.apps") {
        writes += sync_deployment(server, &deployment)?;
    }
    for set in alive(server, "replicasets.apps") {
        writes += sync_pods(server, "replicasets.apps", &set)?;
    }
    for set in alive(server, "daemonsets.apps") {
        writes += sync_pods(server, "daemonsets.apps", &set)?;
    }
    for set in alive(server, "statefulsets.apps") {
        writes += sync_claims(server, &set)?;
        writes += sync_pods(server, "statefulsets.apps", &set)?;
    }
    for claim in server.shared("persistentvolumeclaims") {
        writes += release(server, &claim)?;
    }
    Ok(writes)
}

fn alive(server: &ApiServer, resource: &str) -> Vec<Arc<Value>> {
    let objects = server.shared(resource).into_iter();
    objects.filter(|object| object["metadata"]["deletionTimestamp"].is_null()).collect()
}

/// The objects of a resource whose controller is `owner`.
fn owned(server: &ApiServer, resource: &str, owner: &Value) -> Vec<Arc<Value>> {
    let uid = &owner["metadata"]["uid"];
    let is_owner = |reference: &Value| reference["controller"] == true && reference["uid"] == *uid;
    let owners = |object: &Arc<Value>| {
        object["metadata"]["ownerReferences"].as_array().is_some_and(|all| all.iter().any(is_owner))
    };
    server.shared(resource).into_iter().filter(owners).collect()
}

fn reference(owner: &Value) -> Value {
    json!([{
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
    }])
}

fn create(server: &ApiServer, resource: &str, object: &Value) -> Result<(), String> {
    server.act(Method::POST, &key(resource, object), "", CONTROLLER, object)
}

fn delete(server: &ApiServer, resource: &str, object: &Value) -> Result<(), String> {
    server.act(Method::DELETE, &key(resource, object), "", CONTROLLER, &Value::Null)
}

/// Keeps one ReplicaSet for the template of a Deployment. Older ones are deleted at once, without a history of revisions.
fn sync_deployment(server: &ApiServer, deployment: &Value) -> Result<usize, String> {
    let spec = &deployment["spec"];
    let name = deployment["metadata"]["name"].as_str().unwrap_or_default();
    let label = encoded(hash(spec["template"].to_string().as_bytes()));
    let name = format!("{name}-{label}");
    let mut writes = 0;
    let mut found = false;
    for set in owned(server, "replicasets.apps", deployment) {
        if set["metadata"]["name"] != name {
            if set["metadata"]["deletionTimestamp"].is_null() {
                delete(server, "replicasets.apps", &set)?;
                writes += 1;
            }
            continue;
        }
        found = true;
        if set["spec"]["replicas"] != spec["replicas"] && set["metadata"]["deletionTimestamp"].is_null() {
            let change = json!({ "spec": { "replicas": spec["replicas"] } });
            server.act(Method::PATCH, &key("replicasets.apps", &set), "", CONTROLLER, &change)?;
            writes += 1;
        }
    }
    if !found {
        let mut template = spec["template"].clone();
        template["metadata"]["labels"][HASH] = label.clone().into();
        let mut selector = spec["selector"].clone();
        selector["matchLabels"][HASH] = label.into();
        let mut set = json!({
            "metadata": {
                "name": name, "namespace": deployment["metadata"]["namespace"],
                "labels": template["metadata"]["labels"], "ownerReferences": reference(deployment),
            },
            "spec": { "replicas": spec["replicas"], "selector": selector, "template": template },
        });
        if let Some(seconds) = spec["minReadySeconds"].as_i64() {
            set["spec"]["minReadySeconds"] = seconds.into();
        }
        create(server, "replicasets.apps", &set)?;
        writes += 1;
    }
    Ok(writes)
}

/// Keeps the Pods of a ReplicaSet, StatefulSet or DaemonSet, in a cluster with one node.
fn sync_pods(server: &ApiServer, resource: &str, set: &Value) -> Result<usize, String> {
    let replicas = usize::try_from(set["spec"]["replicas"].as_i64().unwrap_or(1)).unwrap_or_default();
    let stateful = resource == "statefulsets.apps";
    let name = set["metadata"]["name"].as_str().unwrap_or_default();
    let names: Vec<String> = (0..replicas)
        .map(|at| match stateful {
            true => format!("{name}-{at}"),
            // A name from the owner's: equal runs have equal names.
            false => format!("{name}-{}", suffix(hash(format!("{name}/{at}").as_bytes()))),
        })
        .collect();
    let revision = encoded(hash(set["spec"]["template"].to_string().as_bytes()));
    let revision = match resource {
        "statefulsets.apps" => Some(format!("{name}-{revision}")),
        "daemonsets.apps" => Some(revision),
        // A ReplicaSet keeps its template.
        _ => None,
    };
    let replaces = set["spec"]["updateStrategy"]["type"] == "RollingUpdate";
    let mut writes = 0;
    let mut found = Vec::new();
    for pod in owned(server, "pods", set) {
        let pod_name = pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let ended = matches!(pod["status"]["phase"].as_str(), Some("Failed" | "Succeeded"));
        let of_revision = &pod["metadata"]["labels"][REVISION];
        let outdated = replaces && revision.as_ref().is_some_and(|revision| of_revision != revision);
        let goes = !names.contains(&pod_name) || ended || outdated;
        if goes && pod["metadata"]["deletionTimestamp"].is_null() {
            delete(server, "pods", &pod)?;
            writes += 1;
        } else {
            found.push(pod_name);
        }
    }
    for (at, pod_name) in names.iter().enumerate().filter(|(_, name)| !found.contains(name)) {
        let mut pod = set["spec"]["template"].clone();
        let metadata = &mut pod["metadata"];
        metadata["name"] = pod_name.clone().into();
        metadata["generateName"] = format!("{name}-").into();
        metadata["namespace"] = set["metadata"]["namespace"].clone();
        metadata["ownerReferences"] = reference(set);
        if let Some(revision) = &revision {
            metadata["labels"][REVISION] = revision.clone().into();
        }
        if resource == "daemonsets.apps" {
            let generation = &set["metadata"]["annotations"][TEMPLATE_GENERATION];
            metadata["labels"]["pod-template-generation"] = generation.clone();
        } else if stateful {
            metadata["labels"]["statefulset.kubernetes.io/pod-name"] = pod_name.clone().into();
            metadata["labels"]["apps.kubernetes.io/pod-index"] = at.to_string().into();
            mount_claims(&mut pod, set, pod_name);
        }
        create(server, "pods", &pod)?;
        writes += 1;
    }
    Ok(writes)
}

fn templates(set: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let templates = set["spec"]["volumeClaimTemplates"].as_array().into_iter().flatten();
    templates.map(|template| (template["metadata"]["name"].as_str().unwrap_or_default(), template))
}

fn mount_claims(pod: &mut Value, set: &Value, pod_name: &str) {
    let mut volumes = pod["spec"]["volumes"].as_array().cloned().unwrap_or_default();
    for (name, _) in templates(set) {
        volumes.retain(|volume| volume["name"] != name);
        volumes.push(json!({ "name": name, "persistentVolumeClaim": { "claimName": format!("{name}-{pod_name}") } }));
    }
    if !volumes.is_empty() {
        pod["spec"]["volumes"] = volumes.into();
    }
}

/// Creates the claims of a StatefulSet, which stay when it is deleted.
fn sync_claims(server: &ApiServer, set: &Value) -> Result<usize, String> {
    let replicas = set["spec"]["replicas"].as_i64().unwrap_or(1);
    let name = set["metadata"]["name"].as_str().unwrap_or_default();
    let known = server.shared("persistentvolumeclaims");
    let mut writes = 0;
    for at in 0..replicas {
        for (template_name, template) in templates(set) {
            let mut claim = json!({ "metadata": template["metadata"], "spec": template["spec"] });
            claim["metadata"]["name"] = format!("{template_name}-{name}-{at}").into();
            claim["metadata"]["namespace"] = set["metadata"]["namespace"].clone();
            let selected = set["spec"]["selector"]["matchLabels"].as_object().into_iter().flatten();
            for (label, value) in selected {
                claim["metadata"]["labels"][label] = value.clone();
            }
            let place = key("persistentvolumeclaims", &claim);
            if !known.iter().any(|claim| key("persistentvolumeclaims", claim) == place) {
                create(server, "persistentvolumeclaims", &claim)?;
                writes += 1;
            }
        }
    }
    Ok(writes)
}

/// Lets a deleted claim go when no Pod uses it.
fn release(server: &ApiServer, claim: &Value) -> Result<usize, String> {
    let finalizers = claim["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let held = finalizers.iter().any(|finalizer| finalizer == CLAIM_FINALIZER);
    if claim["metadata"]["deletionTimestamp"].is_null() || !held {
        return Ok(0);
    }
    let name = &claim["metadata"]["name"];
    let uses = |pod: &Arc<Value>| {
        let mut volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
        pod["metadata"]["namespace"] == claim["metadata"]["namespace"]
            && volumes.any(|volume| volume["persistentVolumeClaim"]["claimName"] == *name)
    };
    if server.shared("pods").iter().any(uses) {
        return Ok(0);
    }
    let left: Vec<Value> = finalizers.into_iter().filter(|finalizer| finalizer != CLAIM_FINALIZER).collect();
    let change = json!({ "metadata": { "finalizers": left } });
    server.act(Method::PATCH, &key("persistentvolumeclaims", claim), "", CONTROLLER, &change)?;
    Ok(1)
}

/// Adds the states of the containers to the status of a Pod.
pub(super) fn complete_pod(pod: &Value, status: &mut Value) {
    if !pod["status"]["containerStatuses"].is_null() && pod["status"]["phase"] == status["phase"] {
        return;
    }
    let running = status["phase"] == "Running";
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    let states = containers.map(|container| {
        let state = if running {
            json!({ "running": { "startedAt": status["startTime"] } })
        } else {
            json!({ "waiting": { "reason": "ImagePullBackOff" } })
        };
        json!({
            "name": container["name"], "image": container["image"], "imageID": "", "ready": running, "started": running,
            "restartCount": 0, "state": state,
        })
    });
    status["containerStatuses"] = states.collect();
}

/// Removes the zeros that the server does not store, unless they are stored.
pub(super) fn drop_zeros(resource: &str, status: &mut Value, stored: &Value) {
    if !resource.contains(".apps") {
        return;
    }
    if let Some(fields) = status.as_object_mut() {
        fields.retain(|name, value| *value != 0 || !stored[name.as_str()].is_null());
    }
}

/// A hash in the form of `pod-template-hash`.
fn encoded(hash: u32) -> String {
    let letter = |digit: u8| char::from(LETTERS[usize::from(digit) % LETTERS.len()]);
    hash.to_string().bytes().map(letter).collect()
}
