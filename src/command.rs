//! One thin file per subcommand. Maps the arguments to the options of an operation in [`crate::ops`] and asks open questions.
//! [`outcome`] writes the files and reports the result.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser as _;

use crate::cli::early::{AddCommand, UpCommand};
use crate::cli::{
    AlphaCommand, BundleCommand, Cli, Command, CreateCommand, DataFormat, GenerateArgs, GenerateTarget,
    KustomizeCommand, MigrateCommand, OutputFormat, RbacCommand, WriteArgs,
};
use crate::term::{Term, Verbosity};

mod catalog;
mod choice;
mod completion;
mod create_api;
mod create_webhook;
mod delete;
mod doctor;
mod early;
mod edit;
mod envtest;
mod explore;
mod generate;
mod helm;
mod init;
mod installer;
mod migrate;
mod new;
mod olm;
mod outcome;
mod rbac;
mod rename;
mod render;
mod scorecard;
mod undo;
mod update;
mod usage;
mod version;

use self::outcome::{Outcome, fail};

/// Runs a command line, whose first argument is the program, and returns the exit code. `--help` lists the codes.
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

/// Runs each command with its output flags.
fn run_parsed(cli: Cli) -> Result<Outcome> {
    match cli.command {
        Command::Init(args) => report(&args.write, |term| init::run(&args, term)),
        Command::New(args) => report(&args.write, |term| new::run(&args, term)),
        Command::Create(CreateCommand::Api(args)) => report(&args.write, |term| create_api::run(&args, term)),
        Command::Create(CreateCommand::Webhook(args)) => report(&args.write, |term| create_webhook::run(&args, term)),
        Command::Delete(command) => report(delete::write(&command), |term| delete::run(&command, term)),
        Command::Rename(command) => report(rename::write(&command), |term| rename::run(&command, term)),
        Command::Undo(args) => report(&args.write, |term| undo::run(&args, term)),
        Command::Edit(args) => report(&args.write, |term| edit::run(&args, term)),
        Command::Generate(GenerateArgs { target: Some(target), .. }) => match target {
            GenerateTarget::Helm(args) => report(&args.write, |term| helm::run(&args, term)),
            GenerateTarget::Bundle(args) => report(&args.write, |term| olm::generate_bundle(&args, term)),
            GenerateTarget::Catalog(args) => report(&args.write, |term| catalog::run(&args, term)),
            GenerateTarget::Kustomize(KustomizeCommand::Manifests(args)) => {
                report(&args.write, |term| olm::kustomize_manifests(&args, term))
            }
            GenerateTarget::Installer(args) => report(&args.write, |term| installer::run(&args, term)),
        },
        Command::Generate(args) => report(&args.write, |term| generate::run(&args, term)),
        Command::Bundle(BundleCommand::Validate(args)) => {
            report(&in_format(args.output), |term| olm::validate(&args, term))
        }
        Command::Scorecard(args) => report(&of_data(args.output), |term| scorecard::run(&args, term)),
        Command::Rbac(command) => match command {
            RbacCommand::Derive(args) => report(&of_data(args.code.output), |term| rbac::derive(&args, term)),
            RbacCommand::Explain(args) => report(&of_data(args.code.output), |term| rbac::explain(&args, term)),
            RbacCommand::Lint(args) => report(&args.write, |term| rbac::lint(&args, term)),
            RbacCommand::Verify(args) => report(&in_format(args.output), |term| rbac::verify(&args, term)),
        },
        Command::Migrate(MigrateCommand::Storage(args)) => {
            let write = WriteArgs { quiet: args.quiet, ..WriteArgs::default() };
            report(&write, |term| migrate::storage(&args, term))
        }
        Command::Update(args) => report(&args.write, |term| update::run(&args, term)),
        Command::Alpha(AlphaCommand::Update(args)) => report(&args.write, |term| update::run(&args, term)),
        Command::Alpha(AlphaCommand::Generate(args)) => report(&args.write, |term| update::rescaffold(&args, term)),
        Command::Render(args) => report(&WriteArgs::default(), |term| render::run(args, term)),
        Command::Explore(args) => report(&of_data(args.output), |term| explore::run(args, term)),
        Command::Envtest(args) => report(&WriteArgs::default(), |term| envtest::run(args, term)),
        Command::Doctor(args) => report(&of_data(args.output), |term| doctor::run(&args, term)),
        Command::Completion(args) => print(&completion::script(&args)),
        Command::Version(args) => print(&version::text(&args)),
        Command::Add(AddCommand::Api(args)) => report(&args.write, |term| early::add(&args, true, term)),
        Command::Add(AddCommand::Controller(args)) => report(&args.write, |term| early::add(&args, false, term)),
        Command::Add(AddCommand::Crd(args)) => report(&args.write, |term| early::crd(&args, term)),
        Command::Build(args) => report(&WriteArgs::default(), |term| early::build(&args, term)),
        Command::BuildInstaller(args) => report(&args.write, |term| installer::run(&args, term)),
        Command::Run(args) => report(&WriteArgs::default(), |term| early::local(&args.args, term)),
        Command::Up(UpCommand::Local(args)) => report(&WriteArgs::default(), |term| early::local(&args, term)),
    }
}

/// Runs a command with a terminal of the verbosity that its flags select, and reports its failure.
fn report(write: &WriteArgs, run: impl FnOnce(&mut Term) -> Result<Outcome>) -> Result<Outcome> {
    let mut term = Term::stdio(match write {
        // The document on stdout has everything; stderr only has what the document cannot hold.
        WriteArgs { quiet: true, .. } | WriteArgs { output: OutputFormat::Json | OutputFormat::Sarif, .. } => {
            Verbosity::Quiet
        }
        WriteArgs { verbose: true, .. } => Verbosity::Verbose,
        WriteArgs { .. } => Verbosity::Normal,
    });
    run(&mut term).or_else(|error| fail(error, write, &mut term))
}

/// The output flags of a command that writes no files and has a report.
fn in_format(output: OutputFormat) -> WriteArgs {
    WriteArgs { output, ..WriteArgs::default() }
}

/// Like [`in_format`], for a command that prints data.
fn of_data(output: DataFormat) -> WriteArgs {
    in_format(match output {
        DataFormat::Text => OutputFormat::Text,
        DataFormat::Json => OutputFormat::Json,
    })
}

fn print(text: &str) -> Result<Outcome> {
    report(&WriteArgs::default(), |term| {
        term.data(text)?;
        Ok(Outcome::Done)
    })
}
