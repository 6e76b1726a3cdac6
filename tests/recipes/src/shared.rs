use k8s_openapi::api::core::v1::Secret;
use kube::api::ObjectMeta;
use kube::{Resource, ResourceExt};
use manager::{Controller, ObjectKey, Objects};

use crate::api::Site;
use crate::controller::{Error, Result};

/// Reconciles every site that owns a Secret when that changes.
pub fn watch<'manager>(
    controller: Controller<'manager, Site>,
    secrets: &Objects<Secret>,
) -> Controller<'manager, Site> {
    controller.watches(secrets, ObjectKey::owners_of::<Site>)
}

/// Makes the site one of the owners of the Secret, which goes with the last of them.
pub async fn share(site: &Site, secrets: &Objects<Secret>) -> Result<()> {
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some("sites".to_owned()),
            namespace: site.namespace(),
            // `controller_owner_ref` is for the one that alone decides.
            owner_references: site.owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        ..Secret::default()
    };
    // Each keeps its own reference: what a field manager no longer applies would be removed.
    let field_manager = format!("site-{}", site.uid().unwrap_or_default());
    secrets
        .apply(&secret, &field_manager)
        .await
        .map_err(Error::during("share the Secret"))?;
    Ok(())
}
