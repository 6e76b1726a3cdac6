//! `create webhook`: arguments → [`CreateWebhookOptions`].

use std::path::Path;

use anyhow::Result;

use super::create_api::external;
use super::outcome::{Outcome, apply_and_fetch};
use crate::cli::CreateWebhookArgs;
use crate::ops::create_webhook::{self, CreateWebhookOptions};
use crate::plan::Draft;
use crate::project::Project;
use crate::term::Term;

/// The order of releases that a conversion needs.
const CONVERSION_FIRST: &str =
    "\nShip the conversion one release before you change the stored version: see docs/releasing.md of memcached-sdk.";

pub(super) fn run(args: &CreateWebhookArgs, term: &mut Term) -> Result<Outcome> {
    term.statuses(args.peers.notes());
    let mut draft = Draft::open(&Project::find_root(Path::new("."))?);
    let found = create_webhook::run(&mut draft, &options(args))?;
    let mut next = if args.make {
        "\nNext, write the handlers; `memcached-sdk generate` brings config/ up to date.".to_owned()
    } else {
        "\nNext, run `memcached-sdk generate`: it writes config/webhook/manifests.yaml.".to_owned()
    };
    if args.conversion {
        next.push_str(CONVERSION_FIRST);
    }
    apply_and_fetch(draft, found, &args.write, &next, term)
}

fn options(args: &CreateWebhookArgs) -> CreateWebhookOptions {
    CreateWebhookOptions {
        group: args.group.clone(),
        version: args.version.clone(),
        kind: args.kind.clone(),
        plural: args.plural.clone(),
        defaulting: args.defaulting,
        validation: args.programmatic_validation,
        conversion: args.conversion,
        spokes: args.spoke.clone(),
        defaulting_path: args.defaulting_path.clone(),
        validation_path: args.validation_path.clone(),
        external: external(&args.external),
        cert_mode: args.webhook_cert_mode,
        generate: args.make,
        force: args.overwrite.force,
    }
}
