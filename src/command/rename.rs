//! `rename`: arguments → [`RenameApiOptions`], or a new name of the project.

use std::path::Path;

use anyhow::Result;

use super::outcome::{Outcome, UsageError, apply_and_fetch};
use crate::cli::{RenameApiArgs, RenameCommand, RenameProjectArgs, WriteArgs};
use crate::diagnostic::Problem;
use crate::ops::Findings;
use crate::ops::rename::{self, RenameApiOptions};
use crate::plan::Draft;
use crate::project::Project;
use crate::term::Term;

/// The flags that say how to report.
pub(super) fn write(command: &RenameCommand) -> &WriteArgs {
    match command {
        RenameCommand::Api(args) => &args.write,
        RenameCommand::Project(args) => &args.write,
    }
}

pub(super) fn run(command: &RenameCommand, term: &mut Term) -> Result<Outcome> {
    let mut draft = Draft::open(&Project::find_root(Path::new("."))?);
    let Findings { value: next, diagnostics } = match command {
        RenameCommand::Api(args) => rename::api(&mut draft, &options(args)?)?,
        RenameCommand::Project(RenameProjectArgs { name, make, write: _ }) => rename::project(&mut draft, name, *make)?,
    };
    apply_and_fetch(draft, diagnostics, write(command), &next, term)
}

fn options(args: &RenameApiArgs) -> Result<RenameApiOptions> {
    let RenameApiArgs { group, version, kind, to_group, to_version, to_kind, to_plural, to_short_name, make, write: _ } =
        args.clone();
    if [&to_group, &to_version, &to_kind, &to_plural].iter().all(|name| name.is_none()) && to_short_name.is_none() {
        let problem = Problem::new("no new name is given");
        return Err(UsageError(problem.help("pass one, such as `--to-kind`; see `--help`")).into());
    }
    let to_short_names =
        to_short_name.map(|names| names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>());
    Ok(RenameApiOptions {
        group,
        version,
        kind,
        to_group,
        to_version,
        to_kind,
        to_plural,
        to_short_names,
        generate: make,
    })
}
