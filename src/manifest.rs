//! Kubernetes objects → deterministic YAML text.

pub mod crd;
pub mod description;
pub mod rbac;
mod schema;
pub mod structural;
pub mod yaml;
