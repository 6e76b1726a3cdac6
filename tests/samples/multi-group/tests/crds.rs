// SPDX-FileCopyrightText: The_Authors
// SPDX-License-Identifier: Apache-2.0

//! The CRDs in `config/crd/bases` are those that the compiler derives from the types.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::{Value, json};

/// Every version of every kind.
fn derived() -> Vec<CustomResourceDefinition> {
    vec![
        multi_group::api::ship::v1beta1::frigate::Frigate::crd(),
        multi_group::api::ship::v1::frigate::Frigate::crd(),
        multi_group::api::sea_creatures::v1alpha1::humpback_whale_migration_observation::HumpbackWhaleMigrationObservation::crd(),
        // +kubebuilder:scaffold:crds
    ]
}

/// Differences that are wanted, such as those of `generate --fix`, as the test prints them: CRD, version, JSON pointer.
const PERMITTED: &[&str] = &[];

#[test]
fn files_equal_types() {
    let (types, files) = (types(), files());
    let places = types.keys().chain(files.keys()).map(String::as_str);
    let differing: BTreeSet<&str> = places
        .filter(|place| types.get(*place) != files.get(*place))
        .collect();
    let permitted: BTreeSet<&str> = PERMITTED.iter().copied().collect();
    let wrong: Vec<String> = differing
        .symmetric_difference(&permitted)
        .map(|place| {
            let (types, files) = (show(types.get(*place)), show(files.get(*place)));
            format!("{place}: types say {types:.120}, files say {files:.120}")
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "run `make manifests`, or look at `PERMITTED`; types and files differ:\n{}",
        wrong.join("\n")
    );
}

/// The scalar values in CRDs, by JSON pointer.
type Values = BTreeMap<String, Value>;

fn types() -> Values {
    let mut values = Values::new();
    for crd in derived() {
        add(json!(crd), &mut values);
    }
    values
}

fn files() -> Values {
    let mut values = Values::new();
    for entry in fs::read_dir("config/crd/bases").into_iter().flatten() {
        let path = entry.expect("a folder can be read").path();
        if path
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            let text = fs::read_to_string(&path).expect("a CRD is text");
            let crd = serde_saphyr::from_str(&text);
            add(
                crd.unwrap_or_else(|error| panic!("{}: {error}", path.display())),
                &mut values,
            );
        }
    }
    values
}

/// Adds each version on its own, as kube derives it.
fn add(mut crd: Value, values: &mut Values) {
    let versions = crd["spec"]["versions"].take();
    for version in versions.as_array().expect("a CRD has versions") {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let place = format!(
            "{} {} ",
            text(&crd["metadata"]["name"]),
            text(&version["name"])
        );
        crd["spec"]["versions"] = json!([version]);
        collect(place, &crd, values);
    }
}

fn collect(place: String, value: &Value, values: &mut Values) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                collect(format!("{place}/{name}"), value, values);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, value) in items.iter().enumerate() {
                collect(format!("{place}/{index}"), value, values);
            }
        }
        // The types say 0.0 where the files say 0.
        Value::Number(number) => put(place, json!(number.as_f64()), values),
        value => put(place, value.clone(), values),
    }
}

fn put(place: String, value: Value, values: &mut Values) {
    let before = values.insert(place.clone(), value);
    assert!(before.is_none(), "there are two of {place}");
}

fn show(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), Value::to_string)
}
