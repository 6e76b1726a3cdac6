//! The kinds, controllers, webhooks and requests in the source of a crate.

use std::collections::BTreeSet;

use anyhow::Result;
use syn::spanned::Spanned as _;

use crate::api;
use crate::diagnostic::{Diagnostics, Origin};
use crate::k8s::{self, CustomResource};
use crate::ops::rbac::{RbacSource, RbacSourceOptions};
use crate::rbac::RbacTarget;
use crate::source::{FeatureSelection, PackageSelection, Packages, Pending, SourceChoice, SourceTree};
use crate::webhook::{self, WebhookKind};

/// A custom resource version in the source.
pub(super) struct CrateKind {
    pub(super) custom: CustomResource,
    pub(super) plural: String,
    /// The path of its module, from the root of the crate.
    pub(super) module: String,
    pub(super) origin: Origin,
    /// Cargo.toml lists it as a kind of another project.
    pub(super) is_foreign: bool,
}

/// A rule of a webhook marker.
struct WebhookRule {
    kind: WebhookKind,
    groups: Vec<String>,
    versions: Vec<String>,
    resources: Vec<String>,
}

/// The facts about a crate that PROJECT records.
pub(super) struct CrateSource {
    /// In the order of the source.
    pub(super) kinds: Vec<CrateKind>,
    pub(super) code: RbacSource,
    webhooks: Vec<WebhookRule>,
    /// Group and plural of the kinds with a controller.
    controlled: BTreeSet<(String, String)>,
}

impl CrateSource {
    /// Reads the package that `selection` names.
    pub(super) fn read(packages: &Packages, selection: &PackageSelection) -> Result<Self> {
        let (mut kinds, mut webhooks) = (Vec::new(), Vec::new());
        for member in &packages.members {
            let (mut tree, _) =
                k8s::load_below(&packages.root, &member.dir, &FeatureSelection::default(), &Pending::default())?;
            // `generate` reports what it cannot read.
            let (found, _) = tree.settle(declared);
            let own = SourceChoice::default().without(&tree.manifest().external)?;
            kinds.extend(
                found.into_iter().map(|kind| CrateKind { is_foreign: !own.takes(&kind.custom.name()), ..kind }),
            );
            let ((found, _), _) = tree.settle(webhook::webhooks);
            webhooks.extend(found.webhooks.iter().map(|webhook| rule(webhook.kind, &webhook.value["rules"][0])));
        }
        let options = RbacSourceOptions { packages: selection.clone(), ..RbacSourceOptions::default() };
        let code = RbacSource::read(&options)?;
        let started = code.usages.iter().filter(|usage| usage.call.starts_with("Controller<"));
        let controlled = started.filter_map(|usage| match &usage.permission.target {
            RbacTarget::Resource { group, resource, .. } => Some((group.clone(), resource.clone())),
            RbacTarget::Url(_) => None,
        });
        Ok(Self { kinds, webhooks, controlled: controlled.collect(), code })
    }

    /// Returns true if the code starts a controller of the kind.
    pub(super) fn is_controlled(&self, kind: &CrateKind) -> bool {
        self.controlled.contains(&(kind.custom.group.clone(), kind.plural.clone()))
    }

    /// Returns true for a defaulting webhook of the version, and for a validating one.
    pub(super) fn webhooks_of(&self, kind: &CrateKind) -> (bool, bool) {
        let is_about = |rule: &&WebhookRule| {
            rule.groups.contains(&kind.custom.group)
                && rule.versions.contains(&kind.custom.version)
                && rule.resources.contains(&kind.plural)
        };
        let has = |wanted: WebhookKind| self.webhooks.iter().filter(is_about).any(|rule| rule.kind == wanted);
        (has(WebhookKind::Mutating), has(WebhookKind::Validating))
    }
}

fn declared(tree: &SourceTree) -> Vec<CrateKind> {
    let (declared, _): (_, Diagnostics) = api::declared(tree);
    let kinds = declared.into_iter().filter_map(|declared| {
        let custom = k8s::custom_resource(tree, declared.item)?;
        let module = tree.module(declared.item);
        let path = tree.module_path(module);
        let below = path[1..].iter().map(|name| format!("::{name}"));
        Some(CrateKind {
            plural: api::plural_of(&custom),
            module: format!("crate{}", below.collect::<String>()),
            origin: tree.origin(module, tree.item(declared.item).span()),
            is_foreign: false,
            custom,
        })
    });
    kinds.collect()
}

fn rule(kind: WebhookKind, rule: &serde_json::Value) -> WebhookRule {
    let texts = |key: &str| {
        let texts = rule[key].as_array().into_iter().flatten().filter_map(|text| text.as_str());
        texts.map(str::to_owned).collect()
    };
    WebhookRule { kind, groups: texts("apiGroups"), versions: texts("apiVersions"), resources: texts("resources") }
}
