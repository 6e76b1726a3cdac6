use k8s_openapi::api::core::v1::Secret;
use kube::api::ObjectMeta;
use kube::{Resource, ResourceExt};
use manager::{Controller, ObjectKey, Objects};

use crate::api::Site;
use crate::controller::{Error, Result};

/// Reconciles every owner of a Secret when the Secret changes.
pub fn watch<'manager>(
    controller: Controller<'manager, Site>,
    secrets: &Objects<Secret>,
) -> Controller<'manager, Site> {
    controller.watches(secrets, ObjectKey::owners_of::<Site>)
}

/// Adds the site to the owners of the Secret. The Secret is deleted with its last owner.
pub async fn share(site: &Site, secrets: &Objects<Secret>) -> Result<()> {
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some("sites".to_owned()),
            namespace: site.namespace(),
            // `controller_owner_ref` is for a single controlling owner.
            owner_references: site.owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        ..Secret::default()
    };
    // Each site is a field manager: with a shared one, each apply would remove the other references.
    let field_manager = format!("site-{}", site.uid().unwrap_or_default());
    secrets
        .apply(&secret, &field_manager)
        .await
        .map_err(Error::during("share the Secret"))?;
    Ok(())
}
