//! An API server in memory, for tests of the requests of a controller.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::http::request;
use hyper::{Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::client::objects::Objects;
use crate::object::Object;

/// An API server that is a map of JSON objects by path, such as `/apis/apps/v1/namespaces/default/deployments/sample`.
///
/// It answers GET, POST, PATCH and DELETE, and refuses a write that expects another resource version or UID. It knows no
/// schemas: server-side apply merges, and nothing is defaulted or validated. For these there is
/// [`ControlPlane`](super::ControlPlane). It serves no watches: [`MockServer::deliver`] stands for them.
///
/// Clones share the objects.
///
/// # Examples
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::Api;
/// use manager::testing::MockServer;
/// use serde_json::json;
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let server = MockServer::default();
/// let path = "/api/v1/namespaces/default/configmaps/sample";
/// server.put(path, &json!({ "data": { "color": "red" } }));
///
/// let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
/// assert_eq!(maps.get("sample").await.unwrap().data.unwrap()["color"], "red");
/// assert_eq!(server.requests(), [format!("GET {path}")]);
/// # });
/// ```
#[derive(Clone, Default)]
pub struct MockServer(Arc<Mutex<MockState>>);

#[derive(Default)]
struct MockState {
    objects: BTreeMap<String, Value>,
    requests: Vec<String>,
    refused: BTreeMap<String, u16>,
    version: u64,
}

/// The code and the reason of a `Status` that refuses a request.
type Refusal = (u16, &'static str);

impl MockServer {
    /// Returns a client of this server, with the default namespace `default`.
    ///
    /// # Examples
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let client = manager::testing::MockServer::default().client();
    /// assert_eq!(client.default_namespace(), "default");
    /// # });
    /// ```
    pub fn client(&self) -> Client {
        let server = self.clone();
        let answer = move |request: Request<Body>| {
            let server = server.clone();
            async move { Ok::<_, Infallible>(server.answer(request).await) }
        };
        Client::new(tower::service_fn(answer), "default")
    }

    /// Creates an object or merges `change` into it, as another client does, and returns the result.
    ///
    /// # Examples
    ///
    /// ```
    /// # use manager::testing::MockServer;
    /// # use serde_json::json;
    /// let server = MockServer::default();
    /// let path = "/api/v1/namespaces/default/configmaps/sample";
    /// server.put(path, &json!({ "data": { "color": "red" } }));
    /// let merged = server.put(path, &json!({ "data": { "size": "3" } }));
    /// assert_eq!(merged["data"], json!({ "color": "red", "size": "3" }));
    /// ```
    pub fn put(&self, path: &str, change: &Value) -> Value {
        self.state().put(path, change)
    }

    /// Like [`MockServer::put`], then stores the result in a cache, as a watch does.
    ///
    /// # Panics
    ///
    /// The result is not an object of the kind.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use manager::Objects;
    /// # use manager::testing::MockServer;
    /// # use serde_json::json;
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let server = MockServer::default();
    /// let maps: Objects<ConfigMap> = Objects::new(server.client());
    /// server.deliver("/api/v1/namespaces/default/configmaps/sample", &json!({ "data": {} }), &maps);
    /// assert!(maps.get("default", "sample").is_some());
    /// # });
    /// ```
    pub fn deliver<K>(&self, path: &str, change: &Value, objects: &Objects<K>)
    where
        K: Object + DeserializeOwned,
    {
        let object = serde_json::from_value(self.put(path, change));
        objects.put(object.unwrap_or_else(|error| panic!("not an object of the kind: {error}")));
    }

    /// Returns the object at `path`, or null.
    ///
    /// # Examples
    ///
    /// ```
    /// # use manager::testing::MockServer;
    /// assert!(MockServer::default().get("/api/v1/nodes/one").is_null());
    /// ```
    pub fn get(&self, path: &str) -> Value {
        self.state().objects.get(path).cloned().unwrap_or_default()
    }

    /// Deletes an object, as another client does. An object with finalizers stays, with a deletion timestamp. No cache
    /// follows: [`Objects::put`] the rest of the object there, or [`Objects::remove`] it.
    ///
    /// # Examples
    ///
    /// ```
    /// # use manager::testing::MockServer;
    /// # use serde_json::json;
    /// let server = MockServer::default();
    /// server.put("/api/v1/nodes/one", &json!({ "metadata": { "finalizers": ["example.com/x"] } }));
    /// server.delete("/api/v1/nodes/one");
    /// assert!(server.get("/api/v1/nodes/one")["metadata"]["deletionTimestamp"].is_string());
    /// ```
    pub fn delete(&self, path: &str) {
        let _ = self.state().delete(path);
    }

    /// Returns the published events so far, as `TYPE REASON: NOTE`, sorted.
    ///
    /// # Examples
    ///
    /// ```
    /// # use manager::testing::MockServer;
    /// # use serde_json::json;
    /// let server = MockServer::default();
    /// let event = json!({ "type": "Normal", "reason": "Started", "note": "It runs" });
    /// server.put("/apis/events.k8s.io/v1/namespaces/default/events/one", &event);
    /// assert_eq!(server.events(), ["Normal Started: It runs"]);
    /// ```
    pub fn events(&self) -> Vec<String> {
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

    /// Answers requests for `path`, which may be that of a subresource, with this status code from now on.
    ///
    /// # Examples
    ///
    /// ```
    /// # use manager::testing::MockServer;
    /// # use k8s_openapi::api::core::v1::Node;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let server = MockServer::default();
    /// server.refuse("/api/v1/nodes/one", 403);
    /// assert!(kube::Api::<Node>::all(server.client()).get("one").await.is_err());
    /// # });
    /// ```
    pub fn refuse(&self, path: &str, code: u16) {
        self.state().refused.insert(path.to_owned(), code);
    }

    /// Returns the requests since the last call, as `METHOD path`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use manager::testing::MockServer;
    /// # use k8s_openapi::api::core::v1::Node;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let server = MockServer::default();
    /// let _ = kube::Api::<Node>::all(server.client()).get("one").await;
    /// assert_eq!(server.requests(), ["GET /api/v1/nodes/one"]);
    /// assert_eq!(server.requests(), [""; 0]);
    /// # });
    /// ```
    pub fn requests(&self) -> Vec<String> {
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

    fn state(&self) -> MutexGuard<'_, MockState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MockState {
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

    /// Adds the field manager of the request to the object, without its fields.
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

    /// Returns a conflict if the request expects another UID or resource version.
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

/// Splits a path into its namespace and the rest: plural, name, subresource.
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

/// JSON merge patch, as in [RFC 7386](https://www.rfc-editor.org/rfc/rfc7386).
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
