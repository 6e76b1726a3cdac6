//! Stages: rules that play the controllers of a cluster.

use http::Method;
use serde_json::{Value, json};

use crate::server::ApiServer;
use crate::store::Key;

/// A rule for the objects of one resource: their status, made from the rest of the object.
///
/// In the status, a string such as `"{/spec/replicas}"` is the value at this JSON pointer of the object. `"{now}"` is the time
/// at which the field was set first. Fields that the rule does not name stay.
#[derive(Clone, Debug)]
pub struct Stage {
    resource: String,
    status: Value,
}

impl Stage {
    /// A rule for a resource, such as `deployments.apps`.
    pub fn new(resource: &str, status: Value) -> Self {
        Self { resource: resource.to_owned(), status }
    }
}

/// The rules of an environment. The default makes each Deployment available.
#[derive(Clone, Debug)]
pub struct Stages(Vec<Stage>);

impl Default for Stages {
    fn default() -> Self {
        let condition = |kind: &str, reason: &str| {
            json!({
                "type": kind, "status": "True", "reason": reason, "lastUpdateTime": "{now}", "lastTransitionTime": "{now}",
            })
        };
        Self::none().with(Stage::new(
            "deployments.apps",
            json!({
                "observedGeneration": "{/metadata/generation}",
                "replicas": "{/spec/replicas}",
                "updatedReplicas": "{/spec/replicas}",
                "readyReplicas": "{/spec/replicas}",
                "availableReplicas": "{/spec/replicas}",
                "conditions": [
                    condition("Available", "MinimumReplicasAvailable"), condition("Progressing", "NewReplicaSetAvailable"),
                ],
            }),
        ))
    }
}

impl Stages {
    /// An environment without rules.
    pub fn none() -> Self {
        Self(Vec::new())
    }

    /// Adds a rule.
    #[must_use]
    pub fn with(mut self, stage: Stage) -> Self {
        self.0.push(stage);
        self
    }

    /// Applies each rule once to all objects of its resource. Returns the number of changed objects.
    ///
    /// # Errors
    ///
    /// The server has refused a status. The error has its answer.
    pub fn step(&self, server: &ApiServer) -> Result<usize, String> {
        let mut changes = 0;
        for stage in &self.0 {
            for object in server.objects(&stage.resource) {
                if !object["metadata"]["deletionTimestamp"].is_null() {
                    continue;
                }
                let status = rendered(&stage.status, &object, &object["status"], &server.time());
                let mut merged = object["status"].clone();
                json_patch::merge(&mut merged, &status);
                if merged != object["status"] {
                    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
                    let key: Key = (stage.resource.clone(), text("namespace"), text("name"));
                    server.act(
                        Method::PATCH,
                        &key,
                        "/status",
                        "kube-controller-manager",
                        &json!({ "status": status }),
                    )?;
                    changes += 1;
                }
            }
        }
        Ok(changes)
    }
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
