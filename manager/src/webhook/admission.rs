//! The traits for defaulting and validation, and the request that their handlers get.

use std::sync::Arc;

use k8s_openapi::api::authentication::v1::UserInfo;
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use kube::core::DynamicObject;
use kube::core::admission::AdmissionRequest;
pub use kube::core::admission::Operation;
use serde_json::Value;

use super::denied::{Denied, Warnings};
use crate::object::Object;

/// Sets defaults before the object is validated and stored.
///
/// `C` is the context of the webhooks, see [`Manager::webhooks`](crate::Manager::webhooks). Because it is a type of the
/// operator, kinds of other crates can implement this trait, too.
///
/// # Examples
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use manager::webhook::{Defaulting, Denied, Request};
///
/// struct Context;
///
/// impl Defaulting<Context> for ConfigMap {
///     fn default(&mut self, _request: &Request<Context>) -> Result<(), Denied> {
///         self.immutable.get_or_insert(false);
///         Ok(())
///     }
/// }
///
/// let mut map = ConfigMap { ..Default::default() };
/// Defaulting::default(&mut map, &Request::new(Context))?;
/// assert_eq!(map.immutable, Some(false));
/// # Ok::<(), Denied>(())
/// ```
pub trait Defaulting<C>: Object {
    /// Sets defaults in an object that is created or updated. Fields that the type does not know are kept.
    ///
    /// An object that is being deleted passes unchanged. So does one that does not decode, because the API server then
    /// reports all of its errors.
    ///
    /// # Errors
    ///
    /// An error refuses the request.
    ///
    /// # Examples
    ///
    /// ```
    /// use manager::webhook::{Defaulting, Denied, Request};
    ///
    /// fn defaulted<C, K: Defaulting<C>>(mut object: K, context: C) -> Result<K, Denied> {
    ///     object.default(&Request::new(context))?;
    ///     Ok(object)
    /// }
    /// ```
    fn default(&mut self, request: &Request<C>) -> Result<(), Denied>;
}

/// Allows or refuses a request for an object, after all defaulting.
///
/// # Examples
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use manager::webhook::{Denied, FieldErrors, Request, Validating, Warnings};
///
/// struct Context;
///
/// impl Validating<Context> for ConfigMap {
///     async fn validate_create(&self, _request: &Request<Context>) -> Result<Warnings, Denied> {
///         let mut errors = FieldErrors::new();
///         if self.data.is_none() {
///             errors.required("data", "an empty map is of no use");
///         }
///         errors.into_result(Warnings::new())
///     }
/// }
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let denied = ConfigMap::default().validate_create(&Request::new(Context)).await;
/// assert_eq!(denied.unwrap_err().to_string(), "data: Required value: an empty map is of no use");
/// # });
/// ```
pub trait Validating<C>: Object {
    /// Set this to true to validate every update.
    ///
    /// By default, two kinds of updates pass without validation: updates of the metadata and the status alone, and
    /// updates of an object that is being deleted.
    ///
    /// With true, a rule that has become stricter can keep stored objects from losing their finalizers, so that their
    /// deletion never ends. Then [`validate_update`](Self::validate_update) should check only the metadata.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::ResourceExt;
    /// use manager::webhook::{Denied, FieldErrors, Request, Validating, Warnings};
    ///
    /// struct Context;
    ///
    /// impl Validating<Context> for ConfigMap {
    ///     const EVERY_UPDATE: bool = true;
    ///
    ///     async fn validate_update(&self, old: &Self, _: &Request<Context>) -> Result<Warnings, Denied> {
    ///         let mut errors = FieldErrors::new();
    ///         if self.labels().get("team") != old.labels().get("team") {
    ///             errors.forbidden("metadata.labels[team]", "is immutable");
    ///         }
    ///         errors.into_result(vec![])
    ///     }
    /// }
    /// ```
    const EVERY_UPDATE: bool = false;

    /// Validates the creation of `self`. The default allows it.
    ///
    /// # Errors
    ///
    /// An error refuses the request.
    ///
    /// # Examples
    ///
    /// ```
    /// use manager::webhook::{Denied, Request, Validating};
    ///
    /// async fn check<C: Send + Sync>(object: impl Validating<C>, context: C) -> Result<(), Denied> {
    ///     object.validate_create(&Request::new(context)).await.map(drop)
    /// }
    /// ```
    fn validate_create(
        &self,
        _request: &Request<C>,
    ) -> impl Future<Output = Result<Warnings, Denied>> + Send {
        async { Ok(Warnings::new()) }
    }

    /// Validates the replacement of `old` by `self`. The default allows it.
    ///
    /// If `old` lacks required fields, they have zero values: an empty object, list or string, 0, false, or the first
    /// variant. If it does not decode even then, [`validate_create`](Self::validate_create) validates `self` instead.
    /// [`Request::old`] is the object as it is stored.
    ///
    /// # Errors
    ///
    /// An error refuses the request.
    ///
    /// # Examples
    ///
    /// ```
    /// use manager::webhook::{Denied, Request, Validating};
    ///
    /// async fn check<C: Send + Sync, K: Validating<C>>(old: K, new: K, context: C) -> Result<(), Denied> {
    ///     new.validate_update(&old, &Request::new(context)).await.map(drop)
    /// }
    /// ```
    fn validate_update(
        &self,
        _old: &Self,
        _request: &Request<C>,
    ) -> impl Future<Output = Result<Warnings, Denied>> + Send {
        async { Ok(Warnings::new()) }
    }

    /// Validates the deletion of `self`. The default allows it.
    ///
    /// Missing required fields have zero values. If it does not decode even then, the deletion passes with a warning.
    ///
    /// # Errors
    ///
    /// An error refuses the request.
    ///
    /// # Examples
    ///
    /// ```
    /// use manager::webhook::{Denied, Request, Validating};
    ///
    /// async fn check<C: Send + Sync>(object: impl Validating<C>, context: C) -> Result<(), Denied> {
    ///     object.validate_delete(&Request::new(context)).await.map(drop)
    /// }
    /// ```
    fn validate_delete(
        &self,
        _request: &Request<C>,
    ) -> impl Future<Output = Result<Warnings, Denied>> + Send {
        async { Ok(Warnings::new()) }
    }
}

/// An admission request, without its object.
///
/// # Examples
///
/// ```
/// use manager::webhook::{Operation, Request};
///
/// let mut request = Request::new("anything");
/// request.user.username = Some("system:admin".to_owned());
/// assert_eq!((*request.context, request.operation), ("anything", Operation::Create));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request<C> {
    /// The context of the webhooks, such as caches and clients.
    pub context: Arc<C>,
    /// The operation on the object.
    pub operation: Operation,
    /// The name of the object; empty if the server has yet to generate it.
    pub name: String,
    /// The namespace of the object; `None` for cluster-scoped objects.
    pub namespace: Option<String>,
    /// The user who makes the request.
    pub user: UserInfo,
    /// True if nothing will be stored. The handler must have no side effects.
    pub dry_run: bool,
    /// The unique ID of the request.
    pub uid: String,
    /// The subresource, such as `status`; `None` for the object itself.
    pub sub_resource: Option<String>,
    /// The `CreateOptions`, `UpdateOptions` or `DeleteOptions`.
    pub options: Option<RawExtension>,
    /// The stored object of an update or a deletion, even if it does not fit the type.
    pub old: Option<Value>,
}

impl<C> Request<C> {
    /// Makes a request to create an object, for tests.
    ///
    /// # Examples
    ///
    /// ```
    /// let request = manager::webhook::Request::new(());
    /// assert!(!request.dry_run);
    /// ```
    pub fn new(context: C) -> Self {
        Self {
            context: Arc::new(context),
            operation: Operation::Create,
            name: String::new(),
            namespace: None,
            user: UserInfo::default(),
            dry_run: false,
            uid: String::new(),
            sub_resource: None,
            options: None,
            old: None,
        }
    }

    pub(super) fn of(context: Arc<C>, request: &AdmissionRequest<DynamicObject>) -> Self {
        Self {
            context,
            operation: request.operation.clone(),
            name: request.name.clone(),
            namespace: request.namespace.clone().filter(|name| !name.is_empty()),
            user: request.user_info.clone(),
            dry_run: request.dry_run,
            uid: request.uid.clone(),
            sub_resource: request.sub_resource.clone().filter(|name| !name.is_empty()),
            options: request.options.clone(),
            old: request
                .old_object
                .as_ref()
                .and_then(|old| serde_json::to_value(old).ok()),
        }
    }
}
