//! The objects of one kind: reads come from the cache, writes go to the API server.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use kube::api::{ListParams, Patch, PatchParams};
use kube::core::object::HasStatus;
use kube::core::{DynamicResourceScope, Selector, SelectorExt, Status};
use kube::discovery::Scope;
use kube::runtime::events::{EventType, Recorder};
use kube::{Client, Resource, ResourceExt};
use serde::Serialize;
use serde_json::{Value, json};

use super::apply::{self, Precondition};
use super::{takeover, visit};
use crate::cache::index::Index;
use crate::cache::{Cache, digest};
use crate::event;
use crate::object::{self, Kind, Object, ObjectKey};

/// When to look again at an object of which the watch has not told the newest version yet.
const OUTDATED: Duration = Duration::from_millis(100);

/// How often a take-over is tried when others write at the same time.
const TRIES: u32 = 5;

/// A handle on the objects of one kind that this operator watches; cheap to clone.
///
/// # Examples
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::api::ObjectMeta;
/// use manager::Objects;
///
/// # use kube::client::Body;
/// # let service = tower::service_fn(|request: hyper::Request<Body>| async {
/// #     Ok::<_, kube::Error>(hyper::Response::new(request.into_body()))
/// # });
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// # let client = kube::Client::new(service, "default");
/// let maps = Objects::<ConfigMap>::new(client);
/// let metadata = ObjectMeta {
///     name: Some("sample".to_owned()),
///     namespace: Some("default".to_owned()),
///     ..ObjectMeta::default()
/// };
/// let map = ConfigMap {
///     metadata,
///     ..ConfigMap::default()
/// };
/// maps.put(map);
/// assert!(maps.get("default", "sample").is_some());
/// # });
/// ```
pub struct Objects<K: Resource> {
    pub(super) client: Client,
    pub(crate) recorder: Recorder,
    status_pause: Option<Duration>,
    pub(crate) cache: Arc<Cache<K>>,
}

impl<K: Resource> Clone for Objects<K> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            recorder: self.recorder.clone(),
            status_pause: self.status_pause,
            cache: self.cache.clone(),
        }
    }
}

/// An object as the server knows it after [`Objects::apply`].
///
/// # Examples
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use manager::Objects;
///
/// async fn version(maps: &Objects<ConfigMap>, map: &ConfigMap) -> kube::Result<Option<String>> {
///     let applied = maps.apply(map, "example.example.com").await?;
///     Ok(applied.object.metadata.resource_version.clone())
/// }
/// ```
pub struct Applied<K> {
    /// The object, including what others wrote to it.
    pub object: Arc<K>,
    /// What the apply did.
    pub change: Change,
}

/// What [`Objects::apply`] or [`Objects::create`] did.
///
/// # Examples
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use manager::{Change, Objects};
///
/// async fn is_new(maps: &Objects<ConfigMap>, map: &ConfigMap) -> kube::Result<bool> {
///     let applied = maps.apply(map, "example.example.com").await?;
///     Ok(applied.change == Change::Created)
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing was sent: the object is as it should be.
    None,
    /// The object was not there.
    Created,
    /// The object was different.
    Updated,
    /// Nothing was written: [`Objects::create`] found an object that somebody else has made.
    Foreign,
}

/// What [`Objects::apply_status`] did.
///
/// # Examples
///
/// ```
/// use manager::StatusChange;
///
/// fn is_news(change: StatusChange) -> bool {
///     change == StatusChange::Written
/// }
///
/// assert!(!is_news(StatusChange::Deferred));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusChange {
    /// Nothing was sent: the status is so.
    Unchanged,
    /// It is written.
    Written,
    /// Nothing is written yet; the reconcile is done again, and will come to the status of then.
    Deferred,
}

impl<K: Object> Objects<K> {
    /// Without a watch, for tests; [`Manager::objects`](crate::Manager::objects) is for everything else.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::Client;
    /// use manager::Objects;
    ///
    /// fn maps(client: Client) -> Objects<ConfigMap> {
    ///     Objects::new(client)
    /// }
    /// ```
    pub fn new(client: Client) -> Self
    where
        K: Object<DynamicType: Default>,
    {
        Self::of(client, Kind::default())
    }

    /// As [`Objects::new`], for a kind that is a value.
    ///
    /// # Examples
    ///
    /// ```
    /// use kube::Client;
    /// use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
    /// use kube::discovery::Scope;
    /// use manager::Objects;
    ///
    /// fn issuers(client: Client) -> Objects<DynamicObject> {
    ///     let issuer = GroupVersionKind::gvk("cert-manager.io", "v1", "Issuer");
    ///     Objects::new_with(client, &ApiResource::from_gvk(&issuer), &Scope::Namespaced)
    /// }
    /// ```
    pub fn new_with(client: Client, dynamic: &K::DynamicType, scope: &Scope) -> Self
    where
        K: Object<Scope = DynamicResourceScope>,
    {
        Self::of(client, Kind::new(dynamic, scope))
    }

    pub(crate) fn of(client: Client, kind: Kind<K>) -> Self {
        Self {
            recorder: Recorder::new(client.clone(), "test".into()),
            client,
            status_pause: None,
            cache: Arc::new(Cache::new(kind)),
        }
    }

    /// Writes the status of an object at most once in this time: what comes sooner, within a reconcile, is put off, and
    /// that reconcile is done again when the time is over. For a status that sums up what changes often.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use manager::Objects;
    ///
    /// fn calm(maps: Objects<ConfigMap>) -> Objects<ConfigMap> {
    ///     maps.status_at_most_every(Duration::from_secs(1))
    /// }
    /// ```
    #[must_use]
    pub fn status_at_most_every(self, pause: Duration) -> Self {
        Self {
            status_pause: Some(pause),
            ..self
        }
    }

    /// Does not wait for this kind, which the cluster may lack: without it the operator is ready and its controllers work, and
    /// there are no objects of it. They come when the kind is there.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use manager::Objects;
    ///
    /// fn if_there(maps: Objects<ConfigMap>) -> Objects<ConfigMap> {
    ///     maps.optional()
    /// }
    /// ```
    #[must_use]
    pub fn optional(self) -> Self {
        self.cache.optional();
        self
    }

    /// Whether the cluster has this kind, as far as its watch knows.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use manager::Objects;
    ///
    /// async fn apply(maps: &Objects<ConfigMap>, map: &ConfigMap) -> kube::Result<()> {
    ///     if maps.is_served() {
    ///         maps.apply(map, "example.example.com").await?;
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn is_served(&self) -> bool {
        self.cache.is_served()
    }

    /// Publishes events as this recorder does.
    pub(crate) fn telling(self, recorder: Recorder) -> Self {
        Self { recorder, ..self }
    }

    /// Puts an object into the cache alone, as a watch does; for tests.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::Client;
    /// use manager::Objects;
    ///
    /// fn knowing(map: ConfigMap, client: Client) -> Objects<ConfigMap> {
    ///     let maps = Objects::new(client);
    ///     maps.put(map);
    ///     maps
    /// }
    /// ```
    pub fn put(&self, object: K) {
        let ticket = self.cache.ticket(object.meta().namespace.as_deref());
        self.cache.wrote(self.cache.arrived(object), &ticket);
    }

    /// Takes an object out of the cache alone, as a watch does when somebody has deleted it; for tests. Fine if it is not
    /// there.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::Client;
    /// use manager::Objects;
    ///
    /// fn after_a_deletion(map: ConfigMap, client: Client) -> Objects<ConfigMap> {
    ///     let maps = Objects::new(client);
    ///     maps.put(map);
    ///     maps.remove("default", "sample");
    ///     maps
    /// }
    /// ```
    pub fn remove<'a>(&self, namespace: impl Into<Option<&'a str>>, name: &str) {
        let key = ObjectKey {
            namespace: namespace.into().map(str::to_owned),
            name: name.to_owned(),
        };
        self.cache.remove(&key);
    }

    /// The object of this name, if it exists. `namespace` is `None` for objects of the cluster.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use manager::Objects;
    ///
    /// fn is_there(maps: &Objects<ConfigMap>) -> bool {
    ///     maps.get("default", "sample").is_some()
    /// }
    /// ```
    pub fn get<'a>(&self, namespace: impl Into<Option<&'a str>>, name: &str) -> Option<Arc<K>> {
        let key = ObjectKey {
            namespace: namespace.into().map(str::to_owned),
            name: name.to_owned(),
        };
        self.cache.get(&key).or_else(|| self.cache.found(&key))
    }

    /// The objects of a namespace, or of all if it is `None`; sorted by namespace and name.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use manager::Objects;
    ///
    /// fn count(maps: &Objects<ConfigMap>) -> [usize; 2] {
    ///     [maps.list("default").len(), maps.list(None).len()]
    /// }
    /// ```
    pub fn list<'a>(&self, namespace: impl Into<Option<&'a str>>) -> Vec<Arc<K>> {
        self.cache.list(namespace.into())
    }

    /// The objects of a namespace, or of all, whose labels a selector selects.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube::core::{Expression, Selector};
    /// use manager::Objects;
    ///
    /// fn caches(pods: &Objects<Pod>) -> usize {
    ///     let selector = Selector::from_iter([("app", "memcached")]);
    ///     pods.list_matching("default", &selector).len()
    /// }
    ///
    /// fn labeled(pods: &Objects<Pod>) -> usize {
    ///     let selector = Selector::from_iter([Expression::Exists("app".to_owned())]);
    ///     pods.list_matching(None, &selector).len()
    /// }
    /// ```
    pub fn list_matching<'a>(
        &self,
        namespace: impl Into<Option<&'a str>>,
        labels: &Selector,
    ) -> Vec<Arc<K>> {
        let mut objects = self.cache.list(namespace.into());
        objects.retain(|object| labels.matches(object.labels()));
        objects
    }

    /// Keeps the objects by what `of` says of each; it sees that object alone, and must not ask the cache. For finding them
    /// without looking at all, such as those that name a Secret when it has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use manager::{Index, Objects};
    ///
    /// fn images(pod: &Pod) -> Vec<String> {
    ///     let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    ///     containers.filter_map(|container| container.image.clone()).collect()
    /// }
    ///
    /// fn by_image(pods: &Objects<Pod>) -> Index<Pod, String> {
    ///     pods.index(images)
    /// }
    /// ```
    pub fn index<V, Values>(&self, of: impl Fn(&K) -> Values + Send + Sync + 'static) -> Index<K, V>
    where
        V: Ord + Clone + Send + Sync + 'static,
        Values: IntoIterator<Item = V>,
    {
        Index::new(self.cache.clone(), of)
    }

    /// Makes an object as `desired`, by server-side apply; nothing is sent if that is what was applied last, and nobody
    /// has changed the object since, its status aside. So each object is applied once after a start, and once after a
    /// change by others, whether that was of a field of ours or not.
    ///
    /// `field_manager` owns the fields of `desired`: one that is no longer desired goes. Where others have put an element
    /// into a list that can't be there beside a desired one, such as a port of the same name, it is replaced.
    ///
    /// If `desired` has a controller among its owners, an object of the same name that is not this controller's is left
    /// as it is, and the error is of reason `AlreadyExists`. One that was applied before and has lost its owner is taken
    /// back.
    ///
    /// An object that exists and is not in the cache, although its watch should have told of it, is not written: the error
    /// is of reason `Conflict`, and the next reconcile finds it with [`Objects::get`]. For what is generated once that is
    /// not enough, see [`Objects::create`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::api::ObjectMeta;
    /// use manager::Objects;
    ///
    /// async fn configure(maps: &Objects<ConfigMap>, text: String) -> kube::Result<()> {
    ///     let map = ConfigMap {
    ///         metadata: ObjectMeta {
    ///             name: Some("sample".to_owned()),
    ///             namespace: Some("default".to_owned()),
    ///             ..ObjectMeta::default()
    ///         },
    ///         data: Some(BTreeMap::from([("config".to_owned(), text)])),
    ///         ..ConfigMap::default()
    ///     };
    ///     maps.apply(&map, "example.example.com").await?;
    ///     Ok(())
    /// }
    /// ```
    pub async fn apply(&self, desired: &K, field_manager: &str) -> kube::Result<Applied<K>> {
        visit::check_owner(desired)?;
        let key = ObjectKey::of(desired);
        let manifest = self.manifest(desired)?;
        let hashes = (
            digest::hash(field_manager),
            digest::hash(&manifest.to_string()),
        );
        self.cache.applies();
        let cached = self.cache.get(&key).or_else(|| self.cache.take_found(&key));
        if let Some(object) = &cached {
            self.check_owner(desired, object, field_manager).await?;
            if self.cache.is_settled(&key, hashes) {
                return Ok(Applied {
                    object: object.clone(),
                    change: Change::None,
                });
            }
        }
        let send = |precondition| self.force(&key, &manifest, precondition, field_manager);
        let known = cached.is_some();
        let (before, (object, digest)) = match cached {
            Some(cached) => {
                let sent = send(Precondition::same_as(cached.as_ref())).await?;
                (Some(cached), sent)
            }
            None => match send(Precondition::Absent).await {
                Err(kube::Error::Api(status)) if status.code == 409 => {
                    // It exists, and the watch has not told of it: yet, or because of its labels.
                    let found = self.find(&key).await?.ok_or(kube::Error::Api(status))?;
                    let was_applied = object::was_applied(&found, field_manager);
                    self.cache
                        .kind
                        .check_controller(desired, &found, was_applied)?;
                    if self.cache.tells_of(&key, desired.labels()) {
                        self.cache.find(found);
                        return Err(self.unread(&key));
                    }
                    let sent = send(Precondition::same_as(&found)).await?;
                    (Some(Arc::new(found)), sent)
                }
                created => (None, created?),
            },
        };
        if !known {
            self.warn_of(&key, &object);
        }
        self.cache.settle(&object, hashes, digest);
        let change = match before {
            None => Change::Created,
            Some(before) if before.resource_version() == object.resource_version() => Change::None,
            Some(_) => Change::Updated,
        };
        Ok(Applied { object, change })
    }

    pub(super) fn manifest(&self, object: &K) -> kube::Result<Value> {
        apply::manifest(&self.cache.kind, object).map_err(kube::Error::SerdeError)
    }

    /// What is desired was made without knowing the object: who looks again can read it.
    fn unread(&self, key: &ObjectKey) -> kube::Error {
        let kind = self.cache.kind.name();
        let message =
            format!("{kind} {key} exists and was not known here: nothing was written, look again");
        let status = Status::failure(&message, "Conflict").with_code(409);
        kube::Error::Api(Box::new(status))
    }

    /// What no watch tells of is asked for at each reconcile: a mistake that nobody would see.
    pub(super) fn warn_of(&self, key: &ObjectKey, object: &K) {
        if let Some(why) = self.cache.overlooks(key, object.labels()) {
            tracing::warn!(
                kind = %self.cache.kind.name(),
                %key,
                why,
                "an object that is written here is not watched, which costs requests at every reconcile"
            );
        }
    }

    /// Refuses an object of the cache that is somebody else's. Of one that lost its owner the server knows whether we
    /// have applied it, if this process does not.
    pub(super) async fn check_owner(
        &self,
        desired: &K,
        cached: &Arc<K>,
        field_manager: &str,
    ) -> kube::Result<()> {
        let lost_owner = || object::controller(cached.as_ref()).is_none();
        let mut was_applied = false;
        if object::controller(desired).is_some() && lost_owner() {
            let key = ObjectKey::of(cached.as_ref());
            was_applied = self.cache.was_applied(&key, digest::hash(field_manager));
            if !was_applied {
                let found = self.find(&key).await?;
                was_applied = found.is_some_and(|found| object::was_applied(&found, field_manager));
            }
        }
        self.cache
            .kind
            .check_controller(desired, cached.as_ref(), was_applied)
    }

    /// Takes the fields over from whoever has them; and elements of lists, where those of others are in the way.
    async fn force(
        &self,
        key: &ObjectKey,
        manifest: &Value,
        precondition: Precondition,
        field_manager: &str,
    ) -> kube::Result<Answer<K>> {
        let params = PatchParams::apply(field_manager).force();
        let provided = apply::provided(manifest, precondition);
        let apply = Patch::Apply(&provided);
        let refused = match self.send(key, None, &params, &apply).await {
            Err(kube::Error::Api(status)) if status.code == 422 => status,
            answer => return answer,
        };
        if !self
            .take_over(key, manifest, &refused, field_manager)
            .await?
        {
            return Err(kube::Error::Api(refused));
        }
        self.send(key, None, &params, &apply).await
    }

    /// Whether there was something to take over.
    async fn take_over(
        &self,
        key: &ObjectKey,
        manifest: &Value,
        refused: &Status,
        field_manager: &str,
    ) -> kube::Result<bool> {
        let details = refused.details.as_ref();
        let causes = details.map_or(&[][..], |details| &details.causes);
        let mut tries = if causes.is_empty() { 0 } else { TRIES };
        while tries > 0 {
            tries -= 1;
            let Some(live) = self.find(key).await? else {
                return Ok(false);
            };
            let value = serde_json::to_value(&live).map_err(kube::Error::SerdeError)?;
            let fields = live.managed_fields();
            let Some(takeover) = takeover::of(causes, manifest, &value, fields, field_manager)
            else {
                return Ok(false);
            };
            let patch = json!({ "metadata": {
                "managedFields": takeover.managed_fields,
                "resourceVersion": live.resource_version(),
            } });
            let params = PatchParams {
                field_manager: Some(field_manager.to_owned()),
                ..PatchParams::default()
            };
            match self.send(key, None, &params, &Patch::Merge(&patch)).await {
                // Somebody has written it in between, its status perhaps.
                Err(kube::Error::Api(status)) if status.code == 409 && tries > 0 => continue,
                answer => drop(answer?),
            }
            let elements = takeover.elements.join(", ");
            tracing::warn!(
                kind = %self.cache.kind.name(),
                %key,
                elements,
                refused = refused.message,
                "elements that others have put into lists are in the way and are replaced"
            );
            let about = live.object_ref(&self.cache.kind.dynamic);
            let note = format!(
                "What others have put into lists is in the way and is replaced: {elements}"
            );
            let what = ("Apply", "Replaced");
            event::publish(&self.recorder, &about, EventType::Warning, what, &note).await;
            return Ok(true);
        }
        Ok(false)
    }

    /// Asks the server; a list needs no other permission than the watch has.
    pub(super) async fn find(&self, key: &ObjectKey) -> kube::Result<Option<K>> {
        let api = self.api(key.namespace.as_deref());
        let by_name = ListParams::default().fields(&format!("metadata.name={}", key.name));
        Ok(api.list(&by_name).await?.items.into_iter().next())
    }

    /// Writes the status of `object` if it differs.
    ///
    /// It is written for the version of `object`, because a status is what somebody saw. Where that is no longer the
    /// newest, within a reconcile, nothing is written and the reconcile is done again; elsewhere the error is of reason
    /// `Conflict`. So use the object that [`Objects::add_finalizer`] returns.
    ///
    /// A `DynamicObject` has no type for its status; `patch_status` of [`Objects::api`] writes it.
    ///
    /// # Examples
    ///
    /// ```
    /// use kube::CustomResource;
    /// use manager::{Objects, StatusChange};
    /// use schemars::JsonSchema;
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
    /// #[kube(group = "example.com", version = "v1", kind = "Sample", namespaced, status = "SampleStatus")]
    /// struct SampleSpec {}
    ///
    /// #[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
    /// struct SampleStatus {
    ///     ready: bool,
    /// }
    ///
    /// async fn tell(samples: &Objects<Sample>, sample: &Sample, ready: bool) -> kube::Result<bool> {
    ///     let status = SampleStatus { ready };
    ///     let change = samples.apply_status(sample, &status, "example.example.com").await?;
    ///     Ok(change == StatusChange::Written)
    /// }
    /// ```
    pub async fn apply_status<S>(
        &self,
        object: &K,
        status: &S,
        field_manager: &str,
    ) -> kube::Result<StatusChange>
    where
        K: HasStatus<Status = S>,
        S: PartialEq + Serialize,
    {
        if object.status() == Some(status) {
            return Ok(StatusChange::Unchanged);
        }
        let key = ObjectKey::of(object);
        if let Some(pause) = self.status_pause
            && let Some(written) = self.cache.status_written_at(&key)
            && let Some(left) = pause.checked_sub(written.elapsed())
            && !left.is_zero()
            && visit::again(left)
        {
            return Ok(StatusChange::Deferred);
        }
        // The UID keeps it from a successor of the same name.
        let manifest = json!({
            "apiVersion": self.cache.kind.api_version(),
            "kind": self.cache.kind.name(),
            "metadata": { "uid": object.uid(), "resourceVersion": object.resource_version() },
            "status": status,
        });
        let params = PatchParams::apply(field_manager).force();
        let patch = Patch::Apply(&manifest);
        match self.send(&key, Some("status"), &params, &patch).await {
            Err(kube::Error::Api(status)) if status.code == 409 && visit::again(OUTDATED) => {
                Ok(StatusChange::Deferred)
            }
            written => {
                written?;
                self.cache.status_written(&key);
                Ok(StatusChange::Written)
            }
        }
    }

    /// Keeps `object` from disappearing before [`Objects::remove_finalizer`]; the object that there is afterwards.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use manager::Objects;
    ///
    /// async fn keep(map: Arc<ConfigMap>, maps: &Objects<ConfigMap>) -> kube::Result<Arc<ConfigMap>> {
    ///     maps.add_finalizer(map, "example.com/finalizer").await
    /// }
    /// ```
    pub async fn add_finalizer(&self, object: Arc<K>, finalizer: &str) -> kube::Result<Arc<K>> {
        let mut finalizers = object.finalizers().to_vec();
        if finalizers.iter().any(|present| present == finalizer) {
            return Ok(object);
        }
        finalizers.push(finalizer.to_owned());
        self.set_finalizers(&object, &finalizers).await
    }

    /// Lets `object` go; fine if it is gone already.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use manager::Objects;
    ///
    /// async fn let_go(map: &ConfigMap, maps: &Objects<ConfigMap>) -> kube::Result<()> {
    ///     maps.remove_finalizer(map, "example.com/finalizer").await
    /// }
    /// ```
    pub async fn remove_finalizer(&self, object: &K, finalizer: &str) -> kube::Result<()> {
        let mut finalizers = object.finalizers().to_vec();
        finalizers.retain(|present| present != finalizer);
        match self.set_finalizers(object, &finalizers).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            result => result.map(drop),
        }
    }

    /// The resource version makes the server refuse a list that somebody else has changed meanwhile.
    async fn set_finalizers(&self, object: &K, finalizers: &[String]) -> kube::Result<Arc<K>> {
        let patch = json!({
            "metadata": { "finalizers": finalizers, "resourceVersion": object.resource_version() },
        });
        let (key, params) = (ObjectKey::of(object), PatchParams::default());
        let answer = self.send(&key, None, &params, &Patch::Merge(&patch)).await;
        answer.map(|(object, _)| object)
    }

    pub(super) async fn send<P: Serialize + Debug>(
        &self,
        key: &ObjectKey,
        subresource: Option<&str>,
        params: &PatchParams,
        patch: &Patch<P>,
    ) -> kube::Result<Answer<K>> {
        let api = self.api(key.namespace.as_deref());
        let ticket = self.cache.ticket(key.namespace.as_deref());
        let answer = match subresource {
            Some(subresource) => {
                api.patch_subresource(subresource, &key.name, params, patch)
                    .await?
            }
            None => api.patch(&key.name, params, patch).await?,
        };
        let arrived = self.cache.arrived(answer);
        let digest = arrived.digest;
        Ok((self.cache.wrote(arrived, &ticket), digest))
    }
}

/// An object as the server answered, and its digest.
type Answer<K> = (Arc<K>, Option<u64>);
