use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;
use manager::{Change, Objects};

use crate::api::Site;
use crate::child::FIELD_MANAGER;
use crate::controller::{Error, Result};
use crate::desired;

/// Creates the ConfigMap of a site in another namespace. Returns false if another owner has one of that name.
pub async fn ensure(site: &Site, maps: &Objects<ConfigMap>) -> Result<bool> {
    let map = ConfigMap {
        metadata: ObjectMeta {
            namespace: Some("monitoring".to_owned()),
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
