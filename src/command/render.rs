//! `render`: [`render::run`] → YAML or a diff on stdout.

use anyhow::Result;

use super::outcome::Outcome;
use crate::cli::RenderArgs;
use crate::ops::render::{self, RenderOptions, Rendering};
use crate::term::Term;

pub(super) fn run(args: RenderArgs, term: &mut Term) -> Result<Outcome> {
    match render::run(&RenderOptions { object: args.object, before: args.diff })? {
        Rendering::Objects(text) => term.data(&text)?,
        Rendering::Diff(text) => term.diff(&text)?,
    }
    Ok(Outcome::Done)
}
