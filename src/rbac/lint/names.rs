//! Names in rules that are probably misspelt: resources and subresources of Kubernetes and of the crate's own groups.

use std::collections::{BTreeMap, BTreeSet};

use super::super::declared::Grant;
use super::super::{PolicyRule, RbacTarget, RbacUsage};
use crate::diagnostic::{Code, Diagnostic};
use crate::project::builtin;
use crate::source::marker::nearest;

/// The kinds of the code by their groups: the plural of each, and its kind in lower case.
pub type Served = BTreeMap<String, BTreeMap<String, String>>;

/// Subresources of custom resources; `finalizers` is one that only rules have.
const CUSTOM: [&str; 3] = ["finalizers", "scale", "status"];
/// Subresources of the kinds of Kubernetes, and those that only rules have.
const BUILTIN: [&str; 26] = [
    "approval",
    "attach",
    "binding",
    "checkpoint",
    "configz",
    "ephemeralcontainers",
    "eviction",
    "exec",
    "finalize",
    "finalizers",
    "healthz",
    "log",
    "metrics",
    "pods",
    "portforward",
    "proxy",
    "resize",
    "rollback",
    "scale",
    "spec",
    "stats",
    "status",
    "token",
    "attest",
    "sign",
    "approve",
];

/// Subresources that only nodes have.
const OF_NODES: [&str; 7] = ["checkpoint", "configz", "healthz", "metrics", "pods", "spec", "stats"];

/// Resources by name.
pub(super) struct ResourceNames<'a> {
    served: &'a Served,
    /// Resources of the requests in the code.
    used: BTreeSet<(&'a str, &'a str)>,
    builtins: Vec<builtin::Builtin>,
}

impl<'a> ResourceNames<'a> {
    pub(super) fn new(served: &'a Served, usages: &'a [RbacUsage]) -> Self {
        let named = usages.iter().filter_map(|usage| match &usage.permission.target {
            RbacTarget::Resource { group, resource, .. } => Some((group.as_str(), resource.as_str())),
            RbacTarget::Url(_) => None,
        });
        Self { served, used: named.collect(), builtins: builtin::all() }
    }

    /// The slips in the rules of one place. In markers, those in groups of Kubernetes are found by [`super::super::check`].
    pub(super) fn slips(&self, grants: &[&Grant]) -> Vec<Diagnostic> {
        let mut found: Vec<Diagnostic> = Vec::new();
        for Grant { rule: PolicyRule { groups, resources, .. }, origin, role, .. } in grants.iter().copied() {
            let is_builtin = |group: &String| self.builtins.iter().any(|builtin| builtin.group == *group);
            if role.is_none() && groups.iter().all(is_builtin) {
                continue;
            }
            for resource in resources.iter().filter(|resource| !resource.contains('*')) {
                let slip = Diagnostic::new(Code::RbacRule, String::new()).at(origin.clone());
                if let Some((message, help)) = self.slip(groups, resource) {
                    let slip = Diagnostic { message, ..slip.help(help) };
                    if !found.contains(&slip) {
                        found.push(slip);
                    }
                }
            }
        }
        found
    }

    /// Returns the error in a resource that is in none of the groups, and the probable resource.
    fn slip(&self, groups: &[String], resource: &str) -> Option<(String, String)> {
        if groups.is_empty() || groups.iter().any(|group| group == "*") {
            return None;
        }
        let mut slip = None;
        for group in groups {
            match self.slip_in(group, resource) {
                Ok(()) => return None,
                Err(found) => slip = slip.or(found),
            }
        }
        slip
    }

    /// Ok if the group may have the resource.
    fn slip_in(&self, group: &str, resource: &str) -> Result<(), Option<(String, String)>> {
        if self.used.contains(&(group, resource)) {
            return Ok(());
        }
        let (plural, sub) = resource.split_once('/').unwrap_or((resource, ""));
        let own = self.served.get(group);
        let builtins = || self.builtins.iter().filter(|builtin| builtin.group == group);
        let shown = RbacTarget::resource(group, resource);
        if own.is_none() && builtins().next().is_none() {
            let groups = self.served.iter().filter(|(_, kinds)| kinds.contains_key(plural)).map(|(group, _)| &**group);
            return match close(group, groups) {
                Some(near) => Err(Some(told(&shown, &RbacTarget::resource(near, resource)))),
                None => Ok(()),
            };
        }
        let known = own.is_some_and(|own| own.contains_key(plural)) || builtins().any(|kind| kind.plural == plural);
        if known || self.used.contains(&(group, plural)) {
            let subs: &[&str] = if own.is_some() { &CUSTOM } else { &BUILTIN };
            let meant = subs.iter().copied().filter(|sub| plural == "nodes" || !OF_NODES.contains(sub));
            return match close(sub, meant) {
                _ if sub.is_empty() || subs.contains(&sub) => Ok(()),
                Some(near) => Err(Some(told(&shown, &RbacTarget::resource(group, &format!("{plural}/{near}"))))),
                None if own.is_some() => {
                    let help = format!("custom resources have the subresources {}", super::quoted(CUSTOM));
                    Err(Some((format!("`{shown}` is not a subresource"), help)))
                }
                None => Ok(()),
            };
        }
        let kinds = own.into_iter().flatten();
        let kinds = kinds.map(|(plural, kind)| (plural.clone(), kind.clone()));
        let kinds: Vec<(String, String)> =
            kinds.chain(builtins().map(|kind| (kind.plural.to_owned(), kind.kind.to_lowercase()))).collect();
        let lower = plural.to_lowercase();
        let by_kind = kinds.iter().find(|(name, kind)| *kind == lower || *name == lower);
        let near = match by_kind {
            Some((name, _)) => Some(name.as_str()),
            None => close(&lower, kinds.iter().map(|(name, _)| name.as_str())),
        };
        let with_sub = |plural: &str| if sub.is_empty() { plural.to_owned() } else { format!("{plural}/{sub}") };
        if let Some(near) = near {
            return Err(Some(told(&shown, &RbacTarget::resource(group, &with_sub(near)))));
        }
        // Of the groups of Kubernetes, no other project adds to one.
        match self.builtins.iter().find(|kind| kind.plural == plural) {
            Some(elsewhere) if own.is_none() => {
                Err(Some(told(&shown, &RbacTarget::resource(elsewhere.group, &with_sub(plural)))))
            }
            _ => Ok(()),
        }
    }
}

fn told(shown: &RbacTarget, meant: &RbacTarget) -> (String, String) {
    (format!("`{shown}` is not a resource that the API serves"), format!("did you mean `{meant}`?"))
}

/// The candidate that differs by no more than two letters, and by few of a short name.
fn close<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    nearest(name, candidates.filter(|candidate| *candidate != name && strsim::levenshtein(name, candidate) <= 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_name_what_was_meant() {
        let kinds = [("ponds", "pond"), ("policies", "policy")];
        let kinds = kinds.map(|(plural, kind)| (plural.to_owned(), kind.to_owned()));
        let served = Served::from([("ponds.example.com".to_owned(), BTreeMap::from(kinds))]);
        let names = ResourceNames::new(&served, &[]);
        let own = "ponds.example.com";
        for (groups, resource, expected) in [
            (vec![own], "ponds", None),
            (vec![own], "ponds/finalizers", None),
            (vec![own], "ponds/status", None),
            (vec![own], "pondds", Some("ponds.ponds.example.com")),
            (vec![own], "pondds/finalizers", Some("ponds.ponds.example.com/finalizers")),
            (vec![own], "pond/finalizers", Some("ponds.ponds.example.com/finalizers")),
            (vec![own], "Policy", Some("policies.ponds.example.com")),
            (vec![own], "ponds/finalizer", Some("ponds.ponds.example.com/finalizers")),
            (vec![own], "ponds/depth", Some("")),
            // The group may have kinds of another crate.
            (vec![own], "lakes/finalizers", None),
            (vec!["", own], "pods", None),
            (vec!["pond.example.com"], "ponds", Some("ponds.ponds.example.com")),
            (vec!["other.example.com"], "pondds", None),
            (vec!["apps"], "deployment", Some("deployments.apps")),
            (vec!["apps"], "deployments/scale", None),
            (vec!["apps"], "deployments/statsu", Some("deployments.apps/status")),
            (vec![""], "deployments", Some("deployments.apps")),
            (vec![""], "pods/logs", Some("pods/log")),
            (vec![""], "nodes/metrics", None),
            (vec![""], "users", None),
            (vec!["*"], "pondds", None),
        ] {
            let groups: Vec<String> = groups.into_iter().map(str::to_owned).collect();
            let found = names.slip(&groups, resource).map(|(_, help)| {
                help.strip_prefix("did you mean `").and_then(|help| help.strip_suffix("`?")).unwrap_or("").to_owned()
            });
            assert_eq!(found.as_deref(), expected, "{groups:?} {resource}");
        }
    }
}
