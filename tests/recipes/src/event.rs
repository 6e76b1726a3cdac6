use kube::Resource;
use kube::runtime::events::{Event, EventType, Recorder};
use manager::{Objects, StatusChange, condition};

use crate::api::{Site, SiteStatus};
use crate::child::FIELD_MANAGER;
use crate::controller::{Error, Result};

/// Writes the status, and tells users once that the site is ready. The recorder is that of `Manager::recorder`.
pub async fn tell(
    site: &Site,
    status: &SiteStatus,
    sites: &Objects<Site>,
    recorder: &Recorder,
) -> Result<()> {
    let written = sites.apply_status(site, status, FIELD_MANAGER).await;
    let written = written.map_err(Error::during("write the status"))?;
    let before = site.status.clone().unwrap_or_default().conditions;
    let ready = condition::turned_true(&before, &status.conditions, "Ready");
    if let (StatusChange::Written, Some(ready)) = (written, ready) {
        let event = Event {
            type_: EventType::Normal,
            reason: ready.reason.clone(),
            note: Some(ready.message.clone()),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        // It helps people; that it can't be published is no reason to fail.
        if let Err(error) = recorder.publish(&event, &site.object_ref(&())).await {
            tracing::warn!(%error, "can't publish an event");
        }
    }
    Ok(())
}
