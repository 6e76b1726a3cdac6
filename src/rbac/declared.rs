//! The declared permissions: the rules that are bound to the operator's `ServiceAccount`, each with its place.

mod account;
mod names;
mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use self::account::Account;
use self::names::BuiltNames;
use self::sources::kustomization_of;
use super::{Permission, PolicyRule, RbacTarget, RbacUsage, RequestScope, check};
use crate::diagnostic::{Code, Diagnostic, Origin, Problem};
use crate::rbac::marker::RbacMarker;
use crate::rbac::role::ROLE;
use crate::yaml;

/// A rule that the operator has.
#[derive(Debug, Clone)]
pub struct Grant {
    pub(crate) rule: PolicyRule,
    pub(crate) scope: GrantScope,
    /// The marker, or the rule in the file of a role.
    pub(crate) origin: Origin,
    /// The name of a role that is written by hand; `None` for a marker.
    pub(crate) role: Option<String>,
    /// The role is one of every cluster: it is not for the operator to change what it allows.
    pub(crate) is_builtin: bool,
}

/// The namespaces of a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum GrantScope {
    /// Cluster-wide.
    Everywhere,
    /// The operator's namespace.
    Own,
    /// Another namespace.
    Namespace(String),
}

/// The namespace of the operator, and the namespaces that it works in.
#[derive(Debug, Clone, Default)]
pub struct Home {
    pub(crate) namespace: Option<String>,
    /// The namespaces that it is confined to; none means all.
    pub(crate) confined: Vec<String>,
    /// The operator reads objects of all namespaces. So its requests in their namespaces go beyond its own one.
    pub(crate) works_everywhere: bool,
    /// Group and plural of the custom kinds that are in no namespace.
    pub(crate) cluster_wide: BTreeSet<(String, String)>,
}

impl Home {
    /// The scope of a rule in a namespace. Kustomizations replace the namespace `system`.
    pub(crate) fn scope(&self, namespace: &str) -> GrantScope {
        match namespace {
            "" | "system" => GrantScope::Own,
            name if self.namespace.as_deref() == Some(name) => GrantScope::Own,
            name => GrantScope::Namespace(name.to_owned()),
        }
    }

    /// The namespace that a marker has to name for a request; empty where the operator works.
    pub(crate) fn namespace(&self, scope: &RequestScope) -> String {
        let own = || self.namespace.clone().unwrap_or_else(|| "system".to_owned());
        let named = match scope {
            RequestScope::Cluster | RequestScope::Namespaced | RequestScope::OfObject => return String::new(),
            RequestScope::Own => own(),
            RequestScope::Namespace(name) => name.clone(),
        };
        if self.confined == [named.clone()] { String::new() } else { named }
    }

    /// Objects of this resource are in no namespace.
    pub(crate) fn is_cluster_wide(&self, group: &str, resource: &str) -> bool {
        let plural = resource.split('/').next().unwrap_or_default().to_owned();
        let group = group.to_owned();
        check::is_cluster_wide(std::slice::from_ref(&group), &plural) || self.cluster_wide.contains(&(group, plural))
    }
}

/// Verbs whose requests have no name of an object, which no rule with names allows.
const NAMELESS: [&str; 2] = ["create", "deletecollection"];

impl Grant {
    /// Returns true if a request of the code is allowed. The namespace of an object, or one that is chosen at run time,
    /// is unknown. Any rule allows requests there, except a Role for requests in all namespaces.
    pub(crate) fn allows(&self, usage: &RbacUsage, home: &Home) -> bool {
        let of_object = usage.scope == RequestScope::OfObject;
        let in_some = self.scope != GrantScope::Everywhere && of_object && home.works_everywhere;
        self.matches(&usage.permission) && self.reaches(&usage.permission, &usage.scope, home) && !in_some
    }

    /// Like [`Self::allows`], in any scope.
    pub(crate) fn matches(&self, permission: &Permission) -> bool {
        let mut rule = self.rule.clone();
        if !NAMELESS.contains(&permission.verb.as_str()) {
            rule.names.clear();
        }
        rule.grants(permission)
    }

    fn reaches(&self, permission: &Permission, scope: &RequestScope, home: &Home) -> bool {
        match (&self.scope, scope) {
            (GrantScope::Everywhere, _)
            | (_, RequestScope::Namespaced | RequestScope::OfObject)
            | (GrantScope::Own, RequestScope::Own) => true,
            (GrantScope::Own, RequestScope::Namespace(name)) => home.namespace.as_ref() == Some(name),
            (GrantScope::Namespace(one), RequestScope::Namespace(other)) => one == other,
            (GrantScope::Namespace(_), RequestScope::Own) => home.namespace.is_none(),
            (_, RequestScope::Cluster) => match &permission.target {
                RbacTarget::Resource { group, resource, .. } => {
                    !home.confined.is_empty() && !home.is_cluster_wide(group, resource)
                }
                RbacTarget::Url(_) => false,
            },
        }
    }
}

/// A folder of manifests, or files of somebody else's.
#[derive(Debug, Default)]
pub struct RoleManifests {
    roles: Vec<Role>,
    bindings: Vec<RoleBinding>,
    /// The service accounts of the workloads, or the one that is asked for.
    accounts: BTreeSet<Account>,
    /// All texts, to look for flags of the operator.
    texts: Vec<String>,
    /// Kind and name of what a patch takes away.
    removed: BTreeSet<(String, String)>,
    /// The names that kustomize generates.
    names: BuiltNames,
    /// Notes about parts that could not be resolved.
    notes: Vec<Diagnostic>,
}

#[derive(Debug)]
struct Role {
    kind: String,
    name: String,
    namespace: String,
    rules: Vec<(PolicyRule, Origin)>,
}

#[derive(Debug)]
struct RoleBinding {
    kind: String,
    name: String,
    namespace: String,
    role: (String, String),
    accounts: Vec<Account>,
    origin: Origin,
}

impl RoleBinding {
    fn scope(&self, home: &Home) -> GrantScope {
        if self.kind == "ClusterRoleBinding" { GrantScope::Everywhere } else { home.scope(&self.namespace) }
    }
}

impl RoleManifests {
    /// Reads the output of `config/default` of the project in `root`, or of `config/rbac` if there is no such folder.
    pub(crate) fn of_project(root: &Path) -> Result<Self, Problem> {
        let mut manifests = Self::default();
        let mut seen = BTreeSet::new();
        for folder in ["config/default", "config/rbac"] {
            if manifests.texts.is_empty() {
                manifests.kustomization(root, &root.join(folder), &mut seen, false)?;
            }
        }
        Ok(manifests)
    }

    /// The texts that were read.
    pub(crate) fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Notes about parts that could not be resolved.
    pub(crate) fn notes(&self) -> &[Diagnostic] {
        &self.notes
    }

    /// Adds what is in one file; its path is for people.
    ///
    /// # Errors
    ///
    /// It is no text, or no YAML: which line.
    pub fn read(&mut self, path: &str, bytes: &[u8]) -> Result<(), Problem> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let line = bytes[..error.valid_up_to()].split(|byte| *byte == b'\n').count();
            Problem::new(format!("`{path}:{line}` is not valid UTF-8"))
        })?;
        self.add(path, text.strip_prefix('\u{feff}').unwrap_or(text))
    }

    /// Follows a kustomization. With `strict`, what is not there is an error.
    fn kustomization(
        &mut self,
        root: &Path,
        folder: &Path,
        seen: &mut BTreeSet<PathBuf>,
        strict: bool,
    ) -> Result<(), Problem> {
        if !seen.insert(folder.to_path_buf()) {
            return Ok(());
        }
        let file = kustomization_of(folder).unwrap_or_else(|| folder.join("kustomization.yaml"));
        let Ok(text) = std::fs::read_to_string(&file) else {
            return if strict { Err(no_kustomization(&shown(root, folder))) } else { Ok(()) };
        };
        let shown_path = shown(root, &file);
        let value: Value = serde_yaml::from_str(&text).map_err(|error| invalid(&shown_path, &error, 0))?;
        let list = |key: &str| value[key].as_array().cloned().unwrap_or_default();
        let start = self.names.count();
        let listed = ["resources", "bases", "components"].into_iter().flat_map(list);
        for entry in listed.collect::<Vec<_>>().iter().filter_map(Value::as_str) {
            let path = crate::source::clean(&folder.join(entry));
            if path.is_dir() {
                self.kustomization(root, &path, seen, strict)?;
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                self.add(&shown(root, &path), &text)?;
            } else if strict {
                self.not_read(entry, &shown_path, &text)?;
            }
        }
        for key in ["helmCharts", "generators", "transformers"] {
            if strict && !list(key).is_empty() {
                self.note(key, &shown_path, &text);
            }
        }
        for patch in list("patches") {
            let text = match (patch["patch"].as_str(), patch["path"].as_str()) {
                (Some(text), _) => text.to_owned(),
                (None, Some(path)) => std::fs::read_to_string(folder.join(path)).unwrap_or_default(),
                (None, None) => continue,
            };
            let removed = serde_yaml::from_str::<Value>(&text).ok().filter(|value| value["$patch"] == "delete");
            self.removed.extend(removed.map(|value| (string(&value["kind"]), string(&value["metadata"]["name"]))));
            self.texts.push(text);
        }
        self.names.transform(start, &value, folder);
        Ok(())
    }

    /// An entry of a kustomization that is not a file here: one of another repository is a note.
    fn not_read(&mut self, entry: &str, path: &str, text: &str) -> Result<(), Problem> {
        let is_remote = entry.contains("://") || entry.contains("github.com") || entry.starts_with("git@");
        if !is_remote {
            return Err(Problem::new(format!("`{path}` lists `{entry}`, which does not exist")));
        }
        self.note(entry, path, text);
        Ok(())
    }

    fn note(&mut self, entry: &str, path: &str, text: &str) {
        let start = text.find(entry).unwrap_or_default();
        let origin = Origin { path: path.into(), text: text.into(), range: start..start + entry.len() };
        let message = format!("`{entry}` is not read: roles and bindings in it are not known");
        let help = "render the kustomization, and pass the result: `kustomize build > all.yaml`";
        self.notes.push(Diagnostic::new(Code::RbacUnproven, message).help(help).at(origin));
    }

    fn add(&mut self, path: &str, text: &str) -> Result<(), Problem> {
        let whole: Arc<str> = text.into();
        for range in yaml::documents(text) {
            let document: Value = match serde_yaml::from_str(&text[range.clone()]) {
                Ok(value) => value,
                Err(error) => return Err(invalid(path, &error, text[..range.start].matches('\n').count())),
            };
            let items = document["items"].as_array().filter(|_| string(&document["kind"]).ends_with("List"));
            let start = range.start + text[range.clone()].find("kind:").unwrap_or(0);
            let origin = Origin { path: path.into(), text: whole.clone(), range: start..start };
            if let Some(items) = items {
                for item in items {
                    self.object(item, &[], &origin);
                }
            } else {
                let places = rules(&text[range.clone()]).into_iter();
                let places: Vec<_> = places.map(|rule| rule.start + range.start..rule.end + range.start).collect();
                self.object(&document, &places, &origin);
            }
        }
        self.texts.push(text.to_owned());
        Ok(())
    }

    /// `places` are those of the rules, if they could be told.
    fn object(&mut self, object: &Value, places: &[Range<usize>], origin: &Origin) {
        let (kind, metadata) = (string(&object["kind"]), &object["metadata"]);
        let (name, namespace) = (string(&metadata["name"]), string(&metadata["namespace"]));
        self.names.add(object);
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        match kind.as_str() {
            "Role" | "ClusterRole" => {
                let rules = list(&object["rules"]);
                let known = places.len() == rules.len();
                let place = |index: usize| if known { places[index].clone() } else { origin.range.clone() };
                let read = |(index, rule): (usize, &Value)| {
                    (PolicyRule::from_json(rule), Origin { range: place(index), ..origin.clone() })
                };
                let rules = rules.iter().enumerate().map(read).collect();
                self.roles.push(Role { kind, name, namespace, rules });
            }
            "RoleBinding" | "ClusterRoleBinding" => {
                let subjects = list(&object["subjects"]);
                let accounts = subjects.iter().filter(|subject| subject["kind"] == "ServiceAccount");
                // A Role is for the accounts of its namespace, where nothing else is said.
                let home = |subject: &Value| subject["namespace"].as_str().unwrap_or(&namespace).to_owned();
                let accounts =
                    accounts.map(|subject| Account { namespace: home(subject), name: string(&subject["name"]) });
                let accounts = accounts.collect();
                let role = (string(&object["roleRef"]["kind"]), string(&object["roleRef"]["name"]));
                let origin = origin.clone();
                self.bindings.push(RoleBinding { kind, name, namespace, role, accounts, origin });
            }
            "Deployment" | "StatefulSet" | "DaemonSet" => {
                let account = &object["spec"]["template"]["spec"]["serviceAccountName"];
                self.accounts.extend(account.as_str().map(|name| Account { namespace, name: name.to_owned() }));
            }
            _ => {}
        }
    }

    /// The namespace that the operator is in, if all that is said of its accounts agrees.
    pub(crate) fn namespace(&self) -> Option<String> {
        let bound = self.bindings.iter().flat_map(|binding| &binding.accounts);
        let bound = bound.filter(|account| self.accounts.is_empty() || account.is_among(&self.accounts));
        let named = self.accounts.iter().chain(bound).map(|account| &account.namespace);
        let named: BTreeSet<&String> = named.filter(|name| !name.is_empty()).collect();
        named.first().filter(|_| named.len() == 1).map(|name| (*name).clone())
    }

    /// Returns true if a manifest sets a flag of the operator.
    pub(crate) fn has_flag(&self, flag: &str) -> bool {
        let set = |text: &String| text.lines().any(|line| !line.trim_start().starts_with('#') && line.contains(flag));
        self.texts.iter().any(set)
    }

    pub(crate) fn has_bindings(&self) -> bool {
        !self.bindings.is_empty()
    }

    /// Returns true if a role of this name is bound to the operator.
    pub(crate) fn binds(&self, role: &str) -> bool {
        self.bindings.iter().any(|binding| binding.role.1 == role && self.is_of_operator(binding))
    }

    fn is_of_operator(&self, binding: &RoleBinding) -> bool {
        !self.removed.contains(&(binding.kind.clone(), binding.name.clone()))
            && binding.accounts.iter().any(|account| self.accounts.is_empty() || account.is_among(&self.accounts))
    }

    fn scopes(&self, role: (&str, &str), home: &Home) -> Vec<GrantScope> {
        let of_role = |binding: &&RoleBinding| (binding.role.0.as_str(), binding.role.1.as_str()) == role;
        let bindings = self.bindings.iter().filter(|binding| of_role(binding) && self.is_of_operator(binding));
        let mut scopes: Vec<GrantScope> = bindings.map(|binding| binding.scope(home)).collect();
        scopes.sort();
        scopes.dedup();
        scopes
    }

    /// The rules of the roles that are bound to the operator. When the files bind nothing, all roles count. Those named in
    /// `generated` stand in markers.
    pub fn grants(&self, home: &Home, generated: &BTreeSet<String>) -> Vec<Grant> {
        let mut grants = Vec::new();
        for role in &self.roles {
            let removed = self.removed.contains(&(role.kind.clone(), role.name.clone()));
            if removed || generated.contains(&role.name) {
                continue;
            }
            let scopes = match (self.bindings.is_empty(), role.kind.as_str()) {
                (true, "ClusterRole") => vec![GrantScope::Everywhere],
                (true, _) => vec![home.scope(&role.namespace)],
                (false, kind) => self.scopes((kind, &role.name), home),
            };
            for scope in scopes {
                for (rule, origin) in &role.rules {
                    grants.push(Grant {
                        rule: self.names.render(&role.kind, rule),
                        scope: scope.clone(),
                        origin: origin.clone(),
                        role: Some(role.name.clone()),
                        is_builtin: false,
                    });
                }
            }
        }
        grants.extend(self.builtin_grants(home));
        grants
    }

    /// The rules that bindings take from roles of every cluster.
    fn builtin_grants(&self, home: &Home) -> Vec<Grant> {
        let is_declared = |name: &str| self.roles.iter().any(|role| role.kind == "ClusterRole" && role.name == name);
        let mut grants = Vec::new();
        for binding in self.bindings.iter().filter(|binding| self.is_of_operator(binding)) {
            let (kind, name) = &binding.role;
            if kind != "ClusterRole" || is_declared(name) {
                continue;
            }
            grants.extend(of_every_cluster(name).into_iter().map(|rule| Grant {
                rule,
                scope: binding.scope(home),
                origin: binding.origin.clone(),
                role: Some(name.clone()),
                is_builtin: true,
            }));
        }
        grants
    }

    /// The rules of markers. Roles that markers name belong to others unless a binding gives them to the operator.
    pub(crate) fn of_markers(&self, markers: &[RbacMarker], home: &Home) -> Vec<Grant> {
        let mut grants = Vec::new();
        for marker in markers {
            if !marker.role_name.is_empty() && !self.bindings.is_empty() && !self.binds(&marker.role_name) {
                continue;
            }
            let name = if marker.role_name.is_empty() { ROLE } else { &marker.role_name };
            let scopes = match marker.namespace.as_str() {
                "" => Some(self.scopes(("ClusterRole", name), home)).filter(|scopes| !scopes.is_empty()),
                namespace => Some(vec![home.scope(namespace)]),
            };
            // Nothing binds the ClusterRole of an operator that is confined.
            let unbound = if home.confined.is_empty() { vec![GrantScope::Everywhere] } else { Vec::new() };
            let kind = if marker.namespace.is_empty() { "ClusterRole" } else { "Role" };
            for scope in scopes.unwrap_or(unbound) {
                for rule in marker.rules() {
                    // Roles in other namespaces are rendered as they are.
                    let is_outside = matches!(scope, GrantScope::Namespace(_));
                    let rule = if is_outside { rule } else { self.names.render(kind, &rule) };
                    let (scope, origin) = (scope.clone(), marker.origin.clone());
                    grants.push(Grant { rule, scope, origin, role: None, is_builtin: false });
                }
            }
        }
        grants
    }
}

/// Grants by their place, in the order of the source.
pub(super) fn by_place(grants: &[Grant]) -> Vec<Vec<&Grant>> {
    let mut places: BTreeMap<(&str, usize, usize), Vec<&Grant>> = BTreeMap::new();
    for grant in grants {
        let range = &grant.origin.range;
        places.entry((&grant.origin.path, range.start, range.end)).or_default().push(grant);
    }
    places.into_values().collect()
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn shown(root: &Path, path: &Path) -> String {
    let absolute =
        |path: &Path| crate::source::clean(&std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()));
    crate::source::relative(&absolute(path), &absolute(root)).to_string_lossy().replace('\\', "/")
}

fn no_kustomization(folder: &str) -> Problem {
    Problem::new(format!("kustomization.yaml not found in `{folder}`"))
}

/// `above` lines stand before the document.
fn invalid(path: &str, error: &serde_yaml::Error, above: usize) -> Problem {
    Problem::new(yaml::invalid(path, above, error)).help("render templates first, and pass the result")
}

/// The rules of a `ClusterRole` that every cluster has, if operators are bound to it.
/// <https://kubernetes.io/docs/reference/access-authn-authz/rbac/#default-roles-and-role-bindings>
fn of_every_cluster(role: &str) -> Vec<PolicyRule> {
    let allow = |group, resource, verb| PolicyRule::allowing(&RbacTarget::resource(group, resource), &[verb]);
    match role {
        "cluster-admin" => vec![allow("*", "*", "*"), PolicyRule::allowing(&RbacTarget::Url("*".to_owned()), &["*"])],
        "system:auth-delegator" => vec![
            allow("authentication.k8s.io", "tokenreviews", "create"),
            allow("authorization.k8s.io", "subjectaccessreviews", "create"),
        ],
        _ => Vec::new(),
    }
}

/// The items below `rules:`, in a document that is written in block style.
fn rules(document: &str) -> Vec<Range<usize>> {
    let (mut found, mut indent): (Vec<Range<usize>>, Option<usize>) = (Vec::new(), None);
    let (mut inside, mut at) = (false, 0);
    for line in document.split_inclusive('\n') {
        let body = line.trim();
        let column = line.len() - line.trim_start().len();
        let (start, end) = (at + column, at + line.trim_end().len());
        at += line.len();
        if body.is_empty() || body.starts_with('#') {
            continue;
        }
        let item = body == "-" || body.starts_with("- ");
        if column == 0 && !item {
            inside = body.trim_end_matches(char::is_whitespace) == "rules:";
            continue;
        }
        if inside && item && indent.is_none_or(|indent| indent == column) {
            indent = Some(column);
            found.push(start..end);
        } else if inside && let Some(last) = found.last_mut() {
            last.end = end;
        }
    }
    found
}
