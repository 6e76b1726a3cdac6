//! The permissions of the operator in tests: the roles in `config/rbac`, and the requests that they forbid.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::{Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use super::control_plane::documents;

/// The user that controllers and webhooks are in tests. Its token is its name.
pub(super) const USER: &str = "operator";

const ROLES: &str = "config/rbac";
const ELSEWHERE: &str = "config/namespaces";
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
