use std::sync::Arc;

use kube::ResourceExt;
use kube::runtime::watcher;
use manager::prometheus_client::metrics::counter::Counter;
use manager::prometheus_client::metrics::family::Family;
use manager::{Action, Manager};

use crate::api::Site;
use crate::controller::Result;

/// Counters by namespace.
type Looks = Family<[(&'static str, String); 1], Counter>;

pub fn register(manager: &mut Manager) {
    let looks = Arc::<Looks>::default();
    let help = "How often sites were looked at";
    manager
        .metrics()
        .register("site_looks", help, Looks::clone(&looks));
    manager.ready_check("disk", || match std::fs::metadata("/data") {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    });
    let sites = manager.objects::<Site>(&watcher::Config::default());
    manager.controller("measured", &sites).run(reconcile, looks);
}

async fn reconcile(site: Arc<Site>, looks: Arc<Looks>) -> Result<Action> {
    let namespace = site.namespace().unwrap_or_default();
    looks.get_or_create(&[("namespace", namespace)]).inc();
    Ok(Action::Done)
}
