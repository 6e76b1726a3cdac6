//! Objects that are created once and never overwritten.

use std::sync::Arc;

use kube::api::PostParams;
use kube::core::Request;

use super::objects::{Applied, Change, Objects};
use super::visit;
use crate::cache::digest;
use crate::object::{self, Object, ObjectKey};

impl<K: Object> Objects<K> {
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
