//! An API server that is a map of JSON objects, with lists, watches and the failures of real ones.

#![allow(dead_code)] // Not every test binary uses all of it.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clap::Parser;
use hyper::{Method, Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use manager::{Failure, Manager, Options};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

const EXISTS: &str = "there is such an object";

/// A server that stores every object it receives. Server-side apply is a merge.
#[derive(Clone, Default)]
pub(crate) struct Server {
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Value>,
    /// Resource version, path of the object, what happened, the object.
    history: Vec<(u64, String, &'static str, Value)>,
    requests: Vec<String>,
    /// Collections that are not served.
    missing: BTreeSet<String>,
    /// Watches from an older resource version get the error that it is too old.
    expired: u64,
    /// A patch that is applied to every written object, like that of a mutating webhook.
    insisted: Value,
    /// Requests that are answered with this code, as `METHOD path`.
    refused: BTreeMap<String, u16>,
    /// The next of these requests makes the client panic.
    panics: BTreeSet<String>,
    version: u64,
}

/// The error of reconciles that don't fail.
#[derive(Debug, thiserror::Error)]
#[error("never")]
pub(crate) struct Never;

impl Failure for Never {
    fn reason(&self) -> &'static str {
        "Never"
    }
}

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    options: Options,
}

impl Server {
    /// A manager for this server, in these namespaces.
    pub(crate) fn manager(&self, namespaces: &[&str], flags: &[&str]) -> Manager {
        let mut args = vec!["test"];
        args.extend(flags);
        for address in ["--health-probe-bind-address=0", "--metrics-bind-address=0"] {
            let (name, _) = address.split_once('=').unwrap_or_default();
            if !flags.iter().any(|flag| flag.starts_with(name)) {
                args.push(address);
            }
        }
        let args = Args::parse_from(args);
        Manager::with_client("test", "0.1.0", args.options, self.client()).in_namespaces(namespaces)
    }

    pub(crate) fn client(&self) -> Client {
        let server = self.clone();
        let answer = move |request: Request<Body>| {
            let server = server.clone();
            async move { Ok::<_, Infallible>(server.answer(request).await) }
        };
        Client::new(tower::service_fn(answer), "default")
    }

    /// Creates or changes an object such as `api/v1/namespaces/a/configmaps/x`.
    pub(crate) fn put(&self, path: &str, object: Value) -> Value {
        let object = self.state().put(path, &object);
        self.changed.notify_waiters();
        object
    }

    pub(crate) fn delete(&self, path: &str) {
        self.state().remove(path);
        self.changed.notify_waiters();
    }

    /// The object at this path, or null.
    pub(crate) fn get(&self, path: &str) -> Value {
        self.state().objects.get(path).cloned().unwrap_or_default()
    }

    /// Changes every object that is written from now on.
    pub(crate) fn insist(&self, change: Value) {
        self.state().insisted = change;
    }

    pub(crate) fn serve(&self, collection: &str, served: bool) {
        let mut state = self.state();
        if served {
            state.missing.remove(collection);
        } else {
            state.missing.insert(collection.to_owned());
        }
    }

    /// From now on, answers a request such as `PATCH api/v1/namespaces/a/configmaps/x` with this code; 200 allows it.
    pub(crate) fn refuse(&self, request: &str, code: u16) {
        self.state().refused.insert(request.to_owned(), code);
    }

    /// The next request of this kind makes the client panic.
    pub(crate) fn panic_at(&self, request: &str) {
        self.state().panics.insert(request.to_owned());
    }

    /// Forgets the history, as etcd does when it is compacted.
    pub(crate) fn expire(&self) {
        {
            let mut state = self.state();
            state.history.clear();
            state.expired = state.version;
        }
        self.changed.notify_waiters();
    }

    /// The requests so far, as `METHOD path`. `LIST` and `WATCH` count as methods.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.state().requests.clone()
    }

    pub(crate) fn count(&self, request: &str) -> usize {
        let requests = self.requests();
        requests
            .iter()
            .filter(|have| have.starts_with(request))
            .count()
    }

    async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path().trim_start_matches('/').to_owned();
        let query = parts.uri.query().unwrap_or_default();
        let value = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value.to_owned())
        };
        let method = match (parts.method.as_str(), value("watch")) {
            ("GET", Some(_)) => "WATCH",
            ("GET", None) => "LIST",
            (other, _) => other,
        };
        let accept = parts
            .headers
            .get("accept")
            .and_then(|accept| accept.to_str().ok());
        let metadata = accept.is_some_and(|accept| accept.contains("as=PartialObjectMetadata"));
        let what = if metadata { " metadata" } else { "" };
        let selector = value("labelSelector")
            .map(|selector| format!(" {selector}"))
            .unwrap_or_default();
        self.state()
            .requests
            .push(format!("{method} {path}{what}{selector}"));
        let request = format!("{method} {path}");
        let panics = self.state().panics.remove(&request);
        assert!(!panics, "{request} panics on purpose");
        let refused = self.state().refused.get(&request).copied();
        if let Some(code) = refused.filter(|code| *code != 200) {
            return failure(code, "not today");
        }
        if self.state().missing.contains(&path) {
            return failure(404, "the server could not find the requested resource");
        }
        let one = method != "PATCH" && value("fieldSelector").is_none();
        let locks = one && path.contains("/namespaces/default/configmaps");
        if path.contains("/leases") || path.contains("/pods") || locks {
            let body = body.collect_bytes().await.unwrap_or_default();
            let object = serde_json::from_slice(&body).unwrap_or_default();
            let answer = self.state().strict(&parts.method, &path, &object);
            self.changed.notify_waiters();
            return answer;
        }
        match method {
            "LIST" => {
                let name =
                    value("fieldSelector").map(|fields| fields.replace("metadata.name%3D", ""));
                response(200, self.state().list(&path, name.as_deref()).to_string())
            }
            "WATCH" => {
                let since = value("resourceVersion").and_then(|version| version.parse().ok());
                response(200, self.watch(&path, since.unwrap_or_default()).await)
            }
            _ => {
                let body = body.collect_bytes().await.unwrap_or_default();
                let mut change: Value = serde_json::from_slice(&body).unwrap_or_default();
                let kind = parts.headers.get("content-type");
                let applies = kind.is_some_and(|kind| kind == "application/apply-patch+yaml");
                if applies && !path.ends_with("/status") {
                    let entry = json!({ "manager": value("fieldManager"), "operation": "Apply" });
                    let there = self.get(&path)["metadata"]["managedFields"].clone();
                    let mut entries = there.as_array().cloned().unwrap_or_default();
                    if !entries.contains(&entry) {
                        entries.push(entry);
                    }
                    change["metadata"]["managedFields"] = json!(entries);
                }
                let refused = self
                    .state()
                    .refuses(path.trim_end_matches("/status"), &change);
                if let Some((code, message)) = refused {
                    return failure(code, message);
                }
                response(
                    200,
                    self.put(path.trim_end_matches("/status"), change)
                        .to_string(),
                )
            }
        }
    }

    /// Answers a watch and ends it after the first event, or after half a minute without one.
    async fn watch(&self, path: &str, since: u64) -> String {
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let changed = self.changed.notified();
            {
                let state = self.state();
                if since < state.expired {
                    let status = json!({ "kind": "Status", "status": "Failure", "reason": "Expired", "code": 410, "message": "too old" });
                    return json!({ "type": "ERROR", "object": status }).to_string() + "\n";
                }
                let news = state
                    .history
                    .iter()
                    .filter(|(version, object, ..)| *version > since && within(path, object));
                let lines = news.map(|(_, _, kind, object)| {
                    json!({ "type": kind, "object": object }).to_string() + "\n"
                });
                let lines: String = lines.collect();
                if !lines.is_empty() {
                    return lines;
                }
            }
            if tokio::time::timeout_at(end, changed).await.is_err() {
                return String::new();
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn put(&mut self, path: &str, change: &Value) -> Value {
        // The first version is that of an empty store.
        self.version = self.version.max(1) + 1;
        let new = !self.objects.contains_key(path);
        let parts: Vec<_> = path.split('/').collect();
        let object = self.objects.entry(path.to_owned()).or_default();
        let before = object.clone();
        merge(object, change);
        if !self.insisted.is_null() {
            merge(object, &self.insisted);
        }
        object["metadata"]["name"] = json!(parts.last());
        if let Some(place) = parts.iter().position(|part| *part == "namespaces") {
            object["metadata"]["namespace"] = json!(parts[place + 1]);
        }
        object["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"].clone();
        if *object == before {
            return before;
        }
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        if new {
            object["metadata"]["uid"] = json!(format!("uid-{}", self.version));
        }
        let object = object.clone();
        let kind = if new { "ADDED" } else { "MODIFIED" };
        self.history
            .push((self.version, path.to_owned(), kind, object.clone()));
        object
    }

    /// Returns the error for a change to another version of the object, or to another object of the same name.
    fn refuses(&self, path: &str, change: &Value) -> Option<(u16, &'static str)> {
        let object = self.objects.get(path)?;
        let differs = |field: &str| {
            let wanted = &change["metadata"][field];
            !wanted.is_null() && *wanted != object["metadata"][field]
        };
        if differs("uid") {
            return Some((422, "metadata.uid: field is immutable"));
        }
        differs("resourceVersion").then_some((409, "the object has been modified"))
    }

    /// Enforces the preconditions of elections: POST only creates, PUT replaces one version, DELETE removes one UID.
    fn strict(&mut self, method: &Method, path: &str, body: &Value) -> Response<Body> {
        let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
        let name = body["metadata"]["name"].as_str().unwrap_or_default();
        let object = if method == Method::POST {
            format!("{path}/{name}")
        } else {
            path.to_owned()
        };
        match (method.as_str(), self.objects.get(&object)) {
            ("GET", Some(have)) => response(200, have.to_string()),
            ("POST", None) => response(201, self.put(&object, body).to_string()),
            ("PUT", Some(have)) if version(have) == version(body) => {
                response(200, self.put(&object, body).to_string())
            }
            ("DELETE", Some(have)) if have["metadata"]["uid"] == body["preconditions"]["uid"] => {
                let gone = have.to_string();
                self.remove(&object);
                response(200, gone)
            }
            ("POST", Some(_)) => failure(409, EXISTS),
            (_, None) => failure(404, "there is no such object"),
            _ => failure(409, "the object is another version"),
        }
    }

    fn remove(&mut self, path: &str) {
        if let Some(mut object) = self.objects.remove(path) {
            self.version += 1;
            object["metadata"]["resourceVersion"] = json!(self.version.to_string());
            self.history
                .push((self.version, path.to_owned(), "DELETED", object));
        }
    }

    /// The objects of a collection, or the one of this name.
    fn list(&self, path: &str, name: Option<&str>) -> Value {
        let named = |object: &str| name.is_none_or(|name| object.rsplit('/').next() == Some(name));
        let items = self
            .objects
            .iter()
            .filter(|(object, _)| within(path, object) && named(object));
        let items: Vec<_> = items.map(|(_, object)| object).collect();
        json!({ "metadata": { "resourceVersion": self.version.to_string() }, "items": items })
    }
}

/// Returns true if the object is in the collection of one namespace or of all namespaces.
fn within(collection: &str, object: &str) -> bool {
    let (of, _) = object.rsplit_once('/').unwrap_or_default();
    let all = of.split_once("/namespaces/").and_then(|(group, rest)| {
        let (_, plural) = rest.split_once('/')?;
        Some(format!("{group}/{plural}"))
    });
    of == collection || all.as_deref() == Some(collection)
}

fn merge(target: &mut Value, patch: &Value) {
    match patch {
        Value::Object(fields) => {
            if !target.is_object() {
                *target = json!({});
            }
            for (key, value) in fields {
                merge(&mut target[key.as_str()], value);
            }
        }
        value => *target = value.clone(),
    }
}

fn failure(code: u16, message: &str) -> Response<Body> {
    let reason = match code {
        403 => "Forbidden",
        404 => "NotFound",
        409 if message == EXISTS => "AlreadyExists",
        _ => "Conflict",
    };
    let status = json!({ "kind": "Status", "status": "Failure", "message": message, "reason": reason, "code": code });
    response(code, status.to_string())
}

fn response(code: u16, body: String) -> Response<Body> {
    let mut response = Response::new(Body::from(body.into_bytes()));
    *response.status_mut() = StatusCode::from_u16(code).expect("a code that exists");
    response
}
