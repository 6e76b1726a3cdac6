//! Markers → the fewest rules that say the same, as `ClusterRole` and `Role` documents.
//!
//! The merging is controller-gen's, step by step, so that the same markers give the same file. One difference: when
//! two merged rules come to be about the same things, their verbs are united; controller-gen drops one of the rules.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::diagnostic::Diagnostics;
use crate::rbac::check::markers;
use crate::rbac::marker::RbacMarker;
use crate::rbac::{PolicyRule, needed};
use crate::source::SourceTree;

/// The name of the role of the operator, unless a marker or a flag says another one.
pub const ROLE: &str = "manager-role";

/// The documents of `role.yaml`, by namespace and name; without markers one `ClusterRole` that allows nothing.
pub fn roles(tree: &SourceTree, role_name: &str) -> (Vec<Value>, Diagnostics) {
    let (markers, diagnostics) = markers(tree);
    (documents(&markers, &Roles { default_name: role_name, fold: false }), diagnostics)
}

/// Options for roles from markers.
#[derive(Debug, Clone, Copy)]
pub struct Roles<'a> {
    /// The name of the role of markers that name none.
    pub default_name: &'a str,
    /// Leave out the rules that allow nothing more than others of the same role.
    pub fold: bool,
}

/// The key of a rule. Rules with the same key are merged. No group and the core group are different keys, which
/// controller-gen mixes up in a random way.
type RuleKey = [Vec<String>; 4];

fn key(rule: &PolicyRule) -> RuleKey {
    [&rule.groups, &rule.resources, &rule.names, &rule.urls].map(Clone::clone)
}

/// The order of rules in a role.
fn order(rule: &PolicyRule) -> String {
    key(rule).map(|list| list.join("&")).join(" + ")
}

/// Rules by key; verbs of equal keys are united.
#[derive(Default)]
pub(super) struct Rules(BTreeMap<RuleKey, PolicyRule>);

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
        let mut groups: BTreeMap<(RuleKey, Vec<String>), PolicyRule> = BTreeMap::new();
        for mut rule in self.0.into_values() {
            let merged = std::mem::take(list(&mut rule));
            let group = (key(&rule), rule.verbs.clone());
            list(groups.entry(group).or_insert(rule)).extend(merged);
        }
        groups.into_values().collect()
    }

    fn merged(self) -> Self {
        self.merge(|rule| &mut rule.resources).merge(|rule| &mut rule.groups).merge(|rule| &mut rule.urls)
    }

    /// The rules that are needed: none allows only what another one allows too. What allows nothing at all stays.
    fn folded(self) -> Self {
        let mut rules = self;
        loop {
            let before = rules.0.len();
            let mut merged = rules.merged().into_vec();
            needed(&mut merged, PolicyRule::includes);
            rules = merged.into_iter().collect();
            if rules.0.len() == before {
                return rules;
            }
        }
    }

    fn into_vec(self) -> Vec<PolicyRule> {
        self.0.into_values().collect()
    }
}

impl FromIterator<PolicyRule> for Rules {
    fn from_iter<I: IntoIterator<Item = PolicyRule>>(rules: I) -> Self {
        let mut all = Self::default();
        for rule in rules {
            all.add(rule);
        }
        all
    }
}

/// Returns the roles of markers, of one package or of several, as documents: see [`roles`].
pub fn documents(markers: &[RbacMarker], how: &Roles<'_>) -> Vec<Value> {
    let mut by_place: BTreeMap<(&str, &str), Rules> = BTreeMap::new();
    for marker in markers {
        let name = if marker.role_name.is_empty() { how.default_name } else { &marker.role_name };
        let rules = by_place.entry((&marker.namespace, name)).or_default();
        marker.rules().for_each(|rule| rules.add(rule));
    }
    if by_place.is_empty() {
        by_place.insert(("", how.default_name), Rules::default());
    }
    let documents = by_place.into_iter().map(|((namespace, name), rules)| {
        let rules = rules.merged();
        document(namespace, name, if how.fold { rules.folded() } else { rules })
    });
    documents.collect()
}

pub(super) fn document(namespace: &str, name: &str, rules: Rules) -> Value {
    let mut rules = rules.into_vec();
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
