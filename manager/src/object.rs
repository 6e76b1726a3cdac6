//! What the caches and controllers need of a kind, and the name of one object of it.

pub(crate) mod name;

use std::borrow::Cow;
use std::fmt::{self, Debug, Display};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::{
    ApiResource, ClusterResourceScope, DynamicResourceScope, NamespaceResourceScope, ObjectMeta,
    Status,
};
use kube::discovery::Scope;
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;

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

/// Every kind: custom resources, the types of `k8s_openapi`, `DynamicObject`, and `PartialObjectMeta` of these.
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

/// How objects of a scope are reached.
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
    /// Whether the objects live in namespaces; of a dynamic kind, whether they may.
    const NAMESPACED: bool;

    /// The objects in a namespace, or all.
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

/// Which kind it is: of a dynamic one the type does not say it.
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

    /// Tells a watch of this kind from those of others.
    pub(crate) fn resource(&self) -> String {
        let resource = ApiResource::erase::<K>(&self.dynamic);
        format!("{resource:?} {}", self.namespaced)
    }

    /// The namespaces to watch it in; `None` is all of them.
    pub(crate) fn namespaces(&self, wanted: &[String]) -> Vec<Option<String>> {
        if wanted.is_empty() || !self.namespaced {
            vec![None]
        } else {
            wanted.iter().cloned().map(Some).collect()
        }
    }

    /// The controller of `object`, if it is of this kind.
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

    /// Refuses `existing` if it is not to be made as `desired`, because it has another controller; or none, and was not
    /// applied by us before.
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
        let status = Status::failure(&message, "AlreadyExists").with_code(409);
        Err(kube::Error::Api(Box::new(status)))
    }
}

/// The owner that controls the object.
pub(crate) fn controller(object: &impl ResourceExt) -> Option<&OwnerReference> {
    let mut owners = object.owner_references().iter();
    owners.find(|owner| owner.controller == Some(true))
}

/// Whether a field manager has applied or made an object, as its `managedFields` say.
pub(crate) fn was_applied(object: &impl ResourceExt, field_manager: &str) -> bool {
    object
        .managed_fields()
        .iter()
        .any(|entry| entry.manager.as_deref() == Some(field_manager) && entry.subresource.is_none())
}

/// The name of an object within its kind.
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
    /// None for objects of the cluster.
    pub namespace: Option<String>,
    /// The object's `metadata.name`.
    pub name: String,
}

impl ObjectKey {
    /// The key of an object.
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

    pub(crate) fn of_meta(metadata: &ObjectMeta) -> Self {
        Self {
            namespace: metadata.namespace.clone(),
            name: metadata.name.clone().unwrap_or_default(),
        }
    }

    /// The owners of `object` that are of kind `K`, whether they control it or not. For
    /// [`Controller::watches`](crate::Controller::watches), where several objects share what they own.
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
}
