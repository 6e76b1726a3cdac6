//! One `+kubebuilder:rbac` marker.

use crate::diagnostic::Origin;
use crate::rbac::PolicyRule;
use crate::source::marker::Marker;

/// One `+kubebuilder:rbac` marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RbacMarker {
    /// API groups, `core` as written.
    pub groups: Vec<String>,
    /// Resources and subresources.
    pub resources: Vec<String>,
    /// Only objects of these names.
    pub resource_names: Vec<String>,
    /// Allowed verbs.
    pub verbs: Vec<String>,
    /// Paths that are no resources.
    pub urls: Vec<String>,
    /// Empty: cluster-wide.
    pub namespace: String,
    /// Empty: the default role.
    pub role_name: String,
    /// Place of the marker.
    pub origin: Origin,
}

impl From<&Marker> for RbacMarker {
    fn from(marker: &Marker) -> Self {
        Self {
            groups: marker.strings("groups"),
            resources: marker.strings("resources"),
            resource_names: marker.strings("resourceNames"),
            verbs: marker.strings("verbs"),
            urls: marker.strings("urls"),
            namespace: marker.string("namespace"),
            role_name: marker.string("roleName"),
            origin: marker.origin.clone(),
        }
    }
}

/// Why the API server refuses a name of a role; <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#path-segment-names>.
pub(crate) fn wrong_role_name(name: &str) -> Option<&'static str> {
    match name {
        "" => Some("it is empty"),
        "." | ".." => Some("it is the name of a folder in paths"),
        name if name.contains('/') => Some("`/` is not allowed"),
        name if name.contains('%') => Some("`%` is not allowed"),
        _ => None,
    }
}

impl RbacMarker {
    /// A rule for each resource, or one for the URLs.
    pub fn rules(&self) -> impl Iterator<Item = PolicyRule> {
        let groups = self.groups.iter().map(|group| if group == "core" { "" } else { group });
        let rule = PolicyRule {
            groups: groups.map(str::to_string).collect(),
            resources: Vec::new(),
            names: self.resource_names.clone(),
            urls: self.urls.clone(),
            verbs: self.verbs.clone(),
        };
        let without = self.resources.is_empty().then(|| rule.clone());
        let each =
            self.resources.iter().map(move |resource| PolicyRule { resources: vec![resource.clone()], ..rule.clone() });
        without.into_iter().chain(each)
    }
}
