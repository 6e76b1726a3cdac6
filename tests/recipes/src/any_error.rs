use std::sync::Arc;

use anyhow::Context as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::runtime::watcher;
use manager::{Action, Manager, Objects};

use crate::api::Site;

pub fn register(manager: &mut Manager) {
    let sites = manager.objects(&watcher::Config::default());
    let maps = manager.objects(&watcher::Config::default());
    manager
        .controller("settings", &sites)
        .run(reconcile, Arc::new(maps));
}

async fn reconcile(site: Arc<Site>, maps: Arc<Objects<ConfigMap>>) -> anyhow::Result<Action> {
    let Some(name) = &site.spec.config else {
        return Ok(Action::Done);
    };
    let map = maps
        .get_live(site.namespace().as_deref(), name)
        .await
        .context("get the ConfigMap")?
        .with_context(|| format!("there is no ConfigMap {name}"))?;
    let port = map.data.as_ref().and_then(|data| data.get("port"));
    let port: u16 = port.context("it has no port")?.parse()?;
    tracing::info!(port, "the settings are read");
    Ok(Action::Done)
}
