//! The permissions that markers and manifests declare for an operator.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::Result;

use super::RbacSource;
use crate::diagnostic::{Diagnostics, Origin};
use crate::rbac::allow::Allow;
use crate::rbac::declared::{Grant, Home, RoleManifests};
use crate::rbac::role::ROLE;
use crate::rbac::{Permission, RbacTarget, RequestScope};

/// The operator among the subjects that files bind roles to.
#[derive(PartialEq, Eq)]
pub(super) enum BoundOperator {
    /// The only one.
    Only,
    /// The operator of the project, also if its source has no markers.
    Role,
    /// This `ServiceAccount`, `NAME` or `NAMESPACE/NAME`: there have to be bindings for it.
    Named(String),
    /// This one; where the files bind nothing, all roles are its own.
    User(String),
}

/// The declared permissions, with their origin.
#[derive(Default)]
pub(super) struct DeclaredRoles {
    pub(super) grants: Vec<Grant>,
    pub(super) optional: Vec<Permission>,
    pub(super) waived: Vec<&'static str>,
    pub(super) home: Home,
    pub(super) allows: Vec<Allow>,
    /// Findings about markers that nothing can bind, and about parts of manifests that are not read.
    pub(super) found: Diagnostics,
}

impl DeclaredRoles {
    pub(super) fn read(code: &RbacSource, files: &[PathBuf], operator: &BoundOperator) -> Result<Self> {
        if !files.is_empty() {
            let mut manifests = RoleManifests::of_files(&code.root, files)?;
            match operator {
                BoundOperator::Only | BoundOperator::Role => manifests.choose(None)?,
                BoundOperator::Named(account) => manifests.choose(Some(account))?,
                BoundOperator::User(account) if manifests.has_bindings() => manifests.choose(Some(account))?,
                BoundOperator::User(_) => {}
            }
            let cluster_wide = code.home.cluster_wide.clone();
            let mut home = Home { namespace: manifests.namespace(), cluster_wide, ..Home::default() };
            let grants = manifests.grants(&home, &BTreeSet::new());
            home.works_everywhere = works_everywhere(code, &grants, &home);
            let allows = allows(&grants);
            let found = manifests.notes().iter().cloned().collect();
            return Ok(Self { grants, home, allows, found, ..Self::default() });
        }
        if !code.is_project {
            let home = Home::default();
            let grants = RoleManifests::default().of_markers(&code.markers, &home);
            return Ok(Self { grants, home, ..Self::default() });
        }
        let scope = code.home.clone();
        let (markers, found) = scope.confine(code.markers.clone(), ROLE);
        let confined = scope.confined_to.unwrap_or_default();
        let home =
            Home { namespace: Some(scope.own), confined, cluster_wide: scope.cluster_wide, works_everywhere: false };
        let by_role = *operator == BoundOperator::Role && code.has_role_only();
        let manifests = RoleManifests::of_project(&code.root)?;
        let names = code.markers.iter().map(|marker| marker.role_name.as_str()).filter(|name| !name.is_empty());
        let names: BTreeSet<&str> = names.chain([ROLE]).collect();
        let prefixed = names.iter().map(|name| format!("{}{name}", scope.prefix));
        let mut generated: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).chain(prefixed).collect();
        if by_role {
            generated.clear();
        }
        let mut grants = manifests.of_markers(&markers, &home);
        grants.extend(manifests.grants(&home, &generated));
        let elsewhere = PathBuf::from("config/namespaces/role.yaml");
        if by_role && code.root.join(&elsewhere).is_file() {
            let roles = RoleManifests::of_files(&code.root, &[code.root.join(elsewhere)])?;
            grants.extend(roles.grants(&home, &BTreeSet::new()));
        }
        let allows = allows(&grants);
        let mut optional = if code.leader_for_life { leader_for_life(&manifests) } else { Vec::new() };
        if manifests.has_flag(KEEPS) {
            optional.extend(webhooks());
        }
        Ok(Self { grants, optional, waived: waived(&manifests), home, allows, found })
    }
}

/// The operator watches objects of all namespaces, and may.
fn works_everywhere(code: &RbacSource, grants: &[Grant], home: &Home) -> bool {
    code.usages.iter().any(|usage| {
        let watches =
            matches!(usage.permission.verb.as_str(), "list" | "watch") && usage.scope == RequestScope::Cluster;
        let RbacTarget::Resource { group, resource, .. } = &usage.permission.target else { return false };
        watches && !home.is_cluster_wide(group, resource) && grants.iter().any(|grant| grant.allows(usage, home))
    })
}

const ELECTION: &str = "leader-election-role";
const METRICS: &str = "metrics-auth-role";
/// Set where the operator keeps the certificates of its webhooks.
const KEEPS: &str = "--webhook-secret";
const CERTIFICATES: [&str; 2] = ["webhook-cert-role", "webhook-ca-role"];

/// Permissions that the manager does not need with the flags that config/ sets.
fn waived(manifests: &RoleManifests) -> Vec<&'static str> {
    let elects = manifests.has_flag("--leader-elect") && !manifests.binds("leader-for-life-role");
    let asks = manifests.has_flag("--metrics-bind-address") && !manifests.has_flag("--metrics-secure=false");
    let keeps = manifests.has_flag(KEEPS);
    let [secret, published] = CERTIFICATES.map(|role| (role, keeps));
    let roles = [(ELECTION, elects), (METRICS, asks), secret, published];
    roles.into_iter().filter(|(_, needed)| !needed).map(|(role, _)| role).collect()
}

/// The role of the certificates as earlier releases scaffolded it: about both kinds of configurations, although there may be
/// webhooks of one kind only.
fn webhooks() -> impl Iterator<Item = Permission> {
    let kinds = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];
    kinds.into_iter().flat_map(|kind| {
        let target = RbacTarget::resource("admissionregistration.k8s.io", kind);
        ["get", "list", "patch", "watch"].map(|verb| Permission::new(target.clone(), verb))
    })
}

/// Permissions that the manager uses with the flags that config/ sets: an election for life reads nodes only to take over.
/// See `templates/init/config/components/leader-for-life`.
fn leader_for_life(manifests: &RoleManifests) -> Vec<Permission> {
    let needed: [(&str, &[_]); 2] = [
        (
            "--leader-election-mode=life",
            &[("configmaps", "get"), ("configmaps", "create"), ("pods", "get"), ("pods", "delete")],
        ),
        ("--leader-election-takeover-after", &[("nodes", "get")]),
    ];
    let permission = |(resource, verb): &(&str, &str)| Permission::new(RbacTarget::resource("", resource), verb);
    let set = needed.iter().filter(|(flag, _)| manifests.has_flag(flag));
    set.flat_map(|(_, permissions)| permissions.iter().map(permission)).collect()
}

/// The comments in the files of roles.
fn allows(grants: &[Grant]) -> Vec<Allow> {
    let mut files: BTreeMap<&str, &Origin> = BTreeMap::new();
    for grant in grants.iter().filter(|grant| grant.role.is_some()) {
        files.insert(&grant.origin.path, &grant.origin);
    }
    files.values().flat_map(|file| Allow::in_yaml(file)).collect()
}
