//! argv → exit code.

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    memcached_sdk::command::run(memcached_sdk::cli::Cli::parse())
}
