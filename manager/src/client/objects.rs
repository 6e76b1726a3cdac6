//! The objects of one kind. Reads come from the cache, writes go to the API server.
//!
//! A write stores its answer in the cache, so that the next read returns it. A needless write is not sent.

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
use super::visit;
use crate::cache::index::Index;
use crate::cache::{Cache, digest};
use crate::object::{self, Kind, Object, ObjectKey};
use crate::{error, event};

/// Delay before the next reconcile of an object whose newest version the watch has not delivered.
const OUTDATED: Duration = Duration::from_millis(100);

/// Maximum attempts of a takeover while others write at the same time.
const TRIES: u32 = 5;

/// A handle on the objects of one kind that this operator watches. Cheap to clone.
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

/// The result of [`Objects::apply`] or [`Objects::create`].
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
    /// The object in the server's answer or the cache, including fields of other managers.
    pub object: Arc<K>,
    /// The change that was made.
    pub change: Change,
}

/// The change that [`Objects::apply`] or [`Objects::create`] made.
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
    /// Nothing changed: the object was as desired.
    None,
    /// The object did not exist and was created.
    Created,
    /// The object was changed.
    Updated,
    /// Nothing was written: [`Objects::create`] found an object that somebody else created.
    Foreign,
}

/// The outcome of [`Objects::apply_status`].
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
    /// Nothing was sent: the status was equal.
    Unchanged,
    /// The status was written.
    Written,
    /// Nothing was written. The object is requeued, and the next reconcile computes the status again.
    Deferred,
}

impl<K: Object> Objects<K> {
    /// Makes a handle without a watch, for tests. Elsewhere, use [`Manager::objects`](crate::Manager::objects).
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

    /// Like [`Objects::new`], for a dynamic kind.
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

    /// Limits status writes to one per object and `pause`.
    ///
    /// An earlier [`Objects::apply_status`] within a reconcile is [deferred](StatusChange::Deferred), and the object is
    /// requeued for the end of the pause. Use it for a status that summarizes frequent changes.
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

    /// Makes the kind optional: the operator does not wait for it if the cluster lacks it.
    ///
    /// Without the kind, the operator is ready, its controllers run, and there are no objects. They appear once the
    /// cluster serves the kind.
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

    /// Returns false if the watch found that the cluster does not serve this kind.
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

    pub(crate) fn telling(self, recorder: Recorder) -> Self {
        Self { recorder, ..self }
    }

    /// Puts an object into the cache only, as a watch does; for tests.
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

    /// Removes an object from the cache only, as a watch does after a deletion; for tests. A missing object is ignored.
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
        let key = ObjectKey::new(namespace.into(), name);
        self.cache.remove(&key);
    }

    /// Returns an object from the cache, if it exists. `namespace` is `None` for cluster-scoped objects.
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
        let key = ObjectKey::new(namespace.into(), name);
        self.cache.get(&key).or_else(|| self.cache.found(&key))
    }

    /// Returns the cached objects of a namespace, or of all namespaces, sorted by namespace and name.
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

    /// Returns the cached objects of a namespace, or of all namespaces, whose labels match a selector.
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

    /// Makes an index of the objects by the values that `of` returns.
    ///
    /// An index finds objects without a scan of all, such as the objects that refer to a changed Secret. `of` must not
    /// access the cache.
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

    /// Creates or updates an object by server-side apply.
    ///
    /// Nothing is sent if the same configuration was applied last and the object has not changed since, except for its
    /// status. So each object is applied once after a start, and once after each change by others.
    ///
    /// `field_manager` owns the fields of `desired`. A field that is no longer in `desired` is removed. If a list
    /// element of another manager conflicts with a desired one, such as a port with the same name, it is replaced.
    ///
    /// If `desired` has a controller owner, objects of other controllers are not changed. An object that was applied
    /// before and has lost its owner is adopted again.
    ///
    /// # Errors
    ///
    /// - `AlreadyExists`: `desired` has a controller owner, and the existing object belongs to something else.
    /// - `Conflict`: the object exists, but the watch has not delivered it. Nothing was written, and the next reconcile
    ///   finds the object with [`Objects::get`]. For objects that are generated once, use [`Objects::create`].
    /// - Errors of the API server are returned unchanged.
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
    // +requests: of=K, verbs=create;patch
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
                    // The object exists, but the watch has not delivered it: not yet, or because of its labels.
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
        let mut manifest = serde_json::to_value(object).map_err(kube::Error::SerdeError)?;
        manifest["apiVersion"] = json!(self.cache.kind.api_version());
        manifest["kind"] = json!(self.cache.kind.name());
        Ok(manifest)
    }

    /// Returns the conflict for an object that `desired` did not take into account. The next reconcile can read it.
    fn unread(&self, key: &ObjectKey) -> kube::Error {
        let kind = self.cache.kind.name();
        let message =
            format!("{kind} {key} exists and was not known here: nothing was written, look again");
        error::refusal(409, "Conflict", &message)
    }

    /// Warns about an object that no watch delivers. Each reconcile requests it, which would go unnoticed.
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

    /// Returns an error if a cached object belongs to something else. If the object has lost its owner and this process
    /// did not apply it, the server's `managedFields` decide.
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

    /// Applies with force. If list elements of other managers make the result invalid, takes these over first.
    async fn force(
        &self,
        key: &ObjectKey,
        manifest: &Value,
        precondition: Precondition,
        field_manager: &str,
    ) -> kube::Result<AnsweredObject<K>> {
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

    /// Takes over the elements that cause a refusal. Returns false if there are none.
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
            let Some(takeover) = apply::takeover(causes, manifest, &value, fields, field_manager)
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
                // Another client wrote in between, perhaps the status.
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

    /// Finds an object on the server. A list needs no permissions beyond those of the watch.
    pub(super) async fn find(&self, key: &ObjectKey) -> kube::Result<Option<K>> {
        let api = self.api(key.namespace.as_deref());
        let by_name = ListParams::default().fields(&format!("metadata.name={}", key.name));
        Ok(api.list(&by_name).await?.items.into_iter().next())
    }

    /// Writes the status of `object` if it differs.
    ///
    /// The status applies to the version of `object`, because it describes what the reconcile has seen. Within a
    /// reconcile, an outdated version returns [`StatusChange::Deferred`] and requeues the object. So pass the object
    /// that [`Objects::add_finalizer`] returns.
    ///
    /// A `DynamicObject` has no status type. Use `patch_status` of [`Objects::api`] instead.
    ///
    /// # Errors
    ///
    /// Outside of a reconcile, an outdated version is an error with reason `Conflict`.
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
    // +requests: of=K, subresource=status, verbs=patch
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
        // The UID protects a successor with the same name.
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

    /// Adds a finalizer, which keeps `object` until [`Objects::remove_finalizer`]. Returns the updated object.
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
    // +requests: of=K, verbs=patch
    pub async fn add_finalizer(&self, object: Arc<K>, finalizer: &str) -> kube::Result<Arc<K>> {
        let mut finalizers = object.finalizers().to_vec();
        if finalizers.iter().any(|present| present == finalizer) {
            return Ok(object);
        }
        finalizers.push(finalizer.to_owned());
        self.set_finalizers(&object, &finalizers).await
    }

    /// Removes a finalizer. An object that is already gone is not an error.
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
    // +requests: of=K, verbs=patch
    pub async fn remove_finalizer(&self, object: &K, finalizer: &str) -> kube::Result<()> {
        let mut finalizers = object.finalizers().to_vec();
        finalizers.retain(|present| present != finalizer);
        match self.set_finalizers(object, &finalizers).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            result => result.map(drop),
        }
    }

    /// The resource version makes the server reject the list if it has changed.
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
    ) -> kube::Result<AnsweredObject<K>> {
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

/// An object from an answer of the server, and its digest.
type AnsweredObject<K> = (Arc<K>, Option<u64>);
