//! Builds a webhook from a `+kubebuilder:webhook` marker, with controller-gen's semantics and error texts.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::kind::WebhookKind;
use super::patch;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin};
use crate::source::marker::Marker;

/// The default Service of webhooks.
pub(super) const SERVICE: &str = "webhook-service";
const SERVICE_NAMESPACE: &str = "system";

/// A webhook in the format of the API server.
#[derive(Debug, Clone, PartialEq)]
pub struct Webhook {
    /// Its kind.
    pub kind: WebhookKind,
    /// `MutatingWebhook` or `ValidatingWebhook`.
    pub value: Value,
    pub(super) reinvocation: String,
    /// The marker.
    pub origin: Origin,
}

/// The parsed markers of a package.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WebhookManifests {
    /// The webhooks.
    pub webhooks: Vec<Webhook>,
    /// The names of configuration objects, each with its marker.
    pub names: BTreeMap<WebhookKind, (String, Origin)>,
}

impl Webhook {
    /// Its name; empty if a patch removes it.
    pub fn name(&self) -> &str {
        self.value["name"].as_str().unwrap_or_default()
    }

    /// Its path at the operator's own Service; `None` for another Service.
    pub fn path(&self) -> Option<&str> {
        let service = &self.value["clientConfig"]["service"];
        service["path"].as_str().filter(|_| service["name"] == SERVICE)
    }
}

/// The webhook of a marker; `None` if the marker has errors.
pub(super) fn webhook(marker: &Marker, found: &mut Diagnostics) -> Option<Webhook> {
    let kind = WebhookKind::of(marker);
    let mut problems = Vec::new();
    let value = value(marker, kind, &mut problems);
    for (message, help) in &problems {
        found.push(Diagnostic::new(Code::WebhookMarker, message).help(*help).at(marker.origin.clone()));
    }
    let reinvocation = marker.string("reinvocationPolicy");
    problems.is_empty().then(|| Webhook { kind, value, reinvocation, origin: marker.origin.clone() })
}

type Problems = Vec<(String, &'static str)>;

fn value(marker: &Marker, kind: WebhookKind, problems: &mut Problems) -> Value {
    let mut webhook = Map::new();
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            webhook.insert(key.to_owned(), value);
        }
    };
    set("admissionReviewVersions", Some(json!(marker.strings("admissionReviewVersions"))));
    set("clientConfig", Some(client_config(marker, problems)));
    set("failurePolicy", Some(json!(one_of(&["Ignore", "Fail"], marker.string("failurePolicy")))));
    set("matchPolicy", match_policy(marker, problems));
    set("name", Some(json!(marker.string("name"))));
    if kind == WebhookKind::Mutating {
        set("reinvocationPolicy", known(&["Never", "IfNeeded"], &marker.string("reinvocationPolicy")));
    }
    set("rules", Some(json!([rule(marker)])));
    set("sideEffects", known(&["None", "NoneOnDryRun", "Some"], &marker.string("sideEffects")));
    set("timeoutSeconds", marker.int("timeoutSeconds").filter(|seconds| *seconds != 0).map(|seconds| json!(seconds)));
    for version in marker.strings("webhookVersions").iter().filter(|version| *version != "v1") {
        let message = format!("unsupported webhook version: {version}");
        problems.push((message, "only `v1` is supported: remove `webhookVersions`"));
    }
    let patch = marker.string("patch");
    if !patch.is_empty()
        && let Err(why) = patch::apply(&mut webhook, &patch, kind)
    {
        let help = "write a JSON object in backticks with the fields of a webhook, as in YAML";
        problems.push((format!("failed to apply patch: {why}"), help));
    }
    required(&webhook, problems);
    Value::Object(webhook)
}

/// Checks required fields without a default; a patch may set them.
fn required(webhook: &Map<String, Value>, problems: &mut Problems) {
    const OF: &str = "v1 {Mutating,Validating}WebhookConfiguration";
    let effects = "add `sideEffects=None`, or `NoneOnDryRun` if the webhook has no side effects in a dry run";
    match webhook.get("sideEffects").and_then(Value::as_str) {
        None => problems.push((format!("SideEffects is required for creating {OF}"), effects)),
        Some("Some" | "Unknown") => {
            problems.push((format!("SideEffects should not be set to `Some` or `Unknown` for {OF}"), effects));
        }
        Some(_) => {}
    }
    if webhook.get("timeoutSeconds").and_then(Value::as_i64).is_some_and(|seconds| !(1..=30).contains(&seconds)) {
        let help = "use a value from 1 to 30, or remove `timeoutSeconds`: the default is 10";
        problems.push(("TimeoutSeconds must be between 1 and 30 seconds".to_owned(), help));
    }
    if webhook.get("admissionReviewVersions").and_then(Value::as_array).is_none_or(Vec::is_empty) {
        problems.push((format!("AdmissionReviewVersions is mandatory for {OF}"), "add `admissionReviewVersions=v1`"));
    }
}

fn client_config(marker: &Marker, problems: &mut Problems) -> Value {
    let (path, url) = (marker.string("path"), marker.string("url"));
    if path.is_empty() == url.is_empty() {
        let message = "`url` or `path` markers are required and mutually exclusive";
        problems.push((message.to_owned(), "use either `path=/…` or a quoted `url`"));
    }
    if path.is_empty() {
        return json!({ "url": url });
    }
    let or = |argument: &str, default: &str| {
        let said = marker.string(argument);
        if said.is_empty() { default.to_owned() } else { said }
    };
    let (name, namespace) = (or("serviceName", SERVICE), or("serviceNamespace", SERVICE_NAMESPACE));
    let mut service = json!({ "name": name, "namespace": namespace, "path": path });
    if let Some(port) = marker.int("servicePort") {
        service["port"] = json!(port);
    }
    json!({ "service": service })
}

fn match_policy(marker: &Marker, problems: &mut Problems) -> Option<Value> {
    let said = marker.string("matchPolicy");
    let policy = known(&["Exact", "Equivalent"], &said);
    if policy.is_none() && !said.is_empty() {
        let message = format!("unknown value {said:?} for matchPolicy");
        problems.push((message, "use `Exact` or `Equivalent`"));
    }
    policy
}

fn rule(marker: &Marker) -> Value {
    let core = |group: String| if group == "core" { String::new() } else { group };
    let verb = |verb| one_of(&["CREATE", "UPDATE", "DELETE", "CONNECT", "*"], verb);
    let lists: [(&str, Vec<String>); 4] = [
        ("apiGroups", marker.strings("groups").into_iter().map(core).collect()),
        ("apiVersions", marker.strings("versions")),
        ("operations", marker.strings("verbs").into_iter().map(verb).collect()),
        ("resources", marker.strings("resources")),
    ];
    let given = lists.into_iter().filter(|(_, list)| !list.is_empty());
    given.map(|(key, list)| (key.to_owned(), json!(list))).collect::<Map<_, _>>().into()
}

/// The value in the API server's spelling; unknown values stay.
fn one_of(values: &[&str], said: String) -> String {
    let value = values.iter().find(|value| value.eq_ignore_ascii_case(&said));
    value.map_or(said, |value| (*value).to_owned())
}

/// The value in the API server's spelling; `None` if unknown.
fn known(values: &[&str], said: &str) -> Option<Value> {
    values.iter().find(|value| value.eq_ignore_ascii_case(said)).map(|value| json!(value))
}
