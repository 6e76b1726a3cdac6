//! Requests of [`Objects`] beside `apply`: objects that are created once and never overwritten, and requests with
//! parameters of the author. The cache gets the answers.

use std::fmt::Debug;
use std::sync::Arc;

use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::Request;
use kube::runtime::events::EventType;
use kube::{Api, ResourceExt};
use serde::Serialize;

use super::objects::{Applied, Change, Objects};
use super::visit;
use crate::cache::digest;
use crate::event;
use crate::object::{self, Object, ObjectKey};

impl<K: Object> Objects<K> {
    /// Returns a [`kube::Api`] for the objects of a namespace, or of all namespaces.
    ///
    /// Use it for requests without a method here, such as subresources. Its requests have the limits and retries of
    /// [`Manager::client`](crate::Manager::client). The cache sees their results when the watch delivers them.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use kube::api::{Patch, PatchParams};
    /// use manager::Objects;
    /// use serde_json::json;
    ///
    /// async fn scale(deployments: &Objects<Deployment>, name: &str, replicas: i32) -> kube::Result<()> {
    ///     let patch = Patch::Merge(json!({ "spec": { "replicas": replicas } }));
    ///     let api = deployments.api("default");
    ///     api.patch_scale(name, &PatchParams::default(), &patch).await?;
    ///     Ok(())
    /// }
    /// ```
    pub fn api<'a>(&self, namespace: impl Into<Option<&'a str>>) -> Api<K> {
        self.cache.kind.api(&self.client, namespace.into())
    }

    /// Reads an object from the API server, not from the cache.
    ///
    /// Use it when the cache may be too old for a decision, or when the watch does not select the object. Returns
    /// `None` if the object does not exist.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Secret;
    /// use manager::Objects;
    ///
    /// async fn is_there(secrets: &Objects<Secret>) -> kube::Result<bool> {
    ///     Ok(secrets.get_live("default", "sample").await?.is_some())
    /// }
    /// ```
    // +requests: of=K, verbs=get
    pub async fn get_live<'a>(
        &self,
        namespace: impl Into<Option<&'a str>>,
        name: &str,
    ) -> kube::Result<Option<Arc<K>>> {
        let api = self.api(namespace);
        Ok(api.get_opt(name).await?.map(Arc::new))
    }

    /// Patches `object` like [`Api::patch`], and stores the answer in the cache.
    ///
    /// The patch applies to the object with that name, in any version. Set `metadata.resourceVersion` in the patch to
    /// restrict it to the version of `object`.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::batch::v1::Job;
    /// use kube::api::{Patch, PatchParams};
    /// use manager::Objects;
    /// use serde_json::json;
    ///
    /// async fn suspend(jobs: &Objects<Job>, job: &Job) -> kube::Result<()> {
    ///     let patch = Patch::Merge(json!({ "spec": { "suspend": true } }));
    ///     jobs.patch(job, &PatchParams::default(), &patch).await?;
    ///     Ok(())
    /// }
    /// ```
    // +requests: of=K, verbs=patch
    pub async fn patch<P: Serialize + Debug>(
        &self,
        object: &K,
        params: &PatchParams,
        patch: &Patch<P>,
    ) -> kube::Result<Arc<K>> {
        let key = ObjectKey::of(object);
        if params.dry_run {
            let api = self.api(key.namespace.as_deref());
            return api.patch(&key.name, params, patch).await.map(Arc::new);
        }
        let (object, _) = self.send(&key, None, params, patch).await?;
        Ok(object)
    }

    /// Deletes `object`, but not a successor with the same name.
    ///
    /// Returns true if the object is being deleted or gone, and false if it did not exist. An object that the server
    /// has removed also leaves the cache, so that [`Objects::apply`] can create it again. One with finalizers or a
    /// grace period stays until the watch reports its end.
    ///
    /// # Errors
    ///
    /// The UID of `object` is a precondition, besides those of `params`. If one does not hold, the error has reason
    /// `Conflict`.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::batch::v1::Job;
    /// use kube::api::DeleteParams;
    /// use manager::Objects;
    ///
    /// /// With its pods.
    /// async fn remove(jobs: &Objects<Job>, job: &Job) -> kube::Result<bool> {
    ///     jobs.delete(job, &DeleteParams::background()).await
    /// }
    /// ```
    // +requests: of=K, verbs=delete
    pub async fn delete(&self, object: &K, params: &DeleteParams) -> kube::Result<bool> {
        let key = ObjectKey::of(object);
        let mut params = params.clone();
        let preconditions = params.preconditions.get_or_insert_default();
        preconditions.uid = preconditions.uid.take().or(object.uid());
        let ticket = self.cache.ticket(key.namespace.as_deref());
        let api = self.api(key.namespace.as_deref());
        let answer = match api.delete(&key.name, &params).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => return Ok(false),
            answer => answer?,
        };
        if params.dry_run {
            return Ok(true);
        }
        let going = answer.left();
        match going.filter(|going| going.meta().deletion_timestamp.is_some()) {
            Some(going) => drop(self.cache.wrote(self.cache.arrived(going), &ticket)),
            None => self.cache.gone(object),
        }
        Ok(true)
    }

    /// Publishes an event about `object`, which `kubectl describe` shows.
    ///
    /// `reason` is one CamelCase word. `note` is a sentence; its first 1024 bytes are kept. A failure to publish is
    /// logged as a warning, because an event must not fail a reconcile. The same event within six minutes is counted
    /// instead of repeated.
    ///
    /// Use [`Manager::recorder`](crate::Manager::recorder) for events with an action other than `Reconcile`, or with a
    /// second object.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::runtime::events::EventType;
    /// use manager::Objects;
    ///
    /// async fn complain(maps: &Objects<ConfigMap>, map: &ConfigMap) {
    ///     let note = "the key `port` is missing";
    ///     maps.publish(map, EventType::Warning, "NoPort", note).await;
    /// }
    /// ```
    // +requests: of=events.events.k8s.io, verbs=create;patch
    pub async fn publish(&self, object: &K, type_: EventType, reason: &str, note: &str) {
        let about = object.object_ref(&self.cache.kind.dynamic);
        event::publish(&self.recorder, &about, type_, ("Reconcile", reason), note).await;
    }

    /// Creates an object unless an object with its name exists. An existing object is not changed.
    ///
    /// Use it for objects that are generated once, such as passwords: [`Objects::apply`] would overwrite them with each
    /// new value of `desired`. The result holds the object on the server, which may differ from `desired`.
    ///
    /// If `desired` has no controller owner, check [`Applied::change`]. [`Change::Foreign`] means that another
    /// controller owns the object, or that `field_manager` never wrote it. Do not trust its content.
    ///
    /// # Errors
    ///
    /// Returns an error with reason `AlreadyExists` if `desired` has a controller owner and the existing object has a
    /// different one, as in [`Objects::apply`]. Errors of the API server are returned unchanged.
    ///
    /// # Examples
    ///
    /// A Secret that is generated once. Nobody can change it, but deleting it creates a new one. Watching its metadata
    /// (`PartialObjectMeta<Secret>`) is enough to notice that.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use k8s_openapi::api::core::v1::Secret;
    /// use kube::api::ObjectMeta;
    /// use manager::{Change, Objects};
    ///
    /// async fn password(secrets: &Objects<Secret>, new: String) -> kube::Result<bool> {
    ///     let secret = Secret {
    ///         metadata: ObjectMeta {
    ///             name: Some("sample".to_owned()),
    ///             namespace: Some("default".to_owned()),
    ///             ..ObjectMeta::default()
    ///         },
    ///         immutable: Some(true),
    ///         string_data: Some(BTreeMap::from([("password".to_owned(), new)])),
    ///         ..Secret::default()
    ///     };
    ///     let made = secrets.create(&secret, "example.example.com").await?;
    ///     Ok(made.change != Change::Foreign)
    /// }
    /// ```
    // +requests: of=K, verbs=create
    pub async fn create(&self, desired: &K, field_manager: &str) -> kube::Result<Applied<K>> {
        visit::check_owner(desired)?;
        let key = ObjectKey::of(desired);
        if let Some(object) = self.get(key.namespace.as_deref(), &key.name) {
            self.check_owner(desired, &object, field_manager).await?;
            let change = self.whose(desired, &object, field_manager).await?;
            return Ok(Applied { object, change });
        }
        let api = self.api(key.namespace.as_deref());
        let params = PostParams {
            field_manager: Some(field_manager.to_owned()),
            ..PostParams::default()
        };
        let ticket = self.cache.ticket(key.namespace.as_deref());
        // A dynamic object may lack `apiVersion` and `kind`.
        let body = self.manifest(desired)?.to_string().into_bytes();
        let request = Request::new(api.resource_url()).create(&params, body);
        let request = request.map_err(kube::Error::BuildRequest)?;
        let made = match self.client.request::<K>(request).await {
            Ok(answer) => {
                let object = self.cache.wrote(self.cache.arrived(answer), &ticket);
                self.cache.made(&object, digest::hash(field_manager));
                let change = Change::Created;
                Applied { object, change }
            }
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                let found = self.find(&key).await?.ok_or(kube::Error::Api(status))?;
                let was_made = object::was_applied(&found, field_manager);
                self.cache
                    .kind
                    .check_controller(desired, &found, was_made)?;
                let change = of_whom(desired, &found, was_made);
                let object = Arc::new(found);
                if change == Change::Foreign {
                    tracing::warn!(
                        kind = %self.cache.kind.name(),
                        %key,
                        field_manager,
                        "an object was not created: one of its name exists, and was made by somebody else"
                    );
                }
                Applied { object, change }
            }
            Err(error) => return Err(error),
        };
        self.warn_of(&key, &made.object);
        Ok(made)
    }

    /// Decides if a cached object is foreign. The cache does not keep `managedFields`, so the server is asked once, and
    /// again while the object is foreign.
    async fn whose(&self, desired: &K, cached: &K, field_manager: &str) -> kube::Result<Change> {
        let (key, manager) = (ObjectKey::of(cached), digest::hash(field_manager));
        let made = self.cache.was_made(cached, manager) || self.cache.was_applied(&key, manager);
        let change = of_whom(desired, cached, true);
        if made || change == Change::Foreign || object::controller(desired).is_some() {
            return Ok(change);
        }
        // The object is gone. The watch will deliver that.
        let Some(found) = self.find(&key).await? else {
            return Ok(Change::None);
        };
        let was_made = object::was_applied(&found, field_manager);
        if was_made {
            self.cache.made(&found, manager);
        }
        Ok(of_whom(desired, &found, was_made))
    }
}

/// Returns the change for an object that already exists. If `desired` has a controller, the owner was checked before.
fn of_whom<K: Object>(desired: &K, found: &K, was_made: bool) -> Change {
    let wanted = object::controller(desired).is_some();
    if wanted || was_made && object::controller(found).is_none() {
        Change::None
    } else {
        Change::Foreign
    }
}
