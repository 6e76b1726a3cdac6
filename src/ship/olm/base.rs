//! The CSV of its author: the provider and the purpose of the operator.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::owned::words;
use crate::yaml;

/// The namespaces in which the operator can work, with the names of OLM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum InstallMode {
    /// Its own namespace.
    OwnNamespace,
    /// One other namespace.
    SingleNamespace,
    /// Several namespaces.
    MultiNamespace,
    /// All namespaces.
    AllNamespaces,
}

impl InstallMode {
    /// All of them, in the order of OLM's documentation.
    pub(crate) const ALL: [Self; 4] =
        [Self::OwnNamespace, Self::SingleNamespace, Self::MultiNamespace, Self::AllNamespaces];

    /// Returns the name that OLM uses.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::OwnNamespace => "OwnNamespace",
            Self::SingleNamespace => "SingleNamespace",
            Self::MultiNamespace => "MultiNamespace",
            Self::AllNamespaces => "AllNamespaces",
        }
    }
}

/// The answers of the author. The author writes missing answers into the file.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    pub(crate) package: String,
    pub(crate) display_name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) capabilities: Option<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) keywords: Vec<String>,
    /// URLs by name.
    pub(crate) links: BTreeMap<String, String>,
    /// Addresses by name.
    pub(crate) maintainers: BTreeMap<String, String>,
    pub(crate) provider: Option<String>,
    pub(crate) provider_url: Option<String>,
    pub(crate) maturity: Option<String>,
    pub(crate) min_kube_version: Option<String>,
    /// The media type, and the file in Base64.
    pub(crate) icon: Option<(String, String)>,
    pub(crate) install_modes: Vec<InstallMode>,
    pub(crate) repository: Option<String>,
}

/// The CSV of an unknown package.
pub(super) fn empty(package: &str) -> Value {
    value(&Answers { package: package.to_owned(), ..Answers::default() })
}

/// Renders the file that the author edits afterwards.
pub(crate) fn file(answers: &Answers) -> String {
    format!(
        "# What is said of the operator in catalogs: yours to edit. `generate bundle` adds the rest: version, deployments, permissions,\n\
         # webhooks, images, CRDs and their fields. What customresourcedefinitions.owned says of a CRD or a field goes before its code.\n\
         {}",
        yaml::document(&value(answers))
    )
}

fn value(answers: &Answers) -> Value {
    let Answers { package, .. } = answers;
    let display = answers.display_name.clone().unwrap_or_else(|| words(package));
    let modes = if answers.install_modes.is_empty() { &[InstallMode::AllNamespaces] } else { &*answers.install_modes };
    let modes: Vec<Value> = InstallMode::ALL
        .iter()
        .map(|mode| json!({ "type": mode.as_str(), "supported": modes.contains(mode) }))
        .collect();
    let mut annotations = json!({
        "alm-examples": "[]",
        "capabilities": answers.capabilities.as_deref().unwrap_or("Basic Install"),
    });
    let mut spec = json!({
        "apiservicedefinitions": {},
        "customresourcedefinitions": {},
        "description": answers.description.clone().unwrap_or_else(|| format!("{display} is an operator for Kubernetes.")),
        "displayName": display,
        "install": { "strategy": "deployment", "spec": { "deployments": [] } },
        "installModes": modes,
        "keywords": if answers.keywords.is_empty() { vec![package.clone()] } else { answers.keywords.clone() },
        "maturity": answers.maturity.as_deref().unwrap_or("alpha"),
        "version": "0.0.0",
    });
    if !answers.categories.is_empty() {
        annotations["categories"] = answers.categories.join(", ").into();
    }
    if let Some(repository) = &answers.repository {
        annotations["repository"] = repository.as_str().into();
    }
    let pairs = |map: &BTreeMap<String, String>, value: &str| -> Vec<Value> {
        map.iter().map(|(name, of)| json!({ "name": name, value: of })).collect()
    };
    if !answers.links.is_empty() {
        spec["links"] = pairs(&answers.links, "url").into();
    }
    if !answers.maintainers.is_empty() {
        spec["maintainers"] = pairs(&answers.maintainers, "email").into();
    }
    if let Some(name) = &answers.provider {
        spec["provider"]["name"] = name.as_str().into();
    }
    if let Some(url) = &answers.provider_url {
        spec["provider"]["url"] = url.as_str().into();
    }
    if let Some(version) = &answers.min_kube_version {
        spec["minKubeVersion"] = version.as_str().into();
    }
    if let Some((mediatype, data)) = &answers.icon {
        spec["icon"] = json!([{ "base64data": data, "mediatype": mediatype }]);
    }
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": { "annotations": annotations, "name": format!("{package}.v0.0.0"), "namespace": "placeholder" },
        "spec": spec,
    })
}
