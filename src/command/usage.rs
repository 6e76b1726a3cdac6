//! Reports command lines that clap rejects, in the requested format. Answers commands and flags of the peers.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, ValueEnum as _};

use super::outcome::{Outcome, UsageError, fail};
use crate::cli::peers::{self, FLAGS};
use crate::cli::{Cli, OutputFormat, WriteArgs};
use crate::diagnostic::Problem;
use crate::term::Term;

/// Shows the error of clap.
pub(super) fn refuse(error: &clap::Error, arguments: &[OsString]) -> Outcome {
    let output = output(arguments);
    if let Some(problem) = peer_command(error, arguments) {
        let write = WriteArgs { output, ..WriteArgs::default() };
        let mut term = Term::stdio(crate::term::Verbosity::Normal);
        return fail(UsageError(problem).into(), &write, &mut term).unwrap_or(Outcome::Misused);
    }
    if !error.use_stderr()
        || output == OutputFormat::Text
        || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    {
        // An error of a closed terminal cannot be shown.
        let _ = error.print();
        if let Some(hint) = hint(error) {
            Term::stdio(crate::term::Verbosity::Normal).help(&hint);
        }
        return if error.use_stderr() { Outcome::Misused } else { Outcome::Done };
    }
    let write = WriteArgs { output, quiet: true, ..WriteArgs::default() };
    let mut term = Term::stdio(crate::term::Verbosity::Quiet);
    fail(UsageError(problem(error)).into(), &write, &mut term).unwrap_or(Outcome::Misused)
}

/// Returns the error for a command of kubebuilder or operator-sdk that has another form here.
fn peer_command(error: &clap::Error, arguments: &[OsString]) -> Option<Problem> {
    if !error.use_stderr() {
        return None;
    }
    let words = arguments.iter().skip(1).map_while(|argument| argument.to_str());
    let words: Vec<&str> = words.take_while(|word| !word.starts_with('-')).collect();
    let (command, help) = peers::answer(&words)?;
    if is_command(command) && error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    Some(Problem::new(format!("`{command}` works differently in memcached-sdk")).help(*help))
}

/// Returns true if the words are a command of this program.
fn is_command(words: &str) -> bool {
    let cli = Cli::command();
    words.split(' ').try_fold(&cli, |command, word| command.find_subcommand(word)).is_some()
}

/// The requested format, guessed from invalid arguments.
fn output(arguments: &[OsString]) -> OutputFormat {
    let arguments: Vec<&str> = arguments.iter().skip(1).map_while(|argument| argument.to_str()).collect();
    let value = arguments.iter().enumerate().find_map(|(at, argument)| {
        let value = argument.strip_prefix("--output").or_else(|| argument.strip_prefix("-o"))?;
        if value.is_empty() { arguments.get(at + 1).copied() } else { Some(value.trim_start_matches('=')) }
    });
    value.and_then(|value| OutputFormat::from_str(value, false).ok()).unwrap_or_default()
}

/// Converts an error of clap. The first paragraph of its text is the message; its tips, and ours, are the help.
fn problem(error: &clap::Error) -> Problem {
    let text = error.render().to_string();
    let mut paragraphs =
        text.split("\n\n").map(|paragraph| paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" "));
    let message = paragraphs.next().unwrap_or_default();
    let tips = paragraphs.filter_map(|paragraph| paragraph.strip_prefix("tip: ").map(str::to_owned));
    let help: Vec<String> = tips.chain(hint(error)).collect();
    let problem = Problem::new(message.trim_start_matches("error: "));
    if help.is_empty() { problem } else { problem.help(help.join("; ")) }
}

/// Suggests the name that a flag of a peer has here.
fn hint(error: &clap::Error) -> Option<String> {
    let (ErrorKind::UnknownArgument, Some(ContextValue::String(flag))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    else {
        return None;
    };
    FLAGS.iter().find(|(peer, _)| peer == flag).map(|(_, hint)| (*hint).to_owned())
}
