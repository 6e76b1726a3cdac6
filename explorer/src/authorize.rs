//! RBAC: the rules of roles, for a client with fewer permissions.

use std::sync::Arc;

use serde_json::Value;

use crate::request::{Request, Target};
use crate::response::Refusal;

/// A user with the rules of its roles.
#[derive(Clone)]
pub(crate) struct User(Arc<Permissions>);

struct Permissions {
    name: String,
    roles: Vec<Value>,
}

impl User {
    /// `roles` are Roles and ClusterRoles; a Role permits requests in its own namespace.
    pub(crate) fn new(name: &str, roles: &[Value]) -> Self {
        Self(Arc::new(Permissions { name: name.to_owned(), roles: roles.to_vec() }))
    }

    /// Refuses a request on a resource that no rule permits.
    pub(crate) fn check(&self, request: &Request, target: &Target) -> Result<(), Refusal> {
        let verb = verb(request, target);
        let permitted = self.0.roles.iter().any(|role| {
            let within = match role["kind"].as_str() {
                Some("ClusterRole") => true,
                _ => role["metadata"]["namespace"] == *target.namespace && !target.namespace.is_empty(),
            };
            within && role["rules"].as_array().into_iter().flatten().any(|rule| permits(rule, verb, target))
        });
        if permitted {
            return Ok(());
        }
        let resource = match target.subresource.as_str() {
            "" => target.plural.clone(),
            subresource => format!("{}/{subresource}", target.plural),
        };
        let place = match target.namespace.as_str() {
            "" => "at the cluster scope".to_owned(),
            namespace => format!("in the namespace {namespace:?}"),
        };
        let detail = format!(
            "User {:?} cannot {verb} resource {resource:?} in API group {:?} {place}",
            self.0.name, target.group
        );
        Err(Refusal::forbidden(&target.group, &target.plural, &target.name, &detail))
    }
}

fn verb(request: &Request, target: &Target) -> &'static str {
    let one = !target.name.is_empty();
    match request.method.as_str() {
        "GET" if request.flag("watch") => "watch",
        "GET" if one => "get",
        "GET" => "list",
        "POST" => "create",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" if one => "delete",
        _ => "deletecollection",
    }
}

fn permits(rule: &Value, verb: &str, target: &Target) -> bool {
    let lists = |field: &str, value: &str| {
        rule[field].as_array().is_some_and(|all| all.iter().any(|known| known == value || known == "*"))
    };
    let resource = match target.subresource.as_str() {
        "" => lists("resources", &target.plural),
        subresource => {
            lists("resources", &format!("{}/{subresource}", target.plural))
                || lists("resources", &format!("*/{subresource}"))
        }
    };
    let names = rule["resourceNames"].as_array().filter(|names| !names.is_empty());
    lists("verbs", verb)
        && lists("apiGroups", &target.group)
        && resource
        && names.is_none_or(|names| names.iter().any(|name| *name == *target.name))
}
