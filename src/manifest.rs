//! Kubernetes objects → deterministic YAML text.

pub mod crd;
pub mod rbac;
pub mod yaml;
