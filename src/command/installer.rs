//! `generate installer`: arguments → [`InstallerOptions`].

use anyhow::Result;

use super::outcome::{Outcome, apply};
use crate::cli::{GenerateInstallerArgs, InstallerLayout};
use crate::diagnostic::Diagnostics;
use crate::ops::installer::{self, InstallerOptions};
use crate::term::Term;

pub(super) fn run(args: &GenerateInstallerArgs, term: &mut Term) -> Result<Outcome> {
    let InstallerLayout::Deploy = args.layout;
    let options = InstallerOptions {
        manifests: args.manifests.clone(),
        samples: args.samples.clone(),
        output_dir: args.output_dir.clone(),
    };
    let (draft, order) = installer::run(&options)?;
    let mut report = apply(draft, Diagnostics::default(), &args.write)?;
    let lines = order.iter().map(|path| format!("  kubectl create -f {}", args.output_dir.join(path).display()));
    report.next = [vec!["Create them in this order:".to_owned()], lines.collect()].concat().join("\n");
    report.show(&args.write, term)
}
