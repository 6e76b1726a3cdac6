//! The webhook step: markers of all packages → configurations, compared with the handlers in the code.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::ManifestOptions;
use crate::crd::{self, Crd};
use crate::diagnostic::Diagnostics;
use crate::ops::Findings;
use crate::source::SourceTree;
use crate::webhook::{self, Handlers, WebhookManifests};

/// The configurations of webhooks.
#[derive(Default)]
pub(crate) struct Configurations {
    /// `None` if webhooks are not requested.
    pub(crate) documents: Option<Vec<Value>>,
    /// The configurations may be incomplete because of an error.
    pub(crate) doubtful: bool,
}

#[derive(Default)]
pub(super) struct WebhookStep {
    webhooks: Vec<WebhookManifests>,
    handlers: Handlers,
    doubtful: bool,
}

impl WebhookStep {
    /// Adds the webhooks of a package; `broken` if a part of it could not be loaded.
    pub(super) fn read(&mut self, tree: &mut SourceTree, broken: bool) -> Diagnostics {
        let Findings { value, mut diagnostics } = Findings::settled(tree, webhook::webhooks);
        let (served, read) = tree.settle(webhook::handlers);
        diagnostics.extend(read);
        self.webhooks.push(value);
        self.handlers.extend(served);
        self.doubtful |= broken || diagnostics.has_errors();
        diagnostics
    }

    /// Builds the configurations. `crds` are the CRDs of the same run, or `None` after an error: resources may be missing then.
    pub(super) fn finish(
        self,
        options: &ManifestOptions,
        confined_to: Option<&[String]>,
        crds: Option<&[Crd]>,
    ) -> Findings<Configurations> {
        let Findings { value: mut documents, mut diagnostics } = Findings::from(webhook::documents(&self.webhooks));
        if let Some(namespaces) = confined_to {
            webhook::confine(&mut documents, namespaces);
        }
        let doubtful = self.doubtful || diagnostics.has_errors();
        // Source that was not read may have more handlers and markers.
        if options.packages.all && options.paths.is_empty() && !doubtful {
            diagnostics.extend(self.handlers.compare(&self.webhooks));
            if let Some(crds) = crds.filter(|_| options.choice.is_all() && !diagnostics.has_errors()) {
                diagnostics.extend(webhook::unserved(&self.webhooks, &plurals(crds)));
            }
        }
        Findings { value: Configurations { documents: Some(documents), doubtful }, diagnostics }
    }
}

/// The resources of each group.
fn plurals(crds: &[Crd]) -> BTreeMap<String, BTreeSet<String>> {
    let mut plurals: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for crd in crds {
        let plural = crd.value["spec"]["names"]["plural"].as_str().unwrap_or_default();
        plurals.entry(crd::group(&crd.value).to_owned()).or_default().insert(plural.to_owned());
    }
    plurals
}
