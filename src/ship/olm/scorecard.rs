//! The tests of operator-sdk's scorecard that need no cluster, under its names:
//! <https://sdk.operatorframework.io/docs/testing-operators/scorecard/#built-in-tests>.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::folder::{Contents, Folder};
use super::validate;
use crate::diagnostic::Severity;
use crate::ship::objects::{group, items, kind, name, shown, text, version};

/// A test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Test {
    /// Every example has a `spec`.
    Spec,
    /// The bundle has no error.
    Bundle,
    /// The schema knows every field of the examples.
    Validation,
    /// The CSV lists the objects that the operator creates for a custom resource.
    Resources,
    /// Every field of an example's `spec` has a descriptor.
    SpecDescriptors,
    /// Every status has descriptors.
    StatusDescriptors,
}

/// The result of a test.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) test: Test,
    /// The errors. A test without errors passes.
    pub(crate) errors: Vec<String>,
    pub(crate) suggestions: Vec<String>,
}

impl Test {
    /// All tests in the order of operator-sdk's configuration.
    pub(crate) const ALL: [Self; 6] =
        [Self::Spec, Self::Bundle, Self::Validation, Self::Resources, Self::SpecDescriptors, Self::StatusDescriptors];

    /// Returns the name of the test.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Spec => "basic-check-spec",
            Self::Bundle => "olm-bundle-validation",
            Self::Validation => "olm-crds-have-validation",
            Self::Resources => "olm-crds-have-resources",
            Self::SpecDescriptors => "olm-spec-descriptors",
            Self::StatusDescriptors => "olm-status-descriptors",
        }
    }

    /// Returns the labels that select the test.
    pub(crate) fn labels(self) -> [(&'static str, String); 2] {
        let suite = if self == Self::Spec { "basic" } else { "olm" };
        [("suite", suite.to_owned()), ("test", format!("{}-test", self.as_str()))]
    }

    /// Runs the test on a bundle with a CSV.
    pub(crate) fn run(self, folder: &Folder, contents: &Contents, csv: &Value) -> Verdict {
        let mut suggestions = Vec::new();
        let examples = examples(csv);
        let owned = items(&csv["spec"]["customresourcedefinitions"]["owned"]);
        let errors = match self {
            Self::Spec => {
                let without = examples.iter().filter(|example| !example["spec"].is_object());
                without.map(|example| format!("the example {} has no `spec`", shown(example))).collect()
            }
            Self::Bundle => {
                let found = validate::validate(folder, &BTreeSet::new(), None);
                let of = |severity: Severity| {
                    let messages = found.iter().filter(move |found| found.code.severity() == severity);
                    messages.map(|found| found.message.clone()).collect()
                };
                suggestions = of(Severity::Warning);
                of(Severity::Error)
            }
            Self::Validation => examples.iter().flat_map(|example| unknown(example, contents)).collect(),
            Self::Resources => {
                let without = owned.iter().filter(|crd| items(&crd["resources"]).is_empty());
                let message = |crd: &Value| {
                    format!(
                        "`{}` {} has no `resources`: list the kinds that the operator creates for it in the base",
                        text(&crd["name"]),
                        text(&crd["version"])
                    )
                };
                without.map(message).collect()
            }
            Self::SpecDescriptors => {
                let of = |example| undescribed(example, "spec", "specDescriptors", owned);
                examples.iter().flat_map(of).collect()
            }
            Self::StatusDescriptors => {
                let of = |example| undescribed(example, "status", "statusDescriptors", owned);
                let has_status = |crd: &&Value| {
                    let of_crd = contents.crds().find(|(_, object)| name(object) == text(&crd["name"]));
                    of_crd.is_some_and(|(_, object)| {
                        fields(object, text(&crd["version"]), "status").is_some_and(|fields| !fields.is_empty())
                    })
                };
                let without = owned.iter().filter(|crd| items(&crd["statusDescriptors"]).is_empty());
                let message = |crd: &Value| {
                    format!("`{}` {} has no descriptor of its status", text(&crd["name"]), text(&crd["version"]))
                };
                without.filter(has_status).map(message).chain(examples.iter().flat_map(of)).collect()
            }
        };
        Verdict { test: self, errors, suggestions }
    }
}

impl Verdict {
    /// Returns the JSON that operator-sdk writes.
    pub(crate) fn to_json(&self) -> Value {
        let labels: Map<String, Value> =
            self.test.labels().into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect();
        let mut result =
            json!({ "name": self.test.as_str(), "state": if self.errors.is_empty() { "pass" } else { "fail" } });
        for (field, list) in [("errors", &self.errors), ("suggestions", &self.suggestions)] {
            if !list.is_empty() {
                result[field] = json!(list);
            }
        }
        json!({
            "kind": "Test",
            "apiVersion": "scorecard.operatorframework.io/v1alpha3",
            "spec": { "entrypoint": ["scorecard-test", self.test.as_str()], "labels": labels },
            "status": { "results": [result] },
        })
    }
}

fn examples(csv: &Value) -> Vec<Value> {
    serde_json::from_str(text(&csv["metadata"]["annotations"]["alm-examples"])).unwrap_or_default()
}

/// Returns the properties of `spec` or `status` in the schema of a version.
fn fields<'a>(crd: &'a Value, version: &str, part: &str) -> Option<&'a Map<String, Value>> {
    let version = items(&crd["spec"]["versions"]).iter().find(|one| one["name"] == *version)?;
    version["schema"]["openAPIV3Schema"]["properties"][part]["properties"].as_object()
}

/// The fields of an example that no schema has.
fn unknown(example: &Value, contents: &Contents) -> Vec<String> {
    let is_of =
        |crd: &&Value| crd["spec"]["names"]["kind"] == example["kind"] && crd["spec"]["group"] == *group(example);
    let Some(crd) = contents.crds().map(|(_, crd)| crd).find(is_of) else { return Vec::new() };
    let mut all = Vec::new();
    for part in ["spec", "status"] {
        let known = fields(crd, version(example), part);
        let said = example[part].as_object().into_iter().flat_map(Map::keys);
        let unknown = said.filter(|field| known.is_none_or(|known| !known.contains_key(*field)));
        all.extend(
            unknown
                .map(|field| format!("the schema of {} has no `{part}.{field}`, which its example has", kind(example))),
        );
    }
    all
}

/// The fields of an example that the CSV does not describe.
fn undescribed(example: &Value, part: &str, list: &str, owned: &[Value]) -> Vec<String> {
    let is_of = |crd: &&Value| {
        let of = text(&crd["name"]).split_once('.').map_or("", |(_, group)| group);
        crd["kind"] == example["kind"] && crd["version"] == *version(example) && of == group(example)
    };
    let descriptors = owned.iter().find(is_of).map_or(&[][..], |crd| items(&crd[list]));
    let said = example[part].as_object().into_iter().flat_map(Map::keys);
    let missing = said.filter(|field| !descriptors.iter().any(|descriptor| descriptor["path"] == **field));
    missing.map(|field| format!("`{part}.{field}` of {} has no descriptor", kind(example))).collect()
}
