//! `completion`: the completion script of a shell.

use clap::CommandFactory as _;

use crate::cli::{Cli, CompletionArgs};

/// Returns the completion script.
pub(crate) fn script(args: &CompletionArgs) -> String {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "memcached-sdk", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}
