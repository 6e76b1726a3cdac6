// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! Builds the objects that an object needs. Nothing here calls the API server.

use std::collections::BTreeMap;

use kube::api::ObjectMeta;
use kube::{Resource, ResourceExt};
use manager::dns_label;

use crate::api::ship::v1beta1::frigate::Frigate;

/// The labels that all objects of this controller have.
pub const LABEL_SELECTOR: &str =
    "app.kubernetes.io/name=ship-frigate,app.kubernetes.io/managed-by=multi-group";

/// The metadata of an object that belongs to this one, and is deleted with it.
pub fn metadata(object: &Frigate) -> ObjectMeta {
    ObjectMeta {
        labels: Some(labels(object)),
        name: Some(dns_label(&object.name_any())),
        namespace: object.namespace(),
        owner_references: object.controller_owner_ref(&()).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    }
}

/// The labels that select everything that belongs to this object, and nothing else.
pub fn labels(object: &Frigate) -> BTreeMap<String, String> {
    let instance = dns_label(&object.name_any());
    let labels = [
        ("instance", &*instance),
        ("managed-by", "multi-group"),
        ("name", "ship-frigate"),
    ];
    labels
        .map(|(key, value)| (format!("app.kubernetes.io/{key}"), value.to_owned()))
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/config/samples/ship_v1beta1_frigate.yaml"
    ));

    #[test]
    fn what_belongs_to_an_object_is_found_and_goes_with_it() {
        let mut object: Frigate = manager::testing::object_from_yaml(SAMPLE);
        object.metadata.uid = Some("1".to_owned());
        let metadata = metadata(&object);
        let labels = metadata.labels.unwrap();
        for label in LABEL_SELECTOR.split(',') {
            let (key, value) = label.split_once('=').unwrap();
            assert_eq!(labels.get(key).map(String::as_str), Some(value));
        }
        let owner = &metadata.owner_references.unwrap()[0];
        assert_eq!((&*owner.name, &*owner.uid), ("frigate-sample", "1"));
        assert_eq!(owner.controller, Some(true));
    }
}
