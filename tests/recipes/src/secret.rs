use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use manager::Objects;

use crate::api::{Site, SiteStatus};
use crate::child::FIELD_MANAGER;
use crate::controller::{Error, Result};
use crate::desired;

/// Generates the password of a site once. Returns false if it was generated before and is lost. `secrets` are watched and owned.
pub async fn ensure(site: &Site, secrets: &Objects<Secret>, sites: &Objects<Site>) -> Result<bool> {
    let metadata = desired::metadata(site);
    let status = site.status.clone().unwrap_or_default();
    if status.has_password {
        // A database that was set up with the password does not accept another one.
        let name = metadata.name.unwrap_or_default();
        return Ok(secrets.get(metadata.namespace.as_deref(), &name).is_some());
    }
    let password = manager::random_text(32).map_err(Error::during("generate a password"))?;
    let secret = Secret {
        metadata,
        immutable: Some(true),
        string_data: Some(BTreeMap::from([("password".to_owned(), password)])),
        ..Secret::default()
    };
    secrets
        .create(&secret, FIELD_MANAGER)
        .await
        .map_err(Error::during("create the Secret"))?;
    let status = SiteStatus {
        has_password: true,
        ..status
    };
    sites
        .apply_status(site, &status, FIELD_MANAGER)
        .await
        .map_err(Error::during("write the status"))?;
    Ok(true)
}
