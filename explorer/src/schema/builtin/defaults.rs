//! Defaults of built-in types that Go's functions set.

use serde_json::{Map, Value, json};

/// Sets the defaults of Go's `SetDefaults` functions.
pub(super) fn default(name: &str, map: &mut Map<String, Value>) {
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
        "apps.v1.DaemonSetSpec" => {
            set("revisionHistoryLimit", 10.into());
            set("updateStrategy", json!({}));
            default_daemon(&mut map["updateStrategy"]);
        }
        "batch.v1.CronJobSpec" => {
            set("concurrencyPolicy", "Allow".into());
            set("suspend", false.into());
            set("successfulJobsHistoryLimit", 3.into());
            set("failedJobsHistoryLimit", 1.into());
        }
        "networking.v1.NetworkPolicyPort" => set("protocol", "TCP".into()),
        "networking.v1.NetworkPolicySpec" => {
            let types = if map.contains_key("egress") { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
            map.entry("policyTypes").or_insert(types);
        }
        "rbac.v1.Role" | "rbac.v1.ClusterRole" => set("rules", Value::Null),
        "rbac.v1.RoleRef" => set("apiGroup", RBAC.into()),
        "autoscaling.v2.HorizontalPodAutoscalerSpec" => {
            set("minReplicas", 1.into());
            let target = json!({ "type": "Utilization", "averageUtilization": 80 });
            set("metrics", json!([{ "type": "Resource", "resource": { "name": "cpu", "target": target } }]));
        }
        "autoscaling.v2.HorizontalPodAutoscalerStatus" => set("currentMetrics", Value::Null),
        "core.v1.NamespaceStatus" => set("phase", "Active".into()),
        "core.v1.Secret" => set("type", "Opaque".into()),
        _ => {}
    }
}

/// The group of roles.
const RBAC: &str = "rbac.authorization.k8s.io";

fn default_daemon(strategy: &mut Value) {
    if strategy["type"].is_null() {
        strategy["type"] = "RollingUpdate".into();
    }
    let rolls = strategy["type"] == "RollingUpdate";
    if !rolls && !strategy["rollingUpdate"].is_object() {
        return;
    }
    // With another type, the numbers are the zeros of Go.
    for (field, count) in [("maxUnavailable", i64::from(rolls)), ("maxSurge", 0)] {
        if strategy["rollingUpdate"][field].is_null() {
            strategy["rollingUpdate"][field] = count.into();
        }
    }
}

/// Sets the defaults of the spec of a Job. A CronJob has such a spec without them.
pub(crate) fn default_job(spec: &mut Value) {
    let Some(spec) = spec.as_object_mut() else { return };
    if !spec.contains_key("completions") && !spec.contains_key("parallelism") {
        spec.insert("completions".to_owned(), 1.into());
    }
    for (field, value) in [
        ("parallelism", json!(1)),
        ("backoffLimit", json!(6)),
        ("completionMode", json!("NonIndexed")),
        ("suspend", json!(false)),
        ("podReplacementPolicy", json!("TerminatingOrFailed")),
        ("manualSelector", json!(false)),
    ] {
        spec.entry(field).or_insert(value);
    }
}

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
