//! `migrate storage`: arguments → [`MigrateOptions`].

use anyhow::Result;

use super::outcome::Outcome;
use crate::cli::MigrateStorageArgs;
use crate::ops::migrate::{self, MigrateOptions};
use crate::term::Term;

/// A failure of one CRD does not stop the others.
pub(super) fn storage(args: &MigrateStorageArgs, term: &mut Term) -> Result<Outcome> {
    let options = MigrateOptions {
        kinds: args.kinds.clone(),
        dry_run: args.dry_run,
        page_size: args.page_size,
        kubeconfig: args.kubeconfig.clone(),
        context: args.context.clone(),
    };
    let mut outcome = Outcome::Done;
    for name in migrate::names(&options)? {
        if let Err(error) = migrate::storage(&options, &name, &mut |text| term.status(text)) {
            term.error(&error);
            outcome = Outcome::Failed;
        }
    }
    Ok(outcome)
}
