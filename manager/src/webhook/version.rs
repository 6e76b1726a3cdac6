//! What an author writes: how one version of a kind becomes another.

use std::fmt::Display;

use kube::core::CustomResourceExt;

use crate::object::Object;

/// The version of a kind that all others are converted from and to. Take the newest one, whichever is stored.
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

/// A version of a kind that is served, too.
///
/// The metadata needs no conversion. What this version can't hold is kept in the annotation `GROUP/conversion-data`, so that it
/// is there again when the object is stored; the same goes for what the hub can't hold. What somebody writes into the annotation
/// counts only where the schema of the version accepts it, and where it does not contradict the object.
///
/// Required fields that a stored object lacks have zero values, so that one such object does not fail the lists of the other
/// versions: an empty object, list or string, 0, false, the first variant.
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
    /// The version that this one is converted to.
    type Hub: Hub;
    /// Why an object can't be converted; `Infallible` if each can.
    type Error: Display;

    /// This object in the version of the hub.
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

    /// The object of the hub in this version.
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
