//! Rules of built-in kinds that no schema has: defaults between fields, resets, generations and validation.

use serde_json::{Value, json};

use super::Resource;
use crate::response::{FieldError, Refusal};
use crate::schema::builtin::{default_job, to_base64};

mod core;
mod cron;
mod network;
mod policies;
mod workloads;

use self::core::{
    immutable, validate_deployment, validate_lease, validate_pod_spec, validate_pod_update, validate_service,
};

/// The annotation of a DaemonSet that counts the changes of its template.
pub(crate) const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// An object of Go's type without values, which a new object is compared with.
pub(crate) fn empty(resource: &Resource) -> Value {
    if resource.custom {
        return json!({});
    }
    match resource.plural.as_str() {
        "pods" => json!({ "metadata": {}, "spec": { "containers": null }, "status": {} }),
        "deployments" => json!({
            "metadata": {},
            "spec": {
                "selector": null, "strategy": {}, "template": { "metadata": {}, "spec": { "containers": null } },
            },
            "status": {},
        }),
        "services" => json!({ "metadata": {}, "spec": {}, "status": { "loadBalancer": {} } }),
        "namespaces" => json!({ "metadata": {}, "spec": {}, "status": {} }),
        "persistentvolumeclaims" => json!({ "metadata": {}, "spec": { "resources": {} }, "status": {} }),
        "replicasets" => json!({
            "metadata": {},
            "spec": { "selector": null, "template": { "metadata": {}, "spec": { "containers": null } } },
            "status": { "replicas": 0 },
        }),
        "statefulsets" => json!({
            "metadata": {},
            "spec": {
                "selector": null, "template": { "metadata": {}, "spec": { "containers": null } },
                "serviceName": "", "updateStrategy": {},
            },
            "status": { "replicas": 0, "availableReplicas": 0 },
        }),
        "jobs" => json!({
            "metadata": {},
            "spec": { "template": { "metadata": {}, "spec": { "containers": null } } },
            "status": {},
        }),
        "ingresses" => json!({ "metadata": {}, "spec": {}, "status": { "loadBalancer": {} } }),
        "poddisruptionbudgets" => json!({ "metadata": {}, "spec": {}, "status": budget_status() }),
        "horizontalpodautoscalers" => json!({
            "metadata": {},
            "spec": { "scaleTargetRef": { "kind": "", "name": "" }, "maxReplicas": 0 },
            "status": { "desiredReplicas": 0, "currentMetrics": null },
        }),
        "daemonsets" => json!({
            "metadata": {},
            "spec": {
                "selector": null, "template": { "metadata": {}, "spec": { "containers": null } }, "updateStrategy": {},
            },
            "status": {
                "currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0,
            },
        }),
        "cronjobs" => json!({
            "metadata": {},
            "spec": {
                "schedule": "",
                "jobTemplate": {
                    "metadata": {}, "spec": { "template": { "metadata": {}, "spec": { "containers": null } } },
                },
            },
            "status": {},
        }),
        "networkpolicies" => json!({ "metadata": {}, "spec": { "podSelector": {} } }),
        "roles" | "clusterroles" => json!({ "metadata": {}, "rules": null }),
        "rolebindings" | "clusterrolebindings" => {
            json!({ "metadata": {}, "roleRef": { "apiGroup": "", "kind": "", "name": "" } })
        }
        "leases" => json!({ "metadata": {}, "spec": {} }),
        "events" => json!({ "metadata": {}, "eventTime": null, "regarding": {} }),
        _ => json!({ "metadata": {} }),
    }
}

fn budget_status() -> Value {
    json!({ "disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0 })
}

/// Sets the defaults that concern several fields.
pub(crate) fn default(resource: &Resource, object: &mut Value) {
    match resource.plural.as_str() {
        "pods" => default_pod(object),
        "daemonsets" => {
            // Go keeps the number in a field of its own.
            let count = template_generation(object);
            object["metadata"]["annotations"][TEMPLATE_GENERATION] = count.to_string().into();
        }
        "jobs" => {
            default_job(&mut object["spec"]);
            let labels = object["spec"]["template"]["metadata"]["labels"].clone();
            if labels.as_object().is_some_and(|labels| !labels.is_empty()) && object["metadata"]["labels"].is_null() {
                object["metadata"]["labels"] = labels;
            }
        }
        "secrets" => {
            if let Some(texts) = object["stringData"].take().as_object() {
                for (key, text) in texts {
                    object["data"][key] = to_base64(text.as_str().unwrap_or_default()).into();
                }
            }
            if let Some(map) = object.as_object_mut() {
                map.remove("stringData");
            }
        }
        "namespaces" if !object["metadata"]["name"].as_str().unwrap_or_default().is_empty() => {
            object["metadata"]["labels"]["kubernetes.io/metadata.name"] = object["metadata"]["name"].clone()
        }
        _ => {}
    }
}

fn template_generation(daemon: &Value) -> i64 {
    let count = &daemon["metadata"]["annotations"][TEMPLATE_GENERATION];
    count.as_str().and_then(|count| count.parse().ok()).unwrap_or_default()
}

fn default_pod(pod: &mut Value) {
    // The single address is the first of the list, and wins over it.
    let first = pod["status"]["podIPs"][0]["ip"].clone();
    match pod["status"]["podIP"].clone() {
        Value::Null if first.is_null() => {}
        Value::Null => pod["status"]["podIP"] = first,
        address if address == first => {}
        address => pod["status"]["podIPs"] = json!([{ "ip": address }]),
    }
    let spec = &mut pod["spec"];
    if spec["enableServiceLinks"].is_null() {
        spec["enableServiceLinks"] = true.into();
    }
    for container in spec["containers"].as_array_mut().into_iter().flatten() {
        let Some(limits) = container["resources"]["limits"].as_object().cloned() else {
            continue;
        };
        for (name, limit) in limits {
            if container["resources"]["requests"][&name].is_null() {
                container["resources"]["requests"][&name] = limit;
            }
        }
    }
}

/// Resets the fields that a new object cannot have.
pub(crate) fn prepare_create(resource: &Resource, object: &mut Value) {
    if resource.custom {
        if resource.status
            && let Some(map) = object.as_object_mut()
        {
            map.remove("status");
        }
        object["metadata"]["generation"] = 1.into();
        return;
    }
    match resource.plural.as_str() {
        "pods" => {
            object["metadata"]["generation"] = 1.into();
            object["status"] = json!({ "phase": "Pending", "qosClass": quality(object) });
        }
        "deployments" => {
            object["metadata"]["generation"] = 1.into();
            object["status"] = json!({});
        }
        "persistentvolumeclaims" => object["status"] = json!({ "phase": "Pending" }),
        "networkpolicies" => object["metadata"]["generation"] = 1.into(),
        "replicasets" | "statefulsets" | "daemonsets" | "jobs" | "cronjobs" | "ingresses" | "poddisruptionbudgets" => {
            object["metadata"]["generation"] = 1.into();
            object["status"] = empty(resource)["status"].take();
            match resource.plural.as_str() {
                "jobs" => select_own_pods(object),
                "daemonsets" => {
                    let count = template_generation(object).max(1);
                    object["metadata"]["annotations"][TEMPLATE_GENERATION] = count.to_string().into();
                }
                _ => {}
            }
        }
        "horizontalpodautoscalers" => object["status"] = empty(resource)["status"].take(),
        "services" => object["status"] = json!({ "loadBalancer": {} }),
        "namespaces" => {
            let mut finalizers = object["spec"]["finalizers"].as_array().cloned().unwrap_or_default();
            if !finalizers.iter().any(|finalizer| finalizer == "kubernetes") {
                finalizers.push("kubernetes".into());
            }
            object["spec"]["finalizers"] = finalizers.into();
            object["status"] = json!({ "phase": "Active" });
        }
        _ => {}
    }
}

/// Makes a Job select its own Pods, by its UID.
fn select_own_pods(job: &mut Value) {
    if job["spec"]["manualSelector"] == true {
        return;
    }
    let (name, uid) = (job["metadata"]["name"].clone(), job["metadata"]["uid"].clone());
    let labels = &mut job["spec"]["template"]["metadata"]["labels"];
    for (label, value) in [
        ("job-name", &name),
        ("batch.kubernetes.io/job-name", &name),
        ("controller-uid", &uid),
        ("batch.kubernetes.io/controller-uid", &uid),
    ] {
        if labels[label].is_null() {
            labels[label] = value.clone();
        }
    }
    let selected = &mut job["spec"]["selector"]["matchLabels"]["batch.kubernetes.io/controller-uid"];
    if selected.is_null() {
        *selected = uid;
    }
}

/// The quality of service of a Pod.
fn quality(pod: &Value) -> &'static str {
    let mut guaranteed = true;
    let mut any = false;
    for container in pod["spec"]["containers"].as_array().into_iter().flatten() {
        let (requests, limits) = (&container["resources"]["requests"], &container["resources"]["limits"]);
        for name in ["cpu", "memory"] {
            let zero = |value: &Value| value.is_null() || *value == "0";
            any |= !zero(&requests[name]) || !zero(&limits[name]);
            guaranteed &= !zero(&limits[name]) && requests[name] == limits[name];
        }
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        _ => "Burstable",
    }
}

/// Resets the fields that an endpoint cannot change, and counts the generation.
pub(crate) fn prepare_update(resource: &Resource, subresource: &str, object: &mut Value, old: &Value) {
    let keep = |object: &mut Value, path: &[&str]| keep(object, old, path);
    object["metadata"]["generation"] = old["metadata"]["generation"].clone();
    if subresource == "status" {
        if resource.custom {
            let (status, managed) = (object["status"].clone(), object["metadata"]["managedFields"].clone());
            *object = old.clone();
            set(object, "status", status);
            set(&mut object["metadata"], "managedFields", managed);
        } else {
            keep(object, &["spec"]);
            match resource.plural.as_str() {
                "pods" => {
                    keep(object, &["metadata", "ownerReferences"]);
                    set(&mut object["metadata"], "deletionTimestamp", Value::Null);
                    if object["status"]["qosClass"].is_null() {
                        object["status"]["qosClass"] = old["status"]["qosClass"].clone();
                    }
                }
                "deployments" => keep(object, &["metadata", "labels"]),
                "daemonsets" => keep(object, &["metadata", "annotations", TEMPLATE_GENERATION]),
                _ => {}
            }
        }
    } else {
        if resource.status {
            keep(object, &["status"]);
        }
        let changed = match (resource.custom, resource.plural.as_str()) {
            (true, _) => {
                let rest = |value: &Value| {
                    let mut value = value.clone();
                    set(&mut value, "metadata", Value::Null);
                    value
                };
                rest(object) != rest(old)
            }
            (
                false,
                "pods"
                | "replicasets"
                | "statefulsets"
                | "daemonsets"
                | "jobs"
                | "cronjobs"
                | "ingresses"
                | "networkpolicies"
                | "poddisruptionbudgets",
            ) => object["spec"] != old["spec"],
            (false, "deployments") => {
                object["spec"] != old["spec"] || object["metadata"]["annotations"] != old["metadata"]["annotations"]
            }
            _ => false,
        };
        if changed {
            let generation = old["metadata"]["generation"].as_i64().unwrap_or_default() + 1;
            object["metadata"]["generation"] = generation.into();
        }
        match resource.plural.as_str() {
            "secrets" if object["type"].is_null() => keep(object, &["type"]),
            "namespaces" if subresource.is_empty() => keep(object, &["spec", "finalizers"]),
            "daemonsets" => {
                let changed = object["spec"]["template"] != old["spec"]["template"];
                let count = template_generation(old) + i64::from(changed);
                object["metadata"]["annotations"][TEMPLATE_GENERATION] = count.to_string().into();
            }
            "services" => {
                // The allocated addresses stay if the update leaves them out.
                for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                    if object["spec"][field].is_null() {
                        keep(object, &["spec", field]);
                    }
                }
            }
            _ => {}
        }
    }
    if object["metadata"]["generation"].is_null() {
        set(&mut object["metadata"], "generation", Value::Null);
    }
}

/// Sets a field, or removes it for null.
pub(crate) fn set(object: &mut Value, field: &str, value: Value) {
    if let Some(map) = object.as_object_mut() {
        if value.is_null() {
            map.remove(field);
        } else {
            map.insert(field.to_owned(), value);
        }
    }
}

/// Copies the value at `path` from another object, or removes it.
fn keep(object: &mut Value, old: &Value, path: &[&str]) {
    let Some((last, parents)) = path.split_last() else {
        return;
    };
    let (mut to, mut from) = (object, old);
    for parent in parents {
        (to, from) = (&mut to[*parent], &from[*parent]);
    }
    set(to, last, from[*last].clone());
}

/// Validates an object of a built-in kind.
pub(crate) fn validate(resource: &Resource, object: &Value, old: Option<&Value>) -> Result<Vec<FieldError>, Refusal> {
    let mut errors = Vec::new();
    match resource.plural.as_str() {
        "configmaps" | "secrets" => {
            immutable(object, old, &mut errors);
            for field in ["data", "binaryData"] {
                for key in object[field].as_object().into_iter().flatten().map(|(key, _)| key) {
                    if !key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
                        let detail = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' \
                                      (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is \
                                      '[-._a-zA-Z0-9]+')";
                        errors.push(FieldError::invalid(format!("{field}[{key}]"), &key.as_str().into(), detail));
                    }
                }
            }
            if resource.plural == "secrets" {
                if object["type"] != "Opaque" {
                    return Err(Refusal::unsupported("Secrets of a type other than Opaque"));
                }
                if let Some(old) = old
                    && old["type"] != object["type"]
                {
                    errors.push(FieldError::invalid("type", &object["type"], "field is immutable"));
                }
            }
        }
        "deployments" => {
            validate_deployment(object, &mut errors);
            validate_pod_spec(&object["spec"]["template"]["spec"], "spec.template.spec", &mut errors)?;
            if object["spec"]["template"]["spec"]["restartPolicy"] != "Always" {
                let policy = &object["spec"]["template"]["spec"]["restartPolicy"];
                errors.push(FieldError::unsupported("spec.template.spec.restartPolicy", policy, &["Always".into()]));
            }
            if let Some(old) = old
                && old["spec"]["selector"] != object["spec"]["selector"]
            {
                errors.push(FieldError::invalid("spec.selector", &object["spec"]["selector"], "field is immutable"));
            }
        }
        "pods" => {
            validate_pod_spec(&object["spec"], "spec", &mut errors)?;
            if let Some(old) = old {
                validate_pod_update(object, old, &mut errors)?;
            }
        }
        "services" => validate_service(object, old, &mut errors)?,
        "leases" => validate_lease(object, &mut errors),
        "replicasets" | "statefulsets" | "daemonsets" | "jobs" => {
            workloads::validate(resource, object, old, &mut errors)?
        }
        "persistentvolumeclaims" => workloads::validate_claim(object, old, &mut errors)?,
        "ingresses" => policies::validate_ingress(object, &mut errors)?,
        "poddisruptionbudgets" => policies::validate_budget(object, &mut errors)?,
        "horizontalpodautoscalers" => policies::validate_autoscaler(object, &mut errors)?,
        "cronjobs" => cron::validate(object, old, &mut errors)?,
        "networkpolicies" => network::validate(object, &mut errors)?,
        "roles" | "clusterroles" => policies::validate_role(resource, object, &mut errors)?,
        "rolebindings" | "clusterrolebindings" => policies::validate_binding(resource, object, old, &mut errors)?,
        _ => {}
    }
    Ok(errors)
}

/// The errors of the phase of a namespace.
pub(crate) fn validate_phase(namespace: &Value) -> Vec<FieldError> {
    let (phase, detail) = match namespace["metadata"]["deletionTimestamp"].is_null() {
        true => ("Active", "may only be 'Active' if `deletionTimestamp` is empty"),
        false => ("Terminating", "may only be 'Terminating' if `deletionTimestamp` is not empty"),
    };
    let found = &namespace["status"]["phase"];
    if found == phase { Vec::new() } else { vec![FieldError::invalid("status.Phase", found, detail)] }
}

/// True for a DNS label.
pub(crate) fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.len() <= 63 && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

/// True for a DNS subdomain.
pub(crate) fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(|label| is_label(label) || (label.len() > 63 && is_label(&label[..63])))
}
