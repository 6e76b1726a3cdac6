//! Command lines that clap refuses: in the format that they ask for, with the way on for who knows the peers' verbs.

use std::ffi::OsString;

use clap::ValueEnum as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::outcome::{Outcome, Usage, fail};
use crate::cli::{OutputFormat, WriteArgs};
use crate::diagnostic::Problem;
use crate::term::Term;

/// Verbs and flags of kubebuilder and operator-sdk that have another name here.
const PEERS: &[(&str, &str)] = &[
    ("--component-config", "flags of the manager are in `config/manager/manager.yaml`"),
    ("--custom-api-import", "`create api --external-api-path` names the Rust module of a type of another crate"),
    ("--dep-manager", "leave it out: cargo manages the dependencies"),
    ("--enable-delve", "`rust-gdb` and `rust-lldb` debug `target/debug`, where `make run` builds"),
    ("--go-build-args", "arguments of the build are in `Dockerfile`"),
    ("--image-build-args", "arguments of the build are in the target `docker-build` of `Makefile`"),
    ("--operator-namespace", "`make deploy` puts the operator into the namespace that `config/default` says"),
    (
        "--plugins",
        "there is one kind of project; `create api --image` does what the plugin `deploy-image` does, and `edit --plugins` \
         adds to a project: `helm` a chart, `olm` a bundle, `grafana` dashboards",
    ),
    ("--project-version", "there is one version of the `PROJECT` file"),
    ("--skip-go-version-check", "`rust-version` in `Cargo.toml` is what cargo checks"),
    ("--cluster-scoped", "an operator is for all namespaces, unless `--namespaced` or `--namespaces` says otherwise"),
    ("--type", "leave it out: there is one kind of project; `create api` adds an API and its controller"),
    ("add", "`create api` adds an API and its controller"),
    ("alpha", "`update` brings a project to this version"),
    ("bundle", "`operator-sdk run bundle` runs a bundle in a cluster; `bundle validate` checks one"),
    ("bundle-upgrade", "`operator-sdk run bundle-upgrade` upgrades to a bundle in a cluster"),
    ("cleanup", "`make undeploy` removes the operator from the cluster"),
    ("delete", "remove the kind's files, its lines at the scaffold markers, and its entry in `PROJECT`"),
    ("deps", "`cargo tree` prints the dependencies"),
    ("olm", "`operator-sdk olm` installs the Operator Lifecycle Manager"),
    (
        "olm-catalog",
        "`generate bundle` makes a bundle for OLM of rendered manifests, `generate catalog` a catalog of bundles",
    ),
    ("packagemanifests", "`generate bundle` makes a bundle, which has replaced package manifests"),
    ("print-deps", "`cargo tree` prints the dependencies"),
    ("test", "`make test` tests the operator; with `make setup-envtest` also on an API server"),
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
        if let Some(hint) = hint(error) {
            Term::stdio(crate::term::Verbosity::Normal).help(&hint);
        }
        return if error.use_stderr() { Outcome::Misused } else { Outcome::Done };
    }
    let write = WriteArgs { output, quiet: true, ..WriteArgs::default() };
    let mut term = Term::stdio(crate::term::Verbosity::Quiet);
    fail(Usage(problem(error)).into(), &write, &mut term).unwrap_or(Outcome::Misused)
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

/// What a verb or flag of a peer is called here.
fn hint(error: &clap::Error) -> Option<String> {
    let unknown = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg, ContextKind::InvalidValue].into_iter();
    let mut unknown = unknown.filter_map(|kind| error.get(kind)).filter_map(|value| match (error.kind(), value) {
        (
            ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument | ErrorKind::InvalidValue,
            ContextValue::String(word),
        ) => PEERS.iter().find(|(peer, _)| peer == word),
        _ => None,
    });
    unknown.next().map(|(_, hint)| (*hint).to_owned())
}
