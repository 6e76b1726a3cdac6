//! The requests of an operator, from the audit log of the API server, compared with the declared rules.
//!
//! The log is read once, line by line. Memory grows only with the number of different permissions.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Read as _};

use serde::Deserialize;

use super::declared::{Grant, GrantScope, Home, by_place};
use super::lint::{is_seen_in_code, marker, unused};
use super::{Permission, RbacTarget, RbacUsage, is_discovery};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin};

/// The longest line that is read, in bytes: events hold the objects of requests, and these at most 3 MiB each.
const LONGEST: u64 = 16 << 20;
/// Unreadable lines that are reported one by one.
const BROKEN: usize = 5;

/// The namespaces and names that rules tell apart: others make no difference.
#[derive(Debug, Default)]
pub struct Relevant {
    namespaces: BTreeSet<String>,
    names: BTreeSet<String>,
}

impl Relevant {
    pub(crate) fn of(grants: &[Grant], home: &Home) -> Self {
        let namespaces = grants.iter().filter_map(|grant| match &grant.scope {
            GrantScope::Namespace(name) => Some(name.clone()),
            GrantScope::Everywhere | GrantScope::Own => None,
        });
        let names = grants.iter().flat_map(|grant| grant.rule.names.iter().cloned());
        Self { namespaces: namespaces.chain(home.namespace.clone()).collect(), names: names.collect() }
    }
}

/// The namespace of a request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum RequestNamespace {
    /// All namespaces, or what is in none.
    Cluster,
    /// A namespace that a rule names.
    Namespace(String),
    /// A namespace that no rule names.
    Other,
}

/// The log entries of one user.
#[derive(Debug, Default)]
pub struct Tally {
    /// The number of events about requests of the user.
    pub(crate) events: u64,
    /// Some other users, when there is none.
    pub(crate) others: BTreeSet<String>,
    /// Allowed; `true` if by the bindings that every cluster has.
    used: BTreeMap<(Permission, RequestNamespace), bool>,
    refused: BTreeMap<(Permission, RequestNamespace), RefusedRequest>,
    /// Refused by something else than the authorizer: the message, and the first line.
    otherwise: BTreeMap<String, u64>,
    broken: Vec<(u64, String)>,
    more_broken: u64,
}

#[derive(Debug)]
struct RefusedRequest {
    count: u64,
    line: u64,
}

/// The part of an event that matters: <https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/>.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Event {
    kind: String,
    items: Vec<Event>,
    stage: String,
    verb: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    user: User,
    impersonated_user: Option<User>,
    object_ref: Option<AuditObject>,
    response_status: Option<Status>,
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct User {
    username: String,
    groups: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AuditObject {
    resource: String,
    namespace: String,
    name: String,
    api_group: String,
    subresource: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    code: u16,
    message: String,
}

/// Permissions that a request needs besides its own verb and resource. A request as another user needs `impersonate`
/// only, see [`impersonate`]. Nothing else implies anything: a `deletecollection` needs no `delete`, an eviction no
/// `delete pods`.
fn implied(event: &Event) -> Vec<Permission> {
    let of_object = |part: fn(&AuditObject) -> &str| event.object_ref.as_ref().map_or("", part);
    let (resource, subresource) = (of_object(|object| &object.resource), of_object(|object| &object.subresource));
    let mut all = match event.verb.as_str() {
        // <https://kubernetes.io/docs/reference/using-api/server-side-apply/#rbac-and-permissions>
        "patch" | "update" if event.code() == 201 => event.same("create"),
        // Clients fall back to `list`: <https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists>
        "watch" if event.request_uri.contains("sendInitialEvents=true") => event.same("list"),
        // A websocket; feature gate `AuthorizePodWebsocketUpgradeCreatePermission`:
        // <https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/>
        "get" if resource == "pods" && ["attach", "exec", "portforward"].contains(&subresource) => event.same("create"),
        _ => Vec::new(),
    };
    // <https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping>
    if event.writes("rbac.authorization.k8s.io", "") {
        let group = "rbac.authorization.k8s.io";
        let both = |resource| ["escalate", "bind"].map(|verb| permission(group, resource, verb));
        all.extend(["clusterroles", "roles"].into_iter().flat_map(both));
    }
    // <https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/#authorization>
    for (subresource, verb) in [("approval", "approve"), ("status", "sign")] {
        if event.writes("certificates.k8s.io", subresource) {
            all.push(permission("certificates.k8s.io", "signers", verb));
        }
    }
    all
}

fn permission(group: &str, resource: &str, verb: &str) -> Permission {
    Permission::new(RbacTarget::resource(group, resource), verb)
}

/// <https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation>
fn impersonate(user: &User) -> Vec<Permission> {
    let kind = if user.username.starts_with("system:serviceaccount:") { "serviceaccounts" } else { "users" };
    let groups = user.groups.as_ref().is_some_and(|groups| !groups.is_empty()).then_some("groups");
    [kind].into_iter().chain(groups).map(|resource| permission("", resource, "impersonate")).collect()
}

/// The annotation with the authorizer's decision:
/// <https://kubernetes.io/docs/reference/labels-annotations-taints/audit-annotations/>.
const DECISION: &str = "authorization.k8s.io/decision";
const REASON: &str = "authorization.k8s.io/reason";

impl Event {
    fn code(&self) -> u16 {
        self.response_status.as_ref().map_or(0, |status| status.code)
    }

    fn annotation(&self, name: &str) -> &str {
        self.annotations.as_ref().and_then(|all| all.get(name)).map_or("", String::as_str)
    }

    fn target(&self) -> RbacTarget {
        match &self.object_ref {
            Some(object) if !object.resource.is_empty() => {
                let resource = match object.subresource.as_str() {
                    "" => object.resource.clone(),
                    sub => format!("{}/{sub}", object.resource),
                };
                let name = (!object.name.is_empty()).then(|| object.name.clone());
                RbacTarget::Resource { group: object.api_group.clone(), resource, name }
            }
            _ => RbacTarget::Url(self.request_uri.split(['?', '#']).next().unwrap_or_default().to_owned()),
        }
    }

    fn permission(&self) -> Permission {
        Permission::new(self.target(), &self.verb.to_ascii_lowercase())
    }

    /// Another verb of the same object.
    fn same(&self, verb: &str) -> Vec<Permission> {
        match self.target() {
            target @ RbacTarget::Resource { .. } => vec![Permission::new(target, verb)],
            RbacTarget::Url(_) => Vec::new(),
        }
    }

    /// An object of a group was written, or its subresource if there is a name.
    fn writes(&self, group: &str, subresource: &str) -> bool {
        let object = self.object_ref.as_ref();
        matches!(self.verb.as_str(), "create" | "patch" | "update")
            && object.is_some_and(|object| object.api_group == group && object.subresource == subresource)
    }

    fn place(&self, relevant: &Relevant) -> RequestNamespace {
        match self.object_ref.as_ref().map_or("", |object| &object.namespace) {
            "" => RequestNamespace::Cluster,
            name if relevant.namespaces.contains(name) => RequestNamespace::Namespace(name.to_owned()),
            _ => RequestNamespace::Other,
        }
    }
}

/// The full name of a user: `NAMESPACE/NAME` is a service account.
pub(crate) fn user_name(text: &str) -> String {
    match text.split_once('/') {
        Some((namespace, name)) if !text.contains(':') => format!("system:serviceaccount:{namespace}:{name}"),
        _ => text.to_owned(),
    }
}

/// The namespace and the name of a service account.
pub(crate) fn account(user: &str) -> Option<(&str, &str)> {
    user.strip_prefix("system:serviceaccount:")?.split_once(':')
}

/// Reads a log to its end. An error is one of reading; what is no event is counted.
pub fn read(mut log: impl BufRead, user: &str, relevant: &Relevant) -> io::Result<Tally> {
    let mut tally = Tally::default();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if log.by_ref().take(LONGEST).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if line.len() as u64 == LONGEST && line.last() != Some(&b'\n') {
            log.skip_until(b'\n')?;
            tally.broken(number, format!("it is longer than {} MiB", LONGEST >> 20));
            continue;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<Event>(&line) {
            Ok(event) if event.kind == "Event" => tally.event(&event, number, user, relevant),
            Ok(list) if list.kind == "EventList" => {
                list.items.iter().for_each(|event| tally.event(event, number, user, relevant));
            }
            Ok(_) => tally.broken(number, "it is not of the kind `Event`".to_owned()),
            Err(error) => tally.broken(number, error.to_string()),
        }
    }
    Ok(tally)
}

impl Tally {
    fn broken(&mut self, line: u64, why: String) {
        if self.broken.len() < BROKEN {
            self.broken.push((line, why));
        } else {
            self.more_broken += 1;
        }
    }

    fn event(&mut self, event: &Event, line: u64, user: &str, relevant: &Relevant) {
        // Nothing is decided yet.
        if event.stage == "RequestReceived" {
            return;
        }
        let acting = event.impersonated_user.as_ref().unwrap_or(&event.user);
        let impersonates = event.impersonated_user.is_some() && event.user.username == user;
        if acting.username != user && !impersonates {
            let is_news = self.events == 0 && self.others.len() < BROKEN && !event.user.username.is_empty();
            if is_news && event.user.username.starts_with("system:serviceaccount:") {
                self.others.insert(event.user.username.clone());
            }
            return;
        }
        self.events += 1;
        if impersonates {
            for permission in event.impersonated_user.iter().flat_map(impersonate) {
                self.used.insert((permission, RequestNamespace::Cluster), false);
            }
            return;
        }
        let place = event.place(relevant);
        let permission = narrowed(event.permission(), relevant);
        let decision = event.annotation(DECISION);
        match (decision, event.code()) {
            ("forbid", _) | ("", 403) => {
                let refused = refused_in(event).unwrap_or(permission);
                self.refuse(narrowed(refused, relevant), place, line);
            }
            // Before the authorizer: who it is was not known, or there were too many requests.
            ("", 0 | 401 | 408 | 429 | 503 | 504) => {}
            (_, 403) => {
                self.use_it(permission, place.clone(), event);
                if let Some(refused) = refused_in(event) {
                    self.refuse(narrowed(refused, relevant), place, line);
                } else if self.otherwise.len() < BROKEN {
                    let message = event.response_status.as_ref().map_or("", |status| &status.message);
                    self.otherwise.entry(message.to_owned()).or_insert(line);
                }
            }
            _ => {
                self.use_it(permission, place.clone(), event);
                for permission in implied(event) {
                    self.use_it(narrowed(permission, relevant), place.clone(), event);
                }
            }
        }
    }

    fn use_it(&mut self, permission: Permission, place: RequestNamespace, event: &Event) {
        let by_system = event.annotation(REASON).contains("Binding \"system:");
        *self.used.entry((permission, place)).or_insert(true) &= by_system;
    }

    fn refuse(&mut self, permission: Permission, place: RequestNamespace, line: u64) {
        self.refused.entry((permission, place)).or_insert(RefusedRequest { count: 0, line }).count += 1;
    }
}

/// Drops an object's name that no rule has as a resource name.
fn narrowed(mut permission: Permission, relevant: &Relevant) -> Permission {
    if let RbacTarget::Resource { name, .. } = &mut permission.target {
        *name = name.take().filter(|name| relevant.names.contains(name));
    }
    permission
}

/// The missing permission that a 403 names. An apply without `create` is a refused `patch`.
/// <https://github.com/kubernetes/apiserver/blob/v0.36.0/pkg/endpoints/handlers/responsewriters/errors.go>
fn refused_in(event: &Event) -> Option<Permission> {
    let message = &event.response_status.as_ref()?.message;
    let (verb, rest) = message.split_once(" cannot ")?.1.split_once(" resource \"")?;
    let (resource, rest) = rest.split_once('"')?;
    let (group, _) = rest.split_once("in API group \"")?.1.split_once('"')?;
    let known = verb.chars().all(|char| char.is_ascii_lowercase()) && !resource.is_empty();
    known.then(|| permission(group, resource, verb))
}

/// The declared rules and the used calls, to compare with the log.
#[derive(Debug)]
pub struct Verification<'a> {
    /// The declared rules.
    pub grants: &'a [Grant],
    /// The calls in the code, which give missing permissions a place.
    pub usages: &'a [RbacUsage],
    /// The namespace of the operator, and the namespaces that it works in.
    pub home: &'a Home,
    /// The path of the log for people.
    pub log: &'a str,
    /// The permissions are declared in roles that are written by hand.
    pub by_hand: bool,
}

impl Verification<'_> {
    /// Returns missing permissions, unused permissions, and entries that could not be read.
    pub fn findings(&self, tally: &Tally) -> Diagnostics {
        let mut found = self.broken(tally);
        self.missing(tally, &mut found);
        for (message, line) in &tally.otherwise {
            let text = format!("{}:{line}: a request was refused, and not for lack of a rule: {message}", self.log);
            let help = "an admission plugin or the object itself forbids it";
            found.push(Diagnostic::new(Code::RequestForbidden, text).help(help));
        }
        for grants in by_place(self.grants) {
            if !grants.iter().any(|grant| grant.is_builtin) {
                found.extend(self.unused(&grants, tally).into_iter().collect());
            }
        }
        found.sort();
        found
    }

    fn broken(&self, tally: &Tally) -> Diagnostics {
        let at = || Origin::file(self.log);
        let each = tally.broken.iter().map(|(line, why)| {
            Diagnostic::new(Code::AuditLine, format!("line {line} is not an audit event: {why}")).at(at())
        });
        let more = (tally.more_broken > 0).then(|| {
            Diagnostic::new(Code::AuditLine, format!("{} more lines are not audit events either", tally.more_broken))
                .at(at())
        });
        each.chain(more).map(|broken| broken.help("each line is one JSON object of `audit.k8s.io`")).collect()
    }

    /// Reports refused requests, and requests that other than the declared rules allowed.
    fn missing(&self, tally: &Tally, found: &mut Diagnostics) {
        let refused = tally.refused.iter().map(|(request, refused)| match refused.count {
            1 => (request, format!("refused in {}:{}", self.log, refused.line)),
            count => (request, format!("refused {count} times, first in {}:{}", self.log, refused.line)),
        });
        let by_others = tally.used.iter().filter(|((permission, place), by_system)| {
            !**by_system && !is_everybodys(permission) && !self.is_granted(permission, place)
        });
        let why = "allowed by something else than the declared rules";
        let by_others = by_others.map(|(request, _)| (request, why.to_owned()));
        let mut missing: BTreeMap<(&RbacTarget, &RequestNamespace), (BTreeSet<&str>, String)> = BTreeMap::new();
        for ((permission, place), why) in refused.chain(by_others) {
            let entry = missing.entry((&permission.target, place));
            entry.or_insert((BTreeSet::new(), why)).0.insert(&permission.verb);
        }
        for ((target, place), (verbs, why)) in missing {
            found.push(self.lacking(target, place, &verbs, &why));
        }
    }

    fn lacking(&self, target: &RbacTarget, place: &RequestNamespace, verbs: &BTreeSet<&str>, why: &str) -> Diagnostic {
        let of = |usage: &&RbacUsage| {
            usage.permission.target.to_string() == target.to_string() && verbs.contains(usage.permission.verb.as_str())
        };
        let usage = self.usages.iter().find(of);
        let all: Vec<&str> = verbs.iter().copied().collect();
        let namespace = match (usage, place) {
            (Some(usage), _) => self.home.namespace(&usage.scope),
            (None, RequestNamespace::Namespace(name)) if !self.home.confined.is_empty() => name.clone(),
            (None, _) => String::new(),
        };
        let call = usage.map(|usage| format!(" by `{}`", usage.call)).unwrap_or_default();
        let message = format!("`{} {target}` was requested{call} and {why}", all.join(","));
        let help = if self.by_hand {
            format!("add to a role:\n{}", super::lint::rule(target, &all))
        } else if *place == RequestNamespace::Other && self.is_granted_somewhere(target, &all) {
            format!(
                "the operator may do so in `{}`: add the other namespace to `namespaces` in PROJECT, and run `memcached-sdk generate`",
                self.home.confined.join("`, `")
            )
        } else {
            format!("add the marker, and run `memcached-sdk generate`:\n// {}", marker(target, &namespace, &all))
        };
        Diagnostic::new(Code::RbacMissing, message).help(help).at(usage.map(|usage| usage.origin.clone()))
    }

    /// In a namespace that the operator is confined to.
    fn is_granted_somewhere(&self, target: &RbacTarget, verbs: &[&str]) -> bool {
        !self.home.confined.is_empty()
            && verbs.iter().all(|verb| {
                let permission = Permission::new(target.clone(), verb);
                self.grants.iter().any(|grant| grant.rule.grants(&permission))
            })
    }

    fn is_granted(&self, permission: &Permission, place: &RequestNamespace) -> bool {
        self.grants.iter().any(|grant| grant.rule.grants(permission) && self.reaches(grant, place))
    }

    fn reaches(&self, grant: &Grant, place: &RequestNamespace) -> bool {
        match (&grant.scope, place) {
            (GrantScope::Everywhere, _) => true,
            (GrantScope::Own, RequestNamespace::Namespace(name)) => {
                self.home.namespace.as_ref().is_none_or(|own| own == name)
            }
            (GrantScope::Own, RequestNamespace::Other) => self.home.namespace.is_none(),
            (GrantScope::Namespace(one), RequestNamespace::Namespace(other)) => one == other,
            _ => false,
        }
    }

    /// Reports the part of a marker or rule that no request used.
    fn unused(&self, grants: &[&Grant], tally: &Tally) -> Option<Diagnostic> {
        let (list, _) = unused(grants, |target, verb, atom| {
            let implied = ["approve", "bind", "escalate", "impersonate", "sign"].contains(&verb);
            let mut used = tally.used.keys();
            (implied || is_seen_in_code(target, verb))
                && !used.any(|(permission, place)| atom.rule.grants(permission) && self.reaches(atom, place))
        })?;
        let message = format!("no request in the log used {list}");
        let help = "exercise every function of the operator while the log is recorded; remove permissions that \
            remain unused";
        Some(Diagnostic::new(Code::RbacUnused, message).help(help).at(grants[0].origin.clone()))
    }
}

/// Returns true for the permissions of every user, by `system:basic-user` and the roles of discovery.
/// <https://kubernetes.io/docs/reference/access-authn-authz/rbac/#discovery-roles>
fn is_everybodys(permission: &Permission) -> bool {
    match &permission.target {
        RbacTarget::Resource { group, resource, .. } => {
            permission.verb == "create"
                && matches!(group.as_str(), "authentication.k8s.io" | "authorization.k8s.io")
                && matches!(
                    resource.as_str(),
                    "selfsubjectaccessreviews" | "selfsubjectreviews" | "selfsubjectrulesreviews"
                )
        }
        RbacTarget::Url(path) => is_discovery(&permission.verb, path),
    }
}
