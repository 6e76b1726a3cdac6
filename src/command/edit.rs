//! `edit`: arguments → [`EditOptions`].

use std::path::Path;

use anyhow::Result;

use super::choice;
use super::outcome::{Outcome, UsageError, apply_and_fetch};
use crate::cli::{EditArgs, peers};
use crate::diagnostic::Problem;
use crate::ops::Findings;
use crate::ops::choice::{Choice, NamespaceScope};
use crate::ops::edit::{self, EditOptions};
use crate::ops::init;
use crate::plan::Draft;
use crate::project::Project;
use crate::term::Term;

pub(super) fn run(args: &EditArgs, term: &mut Term) -> Result<Outcome> {
    term.statuses(peers::notes(&args.parts.plugins));
    let mut draft = Draft::open(&Project::find_root(Path::new("."))?);
    let options = EditOptions {
        choices: choices(args)?,
        multigroup: args.multigroup,
        generate: args.make,
        domain: args.domain.clone(),
        repo: args.repo.clone(),
        crds: args.crds.clone(),
        force: args.overwrite.force,
    };
    let Findings { value: next, diagnostics } = edit::run(&mut draft, &options)?;
    apply_and_fetch(draft, diagnostics, &args.write, &next, term)
}

fn choices(args: &EditArgs) -> Result<Vec<Choice>> {
    let mut choices = Vec::new();
    if !args.namespaces.is_empty() {
        choices.push(Choice::Scope(NamespaceScope::Listed(init::namespaces(&args.namespaces)?)));
    }
    if let Some(namespaced) = args.namespaced {
        choices.push(Choice::Scope(if namespaced { NamespaceScope::Own } else { NamespaceScope::Cluster }));
    }
    if let Some(owner) = &args.owner {
        choices.push(Choice::Owner(init::words("--owner", owner)?));
    }
    if let Some(license) = args.license {
        choices.push(Choice::License(license.spdx().map(str::to_owned)));
    }
    choices.extend(choice::of_parts(&args.parts));
    let others = args.multigroup.is_some() || args.domain.is_some() || args.repo.is_some() || args.crds.is_some();
    if choices.is_empty() && !others && args.parts.plugins.is_empty() {
        let problem = Problem::new("no flag is given");
        return Err(UsageError(problem.help("pass the choice to change, such as `--namespaced`; see `--help`")).into());
    }
    Ok(choices)
}
