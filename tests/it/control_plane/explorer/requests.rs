//! Random requests.

use std::fmt;

use serde_json::{Value, json};

use crate::random::Random;
use content::{change, new, status};
pub(super) use custom::crds;

mod content;
mod custom;
mod network;
mod workloads;

/// The kinds of the comparison, by their plural names.
pub(super) const KINDS: [&str; 23] = [
    "configmaps",
    "secrets",
    "services",
    "pods",
    "deployments",
    "leases",
    "widgets",
    "gadgets",
    "persistentvolumeclaims",
    "replicasets",
    "statefulsets",
    "horizontalpodautoscalers",
    "jobs",
    "ingresses",
    "poddisruptionbudgets",
    "roles",
    "rolebindings",
    "daemonsets",
    "cronjobs",
    "networkpolicies",
    "clusterroles",
    "clusterrolebindings",
    "namespaces",
];

const NAMES: [&str; 3] = ["a", "b", "c.d"];
const AGENTS: [&str; 3] = ["first/1", "second/2 (linux)", "third"];

/// A request before it is sent. Values that only one of the servers knows are filled in then.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    pub(super) method: String,
    pub(super) kind: String,
    pub(super) path: String,
    pub(super) content_type: String,
    pub(super) agent: String,
    /// The object that the body starts from, as the server last returned it.
    pub(super) of: Option<String>,
    /// The body, or the changes to the object that it starts from.
    pub(super) body: Value,
}

impl Planned {
    pub(super) fn post(path: &str, body: Value) -> Self {
        Self {
            method: "POST".to_owned(),
            kind: String::new(),
            path: path.to_owned(),
            content_type: "application/json".to_owned(),
            agent: "test".to_owned(),
            of: None,
            body,
        }
    }

    /// The body for a server that has returned `known`.
    pub(super) fn body_with(&self, known: &Value, namespace: &str) -> String {
        let mut body = self.body.clone();
        if self.of.is_some() && self.method == "PUT" {
            body = known.clone();
            if body.is_null() {
                body = json!({});
            }
            merge(&mut body, &self.body);
        }
        fill(&mut body, known, namespace);
        if body.is_null() { String::new() } else { body.to_string() }
    }
}

impl fmt::Display for Planned {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = if self.of.is_some() { " (changes of the object)" } else { "" };
        write!(formatter, "{} {} {} {}{of} {}", self.method, self.path, self.content_type, self.agent, self.body)
    }
}

fn merge(value: &mut Value, change: &Value) {
    match change {
        Value::Object(changes) if value.is_object() => {
            for (field, change) in changes {
                if change.is_null() {
                    value.as_object_mut().unwrap().remove(field);
                } else {
                    merge(&mut value[field], change);
                }
            }
        }
        change => *value = change.clone(),
    }
}

fn fill(value: &mut Value, known: &Value, namespace: &str) {
    match value {
        Value::Object(map) => map.values_mut().for_each(|value| fill(value, known, namespace)),
        Value::Array(values) => values.iter_mut().for_each(|value| fill(value, known, namespace)),
        Value::String(text) => match text.as_str() {
            "VERSION" => *value = known["metadata"]["resourceVersion"].clone(),
            "UID" => *value = known["metadata"]["uid"].clone(),
            _ => *text = text.replace("NAMESPACE", namespace),
        },
        _ => {}
    }
}

/// True for a kind without namespaces. The names of its objects start with the namespace of their sequence.
pub(super) fn is_global(kind: &str) -> bool {
    matches!(kind, "clusterroles" | "clusterrolebindings" | "namespaces")
}

/// The path of a collection in the namespace of a sequence.
pub(super) fn path_of(kind: &str) -> String {
    let api_version = identity(kind).0;
    let root = if api_version == "v1" { "api" } else { "apis" };
    let namespace = if is_global(kind) { "" } else { "namespaces/NAMESPACE/" };
    format!("/{root}/{api_version}/{namespace}{kind}")
}

fn identity(kind: &str) -> (&'static str, &'static str) {
    match kind {
        "configmaps" => ("v1", "ConfigMap"),
        "secrets" => ("v1", "Secret"),
        "services" => ("v1", "Service"),
        "pods" => ("v1", "Pod"),
        "deployments" => ("apps/v1", "Deployment"),
        "leases" => ("coordination.k8s.io/v1", "Lease"),
        "gadgets" => ("explorer.example.com/v1", "Gadget"),
        "persistentvolumeclaims" => ("v1", "PersistentVolumeClaim"),
        "replicasets" => ("apps/v1", "ReplicaSet"),
        "statefulsets" => ("apps/v1", "StatefulSet"),
        "horizontalpodautoscalers" => ("autoscaling/v2", "HorizontalPodAutoscaler"),
        "jobs" => ("batch/v1", "Job"),
        "ingresses" => ("networking.k8s.io/v1", "Ingress"),
        "poddisruptionbudgets" => ("policy/v1", "PodDisruptionBudget"),
        "roles" => ("rbac.authorization.k8s.io/v1", "Role"),
        "rolebindings" => ("rbac.authorization.k8s.io/v1", "RoleBinding"),
        "daemonsets" => ("apps/v1", "DaemonSet"),
        "cronjobs" => ("batch/v1", "CronJob"),
        "networkpolicies" => ("networking.k8s.io/v1", "NetworkPolicy"),
        "namespaces" => ("v1", "Namespace"),
        "clusterroles" => ("rbac.authorization.k8s.io/v1", "ClusterRole"),
        "clusterrolebindings" => ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
        _ => ("explorer.example.com/v1", "Widget"),
    }
}

/// Returns one of some values.
fn one(random: &mut Random, values: &[Value]) -> Value {
    values[random.below(values.len())].clone()
}

/// Plans a sequence of requests.
pub(super) fn plan(seed: u64, length: usize) -> Vec<Planned> {
    let mut random = Random(seed);
    // Few kinds, so that requests meet each other.
    let kinds = [random.pick(&KINDS), random.pick(&KINDS)];
    (0..length)
        .map(|_| {
            let request = request(&mut random, kinds);
            if request.kind == "gadgets" { in_version(&mut random, request) } else { request }
        })
        .collect()
}

/// Sends a request to one of the versions of its kind. The last one is not served.
fn in_version(random: &mut Random, mut request: Planned) -> Planned {
    let version = match random.below(100) {
        0..50 => return request,
        50..99 => "v1beta1",
        _ => "v1alpha1",
    };
    request.path = request.path.replace("/v1/", &format!("/{version}/"));
    let is_scale = request.body["kind"] == "Scale";
    if request.body.is_object() && !is_scale && (request.method == "PUT" || !request.body["apiVersion"].is_null()) {
        request.body["apiVersion"] = format!("explorer.example.com/{version}").into();
    }
    request
}

fn request(random: &mut Random, kinds: [&str; 2]) -> Planned {
    let kind = random.pick(&kinds);
    let name = if matches!(kind, "services" | "namespaces") { random.pick(&["a", "b"]) } else { random.pick(&NAMES) };
    let prefix = if is_global(kind) { "NAMESPACE-" } else { "" };
    let name = format!("{prefix}{name}");
    let collection = path_of(kind);
    let object = format!("{collection}/{name}");
    let agent = random.pick(&AGENTS).to_owned();
    let of = |method: &str, path: String, content_type: &str, body: Value| Planned {
        method: method.to_owned(),
        kind: kind.to_owned(),
        path,
        content_type: content_type.to_owned(),
        agent: agent.clone(),
        of: Some(object.clone()),
        body,
    };
    let has_status = !matches!(
        kind,
        "configmaps"
            | "secrets"
            | "leases"
            | "roles"
            | "rolebindings"
            | "networkpolicies"
            | "clusterroles"
            | "clusterrolebindings"
    );
    let has_scale = matches!(kind, "gadgets" | "deployments" | "replicasets" | "statefulsets");
    if kind == "namespaces" && random.percent(20) {
        return inside(random, &of, &object);
    }
    match random.below(100) {
        0..30 => {
            let mut body = new(random, kind);
            body["metadata"]["name"] =
                if random.percent(4) { random.pick(&["A", "-", ""]).into() } else { name.into() };
            if is_global(kind) && matches!(body["metadata"]["name"].as_str(), Some("A" | "-")) {
                body["metadata"]["name"] = "NAMESPACE-A".into();
            }
            if random.percent(3) {
                body["metadata"]["namespace"] = random.pick(&["other", "NAMESPACE"]).into();
            }
            let manager = random.pick(&["", "", "", "?fieldManager=named", "?dryRun=All", STRICT]);
            if manager == STRICT {
                add_unknown(random, &mut body);
            }
            of("POST", format!("{collection}{manager}"), "application/json", body)
        }
        30..50 => {
            let mut change = change(random, kind);
            if random.percent(10) {
                change["metadata"]["resourceVersion"] = one(random, &[json!(null), json!("1")]);
            }
            if random.percent(3) {
                change["metadata"]["uid"] = "11111111-0000-4000-8000-0123456789ab".into();
            }
            if random.percent(3) {
                change["metadata"]["name"] = one(random, &[json!(null), json!("other")]);
            }
            if kind == "gadgets" {
                change["apiVersion"] = identity(kind).0.into();
            }
            let option = random.pick(&["", "", "", "", "", "", "?dryRun=All", STRICT]);
            if option == STRICT {
                add_unknown(random, &mut change);
            }
            of("PUT", format!("{object}{option}"), "application/json", change)
        }
        50..58 => {
            let mut config = if random.percent(85) { new(random, kind) } else { json!({}) };
            let (api_version, identity) = identity(kind);
            config["apiVersion"] = api_version.into();
            config["kind"] = identity.into();
            config["metadata"]["name"] = name.into();
            if random.percent(5) {
                config["metadata"]["resourceVersion"] = random.pick(&["VERSION", "1"]).into();
            }
            let manager = random.pick(&["alpha", "beta", "alpha", ""]);
            let manager = if manager.is_empty() { String::new() } else { format!("&fieldManager={manager}") };
            let force = random.pick(&["force=true", "force=true", "force=false"]);
            of("PATCH", format!("{object}?{force}{manager}"), "application/apply-patch+yaml", config)
        }
        72..76 if has_status => {
            let mut config = status(random, kind);
            let (api_version, identity) = identity(kind);
            config["apiVersion"] = api_version.into();
            config["kind"] = identity.into();
            config["metadata"] = json!({ "name": name });
            let path = format!("{object}/status?force=true&fieldManager={}", random.pick(&["alpha", "beta"]));
            of("PATCH", path, "application/apply-patch+yaml", config)
        }
        58..65 => {
            let mut change = change(random, kind);
            if random.percent(15) {
                change["metadata"]["resourceVersion"] = random.pick(&["VERSION", "1"]).into();
            }
            if random.percent(5) {
                change["metadata"]["uid"] = random.pick(&["UID", "11111111-0000-4000-8000-0123456789ab"]).into();
            }
            let dry_run = if random.percent(10) { "?dryRun=All" } else { "" };
            let kind = if random.percent(40) { "strategic-merge" } else { "merge" };
            of("PATCH", format!("{object}{dry_run}"), &format!("application/{kind}-patch+json"), change)
        }
        65..72 => {
            let operation = match random.below(5) {
                0 => json!({ "op": "test", "path": "/metadata/labels/color", "value": "red" }),
                1 => json!({ "op": "remove", "path": "/metadata/labels/color" }),
                2 => json!({ "op": "add", "path": "/metadata/labels", "value": { "color": "blue" } }),
                3 => json!({ "op": "test", "path": "/metadata/resourceVersion", "value": "VERSION" }),
                _ => json!({ "op": "replace", "path": "/metadata/labels/color", "value": "green" }),
            };
            let more =
                json!({ "op": "add", "path": "/metadata/annotations", "value": { "note": random.pick(&["x", "y"]) } });
            of("PATCH", object.clone(), "application/json-patch+json", json!([operation, more]))
        }
        76..80 if has_scale && random.percent(60) => scale(random, &of, &object),
        72..80 if has_status => {
            let mut change = status(random, kind);
            if random.percent(30) {
                merge(&mut change, &self::change(random, kind));
            }
            let path = format!("{object}/status");
            if random.percent(50) {
                if kind == "gadgets" {
                    change["apiVersion"] = identity(kind).0.into();
                }
                of("PUT", path, "application/json", change)
            } else {
                of("PATCH", path, "application/merge-patch+json", change)
            }
        }
        72..80 => of("GET", object.clone(), "", Value::Null),
        80..92 => {
            let mut body = json!({});
            if random.percent(20) {
                body["propagationPolicy"] = random.pick(&["Foreground", "Background", "Orphan", "Sideways"]).into();
            }
            if random.percent(15) {
                body["preconditions"]["uid"] = random.pick(&["UID", "x"]).into();
            }
            if random.percent(15) {
                body["preconditions"]["resourceVersion"] = random.pick(&["VERSION", "1"]).into();
            }
            if random.percent(10) {
                body["gracePeriodSeconds"] = random.pick(&[0, 5]).into();
            }
            if random.percent(10) {
                body["dryRun"] = random.pick(&[&["All"][..], &[]]).into();
            }
            let body = if random.percent(40) { Value::Null } else { body };
            let dry_run = if random.percent(10) { "?dryRun=All" } else { "" };
            of("DELETE", format!("{object}{dry_run}"), if body.is_null() { "" } else { "application/json" }, body)
        }
        92..94 => of("GET", object.clone(), "", Value::Null),
        94..99 => {
            let pages = if is_global(kind) { 7 } else { 11 };
            let query = random.pick(
                &[
                    "",
                    "?labelSelector=color%3Dred",
                    "?labelSelector=color",
                    "?labelSelector=color!=red",
                    "?labelSelector=!color",
                    "?labelSelector=color+in+(red,blue)",
                    "?fieldSelector=metadata.name%3Da",
                    "?limit=1",
                    "?limit=2",
                    "?limit=1&labelSelector=color",
                    "?limit=1&continue=CONTINUE",
                ][..pages],
            );
            of("GET", format!("{collection}{}", query.replace('+', "%20")), "", Value::Null)
        }
        _ => of("DELETE", format!("{collection}?labelSelector=color%3Dred"), "", Value::Null),
    }
}

/// Asks the server to refuse unknown fields.
const STRICT: &str = "?fieldValidation=Strict";

/// Adds fields that no schema has, or none.
fn add_unknown(random: &mut Random, object: &mut Value) {
    if random.percent(30) {
        object["unknown"] = 1.into();
    }
    if random.percent(30) && object["spec"].is_object() {
        object["spec"]["another"] = json!({ "x": 1 });
    }
    if random.percent(20) {
        object["metadata"]["third"] = "x".into();
    }
}

/// A request to the content of a namespace, or to its subresource `finalize`.
fn inside(random: &mut Random, of: &impl Fn(&str, String, &str, Value) -> Planned, object: &str) -> Planned {
    if random.percent(50) {
        let map = json!({ "metadata": { "name": random.pick(&["a", "b"]) } });
        return of("POST", format!("{object}/configmaps"), "application/json", map);
    }
    let finalizers = one(random, &[json!([]), json!(null), json!([]), json!(["kubernetes", "example.com/one"])]);
    let change = json!({ "spec": { "finalizers": finalizers } });
    of("PUT", format!("{object}/finalize"), "application/json", change)
}

/// A request to the subresource `scale`.
fn scale(random: &mut Random, of: &impl Fn(&str, String, &str, Value) -> Planned, object: &str) -> Planned {
    let path = format!("{object}/scale{}", random.pick(&["", "", "?fieldManager=named", "?dryRun=All"]));
    let mut change = json!({ "spec": { "replicas": one(random, &[json!(0), json!(1), json!(4), json!(-1)]) } });
    if random.percent(20) {
        change["metadata"]["resourceVersion"] = random.pick(&["VERSION", "1"]).into();
    }
    match random.below(4) {
        0 => of("GET", format!("{object}/scale"), "", Value::Null),
        1 => {
            // The known object is another one.
            change["metadata"]["name"] = object.rsplit('/').next().unwrap().into();
            merge(&mut change, &json!({ "apiVersion": "autoscaling/v1", "kind": "Scale" }));
            Planned { method: "PUT".to_owned(), of: None, ..of("PATCH", path, "application/json", change) }
        }
        _ => of("PATCH", path, "application/merge-patch+json", change),
    }
}
