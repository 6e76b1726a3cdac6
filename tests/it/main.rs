//! The integration tests: one binary, one module for each subject.
#![allow(
    clippy::disallowed_methods,
    clippy::pedantic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests write files, print, and may be plain"
)]

mod cluster;
mod control_plane;
mod corpus;
mod generated;
mod golden;
mod http;
mod lock;
mod node;
mod projects;
mod random;
mod sandbox;
mod timing;
mod wait;
