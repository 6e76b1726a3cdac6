//! Declared permissions beside those that the code uses.
//!
//! Nobody is told to remove what may be used: as long as a call could not be followed, an excess that the call may explain
//! is a note.

use std::collections::{BTreeMap, BTreeSet};

use super::declared::{Grant, GrantScope, Home, by_place};
use super::derive::Doubt;
use super::{Permission, PolicyRule, REQUEST_VERBS, RbacTarget, RbacUsage, RequestScope, URL_VERBS, quoted};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin};
use crate::rbac::marker::RbacMarker;

pub(crate) mod fix;
pub mod names;

use self::names::{ResourceNames, Served};

/// The permissions to compare.
#[derive(Debug)]
pub struct RoleComparison<'a> {
    /// Calls in the code.
    pub usages: &'a [RbacUsage],
    /// Calls that could not be followed.
    pub doubts: &'a [Doubt],
    /// Declared rules.
    pub grants: &'a [Grant],
    /// Permissions of the operator with other flags.
    pub optional: &'a [Permission],
    /// The roles of generated projects that are not needed with the flags of this one.
    pub waived: &'a [&'static str],
    /// The kinds of the code.
    pub served: &'a Served,
    /// The namespace of the operator, and the namespaces that it works in.
    pub home: &'a Home,
    /// The permissions are declared in roles that are written by hand.
    pub by_hand: bool,
}

/// A permission that nothing declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    pub(crate) target: RbacTarget,
    pub(crate) verbs: BTreeSet<String>,
    /// The namespace that a marker has to name; empty for all.
    namespace: String,
    /// The call nearest to the program.
    pub(crate) origin: Origin,
    call: String,
    /// The number of other calls that need it.
    others: usize,
    /// A marker allows it, but in another namespace.
    is_elsewhere: bool,
    /// The role of generated projects that has it.
    pub(crate) role: Option<&'static str>,
}

impl Missing {
    fn marker(&self) -> String {
        let verbs: Vec<&str> = self.verbs.iter().map(String::as_str).collect();
        marker(&self.target, &self.namespace, &verbs)
    }

    /// Returns true if a marker of any namespace names it.
    pub(crate) fn is_in(&self, markers: &[RbacMarker]) -> bool {
        let rules: Vec<PolicyRule> = markers.iter().flat_map(RbacMarker::rules).collect();
        self.verbs.iter().all(|verb| {
            let permission = Permission::new(self.target.clone(), verb);
            rules.iter().any(|rule| rule.grants(&permission))
        })
    }

    fn diagnostic(&self, by_hand: bool) -> Diagnostic {
        let verbs: Vec<&str> = self.verbs.iter().map(String::as_str).collect();
        let what = format!("`{} {}`", verbs.join(","), self.target);
        let who = match self.others {
            0 => format!("`{}` needs", self.call),
            1 => format!("`{}` and 1 more call need", self.call),
            others => format!("`{}` and {others} more calls need", self.call),
        };
        let lacks =
            if self.is_elsewhere { "no role declares in the namespace where it is needed" } else { "nothing declares" };
        let message = format!("{who} {what}, which {lacks}");
        let help = match self.role {
            Some(role) => format!("bind the role `{role}` of config/rbac in its kustomization.yaml again"),
            None if by_hand => format!("add to a role:\n{}", rule(&self.target, &verbs)),
            None => format!("add the marker, or run `memcached-sdk rbac lint --fix`:\n// {}", self.marker()),
        };
        Diagnostic::new(Code::RbacMissing, message).help(help).at(self.origin.clone())
    }
}

/// The marker that allows these verbs.
pub(super) fn marker(target: &RbacTarget, namespace: &str, verbs: &[&str]) -> String {
    PolicyRule::allowing(target, verbs).to_marker(namespace)
}

/// Formats the rule of a role.
pub(super) fn rule(target: &RbacTarget, verbs: &[&str]) -> String {
    let verbs = verbs.join(", ");
    match target {
        RbacTarget::Resource { group, resource, .. } => {
            format!("- apiGroups: [\"{group}\"]\n  resources: [{resource}]\n  verbs: [{verbs}]")
        }
        RbacTarget::Url(url) => format!("- nonResourceURLs: [{url}]\n  verbs: [{verbs}]"),
    }
}

/// Code, message, and what to do.
type Finding = (Code, String, String);

impl RoleComparison<'_> {
    /// Returns missing permissions, in the order of the calls, if a call in one of the selected files needs them. Each
    /// has that call as its place, or else the call that is nearest to the program.
    pub fn missing(&self, is_asked: impl Fn(&str) -> bool) -> Vec<Missing> {
        let mut needed: BTreeMap<(&Permission, String), Vec<&RbacUsage>> = BTreeMap::new();
        for usage in self.usages {
            let is_waived = usage.role.is_some_and(|role| self.waived.contains(&role));
            if !is_waived && !self.grants.iter().any(|grant| grant.allows(usage, self.home)) {
                needed.entry((&usage.permission, self.home.namespace(&usage.scope))).or_default().push(usage);
            }
        }
        let place = |usage: &RbacUsage| (usage.origin.path.clone(), usage.origin.range.start);
        let mut all: BTreeMap<_, (Missing, BTreeSet<_>)> = BTreeMap::new();
        for ((permission, namespace), usages) in needed {
            let asked = usages.iter().filter(|usage| is_asked(&usage.origin.path));
            let Some(shown) = asked.min_by_key(|usage| usage.distance) else { continue };
            let Permission { target, verb } = permission;
            let key = (place(shown), target, namespace.clone());
            let (missing, calls) = all.entry(key).or_insert_with(|| {
                let missing = Missing {
                    target: target.clone(),
                    verbs: BTreeSet::new(),
                    namespace,
                    origin: shown.origin.clone(),
                    call: shown.call.clone(),
                    others: 0,
                    is_elsewhere: true,
                    role: shown.role,
                };
                (missing, BTreeSet::new())
            });
            missing.verbs.insert(verb.clone());
            missing.is_elsewhere &= self.grants.iter().any(|grant| grant.matches(permission));
            calls.extend(usages.into_iter().map(place));
            missing.others = calls.len() - 1;
        }
        all.into_values().map(|(missing, _)| missing).collect()
    }

    /// Returns true if a marker in the same file names a permission that no call uses, and that the doubtful call may
    /// need.
    pub(crate) fn is_named(&self, doubt: &Doubt) -> bool {
        let beside = self.grants.iter().filter(|grant| grant.role.is_none() && grant.origin.path == doubt.origin.path);
        let unused = beside.flat_map(atoms).filter(|(.., atom)| !self.is_used(atom));
        let verbs: BTreeSet<&str> = unused.map(|(_, verb, _)| verb).collect();
        let may = doubt.cause.verbs();
        if may.is_empty() { !verbs.is_empty() } else { may.iter().all(|verb| verbs.contains(verb)) }
    }

    /// All findings; those about what is missing only for what is given.
    pub fn findings(&self, missing: &[Missing]) -> Diagnostics {
        let mut found: Diagnostics = missing.iter().map(|missing| missing.diagnostic(self.by_hand)).collect();
        let names = ResourceNames::new(self.served, self.usages);
        for grants in by_place(self.grants) {
            if !grants[0].is_builtin {
                found.extend(names.slips(&grants).into_iter().collect());
            }
            let mut all = vec![self.wildcards(&grants), secrets(&grants), escalation(&grants)];
            if !grants.iter().any(|grant| grant.is_builtin) {
                all.extend(self.excess(&grants));
                all.push(self.scope(&grants));
            }
            for (code, message, help) in all.into_iter().flatten() {
                found.push(Diagnostic::new(code, message).help(help).at(grants[0].origin.clone()));
            }
        }
        found.sort();
        found
    }

    fn is_used(&self, rule: &Grant) -> bool {
        let used = self.usages.iter().map(|usage| &usage.permission);
        used.chain(self.optional).any(|permission| rule.matches(permission))
    }

    /// Returns the unused part of a marker or rule: verbs that can be removed, and verbs that a doubtful call may use.
    fn excess(&self, grants: &[&Grant]) -> [Option<Finding>; 2] {
        let mut is_left = false;
        let mut why = String::new();
        let unproven = unused(grants, |target, verb, atom| {
            let is_unused = is_seen_in_code(target, verb) && !self.is_used(atom);
            is_left |= !is_unused;
            let excuse = if is_unused { self.excuse(atom) } else { None };
            let excused = excuse.is_some();
            if let Some(excuse) = excuse.filter(|_| why.is_empty()) {
                why = excuse;
            }
            excused
        });
        let excess = unused(grants, |target, verb, atom| {
            is_seen_in_code(target, verb) && !self.is_used(atom) && self.excuse(atom).is_none()
        });
        let note = unproven.map(|(list, _)| {
            let message = format!("no call that could be followed uses {list}");
            (Code::RbacUnproven, message, format!("{why}, so check before you remove it"))
        });
        let is_left = is_left || note.is_some();
        let finding = excess.map(|(list, _)| {
            let (from, mark) = match (&grants[0].role, is_left) {
                (None, false) => ("the marker", "//"),
                (None, true) => ("it from the marker", "//"),
                (Some(_), _) => ("it from the role", "#"),
            };
            let help = format!("remove {from}, or give the reason: `{mark} memcached-sdk:allow(rbac-excess): reason`");
            (Code::RbacExcess, format!("nothing in the code uses {list}"), help)
        });
        [note, finding]
    }

    /// Why what a rule allows, and no call uses, may still be needed.
    fn excuse(&self, atom: &Grant) -> Option<String> {
        let writes_roles = self.usages.iter().find(|usage| writes_roles(&usage.permission));
        if let Some(usage) = writes_roles {
            let (line, _) = usage.origin.line_column();
            let place = format!("{}:{line}", usage.origin.path);
            return Some(format!(
                "`{}` in {place} writes roles, and the API server lets it grant only permissions that the operator has",
                usage.call
            ));
        }
        let PolicyRule { groups, resources, verbs, .. } = &atom.rule;
        let explains = |doubt: &&Doubt| {
            if !doubt.cause.hides_requests() {
                return false;
            }
            let may = doubt.cause.verbs();
            let verb = may.is_empty() || verbs.iter().any(|verb| verb == "*" || may.contains(&verb.as_str()));
            let about =
                resources.is_empty() || resources.iter().any(|resource| doubt.cause.may_be_about(groups, resource));
            verb && about
        };
        let origin = &self.doubts.iter().find(explains)?.origin;
        let (line, _) = origin.line_column();
        Some(format!("a call at {}:{line} was not followed and may use it", origin.path))
    }

    fn wildcards(&self, grants: &[&Grant]) -> Option<Finding> {
        let is_wild = |item: &String| item == "*" || item == "/*" || item.starts_with("*/");
        let mut names = BTreeSet::new();
        for PolicyRule { groups, resources, urls, verbs, .. } in grants.iter().map(|grant| &grant.rule) {
            let lists = [("`groups`", groups), ("`resources`", resources), ("`urls`", urls), ("`verbs`", verbs)];
            names.extend(lists.iter().filter(|(_, list)| list.iter().any(is_wild)).map(|(name, _)| *name));
        }
        let names = Vec::from_iter(names);
        let message = format!("`*` in {} also allows later additions to the API", names.join(" and "));
        (!names.is_empty()).then(|| (Code::RbacWildcard, message, self.instead(grants)))
    }

    /// Formats the used part.
    fn instead(&self, grants: &[&Grant]) -> String {
        let mut used: BTreeMap<(&RbacTarget, String), BTreeSet<&str>> = BTreeMap::new();
        for usage in self.usages.iter().filter(|usage| usage.role.is_none()) {
            if grants.iter().any(|grant| grant.matches(&usage.permission)) {
                let namespace = self.home.namespace(&usage.scope);
                used.entry((&usage.permission.target, namespace)).or_default().insert(&usage.permission.verb);
            }
        }
        if used.is_empty() {
            return "list the resources and verbs that the operator needs".to_owned();
        }
        let is_wide = grants.iter().any(|grant| grant.scope == GrantScope::Everywhere);
        let lines = used.iter().map(|((target, namespace), verbs)| {
            let verbs: Vec<&str> = verbs.iter().copied().collect();
            if !self.by_hand {
                return format!("\n// {}", marker(target, namespace, &verbs));
            }
            let place = match namespace.as_str() {
                namespace if namespace.is_empty() || !is_wide => "",
                "system" => "\n# in a Role in the namespace of the operator",
                name => &format!("\n# in a Role in the namespace `{name}`"),
            };
            format!("{place}\n{}", rule(target, &verbs))
        });
        format!("the calls that could be followed use:{}", lines.collect::<String>())
    }

    /// Finds a rule for all namespaces whose calls are all in known namespaces.
    fn scope(&self, grants: &[&Grant]) -> Option<Finding> {
        let mut narrow: BTreeSet<(String, String)> = BTreeSet::new();
        for grant in
            grants.iter().filter(|grant| grant.scope == GrantScope::Everywhere && self.home.confined.is_empty())
        {
            let uses: Vec<&RbacUsage> = self.usages.iter().filter(|usage| grant.matches(&usage.permission)).collect();
            let wide = |usage: &&RbacUsage| {
                matches!(usage.scope, RequestScope::Cluster | RequestScope::Namespaced | RequestScope::OfObject)
            };
            if uses.iter().any(wide) || self.optional.iter().any(|permission| grant.matches(permission)) {
                continue;
            }
            narrow.extend(
                uses.iter().map(|usage| (usage.permission.target.to_string(), self.home.namespace(&usage.scope))),
            );
        }
        if narrow.is_empty() {
            return None;
        }
        let (targets, namespaces): (BTreeSet<String>, BTreeSet<String>) = narrow.into_iter().unzip();
        let [targets, namespaces] = [targets, namespaces].map(quoted);
        let message = format!("{targets} may be used in all namespaces, but the code uses it only in {namespaces}");
        let help = match &grants[0].role {
            None => "add the namespace to the marker, and bind the Role that it makes there",
            Some(_) => "make it a Role in that namespace, and bind it there",
        };
        // A call that was not followed may use it elsewhere.
        Some(match grants.iter().flat_map(|grant| atoms(grant)).find_map(|(.., atom)| self.excuse(&atom)) {
            Some(why) => (Code::RbacUnproven, message, format!("{why} elsewhere, so check before you narrow it")),
            None => (Code::RbacScope, message, help.to_owned()),
        })
    }
}

/// Formats the unused part of a marker or rule, with its verbs.
pub(super) fn unused<'g>(
    grants: &[&'g Grant],
    mut is_unused: impl FnMut(&str, &str, &Grant) -> bool,
) -> Option<(String, BTreeSet<&'g str>)> {
    let mut unused: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for grant in grants {
        for (target, verb, atom) in atoms(grant) {
            if is_unused(target, verb, &atom) {
                let verbs = unused.entry(shown(grant, target)).or_default();
                verbs.extend((!verbs.contains(&verb)).then_some(verb));
            }
        }
    }
    let list = quoted(unused.iter().map(|(target, verbs)| format!("{} {target}", verbs.join(","))));
    (!unused.is_empty()).then(|| (list, unused.into_values().flatten().collect()))
}

/// Each target and verb of a rule, with the rule that allows this alone.
fn atoms(grant: &Grant) -> Vec<(&str, &str, Grant)> {
    let rule = &grant.rule;
    let mut atoms = Vec::new();
    let resources = rule.resources.iter().map(|resource| (resource, false));
    for (target, is_url) in resources.chain(rule.urls.iter().map(|url| (url, true))) {
        for verb in &rule.verbs {
            let mut atom = PolicyRule { verbs: vec![verb.clone()], ..PolicyRule::default() };
            if is_url {
                atom.urls = vec![target.clone()];
            } else {
                (atom.groups, atom.names) = (rule.groups.clone(), rule.names.clone());
                atom.resources = vec![target.clone()];
            }
            atoms.push((target.as_str(), verb.as_str(), Grant { rule: atom, ..grant.clone() }));
        }
    }
    atoms
}

/// Returns true if a request in the code uses it. Parts of Kubernetes check `use`, `bind` and similar verbs. No request
/// has the subresource `finalizers`: the admission plugin `OwnerReferencesPermissionEnforcement` checks it when an
/// owner is set.
/// <https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#ownerreferencespermissionenforcement>
pub(super) fn is_seen_in_code(target: &str, verb: &str) -> bool {
    let requested = verb == "*" || REQUEST_VERBS.contains(&verb) || URL_VERBS.contains(&verb);
    requested && !target.ends_with("/finalizers")
}

/// `deployments.apps`, when the rule has one group.
fn shown(grant: &Grant, target: &str) -> String {
    match grant.rule.groups.as_slice() {
        [group] if group != "*" => RbacTarget::resource(group, target).to_string(),
        _ => target.to_owned(),
    }
}

/// The API server lets nobody write a role that allows more than what they may do themselves.
/// <https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping>
fn writes_roles(permission: &Permission) -> bool {
    const KINDS: [&str; 4] = ["clusterrolebindings", "clusterroles", "rolebindings", "roles"];
    let writes = matches!(permission.verb.as_str(), "create" | "patch" | "update");
    writes
        && matches!(&permission.target, RbacTarget::Resource { group, resource, .. }
            if group == "rbac.authorization.k8s.io" && KINDS.contains(&resource.as_str()))
}

fn secrets(grants: &[&Grant]) -> Option<Finding> {
    let is_core = |rule: &PolicyRule| rule.groups.iter().any(|group| group.is_empty() || group == "*");
    let all = |rule: &PolicyRule| rule.resources.iter().any(|resource| resource == "secrets" || resource == "*");
    let wide = |grant: &&&Grant| {
        let rule = &grant.rule;
        grant.scope == GrantScope::Everywhere && is_core(rule) && all(rule) && rule.names.is_empty()
    };
    let wide: Vec<_> = grants.iter().filter(wide).collect();
    let verbs: BTreeSet<&str> = wide.iter().flat_map(|grant| &grant.rule.verbs).map(String::as_str).collect();
    let message = format!("`{} secrets` in all namespaces", Vec::from_iter(verbs).join(","));
    let help = "an attacker who controls the operator can read every Secret of the cluster: restrict it to \
        namespaces or names, or give the reason: `memcached-sdk:allow(rbac-secrets): reason`";
    (!wide.is_empty()).then(|| (Code::RbacSecrets, message, help.to_owned()))
}

fn escalation(grants: &[&Grant]) -> Option<Finding> {
    let mut verbs = BTreeSet::new();
    for grant in grants.iter().filter(|grant| grant.rule.names.is_empty()) {
        let rule = &grant.rule;
        let about = |names: &[&str]| rule.resources.iter().any(|resource| names.contains(&resource.as_str()));
        let all = rule.verbs.iter().any(|verb| verb == "*");
        verbs.extend(
            rule.verbs.iter().filter_map(|verb| ["bind", "escalate", "impersonate"].into_iter().find(|it| it == verb)),
        );
        if all && about(&["clusterroles", "roles"]) {
            verbs.extend(["bind", "escalate"]);
        }
        if all && about(&["groups", "serviceaccounts", "users"]) {
            verbs.insert("impersonate");
        }
    }
    let message = format!("{} gives the operator permissions that no rule lists", quoted(&verbs));
    let help = "remove it, restrict it by `resourceNames`, or give the reason: \
        `memcached-sdk:allow(rbac-escalation): reason`";
    (!verbs.is_empty()).then(|| (Code::RbacEscalation, message, help.to_owned()))
}
