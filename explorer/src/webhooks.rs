//! Webhooks of the server: functions, or configurations whose webhooks answer reviews in JSON.
//!
//! <https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/>

use std::sync::Arc;

use serde_json::{Value, json};

use crate::call::webhook::{Admission, Defaulting, Validating, Versioned};
use crate::resource::{KindVersions, Resource};
use crate::server::ApiServer;

/// Answers the review of a path.
type Reviewer = Arc<dyn Fn(&str, &Value) -> Result<Value, String> + Send + Sync>;

/// Fields of a webhook that decide about single objects.
const CONDITIONS: [&str; 2] = ["matchConditions", "objectSelector"];

/// A webhook for the objects of one version.
#[derive(Clone)]
struct RuledWebhook {
    version: Arc<Resource>,
    path: String,
    operations: Vec<String>,
    reviewer: Reviewer,
}

impl ApiServer {
    /// Sets the function that plays the conversion webhook of a CRD, such as `widgets.example.com`. It gets an object and
    /// an API version, and returns the object in this version. Without it, requests that need a conversion answer 501.
    ///
    /// The server keeps the metadata of the object, except labels and annotations, as kube-apiserver does.
    ///
    /// # Errors
    ///
    /// The server has no such CRD, or the CRD does not have the conversion strategy `Webhook`.
    pub fn convert(
        &self,
        crd: &str,
        convert: impl Fn(&Value, &str) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Result<(), String> {
        let is_wanted = |kind: &Arc<KindVersions>| kind.storage().custom && kind.storage().qualified() == crd;
        let Some(kind) = self.kinds().into_iter().find(is_wanted) else {
            return Err(format!("the CRD {crd} is unknown: call `add_crd` first"));
        };
        self.replace_kind(kind.with_webhook(Arc::new(convert))?);
        Ok(())
    }

    /// Adds a webhook that sets the defaults of a kind. It gets objects in `api_version`, such as `example.com/v1`, before they
    /// are created or updated.
    ///
    /// # Errors
    ///
    /// The server has no such kind.
    pub fn defaults(
        &self,
        api_version: &str,
        kind: &str,
        default: impl Fn(&Value) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Result<(), String> {
        let found = self.kind_of(api_version, kind)?;
        self.add_defaulting(&found, api_version, Arc::new(move |_, object| default(object)));
        Ok(())
    }

    /// Adds a webhook that validates a kind. It gets the objects before and after a request in `api_version`: a creation has
    /// no object before it, a deletion none after it.
    ///
    /// # Errors
    ///
    /// The server has no such kind.
    pub fn validates(
        &self,
        api_version: &str,
        kind: &str,
        validate: impl Fn(Option<&Value>, Option<&Value>) -> Result<(), String> + Send + Sync + 'static,
    ) -> Result<(), String> {
        let found = self.kind_of(api_version, kind)?;
        self.add_validating(&found, api_version, Arc::new(validate));
        Ok(())
    }

    fn add_defaulting(&self, kind: &KindVersions, api_version: &str, function: Defaulting) {
        let mut admission = kind.admission.clone();
        admission.defaulting.push(Versioned { api_version: api_version.to_owned(), function });
        self.replace_kind(kind.with_admission(admission));
    }

    fn add_validating(&self, kind: &KindVersions, api_version: &str, function: Validating) {
        let mut admission = kind.admission.clone();
        admission.validating.push(Versioned { api_version: api_version.to_owned(), function });
        self.replace_kind(kind.with_admission(admission));
    }

    /// Adds the webhooks of MutatingWebhookConfigurations and ValidatingWebhookConfigurations, and the conversion webhooks of
    /// the CRDs. The function gets the path of a webhook and an AdmissionReview or a ConversionReview, and returns the review
    /// with the response.
    ///
    /// Rules for subresources, and for kinds that the server does not have, are ignored. A namespace selector selects all
    /// namespaces.
    ///
    /// # Errors
    ///
    /// A webhook has no path, or selects objects by labels or conditions, which is not supported.
    pub fn webhooks(
        &self,
        (configurations, answer): (Vec<Value>, impl Fn(&str, &Value) -> Result<Value, String> + Send + Sync + 'static),
    ) -> Result<(), String> {
        let reviewer: Reviewer = Arc::new(answer);
        for configuration in &configurations {
            let defaults = configuration["kind"] == "MutatingWebhookConfiguration";
            for webhook in configuration["webhooks"].as_array().into_iter().flatten() {
                self.add_webhook(webhook, defaults, &reviewer)?;
            }
        }
        for kind in self.kinds() {
            let Some(path) = kind.conversion_path().map(str::to_owned) else { continue };
            let (crd, reviewer) = (kind.storage().qualified(), reviewer.clone());
            self.convert(&crd, move |object, api_version| convert(&reviewer, &path, object, api_version))?;
        }
        Ok(())
    }

    /// Adds a webhook of a configuration for the kinds of its rules.
    fn add_webhook(&self, webhook: &Value, defaults: bool, reviewer: &Reviewer) -> Result<(), String> {
        let name = webhook["name"].as_str().unwrap_or_default();
        let path = path(&webhook["clientConfig"]).ok_or_else(|| format!("the webhook {name} has no path"))?;
        let is_empty = |value: &Value| match value {
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            value => value.is_null(),
        };
        if let Some(field) = CONDITIONS.iter().find(|field| !is_empty(&webhook[**field])) {
            return Err(format!("the webhook {name} has `{field}`, which is not supported"));
        }
        for rule in webhook["rules"].as_array().into_iter().flatten() {
            for (kind, version) in self.ruled(rule) {
                let api_version = version.api_version();
                let operations = texts(&rule["operations"]).map(str::to_owned).collect();
                let ruled = RuledWebhook { version, path: path.to_owned(), operations, reviewer: reviewer.clone() };
                if defaults {
                    let default = move |old: Option<&Value>, new: &Value| ruled.default(old, new);
                    self.add_defaulting(&kind, &api_version, Arc::new(default));
                } else {
                    let validate = move |old: Option<&Value>, new: Option<&Value>| ruled.ask(old, new).map(drop);
                    self.add_validating(&kind, &api_version, Arc::new(validate));
                }
            }
        }
        Ok(())
    }

    fn kind_of(&self, api_version: &str, kind: &str) -> Result<Arc<KindVersions>, String> {
        let is_wanted = |known: &Arc<KindVersions>| known.at(api_version).is_some_and(|version| version.kind == kind);
        let found = self.kinds().into_iter().find(is_wanted);
        found.ok_or_else(|| format!("the kind {api_version} {kind} is unknown: call `add_crd` first"))
    }

    /// The kinds with webhooks, and those with several versions.
    pub(crate) fn reviewed(&self) -> Vec<Arc<KindVersions>> {
        let is_reviewed = |kind: &KindVersions| !kind.admission.is_empty() || kind.all().count() > 1;
        self.kinds().into_iter().filter(|kind| is_reviewed(kind)).collect()
    }

    /// Returns a copy of the state without admission webhooks.
    pub(crate) fn without_webhooks(&self) -> Self {
        let server = self.snapshot();
        for kind in self.reviewed() {
            server.replace_kind(kind.with_admission(Admission::default()));
        }
        server
    }

    /// The kinds of a rule, each with the first version that the rule names.
    fn ruled(&self, rule: &Value) -> Vec<(Arc<KindVersions>, Arc<Resource>)> {
        let names = |field: &str, name: &str| texts(&rule[field]).any(|text| text == "*" || text == name);
        let is_ruled = |version: &&Arc<Resource>| {
            names("apiGroups", &version.group)
                && names("resources", &version.plural)
                && names("apiVersions", &version.version)
        };
        let kinds = self.kinds().into_iter();
        kinds
            .filter_map(|kind| {
                let version = kind.all().find(is_ruled)?.clone();
                Some((kind, version))
            })
            .collect()
    }
}

impl RuledWebhook {
    /// Sets the defaults of an object.
    fn default(&self, old: Option<&Value>, new: &Value) -> Result<Value, String> {
        let response = self.ask(old, Some(new))?;
        let Some(patch) = response.get("patch").filter(|patch| !patch.is_null()) else { return Ok(new.clone()) };
        // kube writes the bytes of the patch as a list, which kube-apiserver reads like base64.
        let wrong = |error: serde_json::Error| format!("the patch is not a list of the bytes of a JSON patch: {error}");
        let patch: Vec<u8> = serde_json::from_value(patch.clone()).map_err(wrong)?;
        let patch: json_patch::Patch = serde_json::from_slice(&patch).map_err(wrong)?;
        let mut object = new.clone();
        json_patch::patch(&mut object, &patch).map_err(|error| format!("the patch does not apply: {error}"))?;
        Ok(object)
    }

    /// Asks about a change. Returns the response, or the message of a refusal.
    fn ask(&self, old: Option<&Value>, new: Option<&Value>) -> Result<Value, String> {
        let operation = match (old, new) {
            (None, _) => "CREATE",
            (_, None) => "DELETE",
            _ => "UPDATE",
        };
        if !self.operations.iter().any(|one| one == "*" || one == operation) {
            return Ok(json!({}));
        }
        let metadata = &new.or(old).unwrap_or(&Value::Null)["metadata"];
        let Resource { group, version, kind, plural, .. } = &*self.version;
        let review = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
                "kind": { "group": group, "version": version, "kind": kind },
                "resource": { "group": group, "version": version, "resource": plural },
                "name": metadata["name"].as_str().unwrap_or_default(), "namespace": metadata["namespace"],
                "operation": operation, "userInfo": { "username": "explorer" }, "dryRun": false,
                "object": new, "oldObject": old,
            },
        });
        let mut answer = (self.reviewer)(&self.path, &review)?;
        let response = answer["response"].take();
        match response["allowed"].as_bool() {
            Some(true) => Ok(response),
            Some(false) => Err(response["status"]["message"].as_str().unwrap_or("no reason").to_owned()),
            None => Err(format!("the webhook at {} gives no response", self.path)),
        }
    }
}

/// Converts an object to an API version.
fn convert(reviewer: &Reviewer, path: &str, object: &Value, api_version: &str) -> Result<Value, String> {
    let review = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "desiredAPIVersion": api_version, "objects": [object],
        },
    });
    let mut answer = reviewer(path, &review)?;
    let response = &mut answer["response"];
    match response["result"]["status"].as_str() {
        Some("Success") => Ok(response["convertedObjects"][0].take()),
        _ => Err(response["result"]["message"].as_str().unwrap_or("no reason").to_owned()),
    }
}

/// The path of a webhook: that of its Service, or that of its URL.
pub(crate) fn path(client: &Value) -> Option<&str> {
    let of_url = || {
        let (_, rest) = client["url"].as_str()?.split_once("://")?;
        rest.find('/').map(|start| &rest[start..])
    };
    client["service"]["path"].as_str().or_else(of_url)
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}
