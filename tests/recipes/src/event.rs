use kube::runtime::events::EventType;
use manager::{Objects, StatusChange, condition};

use crate::api::{Site, SiteStatus};
use crate::child::FIELD_MANAGER;
use crate::controller::{Error, Result};

/// Writes the status, and publishes an event when the site becomes ready or stops being ready.
pub async fn tell(site: &Site, status: &SiteStatus, sites: &Objects<Site>) -> Result<()> {
    let written = sites
        .apply_status(site, status, FIELD_MANAGER)
        .await
        .map_err(Error::during("write the status"))?;
    if written != StatusChange::Written {
        return Ok(());
    }
    let before = site.status.clone().unwrap_or_default().conditions;
    let now = &status.conditions;
    if let Some(ready) = condition::turned_true(&before, now, "Ready") {
        let (reason, note) = (&ready.reason, &ready.message);
        sites.publish(site, EventType::Normal, reason, note).await;
    }
    if let Some(broken) = condition::turned_false(&before, now, "Ready") {
        let (reason, note) = (&broken.reason, &broken.message);
        sites.publish(site, EventType::Warning, reason, note).await;
    }
    Ok(())
}
