//! Kubernetes objects → deterministic YAML text.

pub mod crd;
pub mod description;
pub mod mend;
pub mod rbac;
pub(crate) mod sample;
pub mod schema;
pub mod structural;
pub mod yaml;
