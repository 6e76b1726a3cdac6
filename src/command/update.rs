//! `update` and `alpha generate`: arguments → [`UpdateOptions`], or a folder for the scaffold.

use std::path::Path;

use anyhow::Result;

use super::outcome::{Outcome, apply, apply_and_fetch};
use crate::cli::{AlphaGenerateArgs, Conflicts, UpdateArgs};
use crate::diagnostic::Diagnostics;
use crate::ops::Findings;
use crate::ops::update::{self, ConflictChoice, UpdateOptions};
use crate::plan::Draft;
use crate::project::Project;
use crate::term::Term;

pub(super) fn run(args: &UpdateArgs, term: &mut Term) -> Result<Outcome> {
    let mut draft = Draft::open(&Project::find_root(Path::new("."))?);
    let conflicts = args.conflicts.map_or(ConflictChoice::Refuse, |choice| match choice {
        Conflicts::Markers => ConflictChoice::Markers,
        Conflicts::Ours => ConflictChoice::Author,
        Conflicts::Theirs => ConflictChoice::Scaffold,
    });
    let options = UpdateOptions { force: args.overwrite.force, conflicts };
    let Findings { value: next, diagnostics } = update::run(&mut draft, options)?;
    apply_and_fetch(draft, diagnostics, &args.write, &next, term)
}

/// Writes the scaffold of the project again, into another folder.
pub(super) fn rescaffold(args: &AlphaGenerateArgs, term: &mut Term) -> Result<Outcome> {
    let root = Project::find_root(args.input_dir.as_deref().unwrap_or(Path::new(".")))?;
    let project = Project::recorded(&Draft::open(&root))?;
    let mut draft = Draft::open(&args.output_dir);
    update::pristine(&mut draft, &project)?;
    apply(draft, Diagnostics::default(), &args.write)?.show(&args.write, term)
}
