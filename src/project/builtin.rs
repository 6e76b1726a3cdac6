//! Built-in Kubernetes types that a controller can watch: Rust paths, plurals and scopes, taken from k8s-openapi at
//! compile time.

use std::any::TypeId;

use k8s_openapi::{ClusterResourceScope, ListableResource};

use crate::diagnostic::Problem;

/// A built-in Kubernetes type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builtin {
    /// The API group, empty for the core group.
    pub group: &'static str,
    /// The version.
    pub version: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The plural.
    pub plural: &'static str,
    /// True if objects live in a namespace.
    pub namespaced: bool,
    /// The Rust module of the type: `k8s_openapi::api::apps::v1`.
    pub module: &'static str,
}

impl Builtin {
    /// Group and domain in PROJECT: `core`, `apps`, or `networking` with the domain `k8s.io`.
    pub(crate) fn project_group(&self) -> (&'static str, Option<&'static str>) {
        match self.group.strip_suffix(".k8s.io") {
            Some(group) => (group, Some("k8s.io")),
            None if self.group.is_empty() => ("core", None),
            None => (self.group, None),
        }
    }

    fn of<T: ListableResource>(module: &'static str) -> Self
    where
        T::Scope: 'static,
    {
        Self {
            group: T::GROUP,
            version: T::VERSION,
            kind: T::KIND,
            plural: T::URL_PATH_SEGMENT,
            namespaced: TypeId::of::<T::Scope>() != TypeId::of::<ClusterResourceScope>(),
            module,
        }
    }
}

/// Finds a type by the user's spelling of the group: `apps`, `core` or empty, `networking` or `networking.k8s.io`.
/// `None` if the group is not built in.
///
/// # Errors
///
/// Fails if a built-in group lacks the version or kind.
pub fn find(group: &str, version: &str, kind: &str) -> Result<Option<Builtin>, Problem> {
    let in_group: Vec<Builtin> =
        all().into_iter().filter(|b| b.group == group || b.project_group().0 == group).collect();
    if in_group.is_empty() {
        return Ok(None);
    }
    if let Some(found) = in_group.iter().find(|b| b.version == version && b.kind == kind) {
        return Ok(Some(*found));
    }
    let known: Vec<String> = in_group.iter().map(|b| format!("{} {}", b.version, b.kind)).collect();
    let near = in_group.iter().find(|b| b.kind.eq_ignore_ascii_case(kind) || b.plural == kind.to_ascii_lowercase());
    let help = match near {
        Some(near) => format!("use `--version {} --kind {}`", near.version, near.kind),
        None => format!("the group has {}", known.join(", ")),
    };
    Err(Problem::new(format!("kind `{kind}` of version `{version}` not found in the Kubernetes group `{group}`"))
        .help(help))
}

/// Short names of built-in resources, with their plurals.
pub(crate) const SHORT_NAMES: [(&str, &str); 30] = [
    ("cj", "cronjobs"),
    ("cm", "configmaps"),
    ("crd", "customresourcedefinitions"),
    ("crds", "customresourcedefinitions"),
    ("cs", "componentstatuses"),
    ("csr", "certificatesigningrequests"),
    ("deploy", "deployments"),
    ("ds", "daemonsets"),
    ("ep", "endpoints"),
    ("ev", "events"),
    ("hpa", "horizontalpodautoscalers"),
    ("ing", "ingresses"),
    ("ip", "ipaddresses"),
    ("limits", "limitranges"),
    ("netpol", "networkpolicies"),
    ("no", "nodes"),
    ("ns", "namespaces"),
    ("pc", "priorityclasses"),
    ("pdb", "poddisruptionbudgets"),
    ("po", "pods"),
    ("pv", "persistentvolumes"),
    ("pvc", "persistentvolumeclaims"),
    ("quota", "resourcequotas"),
    ("rc", "replicationcontrollers"),
    ("rs", "replicasets"),
    ("sa", "serviceaccounts"),
    ("sc", "storageclasses"),
    ("sts", "statefulsets"),
    ("svc", "services"),
    ("vac", "volumeattributesclasses"),
];

/// The plural of the built-in resource that kubectl resolves this name to: a short name, a singular or a plural.
pub(crate) fn named(name: &str) -> Option<&'static str> {
    let short = SHORT_NAMES.iter().find(|(short, _)| *short == name).map(|(_, plural)| *plural);
    short.or_else(|| {
        let mut all = all().into_iter();
        all.find(|builtin| builtin.plural == name || builtin.kind.to_ascii_lowercase() == name).map(|one| one.plural)
    })
}

macro_rules! builtins {
    ($($($module:ident)::+ { $($kind:ident),+ })+) => {
        /// All types, ordered by group, version and kind.
        pub fn all() -> Vec<Builtin> {
            let mut all = Vec::new();
            $({
                use k8s_openapi::$($module)::+ as module;
                let path = concat!("k8s_openapi", $("::", stringify!($module)),+);
                all.extend([$(Builtin::of::<module::$kind>(path)),+]);
            })+
            all.sort_by_key(|builtin| (builtin.group, builtin.version, builtin.kind));
            all
        }
    };
}

builtins! {
    api::admissionregistration::v1 {
        MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, MutatingWebhookConfiguration,
        ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, ValidatingWebhookConfiguration
    }
    api::apps::v1 { ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet }
    api::autoscaling::v1 { HorizontalPodAutoscaler }
    api::autoscaling::v2 { HorizontalPodAutoscaler }
    api::batch::v1 { CronJob, Job }
    api::certificates::v1 { CertificateSigningRequest }
    api::coordination::v1 { Lease }
    api::core::v1 {
        ConfigMap, Endpoints, Event, LimitRange, Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod,
        PodTemplate, ReplicationController, ResourceQuota, Secret, Service, ServiceAccount
    }
    api::discovery::v1 { EndpointSlice }
    api::events::v1 { Event }
    api::flowcontrol::v1 { FlowSchema, PriorityLevelConfiguration }
    api::networking::v1 { IPAddress, Ingress, IngressClass, NetworkPolicy, ServiceCIDR }
    api::node::v1 { RuntimeClass }
    api::policy::v1 { PodDisruptionBudget }
    api::rbac::v1 { ClusterRole, ClusterRoleBinding, Role, RoleBinding }
    api::resource::v1 { DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice }
    api::scheduling::v1 { PriorityClass }
    api::storage::v1 {
        CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment, VolumeAttributesClass
    }
    apiextensions_apiserver::pkg::apis::apiextensions::v1 { CustomResourceDefinition }
    kube_aggregator::pkg::apis::apiregistration::v1 { APIService }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_found_as_users_write_them() {
        for (group, version, kind, rust_type, plural, namespaced) in [
            ("apps", "v1", "ReplicaSet", "k8s_openapi::api::apps::v1::ReplicaSet", "replicasets", true),
            ("core", "v1", "Pod", "k8s_openapi::api::core::v1::Pod", "pods", true),
            ("", "v1", "Node", "k8s_openapi::api::core::v1::Node", "nodes", false),
            (
                "networking",
                "v1",
                "NetworkPolicy",
                "k8s_openapi::api::networking::v1::NetworkPolicy",
                "networkpolicies",
                true,
            ),
            ("networking.k8s.io", "v1", "Ingress", "k8s_openapi::api::networking::v1::Ingress", "ingresses", true),
            (
                "rbac.authorization",
                "v1",
                "ClusterRole",
                "k8s_openapi::api::rbac::v1::ClusterRole",
                "clusterroles",
                false,
            ),
            (
                "apiextensions",
                "v1",
                "CustomResourceDefinition",
                "k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition",
                "customresourcedefinitions",
                false,
            ),
        ] {
            let found = find(group, version, kind).unwrap().unwrap();
            let found_type = format!("{}::{}", found.module, found.kind);
            assert_eq!((found_type.as_str(), found.plural, found.namespaced), (rust_type, plural, namespaced));
        }
        assert_eq!(find("cache", "v1", "Memcached"), Ok(None));
    }

    #[test]
    fn short_names_are_sorted_and_of_known_resources() {
        assert!(SHORT_NAMES.is_sorted_by(|one, other| one.0 < other.0));
        let all = all();
        for (short, plural) in SHORT_NAMES {
            // k8s-openapi omits this resource.
            let is_known = plural == "componentstatuses" || all.iter().any(|builtin| builtin.plural == plural);
            assert!(is_known, "{short}: {plural}");
        }
        assert_eq!(["po", "pod", "pods", "pond"].map(named), [Some("pods"), Some("pods"), Some("pods"), None]);
    }

    #[test]
    fn a_wrong_kind_of_a_known_group_says_what_there_is() {
        let problem = find("apps", "v1", "replicasets").unwrap_err();
        assert_eq!(problem.message, "kind `replicasets` of version `v1` not found in the Kubernetes group `apps`");
        assert_eq!(problem.help.as_deref(), Some("use `--version v1 --kind ReplicaSet`"));
        let problem = find("batch", "v1", "Cron").unwrap_err();
        assert_eq!(problem.help.as_deref(), Some("the group has v1 CronJob, v1 Job"));
    }
}
