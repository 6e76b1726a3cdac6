//! One file per subcommand: options in, [`crate::plan::Plan`] and diagnostics out; [`outcome`] brings the two to an end.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser as _;

use crate::cli::early::{AddCommand, UpCommand};
use crate::cli::{
    BundleCommand, Cli, Command, CreateCommand, DataFormat, DeriveArgs, ExplainArgs, GenerateArgs, GenerateTarget,
    KustomizeCommand, MigrateCommand, OutputFormat, RbacCommand, WriteArgs,
};
use crate::ops::{elsewhere, manifests};
use crate::term::{Term, Verbosity};

mod catalog;
mod choice;
mod completion;
mod create_api;
mod create_webhook;
mod early;
mod edit;
mod envtest;
mod existing;
mod external;
mod generate;
mod helm;
mod init;
mod installer;
mod known;
mod migrate;
mod new;
mod olm;
mod outcome;
mod rbac;
mod replay;
mod scorecard;
mod stream;
mod toolchain;
mod update;
mod usage;
mod version;

use self::outcome::{Outcome, fail};

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
        Command::Envtest(_)
        | Command::Completion(_)
        | Command::Version(_)
        | Command::Build(_)
        | Command::Run(_)
        | Command::Up(_) => WriteArgs::default(),
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
        Command::Envtest(args) => envtest::run(args, &mut term).and_then(|text| print(&text, &mut term)),
        Command::Completion(args) => print(&completion::script(&args), &mut term),
        Command::Version(args) => print(&version::text(&args), &mut term),
        Command::Add(command) => early::add(&command, &mut term),
        Command::Build(args) => early::build(&args, &mut term),
        Command::Run(args) => early::local(&args.args, &mut term),
        Command::Up(UpCommand::Local(args)) => early::local(&args, &mut term),
    };
    done.or_else(|error| fail(error, &write, &mut term))
}

fn print(text: &str, term: &mut Term) -> Result<Outcome> {
    term.data(text)?;
    Ok(Outcome::Done)
}
