//! Roles and bindings of an operator that may work in some namespaces only.
//!
//! PROJECT names the namespaces, markers the permissions. `role.yaml` is for the operator's own namespace, which
//! kustomize sets. Objects of other namespaces are in a kustomization around that one, with their final names.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::marker::RbacMarker;
use super::role::{Rules, document};
use super::{check, quoted};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};

/// The namespaces of an operator, and the names of its objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperatorScope {
    /// Its own namespace.
    pub own: String,
    /// The prefix of the names of its objects.
    pub prefix: String,
    /// The namespaces it is confined to; `None` when it works in the whole cluster.
    pub confined_to: Option<Vec<String>>,
    /// Group and plural of the custom kinds that are in no namespace.
    pub cluster_wide: BTreeSet<(String, String)>,
}

/// The roles of an operator by where they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ScopedRoles {
    /// Cluster-wide and, where that is what is bound, in the own namespace; kustomize gives them prefix and namespace.
    pub(crate) inside: Vec<Value>,
    /// The other Roles.
    pub(crate) roles: Vec<Value>,
    /// The bindings of those that have the default name.
    pub(crate) bindings: Vec<Value>,
}

impl OperatorScope {
    /// Gives the markers of the default role that name no namespace those that the operator is confined to. What is in no
    /// namespace stays in a `ClusterRole`, which nothing binds unless the user does: that is a finding.
    pub(crate) fn confine(&self, markers: Vec<RbacMarker>, default_name: &str) -> (Vec<RbacMarker>, Diagnostics) {
        let Some(namespaces) = &self.confined_to else { return (markers, Diagnostics::default()) };
        let (mut confined, mut findings) = (Vec::new(), Diagnostics::default());
        for marker in markers {
            let is_default = marker.role_name.is_empty() || marker.role_name == default_name;
            if !is_default || !marker.namespace.is_empty() {
                confined.push(marker);
                continue;
            }
            if !marker.urls.is_empty() {
                findings.push(self.unbound(&marker, &marker.urls));
                confined.push(marker);
                continue;
            }
            let (outside, inside): (Vec<_>, Vec<_>) =
                marker.resources.iter().cloned().partition(|resource| self.is_cluster_wide(&marker, resource));
            if !outside.is_empty() {
                findings.push(self.unbound(&marker, &outside));
                confined.push(RbacMarker { resources: outside, ..marker.clone() });
            }
            if !inside.is_empty() || marker.resources.is_empty() {
                let inside = RbacMarker { resources: inside, ..marker };
                let each = |namespace: &String| RbacMarker { namespace: namespace.clone(), ..inside.clone() };
                confined.extend(namespaces.iter().map(each));
            }
        }
        (confined, findings)
    }

    fn is_cluster_wide(&self, marker: &RbacMarker, resource: &str) -> bool {
        let plural = resource.split('/').next().unwrap_or_default();
        // One namespace is read by a request that is about this namespace.
        let by_name = |verb: &String| matches!(verb.as_str(), "get" | "patch" | "update" | "delete");
        if plural == "namespaces" && marker.verbs.iter().all(by_name) {
            return false;
        }
        let custom = |group: &String| self.cluster_wide.contains(&(group.clone(), plural.to_owned()));
        check::is_cluster_wide(&marker.groups, plural)
            || (!marker.groups.is_empty() && marker.groups.iter().all(custom))
    }

    fn unbound(&self, marker: &RbacMarker, what: &[String]) -> Diagnostic {
        let message = format!("a Role cannot grant {}, and the operator is restricted to namespaces", quoted(what));
        Diagnostic::new(Code::RbacRule, message)
            .help(format!(
                "move it to a separate marker with `roleName=NAME`, and bind this ClusterRole to the ServiceAccount \
                    `{}controller-manager`; or run `memcached-sdk edit --namespaced=false`",
                self.prefix
            ))
            .at(marker.origin.clone())
    }

    /// Sorts roles by where they are. The role that the binding in `config/rbac` names is there even when it allows nothing.
    pub(crate) fn place(&self, documents: Vec<Value>, default_name: &str) -> ScopedRoles {
        let mut placed = ScopedRoles::default();
        let home = if self.confined_to.is_some() { self.own.as_str() } else { "" };
        for mut role in documents {
            let namespace = namespace(&role).to_owned();
            if namespace.is_empty() || namespace == home {
                placed.inside.push(role);
                continue;
            }
            let name = role["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            if name == default_name {
                placed.bindings.push(self.binding(&namespace, default_name));
            }
            role["metadata"]["name"] = json!(format!("{}{name}", self.prefix));
            placed.roles.push(role);
        }
        let nothing = document("", default_name, Rules::default());
        placed.inside.retain(|role| *role != nothing);
        if !placed.inside.iter().any(|role| role["metadata"]["name"] == default_name && namespace(role) == home) {
            placed.inside.push(document(home, default_name, Rules::default()));
        }
        placed.inside.sort_by_key(|role| (namespace(role).to_owned(), role["metadata"]["name"].to_string()));
        placed
    }

    fn binding(&self, namespace: &str, role: &str) -> Value {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": { "name": format!("{}manager-rolebinding", self.prefix), "namespace": namespace },
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "Role",
                "name": format!("{}{role}", self.prefix),
            },
            "subjects": [{
                "kind": "ServiceAccount",
                "name": format!("{}controller-manager", self.prefix),
                "namespace": self.own,
            }],
        })
    }

    /// The kustomization around `config/default`, and by file name what is in it: Roles, their bindings, and the namespaces
    /// to watch. Nothing when the operator has no Role in another namespace and watches none.
    pub(crate) fn overlay(&self, placed: &ScopedRoles) -> Vec<(&'static str, Vec<Value>)> {
        let elsewhere = |namespaces: &&Vec<String>| !matches!(namespaces.as_slice(), [only] if *only == self.own);
        let watched = self.confined_to.as_ref().filter(elsewhere);
        if placed.roles.is_empty() && watched.is_none() {
            return Vec::new();
        }
        let mut files = vec![(ROLES, placed.roles.clone()), (BINDINGS, placed.bindings.clone())];
        files.retain(|(_, documents)| !documents.is_empty());
        let mut resources = vec!["../default"];
        resources.extend(files.iter().map(|(name, _)| *name));
        let mut kustomization = json!({
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": resources,
        });
        if let Some(namespaces) = watched {
            kustomization["patches"] = json!([{ "path": WATCH_PATCH }]);
            files.push((WATCH_PATCH, vec![self.watch_patch(namespaces)]));
        }
        files.push((KUSTOMIZATION, vec![kustomization]));
        files
    }

    /// Makes the operator watch where its Roles are.
    fn watch_patch(&self, namespaces: &[String]) -> Value {
        // In the Deployment the value comes from a field.
        let env = json!([{ "name": "WATCH_NAMESPACE", "value": namespaces.join(","), "valueFrom": null }]);
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": { "name": format!("{}controller-manager", self.prefix), "namespace": self.own },
            "spec": { "template": { "spec": { "containers": [{ "name": "manager", "env": env }] } } },
        })
    }
}

const KUSTOMIZATION: &str = "kustomization.yaml";
const ROLES: &str = "role.yaml";
const BINDINGS: &str = "role_binding.yaml";
const WATCH_PATCH: &str = "manager_namespaces_patch.yaml";

/// The names of all files that an overlay may have.
pub(crate) const OVERLAY_FILES: [&str; 4] = [KUSTOMIZATION, WATCH_PATCH, ROLES, BINDINGS];

fn namespace(role: &Value) -> &str {
    role["metadata"]["namespace"].as_str().unwrap_or_default()
}
