//! The server and its service.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::{Value, json};

use crate::authorize::User;
use crate::call::Call;
use crate::call::webhook::Effect;
use crate::exploration::ObjectKey;
use crate::gc;
use crate::request::Request;
use crate::resource::KindVersions;
use crate::response::{Answer, Refusal, ResponseBody};
use crate::schema::Node;
use crate::store::{Change, Store};

/// The decision of a hook about a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Handles the request.
    Pass,
    /// Answers with a `Status` of this code, reason and message.
    Refuse(u16, String, String),
    /// Closes the connection before the request has an effect.
    DropBefore,
    /// Handles the request, then closes the connection without an answer.
    DropAfter,
}

/// The error of a request whose connection was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped;

impl std::fmt::Display for Dropped {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("connection closed by the server")
    }
}

impl std::error::Error for Dropped {}

type Hook = Arc<dyn Fn(&Request) -> Verdict + Send + Sync>;

/// An API server in memory. Clones share its state; [`ApiServer::snapshot`] copies it.
#[derive(Clone)]
pub struct ApiServer {
    store: Arc<Mutex<Store>>,
    hook: Option<Hook>,
    user: Option<User>,
}

impl Default for ApiServer {
    fn default() -> Self {
        Self::new()
    }
}

impl ApiServer {
    /// Starts a server with the namespaces `default` and `kube-system`, and the ServiceAccount `default` in each.
    pub fn new() -> Self {
        let server = Self { store: Arc::default(), hook: None, user: None };
        for namespace in ["default", "kube-system"] {
            server.add_namespace(namespace);
        }
        server
    }

    /// Creates a namespace with its ServiceAccount `default`, as kube-controller-manager does.
    pub fn add_namespace(&self, name: &str) {
        for (uri, object) in [
            ("/api/v1/namespaces".to_owned(), json!({ "metadata": { "name": name } })),
            (format!("/api/v1/namespaces/{name}/serviceaccounts"), json!({ "metadata": { "name": "default" } })),
        ] {
            let request = http::Request::post(uri).header(http::header::USER_AGENT, "kube-controller-manager");
            if let Ok(request) = request.body(()) {
                let body = Bytes::from(object.to_string());
                handle(&self.store, None, &Request::read(&request.into_parts().0, body));
            }
        }
    }

    /// Adds the kind of a CRD.
    ///
    /// # Errors
    ///
    /// The CRD has a feature that the server does not have. The error names it.
    pub fn add_crd(&self, crd: &Value) -> Result<(), String> {
        let kind = KindVersions::of_crd(crd)
            .map_err(|refusal| refusal.0["message"].as_str().unwrap_or_default().to_owned())?;
        self.replace_kind(kind);
        Ok(())
    }

    /// All kinds.
    pub(crate) fn kinds(&self) -> Vec<Arc<KindVersions>> {
        self.state().resources.values().cloned().collect()
    }

    /// Adds a kind, or replaces it.
    pub(crate) fn replace_kind(&self, kind: KindVersions) {
        let mut store = self.state();
        let mut resources = (*store.resources).clone();
        resources.insert(kind.storage().qualified(), Arc::new(kind));
        store.resources = Arc::new(resources);
    }

    /// Returns a server with a copy of the state, without open watches. It has the same hook.
    pub fn snapshot(&self) -> Self {
        Self { store: Arc::new(Mutex::new(self.state().clone())), hook: self.hook.clone(), user: self.user.clone() }
    }

    /// Returns a server with the same state, which asks `hook` about each request.
    pub fn with_hook(&self, hook: impl Fn(&Request) -> Verdict + Send + Sync + 'static) -> Self {
        Self { store: self.store.clone(), hook: Some(Arc::new(hook)), user: self.user.clone() }
    }

    /// Returns a server with the same state for a user, whose requests need a rule of these roles.
    ///
    /// `roles` are Roles and ClusterRoles. A Role permits requests in its own namespace.
    pub fn as_user(&self, name: &str, roles: &[Value]) -> Self {
        Self { store: self.store.clone(), hook: self.hook.clone(), user: Some(User::new(name, roles)) }
    }

    /// Returns the service for [`kube::Client::new`].
    pub fn service(&self) -> ApiService {
        ApiService(self.clone())
    }

    /// Advances the time of the server. Watches with a timeout may end.
    pub fn advance(&self, time: Duration) {
        let mut store = self.state();
        store.elapsed += time;
        store.wakers.wake();
    }

    /// Collects garbage until nothing changes: dependents without owners, and owners that wait for their dependents.
    /// Returns the number of changes.
    pub fn collect_garbage(&self) -> usize {
        std::iter::from_fn(|| gc::step(&mut self.state()).then_some(())).count()
    }

    /// Forgets the history: watches and pages of older revisions answer 410.
    pub fn compact(&self) {
        self.state().compact();
    }

    /// Sends a bookmark to all watches that want them.
    pub fn send_bookmarks(&self) {
        let mut store = self.state();
        let revision = store.revision;
        store.bookmarks.push(revision);
        store.wakers.wake();
    }

    /// Ends all watches, as a restart does.
    pub fn close_watches(&self) {
        let mut store = self.state();
        store.closed += 1;
        store.wakers.wake();
    }

    /// Returns all objects of a resource, such as `deployments.apps`, in the order of their names and in the storage version.
    pub fn objects(&self, resource: &str) -> Vec<Value> {
        self.shared(resource).iter().map(|object| (**object).clone()).collect()
    }

    /// Like [`ApiServer::objects`], without a copy.
    pub(crate) fn shared(&self, resource: &str) -> Vec<Arc<Value>> {
        let store = self.state();
        let objects = store.list(resource, "").map(|(_, object)| object);
        match store.resources.get(resource) {
            Some(kind) => {
                let read = |object: &Arc<Value>| kind.read(object, kind.storage()).unwrap_or_else(|_| object.clone());
                objects.map(read).collect()
            }
            None => Vec::new(),
        }
    }

    /// Handles a request.
    ///
    /// # Errors
    ///
    /// The hook has closed the connection.
    pub fn answer(&self, request: &Request) -> Result<http::Response<ResponseBody>, Dropped> {
        match self.hook.as_ref().map_or(Verdict::Pass, |hook| hook(request)) {
            Verdict::Pass => Ok(handle(&self.store, self.user.as_ref(), request).response()),
            Verdict::Refuse(code, reason, message) => {
                Ok(Answer::from(Refusal::new(code, &reason, message, Value::Null)).response())
            }
            Verdict::DropBefore => Err(Dropped),
            Verdict::DropAfter => {
                handle(&self.store, self.user.as_ref(), request);
                Err(Dropped)
            }
        }
    }

    /// Takes the effects of webhooks since the last call.
    pub(crate) fn take_effects(&self) -> Vec<Effect> {
        std::mem::take(&mut self.state().effects)
    }

    /// Adds objects as they are stored, with their status and their UIDs, and lets a day pass.
    ///
    /// # Errors
    ///
    /// The kind of an object is unknown.
    pub(crate) fn restore(&self, objects: &[Value]) -> Result<(), String> {
        for object in objects {
            let place = self.place(object)?;
            self.state().put(place, object.clone());
        }
        let mut store = self.state();
        store.skip_identities();
        store.elapsed += Duration::from_secs(24 * 60 * 60);
        Ok(())
    }

    /// The time of the server in the form of objects.
    pub(crate) fn time(&self) -> String {
        self.state().time()
    }

    /// The number of changes so far.
    pub(crate) fn changes(&self) -> usize {
        self.state().history.len()
    }

    /// The revision of the last change.
    pub(crate) fn revision(&self) -> u64 {
        self.state().revision
    }

    /// The changes after the first `start` ones.
    pub(crate) fn history(&self, start: usize) -> Vec<Change> {
        self.state().history.iter().skip(start).cloned().collect()
    }

    /// The resources of the changes after the first `start` ones.
    pub(crate) fn changed(&self, start: usize) -> Vec<String> {
        self.state().history.iter().skip(start).map(|change| change.key.0.clone()).collect()
    }

    /// All objects with their places.
    pub(crate) fn all(&self) -> BTreeMap<ObjectKey, Value> {
        self.state().objects.iter().map(|(key, object)| (key.clone(), (**object).clone())).collect()
    }

    /// The place of a manifest. A missing namespace is `default`.
    pub(crate) fn place(&self, object: &Value) -> Result<ObjectKey, String> {
        let store = self.state();
        let (version, kind) = (&object["apiVersion"], &object["kind"]);
        let mut resources = store.resources.values().flat_map(|known| known.all());
        let resource = resources.find(|known| *version == known.api_version() && *kind == known.kind);
        let resource = resource.ok_or_else(|| format!("the kind {version} {kind} is unknown"))?;
        let text = |field: &str| object["metadata"][field].as_str().map(str::to_owned);
        let namespace = text("namespace").unwrap_or_else(|| "default".to_owned());
        let namespace = if resource.namespaced { namespace } else { String::new() };
        Ok((resource.qualified(), namespace, text("name").unwrap_or_default()))
    }

    /// The schema of the kind of a manifest.
    pub(crate) fn schema(&self, object: &Value) -> Option<Arc<Node>> {
        let (resource, ..) = self.place(object).ok()?;
        let version = object["apiVersion"].as_str().unwrap_or_default();
        let known = self.state().resources.get(&resource).cloned()?;
        known.at(version).map(|resource| resource.schema.clone())
    }

    /// Sends a request of another client about an object, without the hook. POST is for a new object.
    pub(crate) fn act(
        &self,
        method: Method,
        key: &ObjectKey,
        subresource: &str,
        manager: &str,
        body: &Value,
    ) -> Result<(), String> {
        let (resource, namespace, name) = key;
        let Some(kind) = self.state().resources.get(resource).cloned() else {
            return Err(format!("the resource {resource} is unknown"));
        };
        // A manifest may have another version than the stored one.
        let version = body["apiVersion"].as_str().filter(|_| method == Method::POST);
        let resource = version.and_then(|version| kind.at(version)).unwrap_or(kind.storage());
        let root = if resource.group.is_empty() { "api" } else { "apis" };
        let mut path = format!("/{root}/{}", resource.api_version());
        if !namespace.is_empty() {
            path += &format!("/namespaces/{namespace}");
        }
        path += &format!("/{}", resource.plural);
        if method != Method::POST {
            path += &format!("/{name}{subresource}");
        }
        let content_type =
            if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" }.to_owned();
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let query = BTreeMap::from([("fieldManager".to_owned(), manager.to_owned())]);
        let request = Request { method, path, query, content_type, user_agent: manager.to_owned(), body };
        match handle(&self.store, None, &request) {
            Answer::Document(status, document) if !status.is_success() => {
                let message = document["message"].as_str().unwrap_or_default();
                Err(format!("{} {}: {message}", request.method, request.path))
            }
            _ => Ok(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, Store> {
        lock(&self.store)
    }
}

/// The state, even after a panic of another thread.
pub(crate) fn lock(store: &Mutex<Store>) -> MutexGuard<'_, Store> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An [`ApiServer`] as a service for [`kube::Client::new`].
#[derive(Clone)]
pub struct ApiService(ApiServer);

/// The error of a service.
type ServiceError = Box<dyn std::error::Error + Send + Sync>;

impl tower::Service<http::Request<Body>> for ApiService {
    type Response = http::Response<ResponseBody>;
    type Error = ServiceError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, ServiceError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ServiceError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let server = self.0.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            Ok(server.answer(&Request::read(&parts, body))?)
        })
    }
}

fn handle(shared: &Arc<Mutex<Store>>, user: Option<&User>, request: &Request) -> Answer {
    if let (Some(user), Some(target)) = (user, request.target())
        && let Err(refusal) = user.check(request, &target)
    {
        return refusal.into();
    }
    let answer = match Call::new(shared, request) {
        Ok(Ok(mut call)) => call.answer(),
        Ok(Err(document)) => Ok(Answer::Document(StatusCode::OK, document)),
        Err(refusal) => Err(refusal),
    };
    answer.unwrap_or_else(Answer::from)
}
