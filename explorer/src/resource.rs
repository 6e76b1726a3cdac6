//! Kinds that the server serves: a table of built-in ones, and those of CRDs.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use crate::response::Refusal;
use crate::schema::cel::Rules;
use crate::schema::{Components, Node, Shape, builtin, structural};

pub(crate) mod rules;
mod versions;

pub(crate) use versions::KindVersions;

/// A kind with its paths and its schema.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) namespaced: bool,
    /// False for a version that only the storage and the conversion know.
    pub(crate) served: bool,
    /// True if the kind has the subresource `status`.
    pub(crate) status: bool,
    /// The fields of the subresource `scale`.
    pub(crate) scale: Option<ScalePaths>,
    /// True for a kind of a CRD.
    pub(crate) custom: bool,
    /// PUT without a resource version replaces the object.
    pub(crate) unconditional: bool,
    /// PUT creates a missing object.
    pub(crate) creates_on_put: bool,
    /// DELETE answers with the object, even if it is gone.
    pub(crate) returns_deleted: bool,
    pub(crate) schema: Arc<Node>,
    /// The schema of the names in `metadata`, if a CRD restricts them.
    pub(crate) name_rules: Option<Arc<Node>>,
    /// The CEL rules of a CRD.
    pub(crate) rules: Option<Rules>,
}

impl Resource {
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The name of the resource in the store and in errors.
    pub(crate) fn qualified(&self) -> String {
        crate::response::qualified(&self.plural, &self.group)
    }

    /// The key of an object in etcd, which one error shows.
    pub(crate) fn key(&self, namespace: &str, name: &str) -> String {
        let folder = match (self.custom, self.plural.as_str()) {
            (true, plural) => format!("{}/{plural}", self.group),
            (false, "services") => "services/specs".to_owned(),
            (false, "ingresses") => "ingress".to_owned(),
            (false, plural) => plural.to_owned(),
        };
        let name = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
        format!("/registry/{folder}/{name}")
    }

    /// The fields that an endpoint resets, which their writer does not own.
    pub(crate) fn reset(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match (self.custom, self.status, subresource, self.plural.as_str()) {
            (true, true, "", _) => &[&["status"]],
            (true, _, "status", _) => &[&["metadata"], &["spec"]],
            (false, true, "" | "finalize", _) => &[&["status"]],
            (false, _, "status", "pods") => {
                &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]]
            }
            (false, _, "status", "deployments") => &[&["spec"], &["metadata", "labels"]],
            (false, _, "status", _) => &[&["spec"]],
            _ => &[],
        }
    }

    /// Reads a version of a CRD.
    pub(crate) fn of_crd(crd: &Value, version: &Value) -> Result<Self, Refusal> {
        let spec = &crd["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if spec["preserveUnknownFields"] == true {
            return Err(Refusal::unsupported("preserveUnknownFields of a CRD"));
        }
        let mut schema = version["schema"]["openAPIV3Schema"].clone();
        structural::check(&schema, "")?;
        let rules = Rules::compile(&schema)?;
        let name_rules = name_rules(&schema["properties"]["metadata"])?;
        if !schema["properties"].is_object() {
            schema["properties"] = json!({});
        }
        for field in ["apiVersion", "kind"] {
            schema["properties"][field] = json!({ "type": "string" });
        }
        if let Some(properties) = schema["properties"].as_object_mut() {
            properties.remove("metadata");
        }
        let read = Node::read(&schema, &Components::new(), &mut BTreeMap::new());
        let mut node = Arc::try_unwrap(read).unwrap_or_default();
        if let Shape::Object { properties, .. } = &mut node.shape {
            properties.insert("metadata".to_owned(), metadata());
        }
        Ok(Self {
            group: text(&spec["group"]),
            version: text(&version["name"]),
            plural: text(&spec["names"]["plural"]),
            singular: match text(&spec["names"]["singular"]) {
                none if none.is_empty() => text(&spec["names"]["kind"]).to_lowercase(),
                singular => singular,
            },
            kind: text(&spec["names"]["kind"]),
            short_names: texts(&spec["names"]["shortNames"]).collect(),
            namespaced: spec["scope"] == "Namespaced",
            served: version["served"] != false,
            status: version["subresources"]["status"].is_object(),
            scale: version["subresources"]["scale"].as_object().map(|scale| ScalePaths::of(|name| scale.get(name))),
            custom: true,
            unconditional: false,
            creates_on_put: false,
            returns_deleted: false,
            schema: Arc::new(node),
            name_rules,
            rules,
        })
    }

    /// Reads an object from a request: removes unknown fields and wrong nulls, and sets defaults.
    pub(crate) fn read(&self, object: &mut Value) -> Result<(), Refusal> {
        self.complete(object)?;
        if self.custom {
            structural::remove_nulls(&self.schema, object);
        }
        Ok(())
    }

    /// Like [`Resource::read`], for an applied object, which keeps its nulls.
    pub(crate) fn complete(&self, object: &mut Value) -> Result<(), Refusal> {
        if !object.is_object() {
            return Err(Refusal::unsupported("bodies that are not an object"));
        }
        for (field, expected) in [("apiVersion", self.api_version()), ("kind", self.kind.clone())] {
            match &object[field] {
                Value::Null if !self.custom => object[field] = expected.into(),
                Value::String(found) if *found == expected => {}
                found => {
                    return Err(Refusal::unsupported(&format!("bodies whose `{field}` is {found}")));
                }
            }
        }
        if object["metadata"].is_null() {
            object["metadata"] = json!({});
        }
        if self.custom {
            structural::prune(&self.schema, object, true);
            let mut metadata = object["metadata"].take();
            builtin::read(&self::metadata(), &mut metadata, "metadata")?;
            structural::default(&self.schema, object);
            object["metadata"] = metadata;
            return Ok(());
        }
        if matches!(self.plural.as_str(), "roles" | "clusterroles") && object["rules"] == json!([]) {
            // The writer owns an empty list, which is stored as null.
            return Err(Refusal::unsupported("roles with an empty list of rules"));
        }
        builtin::read(&self.schema, object, "")?;
        rules::default(self, object);
        Ok(())
    }
}

/// The fields of an object that its `Scale` shows.
#[derive(Debug)]
pub(crate) struct ScalePaths {
    pub(crate) spec: Vec<String>,
    pub(crate) status: Vec<String>,
    /// A text. Built-in kinds have a selector with labels instead.
    pub(crate) selector: Vec<String>,
}

impl ScalePaths {
    /// Reads the paths of a CRD. Missing ones are those of built-in kinds.
    fn of<'a>(path: impl Fn(&str) -> Option<&'a Value>) -> Self {
        let read = |name: &str, missing: &str| {
            let text = path(name).and_then(Value::as_str).unwrap_or(missing);
            text.split('.').filter(|field| !field.is_empty()).map(str::to_owned).collect()
        };
        Self {
            spec: read("specReplicasPath", ".spec.replicas"),
            status: read("statusReplicasPath", ".status.replicas"),
            selector: read("labelSelectorPath", ""),
        }
    }
}

/// The kind `Scale`.
pub(crate) fn scale_kind() -> KindVersions {
    KindVersions::of(Resource {
        group: "autoscaling".to_owned(),
        version: "v1".to_owned(),
        plural: "scales".to_owned(),
        singular: "scale".to_owned(),
        kind: "Scale".to_owned(),
        short_names: Vec::new(),
        namespaced: true,
        served: false,
        status: false,
        scale: None,
        custom: false,
        unconditional: true,
        creates_on_put: false,
        returns_deleted: false,
        schema: builtin::schema("autoscaling.v1.Scale"),
        name_rules: None,
        rules: None,
    })
}

/// Reads what the schema of a CRD says of `metadata`: only `name` and `generateName` may have rules. See
/// [metadata](https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/).
fn name_rules(schema: &Value) -> Result<Option<Arc<Node>>, Refusal> {
    let mut properties = schema["properties"].as_object().into_iter().flatten();
    if properties.any(|(name, _)| name != "name" && name != "generateName") || !schema["required"].is_null() {
        return Err(Refusal::unsupported("rules for other fields of `metadata` than names in the schema of a CRD"));
    }
    let has_rules = schema["properties"].is_object();
    Ok(has_rules.then(|| Node::read(schema, &Components::new(), &mut BTreeMap::new())))
}

/// The schema of `metadata`.
pub(crate) fn metadata() -> Arc<Node> {
    match builtin::schema("core.v1.ConfigMap").field("metadata") {
        (Some(metadata), _) => metadata.clone(),
        _ => Arc::default(),
    }
}

/// The built-in kinds with the subresource `status`.
const STATUS: &[&str] = &[
    "namespaces",
    "services",
    "pods",
    "deployments",
    "persistentvolumeclaims",
    "replicasets",
    "statefulsets",
    "daemonsets",
    "horizontalpodautoscalers",
    "jobs",
    "cronjobs",
    "ingresses",
    "poddisruptionbudgets",
];

/// The built-in kinds.
pub(crate) fn builtins() -> Arc<BTreeMap<String, Arc<KindVersions>>> {
    static TABLE: OnceLock<Arc<BTreeMap<String, Arc<KindVersions>>>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let kinds: [(&str, &str, &str, &str, bool, &str); 23] = [
            ("", "namespaces", "Namespace", "core.v1.Namespace", false, "ns"),
            ("", "configmaps", "ConfigMap", "core.v1.ConfigMap", true, "cm"),
            ("", "secrets", "Secret", "core.v1.Secret", true, ""),
            ("", "services", "Service", "core.v1.Service", true, "svc"),
            ("", "serviceaccounts", "ServiceAccount", "core.v1.ServiceAccount", true, "sa"),
            ("", "pods", "Pod", "core.v1.Pod", true, "po"),
            ("apps", "deployments", "Deployment", "apps.v1.Deployment", true, "deploy"),
            ("coordination.k8s.io", "leases", "Lease", "coordination.v1.Lease", true, ""),
            ("events.k8s.io", "events", "Event", "events.v1.Event", true, "ev"),
            ("", "persistentvolumeclaims", "PersistentVolumeClaim", "core.v1.PersistentVolumeClaim", true, "pvc"),
            ("apps", "replicasets", "ReplicaSet", "apps.v1.ReplicaSet", true, "rs"),
            ("apps", "daemonsets", "DaemonSet", "apps.v1.DaemonSet", true, "ds"),
            ("apps", "statefulsets", "StatefulSet", "apps.v1.StatefulSet", true, "sts"),
            (
                "autoscaling",
                "horizontalpodautoscalers",
                "HorizontalPodAutoscaler",
                "autoscaling.v2.HorizontalPodAutoscaler",
                true,
                "hpa",
            ),
            ("batch", "jobs", "Job", "batch.v1.Job", true, ""),
            ("batch", "cronjobs", "CronJob", "batch.v1.CronJob", true, "cj"),
            ("networking.k8s.io", "networkpolicies", "NetworkPolicy", "networking.v1.NetworkPolicy", true, "netpol"),
            ("networking.k8s.io", "ingresses", "Ingress", "networking.v1.Ingress", true, "ing"),
            ("policy", "poddisruptionbudgets", "PodDisruptionBudget", "policy.v1.PodDisruptionBudget", true, "pdb"),
            ("rbac.authorization.k8s.io", "roles", "Role", "rbac.v1.Role", true, ""),
            ("rbac.authorization.k8s.io", "rolebindings", "RoleBinding", "rbac.v1.RoleBinding", true, ""),
            ("rbac.authorization.k8s.io", "clusterroles", "ClusterRole", "rbac.v1.ClusterRole", false, ""),
            (
                "rbac.authorization.k8s.io",
                "clusterrolebindings",
                "ClusterRoleBinding",
                "rbac.v1.ClusterRoleBinding",
                false,
                "",
            ),
        ];
        let table = kinds.into_iter().map(|(group, plural, kind, schema, namespaced, short)| {
            let resource = Resource {
                group: group.to_owned(),
                version: if group == "autoscaling" { "v2" } else { "v1" }.to_owned(),
                plural: plural.to_owned(),
                singular: kind.to_lowercase(),
                kind: kind.to_owned(),
                short_names: Some(short).filter(|name| !name.is_empty()).map(str::to_owned).into_iter().collect(),
                namespaced,
                served: true,
                status: STATUS.contains(&plural),
                scale: matches!(plural, "deployments" | "replicasets" | "statefulsets")
                    .then(|| ScalePaths::of(|_| None)),
                custom: false,
                unconditional: !matches!(plural, "leases" | "poddisruptionbudgets"),
                creates_on_put: matches!(
                    plural,
                    "services"
                        | "leases"
                        | "events"
                        | "roles"
                        | "rolebindings"
                        | "clusterroles"
                        | "clusterrolebindings"
                ),
                returns_deleted: matches!(
                    plural,
                    "namespaces" | "pods" | "services" | "serviceaccounts" | "persistentvolumeclaims"
                ),
                schema: builtin::schema(schema),
                name_rules: None,
                rules: None,
            };
            (resource.qualified(), Arc::new(KindVersions::of(resource)))
        });
        Arc::new(table.collect())
    });
    table.clone()
}

/// True for a group of Kubernetes itself, whose other kinds the server does not have.
pub(crate) fn is_builtin_group(group: &str) -> bool {
    group.is_empty() || !group.contains('.') || group.ends_with(".k8s.io")
}

/// The texts in a list of JSON.
pub(crate) fn texts(list: &Value) -> impl Iterator<Item = String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned)
}
