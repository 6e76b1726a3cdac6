use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use manager::Objects;

use crate::api::Site;
use crate::child::FIELD_MANAGER;
use crate::controller::{Error, Result};
use crate::desired;

/// Makes the Secret of a site, unless there is one. `secrets` are watched, and owned: who deletes it gets a new one.
pub async fn ensure(
    site: &Site,
    secrets: &Objects<Secret>,
    generate: impl FnOnce() -> String,
) -> Result<()> {
    let secret = Secret {
        metadata: desired::metadata(site),
        immutable: Some(true),
        string_data: Some(BTreeMap::from([("password".to_owned(), generate())])),
        ..Secret::default()
    };
    let made = secrets.create(&secret, FIELD_MANAGER).await;
    made.map_err(Error::during("create the Secret"))?;
    Ok(())
}
