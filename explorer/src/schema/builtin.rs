//! Built-in types: their schemas from the OpenAPI document, and the part of Go's types that it does not have.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};

use super::{Node, Shape};
use crate::response::Refusal;

/// The schemas of the built-in types that the server knows, from the OpenAPI document of kube-apiserver.
pub(crate) const OPENAPI: &str = include_str!("openapi.json");

/// Returns the schema of a type, by the end of its name in the document, such as `core.v1.Pod`.
pub(crate) fn schema(name: &str) -> Arc<Node> {
    static READ: OnceLock<BTreeMap<String, Arc<Node>>> = OnceLock::new();
    let read = READ.get_or_init(|| {
        let components: Map<String, Value> = serde_json::from_str(OPENAPI).unwrap_or_default();
        let mut read = BTreeMap::new();
        for name in components.keys() {
            Node::read(&json!({ "$ref": format!("#/{name}") }), &components, &mut read);
        }
        read
    });
    read.get(&format!("io.k8s.api.{name}")).cloned().unwrap_or_default()
}

/// Fields whose defaults and validation the server has, by type. All fields of other types are known.
const FIELDS: &[(&str, &[&str])] = &[
    (
        "core.v1.PodSpec",
        &[
            "containers",
            "volumes",
            "restartPolicy",
            "terminationGracePeriodSeconds",
            "dnsPolicy",
            "nodeName",
            "nodeSelector",
            "serviceAccountName",
            "serviceAccount",
            "automountServiceAccountToken",
            "schedulerName",
            "securityContext",
            "enableServiceLinks",
            "tolerations",
            "priority",
            "preemptionPolicy",
        ],
    ),
    (
        "core.v1.Container",
        &[
            "name",
            "image",
            "command",
            "args",
            "workingDir",
            "ports",
            "env",
            "resources",
            "volumeMounts",
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
            "terminationMessagePath",
            "terminationMessagePolicy",
            "imagePullPolicy",
            "securityContext",
        ],
    ),
    ("core.v1.Volume", &["name", "configMap", "secret", "emptyDir", "persistentVolumeClaim", "projected"]),
    ("core.v1.ResourceRequirements", &["limits", "requests"]),
    (
        "core.v1.PersistentVolumeClaimSpec",
        &["accessModes", "resources", "selector", "storageClassName", "volumeMode", "volumeName"],
    ),
    ("core.v1.PersistentVolumeClaimStatus", &["accessModes", "capacity", "phase", "conditions"]),
    (
        "batch.v1.JobSpec",
        &[
            "activeDeadlineSeconds",
            "backoffLimit",
            "completionMode",
            "completions",
            "manualSelector",
            "parallelism",
            "podReplacementPolicy",
            "selector",
            "suspend",
            "template",
            "ttlSecondsAfterFinished",
        ],
    ),
    ("networking.v1.IngressBackend", &["service"]),
    ("autoscaling.v2.HorizontalPodAutoscalerSpec", &["maxReplicas", "metrics", "minReplicas", "scaleTargetRef"]),
    ("autoscaling.v2.MetricSpec", &["resource", "type"]),
    (
        "core.v1.ServiceSpec",
        &[
            "ports",
            "selector",
            "clusterIP",
            "clusterIPs",
            "type",
            "sessionAffinity",
            "ipFamilies",
            "ipFamilyPolicy",
            "internalTrafficPolicy",
            "publishNotReadyAddresses",
        ],
    ),
];

/// Optional numbers, flags and texts that are pointers in Go, which keep a zero. Other zeros are not stored.
const POINTERS: &[(&str, &[&str])] = &[
    (
        "core.v1.PodSpec",
        &[
            "terminationGracePeriodSeconds",
            "automountServiceAccountToken",
            "enableServiceLinks",
            "priority",
            "preemptionPolicy",
        ],
    ),
    (
        "core.v1.PodSecurityContext",
        &["runAsNonRoot", "runAsUser", "runAsGroup", "fsGroup", "fsGroupChangePolicy", "seccompProfile"],
    ),
    (
        "core.v1.SecurityContext",
        &[
            "runAsNonRoot",
            "runAsUser",
            "runAsGroup",
            "privileged",
            "allowPrivilegeEscalation",
            "readOnlyRootFilesystem",
            "procMount",
        ],
    ),
    ("core.v1.Probe", &["terminationGracePeriodSeconds"]),
    ("core.v1.Toleration", &["tolerationSeconds"]),
    ("core.v1.ConfigMapVolumeSource", &["defaultMode", "optional"]),
    ("core.v1.SecretVolumeSource", &["defaultMode", "optional"]),
    ("core.v1.ProjectedVolumeSource", &["defaultMode"]),
    ("core.v1.ServiceAccountTokenProjection", &["expirationSeconds"]),
    ("core.v1.ConfigMapKeySelector", &["optional"]),
    ("core.v1.SecretKeySelector", &["optional"]),
    ("core.v1.ServiceSpec", &["ipFamilyPolicy", "internalTrafficPolicy"]),
    ("core.v1.ServicePort", &["appProtocol"]),
    ("core.v1.ConfigMap", &["immutable"]),
    ("core.v1.Secret", &["immutable"]),
    ("core.v1.ServiceAccount", &["automountServiceAccountToken"]),
    ("apps.v1.DeploymentSpec", &["replicas", "revisionHistoryLimit", "progressDeadlineSeconds"]),
    ("apps.v1.DeploymentStatus", &["collisionCount", "terminatingReplicas"]),
    ("apps.v1.ReplicaSetSpec", &["replicas"]),
    ("apps.v1.ReplicaSetStatus", &["terminatingReplicas"]),
    ("apps.v1.StatefulSetSpec", &["replicas", "revisionHistoryLimit"]),
    ("apps.v1.StatefulSetStatus", &["collisionCount"]),
    ("apps.v1.RollingUpdateStatefulSetStrategy", &["partition", "maxUnavailable"]),
    (
        "batch.v1.JobSpec",
        &[
            "activeDeadlineSeconds",
            "backoffLimit",
            "completionMode",
            "completions",
            "manualSelector",
            "parallelism",
            "podReplacementPolicy",
            "suspend",
            "ttlSecondsAfterFinished",
        ],
    ),
    ("core.v1.ContainerStatus", &["started"]),
    ("batch.v1.JobStatus", &["terminating", "ready", "failedIndexes"]),
    ("core.v1.PersistentVolumeClaimSpec", &["storageClassName", "volumeMode"]),
    ("networking.v1.IngressSpec", &["ingressClassName"]),
    ("policy.v1.PodDisruptionBudgetSpec", &["minAvailable", "maxUnavailable", "unhealthyPodEvictionPolicy"]),
    ("autoscaling.v2.HorizontalPodAutoscalerSpec", &["minReplicas"]),
    ("autoscaling.v2.HorizontalPodAutoscalerStatus", &["observedGeneration"]),
    ("autoscaling.v2.MetricTarget", &["averageUtilization"]),
    (
        "coordination.v1.LeaseSpec",
        &[
            "holderIdentity",
            "leaseDurationSeconds",
            "leaseTransitions",
            "acquireTime",
            "renewTime",
            "strategy",
            "preferredHolder",
        ],
    ),
    ("OwnerReference", &["controller", "blockOwnerDeletion"]),
    ("ObjectMeta", &["deletionGracePeriodSeconds"]),
];

fn listed(table: &'static [(&str, &[&str])], name: &str) -> Option<&'static [&'static str]> {
    table
        .iter()
        .find(|(known, _)| name.ends_with(known) && name[..name.len() - known.len()].ends_with('.'))
        .map(|(_, fields)| *fields)
}

/// Reads an object of a built-in type as Go does: drops unknown fields and zeros, and sets defaults.
pub(crate) fn read(node: &Node, value: &mut Value, path: &str) -> Result<(), Refusal> {
    let wrong = |value: &Value| {
        let text = format!("decoding errors of built-in types: `{path}` has the value {value}");
        Err(Refusal::unsupported(&text))
    };
    match (&node.shape, &mut *value) {
        (_, Value::Null) | (Shape::Any, _) => Ok(()),
        (Shape::Object { properties, additional, .. }, Value::Object(map)) => {
            let name = node.name.as_deref().unwrap_or_default();
            if properties.is_empty() && additional.is_none() {
                return Ok(());
            }
            if let Some(additional) = additional {
                for (key, value) in map.iter_mut() {
                    read(additional, value, &format!("{path}.{key}"))?;
                    // A null in a map of texts is an empty text.
                    if value.is_null() {
                        *value = match additional.shape {
                            Shape::String => "".into(),
                            _ => return wrong(value),
                        };
                    }
                }
                return Ok(());
            }
            map.retain(|field, value| properties.contains_key(field) && !value.is_null());
            let known = listed(FIELDS, name);
            for (field, value) in map.iter_mut() {
                read(&properties[field], value, &format!("{path}.{field}"))?;
                if known.is_some_and(|known| !known.contains(&field.as_str())) && !is_zero(&properties[field], value) {
                    let name = name.rsplit("api.").next().unwrap_or(name);
                    return Err(Refusal::unsupported(&format!("the field `{field}` of {name}")));
                }
            }
            let pointers = listed(POINTERS, name).unwrap_or_default();
            map.retain(|field, value| {
                pointers.contains(&field.as_str())
                    || node.required.contains(field)
                    || !is_zero(&properties[field], value)
            });
            default(name, map);
            for (field, property) in properties {
                let Some(default) = &property.default else {
                    continue;
                };
                let always = || ALWAYS.iter().any(|(known, kept)| name.ends_with(known) && kept == field);
                let kept = match default {
                    Value::Object(_) => always(),
                    Value::String(text) => !text.is_empty() || node.required.contains(field) || always(),
                    _ => node.required.contains(field) || always(),
                };
                if kept && (!map.contains_key(field) || map[field] == "") {
                    let mut value = default.clone();
                    read(property, &mut value, path)?;
                    map.insert(field.clone(), value);
                }
            }
            Ok(())
        }
        (Shape::Array { items, .. }, Value::Array(values)) => {
            for (at, value) in values.iter_mut().enumerate() {
                if value.is_null() {
                    return wrong(value);
                }
                read(items, value, &format!("{path}[{at}]"))?;
            }
            Ok(())
        }
        (Shape::String, Value::String(text)) => {
            if node.rules["format"] == "byte" && !is_base64(text) {
                return wrong(value);
            }
            if node.rules["format"] == "date-time" {
                return match time(node, text) {
                    Some(time) => {
                        *value = time.into();
                        Ok(())
                    }
                    None => wrong(value),
                };
            }
            Ok(())
        }
        (Shape::Integer, Value::Number(number)) if number.is_i64() => Ok(()),
        (Shape::Number, Value::Number(_)) | (Shape::Boolean, Value::Bool(_)) => Ok(()),
        (Shape::IntOrString, Value::String(text)) => {
            if node.name.as_deref().is_some_and(|name| name.ends_with("Quantity")) {
                match quantity(text) {
                    Some(canonical) => *value = canonical.into(),
                    None => {
                        return Err(Refusal::unsupported(&format!("the quantity {text:?} of `{path}`")));
                    }
                }
            }
            Ok(())
        }
        (Shape::IntOrString, Value::Number(number)) if number.is_i64() => {
            if node.name.as_deref().is_some_and(|name| name.ends_with("Quantity")) {
                *value = number.to_string().into();
                return read(node, value, path);
            }
            Ok(())
        }
        (_, value) => wrong(value),
    }
}

/// Structs that Go writes even if they are empty.
const ALWAYS: &[(&str, &str)] = &[
    ("apps.v1.Deployment", "metadata"),
    ("apps.v1.Deployment", "spec"),
    ("apps.v1.Deployment", "status"),
    ("apps.v1.DeploymentSpec", "template"),
    ("apps.v1.DeploymentSpec", "strategy"),
    ("core.v1.PodTemplateSpec", "metadata"),
    ("core.v1.PodTemplateSpec", "spec"),
    ("core.v1.Pod", "metadata"),
    ("core.v1.Pod", "spec"),
    ("core.v1.Pod", "status"),
    ("core.v1.Container", "resources"),
    ("core.v1.Service", "metadata"),
    ("core.v1.Service", "spec"),
    ("core.v1.Service", "status"),
    ("core.v1.ServiceStatus", "loadBalancer"),
    ("core.v1.ConfigMap", "metadata"),
    ("core.v1.Secret", "metadata"),
    ("core.v1.ServiceAccount", "metadata"),
    ("core.v1.Namespace", "metadata"),
    ("core.v1.Namespace", "spec"),
    ("core.v1.Namespace", "status"),
    ("coordination.v1.Lease", "metadata"),
    ("coordination.v1.Lease", "spec"),
    ("core.v1.PersistentVolumeClaim", "metadata"),
    ("core.v1.PersistentVolumeClaim", "spec"),
    ("core.v1.PersistentVolumeClaim", "status"),
    ("core.v1.PersistentVolumeClaimSpec", "resources"),
    ("apps.v1.ReplicaSet", "metadata"),
    ("apps.v1.ReplicaSet", "spec"),
    ("apps.v1.ReplicaSet", "status"),
    ("apps.v1.ReplicaSetSpec", "template"),
    ("apps.v1.StatefulSet", "metadata"),
    ("apps.v1.StatefulSet", "spec"),
    ("apps.v1.StatefulSet", "status"),
    ("apps.v1.StatefulSetSpec", "template"),
    ("apps.v1.StatefulSetSpec", "updateStrategy"),
    ("apps.v1.StatefulSetSpec", "serviceName"),
    ("apps.v1.StatefulSetStatus", "availableReplicas"),
    ("autoscaling.v1.Scale", "metadata"),
    ("autoscaling.v1.Scale", "spec"),
    ("autoscaling.v1.Scale", "status"),
    ("autoscaling.v2.HorizontalPodAutoscaler", "metadata"),
    ("autoscaling.v2.HorizontalPodAutoscaler", "spec"),
    ("autoscaling.v2.HorizontalPodAutoscaler", "status"),
    ("autoscaling.v2.HorizontalPodAutoscalerSpec", "scaleTargetRef"),
    ("batch.v1.Job", "metadata"),
    ("batch.v1.Job", "spec"),
    ("batch.v1.Job", "status"),
    ("batch.v1.JobSpec", "template"),
    ("networking.v1.Ingress", "metadata"),
    ("networking.v1.Ingress", "spec"),
    ("networking.v1.Ingress", "status"),
    ("networking.v1.IngressStatus", "loadBalancer"),
    ("networking.v1.IngressServiceBackend", "port"),
    ("policy.v1.PodDisruptionBudget", "metadata"),
    ("policy.v1.PodDisruptionBudget", "spec"),
    ("policy.v1.PodDisruptionBudget", "status"),
    ("policy.v1.PodDisruptionBudgetStatus", "disruptionsAllowed"),
    ("policy.v1.PodDisruptionBudgetStatus", "currentHealthy"),
    ("policy.v1.PodDisruptionBudgetStatus", "desiredHealthy"),
    ("policy.v1.PodDisruptionBudgetStatus", "expectedPods"),
    ("rbac.v1.Role", "metadata"),
    ("rbac.v1.RoleBinding", "metadata"),
    ("rbac.v1.RoleBinding", "roleRef"),
];

fn is_zero(node: &Node, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(map) => map.is_empty() && matches!(&node.shape, Shape::Object { additional: Some(_), .. }),
    }
}

/// Sets the defaults of Go's `SetDefaults` functions.
fn default(name: &str, map: &mut Map<String, Value>) {
    let short = name.rsplit("api.").next().unwrap_or(name);
    if short == "rbac.v1.Subject" && map.get("kind").is_some_and(|kind| kind == "User" || kind == "Group") {
        map.entry("apiGroup").or_insert(RBAC.into());
    }
    let mut set = |field: &str, value: Value| {
        if !map.contains_key(field) {
            map.insert(field.to_owned(), value);
        }
    };
    match short {
        "core.v1.PodSpec" => {
            set("restartPolicy", "Always".into());
            set("terminationGracePeriodSeconds", 30.into());
            set("dnsPolicy", "ClusterFirst".into());
            set("securityContext", json!({}));
            set("schedulerName", "default-scheduler".into());
            // The deprecated name follows the new one.
            if let Some(account) = map.get("serviceAccountName").or(map.get("serviceAccount")).cloned() {
                map.insert("serviceAccountName".to_owned(), account.clone());
                map.insert("serviceAccount".to_owned(), account);
            }
        }
        "core.v1.Container" => {
            set("terminationMessagePath", "/dev/termination-log".into());
            set("terminationMessagePolicy", "File".into());
            if !map.contains_key("imagePullPolicy") {
                let image = map.get("image").and_then(Value::as_str).unwrap_or_default();
                let last = image.rsplit('/').next().unwrap_or_default();
                let fixed = last.contains('@') || last.rsplit_once(':').is_some_and(|(_, tag)| tag != "latest");
                let policy = if fixed { "IfNotPresent" } else { "Always" };
                map.insert("imagePullPolicy".to_owned(), policy.into());
            }
        }
        "core.v1.Probe" => {
            set("timeoutSeconds", 1.into());
            set("periodSeconds", 10.into());
            set("successThreshold", 1.into());
            set("failureThreshold", 3.into());
        }
        "core.v1.HTTPGetAction" => {
            set("path", "/".into());
            set("scheme", "HTTP".into());
        }
        "core.v1.ObjectFieldSelector" => set("apiVersion", "v1".into()),
        "core.v1.ConfigMapVolumeSource" | "core.v1.SecretVolumeSource" | "core.v1.ProjectedVolumeSource" => {
            set("defaultMode", 420.into());
        }
        "core.v1.ServiceAccountTokenProjection" => set("expirationSeconds", 3600.into()),
        "apps.v1.DeploymentSpec" => {
            set("replicas", 1.into());
            set("strategy", json!({}));
            set("revisionHistoryLimit", 10.into());
            set("progressDeadlineSeconds", 600.into());
            default_strategy(&mut map["strategy"]);
        }
        "core.v1.ServiceSpec" => {
            set("sessionAffinity", "None".into());
            set("type", "ClusterIP".into());
            if map["type"] != "ExternalName" && !map.contains_key("internalTrafficPolicy") {
                map.insert("internalTrafficPolicy".to_owned(), "Cluster".into());
            }
        }
        "core.v1.ServicePort" => default_target(map),
        "core.v1.PersistentVolumeClaimSpec" => set("volumeMode", "Filesystem".into()),
        "core.v1.PersistentVolumeClaimStatus" => set("phase", "Pending".into()),
        "apps.v1.ReplicaSetSpec" => set("replicas", 1.into()),
        "apps.v1.StatefulSetSpec" => default_stateful(map),
        "batch.v1.JobSpec" => {
            if !map.contains_key("completions") && !map.contains_key("parallelism") {
                map.insert("completions".to_owned(), 1.into());
            }
            let defaults = [
                ("parallelism", json!(1)),
                ("backoffLimit", json!(6)),
                ("completionMode", json!("NonIndexed")),
                ("suspend", json!(false)),
                ("podReplacementPolicy", json!("TerminatingOrFailed")),
                ("manualSelector", json!(false)),
            ];
            for (field, value) in defaults {
                map.entry(field).or_insert(value);
            }
        }
        "rbac.v1.Role" => set("rules", Value::Null),
        "rbac.v1.RoleRef" => set("apiGroup", RBAC.into()),
        "autoscaling.v2.HorizontalPodAutoscalerSpec" => {
            set("minReplicas", 1.into());
            let target = json!({ "type": "Utilization", "averageUtilization": 80 });
            set("metrics", json!([{ "type": "Resource", "resource": { "name": "cpu", "target": target } }]));
        }
        "autoscaling.v2.HorizontalPodAutoscalerStatus" => set("currentMetrics", Value::Null),
        "core.v1.Secret" => set("type", "Opaque".into()),
        _ => {}
    }
}

/// The group of roles.
const RBAC: &str = "rbac.authorization.k8s.io";

fn default_stateful(spec: &mut Map<String, Value>) {
    let defaults = [
        ("replicas", json!(1)),
        ("podManagementPolicy", json!("OrderedReady")),
        ("revisionHistoryLimit", json!(10)),
        ("persistentVolumeClaimRetentionPolicy", json!({})),
        ("updateStrategy", json!({})),
    ];
    for (field, value) in defaults {
        spec.entry(field).or_insert(value);
    }
    for field in ["whenDeleted", "whenScaled"] {
        let policy = &mut spec["persistentVolumeClaimRetentionPolicy"][field];
        if policy.is_null() {
            *policy = "Retain".into();
        }
    }
    let strategy = &mut spec["updateStrategy"];
    if strategy["type"].is_null() {
        strategy["type"] = "RollingUpdate".into();
        if strategy["rollingUpdate"].is_null() {
            strategy["rollingUpdate"] = json!({});
        }
    }
    if strategy["type"] == "RollingUpdate"
        && strategy["rollingUpdate"].is_object()
        && strategy["rollingUpdate"]["partition"].is_null()
    {
        strategy["rollingUpdate"]["partition"] = 0.into();
    }
    for claim in spec.get_mut("volumeClaimTemplates").and_then(Value::as_array_mut).into_iter().flatten() {
        claim["apiVersion"] = "v1".into();
        claim["kind"] = "PersistentVolumeClaim".into();
    }
}

/// The target of a port is the port itself.
fn default_target(port: &mut Map<String, Value>) {
    if is_missing(port.get("targetPort")) {
        let number = port.get("port").cloned().unwrap_or_default();
        port.insert("targetPort".to_owned(), number);
    }
}

fn is_missing(value: Option<&Value>) -> bool {
    value.is_none_or(|value| value.is_null() || *value == 0 || *value == "")
}

fn default_strategy(strategy: &mut Value) {
    if strategy["type"].is_null() {
        strategy["type"] = "RollingUpdate".into();
    }
    if strategy["type"] == "RollingUpdate" {
        for field in ["maxUnavailable", "maxSurge"] {
            if strategy["rollingUpdate"][field].is_null() {
                strategy["rollingUpdate"][field] = "25%".into();
            }
        }
    }
}

/// Returns a time in the form of the server: in UTC, with seconds, or with microseconds for `MicroTime`.
fn time(node: &Node, text: &str) -> Option<String> {
    let time: jiff::Timestamp = text.parse().ok()?;
    let micro = node.name.as_deref().is_some_and(|name| name.ends_with("MicroTime"));
    Some(time.strftime(if micro { "%Y-%m-%dT%H:%M:%S.%6fZ" } else { "%Y-%m-%dT%H:%M:%SZ" }).to_string())
}

/// Returns a quantity in the form that the server writes, or none if it would be another one.
fn quantity(text: &str) -> Option<String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let suffix = &text[digits.len()..];
    let canonical = !digits.is_empty()
        && digits.bytes().all(|digit| digit.is_ascii_digit())
        && (digits == "0" && suffix.is_empty() || !digits.starts_with('0'));
    let divisible = match suffix {
        "" | "k" | "M" | "G" => digits.ends_with("000"),
        "m" => digits.ends_with("000"),
        "Ki" | "Mi" | "Gi" => digits.parse::<u64>().ok()? % 1024 == 0,
        _ => return None,
    };
    (canonical && !divisible).then(|| text.to_owned())
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() - body.len() <= 2
        && body.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/')
}

/// The base64 form of a text, for `stringData`.
pub(crate) fn to_base64(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bytes = [chunk[0], chunk.get(1).copied().unwrap_or(0), chunk.get(2).copied().unwrap_or(0)];
        let all = u32::from(bytes[0]) << 16 | u32::from(bytes[1]) << 8 | u32::from(bytes[2]);
        for at in 0..4 {
            let letter = LETTERS[(all >> (18 - 6 * at) & 63) as usize];
            out.push(if at <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    out
}
