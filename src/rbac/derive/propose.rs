//! What is used → roles and markers that allow it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::manifest::rbac::{self, RbacMarker, Roles};
use crate::rbac::{Permission, PolicyRule, Scope, Target, Usage};

/// The roles that allow what is used: by namespace and name, in the form of `role.yaml`.
///
/// A request in a namespace that is known only when the operator runs needs a `ClusterRole`. `own` is the namespace of
/// the operator; what it does there alone is in a `Role`.
pub fn roles(usages: &[Usage], role_name: &str, own: &str) -> Vec<Value> {
    rbac::documents(&declarations(usages, own), &Roles { default_name: role_name, fold: false })
}

/// The same as `+kubebuilder:rbac` markers, one a rule, without what generated projects have roles of their own for.
pub fn markers(usages: &[Usage], own: &str) -> Vec<String> {
    let usages: Vec<Usage> = usages.iter().filter(|usage| usage.role.is_none()).cloned().collect();
    let mut lines = Vec::new();
    for role in roles(&usages, "", own) {
        let namespace = role["metadata"]["namespace"].as_str().unwrap_or_default();
        for rule in role["rules"].as_array().into_iter().flatten() {
            lines.push(format!("// {}", PolicyRule::from_json(rule).to_marker(namespace)));
        }
    }
    lines
}

/// One marker for each permission; what is needed everywhere is not needed again in a namespace.
fn declarations(usages: &[Usage], own: &str) -> Vec<RbacMarker> {
    let namespace = |usage: &Usage| match &usage.scope {
        Scope::Cluster | Scope::Namespaced => String::new(),
        Scope::Own => own.to_owned(),
        Scope::Namespace(name) => name.clone(),
    };
    let mut needed: BTreeMap<(Option<&str>, &Permission), BTreeSet<String>> = BTreeMap::new();
    let mut origins = BTreeMap::new();
    for usage in usages {
        let key = (usage.role, &usage.permission);
        needed.entry(key).or_default().insert(namespace(usage));
        origins.entry(key).or_insert(&usage.origin);
    }
    let mut markers = Vec::new();
    for (key, mut namespaces) in needed {
        if namespaces.contains("") {
            namespaces = BTreeSet::from([String::new()]);
        }
        let (role, permission) = key;
        let (groups, resources, urls) = match &permission.target {
            Target::Resource { group, resource, .. } => (vec![group.clone()], vec![resource.clone()], Vec::new()),
            Target::Url(url) => (Vec::new(), Vec::new(), vec![url.clone()]),
        };
        for namespace in namespaces {
            markers.push(RbacMarker {
                groups: groups.clone(),
                resources: resources.clone(),
                resource_names: Vec::new(),
                verbs: vec![permission.verb.clone()],
                urls: urls.clone(),
                namespace,
                role_name: role.unwrap_or_default().to_owned(),
                origin: origins[&key].clone(),
            });
        }
    }
    markers
}
