//! Canonical paths that several files use. Paths of types are in [`known`](crate::schema::known).

pub(super) const CUSTOM_RESOURCE: &str = "kube::CustomResource";
pub(super) const KUBE_SCHEMA: &str = "kube::KubeSchema";
pub(super) const JSON_SCHEMA: &str = "schemars::JsonSchema";
pub(super) const SERIALIZE: &str = "serde::Serialize";
pub(super) const DESERIALIZE: &str = "serde::Deserialize";
pub(super) const DEFAULT: &str = "std::default::Default";
pub(super) const PARTIAL_EQ: &str = "std::cmp::PartialEq";
pub(super) const DEREF: &str = "std::ops::Deref";
