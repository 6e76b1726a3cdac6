//! Publishes the authorities in the `caBundle` of each configuration and CRD that points to this server. It changes
//! nothing else: the manifest of a CRD determines its conversion.

use json_patch::jsonptr::PointerBuf;
use json_patch::{PatchOperation, ReplaceOperation};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, Patch, PatchParams};
use kube::core::DynamicObject;
use kube::{Api, Client};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{CONVERT, local};

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
    for entry in entries
        .iter_mut()
        .filter(|entry| entry["operation"] == "Update")
    {
        remove(&mut entry["fieldsV1"], &BUNDLE);
    }
    entries.retain(|entry| {
        entry["fieldsV1"]
            .as_object()
            .is_none_or(|fields| !fields.is_empty())
    });
}

/// Removes the path, and parents that become empty.
fn remove(fields: &mut Value, path: &[&str]) {
    let (Some(fields), [first, rest @ ..]) = (fields.as_object_mut(), path) else {
        return;
    };
    let Some(inner) = fields.get_mut(*first) else {
        return;
    };
    remove(inner, rest);
    if rest.is_empty() || inner.as_object().is_some_and(|inner| inner.is_empty()) {
        fields.remove(*first);
    }
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
            local::remember(definition, operator);
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
