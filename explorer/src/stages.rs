//! Stages: rules that play the controllers of a cluster.

use http::Method;
use serde_json::{Value, json};

use crate::exploration::ObjectKey;
use crate::server::ApiServer;

mod children;

/// The client that stages write as.
const CONTROLLER: &str = "kube-controller-manager";

/// A rule for the objects of one resource: their status, made from the rest of the object.
///
/// In the status, a string such as `"{/spec/replicas}"` is the value at this JSON pointer of the object. `"{now}"` is the time
/// at which the field was set first. Fields that the rule does not name stay.
#[derive(Clone, Debug)]
pub struct Stage {
    resource: String,
    status: Value,
    /// The name of the only object, or none for all.
    name: Option<String>,
}

impl Stage {
    /// A rule for a resource, such as `deployments.apps`.
    pub fn new(resource: &str, status: Value) -> Self {
        Self { resource: resource.to_owned(), status, name: None }
    }

    /// The rule for only the object with this name. It wins over rules for all objects.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    fn applies(&self, resource: &str, object: &Value) -> bool {
        self.resource == resource && self.name.as_ref().is_none_or(|name| object["metadata"]["name"] == **name)
    }
}

/// The rules of an environment, where the last rule for an object wins.
///
/// The default plays the controllers of a healthy cluster: Deployments have a ReplicaSet, ReplicaSets and StatefulSets
/// have Pods, DaemonSets have one Pod, Pods are ready, Jobs complete and PersistentVolumeClaims are bound.
#[derive(Clone, Debug)]
pub struct Stages {
    stages: Vec<Stage>,
    /// Creates the objects that workloads own.
    children: bool,
}

impl Default for Stages {
    fn default() -> Self {
        let mut stages = Self { stages: Vec::new(), children: true };
        for (resource, status) in healthy() {
            stages = stages.with(Stage::new(resource, status));
        }
        stages
    }
}

impl Stages {
    /// An environment without rules.
    pub fn none() -> Self {
        Self { stages: Vec::new(), children: false }
    }

    /// Adds a rule.
    #[must_use]
    pub fn with(mut self, stage: Stage) -> Self {
        self.stages.push(stage);
        self
    }

    /// Makes an object fail, as a cluster shows it: the Pods of a Deployment, ReplicaSet, StatefulSet or DaemonSet cannot
    /// pull their image, a Job fails, and a PersistentVolumeClaim stays pending.
    ///
    /// `resource` is a name such as `deployments.apps`. Other resources have no failure, and stay as they are.
    #[must_use]
    pub fn failing(mut self, resource: &str, name: &str) -> Self {
        let status = match resource {
            "deployments.apps" => workload_status(
                0,
                &[
                    condition("Available", "False", "MinimumReplicasUnavailable"),
                    condition("Progressing", "False", "ProgressDeadlineExceeded"),
                ],
            ),
            "replicasets.apps" => json!({
                "observedGeneration": "{/metadata/generation}", "replicas": "{/spec/replicas}",
                "fullyLabeledReplicas": "{/spec/replicas}", "readyReplicas": 0, "availableReplicas": 0,
            }),
            "statefulsets.apps" => workload_status(0, &[]),
            "daemonsets.apps" => daemon_status(false),
            "jobs.batch" => json!({
                "startTime": "{now}", "failed": 1,
                "conditions": [
                    job_condition("FailureTarget", "BackoffLimitExceeded"), job_condition("Failed", "BackoffLimitExceeded"),
                ],
            }),
            "persistentvolumeclaims" => json!({ "phase": "Pending" }),
            "pods" => waiting_status(),
            _ => return self,
        };
        self.stages.push(Stage::new(resource, status).named(name));
        self
    }

    /// Applies each rule once to all objects of its resource. Returns the number of changed objects.
    ///
    /// # Errors
    ///
    /// The server has refused a write. The error has its answer.
    pub fn step(&self, server: &ApiServer) -> Result<usize, String> {
        let mut changes = 0;
        if self.children {
            changes += children::step(server)?;
        }
        let mut resources: Vec<&str> = self.stages.iter().map(|stage| stage.resource.as_str()).collect();
        resources.sort_unstable();
        resources.dedup();
        for resource in resources {
            for object in server.shared(resource) {
                if object["metadata"]["deletionTimestamp"].is_null() {
                    changes += usize::from(self.set_status(server, resource, &object)?);
                }
            }
        }
        Ok(changes)
    }

    fn set_status(&self, server: &ApiServer, resource: &str, object: &Value) -> Result<bool, String> {
        let pull_fails = resource == "pods" && self.fails(server, object);
        let waiting = Stage::new(resource, waiting_status());
        let stage = self.stages.iter().rev().find(|stage| stage.applies(resource, object));
        let Some(stage) = stage.map(|stage| if pull_fails { &waiting } else { stage }) else {
            return Ok(false);
        };
        let mut status = rendered(&stage.status, object, &object["status"], &server.time());
        if resource == "pods" {
            children::complete_pod(object, &mut status);
        }
        let mut merged = object["status"].clone();
        json_patch::merge(&mut merged, &status);
        children::drop_zeros(resource, &mut merged, &object["status"]);
        if merged == object["status"] {
            return Ok(false);
        }
        server.act(Method::PATCH, &key(resource, object), "/status", CONTROLLER, &json!({ "status": status }))?;
        Ok(true)
    }

    /// True for a Pod whose owner, or the owner of that one, fails.
    fn fails(&self, server: &ApiServer, object: &Value) -> bool {
        let Some(owner) = object["metadata"]["ownerReferences"].get(0) else {
            return false;
        };
        let resource = match owner["kind"].as_str() {
            Some("ReplicaSet") => "replicasets.apps",
            Some("Deployment") => "deployments.apps",
            Some("StatefulSet") => "statefulsets.apps",
            Some("DaemonSet") => "daemonsets.apps",
            _ => return false,
        };
        let named = |stage: &Stage| stage.resource == resource && stage.name.as_deref() == owner["name"].as_str();
        let ready = |stage: &Stage| stage.status["readyReplicas"] == 0 || stage.status["numberReady"] == 0;
        self.stages.iter().rev().find(|stage| named(stage)).is_some_and(ready)
            || server
                .shared(resource)
                .iter()
                .any(|found| found["metadata"]["uid"] == owner["uid"] && self.fails(server, found))
    }
}

/// The place of an object.
fn key(resource: &str, object: &Value) -> ObjectKey {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    (resource.to_owned(), text("namespace"), text("name"))
}

fn condition(kind: &str, status: &str, reason: &str) -> Value {
    json!({
        "type": kind, "status": status, "reason": reason, "lastUpdateTime": "{now}", "lastTransitionTime": "{now}",
    })
}

fn job_condition(kind: &str, reason: &str) -> Value {
    json!({ "type": kind, "status": "True", "reason": reason, "lastProbeTime": "{now}", "lastTransitionTime": "{now}" })
}

/// The status of a Deployment or StatefulSet. `ready` is the number of ready replicas, or a pointer to it.
fn workload_status(ready: impl Into<Value>, conditions: &[Value]) -> Value {
    let ready = ready.into();
    let mut status = json!({
        "observedGeneration": "{/metadata/generation}", "replicas": "{/spec/replicas}",
        "updatedReplicas": "{/spec/replicas}", "readyReplicas": ready, "availableReplicas": ready,
    });
    if !conditions.is_empty() {
        status["conditions"] = conditions.to_vec().into();
    }
    status
}

/// The status of a DaemonSet in a cluster with one node.
fn daemon_status(ready: bool) -> Value {
    let count = if ready { "numberAvailable" } else { "numberUnavailable" };
    json!({
        "observedGeneration": "{/metadata/generation}", "desiredNumberScheduled": 1, "currentNumberScheduled": 1,
        "updatedNumberScheduled": 1, "numberMisscheduled": 0, "numberReady": u8::from(ready), count: 1,
    })
}

/// The status of a Pod whose image cannot be pulled.
fn waiting_status() -> Value {
    let unready = |kind: &str| json!({ "type": kind, "status": "False", "reason": "ContainersNotReady", "lastTransitionTime": "{now}" });
    json!({ "phase": "Pending", "conditions": [unready("Ready"), unready("ContainersReady")], "startTime": "{now}" })
}

/// The status of healthy objects, by resource.
fn healthy() -> Vec<(&'static str, Value)> {
    let ready = |kind: &str| json!({ "type": kind, "status": "True", "lastTransitionTime": "{now}" });
    vec![
        (
            "deployments.apps",
            workload_status(
                "{/spec/replicas}",
                &[
                    condition("Available", "True", "MinimumReplicasAvailable"),
                    condition("Progressing", "True", "NewReplicaSetAvailable"),
                ],
            ),
        ),
        (
            "replicasets.apps",
            json!({
                "observedGeneration": "{/metadata/generation}", "replicas": "{/spec/replicas}",
                "fullyLabeledReplicas": "{/spec/replicas}", "readyReplicas": "{/spec/replicas}",
                "availableReplicas": "{/spec/replicas}",
            }),
        ),
        ("statefulsets.apps", workload_status("{/spec/replicas}", &[])),
        ("daemonsets.apps", daemon_status(true)),
        (
            "jobs.batch",
            json!({
                "startTime": "{now}", "completionTime": "{now}", "succeeded": "{/spec/completions}",
                "conditions": [
                    job_condition("SuccessCriteriaMet", "CompletionsReached"),
                    job_condition("Complete", "CompletionsReached"),
                ],
            }),
        ),
        (
            "persistentvolumeclaims",
            json!({
                "phase": "Bound", "accessModes": "{/spec/accessModes}", "capacity": "{/spec/resources/requests}",
            }),
        ),
        (
            "pods",
            json!({
                "phase": "Running", "startTime": "{now}",
                "conditions": [ready("Ready"), ready("ContainersReady"), ready("Initialized"), ready("PodScheduled")],
            }),
        ),
    ]
}

/// A template with the values of an object. `current` is the value that the result replaces.
fn rendered(template: &Value, object: &Value, current: &Value, now: &str) -> Value {
    match template {
        Value::String(text) => match text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some("now") if current.is_string() => current.clone(),
            Some("now") => now.into(),
            Some(pointer) => object.pointer(pointer).cloned().unwrap_or_default(),
            None => template.clone(),
        },
        Value::Array(items) => {
            items.iter().enumerate().map(|(at, item)| rendered(item, object, &current[at], now)).collect()
        }
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), rendered(value, object, &current[key.as_str()], now)))
            .collect(),
        other => other.clone(),
    }
}
