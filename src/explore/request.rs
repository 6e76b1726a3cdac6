//! Requests of an operator, as their method and path describe them.

use explorer::exploration;
use hyper::{Method, Uri};

/// A resource of an API group in a version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ResourcePath {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) plural: String,
}

impl ResourcePath {
    /// Returns the name with the group, such as `deployments.apps`.
    pub(super) fn qualified(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// Returns the path of the collection. No namespace is all namespaces, or none.
    pub(super) fn collection(&self, namespace: &str) -> String {
        let within = if namespace.is_empty() { String::new() } else { format!("/namespaces/{namespace}") };
        format!("{}{within}/{}", version_path(&self.group, &self.version), self.plural)
    }

    /// Returns the path of an object.
    pub(super) fn object(&self, namespace: &str, name: &str) -> String {
        format!("{}/{name}", self.collection(namespace))
    }

    /// Events, Leases and reviews are neither counted nor compared.
    fn is_ignored(&self) -> bool {
        let groups = ["events.k8s.io", "coordination.k8s.io", "authentication.k8s.io", "authorization.k8s.io"];
        groups.contains(&self.group.as_str()) || (self.group.is_empty() && self.plural == "events")
    }
}

/// Returns the path of an API version.
pub(super) fn version_path(group: &str, version: &str) -> String {
    if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") }
}

/// A request for a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OperatorRequest {
    pub(super) resource: ResourcePath,
    pub(super) namespace: String,
    name: String,
    subresource: String,
    /// The verb of RBAC.
    verb: &'static str,
    path: String,
    dry_run: bool,
    method: Method,
}

impl OperatorRequest {
    /// Parses a request. Returns none for discovery and other paths without a resource.
    pub(super) fn parse(method: &Method, uri: &Uri) -> Option<Self> {
        let parts: Vec<&str> = uri.path().split('/').filter(|part| !part.is_empty()).collect();
        let (group, version, rest) = match *parts.as_slice() {
            ["api", version, ref rest @ ..] => ("", version, rest),
            ["apis", group, version, ref rest @ ..] => (group, version, rest),
            _ => return None,
        };
        let (namespace, rest) = match *rest {
            ["namespaces", namespace, plural, ref rest @ ..] if !["status", "finalize"].contains(&plural) => {
                (namespace, [&[plural], rest].concat())
            }
            _ => ("", rest.to_vec()),
        };
        let resource =
            ResourcePath { group: group.to_owned(), version: version.to_owned(), plural: (*rest.first()?).to_owned() };
        let text = |at: usize| rest.get(at).copied().unwrap_or_default().to_owned();
        let (name, subresource) = (text(1), text(2));
        let query = uri.query().unwrap_or_default();
        let flag = |name: &str, values: &[&str]| {
            query
                .split('&')
                .any(|pair| pair.split_once('=').is_some_and(|(key, value)| key == name && values.contains(&value)))
        };
        let verb = match method.as_str() {
            "GET" if flag("watch", &["true", "1"]) || (subresource == "log" && flag("follow", &["true", "1"])) => {
                "watch"
            }
            "GET" if name.is_empty() => "list",
            "GET" => "get",
            "POST" => "create",
            "PUT" => "update",
            "PATCH" => "patch",
            "DELETE" if name.is_empty() => "deletecollection",
            "DELETE" => "delete",
            _ => return None,
        };
        Some(Self {
            resource,
            namespace: namespace.to_owned(),
            name,
            subresource,
            verb,
            path: uri.path().to_owned(),
            dry_run: flag("dryRun", &["All"]),
            method: method.clone(),
        })
    }

    pub(super) fn is_watch(&self) -> bool {
        self.verb == "watch"
    }

    pub(super) fn is_write(&self) -> bool {
        !["get", "list", "watch"].contains(&self.verb) && !self.dry_run
    }

    /// Returns true if schedules count the request.
    pub(super) fn counts(&self) -> bool {
        !self.resource.is_ignored() && !self.is_watch() && !self.dry_run
    }

    /// Returns true if the request creates or changes objects of its resource.
    pub(super) fn shapes(&self) -> bool {
        self.counts() && ["create", "update", "patch"].contains(&self.verb) && self.subresource.is_empty()
    }

    /// The method and the path.
    pub(super) fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// The line of a finding about the request, which the role forbids.
    pub(super) fn rule(&self) -> String {
        let mut resource = self.resource.plural.clone();
        if !self.subresource.is_empty() {
            resource = format!("{resource}/{}", self.subresource);
        }
        let resource = ResourcePath { plural: resource, ..self.resource.clone() }.qualified();
        exploration::forbidden(self.verb, &resource, &self.namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_from_their_paths() {
        for (method, uri, rule, counts, shapes) in [
            (Method::GET, "/api/v1/configmaps?limit=5", "list configmaps", true, false),
            (Method::GET, "/api/v1/configmaps?watch=true", "watch configmaps", false, false),
            (Method::GET, "/api/v1/namespaces/a", "get namespaces", true, false),
            (Method::PUT, "/api/v1/namespaces/a/finalize", "update namespaces/finalize", true, false),
            (Method::POST, "/api/v1/namespaces/a/configmaps", "create configmaps in a", true, true),
            (Method::POST, "/api/v1/namespaces/a/configmaps?dryRun=All", "create configmaps in a", false, false),
            (Method::POST, "/api/v1/namespaces/a/events", "create events in a", false, false),
            (Method::PATCH, "/apis/apps/v1/namespaces/a/deployments/b", "patch deployments.apps in a", true, true),
            (Method::PUT, "/apis/x.io/v1/namespaces/a/xs/b/status", "update xs/status.x.io in a", true, false),
            (
                Method::PUT,
                "/apis/coordination.k8s.io/v1/namespaces/a/leases/b",
                "update leases.coordination.k8s.io in a",
                false,
                false,
            ),
        ] {
            let request = OperatorRequest::parse(&method, &uri.parse().unwrap()).unwrap();
            assert_eq!(request.rule(), format!("+ no rule permits: {rule}"));
            assert_eq!((request.counts(), request.shapes()), (counts, shapes), "{uri}");
        }
        for uri in ["/api", "/api/v1", "/apis/apps/v1", "/version", "/openapi/v3"] {
            assert_eq!(OperatorRequest::parse(&Method::GET, &uri.parse().unwrap()), None, "{uri}");
        }
    }
}
