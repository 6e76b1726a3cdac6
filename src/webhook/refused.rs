//! Webhooks that controller-gen accepts but the API server rejects or never calls, and those that prevent the operator
//! from starting.
//!
//! Follows `ValidateMutatingWebhookConfiguration` of Kubernetes.

use serde_json::Value;

use super::kind::WebhookKind;
use super::marker::Webhook;
use crate::diagnostic::{Code, Diagnostic};

pub(super) fn check(webhook: &Webhook) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut warn = |message: String, help: &str| {
        found.push(Diagnostic::new(Code::WebhookRule, message).help(help).at(webhook.origin.clone()));
    };
    name(webhook.name(), &mut warn);
    policies(webhook, &mut warn);
    versions(&webhook.value["admissionReviewVersions"], &mut warn);
    for rule in webhook.value["rules"].as_array().into_iter().flatten() {
        self::rule(rule, &mut warn);
    }
    client_config(&webhook.value["clientConfig"], &mut warn);
    found.extend(deadlock(webhook));
    found
}

/// Groups and plurals of the resources that must be writable before a stopped operator can serve its webhooks again.
const NEEDED: [(&str, &str); 8] = [
    ("", "configmaps"),
    ("", "pods"),
    ("", "secrets"),
    ("", "serviceaccounts"),
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("coordination.k8s.io", "leases"),
    ("discovery.k8s.io", "endpointslices"),
];

/// Reports a webhook that prevents its own operator from starting.
fn deadlock(webhook: &Webhook) -> Option<Diagnostic> {
    let value = &webhook.value;
    let selects = |key: &str| {
        let selector = &value[key];
        selector.as_object().is_some_and(|fields| !fields.is_empty())
            || selector.as_array().is_some_and(|conditions| !conditions.is_empty())
    };
    if value["failurePolicy"] == "Ignore"
        || ["matchConditions", "namespaceSelector", "objectSelector"].into_iter().any(selects)
    {
        return None;
    }
    let is_about = |rule: &Value, (group, resource): (&str, &str)| {
        let has = |key: &str, wanted: &[&str]| texts(&rule[key]).any(|text| wanted.contains(&text));
        has("apiGroups", &[group, "*"])
            && has("resources", &[resource, "*", "*/*"])
            && has("operations", &["CREATE", "UPDATE", "*"])
    };
    let rules = value["rules"].as_array()?;
    let needed: Vec<&str> = NEEDED
        .into_iter()
        .filter(|needed| rules.iter().any(|rule| is_about(rule, *needed)))
        .map(|(_, resource)| resource)
        .collect();
    if needed.is_empty() {
        return None;
    }
    let message = format!(
        "webhook `{}` intercepts {} of its own operator: when the operator is down, it cannot start again",
        webhook.name(),
        needed.join(", ")
    );
    let help = "set `failurePolicy=ignore`, or exclude the namespace of the operator:\n\
                patch=`{\"namespaceSelector\":{\"matchExpressions\":[{\"key\":\"kubernetes.io/metadata.name\",\
                \"operator\":\"NotIn\",\"values\":[\"NAMESPACE\"]}]}}`";
    Some(Diagnostic::new(Code::WebhookDeadlock, message).help(help).at(webhook.origin.clone()))
}

fn name(name: &str, warn: &mut dyn FnMut(String, &str)) {
    let is_part = |part: &str| {
        let edges = [part.chars().next(), part.chars().next_back()];
        edges.iter().all(|edge| edge.is_some_and(|edge| edge.is_ascii_lowercase() || edge.is_ascii_digit()))
            && part.chars().all(|char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-')
    };
    if name.split('.').count() < 3 || !name.split('.').all(is_part) || name.len() > 253 {
        let help = "use at least three parts of lower-case letters, digits and `-`, such as \
                    `vmemcached-v1.cache.example.com`";
        warn(format!("`{name}` is not a valid name of a webhook"), help);
    }
}

fn policies(webhook: &Webhook, warn: &mut dyn FnMut(String, &str)) {
    let policy = webhook.value["failurePolicy"].as_str().unwrap_or("Fail");
    if !["Fail", "Ignore"].contains(&policy) {
        warn(format!("unknown failurePolicy `{policy}`"), "use `fail` or `ignore`");
    }
    let said = &webhook.reinvocation;
    if !said.is_empty() && webhook.kind == WebhookKind::Validating {
        let help = "remove `reinvocationPolicy`: only mutating webhooks are reinvoked";
        warn("a validating webhook cannot have a reinvocationPolicy".to_owned(), help);
    } else if !["", "never", "ifneeded"].contains(&said.to_lowercase().as_str()) {
        warn(format!("unknown reinvocationPolicy `{said}`: it is ignored"), "use `Never` or `IfNeeded`");
    }
}

fn versions(versions: &Value, warn: &mut dyn FnMut(String, &str)) {
    if !texts(versions).any(|version| ["v1", "v1beta1"].contains(&version)) {
        let message = "admissionReviewVersions has no version that the API server supports".to_owned();
        warn(message, "use `admissionReviewVersions=v1`");
    }
}

fn rule(rule: &Value, warn: &mut dyn FnMut(String, &str)) {
    for (key, argument) in
        [("apiGroups", "groups"), ("apiVersions", "versions"), ("operations", "verbs"), ("resources", "resources")]
    {
        let items: Vec<&str> = texts(&rule[key]).collect();
        if items.is_empty() {
            warn(format!("`{argument}` is empty: the webhook matches no request"), "add items, or `*` for all");
        }
        if items.len() > 1 && items.contains(&"*") && argument != "resources" {
            warn(format!("`{argument}` has `*` beside other items"), "remove the other items: `*` matches all");
        }
        if items.contains(&"") && argument != "groups" {
            warn(format!("an item of `{argument}` is empty"), "remove the empty item");
        }
    }
    for verb in texts(&rule["operations"]) {
        if !["CREATE", "UPDATE", "DELETE", "CONNECT", "*"].contains(&verb) {
            let help = "use `create`, `update`, `delete` or `connect`; a patch is an `update`";
            warn(format!("`{verb}` is not a valid operation of a webhook"), help);
        }
    }
}

fn client_config(config: &Value, warn: &mut dyn FnMut(String, &str)) {
    if let Some(path) = config["service"]["path"].as_str().filter(|path| !path.starts_with('/')) {
        warn(format!("the path `{path}` must start with `/`"), "use `path=/…`");
    }
    if let Some(port) = config["service"]["port"].as_i64().filter(|port| !(1..=65535).contains(port)) {
        warn(format!("{port} is not a valid port"), "use a port between 1 and 65535");
    }
    if let Some(url) = config["url"].as_str() {
        if !url.starts_with("https://") {
            warn(
                format!("the URL `{url}` must start with `https://`"),
                "the API server calls webhooks only through TLS",
            );
        } else if url.contains(['?', '#', '@']) {
            warn(
                format!("the URL `{url}` must not have a user, a query or a fragment"),
                "keep only host, port and path",
            );
        }
    }
}

pub(super) fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}
