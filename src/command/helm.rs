//! `generate helm`: arguments → [`HelmOptions`].

use anyhow::Result;

use super::outcome::{Outcome, apply};
use crate::cli::GenerateHelmArgs;
use crate::ops::Findings;
use crate::ops::helm::{self, HelmOptions, PlannedChart};
use crate::term::Term;

pub(super) fn run(args: &GenerateHelmArgs, term: &mut Term) -> Result<Outcome> {
    let options = HelmOptions {
        manifests: args.manifests.clone(),
        output_dir: args.output_dir.clone(),
        force: args.overwrite.force,
    };
    let Findings { value: PlannedChart { draft, name, namespace }, diagnostics } = helm::run(&options)?;
    let mut report = apply(draft, diagnostics, &args.write)?;
    report.next = format!(
        "Install it with: helm install {name} {} --namespace {} --create-namespace",
        args.output_dir.join(helm::FOLDER).display(),
        namespace.as_deref().unwrap_or(&name)
    );
    report.show(&args.write, term)
}
