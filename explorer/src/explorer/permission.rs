//! Permissions: the roles of the operator, and the rules that its requests need.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use http::Method;
use serde_json::{Value, json};

use crate::authorize::User;
use crate::exploration;
use crate::request::{Request, Target};
use crate::response::qualified;

/// The name of the operator in messages.
pub(super) const USER: &str = "operator";

/// The rules of roles, one for each verb and resource, and the ones that requests have used.
#[derive(Default)]
pub(super) struct Usage {
    all: Option<User>,
    rules: Vec<(String, User)>,
    used: Mutex<BTreeSet<usize>>,
}

impl Usage {
    /// Splits rules of `roles`. Without roles, all requests are permitted.
    pub(super) fn new(roles: &[Value]) -> Self {
        let mut rules: Vec<(String, User)> = Vec::new();
        for role in roles {
            for rule in role["rules"].as_array().into_iter().flatten() {
                let texts = |field: &str| rule[field].as_array().into_iter().flatten().filter_map(Value::as_str);
                for (group, resource) in
                    texts("apiGroups").flat_map(|group| texts("resources").map(move |one| (group, one)))
                {
                    for verb in texts("verbs") {
                        let one = json!({
                            "kind": role["kind"], "metadata": role["metadata"],
                            "rules": [{
                                "apiGroups": [group], "resources": [resource], "verbs": [verb],
                                "resourceNames": rule["resourceNames"],
                            }],
                        });
                        let label = format!("{verb} {}", qualified(resource, group));
                        rules.push((label, User::new(USER, &[one])));
                    }
                }
            }
        }
        let all = (!roles.is_empty()).then(|| User::new(USER, roles));
        Self { all, rules, used: Mutex::default() }
    }

    pub(super) fn record(&self, request: &Request) {
        let Some(target) = request.target() else { return };
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        for (at, (_, user)) in self.rules.iter().enumerate() {
            if !used.contains(&at) && user.check(request, &target).is_ok() {
                used.insert(at);
            }
        }
    }

    pub(super) fn permits(&self, request: &Request) -> bool {
        let check = |target: Target| self.all.as_ref().is_none_or(|user| user.check(request, &target).is_ok());
        request.target().is_none_or(check)
    }

    /// Rules that no request has needed, except rules for ignored resources.
    pub(super) fn unused(&self, ignored: &[String]) -> BTreeSet<String> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let unused = self.rules.iter().enumerate().filter(|(at, _)| !used.contains(at));
        let labels = unused.map(|(_, (label, _))| label.clone());
        labels.filter(|label| !ignored.iter().any(|name| label.ends_with(&format!(" {name}")))).collect()
    }

    /// A request in the words of a rule.
    pub(super) fn describe(request: &Request) -> String {
        let target = request.target().unwrap_or_default();
        let verb = match request.method {
            Method::GET if request.flag("watch") => "watch",
            Method::GET if target.name.is_empty() => "list",
            Method::GET => "get",
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            _ if target.name.is_empty() => "deletecollection",
            _ => "delete",
        };
        let mut resource = target.plural.clone();
        if !target.subresource.is_empty() {
            resource = format!("{resource}/{}", target.subresource);
        }
        exploration::forbidden(verb, &qualified(&resource, &target.group), &target.namespace)
    }
}
