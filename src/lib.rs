//! The map of memcached-sdk, in reading order.
//!
//! Two pipelines end in one writer. `scaffold` turns the PROJECT file and flags into files and edits; `generate`
//! reads a source tree with syn and turns annotated types and comment markers into manifests. Both produce a
//! [`plan::Plan`], and only [`plan::apply`] touches the disk. Where the source does not decide, [`engine`] asks cargo.
//! See `docs/architecture.md`.

pub mod cli;
pub mod command;
mod ops;

pub mod edit;
pub mod project;
pub mod scaffold;

pub mod api;
pub mod crd;
pub mod engine;
mod explore;
pub mod k8s;
pub mod rbac;
pub mod runtime;
pub mod schema;
pub mod ship;
pub mod source;
pub mod types;
pub mod webhook;

pub mod diagnostic;
pub mod parallel;
pub mod plan;
pub mod term;
pub mod yaml;
