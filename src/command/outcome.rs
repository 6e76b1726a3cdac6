//! The end of a command: applies its plan to the disk and reports the result.

use std::io;

use anyhow::Result;

use crate::cli::{OutputFormat, WriteArgs};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, sarif};
pub(super) use crate::ops::UsageError;
use crate::ops::fetch;
use crate::plan::apply::{self, ApplyError, ChangeKind, FileChange, FsOp, Mode};
use crate::plan::{Draft, report};
use crate::term::{Term, Verbosity};

/// The result of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The files on disk are as planned.
    Done,
    /// The source has errors. They were shown, and nothing was written.
    Failed,
    /// The source has errors. They were shown, and everything without an error was written.
    Partly,
    /// A check has findings. They were shown.
    Found,
    /// The command line is invalid.
    Misused,
    /// `--check`: the files on disk differ from the plan.
    Differs,
}

/// The changes and findings of a command, shown once at its end.
#[must_use]
pub(super) struct OutcomeReport {
    pub(super) outcome: Outcome,
    pub(super) changes: Vec<FileChange>,
    pub(super) diagnostics: Diagnostics,
    /// The next steps, for people.
    pub(super) next: String,
}

/// Applies the plan of a command. Nothing is written if the source has errors.
pub(super) fn apply(draft: Draft, diagnostics: Diagnostics, write: &WriteArgs) -> Result<OutcomeReport> {
    if diagnostics.has_errors() {
        return Ok(OutcomeReport { outcome: Outcome::Failed, changes: Vec::new(), diagnostics, next: String::new() });
    }
    apply_anyway(draft, diagnostics, write)
}

/// Applies a change of a project, updates its Cargo.lock, and reports both. `next` lists the next steps.
pub(super) fn apply_and_fetch(
    draft: Draft,
    mut diagnostics: Diagnostics,
    write: &WriteArgs,
    next: &str,
    term: &mut Term,
) -> Result<Outcome> {
    let root = draft.root().to_path_buf();
    diagnostics.sort();
    let mut report = apply(draft, diagnostics, write)?;
    if report.is_written(write) {
        report.diagnostics.extend(fetch::missing(&root, &mut |text| term.status(text)));
    }
    next.clone_into(&mut report.next);
    report.show(write, term)
}

/// Applies the part of a plan that has no errors.
pub(super) fn apply_anyway(draft: Draft, diagnostics: Diagnostics, write: &WriteArgs) -> Result<OutcomeReport> {
    let mode = match write {
        WriteArgs { check: true, .. } => Mode::Check,
        write if write.is_preview() => Mode::DryRun,
        WriteArgs { .. } => Mode::Write,
    };
    let root = draft.root().to_path_buf();
    let changes = apply::apply(&draft.finish().recorded_as(words()), &root, mode, &mut abort_hook())?;
    let outcome = match mode {
        _ if diagnostics.has_errors() => Outcome::Partly,
        Mode::Check if apply::differs(&changes) => Outcome::Differs,
        Mode::Check | Mode::DryRun | Mode::Write => Outcome::Done,
    };
    Ok(OutcomeReport { outcome, changes, diagnostics, next: String::new() })
}

impl OutcomeReport {
    /// Returns true if the command wrote its files or found them up to date.
    pub(super) fn is_written(&self, write: &WriteArgs) -> bool {
        self.outcome == Outcome::Done && !write.is_preview()
    }

    /// Prints findings to stderr and changes to stdout, or one document with both to stdout.
    pub(super) fn show(self, write: &WriteArgs, term: &mut Term) -> Result<Outcome> {
        let document = match write.output {
            OutputFormat::Text => None,
            OutputFormat::Json => Some(report::json(&self.changes, &self.diagnostics, write.diff)),
            OutputFormat::Sarif => Some(sarif::document(&self.diagnostics)),
        };
        if let Some(document) = document {
            term.data(&document)?;
            return Ok(self.outcome);
        }
        term.diagnostics(&self.diagnostics);
        if write.diff {
            term.diff(&report::diff(&self.changes))?;
        }
        if term.verbosity() > Verbosity::Quiet && !matches!(self.outcome, Outcome::Failed | Outcome::Misused) {
            if !write.diff {
                let all = term.verbosity() == Verbosity::Verbose;
                let shown: Vec<FileChange> =
                    self.changes.iter().filter(|change| all || change.kind != ChangeKind::Unchanged).cloned().collect();
                let all = all || !term.is_for_people();
                term.changes(&if all { report::text(&shown) } else { report::brief(&shown) })?;
            }
            let summary = report::summary(&self.changes);
            term.status(&match self.outcome {
                // The finding already names the command to run.
                Outcome::Differs
                    if self
                        .diagnostics
                        .iter()
                        .any(|found| matches!(found.code, Code::ManagerDiffers | Code::ProjectDiffers)) =>
                {
                    summary
                }
                Outcome::Differs => format!("{summary}: run the command without `--check` to write them"),
                Outcome::Partly if write.check => summary,
                _ if write.is_preview() && !write.check => format!("{summary}: nothing was written"),
                _ => summary,
            });
        }
        if self.is_written(write) && !self.next.is_empty() {
            term.status(self.next.trim_end());
        }
        Ok(self.outcome)
    }
}

/// The command line as it was typed, without the program.
fn words() -> String {
    let words = std::env::args_os().skip(1).map(|word| {
        let word = word.to_string_lossy().into_owned();
        if word.is_empty() || word.contains(char::is_whitespace) { format!("'{word}'") } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// For tests: `MEMCACHED_SDK_ABORT_AT_FILE_OPERATION=n` simulates a power failure. The process aborts before the n-th file
/// operation, counted from 1.
fn abort_hook() -> impl FnMut(&FsOp) -> io::Result<()> {
    let mut left = std::env::var("MEMCACHED_SDK_ABORT_AT_FILE_OPERATION").ok().and_then(|n| n.parse::<u64>().ok());
    move |_| {
        if let Some(left) = &mut left {
            *left = left.saturating_sub(1);
            if *left == 0 {
                std::process::abort();
            }
        }
        Ok(())
    }
}

/// Reports the error that ended a command.
pub(super) fn fail(error: anyhow::Error, write: &WriteArgs, term: &mut Term) -> Result<Outcome> {
    let (outcome, error) = match error.downcast::<UsageError>() {
        Ok(UsageError(problem)) => (Outcome::Misused, problem.into()),
        Err(error) => (Outcome::Failed, error),
    };
    let conflicts = error.downcast_ref::<ApplyError>().map(ApplyError::diagnostics);
    if conflicts.is_none() && write.output == OutputFormat::Text {
        term.error(&error);
        return Ok(outcome);
    }
    let diagnostics = conflicts.unwrap_or_else(|| [Diagnostic::from(&error)].into_iter().collect());
    OutcomeReport { outcome, changes: Vec::new(), diagnostics, next: String::new() }.show(write, term)
}
