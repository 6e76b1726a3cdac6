//! Validation of the kinds that make Pods and volumes, except Deployments.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{is_label, is_subdomain, validate_pod_spec};
use crate::resource::Resource;
use crate::response::{FieldError, Refusal};

const AT_LEAST_ZERO: &str = "must be greater than or equal to 0";

/// Validates a ReplicaSet, StatefulSet, DaemonSet or Job.
pub(super) fn validate(
    resource: &Resource,
    object: &Value,
    old: Option<&Value>,
    errors: &mut Vec<FieldError>,
) -> Result<(), Refusal> {
    let spec = &object["spec"];
    let jobs = resource.plural == "jobs";
    at_least_zero(spec, "spec", errors);
    if jobs && old.is_some() && !errors.is_empty() {
        return Err(Refusal::unsupported("the errors for the changed numbers of a Job"));
    }
    if jobs {
        validate_job(object, old, errors)?;
    } else {
        validate_selector(resource, spec, errors)?;
    }
    match resource.plural.as_str() {
        "statefulsets" => validate_stateful(spec, old, errors)?,
        "daemonsets" => validate_daemon(&spec["updateStrategy"], errors)?,
        _ => {}
    }
    let mut template = Cow::Borrowed(&spec["template"]["spec"]);
    if let Some(claims) = spec["volumeClaimTemplates"].as_array() {
        // A StatefulSet mounts its claims too.
        let volumes = template["volumes"].as_array().into_iter().flatten().cloned();
        let claims = claims.iter().map(|claim| json!({ "name": claim["metadata"]["name"] }));
        template.to_mut()["volumes"] = volumes.chain(claims).collect();
    }
    validate_pod_spec(&template, "spec.template.spec", errors)?;
    let policy = &template["restartPolicy"];
    if !jobs && *policy != "Always" {
        errors.push(FieldError::unsupported("spec.template.spec.restartPolicy", policy, &["Always".into()]));
    }
    if let Some(old) = old
        && !jobs
        && resource.plural != "statefulsets"
        && old["spec"]["selector"] != spec["selector"]
    {
        errors.push(FieldError::invalid("spec.selector", &spec["selector"], "field is immutable"));
    }
    Ok(())
}

/// Collects the errors of negative numbers in the spec of a workload.
pub(super) fn at_least_zero(spec: &Value, path: &str, errors: &mut Vec<FieldError>) {
    const FIELDS: [&str; 8] = [
        "replicas",
        "minReadySeconds",
        "revisionHistoryLimit",
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
    ];
    for field in FIELDS {
        if spec[field].as_i64().is_some_and(|number| number < 0) {
            errors.push(FieldError::invalid(format!("{path}.{field}"), &spec[field], AT_LEAST_ZERO));
        }
    }
}

fn validate_selector(resource: &Resource, spec: &Value, errors: &mut Vec<FieldError>) -> Result<(), Refusal> {
    if !spec["selector"]["matchExpressions"].is_null() {
        return Err(Refusal::unsupported("selectors with expressions"));
    }
    let daemons = resource.plural == "daemonsets";
    if spec["selector"].is_null() {
        if !daemons {
            errors.push(FieldError::required("spec.selector", ""));
        }
    } else if spec["selector"]["matchLabels"].is_null() {
        let name = match resource.plural.as_str() {
            "statefulsets" => "statefulset",
            "daemonsets" => "daemonset",
            _ => "deployment",
        };
        let detail = format!("empty selector is invalid for {name}");
        errors.push(FieldError::invalid("spec.selector", &json!({}), &detail));
        return Ok(());
    }
    let labels = &spec["template"]["metadata"]["labels"];
    let mut selected = spec["selector"]["matchLabels"].as_object().into_iter().flatten();
    if spec["selector"].is_null() || selected.any(|(key, value)| labels[key] != *value) {
        let detail = "`selector` does not match template `labels`";
        errors.push(FieldError::invalid("spec.template.metadata.labels", labels, detail));
    }
    Ok(())
}

fn validate_daemon(strategy: &Value, errors: &mut Vec<FieldError>) -> Result<(), Refusal> {
    let update = &strategy["rollingUpdate"];
    match strategy["type"].as_str() {
        Some("OnDelete") => return Ok(()),
        Some("RollingUpdate") if update.is_object() => {}
        _ => return Err(Refusal::unsupported("the error for an unknown updateStrategy of a DaemonSet")),
    }
    let amount = |field: &str| match &update[field] {
        Value::Number(number) => number.as_i64().filter(|number| *number >= 0),
        Value::String(text) => {
            let percent = text.strip_suffix('%').and_then(|text| text.parse().ok());
            percent.filter(|percent| (0..=100).contains(percent))
        }
        _ => None,
    };
    match (amount("maxUnavailable"), amount("maxSurge")) {
        (Some(0), Some(0)) => {
            let detail = "cannot be 0 when maxSurge is 0";
            errors.push(FieldError::required("spec.updateStrategy.rollingUpdate.maxUnavailable", detail));
        }
        (Some(0), Some(_)) | (Some(_), Some(0)) => {}
        (Some(_), Some(_)) => {
            let detail = "may not be set when maxUnavailable is non-zero";
            let path = "spec.updateStrategy.rollingUpdate.maxSurge";
            errors.push(FieldError::invalid(path, &update["maxSurge"], detail));
        }
        _ => return Err(Refusal::unsupported("the error for an invalid amount in the updateStrategy of a DaemonSet")),
    }
    Ok(())
}

fn validate_stateful(spec: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) -> Result<(), Refusal> {
    if !matches!(spec["podManagementPolicy"].as_str(), Some("OrderedReady" | "Parallel")) {
        return Err(Refusal::unsupported("the error for an unknown podManagementPolicy"));
    }
    let strategy = &spec["updateStrategy"];
    let is_known = match strategy["type"].as_str() {
        Some("RollingUpdate") => strategy["rollingUpdate"]["partition"].as_i64().is_none_or(|partition| partition >= 0),
        Some("OnDelete") => strategy["rollingUpdate"].is_null(),
        _ => false,
    };
    if !is_known {
        return Err(Refusal::unsupported("the error for an invalid updateStrategy"));
    }
    let policy = &spec["persistentVolumeClaimRetentionPolicy"];
    if ["whenDeleted", "whenScaled"].iter().any(|field| !matches!(policy[field].as_str(), Some("Retain" | "Delete"))) {
        return Err(Refusal::unsupported("the error for an invalid persistentVolumeClaimRetentionPolicy"));
    }
    let service = spec["serviceName"].as_str().unwrap_or_default();
    if old.is_none() && !service.is_empty() && !is_label(service) {
        return Err(Refusal::unsupported("the error for an invalid serviceName"));
    }
    let claims = spec["volumeClaimTemplates"].as_array().cloned().unwrap_or_default();
    for claim in &claims {
        let mut found = Vec::new();
        validate_claim(claim, None, &mut found)?;
        if !found.is_empty() || !is_label(claim["metadata"]["name"].as_str().unwrap_or_default()) {
            return Err(Refusal::unsupported("the error for an invalid volumeClaimTemplate"));
        }
    }
    if let Some(old) = old {
        let fixed = ["selector", "serviceName", "podManagementPolicy", "volumeClaimTemplates"];
        if fixed.iter().any(|field| old["spec"][field] != spec[field]) {
            let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
                          'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and \
                          'minReadySeconds' are forbidden";
            errors.push(FieldError::forbidden("spec", detail));
        }
    }
    Ok(())
}

fn validate_job(job: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) -> Result<(), Refusal> {
    let spec = &job["spec"];
    if !is_subdomain(job["metadata"]["name"].as_str().unwrap_or_default()) {
        return Err(Refusal::unsupported("the errors for the name of a Job, which is a label of its Pods"));
    }
    let policy = &spec["template"]["spec"]["restartPolicy"];
    match policy.as_str() {
        Some("OnFailure" | "Never") => {}
        Some("Always") => {
            let detail = "valid values: \"OnFailure\", \"Never\"";
            errors.push(FieldError::required("spec.template.spec.restartPolicy", detail));
        }
        _ => return Err(Refusal::unsupported("the error for an unknown restartPolicy of a Job")),
    }
    if spec["completionMode"] != "NonIndexed" {
        return Err(Refusal::unsupported("Jobs with indexes"));
    }
    if spec["manualSelector"] == true {
        return Err(Refusal::unsupported("Jobs with a selector of their own"));
    }
    let labels = &spec["template"]["metadata"]["labels"];
    let own = [("job-name", &job["metadata"]["name"]), ("controller-uid", &job["metadata"]["uid"])];
    let generated = own
        .iter()
        .all(|(label, value)| labels[label] == **value && labels[format!("batch.kubernetes.io/{label}")] == **value);
    let selector = json!({ "matchLabels": { "batch.kubernetes.io/controller-uid": job["metadata"]["uid"] } });
    if !generated || spec["selector"] != selector {
        if old.is_none() {
            return Err(Refusal::unsupported("the error for labels of a Job that are not its own"));
        }
        return Err(Refusal::unsupported("the error for a changed template of a Job"));
    }
    if let Some(old) = old {
        let fixed = ["completions", "completionMode", "template", "podReplacementPolicy"];
        if fixed.iter().any(|field| old["spec"][field] != spec[field]) {
            return Err(Refusal::unsupported("the error for a changed template of a Job"));
        }
    }
    Ok(())
}

/// Validates a PersistentVolumeClaim.
pub(super) fn validate_claim(claim: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) -> Result<(), Refusal> {
    const MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
    let spec = &claim["spec"];
    let modes = spec["accessModes"].as_array().cloned().unwrap_or_default();
    if modes.is_empty() {
        errors.push(FieldError::required("spec.accessModes", "at least 1 access mode is required"));
    }
    for mode in &modes {
        if !MODES.iter().any(|known| mode == known) {
            let known: Vec<Value> = MODES.iter().map(|mode| (*mode).into()).collect();
            errors.push(FieldError::unsupported("spec.accessModes", mode, &known));
        }
    }
    if modes.iter().any(|mode| mode == "ReadWriteOncePod") && modes.len() > 1 {
        return Err(Refusal::unsupported("the error for ReadWriteOncePod with other access modes"));
    }
    match &spec["resources"]["requests"]["storage"] {
        Value::Null => errors.push(FieldError::required("spec.resources[storage]", "")),
        size if *size == "0" => return Err(Refusal::unsupported("the error for a claim without a size")),
        _ => {}
    }
    let class = spec["storageClassName"].as_str().unwrap_or_default();
    if !class.is_empty() && !is_subdomain(class) {
        return Err(Refusal::unsupported("the error for an invalid storageClassName"));
    }
    if !matches!(spec["volumeMode"].as_str(), Some("Filesystem" | "Block")) {
        return Err(Refusal::unsupported("the error for an unknown volumeMode"));
    }
    if old.is_some_and(|old| old["spec"] != *spec) {
        return Err(Refusal::unsupported("the error for a changed spec of a PersistentVolumeClaim"));
    }
    Ok(())
}
