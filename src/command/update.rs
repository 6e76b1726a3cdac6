//! `update`: arguments → [`UpdateOptions`].

use std::path::Path;

use anyhow::Result;

use super::outcome::{Outcome, apply};
use crate::cli::UpdateArgs;
use crate::ops::update::{self, UpdateOptions};
use crate::plan::Draft;
use crate::project::Project;
use crate::term::Term;

pub(super) fn run(args: &UpdateArgs, term: &mut Term) -> Result<Outcome> {
    let mut draft = Draft::open(&Project::find_root(Path::new("."))?);
    let found = update::run(&mut draft, UpdateOptions { force: args.write.force })?;
    apply(draft, found, &args.write)?.show(&args.write, term)
}
