use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::{DeleteParams, ObjectMeta};
use manager::{Change, ObjectKey, Objects, dns_label};

use crate::api::Site;
use crate::child::FIELD_MANAGER;
use crate::controller::{Error, Result};
use crate::desired;

const NAMESPACE: &str = "monitoring";
const SITE: &str = "web.example.com/site";

/// Creates the ConfigMap of a site in another namespace. Returns false if another owner has one of that name.
pub async fn ensure(site: &Site, maps: &Objects<ConfigMap>) -> Result<bool> {
    let key = key(site);
    let map = ConfigMap {
        metadata: ObjectMeta {
            annotations: Some(BTreeMap::from([(SITE.to_owned(), key.clone())])),
            name: Some(dns_label(&key)),
            namespace: Some(NAMESPACE.to_owned()),
            // An owner must be in the same namespace.
            owner_references: None,
            ..desired::metadata(site)
        },
        ..ConfigMap::default()
    };
    let made = maps
        .create(&map, FIELD_MANAGER)
        .await
        .map_err(Error::during("create the ConfigMap"))?;
    Ok(made.change != Change::Foreign)
}

/// Deletes the ConfigMap of a site, unless it belongs to another owner.
pub async fn remove(site: &Site, maps: &Objects<ConfigMap>) -> Result<()> {
    let key = key(site);
    if let Some(map) = maps.get(Some(NAMESPACE), &dns_label(&key))
        && map.annotations().get(SITE) == Some(&key)
    {
        maps.delete(&map, &DeleteParams::default())
            .await
            .map_err(Error::during("delete the ConfigMap"))?;
    }
    Ok(())
}

/// Returns the site of a ConfigMap, for `watches`.
pub fn site_of(map: &ConfigMap) -> Option<ObjectKey> {
    let (namespace, name) = map.annotations().get(SITE)?.split_once('/')?;
    Some(ObjectKey {
        namespace: Some(namespace.to_owned()),
        name: name.to_owned(),
    })
}

/// Sites in two namespaces may have the same name.
fn key(site: &Site) -> String {
    format!(
        "{}/{}",
        site.namespace().unwrap_or_default(),
        site.name_any()
    )
}
