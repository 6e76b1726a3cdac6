use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

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
    let by_config = sites.index(|site| {
        let name = site.spec.config.clone()?;
        let namespace = site.namespace();
        Some(ObjectKey { namespace, name })
    });
    controller.watches(maps, move |map| {
        let sites = by_config.list(&ObjectKey::of(map)).into_iter();
        sites.map(|site| ObjectKey::of(&*site)).collect::<Vec<_>>()
    })
}

/// Annotations for the pod template: a change of the settings starts new pods.
pub fn annotations(map: &ConfigMap) -> BTreeMap<String, String> {
    let mut hasher = DefaultHasher::new();
    map.data.hash(&mut hasher);
    let hash = format!("{:x}", hasher.finish());
    BTreeMap::from([("web.example.com/config".to_owned(), hash)])
}
