//! The server: its state, and how a request changes it.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::{Map, Value, json};

use crate::apply::{self, Writer};
use crate::request::{Request, Target};
use crate::resource::{self, Resource, rules};
use crate::response::{Answer, FieldError, Refusal, ResponseBody};
use crate::schema::structural;
use crate::selector::Selector;
use crate::store::{Key, Store};
use crate::watch::{self, WatchBody};
use crate::{gc, metadata, patch};

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
}

impl Default for ApiServer {
    fn default() -> Self {
        Self::new()
    }
}

impl ApiServer {
    /// Starts a server with the namespaces `default` and `kube-system`, and the ServiceAccount `default` in each.
    pub fn new() -> Self {
        let server = Self {
            store: Arc::default(),
            hook: None,
        };
        for namespace in ["default", "kube-system"] {
            server.add_namespace(namespace);
        }
        server
    }

    /// Creates a namespace with its ServiceAccount `default`, as kube-controller-manager does.
    pub fn add_namespace(&self, name: &str) {
        for (uri, object) in [
            (
                "/api/v1/namespaces".to_owned(),
                json!({ "metadata": { "name": name } }),
            ),
            (
                format!("/api/v1/namespaces/{name}/serviceaccounts"),
                json!({ "metadata": { "name": "default" } }),
            ),
        ] {
            let request = http::Request::post(uri)
                .header(http::header::USER_AGENT, "kube-controller-manager");
            if let Ok(request) = request.body(()) {
                let body = Bytes::from(object.to_string());
                handle(&self.store, &Request::read(&request.into_parts().0, body));
            }
        }
    }

    /// Adds the kind of a CRD.
    ///
    /// # Errors
    ///
    /// The CRD has a feature that the server does not have. The error names it.
    pub fn add_crd(&self, crd: &Value) -> Result<(), String> {
        let resource = Resource::of_crd(crd)
            .map_err(|refusal| refusal.0["message"].as_str().unwrap_or_default().to_owned())?;
        let mut store = self.state();
        let mut resources = (*store.resources).clone();
        resources.insert(resource.qualified(), Arc::new(resource));
        store.resources = Arc::new(resources);
        Ok(())
    }

    /// Returns a server with a copy of the state, without open watches. It has the same hook.
    pub fn snapshot(&self) -> Self {
        Self {
            store: Arc::new(Mutex::new(self.state().clone())),
            hook: self.hook.clone(),
        }
    }

    /// Returns a server with the same state, which asks `hook` about each request.
    pub fn with_hook(&self, hook: impl Fn(&Request) -> Verdict + Send + Sync + 'static) -> Self {
        Self {
            store: self.store.clone(),
            hook: Some(Arc::new(hook)),
        }
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

    /// Returns all objects of a resource, such as `deployments.apps`, in the order of their names.
    pub fn objects(&self, resource: &str) -> Vec<Value> {
        self.state()
            .list(resource, "")
            .map(|(_, object)| (**object).clone())
            .collect()
    }

    /// Handles a request.
    ///
    /// # Errors
    ///
    /// The hook has closed the connection.
    pub fn answer(&self, request: &Request) -> Result<http::Response<ResponseBody>, Dropped> {
        match self
            .hook
            .as_ref()
            .map_or(Verdict::Pass, |hook| hook(request))
        {
            Verdict::Pass => Ok(handle(&self.store, request).response()),
            Verdict::Refuse(code, reason, message) => {
                Ok(Answer::from(Refusal::new(code, &reason, message, Value::Null)).response())
            }
            Verdict::DropBefore => Err(Dropped),
            Verdict::DropAfter => {
                handle(&self.store, request);
                Err(Dropped)
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, Store> {
        lock(&self.store)
    }
}

fn lock(store: &Mutex<Store>) -> MutexGuard<'_, Store> {
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

fn handle(shared: &Arc<Mutex<Store>>, request: &Request) -> Answer {
    let answer = match Call::new(shared, request) {
        Ok(Ok(mut call)) => call.answer(),
        Ok(Err(document)) => Ok(Answer::Document(StatusCode::OK, document)),
        Err(refusal) => Err(refusal),
    };
    answer.unwrap_or_else(Answer::from)
}

/// A request on a resource.
struct Call<'a> {
    shared: &'a Arc<Mutex<Store>>,
    store: MutexGuard<'a, Store>,
    request: &'a Request,
    target: Target,
    resource: Arc<Resource>,
    now: String,
}

/// The options of DELETE.
#[derive(Default)]
struct DeleteOptions {
    uid: Option<String>,
    version: Option<String>,
    propagation: Option<String>,
    grace: Option<i64>,
}

impl<'a> Call<'a> {
    /// Finds the resource of a request. Returns a document for the paths of discovery.
    fn new(
        shared: &'a Arc<Mutex<Store>>,
        request: &'a Request,
    ) -> Result<Result<Self, Value>, Refusal> {
        let store = lock(shared);
        let Some(target) = request.target() else {
            return discover(&store, request).map(Err);
        };
        let name = crate::response::qualified(&target.plural, &target.group);
        let found = store
            .resources
            .get(&name)
            .filter(|resource| resource.version == target.version)
            .cloned();
        let Some(resource) = found else {
            if resource::is_builtin_group(&target.group) {
                return Err(Refusal::unsupported(&format!(
                    "the resource {name}/{}",
                    target.version
                )));
            }
            let served = store
                .resources
                .values()
                .any(|known| known.group == target.group && known.version == target.version);
            return Err(if served {
                Refusal::no_such_path()
            } else {
                Refusal::unsupported("paths of unknown groups")
            });
        };
        for option in ["dryRun", "fieldValidation", "pretty"] {
            let ignored = option == "fieldValidation"
                && matches!(request.option(option), "" | "Ignore" | "Warn");
            if !request.option(option).is_empty() && !ignored {
                return Err(Refusal::unsupported(&format!(
                    "the option {option}={}",
                    request.option(option)
                )));
            }
        }
        let now = store.time();
        Ok(Ok(Self {
            shared,
            store,
            request,
            target,
            resource,
            now,
        }))
    }

    fn answer(&mut self) -> Result<Answer, Refusal> {
        let ok = |value: Value| Ok(Answer::Document(StatusCode::OK, value));
        let is_status = self.target.subresource == "status" && self.resource.status;
        if !self.target.subresource.is_empty() && !is_status {
            let feature = format!(
                "the subresource {}/{}",
                self.resource.qualified(),
                self.target.subresource
            );
            return Err(
                match self.resource.custom && self.target.subresource == "status" {
                    true => Refusal::no_such_path(),
                    false => Refusal::unsupported(&feature),
                },
            );
        }
        let has_name = !self.target.name.is_empty();
        match (&self.request.method, has_name) {
            (&Method::GET, true) if self.request.flag("watch") => {
                Err(Refusal::unsupported("watch of a path with a name"))
            }
            (&Method::GET, true) => ok((*self.live()?).clone()),
            (&Method::GET, false) if self.request.flag("watch") => self.watch(),
            (&Method::GET, false) => self.list(),
            (&Method::POST, false) => {
                if self.resource.namespaced && self.target.namespace.is_empty() {
                    return Err(Refusal::method_not_allowed());
                }
                let mut object = self.request.document()?;
                self.resource.read(&mut object)?;
                self.create(object, true)
            }
            (&Method::PUT, true) => self.replace(),
            (&Method::PATCH, true) => self.patch(),
            (&Method::DELETE, true) if !is_status => {
                let options = self.delete_options()?;
                let name = self.target.name.clone();
                self.delete(&name, &options)
                    .map(|value| Answer::Document(StatusCode::OK, value))
            }
            (&Method::DELETE, false) => self.delete_collection(),
            _ => Err(Refusal::method_not_allowed()),
        }
    }

    fn key(&self, name: &str) -> Key {
        (
            self.resource.qualified(),
            self.target.namespace.clone(),
            name.to_owned(),
        )
    }

    fn not_found(&self, name: &str) -> Refusal {
        Refusal::not_found(&self.resource.group, &self.resource.plural, name)
    }

    fn conflict(&self, name: &str, detail: &str) -> Refusal {
        Refusal::conflict(&self.resource.group, &self.resource.plural, name, detail)
    }

    fn invalid(&self, name: &str, errors: &[FieldError]) -> Refusal {
        Refusal::invalid(&self.resource.group, &self.resource.kind, name, errors)
    }

    fn live(&self) -> Result<Arc<Value>, Refusal> {
        self.store
            .get(&self.key(&self.target.name))
            .cloned()
            .ok_or_else(|| self.not_found(&self.target.name))
    }

    fn selector(&self) -> Result<Selector, Refusal> {
        Selector::read(
            &self.resource,
            self.request.option("labelSelector"),
            self.request.option("fieldSelector"),
        )
    }

    fn list(&self) -> Result<Answer, Refusal> {
        if !self.request.option("continue").is_empty()
            || !matches!(self.request.option("limit"), "" | "0")
        {
            return Err(Refusal::unsupported("pages of lists"));
        }
        if matches!(self.request.option("resourceVersionMatch"), "Exact") {
            return Err(Refusal::unsupported("resourceVersionMatch=Exact"));
        }
        let selector = self.selector()?;
        let items = self.items(&selector);
        Ok(Answer::Document(StatusCode::OK, self.list_of(items)))
    }

    fn items(&self, selector: &Selector) -> Vec<Arc<Value>> {
        let resource = self.resource.qualified();
        let objects = self
            .store
            .list(&resource, &self.target.namespace)
            .map(|(_, object)| object);
        objects
            .filter(|object| selector.matches(object))
            .cloned()
            .collect()
    }

    fn list_of(&self, items: Vec<Arc<Value>>) -> Value {
        let items: Vec<Value> = items
            .into_iter()
            .map(|item| {
                let mut item = (*item).clone();
                // Items of built-in kinds have no identity of their own.
                if let (false, Some(map)) = (self.resource.custom, item.as_object_mut()) {
                    map.remove("apiVersion");
                    map.remove("kind");
                }
                item
            })
            .collect();
        let mut metadata = json!({ "resourceVersion": self.store.revision.to_string() });
        if self.resource.custom {
            metadata["continue"] = "".into();
        }
        json!({
            "kind": format!("{}List", self.resource.kind),
            "apiVersion": self.resource.api_version(),
            "metadata": metadata,
            "items": items,
        })
    }

    fn watch(&self) -> Result<Answer, Refusal> {
        let selector = self.selector()?;
        let version = self.request.option("resourceVersion");
        let initial = self.request.flag("sendInitialEvents");
        let bookmarks = self.request.flag("allowWatchBookmarks");
        let from = match version {
            "" | "0" => None,
            version => Some(version.parse::<u64>().map_err(|_| {
                Refusal::unsupported("the error for a resource version that is not a number")
            })?),
        };
        if from.is_some_and(|from| from > self.store.revision) {
            return Err(Refusal::unsupported("watch of a revision in the future"));
        }
        let seconds = self.request.option("timeoutSeconds").parse::<u64>().ok();
        let mut body = WatchBody {
            store: self.shared.clone(),
            resource: self.resource.qualified(),
            namespace: self.target.namespace.clone(),
            selector,
            revision: from.unwrap_or(self.store.revision),
            bookmarks,
            seen: self.store.bookmarks.len(),
            api_version: self.resource.api_version(),
            kind: self.resource.kind.clone(),
            pending: VecDeque::new(),
            deadline: seconds.map(|seconds| self.store.elapsed + Duration::from_secs(seconds)),
            closed: self.store.closed,
            ended: false,
        };
        if initial || (from.is_none() && self.request.option("sendInitialEvents").is_empty()) {
            body.revision = self.store.revision;
            let items = self.items(&body.selector);
            body.pending
                .extend(items.iter().map(|object| watch::line("ADDED", object)));
            if initial {
                let end = body.bookmark(self.store.revision, true);
                body.pending.push_back(end);
            }
        }
        Ok(Answer::Watch(body))
    }

    /// Refuses a namespace in the body that is not the one of the path, and sets a missing one.
    fn set_namespace(&self, object: &mut Value) -> Result<(), Refusal> {
        let found = object["metadata"]["namespace"].as_str().unwrap_or_default();
        if !found.is_empty() && found != self.target.namespace {
            let message = "the namespace of the provided object does not match the namespace sent on the request";
            return Err(Refusal::bad_request(message));
        }
        if self.resource.namespaced {
            object["metadata"]["namespace"] = self.target.namespace.clone().into();
        }
        Ok(())
    }

    /// Refuses a namespace that does not exist.
    fn check_namespace(&self) -> Result<(), Refusal> {
        let namespace = &self.target.namespace;
        if self.resource.namespaced && self.store.get(&namespace_key(namespace)).is_none() {
            return Err(Refusal::not_found("", "namespaces", namespace));
        }
        Ok(())
    }

    fn writer<'b>(&'b self, api_version: &'b str) -> Writer<'b> {
        Writer {
            manager: self.request.manager(),
            api_version,
            subresource: &self.target.subresource,
            reset: self.resource.reset(&self.target.subresource),
            now: &self.now,
        }
    }

    /// Creates an object. The writer of an applied object is already in its `managedFields`.
    fn create(&mut self, mut object: Value, updates: bool) -> Result<Answer, Refusal> {
        self.set_namespace(&mut object)?;
        if updates {
            let version = self.resource.api_version();
            let schema = self.resource.schema.clone();
            apply::update(
                &schema,
                &rules::empty(&self.resource),
                &mut object,
                &self.writer(&version),
            );
        }
        self.check_namespace()?;
        let metadata = &mut object["metadata"];
        if metadata["name"].as_str().unwrap_or_default().is_empty()
            && let Some(prefix) = metadata["generateName"].as_str()
        {
            metadata["name"] = format!("{prefix}{}", self.store.new_suffix()).into();
        }
        if self.resource.qualified() == "services"
            && object["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .is_empty()
        {
            return Err(Refusal::unsupported(
                "the error for a Service without a name",
            ));
        }
        self.admit(&mut object)?;
        let version = object["metadata"]["resourceVersion"].take();
        let metadata = &mut object["metadata"];
        for field in [
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "resourceVersion",
            "selfLink",
        ] {
            rules::set(metadata, field, Value::Null);
        }
        metadata["creationTimestamp"] = self.now.clone().into();
        metadata["uid"] = "".into();
        rules::prepare_create(&self.resource, &mut object);
        let name = object["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let errors = self.validate(&object, None)?;
        if !errors.is_empty() {
            return Err(self.invalid(&name, &errors));
        }
        if version.as_str().is_some_and(|version| !version.is_empty()) {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(Refusal::new(500, "", message, Value::Null));
        }
        let key = self.key(&name);
        if let Some(existing) = self.store.get(&key) {
            let mut refusal =
                Refusal::already_exists(&self.resource.group, &self.resource.plural, &name);
            if !existing["metadata"]["deletionTimestamp"].is_null() {
                let message = format!(
                    "object is being deleted: {}",
                    refusal.0["message"].as_str().unwrap_or_default()
                );
                refusal.0["message"] = message.into();
            }
            return Err(refusal);
        }
        object["metadata"]["uid"] = self.store.new_uid().into();
        self.allocate(&mut object);
        let stored = self.store.put(key, object);
        Ok(Answer::Document(StatusCode::CREATED, (*stored).clone()))
    }

    /// The admission of Pods: the account, its token, tolerations and the priority.
    fn admit(&mut self, object: &mut Value) -> Result<(), Refusal> {
        if self.resource.custom || self.resource.plural != "pods" {
            return Ok(());
        }
        let namespace = self.target.namespace.clone();
        let name = object["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let spec = &mut object["spec"];
        if spec["serviceAccountName"].is_null() {
            spec["serviceAccountName"] = "default".into();
            spec["serviceAccount"] = "default".into();
        }
        let account = spec["serviceAccountName"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let key = (
            "serviceaccounts".to_owned(),
            namespace.clone(),
            account.clone(),
        );
        let Some(found) = self.store.get(&key).cloned() else {
            let detail = format!(
                "error looking up service account {namespace}/{account}: serviceaccount {account:?} not found"
            );
            return Err(Refusal::forbidden("", "pods", &name, &detail));
        };
        let automount = match &spec["automountServiceAccountToken"] {
            Value::Null => found["automountServiceAccountToken"] != false,
            own => *own == true,
        };
        if automount {
            add_token(
                spec,
                &format!("kube-api-access-{}", self.store.new_suffix()),
            );
        }
        let tolerations = spec["tolerations"].as_array().cloned().unwrap_or_default();
        let mut all = tolerations.clone();
        for key in [
            "node.kubernetes.io/not-ready",
            "node.kubernetes.io/unreachable",
        ] {
            if !tolerations
                .iter()
                .any(|toleration| toleration["key"] == key || toleration["key"].is_null())
            {
                let toleration = json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 });
                all.push(toleration);
            }
        }
        spec["tolerations"] = all.into();
        if !spec["priority"].is_null() && spec["priority"] != 0 {
            return Err(Refusal::unsupported("priorities of Pods"));
        }
        spec["priority"] = 0.into();
        if spec["preemptionPolicy"].is_null() {
            spec["preemptionPolicy"] = "PreemptLowerPriority".into();
        }
        Ok(())
    }

    /// Allocates the address of a Service.
    fn allocate(&mut self, object: &mut Value) {
        if self.resource.custom || self.resource.plural != "services" {
            return;
        }
        let spec = &mut object["spec"];
        if spec["clusterIP"].is_null() {
            self.store.addresses += 1;
            spec["clusterIP"] = format!(
                "10.96.{}.{}",
                self.store.addresses / 256,
                self.store.addresses % 256
            )
            .into();
        }
        spec["clusterIPs"] = json!([spec["clusterIP"]]);
        spec["ipFamilies"] = json!(["IPv4"]);
        spec["ipFamilyPolicy"] = "SingleStack".into();
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Result<Vec<FieldError>, Refusal> {
        let mut errors = Vec::new();
        let resource = &self.resource;
        // kube-apiserver checks the metadata of an update for all kinds, and again for each kind.
        if let Some(old) = old {
            let update = metadata::validate_update(object, old)?;
            errors.extend(metadata::validate(resource, object)?);
            errors.extend(update.clone());
            errors.extend(update);
        }
        if resource.custom {
            if old.is_none() {
                errors.extend(metadata::validate(resource, object)?);
            }
            structural::validate(&resource.schema, object, "", true, &mut errors);
            if old.is_none() {
                structural::duplicates(&resource.schema, object, "", &mut errors);
            } else if let Some(old) = old {
                let mut before = Vec::new();
                structural::duplicates(&resource.schema, old, "", &mut before);
                if before.is_empty() {
                    structural::duplicates(&resource.schema, object, "", &mut errors);
                }
            }
            return Ok(errors);
        }
        let whole = matches!(
            resource.plural.as_str(),
            "configmaps" | "secrets" | "serviceaccounts" | "pods"
        );
        if old.is_none() || whole {
            errors.extend(metadata::validate(resource, object)?);
        }
        if self.target.subresource.is_empty() {
            errors.extend(rules::validate(resource, object, old)?);
        }
        Ok(errors)
    }

    fn check_name(&self, object: &Value) -> Result<(), Refusal> {
        let (name, expected) = (
            object["metadata"]["name"].as_str().unwrap_or_default(),
            &self.target.name,
        );
        if name.is_empty() {
            let message = format!(
                "the name of the object ({expected} based on URL) was undeterminable: name must be provided"
            );
            return Err(Refusal::bad_request(message));
        }
        if name != expected {
            let message = format!(
                "the name of the object ({name}) does not match the name on the URL ({expected})"
            );
            return Err(Refusal::bad_request(message));
        }
        Ok(())
    }

    fn replace(&mut self) -> Result<Answer, Refusal> {
        let mut object = self.request.document()?;
        self.resource.read(&mut object)?;
        self.set_namespace(&mut object)?;
        self.check_name(&object)?;
        let name = self.target.name.clone();
        let found = self.store.get(&self.key(&name)).cloned();
        if found.is_none() && !self.resource.creates_on_put {
            return Err(self.not_found(&name));
        }
        let live = found.clone().unwrap_or_default();
        if let Some(uid) = object["metadata"]["uid"]
            .as_str()
            .filter(|uid| !uid.is_empty())
            && live["metadata"]["uid"] != uid
        {
            let detail = format!(
                "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: \
                 Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
                self.resource.key(&self.target.namespace, &name),
                live["metadata"]["uid"].as_str().unwrap_or_default(),
            );
            return Err(self.conflict(&name, &detail));
        }
        if found.is_none() {
            if !self.target.subresource.is_empty() {
                return Err(Refusal::unsupported(
                    "PUT of the status of a missing object",
                ));
            }
            rules::set(&mut object["metadata"], "resourceVersion", Value::Null);
            return self.create(object, true);
        }
        let version = self.resource.api_version();
        let schema = self.resource.schema.clone();
        apply::update(&schema, &live, &mut object, &self.writer(&version));
        self.update(object, &live, true)
    }

    /// Stores the new form of an object.
    fn update(
        &mut self,
        mut object: Value,
        live: &Value,
        replaces: bool,
    ) -> Result<Answer, Refusal> {
        let name = self.target.name.clone();
        match object["metadata"]["resourceVersion"]
            .as_str()
            .unwrap_or_default()
        {
            "" if self.resource.unconditional || !replaces => {}
            "" => {
                let errors = [FieldError::invalid(
                    "metadata.resourceVersion",
                    &0.into(),
                    "must be specified for an update",
                )];
                return Err(Refusal::invalid(
                    &self.resource.group,
                    &self.resource.plural,
                    &name,
                    &errors,
                ));
            }
            version if live["metadata"]["resourceVersion"] == version => {}
            _ => {
                let detail = "the object has been modified; please apply your changes to the latest version and try again";
                return Err(self.conflict(&name, detail));
            }
        }
        object["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
        rules::prepare_update(&self.resource, &self.target.subresource, &mut object, live);
        let (new, old) = (&mut object["metadata"], &live["metadata"]);
        if new["uid"].is_null() {
            new["uid"] = old["uid"].clone();
        }
        new["creationTimestamp"] = old["creationTimestamp"].clone();
        if !old["deletionTimestamp"].is_null() {
            new["deletionTimestamp"] = old["deletionTimestamp"].clone();
        }
        if new["deletionGracePeriodSeconds"].is_null() {
            rules::set(
                new,
                "deletionGracePeriodSeconds",
                old["deletionGracePeriodSeconds"].clone(),
            );
        }
        for field in ["deletionTimestamp", "uid"] {
            if new[field].is_null() {
                rules::set(new, field, Value::Null);
            }
        }
        let errors = self.validate(&object, Some(live))?;
        if !errors.is_empty() {
            return Err(self.invalid(&name, &errors));
        }
        keep_times(&mut object, live);
        let key = self.key(&name);
        let deleted = !object["metadata"]["deletionTimestamp"].is_null();
        let grace = live["metadata"]["deletionGracePeriodSeconds"]
            .as_i64()
            .unwrap_or_default();
        let finalizers = object["metadata"]["finalizers"]
            .as_array()
            .is_some_and(|all| !all.is_empty());
        if deleted && grace == 0 && !finalizers {
            self.store.remove(&key);
            return Ok(Answer::Document(StatusCode::OK, object));
        }
        if object == *live {
            return Ok(Answer::Document(StatusCode::OK, object));
        }
        let stored = self.store.put(key, object);
        Ok(Answer::Document(StatusCode::OK, (*stored).clone()))
    }

    fn patch(&mut self) -> Result<Answer, Refusal> {
        let kind = self.request.content_type.clone();
        if kind == "application/apply-patch+yaml" || kind == "application/apply-patch+json" {
            return self.apply();
        }
        if self.request.query.contains_key("force") {
            let errors = [FieldError::forbidden(
                "force",
                "may not be specified for non-apply patch",
            )];
            return Err(Refusal::invalid("meta.k8s.io", "PatchOptions", "", &errors));
        }
        if self.resource.custom && kind == "application/strategic-merge-patch+json" {
            return Err(Refusal::new(
                415,
                "UnsupportedMediaType",
                "415: Unsupported Media Type",
                json!({}),
            ));
        }
        let document = match self.request.document() {
            Ok(document) => document,
            Err(refusal) => {
                self.live()?;
                return Err(refusal);
            }
        };
        // The media type is checked before the object is looked up.
        if let Err(refusal) = patch::apply(&kind, &json!({}), &document)
            && refusal.0["code"] == 415
        {
            return Err(refusal);
        }
        let live = self.live()?;
        let mut object = patch::apply(&kind, &live, &document)?;
        self.resource.read(&mut object)?;
        self.check_name(&object)?;
        self.set_namespace(&mut object)?;
        let version = self.resource.api_version();
        let schema = self.resource.schema.clone();
        apply::update(&schema, &live, &mut object, &self.writer(&version));
        self.update(object, &live, false)
    }

    fn apply(&mut self) -> Result<Answer, Refusal> {
        if self.request.option("fieldManager").is_empty() {
            let errors = [FieldError::required(
                "fieldManager",
                "is required for apply patch",
            )];
            return Err(Refusal::invalid("meta.k8s.io", "PatchOptions", "", &errors));
        }
        if self.request.option("fieldManager") == "kubectl" {
            return Err(Refusal::unsupported("the field manager kubectl"));
        }
        let config = self.request.document()?;
        if config["apiVersion"] != self.resource.api_version()
            || config["kind"] != self.resource.kind
        {
            return Err(Refusal::unsupported(
                "the error for an applied object of another kind",
            ));
        }
        if config["metadata"].get("managedFields").is_some() {
            return Err(Refusal::bad_request("metadata.managedFields must be nil"));
        }
        let found = self.store.get(&self.key(&self.target.name)).cloned();
        if found.is_none() && !self.target.subresource.is_empty() {
            if self.resource.creates_on_put {
                return Err(Refusal::unsupported(
                    "server-side apply of the status of a missing object",
                ));
            }
            return Err(self.not_found(&self.target.name));
        }
        let mut empty = rules::empty(&self.resource);
        empty["apiVersion"] = self.resource.api_version().into();
        empty["kind"] = self.resource.kind.clone().into();
        let live = found.clone().unwrap_or_else(|| Arc::new(empty.clone()));
        let version = self.resource.api_version();
        let schema = self.resource.schema.clone();
        let force = self.request.flag("force");
        let (mut object, managed) = apply::apply(
            &schema,
            &empty,
            &live,
            &config,
            force,
            &self.writer(&version),
        )?;
        self.resource.read(&mut object)?;
        managed.write(&mut object);
        self.check_name(&object)?;
        if found.is_none() {
            rules::set(&mut object["metadata"], "resourceVersion", Value::Null);
            return self.create(object, false);
        }
        self.set_namespace(&mut object)?;
        self.update(object, &live, false)
    }

    fn delete_options(&self) -> Result<DeleteOptions, Refusal> {
        let body = if self.request.body.is_empty() {
            Value::Null
        } else {
            self.request.document()?
        };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let option = |name: &str| {
            Some(self.request.option(name).to_owned()).filter(|value| !value.is_empty())
        };
        if !body["dryRun"].is_null() && body["dryRun"] != json!([]) {
            return Err(Refusal::unsupported("the option dryRun"));
        }
        if !body["orphanDependents"].is_null() || option("orphanDependents").is_some() {
            return Err(Refusal::unsupported("the option orphanDependents"));
        }
        // The options of the query count only without a body.
        let query = body.is_null();
        let options = DeleteOptions {
            uid: text(&body["preconditions"]["uid"]),
            version: text(&body["preconditions"]["resourceVersion"]),
            propagation: text(&body["propagationPolicy"])
                .or_else(|| option("propagationPolicy").filter(|_| query)),
            grace: body["gracePeriodSeconds"].as_i64().or_else(|| {
                option("gracePeriodSeconds")
                    .filter(|_| query)
                    .and_then(|value| value.parse().ok())
            }),
        };
        let known = ["Foreground", "Background", "Orphan"];
        if let Some(policy) = &options.propagation
            && !known.contains(&policy.as_str())
        {
            let supported: Vec<Value> = known
                .iter()
                .chain(&["nil"])
                .map(|name| Value::from(*name))
                .collect();
            let errors = [FieldError::unsupported(
                "propagationPolicy",
                &policy.as_str().into(),
                &supported,
            )];
            return Err(Refusal::invalid(
                "meta.k8s.io",
                "DeleteOptions",
                "",
                &errors,
            ));
        }
        Ok(options)
    }

    fn delete(&mut self, name: &str, options: &DeleteOptions) -> Result<Value, Refusal> {
        if self.resource.plural == "namespaces" && !self.resource.custom {
            return Err(Refusal::unsupported("deletion of namespaces"));
        }
        let key = self.key(name);
        let live = self
            .store
            .get(&key)
            .cloned()
            .ok_or_else(|| self.not_found(name))?;
        let mut object = (*live).clone();
        self.check_preconditions(name, &object, options)?;

        let mut graceful = false;
        if self.resource.plural == "pods" && !self.resource.custom {
            let metadata = &object["metadata"];
            let current = metadata["deletionGracePeriodSeconds"]
                .as_i64()
                .unwrap_or_default();
            if metadata["deletionTimestamp"].is_null() {
                let period = self.grace_of(&object, options);
                let time = self.store.now() + jiff::SignedDuration::from_secs(period);
                let metadata = &mut object["metadata"];
                metadata["deletionTimestamp"] =
                    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into();
                metadata["deletionGracePeriodSeconds"] = period.into();
                count_generation(metadata);
                graceful = true;
            } else if current > 0 {
                match options.grace.map(|period| period.max(0)) {
                    Some(0) => {
                        object["metadata"]["deletionTimestamp"] = self.now.clone().into();
                        object["metadata"]["deletionGracePeriodSeconds"] = 0.into();
                        graceful = true;
                    }
                    Some(period) if period < current => {
                        return Err(Refusal::unsupported(
                            "a shorter grace period for a Pod that is being deleted",
                        ));
                    }
                    _ => return Ok(object),
                }
            }
        }
        let finalizers = finalizers(&object, options.propagation.as_deref());
        let pending = !finalizers.is_empty();
        if object["metadata"]["finalizers"]
            .as_array()
            .cloned()
            .unwrap_or_default()
            != finalizers
        {
            let finalizers = if pending {
                Value::from(finalizers)
            } else {
                Value::Null
            };
            rules::set(&mut object["metadata"], "finalizers", finalizers);
        }
        if pending && !graceful {
            let metadata = &mut object["metadata"];
            if metadata["deletionTimestamp"].is_null() {
                count_generation(metadata);
                metadata["deletionTimestamp"] = self.now.clone().into();
            }
            metadata["deletionGracePeriodSeconds"] = 0.into();
        }
        if graceful || pending {
            let stored = if object == *live {
                live.clone()
            } else {
                self.store.put(key.clone(), object)
            };
            let lasting = stored["metadata"]["deletionGracePeriodSeconds"]
                .as_i64()
                .unwrap_or_default()
                > 0;
            if pending || lasting {
                return Ok((*stored).clone());
            }
        }
        let last = self.store.remove(&key).unwrap_or(live);
        if self.resource.returns_deleted {
            return Ok((*last).clone());
        }
        let mut details = Map::new();
        details.insert("name".to_owned(), name.into());
        if !self.resource.group.is_empty() {
            details.insert("group".to_owned(), self.resource.group.clone().into());
        }
        details.insert("kind".to_owned(), self.resource.plural.clone().into());
        details.insert("uid".to_owned(), last["metadata"]["uid"].clone());
        Ok(
            json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details }),
        )
    }

    fn check_preconditions(
        &self,
        name: &str,
        object: &Value,
        options: &DeleteOptions,
    ) -> Result<(), Refusal> {
        let record = |field: &str| {
            object["metadata"][field]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let conflict = |detail: String| {
            Err(Refusal::conflict(
                &self.resource.group,
                &self.resource.kind,
                name,
                &detail,
            ))
        };
        if let Some(uid) = options.uid.as_ref().filter(|uid| **uid != record("uid")) {
            return conflict(format!(
                "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been \
                 deleted and then recreated",
                record("uid"),
            ));
        }
        if let Some(version) = options
            .version
            .as_ref()
            .filter(|version| **version != record("resourceVersion"))
        {
            return conflict(format!(
                "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). \
                 The object might have been modified",
                record("resourceVersion"),
            ));
        }
        Ok(())
    }

    /// The grace period of a Pod. A Pod without a node has none.
    fn grace_of(&self, pod: &Value, options: &DeleteOptions) -> i64 {
        let period = options
            .grace
            .or_else(|| pod["spec"]["terminationGracePeriodSeconds"].as_i64())
            .unwrap_or_default();
        let ended = matches!(
            pod["status"]["phase"].as_str(),
            Some("Failed" | "Succeeded")
        );
        match (pod["spec"]["nodeName"].as_str().unwrap_or_default(), period) {
            ("", _) => 0,
            _ if ended => 0,
            (_, period) if period < 0 => 1,
            (_, period) => period,
        }
    }

    fn delete_collection(&mut self) -> Result<Answer, Refusal> {
        let options = self.delete_options()?;
        let selector = self.selector()?;
        let items = self.items(&selector);
        let list = self.list_of(items.clone());
        for item in items {
            if let Some(name) = item["metadata"]["name"].as_str() {
                self.delete(name, &options)?;
            }
        }
        Ok(Answer::Document(StatusCode::OK, list))
    }
}

/// Deletes an object as the garbage collector does.
pub(crate) fn mark_deleted(store: &mut Store, key: &Key, object: &Value, foreground: bool) {
    let mut changed = object.clone();
    let finalizers = finalizers(object, foreground.then_some("Foreground"));
    if finalizers.is_empty() {
        store.remove(key);
        return;
    }
    let now = store.time();
    let metadata = &mut changed["metadata"];
    metadata["finalizers"] = finalizers.into();
    count_generation(metadata);
    metadata["deletionTimestamp"] = now.into();
    metadata["deletionGracePeriodSeconds"] = 0.into();
    store.put(key.clone(), changed);
}

/// The finalizers of an object after a deletion with this propagation.
fn finalizers(object: &Value, propagation: Option<&str>) -> Vec<Value> {
    let all = object["metadata"]["finalizers"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let first = all
        .iter()
        .filter_map(Value::as_str)
        .find(|name| matches!(*name, "orphan" | "foregroundDeletion"));
    let added = match propagation {
        Some("Orphan") => Some("orphan"),
        Some("Foreground") => Some("foregroundDeletion"),
        Some(_) => None,
        None => first,
    };
    let rest = all
        .iter()
        .filter(|name| *name != "orphan" && *name != "foregroundDeletion")
        .cloned();
    let new: Vec<Value> = rest.chain(added.map(Value::from)).collect();
    // The order changes only with the content.
    if new.len() == all.len() && new.iter().all(|name| all.contains(name)) {
        all
    } else {
        new
    }
}

fn count_generation(metadata: &mut Value) {
    if let Some(generation) = metadata["generation"]
        .as_i64()
        .filter(|generation| *generation > 0)
    {
        metadata["generation"] = (generation + 1).into();
    }
}

fn namespace_key(name: &str) -> Key {
    ("namespaces".to_owned(), String::new(), name.to_owned())
}

/// Keeps the times of `managedFields` if nothing else changes.
fn keep_times(object: &mut Value, live: &Value) {
    let without = |value: &Value| {
        let mut value = value.clone();
        for entry in value["metadata"]["managedFields"]
            .as_array_mut()
            .into_iter()
            .flatten()
        {
            rules::set(entry, "time", Value::Null);
        }
        value
    };
    if without(object) == without(live) {
        object["metadata"] = live["metadata"].clone();
    }
}

/// Mounts the token of the account into the containers of a Pod.
fn add_token(spec: &mut Value, volume: &str) {
    const PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
    let mut used = false;
    for container in spec["containers"].as_array_mut().into_iter().flatten() {
        let mut mounts = container["volumeMounts"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        if !mounts.iter().any(|mount| mount["mountPath"] == PATH) {
            mounts.push(json!({ "name": volume, "readOnly": true, "mountPath": PATH }));
            container["volumeMounts"] = mounts.into();
            used = true;
        }
    }
    if used {
        let mut volumes = spec["volumes"].as_array().cloned().unwrap_or_default();
        volumes.push(json!({
            "name": volume,
            "projected": {
                "sources": [
                    { "serviceAccountToken": { "expirationSeconds": 3607, "path": "token" } },
                    { "configMap": { "name": "kube-root-ca.crt", "items": [{ "key": "ca.crt", "path": "ca.crt" }] } },
                    { "downwardAPI": { "items": [
                        { "path": "namespace", "fieldRef": { "apiVersion": "v1", "fieldPath": "metadata.namespace" } },
                    ] } },
                ],
                "defaultMode": 420,
            },
        }));
        spec["volumes"] = volumes.into();
    }
}

/// Answers the paths of discovery.
fn discover(store: &Store, request: &Request) -> Result<Value, Refusal> {
    if request.method != Method::GET {
        return Err(Refusal::unsupported(&format!(
            "{} {}",
            request.method, request.path
        )));
    }
    let parts: Vec<&str> = request.path.trim_matches('/').split('/').collect();
    let group_version = match &parts[..] {
        ["version"] => {
            return Ok(
                json!({ "major": "1", "minor": "36", "gitVersion": "v1.36.3", "platform": "linux/amd64" }),
            );
        }
        ["api"] => {
            return Ok(
                json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [] }),
            );
        }
        ["apis"] => {
            let mut groups: Vec<(&str, &str)> = store
                .resources
                .values()
                .filter(|resource| !resource.group.is_empty())
                .map(|resource| (resource.group.as_str(), resource.version.as_str()))
                .collect();
            groups.dedup();
            let groups: Vec<Value> = groups
                .into_iter()
                .map(|(group, version)| {
                    let version =
                        json!({ "groupVersion": format!("{group}/{version}"), "version": version });
                    json!({ "name": group, "versions": [version], "preferredVersion": version })
                })
                .collect();
            return Ok(json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups }));
        }
        ["api", version] => (*version).to_owned(),
        ["apis", group, version] => format!("{group}/{version}"),
        _ => return Err(Refusal::unsupported(&format!("GET {}", request.path))),
    };
    let mut resources = store
        .resources
        .values()
        .filter(|resource| resource.api_version() == group_version)
        .peekable();
    if resources.peek().is_none() {
        return Err(Refusal::unsupported(&format!(
            "discovery of {group_version}"
        )));
    }
    Ok(resource::discovery(&group_version, resources))
}
