use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use manager::{Controller, ObjectKey, Objects};

use crate::api::Site;

/// Reconciles the sites that name a ConfigMap when it changes.
pub fn watch<'manager>(
    controller: Controller<'manager, Site>,
    sites: &Objects<Site>,
    maps: &Objects<ConfigMap>,
) -> Controller<'manager, Site> {
    let sites = sites.clone();
    controller.watches(maps, move |map| {
        let uses = |site: &Arc<Site>| site.spec.config.as_deref() == map.metadata.name.as_deref();
        let sites = sites.list(map.namespace().as_deref());
        sites
            .iter()
            .filter(|site| uses(site))
            .map(|site| ObjectKey::of(&**site))
            .collect::<Vec<_>>()
    })
}

/// In the template of pods, so that a change of the settings starts new ones.
pub fn annotations(map: &ConfigMap) -> BTreeMap<String, String> {
    let mut hasher = DefaultHasher::new();
    map.data.hash(&mut hasher);
    let hash = format!("{:x}", hasher.finish());
    BTreeMap::from([("web.example.com/config".to_owned(), hash)])
}
