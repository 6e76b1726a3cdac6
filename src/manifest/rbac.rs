//! `+kubebuilder:rbac` markers → the fewest rules that say the same, as `ClusterRole` and `Role` documents.
//!
//! The merging is controller-gen's, step by step, so that the same markers give the same file. One difference: when
//! two merged rules come to be about the same things, their verbs are united; controller-gen drops one of the rules.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin};
use crate::rbac::PolicyRule;
use crate::source::SourceTree;
use crate::source::marker::Marker;

/// The name of the role of the operator, unless a marker or a flag says another one.
pub const ROLE: &str = "manager-role";

/// The documents of `role.yaml`, by namespace and name; without markers one `ClusterRole` that allows nothing.
pub fn roles(tree: &SourceTree, role_name: &str) -> (Vec<Value>, Diagnostics) {
    let (markers, diagnostics) = markers(tree);
    (documents(&markers, role_name), diagnostics)
}

/// The markers of a package.
pub fn markers(tree: &SourceTree) -> (Vec<RbacMarker>, Diagnostics) {
    let (markers, mut diagnostics) = tree.markers();
    let markers: Vec<_> =
        markers.iter().filter(|marker| marker.name == "kubebuilder:rbac").map(RbacMarker::from).collect();
    for marker in &markers {
        marker.check(&mut diagnostics);
    }
    (markers, diagnostics)
}

/// One `+kubebuilder:rbac` marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RbacMarker {
    /// API groups, `core` as written.
    pub groups: Vec<String>,
    /// Resources and subresources.
    pub resources: Vec<String>,
    /// Only objects of these names.
    pub resource_names: Vec<String>,
    /// What may be done.
    pub verbs: Vec<String>,
    /// Paths that are no resources.
    pub urls: Vec<String>,
    /// Empty: cluster-wide.
    pub namespace: String,
    /// Empty: the default role.
    pub role_name: String,
    /// Where it stands.
    pub origin: Origin,
}

impl From<&Marker> for RbacMarker {
    fn from(marker: &Marker) -> Self {
        Self {
            groups: marker.strings("groups"),
            resources: marker.strings("resources"),
            resource_names: marker.strings("resourceNames"),
            verbs: marker.strings("verbs"),
            urls: marker.strings("urls"),
            namespace: marker.string("namespace"),
            role_name: marker.string("roleName"),
            origin: marker.origin.clone(),
        }
    }
}

/// Verbs that the API server asks about; <https://kubernetes.io/docs/reference/access-authn-authz/authorization/>.
const VERBS: [&str; 15] = [
    "*",
    "approve",
    "bind",
    "create",
    "delete",
    "deletecollection",
    "escalate",
    "get",
    "impersonate",
    "list",
    "patch",
    "sign",
    "update",
    "use",
    "watch",
];

impl RbacMarker {
    /// Warns about what the API server refuses or what can never match a request.
    fn check(&self, diagnostics: &mut Diagnostics) {
        let mut warn = |message: String, help: &str| {
            diagnostics.push(Diagnostic::new(Code::RbacRule, message).help(help).at(self.origin.clone()));
        };
        let has = |verb: &str| self.verbs.iter().any(|had| had == verb);
        if !self.urls.is_empty() && !self.namespace.is_empty() {
            warn(
                "a Role can't allow `urls`: they belong to no namespace".to_string(),
                "remove `namespace`, or move `urls` to a marker of its own",
            );
        }
        let about_resources = !self.resources.is_empty() || !self.groups.is_empty();
        if !self.urls.is_empty() && about_resources {
            warn("a rule is about `resources` or about `urls`, not both".to_string(), "write two markers");
        }
        if self.urls.is_empty() && self.resources.is_empty() {
            warn("the rule names neither `resources` nor `urls`".to_string(), "add what the verbs are about");
        }
        if !self.resources.is_empty() && self.groups.is_empty() {
            warn("`resources` without `groups`".to_string(), "add `groups`; the core group is `groups=core`");
        }
        if self.verbs.is_empty() {
            warn("`verbs` is empty".to_string(), "name what may be done, for example `verbs=get;list;watch`");
        }
        if !self.resource_names.is_empty() {
            for verb in ["create", "deletecollection"].into_iter().filter(|verb| has(verb)) {
                warn(
                    format!("`{verb}` can't be limited by `resourceNames`: the request has no object name"),
                    "write this verb in a marker without `resourceNames`",
                );
            }
        }
        for verb in self.verbs.iter().filter(|verb| !VERBS.contains(&verb.as_str())) {
            let lower = verb.trim().to_lowercase();
            let help = if VERBS.contains(&lower.as_str()) {
                format!("write `{lower}`")
            } else {
                format!("verbs of Kubernetes: {}", VERBS[1..].join(", "))
            };
            if self.urls.is_empty() || !matches!(verb.as_str(), "post" | "put" | "head" | "options") {
                warn(format!("`{verb}` is no verb that Kubernetes asks for"), &help);
            }
        }
        for group in self.groups.iter().filter(|group| group.contains('/')) {
            warn(format!("`{group}` is no API group"), "leave the version out");
        }
    }
}

/// What a rule is about: two rules with the same key are one. No group and the core group are different things, which
/// controller-gen mixes up in a random way.
type Key = [Vec<String>; 4];

fn key(rule: &PolicyRule) -> Key {
    [&rule.groups, &rule.resources, &rule.names, &rule.urls].map(Clone::clone)
}

/// The order of rules in a role.
fn order(rule: &PolicyRule) -> String {
    key(rule).map(|list| list.join("&")).join(" + ")
}

/// Rules by key; verbs of equal keys are united.
#[derive(Default)]
struct Rules(BTreeMap<Key, PolicyRule>);

impl Rules {
    fn add(&mut self, rule: PolicyRule) {
        let rule = rule.normalized();
        match self.0.get_mut(&key(&rule)) {
            Some(old) => {
                old.verbs.extend(rule.verbs);
                *old = std::mem::take(old).normalized();
            }
            None => {
                self.0.insert(key(&rule), rule);
            }
        }
    }

    /// Makes one rule of those that differ in one list only.
    fn merge(self, list: fn(&mut PolicyRule) -> &mut Vec<String>) -> Self {
        let mut groups: BTreeMap<(Key, Vec<String>), PolicyRule> = BTreeMap::new();
        for mut rule in self.0.into_values() {
            let merged = std::mem::take(list(&mut rule));
            let group = (key(&rule), rule.verbs.clone());
            list(groups.entry(group).or_insert(rule)).extend(merged);
        }
        let mut rules = Self::default();
        for rule in groups.into_values() {
            rules.add(rule);
        }
        rules
    }
}

/// What markers, of one package or of several, say as documents: see [`roles`].
pub fn documents(markers: &[RbacMarker], default_name: &str) -> Vec<Value> {
    let mut by_place: BTreeMap<(&str, &str), Rules> = BTreeMap::new();
    for marker in markers {
        let name = if marker.role_name.is_empty() { default_name } else { &marker.role_name };
        let rules = by_place.entry((&marker.namespace, name)).or_default();
        let groups = marker.groups.iter().map(|group| if group == "core" { "" } else { group });
        let rule = PolicyRule {
            groups: groups.map(str::to_string).collect(),
            resources: Vec::new(),
            names: marker.resource_names.clone(),
            urls: marker.urls.clone(),
            verbs: marker.verbs.clone(),
        };
        if marker.resources.is_empty() {
            rules.add(rule.clone());
        }
        for resource in &marker.resources {
            rules.add(PolicyRule { resources: vec![resource.clone()], ..rule.clone() });
        }
    }
    if by_place.is_empty() {
        by_place.insert(("", default_name), Rules::default());
    }
    by_place.into_iter().map(|((namespace, name), rules)| document(namespace, name, rules)).collect()
}

fn document(namespace: &str, name: &str, rules: Rules) -> Value {
    let rules = rules.merge(|rule| &mut rule.resources).merge(|rule| &mut rule.groups).merge(|rule| &mut rule.urls);
    let mut rules: Vec<PolicyRule> = rules.0.into_values().collect();
    rules.sort_by_key(order);
    let mut metadata = json!({ "name": name });
    if !namespace.is_empty() {
        metadata["namespace"] = json!(namespace);
    }
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": if namespace.is_empty() { "ClusterRole" } else { "Role" },
        "metadata": metadata,
        "rules": rules.iter().map(PolicyRule::to_json).collect::<Vec<_>>(),
    })
}
