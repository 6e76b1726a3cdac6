//! An API server that is a map of JSON objects, for tests of the requests of a controller.
//!
//! The server answers GET, POST, PATCH and DELETE, and refuses requests for another version of an object. It has no
//! schemas: server-side apply is a merge, and nothing is defaulted or validated.

#![allow(dead_code, reason = "no test uses all of it")]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{Request, Response, StatusCode, request};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

/// Keeps objects by their paths, such as `/apis/apps/v1/namespaces/default/deployments/sample`.
#[derive(Clone, Default)]
pub(crate) struct Server(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Value>,
    requests: Vec<String>,
    refused: BTreeMap<String, u16>,
    version: u64,
}

/// A refusal: the code and the reason of the `Status`.
type Refusal = (u16, &'static str);

impl Server {
    /// A client of this server.
    pub(crate) fn client(&self) -> Client {
        let server = self.clone();
        let answer = move |request: Request<Body>| {
            let server = server.clone();
            async move { Ok::<_, Infallible>(server.answer(request).await) }
        };
        Client::new(tower::service_fn(answer), "default")
    }

    /// Creates an object or merges the change into it, as another client would. Returns the result.
    pub(crate) fn put(&self, path: &str, change: &Value) -> Value {
        self.state().put(path, change)
    }

    /// The object at this path, or null.
    pub(crate) fn get(&self, path: &str) -> Value {
        self.state().objects.get(path).cloned().unwrap_or_default()
    }

    /// Deletes an object as another client would; one with finalizers stays. No watch updates an `Objects`: call
    /// `Objects::put` with the rest, or `Objects::remove`.
    pub(crate) fn delete(&self, path: &str) {
        let _ = self.state().delete(path);
    }

    /// The events that were published so far, as `TYPE REASON: NOTE`, sorted by reason.
    pub(crate) fn events(&self) -> Vec<String> {
        let state = self.state();
        let events = state
            .objects
            .iter()
            .filter(|(path, _)| path.contains("/events.k8s.io/"));
        let text =
            |event: &Value, field: &str| event[field].as_str().unwrap_or_default().to_owned();
        let events = events.map(|(_, event)| {
            let [type_, reason, note] = ["type", "reason", "note"].map(|field| text(event, field));
            format!("{type_} {reason}: {note}")
        });
        let mut events: Vec<_> = events.collect();
        events.sort();
        events
    }

    /// From now on, answers requests for this path with this code. The path may be that of a subresource.
    pub(crate) fn refuse(&self, path: &str, code: u16) {
        self.state().refused.insert(path.to_owned(), code);
    }

    /// The requests since the last call, as `METHOD path`.
    pub(crate) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state().requests)
    }

    async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let body = body.collect_bytes().await.unwrap_or_default();
        let body = serde_json::from_slice(&body).unwrap_or_default();
        let (code, answer) = match self.state().answer(&parts, &body) {
            Ok(object) => (200, object),
            Err((code, reason)) => {
                let message = if reason.is_empty() {
                    "not today"
                } else {
                    reason
                };
                let status = json!({
                    "kind": "Status",
                    "status": "Failure",
                    "message": message,
                    "reason": reason,
                    "code": code,
                });
                (code, status)
            }
        };
        let mut response = Response::new(Body::from(answer.to_string().into_bytes()));
        *response.status_mut() = StatusCode::from_u16(code).expect("a code that exists");
        response
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn answer(&mut self, request: &request::Parts, body: &Value) -> Result<Value, Refusal> {
        let path = request.uri.path();
        self.requests.push(format!("{} {path}", request.method));
        if let Some(code) = self.refused.get(path) {
            return Err((*code, ""));
        }
        let query = request.uri.query().unwrap_or_default();
        let kind = request.headers.get("content-type");
        let is = |patch: &str| kind.is_some_and(|kind| kind == patch);
        let (_, rest) = place(path);
        let object = match rest[..] {
            [_, _, subresource] => path
                .trim_end_matches(subresource)
                .trim_end_matches('/')
                .to_owned(),
            _ => path.to_owned(),
        };
        match (request.method.as_str(), rest.len()) {
            ("GET", 1) => self.list(path, query),
            ("GET", _) => self.objects.get(&object).cloned().ok_or((404, "NotFound")),
            ("POST", 1) => self.create(path, &self.managed(path, query, body)),
            ("PATCH", _) if is("application/apply-patch+yaml") => {
                self.check(&object, &body["metadata"])?;
                let body = if path == object {
                    self.managed(&object, query, body)
                } else {
                    body.clone()
                };
                Ok(self.put(&object, &body))
            }
            ("PATCH", _) if body.is_object() => {
                if !self.objects.contains_key(&object) {
                    return Err((404, "NotFound"));
                }
                self.check(&object, &body["metadata"])?;
                Ok(self.put(&object, body))
            }
            ("DELETE", 2) => {
                self.check(&object, &body["preconditions"])?;
                let left = self.delete(&object)?;
                let gone = || json!({ "kind": "Status", "apiVersion": "v1", "status": "Success" });
                Ok(if self.objects.contains_key(&object) {
                    left
                } else {
                    gone()
                })
            }
            _ => Err((405, "MethodNotAllowed")),
        }
    }

    fn list(&self, path: &str, query: &str) -> Result<Value, Refusal> {
        let mut name = None;
        for (key, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            match key {
                "fieldSelector" => name = value.strip_prefix("metadata.name%3D"),
                "labelSelector" => return Err((400, "BadRequest")),
                _ => {}
            }
        }
        let items = self.objects.iter().filter(|(object, _)| {
            let (collection, last) = object.rsplit_once('/').unwrap_or_default();
            let (namespace, _) = place(object);
            let everywhere = namespace
                .map(|namespace| collection.replace(&format!("/namespaces/{namespace}"), ""));
            let within =
                collection == path || everywhere.is_some_and(|everywhere| everywhere == path);
            within && name.is_none_or(|name| name == last)
        });
        let items: Vec<_> = items.map(|(_, object)| object).collect();
        Ok(json!({ "metadata": { "resourceVersion": self.version.to_string() }, "items": items }))
    }

    /// The object with its field manager beside those that it has, of which the fields are not told.
    fn managed(&self, path: &str, query: &str, object: &Value) -> Value {
        let mut parameters = query.split('&').filter_map(|pair| pair.split_once('='));
        let Some((_, manager)) = parameters.find(|(key, _)| *key == "fieldManager") else {
            return object.clone();
        };
        let present = self
            .objects
            .get(path)
            .map(|present| &present["metadata"]["managedFields"]);
        let mut entries = present
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let entry = json!({ "manager": manager });
        if !entries.contains(&entry) {
            entries.push(entry);
        }
        let mut object = object.clone();
        object["metadata"]["managedFields"] = json!(entries);
        object
    }

    fn create(&mut self, collection: &str, object: &Value) -> Result<Value, Refusal> {
        let metadata = &object["metadata"];
        let name = match (metadata["name"].as_str(), metadata["generateName"].as_str()) {
            (Some(name), _) => name.to_owned(),
            (None, Some(start)) => format!("{start}{}", self.version),
            (None, None) => return Err((422, "Invalid")),
        };
        let path = format!("{collection}/{name}");
        if self.objects.contains_key(&path) {
            return Err((409, "AlreadyExists"));
        }
        Ok(self.put(&path, object))
    }

    fn put(&mut self, path: &str, change: &Value) -> Value {
        let before = self.objects.get(path).cloned().unwrap_or_else(|| json!({}));
        let mut object = before.clone();
        merge(&mut object, change);
        let (namespace, rest) = place(path);
        let metadata = &mut object["metadata"];
        metadata["name"] = json!(rest.last());
        if let Some(namespace) = namespace {
            metadata["namespace"] = json!(namespace);
        }
        metadata["resourceVersion"] = before["metadata"]["resourceVersion"].clone();
        if object == before {
            return before;
        }
        // The first version is that of an empty server.
        self.version = self.version.max(1) + 1;
        let metadata = &mut object["metadata"];
        metadata["resourceVersion"] = json!(self.version.to_string());
        if metadata["uid"].is_null() {
            metadata["uid"] = json!(format!("uid-{}", self.version));
        }
        let finalizers = metadata["finalizers"]
            .as_array()
            .is_some_and(|left| !left.is_empty());
        if metadata["deletionTimestamp"].is_null() || finalizers {
            self.objects.insert(path.to_owned(), object.clone());
        } else {
            self.objects.remove(path);
        }
        object
    }

    fn delete(&mut self, path: &str) -> Result<Value, Refusal> {
        let object = self.objects.get(path).ok_or((404, "NotFound"))?;
        let change = match object["metadata"]["deletionTimestamp"] {
            Value::Null => json!({ "metadata": { "deletionTimestamp": "2020-01-01T00:00:00Z" } }),
            _ => json!({}),
        };
        Ok(self.put(path, &change))
    }

    /// Refuses a request for another version of the object, or for another object of this name.
    fn check(&self, path: &str, wanted: &Value) -> Result<(), Refusal> {
        let Some(object) = self.objects.get(path) else {
            return Ok(());
        };
        let same =
            |field: &str| wanted[field].is_null() || wanted[field] == object["metadata"][field];
        if same("uid") && same("resourceVersion") {
            Ok(())
        } else {
            Err((409, "Conflict"))
        }
    }
}

/// Splits a path into the namespace and the parts after it: the plural, the name, the subresource.
fn place(path: &str) -> (Option<&str>, Vec<&str>) {
    let parts: Vec<_> = path.trim_start_matches('/').split('/').collect();
    let version = if parts.first() == Some(&"api") { 1 } else { 2 };
    let rest = parts.get(version + 1..).unwrap_or_default();
    match rest {
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => {
            (Some(*namespace), rest.to_vec())
        }
        rest => (None, rest.to_vec()),
    }
}

/// [RFC 7386](https://www.rfc-editor.org/rfc/rfc7386).
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in fields {
        if !value.is_null() {
            merge(&mut target[key.as_str()], value);
        } else if let Some(target) = target.as_object_mut() {
            target.remove(key);
        }
    }
}
