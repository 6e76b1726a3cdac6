//! Webhooks for an API server on this host: configurations of their own, which go when the operator goes. What a killed run has
//! left is found by its label, and goes when the operator starts again.

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

/// Has the name of the operator.
const LABEL: &str = "memcached-sdk/local-webhooks";
/// Has the conversion that a CRD had before.
const BEFORE: &str = "memcached-sdk/conversion-before";

/// What one operator does to an API server on this host.
pub(super) struct Local {
    client: Client,
    operator: String,
}

/// A configuration as it is applied, but for the authority.
pub(super) struct Configuration {
    resource: ApiResource,
    name: String,
    manifest: Value,
}

impl Local {
    pub(super) fn new(client: Client, operator: String) -> Self {
        Self { client, operator }
    }

    /// The configurations in a file of `generate`, for those paths that are served at this URL. Webhooks of an operator that is
    /// confined are about the namespaces in which it works here.
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

    /// Makes a configuration with these authorities, or makes one what it should be.
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

    /// Removes all that this operator has made there, and gives CRDs the conversion back that they had.
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

/// Replaces the namespaces of a cluster in a selector that `generate` has written: it puts them first.
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

/// Notes in a CRD who changes its conversion, and what that was.
pub(super) fn remember(definition: &mut Value, operator: &str) {
    let conversion = definition["spec"]["conversion"].to_string();
    let metadata = &mut definition["metadata"];
    metadata["labels"][LABEL] = json!(operator);
    if metadata["annotations"][BEFORE].is_null() {
        metadata["annotations"][BEFORE] = json!(conversion);
    }
}

/// Takes the notes out again; the conversion that they are of.
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

/// Whether a server, as a host with or without a port, is on this host.
pub(super) fn is_here(server: &str) -> bool {
    let host = match server.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => host,
        _ => server,
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|host| host.is_loopback())
}
