//! Command lines that clap refuses: in the format that they ask for, with the way on for who knows the peers' verbs.

use std::ffi::OsString;

use clap::ValueEnum as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{Outcome, fail};
use crate::cli::{OutputFormat, WriteArgs};
use crate::diagnostic::Problem;
use crate::term::Term;

/// Verbs and flags of kubebuilder and operator-sdk that have another name here.
const PEERS: &[(&str, &str)] = &[
    ("--component-config", "flags of the manager are in `config/manager/manager.yaml`"),
    ("--plugins", "there is one kind of project; `edit --plugins helm` adds the targets of a chart"),
    ("--project-version", "there is one version of the `PROJECT` file"),
    ("--skip-go-version-check", "`rust-version` in `Cargo.toml` is what cargo checks"),
    ("--cluster-scoped", "an operator is for all namespaces, unless `--namespaced` or `--namespaces` says otherwise"),
    ("--type", "there is one kind of project; `create api` adds an API and its controller"),
    ("add", "`create api` adds an API and its controller"),
    ("alpha", "`update` brings a project to this version"),
    ("build", "`make docker-build IMG=…` builds the image"),
    ("bundle", "OLM bundles are not made; `make build-installer` writes all manifests into one file"),
    ("cleanup", "`make undeploy` removes the operator from the cluster"),
    ("delete", "remove the kind's files, its lines at the scaffold markers, and its entry in `PROJECT`"),
    ("k8s", "the derives of a type are its generated code; `make build` compiles them"),
    ("olm", "`operator-sdk olm` installs the Operator Lifecycle Manager"),
    ("openapi", "`generate crds` writes the schemas"),
    ("print-deps", "`cargo tree` prints the dependencies"),
    ("run", "`make run` runs the operator on this machine, `make deploy` in the cluster"),
    ("scorecard", "`make test` and `make test-e2e` test the operator"),
    ("test", "`make test` and `make test-e2e` test the operator"),
    ("up", "`make run` runs the operator on this machine"),
];

/// Shows what clap says.
pub(super) fn refuse(error: &clap::Error, arguments: &[OsString]) -> Outcome {
    let output = output(arguments);
    if !error.use_stderr()
        || output == OutputFormat::Text
        || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    {
        // A terminal that is gone has no one to tell.
        let _ = error.print();
        if let Some(hint) = hint(error, arguments) {
            Term::stdio(crate::term::Verbosity::Normal).help(&hint);
        }
        return if error.use_stderr() { Outcome::Misused } else { Outcome::Done };
    }
    let write = WriteArgs { output, quiet: true, ..WriteArgs::default() };
    let mut term = Term::stdio(crate::term::Verbosity::Quiet);
    fail(super::Usage(problem(error, arguments)).into(), &write, &mut term).unwrap_or(Outcome::Misused)
}

/// The format that the arguments ask for, as far as can be said of arguments that are wrong.
fn output(arguments: &[OsString]) -> OutputFormat {
    let arguments: Vec<&str> = arguments.iter().skip(1).map_while(|argument| argument.to_str()).collect();
    let value = arguments.iter().enumerate().find_map(|(at, argument)| {
        let value = argument.strip_prefix("--output").or_else(|| argument.strip_prefix("-o"))?;
        if value.is_empty() { arguments.get(at + 1).copied() } else { Some(value.trim_start_matches('=')) }
    });
    value.and_then(|value| OutputFormat::from_str(value, false).ok()).unwrap_or_default()
}

/// The first paragraph of clap's text is what is wrong; its tips, and ours, are what to do.
fn problem(error: &clap::Error, arguments: &[OsString]) -> Problem {
    let text = error.render().to_string();
    let mut paragraphs =
        text.split("\n\n").map(|paragraph| paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" "));
    let message = paragraphs.next().unwrap_or_default();
    let tips = paragraphs.filter_map(|paragraph| paragraph.strip_prefix("tip: ").map(str::to_owned));
    let help: Vec<String> = tips.chain(hint(error, arguments)).collect();
    let problem = Problem::new(message.trim_start_matches("error: "));
    if help.is_empty() { problem } else { problem.help(help.join("; ")) }
}

/// What a verb or flag of a peer is called here.
fn hint(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    let arguments: Vec<&str> = arguments.iter().skip(1).filter_map(|argument| argument.to_str()).collect();
    let unknown = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg, ContextKind::InvalidValue].into_iter();
    let unknown = unknown.filter_map(|kind| error.get(kind)).find_map(|value| match (error.kind(), value) {
        (
            ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument | ErrorKind::InvalidValue,
            ContextValue::String(word),
        ) => PEERS.iter().find(|(peer, _)| peer == word),
        _ => None,
    });
    let (_, hint) = unknown?;
    Some(typed(&arguments).unwrap_or_else(|| (*hint).to_owned()))
}

/// What a command line of operator-sdk before version 1 is here, with what it says.
fn typed(arguments: &[&str]) -> Option<String> {
    match arguments {
        ["add", what @ ("api" | "controller"), flags @ ..] => {
            let mut words = flags.iter().flat_map(|flag| flag.splitn(2, '='));
            let (mut version, mut kind) = (None, None);
            while let Some(word) = words.next() {
                match word {
                    "--api-version" => version = words.next(),
                    "--kind" => kind = words.next(),
                    _ => {}
                }
            }
            let (group, version) = version?.split_once('/')?;
            let (group, domain) = group.split_once('.').unwrap_or((group, ""));
            let only = if *what == "controller" { " --resource=false" } else { "" };
            let command =
                format!("memcached-sdk create api --group {group} --version {version} --kind {}{only}", kind?);
            let place =
                if domain.is_empty() { String::new() } else { format!(", in a project whose domain is `{domain}`") };
            Some(format!("`{command}`{place}"))
        }
        ["build", image] if !image.starts_with('-') => Some(format!("`make docker-build IMG={image}`")),
        _ => None,
    }
}
