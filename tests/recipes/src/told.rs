use std::sync::Arc;

use manager::condition::{self, Observed};
use manager::{Action, Failure};

use crate::api::{Site, SiteStatus};
use crate::child::{Context, FIELD_MANAGER};
use crate::controller::{Error, Result};

/// Reports the result of a reconcile in the status, also after an error.
pub async fn reconcile(site: Arc<Site>, context: Arc<Context>) -> Result<Action> {
    let outcome = crate::child::reconcile(site.clone(), context.clone()).await;
    let status = status(&site, outcome.as_ref().err());
    let written = context
        .sites
        .apply_status(&site, &status, FIELD_MANAGER)
        .await;
    match (outcome, written) {
        // The first error is reported.
        (Err(error), _) => Err(error),
        (Ok(_), Err(error)) => Err(Error::during("write the status")(error)),
        (Ok(action), Ok(_)) => Ok(action),
    }
}

fn status(site: &Site, error: Option<&Error>) -> SiteStatus {
    let ready = Observed {
        type_: "Ready",
        status: Some(error.is_none()),
        reason: error.map_or("Reconciled", Failure::reason).to_owned(),
        message: error.map(ToString::to_string).unwrap_or_default(),
    };
    let mut status = site.status.clone().unwrap_or_default();
    condition::set(&mut status.conditions, ready, site.metadata.generation);
    status
}
