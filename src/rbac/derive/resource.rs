//! A resource of the API.

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DerivedResource {
    pub(super) group: String,
    pub(super) plural: String,
    /// `None`: only the API server knows.
    pub(super) namespaced: Option<bool>,
    /// The name of its type in the code.
    pub(super) name: String,
}

impl DerivedResource {
    /// A resource from literals. An absent plural is computed like kube does.
    pub(super) fn spelled(group: &str, kind: &str, plural: Option<&str>) -> Self {
        let plural = plural.map_or_else(|| crate::api::plural(&kind.to_lowercase()), str::to_owned);
        Self { group: group.to_owned(), plural, namespaced: None, name: kind.to_owned() }
    }
}
