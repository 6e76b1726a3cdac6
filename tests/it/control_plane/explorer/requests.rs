//! Random requests.

use std::fmt;

use serde_json::{Value, json};

use crate::random::Random;

/// The kinds of the comparison, by their plural names.
pub(super) const KINDS: [&str; 17] = [
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
            "NAMESPACE" => *text = namespace.to_owned(),
            _ => {}
        },
        _ => {}
    }
}

/// The path of a collection in the namespace of a sequence.
pub(super) fn path_of(kind: &str) -> String {
    let api_version = identity(kind).0;
    let root = if api_version == "v1" { "api" } else { "apis" };
    format!("/{root}/{api_version}/namespaces/NAMESPACE/{kind}")
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
    if request.body.is_object() && (request.method == "PUT" || !request.body["apiVersion"].is_null()) {
        request.body["apiVersion"] = format!("explorer.example.com/{version}").into();
    }
    request
}

fn request(random: &mut Random, kinds: [&str; 2]) -> Planned {
    let kind = random.pick(&kinds);
    let name = if kind == "services" { random.pick(&["a", "b"]) } else { random.pick(&NAMES) };
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
    let has_status = !matches!(kind, "configmaps" | "secrets" | "leases" | "roles" | "rolebindings");
    let has_scale = matches!(kind, "gadgets" | "deployments" | "replicasets" | "statefulsets");
    match random.below(100) {
        0..30 => {
            let mut body = new(random, kind);
            body["metadata"]["name"] =
                if random.percent(4) { random.pick(&["A", "-", ""]).into() } else { name.into() };
            if random.percent(3) {
                body["metadata"]["namespace"] = random.pick(&["other", "NAMESPACE"]).into();
            }
            let manager = random.pick(&["", "", "", "?fieldManager=named", "?dryRun=All"]);
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
            let dry_run = if random.percent(10) { "?dryRun=All" } else { "" };
            of("PUT", format!("{object}{dry_run}"), "application/json", change)
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
            let body = if random.percent(40) { Value::Null } else { body };
            of("DELETE", object.clone(), if body.is_null() { "" } else { "application/json" }, body)
        }
        92..94 => of("GET", object.clone(), "", Value::Null),
        94..99 => {
            let query = random.pick(&[
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
            ]);
            of("GET", format!("{collection}{}", query.replace('+', "%20")), "", Value::Null)
        }
        _ => of("DELETE", format!("{collection}?labelSelector=color%3Dred"), "", Value::Null),
    }
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
            Planned { method: "PUT".to_owned(), of: None, ..of("PATCH", path, "application/json", change) }
        }
        _ => of("PATCH", path, "application/merge-patch+json", change),
    }
}

fn metadata(random: &mut Random) -> Value {
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
fn new(random: &mut Random, kind: &str) -> Value {
    let (api_version, name) = identity(kind);
    let mut object = json!({ "apiVersion": api_version, "kind": name, "metadata": metadata(random) });
    merge(&mut object, &content(random, kind, false));
    object
}

/// The changes of an update or a patch.
fn change(random: &mut Random, kind: &str) -> Value {
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

fn status(random: &mut Random, kind: &str) -> Value {
    let condition = json!({
        "type": random.pick(&["Ready", "Available"]), "status": random.pick(&["True", "False"]),
        "reason": "Because", "message": random.pick(&["", "one"]), "lastTransitionTime": "2020-01-01T00:00:00Z",
    });
    match kind {
        "widgets" => json!({ "status": { "ready": random.below(3), "conditions": [condition] } }),
        "replicasets" | "statefulsets" => json!({
            "status": { "replicas": 2, "readyReplicas": random.below(3), "observedGeneration": random.below(3) },
        }),
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

fn pod_spec(random: &mut Random) -> Value {
    let mut container =
        json!({ "name": "main", "image": random.pick(&["nginx", "nginx:1", "a.b:5000/c", "a/b:latest"]) });
    if random.percent(30) {
        container["ports"] = json!([{ "containerPort": random.pick(&[80, 8080]) }]);
    }
    if random.percent(30) {
        container["env"] = json!([{ "name": "A", "value": random.pick(&["1", "2", ""]) }, { "name": "B" }]);
    }
    if random.percent(20) {
        container["resources"] = json!({ "limits": { "memory": random.pick(&["64Mi", "1Gi"]) } });
    }
    if random.percent(20) {
        container["readinessProbe"] = json!({ "httpGet": { "port": 80 } });
    }
    if random.percent(20) {
        container["args"] = json!(["-v"]);
    }
    let mut spec = json!({ "containers": [container] });
    if random.percent(20) {
        spec["volumes"] = json!([{ "name": "v", "configMap": { "name": "a" } }, { "name": "e", "emptyDir": {} }]);
        spec["containers"][0]["volumeMounts"] = json!([{ "name": "v", "mountPath": "/v" }]);
    }
    if random.percent(20) {
        spec["terminationGracePeriodSeconds"] = random.pick(&[0, 10]).into();
    }
    spec
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
        "roles" => {
            let rule =
                json!({ "apiGroups": [random.pick(&["", "apps"])], "resources": ["pods"], "verbs": ["get", "list"] });
            json!({ "rules": one(random, &[
                json!([rule]), json!([rule, { "verbs": ["get"] }]), json!([]), json!(null),
                json!([{ "nonResourceURLs": ["/x"], "verbs": [] }]),
            ]) })
        }
        "rolebindings" => {
            let mut object = json!({ "subjects": one(random, &[
                json!([{ "kind": "ServiceAccount", "name": "default", "namespace": "NAMESPACE" }]),
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

fn workload(random: &mut Random, kind: &str, update: bool) -> Value {
    let template = |random: &mut Random| json!({ "metadata": { "labels": { "app": "x" } }, "spec": pod_spec(random) });
    if kind == "jobs" {
        let mut object = json!({ "spec": { "backoffLimit": random.pick(&[0, 3, 6]) } });
        if random.percent(20) {
            object["spec"]["suspend"] = random.percent(50).into();
            object["spec"]["parallelism"] = random.pick(&[0, 2, -1]).into();
        }
        if !update {
            object["spec"]["template"] = template(random);
            object["spec"]["template"]["spec"]["restartPolicy"] =
                random.pick(&["Never", "OnFailure", "Never", "Always"]).into();
        }
        return object;
    }
    let mut object = json!({ "spec": { "replicas": random.pick(&[0, 1, 3]) } });
    if random.percent(5) {
        object["spec"]["replicas"] = (-1).into();
    }
    if !update || random.percent(40) {
        object["spec"]["selector"] = json!({ "matchLabels": { "app": "x" } });
        object["spec"]["template"] = template(random);
        if !update && random.percent(5) {
            object["spec"]["template"]["metadata"]["labels"]["app"] = "y".into();
        }
    }
    if kind == "statefulsets" {
        if !update || random.percent(10) {
            object["spec"]["serviceName"] = random.pick(&["a", "b"]).into();
        }
        if !update && random.percent(30) {
            object["spec"]["volumeClaimTemplates"] = json!([{
                "metadata": { "name": "data" },
                "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
            }]);
        }
        if random.percent(20) {
            object["spec"]["updateStrategy"] = one(
                random,
                &[json!({ "type": "OnDelete", "rollingUpdate": null }), json!({ "type": "RollingUpdate" })],
            );
        }
    }
    object
}

fn ingress(random: &mut Random) -> Value {
    let service = one(
        random,
        &[
            json!({ "name": "web", "port": { "number": 80 } }),
            json!({ "name": "web", "port": { "name": "http" } }),
            json!({ "name": "web" }),
        ],
    );
    let path = json!({
        "path": random.pick(&["/", "/shop", "shop"]), "pathType": random.pick(&["Prefix", "Exact", "ImplementationSpecific"]),
        "backend": { "service": service },
    });
    let mut object = json!({ "spec": {} });
    if random.percent(80) {
        object["spec"]["rules"] =
            json!([{ "host": random.pick(&["a.example.com", "b.example.com", ""]), "http": { "paths": [path] } }]);
    }
    if random.percent(20) {
        object["spec"]["defaultBackend"] = json!({ "service": service });
    }
    if random.percent(20) {
        object["spec"]["ingressClassName"] = "nginx".into();
    }
    if random.percent(20) {
        object["spec"]["tls"] = json!([{ "secretName": "a" }]);
    }
    object
}

fn widget(random: &mut Random) -> Value {
    let mut spec = json!({});
    if random.percent(60) {
        spec["size"] = one(random, &[json!(1), json!(3), json!(3), json!(0), json!(11), json!("3"), json!(null)]);
    }
    if random.percent(40) {
        spec["mode"] = random.pick(&["fast", "slow", "fast", "other"]).into();
    }
    if random.percent(30) {
        spec["name"] = random.pick(&["abc", "a", "toolongtext", "ABC"]).into();
    }
    if random.percent(30) {
        spec["parts"] = one(
            random,
            &[
                json!([{ "name": "a", "value": 1 }]),
                json!([{ "name": "b" }, { "name": "a", "value": 2 }]),
                json!([{ "name": "a" }, { "name": "a" }]),
                json!([]),
                json!([{ "value": 3 }]),
            ],
        );
    }
    if random.percent(30) {
        spec["tags"] = one(random, &[json!(["x"]), json!(["y", "x"]), json!(["x", "x"]), json!([])]);
    }
    if random.percent(30) {
        spec["words"] = one(random, &[json!(["x"]), json!(["y", "x"]), json!([1])]);
    }
    if random.percent(30) {
        spec["map"] = one(random, &[json!({ "k": 1 }), json!({ "l": 2 }), json!({}), json!({ "k": null })]);
    }
    if random.percent(30) {
        spec["free"] = one(random, &[json!({ "a": { "b": 1 } }), json!({ "c": [1, { "d": 2 }] }), json!({})]);
    }
    if random.percent(30) {
        spec["atomic"] = one(random, &[json!({ "a": "1" }), json!({ "a": "1", "b": "2" }), json!({})]);
    }
    if random.percent(20) {
        spec["port"] = one(random, &[json!(80), json!("http"), json!(1.5), json!(true)]);
    }
    if random.percent(20) {
        spec["unknown"] = json!({ "x": 1 });
    }
    if random.percent(15) {
        spec["nothing"] = Value::Null;
    }
    if random.percent(20) {
        spec["nested"] = one(random, &[json!({}), json!({ "on": true }), json!({ "level": 2 })]);
    }
    let mut object = json!({ "spec": spec });
    if random.percent(20) {
        object["status"] = json!({ "ready": 1 });
    }
    object
}

fn gadget(random: &mut Random) -> Value {
    let mut spec = json!({});
    if random.percent(60) {
        spec["replicas"] = one(random, &[json!(1), json!(3), json!(0), json!(null)]);
    }
    for (field, values) in [
        ("size", [json!(1), json!(3)]),
        ("old", [json!("x"), json!("y")]),
        ("new", [json!("x"), json!("y")]),
        ("tags", [json!(["x"]), json!(["y", "x"])]),
    ] {
        if random.percent(30) {
            spec[field] = one(random, &values);
        }
    }
    if random.percent(30) {
        spec["parts"] = one(
            random,
            &[json!([{ "name": "a", "old": 1 }]), json!([{ "name": "b" }, { "name": "a", "new": 2 }]), json!([])],
        );
    }
    json!({ "spec": spec })
}

/// A CRD with several versions and the subresource `scale`.
pub(super) fn gadget_crd() -> Value {
    let version = |name: &str, own: &str, size: u64| {
        let spec = json!({
            "type": "object",
            "properties": {
                "replicas": { "type": "integer", "minimum": 0 },
                "size": { "type": "integer", "default": size },
                own: { "type": "string" },
                "tags": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } },
                "parts": {
                    "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object", "required": ["name"],
                        "properties": { "name": { "type": "string" }, own: { "type": "integer" } },
                    },
                },
            },
        });
        let status = json!({
            "type": "object",
            "properties": { "replicas": { "type": "integer" }, "selector": { "type": "string" }, own: { "type": "boolean" } },
        });
        json!({
            "name": name, "served": name != "v1alpha1", "storage": name == "v1",
            "subresources": {
                "status": {},
                "scale": {
                    "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
                    "labelSelectorPath": ".status.selector",
                },
            },
            "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": spec, "status": status } } },
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "gadgets.explorer.example.com" },
        "spec": {
            "group": "explorer.example.com",
            "names": { "plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList" },
            "scope": "Namespaced",
            "versions": [version("v1beta1", "old", 5), version("v1", "new", 2), version("v1alpha1", "old", 1)],
        },
    })
}

/// The CRD of the comparison with one version.
pub(super) fn widget_crd() -> Value {
    let spec = json!({
        "type": "object",
        "x-kubernetes-validations": [
            { "rule": "!has(self.mode) || self.mode != 'slow' || self.size < 3", "message": "slow widgets are small" },
            { "rule": "!has(oldSelf.name) || has(self.name)" },
        ],
        "properties": {
            "size": { "type": "integer", "format": "int32", "minimum": 1, "maximum": 10, "default": 2 },
            "mode": { "type": "string", "enum": ["fast", "slow"] },
            "name": { "type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$" },
            "parts": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "maxItems": 3,
                "items": {
                    "type": "object", "required": ["name"],
                    "properties": { "name": { "type": "string" }, "value": { "type": "integer", "default": 7 } },
                },
            },
            "tags": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } },
            "words": { "type": "array", "items": { "type": "string" } },
            "map": { "type": "object", "additionalProperties": { "type": "integer" } },
            "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            "atomic": {
                "type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": { "type": "string" },
            },
            "port": { "x-kubernetes-int-or-string": true },
            "nothing": { "type": "string", "nullable": true },
            "nested": {
                "type": "object",
                "properties": { "on": { "type": "boolean", "default": false }, "level": { "type": "number" } },
            },
        },
    });
    let status = json!({
        "type": "object",
        "properties": {
            "ready": { "type": "integer" },
            "conditions": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
                "items": {
                    "type": "object", "required": ["type", "status"],
                    "properties": {
                        "type": { "type": "string" }, "status": { "type": "string" }, "reason": { "type": "string" },
                        "message": { "type": "string" }, "lastTransitionTime": { "type": "string" },
                    },
                },
            },
        },
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.explorer.example.com" },
        "spec": {
            "group": "explorer.example.com",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList" },
            "scope": "Namespaced",
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": {
                    "type": "object", "required": ["spec"], "properties": { "spec": spec, "status": status },
                } },
            }],
        },
    })
}
