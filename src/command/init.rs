//! `init`: arguments → [`InitOptions`].

use std::path::Path;

use anyhow::Result;

use super::choice;
use super::outcome::{Outcome, UsageError, apply};
use crate::cli::{InitArgs, InitPart, OverwriteArgs, ProjectArgs, peers};
use crate::diagnostic::{Diagnostics, Problem};
use crate::ops::Findings;
use crate::ops::adopt::{self, AdoptOptions, AdoptedPart};
use crate::ops::init::{self, InitOptions};
use crate::ops::{existing, fetch};
use crate::plan::{Draft, IfExists};
use crate::term::Term;

pub(super) fn run(args: &InitArgs, term: &mut Term) -> Result<Outcome> {
    if existing::is_adoptable(&args.dir)? {
        return adopt(args, term);
    }
    existing::refuse(&args.dir)?;
    if !args.with.is_empty() {
        let problem = Problem::new("`--with` is for an existing crate: a new project has all of these files");
        return Err(UsageError(problem.help("leave it out")).into());
    }
    say_peers(&args.project, term);
    let mut draft = Draft::open(&args.dir);
    let found = init::run(&mut draft, &options(&args.project, init::DOMAIN, &args.overwrite))?;
    let mut report = apply(draft, found, &args.write)?;
    if report.is_written(&args.write) {
        report.diagnostics.extend(fetch(&args.dir, &args.project, term));
        let folder = in_folder(&args.dir);
        report.next = format!(
            "\nNext, define an API:\n  {folder}memcached-sdk create api --group GROUP --version v1alpha1 --kind KIND\n"
        );
    }
    report.show(&args.write, term)
}

/// Makes a project of an existing crate.
fn adopt(args: &InitArgs, term: &mut Term) -> Result<Outcome> {
    say_peers(&args.project, term);
    let mut draft = Draft::open(&args.dir);
    let Findings { value: next, diagnostics: found } = adopt::run(&mut draft, &adopt_options(args))?;
    let mut report = apply(draft, found, &args.write)?;
    report.next = next;
    report.show(&args.write, term)
}

fn adopt_options(args: &InitArgs) -> AdoptOptions {
    let project = &args.project;
    let part = |part: &InitPart| match part {
        InitPart::Makefile => AdoptedPart::Makefile,
        InitPart::Dockerfile => AdoptedPart::Dockerfile,
        InitPart::Workflows => AdoptedPart::Workflows,
    };
    AdoptOptions {
        project_name: project.project_name.clone(),
        domain: project.domain.clone(),
        repo: project.repo.clone(),
        owner: project.owner.clone(),
        multigroup: project.multigroup,
        namespaced: project.namespaced,
        namespaces: project.namespaces.clone(),
        choices: choice::of_parts(&project.parts),
        with: args.with.iter().map(part).collect(),
    }
}

/// Maps the flags of `init` and `new`. `domain` is the default of `--domain`.
pub(super) fn options(args: &ProjectArgs, domain: &str, overwrite: &OverwriteArgs) -> InitOptions {
    InitOptions {
        project_name: args.project_name.clone(),
        domain: args.domain.clone().unwrap_or_else(|| domain.to_owned()),
        repo: args.repo.clone(),
        owner: args.owner.clone(),
        license: args.license.spdx().map(str::to_owned),
        multigroup: args.multigroup,
        namespaced: args.namespaced,
        namespaces: args.namespaces.clone(),
        choices: choice::of_parts(&args.parts),
        check_toolchain: !args.skip_toolchain_check,
        if_exists: if overwrite.force { IfExists::Overwrite } else { IfExists::Refuse },
        apis: Vec::new(),
    }
}

/// Prints the notes about flags of kubebuilder and operator-sdk.
pub(super) fn say_peers(args: &ProjectArgs, term: &mut Term) {
    term.statuses(peers::notes(&args.parts.plugins));
    term.statuses(args.peers.notes());
    if let Some(path) = args.repo.as_deref().filter(|repo| init::is_module_path(repo)) {
        term.status(&format!("`--repo`: a Go module has this path; the URL of the repository is `https://{path}`"));
    }
}

/// `--fetch-deps`
pub(super) fn fetch(root: &Path, args: &ProjectArgs, term: &mut Term) -> Diagnostics {
    if args.fetch_deps { fetch::dependencies(root, &mut |text| term.status(text)) } else { Diagnostics::default() }
}

/// Returns `cd folder && `, or an empty text for the working directory.
fn in_folder(folder: &Path) -> String {
    if folder == Path::new(".") { String::new() } else { format!("cd {} && ", folder.display()) }
}
