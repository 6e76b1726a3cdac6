//! `explore`: [`explore::run`] → the report on stdout.

use anyhow::Result;

use super::outcome::Outcome;
use crate::cli::{DataFormat, ExploreArgs};
use crate::ops::explore::{self, ExploreOptions};
use crate::term::Term;

pub(super) fn run(args: ExploreArgs, term: &mut Term) -> Result<Outcome> {
    let format = args.output;
    let options = ExploreOptions {
        command: args.command,
        previous: args.previous,
        crds: args.crds,
        samples: args.samples,
        role: args.role,
        no_role: args.no_role,
        kubeconfig: args.kubeconfig,
        budget: args.budget,
        settle: args.settle,
        only: args.only.map(|only| only.0),
        replay: args.replay,
    };
    let report = explore::run(&options, &mut |text| term.status(text))?;
    term.data(&match format {
        DataFormat::Text => report.to_string(),
        DataFormat::Json => format!("{:#}\n", report.json()),
    })?;
    Ok(if report.findings.is_empty() && !report.idle { Outcome::Done } else { Outcome::Found })
}
