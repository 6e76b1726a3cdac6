//! One binary of integration tests, a file per subject.
#![allow(
    clippy::disallowed_methods,
    clippy::pedantic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests write files, print, and may be plain"
)]

mod answers;
mod any_project;
mod bad_input;
mod chaos;
mod cluster;
mod control_plane;
mod corpus;
mod crash;
mod crd;
mod crd_server;
mod create_api;
mod diagnostics;
mod docs;
mod drift;
mod e2e;
mod edit;
mod engine;
mod fuzz;
mod generate;
mod generated;
mod http;
mod init;
mod kinds;
mod load;
mod lock;
mod manager;
mod new_release;
mod node;
mod oracle;
mod plan;
mod projects;
mod property;
mod random;
mod rbac;
mod rbac_bytes;
mod rbac_derive;
mod rbac_lint;
mod rbac_server;
mod reading;
mod resolve;
mod rooms;
mod samples;
mod sandbox;
mod scope;
mod simulation;
mod tidy;
mod tutorial;
mod update;
mod wait;
mod yaml;
