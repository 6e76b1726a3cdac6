//! `generate catalog`: arguments → [`CatalogOptions`].

use anyhow::Result;

use super::outcome::{Outcome, apply};
use crate::cli::GenerateCatalogArgs;
use crate::ops::catalog::{self, CatalogOptions, PlannedCatalog};
use crate::ops::{Findings, shown_folder};
use crate::term::Term;

pub(super) fn run(args: &GenerateCatalogArgs, term: &mut Term) -> Result<Outcome> {
    let options = CatalogOptions {
        bundles: args.bundles.clone(),
        default_channel: args.default_channel.clone(),
        output_dir: args.output_dir.clone(),
    };
    let Findings { value: PlannedCatalog { draft, parent, root }, diagnostics } = catalog::run(&options)?;
    let mut report = apply(draft, diagnostics, &args.write)?;
    report.next = format!("Build its image with: docker build -f {root}.Dockerfile -t IMAGE {}", shown_folder(&parent));
    report.show(&args.write, term)
}
