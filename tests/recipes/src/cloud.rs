use std::sync::Arc;

use kube::ResourceExt;
use kube::runtime::finalizer::Event;
use manager::{Action, Objects};

use crate::api::Site;
use crate::child::FIELD_MANAGER;
use crate::controller::{Error, Result};

const FINALIZER: &str = "web.example.com/dns";

/// A service outside of the cluster.
pub trait Dns: Send + Sync {
    /// Creates a record, or finds the one of this token. Returns its id.
    fn ensure(&self, token: &str) -> impl Future<Output = Result<String>> + Send;
    /// Removes the record. A missing record is not an error.
    fn remove(&self, token: &str) -> impl Future<Output = Result<()>> + Send;
}

pub async fn reconcile(site: Arc<Site>, sites: &Objects<Site>, dns: &impl Dns) -> Result<Action> {
    sites
        .finalizer(site, FINALIZER, async |event| match event {
            Event::Apply(site) => ensure(&site, sites, dns).await,
            Event::Cleanup(site) => {
                dns.remove(&site.uid().unwrap_or_default()).await?;
                Ok(Action::Done)
            }
        })
        .await
        .map_err(Error::during("keep the finalizer"))?
}

async fn ensure(site: &Site, sites: &Objects<Site>, dns: &impl Dns) -> Result<Action> {
    let mut status = site.status.clone().unwrap_or_default();
    if status.record.is_none() {
        // After a crash here, the next call has the same token and returns the same record.
        status.record = Some(dns.ensure(&site.uid().unwrap_or_default()).await?);
        sites
            .apply_status(site, &status, FIELD_MANAGER)
            .await
            .map_err(Error::during("write the status"))?;
    }
    Ok(Action::Done)
}
