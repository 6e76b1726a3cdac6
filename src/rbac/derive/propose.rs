//! Roles and markers that allow the used permissions.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::diagnostic::Diagnostics;
use crate::rbac::marker::RbacMarker;
use crate::rbac::role::{self, Roles};
use crate::rbac::scope::OperatorScope;
use crate::rbac::{Permission, PolicyRule, RbacUsage, RequestScope};

/// The roles that allow what is used, by namespace and name, in the form of `role.yaml`; and what no Role can allow to an
/// operator that is confined to namespaces.
///
/// A request in a namespace that is known only when the operator runs needs a `ClusterRole`, or a Role in each namespace
/// that the operator is confined to. What it does in its own namespace alone is in a `Role` there.
pub fn roles(usages: &[RbacUsage], role_name: &str, home: &OperatorScope) -> (Vec<Value>, Diagnostics) {
    let (declared, found) = home.confine(declarations(usages, home), role_name);
    (role::documents(&declared, &Roles { default_name: role_name, fold: false }), found)
}

/// Returns `+kubebuilder:rbac` markers, one a rule, without permissions that roles of generated projects allow. A
/// marker without a namespace holds where the operator works.
pub fn markers(usages: &[RbacUsage], home: &OperatorScope) -> Vec<String> {
    let usages: Vec<RbacUsage> = usages.iter().filter(|usage| usage.role.is_none()).cloned().collect();
    let mut lines = Vec::new();
    for role in role::documents(&declarations(&usages, home), &Roles { default_name: "", fold: false }) {
        let namespace = role["metadata"]["namespace"].as_str().unwrap_or_default();
        for rule in role["rules"].as_array().into_iter().flatten() {
            lines.push(format!("// {}", PolicyRule::from_json(rule).to_marker(namespace)));
        }
    }
    lines
}

/// One marker for each permission; what is needed wherever the operator works is not needed again in a namespace of these.
fn declarations(usages: &[RbacUsage], home: &OperatorScope) -> Vec<RbacMarker> {
    let works_in = |name: &String| home.confined_to.as_ref().is_none_or(|names| names.contains(name));
    let namespace = |usage: &RbacUsage| {
        let named = match &usage.scope {
            RequestScope::Cluster | RequestScope::Namespaced | RequestScope::OfObject => return String::new(),
            RequestScope::Own => home.own.clone(),
            RequestScope::Namespace(name) => name.clone(),
        };
        let is_all = usage.role.is_none() && home.confined_to.as_deref() == Some(std::slice::from_ref(&named));
        if is_all { String::new() } else { named }
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
            namespaces.retain(|name| name.is_empty() || !works_in(name));
        }
        let (role, permission) = key;
        let allowed = PolicyRule::allowing(&permission.target, &[&permission.verb]);
        for namespace in namespaces {
            markers.push(RbacMarker {
                groups: allowed.groups.clone(),
                resources: allowed.resources.clone(),
                resource_names: Vec::new(),
                verbs: allowed.verbs.clone(),
                urls: allowed.urls.clone(),
                namespace,
                role_name: role.unwrap_or_default().to_owned(),
                origin: origins[&key].clone(),
            });
        }
    }
    markers
}
