//! Kubernetes objects → deterministic YAML text.

pub mod rbac;
pub mod yaml;
