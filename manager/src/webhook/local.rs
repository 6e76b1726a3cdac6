//! Webhooks for an API server on this host. They have their own configurations, which are removed when the operator
//! ends. If the operator was killed, its next start finds them by label and removes them.

use std::collections::BTreeSet;
use std::io::{Error, ErrorKind, Result};
use std::net::IpAddr;
use std::path::Path;

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use kube::{Api, Client};
use serde_json::{Value, json};

/// Label with the name of the operator.
const LABEL: &str = "memcached-sdk/local-webhooks";
/// Annotation with the previous conversion of a CRD.
const BEFORE: &str = "memcached-sdk/conversion-before";

/// Access of one operator to an API server on this host.
pub(super) struct Local {
    client: Client,
    operator: String,
}

/// A configuration to apply, without the authority.
pub(super) struct Configuration {
    resource: ApiResource,
    name: String,
    manifest: Value,
}

impl Local {
    pub(super) fn new(client: Client, operator: String) -> Self {
        Self { client, operator }
    }

    /// Returns the configurations from a file of `generate`, for the paths that are served at this URL. The webhooks of
    /// a confined operator cover only its namespaces.
    pub(super) fn configurations(
        &self,
        file: &Path,
        url: &str,
        paths: &BTreeSet<String>,
        namespaces: &[String],
    ) -> Result<Vec<Configuration>> {
        let failed = |kind, error: &dyn std::fmt::Display| {
            let text = format!("can't read `{}`: {error}", file.display());
            Error::new(kind, text)
        };
        let text = std::fs::read_to_string(file).map_err(|error| failed(error.kind(), &error))?;
        let manifests = serde_saphyr::from_multiple::<Value>(&text);
        let manifests = manifests.map_err(|error| failed(ErrorKind::InvalidData, &error))?;
        let mut configurations = Vec::new();
        for mut manifest in manifests {
            let resource = match manifest["kind"].as_str() {
                Some("MutatingWebhookConfiguration") => {
                    ApiResource::erase::<MutatingWebhookConfiguration>(&())
                }
                Some("ValidatingWebhookConfiguration") => {
                    ApiResource::erase::<ValidatingWebhookConfiguration>(&())
                }
                _ => continue,
            };
            let mut webhooks = match manifest["webhooks"].take() {
                Value::Array(webhooks) => webhooks,
                _ => Vec::new(),
            };
            webhooks.retain_mut(|webhook| {
                let config = &mut webhook["clientConfig"];
                let path = config["service"]["path"].as_str().unwrap_or_default();
                let served = paths.contains(path);
                *config = json!({ "url": format!("{url}{path}") });
                confine(webhook, namespaces);
                served
            });
            if webhooks.is_empty() {
                continue;
            }
            let given = manifest["metadata"]["name"].as_str().unwrap_or_default();
            let name = format!("{}-local-{given}", self.operator);
            manifest["metadata"]["name"] = json!(name);
            manifest["metadata"]["labels"][LABEL] = json!(self.operator);
            manifest["webhooks"] = Value::Array(webhooks);
            configurations.push(Configuration {
                resource,
                name,
                manifest,
            });
        }
        Ok(configurations)
    }

    pub(super) async fn apply(
        &self,
        configuration: &Configuration,
        authorities: &str,
    ) -> kube::Result<()> {
        let Configuration {
            resource,
            name,
            manifest,
        } = configuration;
        let mut manifest = manifest.clone();
        for webhook in manifest["webhooks"].as_array_mut().into_iter().flatten() {
            webhook["clientConfig"]["caBundle"] =
                json!(ByteString(authorities.as_bytes().to_vec()));
        }
        let api = Api::<DynamicObject>::all_with(self.client.clone(), resource);
        let parameters = PatchParams::apply(&self.operator).force();
        api.patch(name, &parameters, &Patch::Apply(manifest))
            .await
            .map(drop)
    }

    /// Removes everything that this operator created, and restores the previous conversion of CRDs.
    pub(super) async fn clear(&self) -> kube::Result<()> {
        let ours = ListParams::default().labels(&format!("{LABEL}={}", self.operator));
        let delete = DeleteParams::default();
        Api::<MutatingWebhookConfiguration>::all(self.client.clone())
            .delete_collection(&delete, &ours)
            .await?;
        Api::<ValidatingWebhookConfiguration>::all(self.client.clone())
            .delete_collection(&delete, &ours)
            .await?;
        let resource = ApiResource::erase::<CustomResourceDefinition>(&());
        let api = Api::<DynamicObject>::all_with(self.client.clone(), &resource);
        for mut definition in api.list(&ours).await? {
            let before = forget(&mut definition);
            definition.data["spec"]["conversion"] = before;
            let name = definition.metadata.name.clone().unwrap_or_default();
            api.replace(&name, &PostParams::default(), &definition)
                .await?;
        }
        Ok(())
    }
}

/// Replaces the namespaces in a selector that `generate` wrote; it writes them first.
pub(super) fn confine(webhook: &mut Value, namespaces: &[String]) {
    let first = webhook.pointer_mut("/namespaceSelector/matchExpressions/0");
    if let Some(first) = first
        && !namespaces.is_empty()
        && first["key"] == "kubernetes.io/metadata.name"
        && first["operator"] == "In"
    {
        first["values"] = json!(namespaces);
    }
}

/// Records the operator and the previous conversion in a CRD.
pub(super) fn remember(definition: &mut Value, operator: &str) {
    let conversion = definition["spec"]["conversion"].to_string();
    let metadata = &mut definition["metadata"];
    metadata["labels"][LABEL] = json!(operator);
    if metadata["annotations"][BEFORE].is_null() {
        metadata["annotations"][BEFORE] = json!(conversion);
    }
}

/// Removes the records from a CRD. Returns the previous conversion.
fn forget(definition: &mut DynamicObject) -> Value {
    let metadata = &mut definition.metadata;
    let labels = metadata.labels.as_mut();
    labels.and_then(|labels| labels.remove(LABEL));
    let annotations = metadata.annotations.as_mut();
    let before = annotations.and_then(|annotations| annotations.remove(BEFORE));
    let before = before.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    before
        .filter(Value::is_object)
        .unwrap_or_else(|| json!({ "strategy": "None" }))
}

/// Returns true if a server, as host with or without port, is on this host.
pub(super) fn is_here(server: &str) -> bool {
    let host = match server.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => host,
        _ => server,
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|host| host.is_loopback())
}
