//! `undo`: has no options of its own.

use std::path::Path;

use anyhow::Result;

use super::outcome::{Outcome, apply_and_fetch};
use crate::cli::UndoArgs;
use crate::ops::Findings;
use crate::ops::undo;
use crate::plan::Draft;
use crate::project::Project;
use crate::term::Term;

pub(super) fn run(args: &UndoArgs, term: &mut Term) -> Result<Outcome> {
    let mut draft = Draft::open(&Project::find_root(Path::new("."))?);
    let Findings { value: next, diagnostics } = undo::run(&mut draft)?;
    apply_and_fetch(draft, diagnostics, &args.write, &next, term)
}
