//! Validation of ConfigMaps, Secrets, Pods, Services, Leases and Deployments.

use serde_json::{Value, json};

use super::{is_label, set};
use crate::response::{FieldError, Refusal};

pub(super) fn immutable(object: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let Some(old) = old.filter(|old| old["immutable"] == true) else {
        return;
    };
    if object["immutable"] != true {
        errors.push(FieldError::forbidden("immutable", "field is immutable when `immutable` is set"));
    }
    for field in ["data", "binaryData"] {
        if object[field] != old[field] {
            errors.push(FieldError::forbidden(field, "field is immutable when `immutable` is set"));
        }
    }
}

pub(super) fn validate_deployment(object: &Value, errors: &mut Vec<FieldError>) {
    let spec = &object["spec"];
    for (field, value) in [("replicas", &spec["replicas"]), ("revisionHistoryLimit", &spec["revisionHistoryLimit"])] {
        if value.as_i64().is_some_and(|number| number < 0) {
            errors.push(FieldError::invalid(format!("spec.{field}"), value, "must be greater than or equal to 0"));
        }
    }
    if spec["strategy"]["type"] == "Recreate" && !spec["strategy"]["rollingUpdate"].is_null() {
        let detail = "may not be specified when strategy `type` is 'Recreate'";
        errors.push(FieldError::forbidden("spec.strategy.rollingUpdate", detail));
    }
    let missing = spec["selector"].is_null();
    if missing {
        errors.push(FieldError::required("spec.selector", ""));
    }
    let selector = &spec["selector"]["matchLabels"];
    if !missing && selector.is_null() && spec["selector"]["matchExpressions"].is_null() {
        let detail = "empty selector is invalid for deployment";
        errors.push(FieldError::invalid("spec.selector", &json!({}), detail));
        return;
    }
    let labels = &spec["template"]["metadata"]["labels"];
    if missing || selector.as_object().into_iter().flatten().any(|(key, value)| labels[key] != *value) {
        let detail = "`selector` does not match template `labels`";
        errors.push(FieldError::invalid("spec.template.metadata.labels", labels, detail));
    }
}

pub(super) fn validate_pod_spec(spec: &Value, path: &str, errors: &mut Vec<FieldError>) -> Result<(), Refusal> {
    let containers = spec["containers"].as_array().cloned().unwrap_or_default();
    if containers.is_empty() {
        errors.push(FieldError::required(format!("{path}.containers"), ""));
    }
    for (at, container) in containers.iter().enumerate() {
        let path = format!("{path}.containers[{at}]");
        if container["image"].as_str().unwrap_or_default().is_empty() {
            errors.push(FieldError::required(format!("{path}.image"), ""));
        }
        if !is_label(container["name"].as_str().unwrap_or_default()) {
            return Err(Refusal::unsupported("the error for an invalid name of a container"));
        }
        if containers[..at].iter().any(|other| other["name"] == container["name"]) {
            errors.push(FieldError::duplicate(format!("{path}.name"), &container["name"]));
        }
        for mount in container["volumeMounts"].as_array().into_iter().flatten() {
            if !spec["volumes"].as_array().into_iter().flatten().any(|volume| volume["name"] == mount["name"]) {
                return Err(Refusal::unsupported("the error for a mount without a volume"));
            }
        }
        for port in container["ports"].as_array().into_iter().flatten() {
            if !port["containerPort"].as_i64().is_some_and(|port| (1..65536).contains(&port)) {
                return Err(Refusal::unsupported("the error for an invalid port of a container"));
            }
        }
    }
    Ok(())
}

/// Validates the spec of a Pod that replaces `old`. The server checks images a second time.
pub(super) fn validate_pod_update(object: &Value, old: &Value, errors: &mut Vec<FieldError>) -> Result<(), Refusal> {
    if changed_pod(object, old) {
        return Err(Refusal::unsupported("the error for a changed spec of a Pod"));
    }
    for (at, container) in object["spec"]["containers"].as_array().into_iter().flatten().enumerate() {
        if container["image"].as_str().unwrap_or_default().is_empty() {
            errors.push(FieldError::required(format!("spec.containers[{at}].image"), ""));
        }
    }
    Ok(())
}

fn changed_pod(object: &Value, old: &Value) -> bool {
    let fixed = |pod: &Value| {
        let mut spec = pod["spec"].clone();
        for container in spec["containers"].as_array_mut().into_iter().flatten() {
            set(container, "image", Value::Null);
        }
        spec
    };
    fixed(object) != fixed(old)
}

pub(super) fn validate_service(
    object: &Value,
    old: Option<&Value>,
    errors: &mut Vec<FieldError>,
) -> Result<(), Refusal> {
    let spec = &object["spec"];
    if spec["type"] != "ClusterIP" {
        return Err(Refusal::unsupported("Services of a type other than ClusterIP"));
    }
    let headless = spec["clusterIP"] == "None";
    let ports = spec["ports"].as_array().cloned().unwrap_or_default();
    if ports.is_empty() && !headless {
        errors.push(FieldError::required("spec.ports", ""));
    }
    for (at, port) in ports.iter().enumerate() {
        if ports.len() > 1 && port["name"].is_null() {
            errors.push(FieldError::required(format!("spec.ports[{at}].name"), ""));
        }
        if !port["port"].as_i64().is_some_and(|port| (1..65536).contains(&port)) {
            return Err(Refusal::unsupported("the error for an invalid port of a Service"));
        }
        let same = |other: &&Value| {
            other["name"] == port["name"] || (other["port"] == port["port"] && other["protocol"] == port["protocol"])
        };
        if ports[..at].iter().find(same).is_some() {
            return Err(Refusal::unsupported("the error for two equal ports of a Service"));
        }
    }
    if let Some(old) = old
        && old["spec"]["clusterIP"] != spec["clusterIP"]
    {
        return Err(Refusal::unsupported("the error for a changed clusterIP of a Service"));
    }
    Ok(())
}

pub(super) fn validate_lease(object: &Value, errors: &mut Vec<FieldError>) {
    let spec = &object["spec"];
    if spec["leaseDurationSeconds"].as_i64().is_some_and(|seconds| seconds <= 0) {
        let value = &spec["leaseDurationSeconds"];
        errors.push(FieldError::invalid("spec.leaseDurationSeconds", value, "must be greater than 0"));
    }
    if spec["leaseTransitions"].as_i64().is_some_and(|number| number < 0) {
        let value = &spec["leaseTransitions"];
        errors.push(FieldError::invalid("spec.leaseTransitions", value, "must be greater than or equal to 0"));
    }
}
