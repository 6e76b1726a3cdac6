//! Builds webhook configurations from `+kubebuilder:webhook` markers.
//!
//! Input: the markers of one or several packages, and the handlers in their code. Output: the documents of
//! `manifests.yaml`, and findings about markers that the API server would reject or never call. Must stay true:
//! semantics and order are controller-gen's, so that the same markers give the same file.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin};
use crate::source::SourceTree;
use crate::source::marker::{WEBHOOK, WEBHOOK_CONFIGURATION};

mod confine;
mod handler;
mod kind;
mod marker;
mod patch;
mod refused;

pub use self::confine::confine;
pub use self::handler::{Handlers, handlers};
pub use self::kind::WebhookKind;
pub use self::marker::{Webhook, WebhookManifests};

/// Reports webhooks for resources that do not exist in their group: the API server never calls these. `resources` lists
/// the resources of each group in the source; other groups are not checked.
pub fn unserved(packages: &[WebhookManifests], resources: &BTreeMap<String, BTreeSet<String>>) -> Diagnostics {
    let mut found = Diagnostics::default();
    for webhook in packages.iter().flat_map(|package| &package.webhooks) {
        for rule in webhook.value["rules"].as_array().into_iter().flatten() {
            for group in refused::texts(&rule["apiGroups"]) {
                let Some(known) = resources.get(group) else { continue };
                for resource in refused::texts(&rule["resources"]) {
                    let plural = resource.split('/').next().unwrap_or_default();
                    if plural == "*" || known.contains(plural) {
                        continue;
                    }
                    let message = format!(
                        "resource `{plural}` not found in group `{group}`; the API server never calls this webhook"
                    );
                    let known: Vec<&str> = known.iter().map(String::as_str).collect();
                    let help = format!("use a resource of the group: `{}`", known.join("`, `"));
                    found.push(Diagnostic::new(Code::WebhookResource, message).help(help).at(webhook.origin.clone()));
                }
            }
        }
    }
    found
}

/// Parses the webhook markers of a package.
pub fn webhooks(tree: &SourceTree) -> (WebhookManifests, Diagnostics) {
    let (markers, mut found) = tree.markers(&[WEBHOOK, WEBHOOK_CONFIGURATION]);
    let mut all = WebhookManifests::default();
    for marker in &markers {
        if marker.name == WEBHOOK_CONFIGURATION {
            let (kind, name) = (WebhookKind::of(marker), marker.string("name"));
            if let Some((_, first)) = all.names.get(&kind) {
                let message = format!("duplicate {} {WEBHOOK_CONFIGURATION} with name {name}", kind.as_str());
                let help = format!("remove this marker or the one at {}", place(first));
                found.push(Diagnostic::new(Code::DuplicateWebhook, message).help(help).at(marker.origin.clone()));
            } else {
                all.names.insert(kind, (name, marker.origin.clone()));
            }
        } else {
            all.webhooks.extend(marker::webhook(marker, &mut found));
        }
    }
    found.extend(all.webhooks.iter().flat_map(refused::check).collect());
    (all, found)
}

/// The documents of `manifests.yaml`, from the markers of all packages. As in controller-gen, the last package
/// determines the name of an object.
pub fn documents(packages: &[WebhookManifests]) -> (Vec<Value>, Diagnostics) {
    let mut found = Diagnostics::default();
    let mut documents = Vec::new();
    for kind in [WebhookKind::Mutating, WebhookKind::Validating] {
        let all = packages.iter().flat_map(|package| &package.webhooks);
        let mut webhooks: Vec<&Webhook> = all.filter(|webhook| webhook.kind == kind).collect();
        webhooks.sort_by(|one, other| one.name().cmp(other.name()));
        for [one, other] in webhooks.array_windows() {
            if one.name() == other.name() {
                let message = format!("two {} webhooks have the name `{}`", kind.as_str(), one.name());
                let help = format!(
                    "rename one of them: the API server requires unique names; the other webhook is at {}",
                    place(&one.origin)
                );
                found.push(Diagnostic::new(Code::DuplicateWebhook, message).help(help).at(other.origin.clone()));
            }
        }
        let name = name(packages, kind, &mut found);
        if !webhooks.is_empty() {
            documents.push(json!({
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": kind.configuration(),
                "metadata": { "name": name },
                "webhooks": webhooks.iter().map(|webhook| &webhook.value).collect::<Vec<_>>(),
            }));
        }
    }
    (documents, found)
}

fn name<'a>(packages: &'a [WebhookManifests], kind: WebhookKind, found: &mut Diagnostics) -> &'a str {
    let mut names = packages.iter().filter_map(|package| package.names.get(&kind)).rev();
    let last = names.next();
    for (name, origin) in names.filter(|(name, _)| last.is_some_and(|(last, _)| last != name)) {
        let last = last.map(|(last, origin)| format!("`{last}`, set at {}", place(origin))).unwrap_or_default();
        let message = format!("the {}s are in one object, whose name is not `{name}`", kind.configuration());
        let help = format!("its name is {last}: remove one of the markers");
        found.push(Diagnostic::new(Code::WebhookRule, message).help(help).at(origin.clone()));
    }
    last.map(|(name, _)| name.as_str()).filter(|name| !name.is_empty()).unwrap_or(kind.default_name())
}

fn place(origin: &Origin) -> String {
    let (line, column) = origin.line_column();
    format!("{}:{line}:{column}", origin.path)
}
