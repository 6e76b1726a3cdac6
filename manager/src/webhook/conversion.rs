//! The traits for the versions of a kind, and the answers to ConversionReviews:
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/>.

use std::collections::BTreeMap;
use std::fmt::Display;

use kube::core::conversion::{ConversionRequest, ConversionResponse, ConversionReview};
use kube::core::{CustomResourceExt, Status, TypeMeta};
use serde_json::Value;

use super::lens::{self, Sides};
use super::review::{self, Answered};
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

const META_API_VERSION_V1: &str = "apiextensions.k8s.io/v1";
const META_KIND: &str = "ConversionReview";
/// Maximum number of failed objects that an answer names.
const NAMED: usize = 10;

/// The versions of all converted kinds.
#[derive(Default)]
pub(super) struct Conversions(BTreeMap<(String, String), ConvertedKind>);

struct ConvertedKind {
    hub: String,
    plural: String,
    spokes: BTreeMap<String, Sides>,
}

impl Conversions {
    /// Registers a hub. Returns false if the kind has another one.
    pub(super) fn hub<H: Hub>(&mut self) -> bool {
        let version = H::version(&());
        self.kind::<H>().hub == version
    }

    /// Registers a spoke. Returns false if the kind has another hub, or the same spoke already.
    pub(super) fn spoke<S: Spoke>(&mut self) -> bool {
        let same = self.hub::<S::Hub>();
        let spokes = &mut self.kind::<S::Hub>().spokes;
        let before = spokes.insert(S::version(&()).into_owned(), Sides::of::<S>());
        same && before.is_none()
    }

    fn kind<H: Hub>(&mut self) -> &mut ConvertedKind {
        let key = (H::group(&()).into_owned(), H::kind(&()).into_owned());
        self.0.entry(key).or_insert_with(|| ConvertedKind {
            hub: H::version(&()).into_owned(),
            plural: H::plural(&()).into_owned(),
            spokes: BTreeMap::new(),
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn definitions(&self) -> Vec<String> {
        let name = |((group, _), kind): (&(String, String), &ConvertedKind)| {
            format!("{}.{group}", kind.plural)
        };
        self.0.iter().map(name).collect()
    }

    pub(super) fn answer(&self, body: &[u8]) -> Answered {
        let expected = TypeMeta {
            api_version: META_API_VERSION_V1.to_owned(),
            kind: META_KIND.to_owned(),
        };
        review::of_type(body, &expected)?;
        let review = serde_json::from_slice::<ConversionReview>(body);
        let review = review.map_err(|error| format!("the body is no {META_KIND}: {error}"))?;
        let request = ConversionRequest::from_review(review);
        let mut request = request.map_err(|_| "the review has no request")?;
        let desired = request.desired_api_version.clone();
        let (mut converted, mut errors) = (Vec::new(), Vec::new());
        for object in std::mem::take(&mut request.objects) {
            let name = described(&object);
            match self.convert(object, &desired) {
                Ok(object) => converted.push(object),
                Err(error) => errors.push(format!("can't convert {name} to {desired}: {error}")),
            }
        }
        let response = ConversionResponse::for_request(request);
        let response = match errors.len() {
            0 => response.success(converted),
            count => {
                errors.truncate(NAMED);
                if count > NAMED {
                    errors.push(format!("and {} more", count - NAMED));
                }
                response.failure(Status::failure(&errors.join("; "), "ConversionFailed"))
            }
        };
        serde_json::to_string(&response.into_review()).map_err(|error| error.to_string())
    }

    fn convert(&self, mut object: Value, desired: &str) -> Result<Value, String> {
        let text = |key| {
            let text = object.get(key).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let (version, kind) = (text("apiVersion"), text("kind"));
        if version == desired && !version.is_empty() {
            return Ok(object);
        }
        let (group, from) = version.split_once('/').unwrap_or_default();
        let (desired_group, to) = desired.split_once('/').unwrap_or_default();
        if group != desired_group {
            return Err("the group is another one".to_owned());
        }
        let kind = self.0.get(&(group.to_owned(), kind));
        let kind = kind.ok_or("this operator does not convert the kind")?;
        let spoke = |version: &str| {
            let sides = kind.spokes.get(version);
            sides.ok_or_else(|| format!("this operator has no version {version:?} of the kind"))
        };
        if from != kind.hub {
            object = lens::convert(object, [from, &kind.hub], group, spoke(from)?)?;
        }
        if to != kind.hub {
            object = lens::convert(object, [&kind.hub, to], group, &spoke(to)?.clone().turned())?;
        }
        Ok(object)
    }
}

fn described(object: &Value) -> String {
    let text = |pointer| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (kind, version) = (text("/kind"), text("/apiVersion"));
    let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
    let slash = if namespace.is_empty() { "" } else { "/" };
    format!("{kind} {namespace}{slash}{name} of {version}")
}
