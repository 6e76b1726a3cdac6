//! A request on a resource: its dispatch, and its parts that read.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::discovery::discover;
use crate::exploration::ObjectKey;
use crate::page::{self, Token};
use crate::request::{Request, Target};
use crate::resource::{self, KindVersions, Resource, rules};
use crate::response::{Answer, FieldError, Refusal};
use crate::schema::fields;
use crate::selector::Selector;
use crate::server::lock;
use crate::store::Store;
use crate::watch::{self, WatchBody};

pub(crate) mod admission;
pub(crate) mod delete;
mod scale;
pub(crate) mod webhook;
mod write;

/// A request on a resource.
pub(crate) struct Call<'a> {
    shared: &'a Arc<Mutex<Store>>,
    store: MutexGuard<'a, Store>,
    request: &'a Request,
    target: Target,
    kind: Arc<KindVersions>,
    /// The version of the path.
    resource: Arc<Resource>,
    now: String,
    /// True for an applied custom object with empty fields in the metadata: see [`Store::untidy`].
    untidy: bool,
}

impl<'a> Call<'a> {
    /// Finds the resource of a request. Returns a document for the paths of discovery.
    pub(crate) fn new(shared: &'a Arc<Mutex<Store>>, request: &'a Request) -> Result<Result<Self, Value>, Refusal> {
        let store = lock(shared);
        let Some(target) = request.target() else {
            return discover(&store, request).map(Err);
        };
        let name = crate::response::qualified(&target.plural, &target.group);
        let kind = store.resources.get(&name).cloned();
        let Some((kind, resource)) = kind.and_then(|kind| Some((kind.clone(), kind.served(&target.version)?.clone())))
        else {
            if resource::is_builtin_group(&target.group) {
                return Err(Refusal::unsupported(&format!("the resource {name}/{}", target.version)));
            }
            let known = store.resources.values().any(|known| known.storage().group == target.group);
            return Err(if known { Refusal::no_page() } else { Refusal::unsupported("paths of unknown groups") });
        };
        for (option, known) in
            [("fieldValidation", &["", "Ignore", "Warn", "Strict"][..]), ("pretty", &[""]), ("dryRun", &["", "All"])]
        {
            if !known.contains(&request.option(option)) {
                return Err(Refusal::unsupported(&format!("the option {option}={}", request.option(option))));
            }
        }
        let now = store.time();
        Ok(Ok(Self { shared, store, request, target, kind, resource, now, untidy: false }))
    }

    /// Handles the request. A dry run leaves the state as it was.
    pub(crate) fn answer(&mut self) -> Result<Answer, Refusal> {
        let is_dry = match self.request.method {
            Method::GET => false,
            Method::DELETE => self.delete_options()?.is_dry(),
            _ => !self.request.option("dryRun").is_empty(),
        };
        if !is_dry {
            return self.handle();
        }
        let before = self.store.clone();
        let answer = self.handle();
        self.store.restore(before);
        let mut answer = answer?;
        if let Answer::Document(_, object) = &mut answer
            && object["metadata"]["uid"].is_string()
        {
            // No revision is stored.
            let live = self.store.get(&self.key(object["metadata"]["name"].as_str().unwrap_or_default()));
            let version = live.map(|live| live["metadata"]["resourceVersion"].clone()).unwrap_or_default();
            rules::set(&mut object["metadata"], "resourceVersion", version);
        }
        Ok(answer)
    }

    fn handle(&mut self) -> Result<Answer, Refusal> {
        let ok = |value: Value| Ok(Answer::Document(StatusCode::OK, value));
        if self.target.subresource == "scale" && self.resource.scale.is_some() {
            let resource = self.resource.clone();
            return resource.scale.as_ref().map_or(Err(Refusal::no_such_path()), |paths| self.scale(paths));
        }
        let is_status = self.target.subresource == "status" && self.resource.status;
        let is_finalize = self.target.subresource == "finalize" && self.is_namespace();
        if is_finalize && self.request.method != Method::PUT {
            return Err(Refusal::method_not_allowed());
        }
        if !self.target.subresource.is_empty() && !is_status && !is_finalize {
            let feature = format!("the subresource {}/{}", self.resource.qualified(), self.target.subresource);
            return Err(match self.resource.custom && self.target.subresource == "status" {
                true => Refusal::no_such_path(),
                false => Refusal::unsupported(&feature),
            });
        }
        // kube-apiserver counts a generation for an empty list, which it does not store.
        if !self.resource.custom
            && self.resource.plural == "networkpolicies"
            && matches!(self.request.method, Method::PUT | Method::PATCH)
            && has_empty_list(&self.request.document()?["spec"])
        {
            return Err(Refusal::unsupported("empty lists in the update of a NetworkPolicy"));
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
                let object = self.body()?;
                self.create(object, true)
            }
            (&Method::PUT, true) => self.replace(),
            (&Method::PATCH, true) => self.patch(),
            (&Method::DELETE, true) if !is_status => {
                let options = self.delete_options()?;
                let name = self.target.name.clone();
                self.delete(&name, &options).map(|value| Answer::Document(StatusCode::OK, value))
            }
            (&Method::DELETE, false) if !self.is_namespace() => self.delete_collection(),
            _ => Err(Refusal::method_not_allowed()),
        }
    }

    /// The object in the body, as the server reads it.
    fn body(&self) -> Result<Value, Refusal> {
        let mut object = self.request.document()?;
        let sent = (self.request.option("fieldValidation") == "Strict").then(|| object.clone());
        self.resource.read(&mut object)?;
        if let Some(sent) = sent {
            self.check_fields(&sent)?;
        }
        Ok(object)
    }

    /// Refuses a field that the schema does not have.
    fn check_fields(&self, sent: &Value) -> Result<(), Refusal> {
        let unknown = fields::unknown(&self.resource, sent);
        if unknown.is_empty() {
            return Ok(());
        }
        let unknown: Vec<String> = unknown.iter().map(|field| format!("unknown field \"{field}\"")).collect();
        let Resource { kind, version, .. } = &*self.resource;
        Err(Refusal::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: strict decoding error: {}",
            unknown.join(", ")
        )))
    }

    fn is_namespace(&self) -> bool {
        !self.resource.custom && self.resource.plural == "namespaces"
    }

    fn key(&self, name: &str) -> ObjectKey {
        (self.resource.qualified(), self.target.namespace.clone(), name.to_owned())
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
        self.find(&self.target.name)?.ok_or_else(|| self.not_found(&self.target.name))
    }

    /// The object with a name, in the version of the request.
    fn find(&self, name: &str) -> Result<Option<Arc<Value>>, Refusal> {
        self.store.get(&self.key(name)).map(|stored| self.kind.read(stored, &self.resource)).transpose()
    }

    /// Stores an object, and returns it in the version of the request.
    fn put(&mut self, key: ObjectKey, object: Value) -> Result<Arc<Value>, Refusal> {
        let object = self.kind.write(object)?;
        if self.untidy {
            self.store.untidy.insert(key.clone());
        } else {
            self.store.untidy.remove(&key);
        }
        let stored = self.store.put(key, object);
        self.kind.read(&stored, &self.resource)
    }

    fn selector(&self) -> Result<Selector, Refusal> {
        Selector::read(&self.resource, self.request.option("labelSelector"), self.request.option("fieldSelector"))
    }

    fn list(&self) -> Result<Answer, Refusal> {
        if matches!(self.request.option("resourceVersionMatch"), "Exact") {
            return Err(Refusal::unsupported("resourceVersionMatch=Exact"));
        }
        let selector = self.selector()?;
        let limit = match self.request.option("limit") {
            "" => 0,
            limit => limit.parse::<usize>().map_err(|_| Refusal::unsupported("the error for an invalid limit"))?,
        };
        let token = Some(self.request.option("continue")).filter(|token| !token.is_empty()).map(Token::read);
        let token = token.transpose()?;
        let revision = token.as_ref().map_or(self.store.revision, |token| token.revision);
        let mut all = page::objects_at(&self.store, &self.resource.qualified(), &self.target.namespace, revision)?;
        for object in all.values_mut() {
            *object = self.kind.read(object, &self.resource)?;
        }
        let matching = all.iter().filter(|(key, object)| {
            token.as_ref().is_none_or(|token| token.is_before(key)) && selector.matches(object)
        });
        let matching: Vec<_> = matching.collect();
        let size = if limit == 0 { matching.len() } else { limit.min(matching.len()) };
        let (page, rest) = matching.split_at(size);
        let mut list = self.list_of(page.iter().map(|(_, object)| (*object).clone()).collect());
        list["metadata"]["resourceVersion"] = revision.to_string().into();
        // Objects after the page count, even if the selector excludes them.
        if let Some((key, _)) = page.last()
            && limit == size
            && all.keys().next_back() > Some(*key)
        {
            let token = Token { revision, namespace: key.1.clone(), name: key.2.clone() };
            list["metadata"]["continue"] = token.text().into();
            // With a selector, the server does not count what is left.
            if selector.is_empty() {
                list["metadata"]["remainingItemCount"] = rest.len().into();
            }
        }
        Ok(Answer::Document(StatusCode::OK, list))
    }

    fn items(&self, selector: &Selector) -> Result<Vec<Arc<Value>>, Refusal> {
        let resource = self.resource.qualified();
        let objects = self.store.list(&resource, &self.target.namespace);
        let objects = objects.map(|(_, object)| self.kind.read(object, &self.resource));
        objects.filter(|object| object.as_ref().map_or(true, |object| selector.matches(object))).collect()
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
            version => Some(
                version
                    .parse::<u64>()
                    .map_err(|_| Refusal::unsupported("the error for a resource version that is not a number"))?,
            ),
        };
        if from.is_some_and(|from| from > self.store.revision) {
            return Err(Refusal::unsupported("watch of a revision in the future"));
        }
        let seconds = self.request.option("timeoutSeconds").parse::<u64>().ok();
        let mut body = WatchBody {
            store: self.shared.clone(),
            kind: self.kind.clone(),
            resource: self.resource.clone(),
            namespace: self.target.namespace.clone(),
            selector,
            revision: from.unwrap_or(self.store.revision),
            bookmarks,
            seen: self.store.bookmarks.len(),
            pending: VecDeque::new(),
            deadline: seconds.map(|seconds| self.store.elapsed + Duration::from_secs(seconds)),
            closed: self.store.closed,
            ended: false,
        };
        if initial || (from.is_none() && self.request.option("sendInitialEvents").is_empty()) {
            body.revision = self.store.revision;
            let items = self.items(&body.selector)?;
            body.pending.extend(items.iter().map(|object| watch::line("ADDED", object)));
            if initial {
                let end = body.bookmark(self.store.revision, true);
                body.pending.push_back(end);
            }
        }
        Ok(Answer::Watch(body))
    }
}

fn has_empty_list(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.is_empty() || values.iter().any(has_empty_list),
        Value::Object(map) => map.values().any(has_empty_list),
        _ => false,
    }
}
