//! The traits for the versions of a kind and their conversion.

use std::fmt::Display;

use kube::core::CustomResourceExt;

use crate::object::Object;

/// The version that all others are converted from and to. Use the newest version, even if another one is stored.
///
/// # Examples
///
/// ```
/// # use kube::CustomResource;
/// # use schemars::JsonSchema;
/// # use serde::{Deserialize, Serialize};
/// #[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
/// #[kube(group = "example.com", version = "v1", kind = "Thing")]
/// pub struct ThingSpec {
///     replicas: i32,
/// }
///
/// impl manager::webhook::Hub for Thing {}
/// ```
pub trait Hub: Object<DynamicType = ()> + CustomResourceExt {}

/// A served version that is not the hub.
///
/// The metadata needs no conversion. Fields that this version cannot hold are kept in the annotation
/// `GROUP/conversion-data` and restored when the object is stored; fields that the hub cannot hold are treated the same
/// way. Changes of the annotation by others count only if they fit the schema of the version and do not contradict the
/// object.
///
/// If a stored object lacks required fields, they have zero values: an empty object, list or string, 0, false, or the
/// first variant. So one such object does not make lists in other versions fail.
///
/// # Examples
///
/// ```
/// # use kube::CustomResource;
/// # use schemars::JsonSchema;
/// # use serde::{Deserialize, Serialize};
/// use std::convert::Infallible;
///
/// use manager::webhook::{Hub, Spoke};
///
/// #[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
/// #[kube(group = "example.com", version = "v1", kind = "Thing")]
/// pub struct ThingSpec {
///     replicas: i32,
/// }
///
/// impl Hub for Thing {}
///
/// #[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
/// #[kube(group = "example.com", version = "v1alpha1", kind = "Thing", root = "OldThing")]
/// pub struct OldThingSpec {
///     size: i32,
/// }
///
/// impl Spoke for OldThing {
///     type Hub = Thing;
///     type Error = Infallible;
///
///     fn to_hub(&self) -> Result<Thing, Infallible> {
///         Ok(Thing::new("", ThingSpec { replicas: self.spec.size }))
///     }
///
///     fn from_hub(hub: &Thing) -> Result<Self, Infallible> {
///         Ok(Self::new("", OldThingSpec { size: hub.spec.replicas }))
///     }
/// }
/// ```
pub trait Spoke: Object<DynamicType = ()> + CustomResourceExt {
    /// The hub of the kind.
    type Hub: Hub;
    /// The error of a failed conversion; `Infallible` if there are none.
    type Error: Display;

    /// Converts this object to the version of the hub.
    ///
    /// # Errors
    ///
    /// Returns an error if the object cannot be converted.
    ///
    /// # Examples
    ///
    /// ```
    /// use manager::webhook::Spoke;
    ///
    /// fn round_trip<S: Spoke>(object: &S) -> Result<S, S::Error> {
    ///     S::from_hub(&object.to_hub()?)
    /// }
    /// ```
    fn to_hub(&self) -> Result<Self::Hub, Self::Error>;

    /// Converts an object of the hub to this version.
    ///
    /// # Errors
    ///
    /// Returns an error if the object cannot be converted.
    ///
    /// # Examples
    ///
    /// ```
    /// use manager::webhook::Spoke;
    ///
    /// fn round_trip<S: Spoke>(hub: &S::Hub) -> Result<S::Hub, S::Error> {
    ///     S::from_hub(hub)?.to_hub()
    /// }
    /// ```
    fn from_hub(hub: &Self::Hub) -> Result<Self, Self::Error>;
}
