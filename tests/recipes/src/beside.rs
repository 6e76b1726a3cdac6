use std::time::Duration;

use futures::Stream;
use manager::{Controller, Manager, ObjectKey, Objects, Runs};

use crate::api::Site;

/// Polls the cloud every minute, on the leader.
pub fn register(manager: &mut Manager, sites: Objects<Site>) {
    manager.task("poll", Runs::Leader, move || poll(sites.clone()));
}

async fn poll(sites: Objects<Site>) -> kube::Result<()> {
    loop {
        tracing::info!(sites = sites.list(None).len(), "polled");
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
}

/// Reconciles the sites that a stream names: keys from a queue, a webhook, or a task.
pub fn told<'manager>(
    controller: Controller<'manager, Site>,
    names: impl Stream<Item = ObjectKey> + Send + 'static,
) -> Controller<'manager, Site> {
    controller.reconcile_on(names)
}
