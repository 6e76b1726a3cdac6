//! Commands and their whole output: no cluster, and no generated project is built.

pub(crate) mod answers;
mod any_project;
mod bad_input;
mod cluster;
mod crd;
mod create_api;
mod diagnostics;
pub(crate) mod docs;
mod edit;
mod fuzz;
mod generate;
mod init;
mod kinds;
mod plan;
pub(crate) mod rbac;
mod rbac_bytes;
mod rbac_derive;
mod rbac_lint;
mod reading;
mod resolve;
mod rooms;
pub(crate) mod samples;
mod scope;
mod simulation;
mod tidy;
mod update;
mod yaml;
