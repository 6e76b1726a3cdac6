//! The commands of operator-sdk before version 1. Each one names the current command and runs it.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::outcome::{Outcome, UsageError};
use super::{create_api, generate};
use crate::cli::early::{AddArgs, BuildArgs, LocalArgs};
use crate::diagnostic::{Diagnostics, Problem};
use crate::engine;
use crate::ops::create_api::CreateApiOptions;
use crate::ops::edit::{self, Edited};
use crate::ops::generate::GenerateOptions;
use crate::ops::init;
use crate::ops::manifests::WantedManifests;
use crate::plan::Draft;
use crate::project::name::Domain;
use crate::project::{Project, builtin};
use crate::term::Term;

/// Splits `--api-version` into the group, without a trailing slash, and the version.
fn api_version(args: &AddArgs) -> Result<(&str, &str)> {
    match args.api_version.split_once('/') {
        Some((group, version)) if !group.is_empty() && !version.contains('/') => Ok((group, version)),
        None => Ok(("", &args.api_version)),
        Some(_) => {
            let problem = Problem::new(format!("invalid API version `{}`", args.api_version.escape_debug()));
            Err(UsageError(problem.help("write it as `cache.example.com/v1alpha1`")).into())
        }
    }
}

/// `add api` and `add controller`: adds a type, or a controller for an existing type.
pub(super) fn add(args: &AddArgs, is_type: bool, term: &mut Term) -> Result<Outcome> {
    let (group, version) = api_version(args)?;
    let root = Project::find_root(Path::new("."))?;
    let mut draft = Draft::open(&root);
    let mut found = Diagnostics::default();
    let is_builtin = !is_type && matches!(builtin::find(group, version, &args.kind), Ok(Some(_)));
    let group = if is_builtin {
        if group.is_empty() { "core".to_owned() } else { group.to_owned() }
    } else {
        let project = Project::recorded(&draft)?;
        let (short, domain) = split(&project, group, args)?;
        if let Some(domain) = domain {
            term.status(&format!(
                "the domain of the project is now `{domain}`: none was chosen, and it has no API yet"
            ));
            found.extend(edit::change(&mut draft, &Project { domain: Some(domain), ..project }, Edited::Keep)?);
        }
        short
    };
    let flag = if is_type { "--controller=false" } else { "--resource=false" };
    let shown = if group.is_empty() { "\"\"" } else { &group };
    term.status(&format!(
        "today: memcached-sdk create api --group {shown} --version {version} --kind {} {flag}",
        args.kind
    ));
    let options = CreateApiOptions {
        group,
        version: version.to_owned(),
        kind: args.kind.clone(),
        resource: Some(is_type),
        controller: Some(!is_type),
        namespaced: true,
        generate: true,
        force: args.overwrite.force,
        ..CreateApiOptions::default()
    };
    create_api::run_in(draft, found, vec![options], &args.write, term)
}

/// Splits the group at the domain of the project. Returns a new domain if the user has not chosen one for the project.
fn split(project: &Project, group: &str, args: &AddArgs) -> Result<(String, Option<Domain>)> {
    let domain = project.domain.as_ref().map_or("", Domain::as_str);
    if let Some(short) = group.strip_suffix(domain).and_then(|rest| rest.strip_suffix('.')) {
        return Ok((short.to_owned(), None));
    }
    if group == domain || domain.is_empty() {
        return Ok((if group == domain { String::new() } else { group.to_owned() }, None));
    }
    // A domain has a dot, unless the group has no more than one.
    let (short, rest) = group.split_once('.').filter(|(_, rest)| rest.contains('.')).unwrap_or(("", group));
    if domain == init::DOMAIN && project.resources.is_empty() {
        return Ok((short.to_owned(), Some(Domain::parse(rest).map_err(UsageError)?)));
    }
    let version = args.api_version.rsplit('/').next().unwrap_or_default();
    let first = if short.is_empty() { group.split('.').next().unwrap_or_default() } else { short };
    let problem = Problem::new(format!("`{group}` does not end in the domain of the project, `{domain}`"));
    let help = format!(
        "pass `--api-version {first}.{domain}/{version}`, or make a project of that domain with \
         `memcached-sdk init --domain {rest}`"
    );
    Err(UsageError(problem.help(help)).into())
}

/// `add crd`
pub(super) fn crd(args: &AddArgs, term: &mut Term) -> Result<Outcome> {
    let (group, _) = api_version(args)?;
    let kind = format!("{}.{group}", args.kind);
    term.status(&format!("today: memcached-sdk generate crds --kind {kind}"));
    let options = GenerateOptions {
        wanted: WantedManifests { crds: true, roles: false, webhooks: false },
        kinds: vec![kind],
        engine: engine::EngineRequest { quiet: generate::is_quiet(term), ..engine::EngineRequest::default() },
        check: args.write.check,
        preview: generate::preview(&args.write),
        ..GenerateOptions::default()
    };
    generate::run_with(&options, &args.write, term)
}

/// `build`
pub(super) fn build(args: &BuildArgs, term: &mut Term) -> Result<Outcome> {
    let mut words = vec!["docker-build".to_owned(), format!("IMG={}", args.image)];
    words.extend(args.image_builder.map(|builder| format!("CONTAINER_TOOL={}", builder.as_str())));
    make(&words, term)
}

/// `up local`, `run --local`
pub(super) fn local(args: &LocalArgs, term: &mut Term) -> Result<Outcome> {
    let mut words = vec!["run".to_owned()];
    if let Some(kubeconfig) = &args.kubeconfig {
        words.push(format!("KUBECONFIG={}", std::path::absolute(kubeconfig)?.display()));
    }
    if let Some(namespace) = &args.namespace {
        let root = Project::find_root(Path::new("."))?;
        if !Project::recorded(&Draft::open(&root))?.namespaced {
            let problem = Problem::new("the operator works in all namespaces, and `--namespace` chooses one");
            return Err(UsageError(problem.help("leave it out, or run `memcached-sdk edit --namespaced` first")).into());
        }
        words.push(format!("WATCH_NAMESPACE={namespace}"));
    }
    words.extend(args.operator_flags.as_ref().map(|flags| format!("ARGS={flags}")));
    make(&words, term)
}

/// Runs a target of the project's Makefile.
fn make(words: &[String], term: &mut Term) -> Result<Outcome> {
    let root = Project::find_root(Path::new("."))?;
    let shown = words.iter().map(|word| if word.contains(' ') { format!("'{word}'") } else { word.clone() });
    let shown = shown.collect::<Vec<_>>().join(" ");
    term.status(&format!("today: make {shown}"));
    let status = Command::new("make").args(words).current_dir(root).status().map_err(|error| {
        let problem = Problem::new(format!("cannot run `make`: {error}"));
        problem.help(format!("install make, or run the commands of the target `{}` of `Makefile`", words[0]))
    })?;
    Ok(if status.success() { Outcome::Done } else { Outcome::Failed })
}
