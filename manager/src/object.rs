//! Requirements of caches and controllers on a kind, the key of one of its objects, and names that Kubernetes accepts.

use std::borrow::Cow;
use std::fmt::{self, Debug, Display};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::{
    ApiResource, ClusterResourceScope, DynamicResourceScope, NamespaceResourceScope, ObjectMeta,
};
use kube::discovery::Scope;
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error;

/// The API groups of kube-apiserver: <https://kubernetes.io/docs/reference/kubernetes-api/>. CRDs may use other groups
/// below `k8s.io`.
const BUILT_IN_GROUPS: [&str; 23] = [
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// Any kind: custom resources, the types of `k8s_openapi`, `DynamicObject`, and `PartialObjectMeta` of these.
///
/// Implemented for every type that meets the bounds.
///
/// # Examples
///
/// ```
/// use k8s_openapi::api::core::v1::{ConfigMap, Pod};
/// use kube::core::{ApiResource, DynamicObject, GroupVersionKind, PartialObjectMeta};
/// use manager::Object;
///
/// fn name<K: Object>(dynamic: &K::DynamicType) -> String {
///     K::kind(dynamic).into_owned()
/// }
///
/// assert_eq!(name::<ConfigMap>(&()), "ConfigMap");
/// assert_eq!(name::<PartialObjectMeta<Pod>>(&()), "Pod");
/// let issuer = GroupVersionKind::gvk("cert-manager.io", "v1", "Issuer");
/// assert_eq!(name::<DynamicObject>(&ApiResource::from_gvk(&issuer)), "Issuer");
/// ```
pub trait Object:
    Resource<DynamicType: Clone, Scope: Reach>
    + Clone
    + Debug
    + Serialize
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
}

impl<K> Object for K where
    K: Resource<DynamicType: Clone, Scope: Reach>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// The scope of a kind, and how to reach its objects.
///
/// # Examples
///
/// ```
/// use k8s_openapi::api::core::v1::{Node, Pod};
/// use kube::Resource;
/// use manager::Reach;
///
/// assert!(<Pod as Resource>::Scope::NAMESPACED);
/// assert!(!<Node as Resource>::Scope::NAMESPACED);
/// ```
pub trait Reach: Sized {
    /// True if the kind is namespaced. True for a dynamic kind, which may be either.
    const NAMESPACED: bool;

    /// Returns an [`Api`] for the objects in a namespace, or for all objects.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube::{Api, Client, Resource};
    /// use manager::Reach;
    ///
    /// fn pods(client: Client) -> Api<Pod> {
    ///     <Pod as Resource>::Scope::api(client, Some("default"), &())
    /// }
    /// ```
    fn api<K: Resource<DynamicType: Clone, Scope = Self>>(
        client: Client,
        namespace: Option<&str>,
        dynamic: &K::DynamicType,
    ) -> Api<K>;
}

impl Reach for NamespaceResourceScope {
    const NAMESPACED: bool = true;

    fn api<K: Resource<DynamicType: Clone, Scope = Self>>(
        client: Client,
        namespace: Option<&str>,
        dynamic: &K::DynamicType,
    ) -> Api<K> {
        Api::all_with(client, dynamic).constrain(namespace.unwrap_or_default())
    }
}

impl Reach for DynamicResourceScope {
    const NAMESPACED: bool = true;

    fn api<K: Resource<DynamicType: Clone, Scope = Self>>(
        client: Client,
        namespace: Option<&str>,
        dynamic: &K::DynamicType,
    ) -> Api<K> {
        Api::all_with(client, dynamic).constrain(namespace.unwrap_or_default())
    }
}

impl Reach for ClusterResourceScope {
    const NAMESPACED: bool = false;

    fn api<K: Resource<DynamicType: Clone, Scope = Self>>(
        client: Client,
        _namespace: Option<&str>,
        dynamic: &K::DynamicType,
    ) -> Api<K> {
        Api::all_with(client, dynamic)
    }
}

pub(crate) fn api<K>(client: &Client, namespace: Option<&str>, dynamic: &K::DynamicType) -> Api<K>
where
    K: Resource<DynamicType: Clone, Scope: Reach>,
{
    <K::Scope as Reach>::api(client.clone(), namespace, dynamic)
}

/// A kind. For a dynamic kind, the type alone does not identify it.
pub(crate) struct Kind<K: Resource> {
    pub(crate) dynamic: K::DynamicType,
    namespaced: bool,
}

impl<K: Object<DynamicType: Default>> Default for Kind<K> {
    fn default() -> Self {
        Self {
            dynamic: K::DynamicType::default(),
            namespaced: <K::Scope as Reach>::NAMESPACED,
        }
    }
}

impl<K: Object> Kind<K> {
    pub(crate) fn new(dynamic: &K::DynamicType, scope: &Scope) -> Self {
        Self {
            dynamic: dynamic.clone(),
            namespaced: *scope == Scope::Namespaced,
        }
    }

    pub(crate) fn name(&self) -> Cow<'_, str> {
        K::kind(&self.dynamic)
    }

    pub(crate) fn api_version(&self) -> Cow<'_, str> {
        K::api_version(&self.dynamic)
    }

    pub(crate) fn api(&self, client: &Client, namespace: Option<&str>) -> Api<K> {
        api(client, namespace, &self.dynamic)
    }

    /// Returns true if Kubernetes itself defines the kind, so that no webhook converts it.
    pub(crate) fn is_built_in(&self) -> bool {
        BUILT_IN_GROUPS.contains(&&*K::group(&self.dynamic))
    }

    /// Identifies the resource, to share watches of the same kind.
    pub(crate) fn resource(&self) -> String {
        let resource = ApiResource::erase::<K>(&self.dynamic);
        format!("{resource:?} {}", self.namespaced)
    }

    /// Returns the namespaces to watch; `None` stands for all.
    pub(crate) fn namespaces(&self, wanted: &[String]) -> Vec<Option<String>> {
        if wanted.is_empty() || !self.namespaced {
            vec![None]
        } else {
            wanted.iter().cloned().map(Some).collect()
        }
    }

    /// Returns the key of the controller owner, if it is of this kind.
    pub(crate) fn owner_of(&self, object: &impl ResourceExt) -> Option<ObjectKey> {
        self.key(controller(object)?, object)
    }

    fn key(&self, owner: &OwnerReference, owned: &impl ResourceExt) -> Option<ObjectKey> {
        let group = owner
            .api_version
            .rsplit_once('/')
            .map_or("", |(group, _)| group);
        let is_this = owner.kind == self.name() && group == K::group(&self.dynamic);
        is_this.then(|| ObjectKey {
            namespace: owned.namespace().filter(|_| self.namespaced),
            name: owner.name.clone(),
        })
    }

    /// Returns an error if applying `desired` to `existing` would take it over: `existing` has another controller, or
    /// it has none and we did not apply it before.
    pub(crate) fn check_controller(
        &self,
        desired: &K,
        existing: &K,
        was_applied: bool,
    ) -> kube::Result<()> {
        let Some(wanted) = controller(desired) else {
            return Ok(());
        };
        let actual = controller(existing);
        let ours = match actual {
            Some(actual) => actual.uid == wanted.uid,
            None => was_applied,
        };
        if ours {
            return Ok(());
        }
        let whose = actual.map_or("nobody's".to_owned(), |actual| {
            format!("that of {} {} ({})", actual.kind, actual.name, actual.uid)
        });
        let message = format!(
            "{} {} exists and is {whose}, not that of {} {} ({}): delete it, or choose another name",
            self.name(),
            existing.name_any(),
            wanted.kind,
            wanted.name,
            wanted.uid
        );
        Err(error::refusal(409, "AlreadyExists", &message))
    }
}

/// Returns the owner reference with `controller: true`.
pub(crate) fn controller(object: &impl ResourceExt) -> Option<&OwnerReference> {
    let mut owners = object.owner_references().iter();
    owners.find(|owner| owner.controller == Some(true))
}

/// Returns true if `managedFields` show that the field manager applied or created the object.
pub(crate) fn was_applied(object: &impl ResourceExt, field_manager: &str) -> bool {
    object
        .managed_fields()
        .iter()
        .any(|entry| entry.manager.as_deref() == Some(field_manager) && entry.subresource.is_none())
}

/// Removes a path from the `fieldsV1` of an entry in `managedFields`, and parents that become empty. Returns the fields
/// below the path.
pub(crate) fn take_fields(fields: &mut Value, path: &[impl AsRef<str>]) -> Option<Value> {
    let (key, rest) = path.split_first()?;
    let (key, fields) = (key.as_ref(), fields.as_object_mut()?);
    if rest.is_empty() {
        return fields.remove(key);
    }
    let inner = fields.get_mut(key)?;
    let taken = take_fields(inner, rest)?;
    if inner.as_object().is_some_and(Map::is_empty) {
        fields.remove(key);
    }
    Some(taken)
}

/// The namespace and the name of an object; unique within its kind.
///
/// # Examples
///
/// ```
/// use manager::ObjectKey;
///
/// let key = ObjectKey {
///     namespace: Some("default".to_owned()),
///     name: "sample".to_owned(),
/// };
/// assert_eq!(key.to_string(), "default/sample");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectKey {
    /// `None` for cluster-scoped objects.
    pub namespace: Option<String>,
    /// The object's `metadata.name`.
    pub name: String,
}

impl ObjectKey {
    /// Returns the key of an object.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Node;
    /// use manager::ObjectKey;
    ///
    /// let mut node = Node::default();
    /// node.metadata.name = Some("a".to_owned());
    /// assert_eq!(ObjectKey::of(&node).to_string(), "a");
    /// ```
    pub fn of(object: &impl ResourceExt) -> Self {
        Self {
            namespace: object.namespace(),
            name: object.name_any(),
        }
    }

    pub(crate) fn new(namespace: Option<&str>, name: &str) -> Self {
        Self {
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        }
    }

    pub(crate) fn of_meta(metadata: &ObjectMeta) -> Self {
        Self {
            namespace: metadata.namespace.clone(),
            name: metadata.name.clone().unwrap_or_default(),
        }
    }

    /// Returns the keys of the owners of `object` that are of kind `K`, whether or not they are its controller.
    ///
    /// Useful with [`Controller::watches`](crate::Controller::watches) when several objects share what they own.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use manager::{Controller, ObjectKey, Objects};
    ///
    /// fn sharing<'m>(maps: Controller<'m, ConfigMap>, secrets: &Objects<Secret>) -> Controller<'m, ConfigMap> {
    ///     maps.watches(secrets, |secret| ObjectKey::owners_of::<ConfigMap>(secret))
    /// }
    /// ```
    pub fn owners_of<K: Object<DynamicType: Default>>(object: &impl ResourceExt) -> Vec<Self> {
        let kind = Kind::<K>::default();
        let owners = object.owner_references().iter();
        owners.filter_map(|owner| kind.key(owner, object)).collect()
    }
}

impl Display for ObjectKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(formatter, "{namespace}/{}", self.name),
            None => formatter.write_str(&self.name),
        }
    }
}

/// Maximum length of label values and DNS labels.
const LONGEST: usize = 63;

/// Maximum length of a name to which Kubernetes appends 11 characters.
const LONGEST_OF_SHORT: usize = 52;

/// Converts any text, such as the name of an object or an image, to a label value and object name: at most 63 lowercase
/// letters, digits and dashes, starting with a letter.
///
/// A valid name is returned unchanged. Any other is shortened and gets a hash, so that it stays unique. The result may
/// be too long for a CronJob or a StatefulSet, see [`short_dns_label`].
///
/// # Examples
///
/// ```
/// assert_eq!(manager::dns_label("sample"), "sample");
/// assert_eq!(manager::dns_label("a.b"), "a-b-e61d9919");
/// assert_eq!(manager::dns_label("default/Sample:1"), "default-sample-1-147ab7cc");
/// ```
pub fn dns_label(name: &str) -> String {
    label(name, LONGEST)
}

/// Like [`dns_label`] with at most 52 characters, for CronJobs and StatefulSets.
///
/// The names of Jobs [derive from the name of their CronJob][cron]. The pods of a StatefulSet [have its revision as a
/// label][revision].
///
/// [cron]: https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#writing-a-cronjob-spec
/// [revision]: https://github.com/kubernetes/kubernetes/issues/64023
///
/// # Examples
///
/// ```
/// assert_eq!(manager::short_dns_label("sample"), "sample");
/// assert_eq!(manager::short_dns_label(&"a".repeat(53)).len(), 52);
/// ```
pub fn short_dns_label(name: &str) -> String {
    label(name, LONGEST_OF_SHORT)
}

fn label(name: &str, longest: usize) -> String {
    let letter = name.starts_with(|first: char| first.is_ascii_lowercase());
    let permitted = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
    if letter && name.len() <= longest && name.chars().all(permitted) && !name.ends_with('-') {
        return name.to_owned();
    }
    let first = if letter { "" } else { "n" };
    let replaced = name.chars().map(|char| match char.to_ascii_lowercase() {
        char if permitted(char) => char,
        _ => '-',
    });
    let start: String = first
        .chars()
        .chain(replaced)
        .take(longest - "-01234567".len())
        .collect();
    format!("{start}-{:08x}", fnv1a(name.as_bytes()) >> 32)
}

/// A hash that is stable across releases and machines, unlike those of std.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::core::{DynamicObject, GroupVersionKind};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_dynamic_kind_is_where_its_scope_says() {
        let issuer = GroupVersionKind::gvk("example.com", "v1", "Issuer");
        let owner = json!({
            "apiVersion": "example.com/v1", "kind": "Issuer", "name": "x", "uid": "1", "controller": true,
        });
        let metadata = json!({ "name": "a", "namespace": "here", "ownerReferences": [owner] });
        let owned: ConfigMap = serde_json::from_value(json!({ "metadata": metadata })).unwrap();
        for (scope, namespaces, key) in [
            (
                Scope::Namespaced,
                ["here", "there"].map(Some).to_vec(),
                "here/x",
            ),
            (Scope::Cluster, vec![None], "x"),
        ] {
            let kind = Kind::<DynamicObject>::new(&ApiResource::from_gvk(&issuer), &scope);
            let watched = kind.namespaces(&["here", "there"].map(str::to_owned));
            assert_eq!(
                watched.iter().map(Option::as_deref).collect::<Vec<_>>(),
                namespaces
            );
            assert_eq!(
                kind.owner_of(&owned).map(|key| key.to_string()).as_deref(),
                Some(key)
            );
        }
        let other = ApiResource::from_gvk(&GroupVersionKind::gvk("other.com", "v1", "Issuer"));
        let other = Kind::<DynamicObject>::new(&other, &Scope::Namespaced);
        assert_eq!(other.owner_of(&owned), None);
    }

    #[test]
    fn names_that_do_not_fit_are_shortened_and_stay_different() {
        assert_eq!(dns_label("sample"), "sample");
        assert_eq!(dns_label("a".repeat(63).as_str()), "a".repeat(63));
        for name in [
            "a.b",
            "1a",
            "here/Sample",
            "registry:5000/é@1",
            "a-",
            "",
            &"a".repeat(64),
            &"a.".repeat(126),
        ] {
            let label = dns_label(name);
            let valid =
                |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
            assert!(label.len() <= 63 && label.chars().all(valid), "{label}");
            assert!(
                label.starts_with(char::is_alphabetic) && !label.ends_with('-'),
                "{label}"
            );
        }
        assert_eq!(short_dns_label(&"a".repeat(52)), "a".repeat(52));
        for name in ["a".repeat(53), "a".repeat(63)] {
            assert_eq!((short_dns_label(&name).len(), dns_label(&name)), (52, name));
        }
        assert_ne!(dns_label("a.b"), dns_label("a-b"));
        assert_ne!(dns_label(&"a".repeat(64)), dns_label(&"a".repeat(65)));
    }
}
