//! The objects that an operator makes for given samples.

use std::io::{self, Write as _};

use serde_json::{Value, json};

use super::Explorer;
use super::act::create;
use super::gate::Disturbance;
use crate::exploration::OTHERS;

/// The variable with an object in JSON, which `memcached-sdk render` sets.
const REQUEST: &str = "EXPLORER_RENDER";

/// Metadata that the server sets.
pub(super) const SET_BY_SERVER: [&str; 5] =
    ["creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"];

impl Explorer {
    /// The objects of the operator once the state has settled, by resource, namespace and name. They have neither a status
    /// nor metadata of the server.
    ///
    /// # Errors
    ///
    /// The server refuses a sample or does not implement a request, no rule permits a request, or the state does not settle.
    pub fn render(&self) -> Result<Vec<Value>, String> {
        self.rendered(&self.samples)
    }

    fn rendered(&self, samples: &[Value]) -> Result<Vec<Value>, String> {
        let server = self.server.snapshot();
        let create = create(samples.to_vec());
        // A refusal stands before requests that follow from it.
        create(&server.snapshot()).map_err(|refusal| match refusal.split_once(": ") {
            Some((_request, message)) => message.to_owned(),
            None => refusal,
        })?;
        let outcome = self.run(&server, Disturbance::Nothing, vec![create], false);
        if let Some(request) = outcome.unsupported.first() {
            return Err(format!("the API server in memory does not implement {request}"));
        }
        if let Some(request) = outcome.forbidden.first() {
            return Err(request.trim_start_matches("+ ").to_owned());
        }
        if let Some(reason) = outcome.restless {
            return Err(reason);
        }
        let samples = samples.iter().map(|sample| server.place(sample)).collect::<Result<Vec<_>, _>>()?;
        let objects = server.all().into_iter().filter(|(place, object)| {
            !self.ignored.contains(&place.0) && !samples.contains(place) && is_of_operator(object)
        });
        Ok(objects.map(|(_, object)| desired(object)).collect())
    }

    /// Answers the request of `memcached-sdk render`, if there is one, and returns true. Explorers without a sample of the
    /// kind of the object say nothing.
    pub(super) fn render_requested(&self) -> bool {
        let Some(object) = std::env::var(REQUEST).ok().and_then(|text| serde_json::from_str::<Value>(&text).ok())
        else {
            return false;
        };
        let kind = |object: &Value| {
            let group =
                object["apiVersion"].as_str().and_then(|version| version.split_once('/')).map(|(group, _)| group);
            (group.map(str::to_owned), object["kind"].clone())
        };
        let mut samples = self.samples.clone();
        if let Some(sample) = samples.iter_mut().find(|sample| kind(sample) == kind(&object)) {
            *sample = object;
            let answer = match self.rendered(&samples) {
                Ok(objects) => json!({ "rendered": objects }),
                Err(reason) => json!({ "refused": reason }),
            };
            // Test harnesses print no line feed before the output of a test. They do not capture this stream.
            let _ = writeln!(io::stdout(), "\n{answer}");
        }
        true
    }
}

/// True if a manager that is not part of the cluster owns a field.
fn is_of_operator(object: &Value) -> bool {
    let entries = object["metadata"]["managedFields"].as_array();
    let mut managers = entries.into_iter().flatten().filter_map(|entry| entry["manager"].as_str());
    managers.any(|manager| !OTHERS.contains(&manager))
}

/// Without the status, and without what the server sets.
fn desired(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|field, _| !SET_BY_SERVER.contains(&field.as_str()));
    }
    for owner in object["metadata"]["ownerReferences"].as_array_mut().into_iter().flatten() {
        if let Some(fields) = owner.as_object_mut() {
            fields.remove("uid");
        }
    }
    object
}
