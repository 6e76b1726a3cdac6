use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::{Timestamp, ToSpan};
use manager::{Action, Objects};

use crate::api::{Site, SiteStatus};
use crate::child::FIELD_MANAGER;
use crate::controller::{Error, Result};

/// Checks a site every ten minutes, also if other changes reconcile it in between.
pub async fn reconcile(site: Arc<Site>, sites: &Objects<Site>) -> Result<Action> {
    let now = manager::now();
    if let Some(due) = due(&site, now.0) {
        return Ok(Action::RequeueAt(due));
    }
    tracing::info!("this is the check");
    let status = SiteStatus {
        last_check: Some(now.clone()),
        ..site.status.clone().unwrap_or_default()
    };
    sites
        .apply_status(&site, &status, FIELD_MANAGER)
        .await
        .map_err(Error::during("write the status"))?;
    Ok(Action::RequeueAt(now.0 + 10.minutes()))
}

/// Returns the time of the next check, or `None` if it is due.
pub fn due(site: &Site, now: Timestamp) -> Option<Timestamp> {
    let Time(last) = site.status.as_ref()?.last_check.as_ref()?;
    let due = *last + 10.minutes();
    // A time in the future comes from a host with a wrong clock.
    (*last <= now && now < due).then_some(due)
}
