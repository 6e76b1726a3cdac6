//! The CRDs in `config/crd/bases` are those that the compiler derives from the types.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::Value;

/// Every version of every kind.
fn derived() -> Vec<CustomResourceDefinition> {
    vec![
        multi_group::api::ship::v1beta1::frigate::Frigate::crd(),
        multi_group::api::ship::v1::frigate::Frigate::crd(),
        multi_group::api::sea_creatures::v1alpha1::humpback_whale_migration_observation::HumpbackWhaleMigrationObservation::crd(),
        // +kubebuilder:scaffold:crds
    ]
}

/// Differences that are wanted, as `file: JSON pointer`; empty means that the files say what the types say.
const PERMITTED: [&str; 0] = [];

#[test]
fn files_equal_types() {
    let mut expected = BTreeMap::<String, BTreeMap<String, Value>>::new();
    for crd in derived() {
        let file = format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural);
        let (version, crd) = split(&serde_json::to_value(crd).unwrap()).remove(0);
        assert!(
            expected
                .entry(file)
                .or_default()
                .insert(version, crd)
                .is_none(),
            "a version is twice in `derived`"
        );
    }

    let mut actual = BTreeMap::<String, BTreeMap<String, Value>>::new();
    for (file, text) in files(Path::new("config/crd/bases")) {
        let crd: Value =
            serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
        actual.insert(file, split(&crd).into_iter().collect());
    }

    let mut differences = BTreeSet::new();
    let (expected, actual) = (
        serde_json::to_value(expected).unwrap(),
        serde_json::to_value(actual).unwrap(),
    );
    differ("", &expected, &actual, &mut differences);
    differences.retain(|difference| {
        !PERMITTED
            .iter()
            .any(|permitted| difference.starts_with(permitted))
    });
    assert!(
        differences.is_empty(),
        "run `make manifests`; types and files differ:\n{differences:#?}"
    );
}

/// The versions of a CRD, each as a CRD with that version alone.
fn split(crd: &Value) -> Vec<(String, Value)> {
    let versions = crd["spec"]["versions"]
        .as_array()
        .expect("a CRD has versions");
    let one = |version: &Value| {
        let mut crd = crd.clone();
        crd["spec"]["versions"] = Value::Array(vec![version.clone()]);
        (
            version["name"]
                .as_str()
                .expect("a version has a name")
                .to_owned(),
            crd,
        )
    };
    versions.iter().map(one).collect()
}

fn files(folder: &Path) -> Vec<(String, String)> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.expect("a folder can be read").path());
    let yaml = paths.filter(|path| {
        path.extension()
            .is_some_and(|extension| extension == "yaml")
    });
    yaml.map(|path| {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        (name, std::fs::read_to_string(&path).expect("a CRD is text"))
    })
    .collect()
}

/// Adds the places where two values differ.
fn differ(place: &str, expected: &Value, actual: &Value, differences: &mut BTreeSet<String>) {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => {
            let keys: BTreeSet<_> = expected.keys().chain(actual.keys()).collect();
            for key in keys {
                let (expected, actual) = (expected.get(key), actual.get(key));
                let null = Value::Null;
                let place = format!("{place}/{key}");
                differ(
                    &place,
                    expected.unwrap_or(&null),
                    actual.unwrap_or(&null),
                    differences,
                );
            }
        }
        (Value::Array(expected), Value::Array(actual)) if expected.len() == actual.len() => {
            for (index, (expected, actual)) in expected.iter().zip(actual).enumerate() {
                differ(&format!("{place}/{index}"), expected, actual, differences);
            }
        }
        // The types say 0.0 where the files say 0.
        (Value::Number(expected), Value::Number(actual))
            if expected.as_f64() == actual.as_f64() => {}
        (expected, actual) if expected == actual => {}
        (expected, actual) => {
            differences.insert(format!(
                "{place}: types say {expected:.120}, files say {actual:.120}"
            ));
        }
    }
}
