//! Compares the paths in markers with those that the code serves through `manager::webhook`.

use super::kind::WebhookKind;
use super::marker::{Webhook, WebhookManifests};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::source::{MethodCall, SourceTree};

const REGISTERED: [(&str, WebhookKind); 2] =
    [("defaulting", WebhookKind::Mutating), ("validating", WebhookKind::Validating)];
/// The manager's method that registers handlers.
const WEBHOOKS: &str = "webhooks";

/// The handlers in a package's code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Handlers {
    calls: Vec<MethodCall>,
}

/// The handlers of a package; empty if it registers none with the manager.
pub fn handlers(tree: &SourceTree) -> Handlers {
    let calls = tree.method_calls(&[WEBHOOKS, REGISTERED[0].0, REGISTERED[1].0]);
    let is_served = calls.iter().any(|call| call.name == WEBHOOKS);
    Handlers { calls: if is_served { calls } else { Vec::new() } }
}

impl Handlers {
    /// Adds the handlers of another package.
    pub fn extend(&mut self, other: Self) {
        self.calls.extend(other.calls);
    }

    fn of(&self, kind: WebhookKind) -> impl Iterator<Item = &MethodCall> {
        self.calls.iter().filter(move |call| REGISTERED.contains(&(call.name, kind)))
    }

    /// Reports paths without a handler, and handlers without a marker. A handler whose path is not a literal matches
    /// any path.
    pub fn compare(&self, packages: &[WebhookManifests]) -> Diagnostics {
        let mut found = Diagnostics::default();
        if self.calls.is_empty() {
            return found;
        }
        let webhooks: Vec<&Webhook> = packages.iter().flat_map(|package| &package.webhooks).collect();
        for (method, kind) in REGISTERED {
            let named: Vec<(&Webhook, &str)> = webhooks
                .iter()
                .filter(|webhook| webhook.kind == kind)
                .filter_map(|webhook| Some((*webhook, webhook.path()?)))
                .collect();
            let all_known = self.of(kind).all(|call| call.text.is_some());
            for (webhook, path) in &named {
                if all_known && !self.of(kind).any(|call| call.text.as_deref() == Some(path)) {
                    let message = format!("the path `{path}` has no {} handler", kind.as_str());
                    let help = format!("register one: `.{method}::<…>(\"{path}\")`");
                    found.push(Diagnostic::new(Code::WebhookUnserved, message).help(help).at(webhook.origin.clone()));
                }
            }
            for call in self.of(kind) {
                let Some(path) = &call.text else { continue };
                if !named.iter().any(|(_, named)| named == path) {
                    let message = format!("the {} handler of `{path}` has no marker", kind.as_str());
                    let mutating = kind == WebhookKind::Mutating;
                    let help = format!(
                        "the API server never calls it; add `+kubebuilder:webhook:path={path},mutating={mutating},…`"
                    );
                    found.push(Diagnostic::new(Code::WebhookUnmarked, message).help(help).at(call.origin.clone()));
                }
            }
        }
        found
    }
}
