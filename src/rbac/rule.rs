//! A rule of a role, and whether it allows what the code uses, as the API server's RBAC authorizer decides.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use serde_json::{Map, Value, json};

use crate::diagnostic::Origin;

/// Verbs of requests about resources.
/// <https://kubernetes.io/docs/reference/access-authn-authz/authorization/#determine-the-request-verb>
pub(crate) const REQUEST_VERBS: [&str; 8] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
/// The HTTP methods, which are the verbs of paths that are no resources.
pub(crate) const URL_VERBS: [&str; 7] = ["delete", "get", "head", "options", "patch", "post", "put"];

/// Resources that can only be created, so that no controller watches them: group, kind, plural and scope.
pub(crate) const REVIEWS: &[(&str, &str, &str, bool)] = &[
    ("authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews", false),
    ("authentication.k8s.io", "TokenReview", "tokenreviews", false),
    ("authorization.k8s.io", "LocalSubjectAccessReview", "localsubjectaccessreviews", true),
    ("authorization.k8s.io", "SelfSubjectAccessReview", "selfsubjectaccessreviews", false),
    ("authorization.k8s.io", "SelfSubjectRulesReview", "selfsubjectrulesreviews", false),
    ("authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews", false),
];

/// Returns true if every authenticated user may do so, by the roles `system:discovery` and `system:public-info-viewer`
/// of every cluster.
/// <https://kubernetes.io/docs/reference/access-authn-authz/rbac/#discovery-roles>
pub(crate) fn is_discovery(verb: &str, path: &str) -> bool {
    const URLS: &str = "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/";
    verb == "get" && URLS.split(' ').any(|url| matches_url(url, path))
}

/// One rule of a role; empty lists are absent in the manifest.
///
/// <https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/cluster-role-v1/>
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyRule {
    /// API groups; the core group is empty, `*` stands for all.
    pub groups: Vec<String>,
    /// Resources in the plural, subresources as `pods/log`; `*` stands for all of both, `*/scale` for a subresource of all.
    pub resources: Vec<String>,
    /// Only objects of these names; empty means all.
    pub names: Vec<String>,
    /// Paths that are no resources; a last `*` stands for whatever follows.
    pub urls: Vec<String>,
    /// Allowed verbs; `*` stands for all.
    pub verbs: Vec<String>,
}

/// The permission that one request needs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permission {
    /// The target of the request.
    pub target: RbacTarget,
    /// The verb, such as `patch`.
    pub verb: String,
}

/// One request that the code may make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RbacUsage {
    /// The permission that the request needs.
    pub permission: Permission,
    /// The scope of the request.
    pub scope: RequestScope,
    /// The call as people know it, such as `Api<Pod>::list`.
    pub call: String,
    /// The call in the source.
    pub origin: Origin,
    /// Distance of the call from the program: 0 in a binary, 1 in the library of its package, 2 in another package.
    pub distance: u8,
    /// The role that every generated project has for this, besides the one that its markers make.
    pub role: Option<&'static str>,
}

/// The scope of a request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestScope {
    /// In all namespaces, or about objects that are in none.
    Cluster,
    /// The operator's namespace.
    Own,
    /// A namespace that is a constant in the source.
    Namespace(String),
    /// In a namespace that is known when the operator runs.
    Namespaced,
    /// The namespace of an object.
    OfObject,
}

/// The target of a request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RbacTarget {
    /// Objects of the API.
    Resource {
        /// The API group; the core group is empty.
        group: String,
        /// The resource in the plural, a subresource as `pods/log`.
        resource: String,
        /// The one object, where the request has its name in the path and it is known.
        name: Option<String>,
    },
    /// A nonResourceURL, such as `/version`.
    Url(String),
}

impl Permission {
    /// The verb on the target.
    pub fn new(target: RbacTarget, verb: &str) -> Self {
        Self { target, verb: verb.to_owned() }
    }
}

impl RbacTarget {
    /// All objects of a resource.
    pub fn resource(group: &str, resource: &str) -> Self {
        Self::Resource { group: group.to_owned(), resource: resource.to_owned(), name: None }
    }
}

impl fmt::Display for RbacTarget {
    /// `deployments.apps/scale`, as kubectl has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (group, resource) = match self {
            Self::Resource { group, resource, .. } => (group, resource),
            Self::Url(url) => return f.write_str(url),
        };
        let (plural, sub) = resource.split_at(resource.find('/').unwrap_or(resource.len()));
        if group.is_empty() { write!(f, "{plural}{sub}") } else { write!(f, "{plural}.{group}{sub}") }
    }
}

impl PolicyRule {
    /// Returns true if the rule allows a request. The answer is the same in every namespace that binds its role.
    ///
    /// <https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources>
    pub fn grants(&self, permission: &Permission) -> bool {
        if !has(&self.verbs, &permission.verb) {
            return false;
        }
        match &permission.target {
            RbacTarget::Resource { group, resource, name } => {
                // A request without a name has an empty one.
                let name = name.as_deref().unwrap_or_default();
                let named = self.names.is_empty() || self.names.iter().any(|had| had == name);
                has(&self.groups, group) && self.covers(resource) && named
            }
            RbacTarget::Url(path) => self.urls.iter().any(|url| matches_url(url, path)),
        }
    }

    /// A resource with its subresource, or what stands for several.
    fn covers(&self, resource: &str) -> bool {
        let of_all = resource.split_once('/').map(|(_, subresource)| format!("*/{subresource}"));
        self.resources.iter().any(|had| had == "*" || had == resource || of_all.as_ref() == Some(had))
    }

    /// Returns true if the other rule allows something, and this rule allows all of it.
    pub(crate) fn includes(&self, other: &Self) -> bool {
        let about_resources = !other.groups.is_empty() && !other.resources.is_empty();
        let names = self.names.is_empty()
            || (!other.names.is_empty() && other.names.iter().all(|name| self.names.contains(name)));
        let resources = other.groups.iter().all(|group| has(&self.groups, group))
            && other.resources.iter().all(|resource| self.covers(resource))
            && names;
        let urls = other.urls.iter().all(|url| self.urls.iter().any(|had| matches_url(had, url)));
        !other.verbs.is_empty()
            && other.verbs.iter().all(|verb| has(&self.verbs, verb))
            && (about_resources || !other.urls.is_empty())
            && (!about_resources || resources)
            && urls
    }

    /// Reads a rule of a manifest. Values that are not a list of strings are empty.
    pub fn from_json(rule: &Value) -> Self {
        let list = |key: &str| {
            let items = rule[key].as_array().into_iter().flatten();
            items.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            groups: list("apiGroups"),
            resources: list("resources"),
            names: list("resourceNames"),
            urls: list("nonResourceURLs"),
            verbs: list("verbs"),
        }
    }

    /// The lists without repetitions and in order; all verbs are one.
    #[must_use]
    pub(crate) fn normalized(mut self) -> Self {
        for list in [&mut self.groups, &mut self.resources, &mut self.names, &mut self.urls, &mut self.verbs] {
            list.sort();
            list.dedup();
        }
        self
    }

    /// Makes a rule that allows these verbs on a target, and nothing else.
    pub(crate) fn allowing(target: &RbacTarget, verbs: &[&str]) -> Self {
        let mut rule = Self { verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(), ..Self::default() };
        match target {
            RbacTarget::Resource { group, resource, .. } => {
                rule.groups.push(group.clone());
                rule.resources.push(resource.clone());
            }
            RbacTarget::Url(url) => rule.urls.push(url.clone()),
        }
        rule
    }

    /// `+kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list`, in the order of our scaffolds; in all
    /// namespaces if that is empty.
    pub fn to_marker(&self, namespace: &str) -> String {
        let mut text = "+kubebuilder:rbac:".to_owned();
        for (argument, list) in [
            ("groups", &self.groups),
            ("resources", &self.resources),
            ("resourceNames", &self.names),
            ("urls", &self.urls),
        ] {
            if !list.is_empty() {
                let _ = write!(text, "{argument}={},", items(list));
            }
        }
        if !namespace.is_empty() {
            let _ = write!(text, "namespace={},", item(namespace));
        }
        format!("{text}verbs={}", items(&self.verbs))
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut rule = Map::new();
        for (name, list) in [
            ("apiGroups", &self.groups),
            ("nonResourceURLs", &self.urls),
            ("resourceNames", &self.names),
            ("resources", &self.resources),
        ] {
            if !list.is_empty() {
                rule.insert(name.to_owned(), json!(list));
            }
        }
        let all = self.verbs.iter().any(|verb| verb == "*");
        rule.insert("verbs".to_owned(), if all { json!(["*"]) } else { json!(self.verbs) });
        Value::Object(rule)
    }
}

/// A list as an argument of a marker.
fn items(list: &[String]) -> String {
    list.iter().map(|text| item(text)).collect::<Vec<_>>().join(";")
}

/// A text as an argument of a marker, quoted where it could mean something else.
fn item(text: &str) -> Cow<'_, str> {
    let is_bare = |char: char| char.is_ascii_alphanumeric() || "-._/*:".contains(char);
    if !text.is_empty() && text.chars().all(is_bare) { text.into() } else { json!(text).to_string().into() }
}

/// Takes out, one after the other, what another item stands for.
pub(crate) fn needed<T>(items: &mut Vec<T>, stands_for: impl Fn(&T, &T) -> bool) {
    let mut at = 0;
    while at < items.len() {
        let others = items[..at].iter().chain(&items[at + 1..]);
        if others.into_iter().any(|other| stands_for(other, &items[at])) {
            items.remove(at);
        } else {
            at += 1;
        }
    }
}

fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|had| had == "*" || had == wanted)
}

/// Returns true if the URL of a rule matches a path, or all paths of a pattern that ends in `*`.
fn matches_url(url: &str, path: &str) -> bool {
    match url.strip_suffix('*') {
        Some(_) => path.starts_with(url.trim_end_matches('*')),
        None => url == path,
    }
}
