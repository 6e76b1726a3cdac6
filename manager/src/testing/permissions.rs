//! The permissions of the operator in tests: the roles in `config/rbac`, and the requests that they forbid.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::{Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use super::control_plane::{documents, file};

/// The user that controllers and webhooks are in tests. Its token is its name.
pub(super) const USER: &str = "operator";

const ROLES: &str = "config/rbac";
const ELSEWHERE: &str = "config/namespaces";
/// The generated file in these folders.
const ROLE_FILE: &str = "role.yaml";
/// The role that `generate` writes for markers without `roleName`.
const DEFAULT_ROLE: &str = "manager-role";
const GROUP: &str = "rbac.authorization.k8s.io";

/// Returns the roles and bindings of the project for a test: Roles are in its namespace, too, and every binding to a
/// ServiceAccount is one to [`USER`]. Objects without a namespace are cluster-wide.
pub(super) fn roles(namespace: &str) -> Vec<Value> {
    let found: Vec<Value> = [ROLES, ELSEWHERE]
        .into_iter()
        .filter(|folder| fs::exists(folder).unwrap_or_default())
        .flat_map(|folder| documents(Path::new(folder)))
        .filter(|document| {
            let version = document["apiVersion"].as_str().unwrap_or_default();
            version.starts_with(GROUP)
        })
        .collect();
    let mut roles: Vec<Value> = found
        .into_iter()
        .flat_map(|role| placed(role, namespace))
        .collect();
    // A binding to a role that is not there yet is allowed, but the authorizer is sooner ready this way.
    roles.sort_by_key(|role| role["roleRef"].is_object());
    roles
}

/// Reads the roles of the operator, for `roles` of an `explorer::Explorer`: `config/rbac/role.yaml` and
/// `config/namespaces/role.yaml`, which `generate` writes. A missing file has no roles.
///
/// An operator that is confined to namespaces works in all namespaces in an explorer, so its Roles are ClusterRoles.
///
/// # Panics
///
/// A file is not valid YAML.
///
/// # Examples
///
/// ```
/// // Before the first `generate`.
/// assert!(manager::testing::operator_roles().is_empty());
/// ```
#[must_use]
pub fn operator_roles() -> Vec<Value> {
    let read = |folder: &str| -> Vec<Value> {
        let path = Path::new(folder).join(ROLE_FILE);
        if !path.exists() {
            return Vec::new();
        }
        file(&path)
    };
    everywhere(read(ROLES), read(ELSEWHERE))
}

/// Makes Roles of a confined operator ClusterRoles. `own` are those of `config/rbac`.
fn everywhere(own: Vec<Value>, elsewhere: Vec<Value>) -> Vec<Value> {
    let is_default =
        |role: &Value, kind: &str| role["kind"] == kind && role["metadata"]["name"] == DEFAULT_ROLE;
    let confined = own.iter().any(|role| is_default(role, "Role"));
    let mut roles: Vec<Value> = own.into_iter().chain(elsewhere).collect();
    if confined {
        // Nothing binds the ClusterRole of a confined operator.
        roles.retain(|role| !is_default(role, "ClusterRole"));
        for role in &mut roles {
            role["kind"] = json!("ClusterRole");
        }
    }
    roles
}

fn placed(mut role: Value, namespace: &str) -> Vec<Value> {
    if role["roleRef"].is_object() {
        let is_account = |subject: &Value| subject["kind"] == "ServiceAccount";
        if !role["subjects"]
            .as_array()
            .is_some_and(|subjects| subjects.iter().any(is_account))
        {
            return Vec::new();
        }
        role["subjects"] = json!([{ "kind": "User", "apiGroup": GROUP, "name": USER }]);
    }
    if role["kind"]
        .as_str()
        .is_some_and(|kind| kind.starts_with("Cluster"))
    {
        return vec![role];
    }
    let own = role["metadata"]["namespace"]
        .as_str()
        .filter(|own| *own != "system");
    let elsewhere = own.is_some().then(|| role.clone());
    role["metadata"]["namespace"] = json!(namespace);
    std::iter::once(role).chain(elsewhere).collect()
}

/// The markers that would allow the forbidden requests so far.
#[derive(Clone, Default)]
pub(super) struct Forbidden(Arc<Mutex<BTreeSet<String>>>);

impl Forbidden {
    /// Wraps a client: requests that the authorizer forbids are recorded.
    pub(super) fn watch(&self, client: Client) -> Client {
        let namespace = client.default_namespace().to_owned();
        let forbidden = self.clone();
        let send = move |request: Request<Body>| {
            let (client, forbidden) = (client.clone(), forbidden.clone());
            async move {
                let response = client.send(request).await?;
                if response.status() != StatusCode::FORBIDDEN {
                    return Ok::<_, kube::Error>(response);
                }
                let (parts, body) = response.into_parts();
                let body = body.collect_bytes().await?;
                let status = serde_json::from_slice::<Value>(&body).unwrap_or_default();
                if let Some(marker) = marker(status["message"].as_str().unwrap_or_default()) {
                    forbidden.markers().insert(marker);
                }
                Ok(Response::from_parts(parts, Body::from(body.to_vec())))
            }
        };
        Client::new(tower::service_fn(send), namespace)
    }

    fn markers(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Panics if a request was forbidden.
    pub(super) fn check(&self) {
        let markers = self.markers().clone();
        assert!(
            markers.is_empty(),
            "the operator lacks permissions; add these markers to its code and run `make manifests`:\n{}",
            markers.into_iter().collect::<Vec<_>>().join("\n")
        );
    }
}

/// Returns the marker for a refusal of the authorizer, such as `User "operator" cannot list resource "pods" in API group ""
/// at the cluster scope`. Admission refuses in other words.
fn marker(message: &str) -> Option<String> {
    let (_, request) = message.split_once(&format!("User \"{USER}\" cannot "))?;
    let (verb, request) = request.split_once(' ')?;
    let quoted = |text: &str| -> Option<(String, String)> {
        let (value, rest) = text.strip_prefix('"')?.split_once('"')?;
        Some((value.to_owned(), rest.to_owned()))
    };
    if let Some(path) = request.strip_prefix("path ") {
        let (path, _) = quoted(path)?;
        return Some(format!("// +kubebuilder:rbac:urls={path},verbs={verb}"));
    }
    let (resource, rest) = quoted(request.strip_prefix("resource ")?)?;
    let (group, _) = quoted(rest.strip_prefix(" in API group ")?)?;
    let group = if group.is_empty() {
        "\"\"".to_owned()
    } else {
        group
    };
    Some(format!(
        "// +kubebuilder:rbac:groups={group},resources={resource},verbs={verb}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_becomes_a_marker() {
        for (message, expected) in [
            (
                r#"pods is forbidden: User "operator" cannot list resource "pods" in API group "" at the cluster scope"#,
                Some(r#"// +kubebuilder:rbac:groups="",resources=pods,verbs=list"#),
            ),
            (
                r#"xs.example.com "a" is forbidden: User "operator" cannot patch resource "xs/status" in API group "example.com" in the namespace "test-1""#,
                Some("// +kubebuilder:rbac:groups=example.com,resources=xs/status,verbs=patch"),
            ),
            (
                r#"forbidden: User "operator" cannot get path "/metrics""#,
                Some("// +kubebuilder:rbac:urls=/metrics,verbs=get"),
            ),
            (
                r#"admission webhook "x" denied the request: not today"#,
                None,
            ),
            (
                r#"User "other" cannot list resource "pods" in API group """#,
                None,
            ),
        ] {
            assert_eq!(marker(message).as_deref(), expected, "{message}");
        }
    }

    #[test]
    fn roles_of_a_confined_operator_count_everywhere() {
        let role = |kind: &str, name: &str| json!({ "kind": kind, "metadata": { "name": name } });
        let kinds = |own: Vec<Value>| -> Vec<String> {
            let roles = everywhere(own, vec![role("Role", "demo-manager-role")]);
            roles
                .iter()
                .map(|role| format!("{} {}", role["kind"], role["metadata"]["name"]))
                .map(|text| text.replace('"', ""))
                .collect()
        };
        let wide = role("ClusterRole", DEFAULT_ROLE);
        assert_eq!(
            kinds(vec![wide.clone()]),
            ["ClusterRole manager-role", "Role demo-manager-role"]
        );
        let confined = vec![
            wide,
            role("Role", DEFAULT_ROLE),
            role("ClusterRole", "nodes"),
        ];
        assert_eq!(
            kinds(confined),
            [
                "ClusterRole manager-role",
                "ClusterRole nodes",
                "ClusterRole demo-manager-role"
            ]
        );
    }

    #[test]
    fn roles_are_in_the_namespace_of_the_test() {
        let role = |kind: &str, namespace: Value| json!({ "kind": kind, "metadata": { "namespace": namespace } });
        let namespaces = |role: Value| -> Vec<Value> {
            placed(role, "test-1")
                .iter()
                .map(|role| role["metadata"]["namespace"].clone())
                .collect()
        };
        assert_eq!(namespaces(role("Role", Value::Null)), ["test-1"]);
        assert_eq!(namespaces(role("Role", json!("system"))), ["test-1"]);
        assert_eq!(
            namespaces(role("Role", json!("other"))),
            ["test-1", "other"]
        );
        assert_eq!(namespaces(role("ClusterRole", Value::Null)), [Value::Null]);
        let binding = |kind: &str| json!({ "kind": "RoleBinding", "roleRef": {}, "subjects": [{ "kind": kind }] });
        assert_eq!(
            placed(binding("ServiceAccount"), "test-1")[0]["subjects"][0]["name"],
            USER
        );
        assert!(placed(binding("Group"), "test-1").is_empty());
    }
}
