//! Validation of Ingresses, disruption budgets, autoscalers, roles and their bindings.

use serde_json::{Value, json};

use super::is_label;
use crate::resource::Resource;
use crate::response::{FieldError, Refusal};

/// Validates an Ingress.
pub(super) fn validate_ingress(ingress: &Value, errors: &mut Vec<FieldError>) -> Result<(), Refusal> {
    let spec = &ingress["spec"];
    if spec["rules"].is_null() && spec["defaultBackend"].is_null() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.push(FieldError {
            reason: "FieldValueInvalid",
            field: "spec".to_owned(),
            message: format!("Invalid value: null: {detail}"),
        });
    }
    if !spec["defaultBackend"].is_null() {
        validate_backend(&spec["defaultBackend"], "spec.defaultBackend", errors)?;
    }
    for (at, rule) in spec["rules"].as_array().into_iter().flatten().enumerate() {
        let host = rule["host"].as_str().unwrap_or_default();
        let is_address = host.parse::<std::net::IpAddr>().is_ok();
        if is_address || (!host.is_empty() && !super::is_subdomain(host)) {
            return Err(Refusal::unsupported("the error for the host of an Ingress"));
        }
        if rule["http"].is_null() {
            continue;
        }
        let path = format!("spec.rules[{at}].http.paths");
        let paths = rule["http"]["paths"].as_array().cloned().unwrap_or_default();
        if paths.is_empty() {
            errors.push(FieldError::required(path.clone(), ""));
        }
        for (at, found) in paths.iter().enumerate() {
            validate_path(found, &format!("{path}[{at}]"), errors)?;
        }
    }
    if spec["tls"].as_array().into_iter().flatten().any(|tls| !tls["hosts"].is_null()) {
        return Err(Refusal::unsupported("hosts in `tls` of an Ingress"));
    }
    let class = spec["ingressClassName"].as_str();
    if class.is_some_and(|class| class.is_empty() || !super::is_subdomain(class)) {
        return Err(Refusal::unsupported("the error for an invalid ingressClassName"));
    }
    Ok(())
}

fn validate_path(found: &Value, path: &str, errors: &mut Vec<FieldError>) -> Result<(), Refusal> {
    let text = found["path"].as_str().unwrap_or_default();
    match found["pathType"].as_str() {
        None => {
            errors.push(FieldError::required(format!("{path}.pathType"), "pathType must be specified"));
            return Ok(());
        }
        Some("Exact" | "Prefix") if text.starts_with('/') => {
            if ["//", "/./", "/../", "%2f", "%2F"].iter().any(|wrong| text.contains(wrong))
                || text.ends_with("/..")
                || text.ends_with("/.")
            {
                return Err(Refusal::unsupported("the error for a path of an Ingress"));
            }
        }
        Some("ImplementationSpecific") if text.is_empty() || text.starts_with('/') => {}
        Some("Exact" | "Prefix" | "ImplementationSpecific") => {
            errors.push(FieldError::invalid(format!("{path}.path"), &text.into(), "must be an absolute path"));
        }
        Some(_) => return Err(Refusal::unsupported("the error for an unknown pathType")),
    }
    validate_backend(&found["backend"], &format!("{path}.backend"), errors)
}

fn validate_backend(backend: &Value, path: &str, errors: &mut Vec<FieldError>) -> Result<(), Refusal> {
    let service = &backend["service"];
    if service.is_null() {
        errors.push(FieldError::invalid(path, &"".into(), "resource or service backend is required"));
        return Ok(());
    }
    match service["name"].as_str().unwrap_or_default() {
        "" => errors.push(FieldError::required(format!("{path}.service.name"), "")),
        name if !is_label(name) => return Err(Refusal::unsupported("the error for the Service of an Ingress")),
        _ => {}
    }
    let (name, number) = (&service["port"]["name"], &service["port"]["number"]);
    match (name.as_str(), number.as_i64()) {
        (Some(_), Some(_)) => {
            errors.push(FieldError::invalid(path, &"".into(), "cannot set both port name & port number"));
        }
        (Some(name), None)
            if is_label(name) && name.len() <= 15 && name.contains(|letter: char| letter.is_ascii_lowercase()) => {}
        (None, Some(number)) if (1..65536).contains(&number) => {}
        (None, None) => errors.push(FieldError::required(path, "port name or number is required")),
        _ => return Err(Refusal::unsupported("the error for the port of an Ingress")),
    }
    Ok(())
}

/// Validates a PodDisruptionBudget.
pub(super) fn validate_budget(budget: &Value, errors: &mut Vec<FieldError>) -> Result<(), Refusal> {
    let spec = &budget["spec"];
    if !spec["minAvailable"].is_null() && !spec["maxUnavailable"].is_null() {
        return Err(Refusal::unsupported("the error for a budget with both bounds"));
    }
    for field in ["minAvailable", "maxUnavailable"] {
        let value = &spec[field];
        if value.as_i64().is_some_and(|value| value < 0) {
            let detail = "must be greater than or equal to 0";
            errors.push(FieldError::invalid(format!("spec.{field}"), value, detail));
        }
        let percent = value.as_str().map(|text| text.strip_suffix('%').and_then(|text| text.parse::<u8>().ok()));
        if percent.is_some_and(|percent| percent.is_none_or(|percent| percent > 100)) {
            return Err(Refusal::unsupported("the error for a percentage of a budget"));
        }
    }
    if !spec["selector"]["matchExpressions"].is_null() {
        return Err(Refusal::unsupported("selectors with expressions"));
    }
    let policy = spec["unhealthyPodEvictionPolicy"].as_str();
    if !matches!(policy, None | Some("IfHealthyBudget" | "AlwaysAllow")) {
        return Err(Refusal::unsupported("the error for an unknown unhealthyPodEvictionPolicy"));
    }
    Ok(())
}

/// Validates a HorizontalPodAutoscaler.
pub(super) fn validate_autoscaler(autoscaler: &Value, errors: &mut Vec<FieldError>) -> Result<(), Refusal> {
    let spec = &autoscaler["spec"];
    let (least, most) = (spec["minReplicas"].as_i64().unwrap_or(1), spec["maxReplicas"].as_i64().unwrap_or_default());
    if least < 1 {
        errors.push(FieldError::invalid("spec.minReplicas", &least.into(), "must be greater than or equal to 1"));
    }
    if least == 0 {
        let detail = "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.push(FieldError::forbidden("spec.metrics", detail));
    }
    match most {
        0 => errors.push(FieldError::required("spec.maxReplicas", "must be set and greater than 0")),
        _ if most < 0 => {
            errors.push(FieldError::invalid("spec.maxReplicas", &most.into(), "must be greater than or equal to 1"));
        }
        _ => {}
    }
    if most < least {
        let detail = "must be greater than or equal to `minReplicas`";
        errors.push(FieldError::invalid("spec.maxReplicas", &most.into(), detail));
    }
    let target = &spec["scaleTargetRef"];
    if ["kind", "name"].iter().any(|field| target[field].as_str().unwrap_or_default().is_empty()) {
        return Err(Refusal::unsupported("the error for an incomplete scaleTargetRef"));
    }
    for metric in spec["metrics"].as_array().into_iter().flatten() {
        let target = &metric["resource"]["target"];
        let known = metric["type"] == "Resource"
            && !metric["resource"]["name"].as_str().unwrap_or_default().is_empty()
            && target["type"] == "Utilization"
            && target["averageUtilization"].as_i64().is_some_and(|percent| percent > 0)
            && target["averageValue"].is_null()
            && target["value"].is_null();
        if !known {
            return Err(Refusal::unsupported("metrics of an autoscaler other than the utilization of a resource"));
        }
    }
    Ok(())
}

/// Validates a Role or ClusterRole.
pub(super) fn validate_role(resource: &Resource, role: &Value, errors: &mut Vec<FieldError>) -> Result<(), Refusal> {
    for (at, rule) in role["rules"].as_array().into_iter().flatten().enumerate() {
        let path = format!("rules[{at}]");
        let is_empty = |field: &str| rule[field].as_array().is_none_or(Vec::is_empty);
        if is_empty("verbs") {
            errors.push(FieldError::required(format!("{path}.verbs"), "verbs must contain at least one value"));
        }
        if !is_empty("nonResourceURLs") {
            let path = format!("{path}.nonResourceURLs");
            let urls = &rule["nonResourceURLs"];
            if resource.namespaced {
                let detail = "namespaced rules cannot apply to non-resource URLs";
                errors.push(FieldError::invalid(path.clone(), urls, detail));
            }
            if ["apiGroups", "resources", "resourceNames"].iter().any(|field| !is_empty(field)) {
                let detail = "rules cannot apply to both regular resources and non-resource URLs";
                errors.push(FieldError::invalid(path, urls, detail));
            }
            continue;
        }
        if is_empty("apiGroups") {
            let detail = "resource rules must supply at least one api group";
            errors.push(FieldError::required(format!("{path}.apiGroups"), detail));
        }
        if is_empty("resources") {
            let detail = "resource rules must supply at least one resource";
            errors.push(FieldError::required(format!("{path}.resources"), detail));
        }
    }
    let aggregation = &role["aggregationRule"];
    let selectors = aggregation["clusterRoleSelectors"].as_array().cloned().unwrap_or_default();
    if !aggregation.is_null() && selectors.is_empty() {
        let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(FieldError::required("aggregationRule.clusterRoleSelectors", detail));
    }
    if selectors.iter().any(|selector| !selector["matchExpressions"].is_null()) {
        return Err(Refusal::unsupported("selectors with expressions"));
    }
    Ok(())
}

/// Validates a RoleBinding or ClusterRoleBinding.
pub(super) fn validate_binding(
    resource: &Resource,
    binding: &Value,
    old: Option<&Value>,
    errors: &mut Vec<FieldError>,
) -> Result<(), Refusal> {
    let group = Value::from("rbac.authorization.k8s.io");
    let reference = &binding["roleRef"];
    if reference["apiGroup"] != group {
        errors.push(FieldError::unsupported("roleRef.apiGroup", &reference["apiGroup"], std::slice::from_ref(&group)));
    }
    let kinds: &[&str] = if resource.namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.iter().any(|kind| reference["kind"] == *kind) {
        let kinds: Vec<Value> = kinds.iter().map(|kind| (*kind).into()).collect();
        errors.push(FieldError::unsupported("roleRef.kind", &reference["kind"], &kinds));
    }
    if reference["name"].as_str().unwrap_or_default().is_empty() {
        errors.push(FieldError::required("roleRef.name", ""));
    }
    for (at, subject) in binding["subjects"].as_array().into_iter().flatten().enumerate() {
        let path = format!("subjects[{at}]");
        let name = subject["name"].as_str().unwrap_or_default();
        if name.is_empty() {
            errors.push(FieldError::required(format!("{path}.name"), ""));
        }
        let is_account = subject["kind"] == "ServiceAccount";
        if is_account && !resource.namespaced && subject["namespace"].as_str().unwrap_or_default().is_empty() {
            errors.push(FieldError::required(format!("{path}.namespace"), ""));
        }
        let expected = match subject["kind"].as_str() {
            Some("ServiceAccount") if name.is_empty() || super::is_subdomain(name) => "",
            Some("User" | "Group") => "rbac.authorization.k8s.io",
            _ => return Err(Refusal::unsupported("the error for a subject of a RoleBinding")),
        };
        if subject["apiGroup"].as_str().unwrap_or_default() != expected {
            return Err(Refusal::unsupported("the error for a subject of a RoleBinding"));
        }
    }
    if old.is_some_and(|old| old["roleRef"] != *reference) {
        // The names of Go's fields.
        let shown = json!({ "APIGroup": reference["apiGroup"], "Kind": reference["kind"], "Name": reference["name"] });
        errors.push(FieldError::invalid("roleRef", &shown, "cannot change roleRef"));
    }
    Ok(())
}
