//! `update` and `alpha generate`: arguments → [`UpdateOptions`], a release of kube, or a folder for the scaffold.

use std::path::Path;

use anyhow::Result;

use super::outcome::{Outcome, apply, apply_and_fetch};
use crate::cli::{AlphaGenerateArgs, Conflicts, UpdateArgs, WriteArgs};
use crate::diagnostic::Diagnostics;
use crate::ops::Findings;
use crate::ops::update::{self, ConflictChoice, UpdateOptions};
use crate::plan::Draft;
use crate::project::Project;
use crate::term::Term;

pub(super) fn run(args: &UpdateArgs, term: &mut Term) -> Result<Outcome> {
    if let Some(release) = &args.kube {
        return kube(release.as_deref(), &args.write, term);
    }
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

/// Brings the crate of the project, or else of the working folder, to a release of kube. Cargo.lock stays: it follows when cargo
/// compiles the crate.
fn kube(release: Option<&str>, write: &WriteArgs, term: &mut Term) -> Result<Outcome> {
    let folder = Path::new(".");
    let root = if folder.join("Cargo.toml").is_file() { folder.to_path_buf() } else { Project::find_root(folder)? };
    let mut draft = Draft::open(&root);
    let Findings { value: next, mut diagnostics } = update::kube::run(&mut draft, release)?;
    diagnostics.sort();
    let mut report = apply(draft, diagnostics, write)?;
    report.next = next;
    report.show(write, term)
}

/// Writes the scaffold of the project again, into another folder.
pub(super) fn rescaffold(args: &AlphaGenerateArgs, term: &mut Term) -> Result<Outcome> {
    let root = Project::find_root(args.input_dir.as_deref().unwrap_or(Path::new(".")))?;
    let project = Project::recorded(&Draft::open(&root))?;
    let mut draft = Draft::open(&args.output_dir);
    update::pristine(&mut draft, &project)?;
    apply(draft, Diagnostics::default(), &args.write)?.show(&args.write, term)
}
