//! Scaffolded by `create api`.

use std::collections::BTreeMap;

use kube::api::ObjectMeta;
use kube::{Resource, ResourceExt};
use manager::dns_label;

use crate::api::Site;

/// The labels that all objects of this controller have.
pub const LABEL_SELECTOR: &str =
    "app.kubernetes.io/name=site,app.kubernetes.io/managed-by=site-operator";

/// The metadata of an object that belongs to this one, and is deleted with it.
pub fn metadata(site: &Site) -> ObjectMeta {
    ObjectMeta {
        labels: Some(labels(site)),
        name: Some(dns_label(&site.name_any())),
        namespace: site.namespace(),
        owner_references: site.controller_owner_ref(&()).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    }
}

/// The labels that select everything that belongs to this object, and nothing else.
pub fn labels(site: &Site) -> BTreeMap<String, String> {
    let instance = dns_label(&site.name_any());
    let labels = [
        ("instance", &*instance),
        ("managed-by", "site-operator"),
        ("name", "site"),
    ];
    labels
        .map(|(key, value)| (format!("app.kubernetes.io/{key}"), value.to_owned()))
        .into()
}
