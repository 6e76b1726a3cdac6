//! `delete`: arguments → [`DeleteOptions`].

use std::path::Path;

use anyhow::Result;

use super::outcome::{Outcome, apply_and_fetch};
use crate::cli::{DeleteArgs, DeleteCommand, WriteArgs};
use crate::ops::Findings;
use crate::ops::delete::{self, DeleteOptions, Deletion};
use crate::plan::Draft;
use crate::project::Project;
use crate::term::Term;

/// The flags that say how to report.
pub(super) fn write(command: &DeleteCommand) -> &WriteArgs {
    &args(command).write
}

pub(super) fn run(command: &DeleteCommand, term: &mut Term) -> Result<Outcome> {
    let mut draft = Draft::open(&Project::find_root(Path::new("."))?);
    let Findings { value: next, diagnostics } = delete::run(&mut draft, &options(command))?;
    apply_and_fetch(draft, diagnostics, write(command), &next, term)
}

fn args(command: &DeleteCommand) -> &DeleteArgs {
    match command {
        DeleteCommand::Api(args) | DeleteCommand::Version(args) => args,
        DeleteCommand::Controller(args) => &args.of,
        DeleteCommand::Webhook(args) => &args.of,
    }
}

fn options(command: &DeleteCommand) -> DeleteOptions {
    let DeleteArgs { group, version, kind, discard, make, write: _ } = args(command).clone();
    let deletion = match command {
        DeleteCommand::Api(_) => Deletion::Api,
        DeleteCommand::Version(_) => Deletion::Version,
        DeleteCommand::Controller(args) => Deletion::Controller(args.controller_name.clone()),
        DeleteCommand::Webhook(args) => Deletion::Webhook {
            defaulting: args.defaulting,
            validation: args.programmatic_validation,
            conversion: args.conversion,
        },
    };
    DeleteOptions { deletion, group, version, kind, discard, generate: make }
}
