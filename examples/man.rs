//! `man DIR`: a page for the program and one for each of its commands, for `make dist`.
#![allow(clippy::disallowed_methods, reason = "this is no part of the program")]

use clap::CommandFactory as _;
use memcached_sdk::cli::Cli;

fn main() -> std::io::Result<()> {
    let folder = std::env::args_os().nth(1).ok_or(std::io::ErrorKind::InvalidInput)?;
    std::fs::create_dir_all(&folder)?;
    clap_mangen::generate_to(Cli::command(), folder)
}
