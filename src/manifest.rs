//! Kubernetes objects → deterministic YAML text.

pub mod yaml;
