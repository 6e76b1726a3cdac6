//! `create api`: arguments and answers → [`CreateApiOptions`].

use std::path::Path;

use anyhow::Result;

use super::outcome::{Outcome, UsageError, apply_and_fetch};
use crate::cli::{CreateApiArgs, ExternalArgs, WriteArgs};
use crate::diagnostic::{Diagnostics, Problem};
use crate::ops::Findings;
use crate::ops::create_api::{self, ApiQuestion, CreateApiOptions, ImageOptions, Recorded};
use crate::ops::external::ExternalOptions;
use crate::ops::fetch;
use crate::ops::{from_crd, from_go};
use crate::plan::Draft;
use crate::project::Project;
use crate::term::Term;

const NEXT_OF_GO: &str = "\nNext, write the controllers and the handlers; `memcached-sdk rbac lint` shows permissions of the code in Go that the \
                          code in Rust does not need.";

pub(super) fn run(args: &CreateApiArgs, term: &mut Term) -> Result<Outcome> {
    term.statuses(args.peers.notes());
    let root = Project::find_root(Path::new("."))?;
    if args.peers.deploys_image() && args.image.is_none() {
        let problem = Problem::new("the plugin `deploy-image` requires `--image`");
        return Err(UsageError(problem.help("for example `--image memcached:1.6-alpine`")).into());
    }
    let (mut draft, options) = (Draft::open(&root), options(args));
    if let Some(folder) = &args.from_go {
        let found = from_go::run(&mut draft, folder, &options)?;
        return apply_and_fetch(draft, found, &args.write, NEXT_OF_GO, term);
    }
    let options = match &args.from_crd {
        Some(path) => from_crd::options(&draft, path, &options, args.is_external)?,
        None => vec![options],
    };
    run_in(draft, Diagnostics::default(), options, &args.write, term)
}

/// Runs the operation for each API in a draft that may already have changes. `earlier` are the diagnostics of those changes.
pub(super) fn run_in(
    mut draft: Draft,
    earlier: Diagnostics,
    apis: Vec<CreateApiOptions>,
    write: &WriteArgs,
    term: &mut Term,
) -> Result<Outcome> {
    let (mut found, mut generate, mut next) = (Diagnostics::default(), false, String::new());
    for mut options in apis {
        ask(&draft, &mut options, term)?;
        let planned: Result<Findings<String>> = create_api::run(&mut draft, &options).or_else(|error| {
            let Recorded(problem) = error.downcast()?;
            if !write.is_preview() {
                // An interrupted run may have written every file except Cargo.lock.
                let found = fetch::missing(draft.root(), &mut |text| term.status(text));
                term.diagnostics(&found);
            }
            Err(problem.into())
        });
        next = planned?.report(&mut found);
        generate = options.generate;
    }
    found.extend(earlier);
    let usual = if generate {
        "\nNext, write the types and the controller; `memcached-sdk generate` brings config/ up to date."
    } else {
        "\nNext, run `memcached-sdk generate`: it writes the CRD and the manager's role."
    };
    let next = if next.is_empty() { usual } else { &next };
    apply_and_fetch(draft, found, write, next, term)
}

fn options(args: &CreateApiArgs) -> CreateApiOptions {
    CreateApiOptions {
        group: args.group.clone(),
        version: args.version.clone().unwrap_or_default(),
        kind: args.kind.clone().unwrap_or_default(),
        whole_group: None,
        resource: args.resource,
        controller: args.controller,
        namespaced: args.namespaced,
        plural: args.plural.clone(),
        short_names: args.short_name.clone(),
        external: external(&args.external),
        controller_name: args.controller_name.clone(),
        image: args.image.clone().map(|name| ImageOptions {
            name,
            container_port: args.image_container_port,
            container_command: args.image_container_command.clone(),
            run_as_user: args.run_as_user,
        }),
        types: None,
        generate: args.make,
        force: args.overwrite.force,
    }
}

/// Maps the flags that name a type of another crate.
pub(super) fn external(args: &ExternalArgs) -> ExternalOptions {
    ExternalOptions {
        path: args.external_api_path.clone(),
        domain: args.external_api_domain.clone(),
        module: args.external_api_module.clone(),
    }
}

/// Asks about each decision that the options leave open.
fn ask(draft: &Draft, options: &mut CreateApiOptions, term: &mut Term) -> Result<()> {
    while let Some(question) = create_api::question(draft, options)? {
        let answer = if term.is_interactive() {
            term.confirm(&question.text(), question.default())?
        } else {
            question.unattended()
        };
        term.statuses(ApiQuestion::answer(question, answer, options));
    }
    Ok(())
}
