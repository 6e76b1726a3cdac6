//! One file per subcommand: options in, [`crate::plan::Plan`] and diagnostics out; here the two meet the disk.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser as _;

use crate::cli::early::{AddCommand, UpCommand};
use crate::cli::{
    BundleCommand, Cli, Command, CreateCommand, DataFormat, DeriveArgs, ExplainArgs, GenerateArgs, GenerateTarget,
    KustomizeCommand, MigrateCommand, OutputFormat, RbacCommand, WriteArgs,
};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Problem, sarif};
use crate::plan::apply::{self, ApplyError, Change, ChangeKind, FsOp, Mode};
use crate::plan::{Draft, RECORD, RelPath, report};
use crate::project::Project;
use crate::scaffold;
use crate::term::{Term, Verbosity};

mod catalog;
mod choice;
mod completion;
mod create_api;
mod create_webhook;
mod early;
mod edit;
mod external;
mod generate;
mod helm;
mod init;
mod installer;
mod manifests;
mod migrate;
mod new;
mod olm;
mod rbac;
mod replay;
mod scorecard;
mod stream;
mod toolchain;
mod update;
mod usage;
mod version;

/// Runs the command of a command line, of which the first argument is the program, to its end and says how it went; see
/// `--help` for the codes.
pub fn run(arguments: &[OsString]) -> ExitCode {
    let done = match Cli::try_parse_from(arguments) {
        Ok(cli) => run_parsed(cli),
        Err(error) => Ok(usage::refuse(&error, arguments)),
    };
    ExitCode::from(match done {
        Ok(Outcome::Done) => 0,
        Ok(Outcome::Failed | Outcome::Partly | Outcome::Found) | Err(_) => 1,
        Ok(Outcome::Misused) => 2,
        Ok(Outcome::Differs) => 3,
    })
}

fn run_parsed(cli: Cli) -> Result<Outcome> {
    let write = match &cli.command {
        Command::Init(args) => args.write.clone(),
        Command::New(args) => args.write.clone(),
        Command::Create(CreateCommand::Api(args)) => args.write.clone(),
        Command::Create(CreateCommand::Webhook(args)) => args.write.clone(),
        Command::Edit(args) => args.write.clone(),
        Command::Generate(GenerateArgs { target: Some(GenerateTarget::Helm(args)), .. }) => args.write.clone(),
        Command::Generate(GenerateArgs { target: Some(GenerateTarget::Bundle(args)), .. }) => args.write.clone(),
        Command::Generate(GenerateArgs { target: Some(GenerateTarget::Catalog(args)), .. }) => args.write.clone(),
        Command::Generate(GenerateArgs {
            target: Some(GenerateTarget::Kustomize(KustomizeCommand::Manifests(args))),
            ..
        }) => args.write.clone(),
        Command::Generate(GenerateArgs { target: Some(GenerateTarget::Installer(args)), .. })
        | Command::BuildInstaller(args) => args.write.clone(),
        Command::Generate(args) => args.write.clone(),
        Command::Bundle(BundleCommand::Validate(args)) => WriteArgs { output: args.output, ..WriteArgs::default() },
        Command::Update(args) => args.write.clone(),
        Command::Rbac(RbacCommand::Lint(args)) => args.write.clone(),
        Command::Rbac(RbacCommand::Verify(args)) => WriteArgs { output: args.output, ..WriteArgs::default() },
        Command::Rbac(
            RbacCommand::Derive(DeriveArgs { code, .. }) | RbacCommand::Explain(ExplainArgs { code, .. }),
        ) => {
            let json = code.output == DataFormat::Json;
            let output = if json { OutputFormat::Json } else { OutputFormat::Text };
            WriteArgs { output, ..WriteArgs::default() }
        }
        Command::Scorecard(args) => {
            let json = args.output == DataFormat::Json;
            let output = if json { OutputFormat::Json } else { OutputFormat::Text };
            WriteArgs { output, ..WriteArgs::default() }
        }
        Command::Migrate(MigrateCommand::Storage(args)) => WriteArgs { quiet: args.quiet, ..WriteArgs::default() },
        Command::Add(AddCommand::Api(args) | AddCommand::Controller(args) | AddCommand::Crd(args)) => {
            args.write.clone()
        }
        Command::Completion(_) | Command::Version(_) | Command::Build(_) | Command::Run(_) | Command::Up(_) => {
            WriteArgs::default()
        }
    };
    let mut term = Term::stdio(match write {
        // On stdout there is one document, on stderr nothing but what has no place in it.
        WriteArgs { quiet: true, .. } | WriteArgs { output: OutputFormat::Json | OutputFormat::Sarif, .. } => {
            Verbosity::Quiet
        }
        WriteArgs { verbose: true, .. } => Verbosity::Verbose,
        WriteArgs { .. } => Verbosity::Normal,
    });
    let done = match cli.command {
        Command::Init(args) => init::run(&args, &mut term),
        Command::New(args) => new::run(&args, &mut term),
        Command::Create(CreateCommand::Api(args)) => create_api::run(&args, &mut term),
        Command::Create(CreateCommand::Webhook(args)) => create_webhook::run(&args, &mut term),
        Command::Edit(args) => edit::run(&args, &mut term),
        Command::Generate(GenerateArgs { target: Some(GenerateTarget::Helm(args)), .. }) => helm::run(&args, &mut term),
        Command::Generate(GenerateArgs { target: Some(GenerateTarget::Bundle(args)), .. }) => {
            olm::generate_bundle(&args, &mut term)
        }
        Command::Generate(GenerateArgs { target: Some(GenerateTarget::Catalog(args)), .. }) => {
            catalog::run(&args, &mut term)
        }
        Command::Generate(GenerateArgs {
            target: Some(GenerateTarget::Kustomize(KustomizeCommand::Manifests(args))),
            ..
        }) => olm::kustomize_manifests(&args, &mut term),
        Command::Generate(GenerateArgs { target: Some(GenerateTarget::Installer(args)), .. })
        | Command::BuildInstaller(args) => installer::run(&args, &mut term),
        Command::Generate(args) => generate::run(&args, &mut term),
        Command::Bundle(BundleCommand::Validate(args)) => olm::validate(&args, &mut term),
        Command::Scorecard(args) => scorecard::run(&args, &mut term),
        Command::Rbac(RbacCommand::Derive(args)) => rbac::derive(&args, &mut term),
        Command::Rbac(RbacCommand::Lint(args)) => rbac::lint(&args, &mut term),
        Command::Rbac(RbacCommand::Verify(args)) => rbac::verify(&args, &mut term),
        Command::Rbac(RbacCommand::Explain(args)) => rbac::explain(&args, &mut term),
        Command::Migrate(MigrateCommand::Storage(args)) => migrate::storage(&args, &mut term),
        Command::Update(args) => update::run(&args, &mut term),
        Command::Completion(args) => print(&completion::script(&args), &mut term),
        Command::Version(args) => print(&version::text(&args), &mut term),
        Command::Add(command) => early::add(&command, &mut term),
        Command::Build(args) => early::build(&args, &mut term),
        Command::Run(args) => early::local(&args.args, &mut term),
        Command::Up(UpCommand::Local(args)) => early::local(&args, &mut term),
    };
    done.or_else(|error| fail(error, &write, &mut term))
}

/// Reports why a command could not be carried out.
fn fail(error: anyhow::Error, write: &WriteArgs, term: &mut Term) -> Result<Outcome> {
    let (outcome, error) = match error.downcast::<Usage>() {
        Ok(Usage(problem)) => (Outcome::Misused, problem.into()),
        Err(error) => (Outcome::Failed, error),
    };
    let conflicts = error.downcast_ref::<ApplyError>().map(ApplyError::diagnostics);
    if conflicts.is_none() && write.output == OutputFormat::Text {
        term.error(&error);
        return Ok(outcome);
    }
    let diagnostics = conflicts.unwrap_or_else(|| [Diagnostic::from(&error)].into_iter().collect());
    Report { outcome, changes: Vec::new(), diagnostics, next: String::new() }.show(write, term)
}

fn print(text: &str, term: &mut Term) -> Result<Outcome> {
    term.data(text)?;
    Ok(Outcome::Done)
}

/// How a command ended that could be carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The disk is, or was already, what it should be.
    Done,
    /// The source has errors; they were shown and nothing was written.
    Failed,
    /// The source has errors; they were shown, and what has none is as after [`Self::Done`].
    Partly,
    /// A check has findings; they were shown.
    Found,
    /// The command line asks for what can't be.
    Misused,
    /// `--check`: it is not.
    Differs,
}

/// The command line is wrong, in a way that clap can't see.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Usage(#[from] Problem);

/// What a command has done and found out; shown once, at its end.
#[must_use]
struct Report {
    outcome: Outcome,
    changes: Vec<Change>,
    diagnostics: Diagnostics,
    /// What to do after this, for people.
    next: String,
}

/// Applies what a command has planned. Errors in the source mean that nothing is written.
fn apply(draft: Draft, diagnostics: Diagnostics, write: &WriteArgs) -> Result<Report> {
    if diagnostics.has_errors() {
        return Ok(Report { outcome: Outcome::Failed, changes: Vec::new(), diagnostics, next: String::new() });
    }
    apply_anyway(draft, diagnostics, write)
}

/// Applies what a command has planned of what has no error.
fn apply_anyway(draft: Draft, diagnostics: Diagnostics, write: &WriteArgs) -> Result<Report> {
    let mode = match write {
        WriteArgs { check: true, .. } => Mode::Check,
        WriteArgs { dry_run: true, .. } => Mode::DryRun,
        WriteArgs { .. } => Mode::Write,
    };
    let root = draft.root().to_path_buf();
    let changes = apply::apply(&draft.finish(), &root, mode, &mut abort_hook())?;
    let outcome = match mode {
        _ if diagnostics.has_errors() => Outcome::Partly,
        Mode::Check if apply::differs(&changes) => Outcome::Differs,
        Mode::Check | Mode::DryRun | Mode::Write => Outcome::Done,
    };
    Ok(Report { outcome, changes, diagnostics, next: String::new() })
}

impl Report {
    /// Whether files were written, or were as they should be already.
    fn is_written(&self, write: &WriteArgs) -> bool {
        self.outcome == Outcome::Done && !write.dry_run && !write.check
    }

    /// Findings to stderr and changes to stdout, or all of it as one document to stdout.
    fn show(self, write: &WriteArgs, term: &mut Term) -> Result<Outcome> {
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
                let shown: Vec<Change> =
                    self.changes.iter().filter(|change| all || change.kind != ChangeKind::Unchanged).cloned().collect();
                let all = all || !term.is_for_people();
                term.changes(&if all { report::text(&shown) } else { report::brief(&shown) })?;
            }
            let summary = report::summary(&self.changes);
            term.status(&match self.outcome {
                // What to do is in the finding.
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
                _ if write.dry_run => format!("{summary}: nothing was written"),
                _ => summary,
            });
        }
        if self.is_written(write) && !self.next.is_empty() {
            term.status(self.next.trim_end());
        }
        Ok(self.outcome)
    }
}

/// For tests: `MEMCACHED_SDK_ABORT_AT_FILE_OPERATION=n` ends the process before the n-th file operation, from 1, as
/// a power failure would.
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

/// The record of the project that the draft is of.
fn recorded(draft: &Draft) -> Result<Project> {
    let text = draft.read(&RelPath::new(RECORD)?)?;
    let text = text.ok_or_else(|| Problem::new("not in a project: there is no `PROJECT` file"))?;
    Ok(Project::parse(&text)?)
}

/// What is scaffolded uses the manager as a crate.
fn refuse_module(root: &Path) -> Result<()> {
    if scaffold::manager::is_module(root)? {
        let problem =
            Problem::new("the project has its manager as the module `src/manager`, and new code needs the crate");
        return Err(problem.help("run `memcached-sdk update` first").into());
    }
    Ok(())
}

/// A folder for people: `.` has no name of its own.
fn display(folder: &Path) -> String {
    if folder.as_os_str().is_empty() { ".".to_owned() } else { folder.display().to_string() }
}
