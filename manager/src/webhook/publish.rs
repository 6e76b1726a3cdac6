//! Tells the API server of this server: publishes the authorities in the `caBundle` of each configuration and CRD that
//! points to it. Nothing else changes: the manifest of a CRD determines its conversion.
//!
//! For an API server on this host, webhooks have their own configurations, which are removed when the operator ends. If
//! the operator was killed, its next start finds them by label and removes them.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::path::Path;

use json_patch::jsonptr::PointerBuf;
use json_patch::{PatchOperation, ReplaceOperation};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use kube::{Api, Client};
use serde::Deserialize;
use serde_json::{Value, json};

use super::CONVERT;
use crate::object;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Mutating(String),
    Validating(String),
    Definition(String),
}

/// The address of this server for the API server.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Service {
        name: String,
        namespace: String,
    },
    /// A URL for an API server on the same host.
    Local {
        url: String,
        operator: String,
    },
}

impl Target {
    /// Parses the notation of the flags: `mutating:NAME` or `validating:NAME`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("mutating", name)) => Ok(Self::Mutating(name.to_owned())),
            Some(("validating", name)) => Ok(Self::Validating(name.to_owned())),
            _ => Err(format!(
                "`{text}` is neither `mutating:NAME` nor `validating:NAME`"
            )),
        }
    }

    fn object(&self) -> (ApiResource, &str) {
        match self {
            Self::Mutating(name) => (
                ApiResource::erase::<MutatingWebhookConfiguration>(&()),
                name,
            ),
            Self::Validating(name) => (
                ApiResource::erase::<ValidatingWebhookConfiguration>(&()),
                name,
            ),
            Self::Definition(name) => (ApiResource::erase::<CustomResourceDefinition>(&()), name),
        }
    }

    /// Returns the authorities that the object trusts for this server; empty if the object does not exist.
    pub(super) async fn trusted(&self, client: &Client, place: &Place) -> kube::Result<String> {
        let (resource, name) = self.object();
        let api = Api::<DynamicObject>::all_with(client.clone(), &resource);
        let Some(object) = api.get_opt(name).await? else {
            return Ok(String::new());
        };
        let mut configs = vec![&object.data["spec"]["conversion"]["webhook"]["clientConfig"]];
        let webhooks = object.data["webhooks"].as_array();
        let webhooks = webhooks.into_iter().flatten();
        configs.extend(webhooks.map(|webhook| &webhook["clientConfig"]));
        let ours = configs.into_iter().filter(|config| place.is_in(config));
        let bundles = ours.filter_map(|config| ByteString::deserialize(&config["caBundle"]).ok());
        let texts = bundles.filter_map(|bundle| String::from_utf8(bundle.0).ok());
        Ok(texts.collect())
    }

    /// Makes the object trust these authorities. An up-to-date object is not written. A concurrent change is not
    /// overwritten but returned as a conflict.
    pub(super) async fn trust(
        &self,
        client: &Client,
        place: &Place,
        authorities: &str,
    ) -> kube::Result<()> {
        let (resource, name) = self.object();
        let api = Api::<DynamicObject>::all_with(client.clone(), &resource);
        let object = api.get(name).await?;
        let bundle = json!(ByteString(authorities.as_bytes().to_vec()));
        let mut wanted = json!(object);
        if let Self::Definition(_) = self {
            place.convert(&mut wanted, bundle);
        } else if let Some(webhooks) = wanted["webhooks"].as_array_mut() {
            for webhook in webhooks {
                place.lead(&mut webhook["clientConfig"], &bundle);
            }
        }
        let published = change(&api, name, &object, &wanted).await?;
        if published.is_some() {
            tracing::info!(
                kind = resource.kind,
                name,
                "the authority of the webhooks is published"
            );
        }
        if let (Self::Definition(_), Place::Service { .. }) = (self, place) {
            let object = published.unwrap_or(object);
            let mut unowned = json!(object);
            if let Some(managed) = unowned.pointer_mut("/metadata/managedFields") {
                disown(managed);
            }
            change(&api, name, &object, &unowned).await?;
        }
        Ok(())
    }
}

/// Changes an object to `wanted` unless somebody else has changed it. Returns `None` if it is up to date.
async fn change(
    api: &Api<DynamicObject>,
    name: &str,
    object: &DynamicObject,
    wanted: &Value,
) -> kube::Result<Option<DynamicObject>> {
    let mut patch = json_patch::diff(&json!(object), wanted);
    if patch.is_empty() {
        return Ok(None);
    }
    patch.0.push(PatchOperation::Replace(ReplaceOperation {
        path: PointerBuf::from_tokens(["metadata", "resourceVersion"]),
        value: json!(object.metadata.resource_version),
    }));
    let patch = Patch::Json::<()>(patch);
    let changed = api.patch(name, &PatchParams::default(), &patch).await?;
    Ok(Some(changed))
}

/// Drops the ownership of the `caBundle` of a conversion.
///
/// A server-side apply of a release without the conversion removes the fields of its field manager. A `caBundle` that
/// this process owns would remain alone in `conversion`, which the API server refuses. A field without an owner is
/// removed with the rest.
fn disown(managed: &mut Value) {
    const BUNDLE: [&str; 5] = [
        "f:spec",
        "f:conversion",
        "f:webhook",
        "f:clientConfig",
        "f:caBundle",
    ];
    let Some(entries) = managed.as_array_mut() else {
        return;
    };
    let all = entries.iter_mut();
    for entry in all.filter(|entry| entry["operation"] == "Update") {
        object::take_fields(&mut entry["fieldsV1"], &BUNDLE);
    }
    entries.retain(|entry| entry["fieldsV1"] != json!({}));
}

impl Place {
    fn is_in(&self, config: &Value) -> bool {
        match self {
            Self::Service { name, namespace } => {
                config["service"]["name"] == **name && config["service"]["namespace"] == **namespace
            }
            Self::Local { .. } => false,
        }
    }

    /// Sets the `caBundle`. A configuration for another server stays as it is.
    fn lead(&self, config: &mut Value, bundle: &Value) {
        if self.is_in(config) {
            config["caBundle"] = bundle.clone();
        }
    }

    /// Sets the `caBundle` of the conversion. For an API server on this host, sets the whole conversion. Any other CRD
    /// without a conversion to this server stays as it is.
    fn convert(&self, definition: &mut Value, bundle: Value) {
        if let Self::Local { url, operator } = self {
            remember(definition, operator);
            let config = json!({ "url": format!("{url}{CONVERT}"), "caBundle": bundle });
            let webhook = json!({ "clientConfig": config, "conversionReviewVersions": ["v1"] });
            definition["spec"]["conversion"] = json!({ "strategy": "Webhook", "webhook": webhook });
            return;
        }
        let conversion = &definition["spec"]["conversion"];
        let is_webhook = conversion["strategy"] == "Webhook";
        let config = definition.pointer_mut("/spec/conversion/webhook/clientConfig");
        if let Some(config) = config.filter(|_| is_webhook) {
            self.lead(config, &bundle);
        }
    }
}

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
    ) -> io::Result<Vec<Configuration>> {
        let failed = |kind, error: &dyn std::fmt::Display| {
            let text = format!("can't read `{}`: {error}", file.display());
            io::Error::new(kind, text)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundle_of_a_conversion_is_owned_by_nobody_and_everything_else_by_whom_it_was() {
        let entry = |manager: &str, operation: &str, fields: Value| json!({ "manager": manager, "operation": operation, "fieldsV1": fields });
        let conversion = |webhook: Value| json!({ "f:spec": { "f:conversion": { "f:webhook": { "f:clientConfig": webhook } } } });
        let bundle = || conversion(json!({ "f:caBundle": {} }));
        let service = || conversion(json!({ "f:service": { "f:name": {} } }));
        let both = conversion(json!({ "f:caBundle": {}, "f:service": { "f:name": {} } }));
        for (before, after) in [
            (json!(null), json!(null)),
            (json!([entry("op", "Update", bundle())]), json!([])),
            (
                json!([entry("op", "Update", both.clone())]),
                json!([entry("op", "Update", service())]),
            ),
            // Its field manager applied the bundle on purpose.
            (
                json!([
                    entry("kubectl", "Apply", both.clone()),
                    entry("op", "Update", bundle())
                ]),
                json!([entry("kubectl", "Apply", both)]),
            ),
            (
                json!([entry("kubectl", "Update", service())]),
                json!([entry("kubectl", "Update", service())]),
            ),
        ] {
            let mut managed = before.clone();
            disown(&mut managed);
            assert_eq!(managed, after, "{before}");
        }
    }
}
