use kube::api::ObjectMeta;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::discovery::Scope;
use kube::runtime::watcher;
use manager::{Manager, Objects};
use serde_json::json;

use crate::api::Site;
use crate::child::FIELD_MANAGER;
use crate::controller::{Error, Result};
use crate::desired;

/// The certificates of cert-manager, which a cluster may lack.
pub fn certificates(manager: &mut Manager) -> Objects<DynamicObject> {
    let certificate = GroupVersionKind::gvk("cert-manager.io", "v1", "Certificate");
    let resource = ApiResource::from_gvk(&certificate);
    let ours = watcher::Config::default().labels(desired::LABEL_SELECTOR);
    let certificates = manager.objects_with(&resource, &Scope::Namespaced, &ours);
    certificates.optional()
}

/// Applies the certificate of a site. Returns true when it is ready.
pub async fn certify(site: &Site, certificates: &Objects<DynamicObject>) -> Result<bool> {
    if !certificates.is_served() {
        return Ok(false);
    }
    let applied = certificates
        .apply(&certificate(site), FIELD_MANAGER)
        .await
        .map_err(Error::during("apply the Certificate"))?;
    let conditions = applied.object.data["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    Ok(conditions.any(|one| one["type"] == "Ready" && one["status"] == "True"))
}

fn certificate(site: &Site) -> DynamicObject {
    let metadata: ObjectMeta = desired::metadata(site);
    let spec = json!({
        "dnsNames": ["site.example.com"],
        "issuerRef": { "name": "main" },
        "secretName": metadata.name,
    });
    DynamicObject {
        // `apply` and `create` fill in the kind.
        types: None,
        metadata,
        data: json!({ "spec": spec }),
    }
}
