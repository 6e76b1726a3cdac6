//! Names that a CRD reserves in its API group. The API server gives each name to one CRD: a later CRD with the same
//! name is stored but never served.
//!
//! Follows the [naming
//! controller](https://github.com/kubernetes/apiextensions-apiserver/blob/master/pkg/controller/status/naming_controller.go).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Resource;
use crate::diagnostic::Problem;

/// The maximum length of a kind: with the suffix `List`, it must fit a label.
const KIND_MAX: usize = 59;

/// The names of a CRD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrdNames {
    group: String,
    /// Plural, singular and short names, which identify the kind in URLs and commands.
    resources: BTreeSet<String>,
    kinds: BTreeSet<String>,
}

impl CrdNames {
    /// The names of a CRD, including those that the API server defaults.
    pub fn of(crd: &Value) -> Self {
        let (spec, names) = (&crd["spec"], &crd["spec"]["names"]);
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let kind = text(&names["kind"]).unwrap_or_default();
        let short_names = names["shortNames"].as_array().into_iter().flatten().filter_map(text);
        let singular = text(&names["singular"]).unwrap_or_else(|| kind.to_lowercase());
        let resources = text(&names["plural"]).into_iter().chain([singular]).chain(short_names).collect();
        let list = text(&names["listKind"]).unwrap_or_else(|| list_kind(&kind));
        Self { group: text(&spec["group"]).unwrap_or_default(), resources, kinds: [kind, list].into() }
    }

    pub(crate) fn of_resource(resource: &Resource) -> Self {
        let short_names = resource.api.iter().flat_map(|api| &api.short_names).map(ToString::to_string);
        let kind = resource.kind.to_string();
        Self {
            group: resource.qualified_group(),
            resources: [resource.plural.to_string(), resource.kind_lower()].into_iter().chain(short_names).collect(),
            kinds: [list_kind(&kind), kind].into(),
        }
    }

    /// The first name in both.
    pub fn common<'a>(&'a self, other: &'a Self) -> Option<&'a str> {
        let both = |one: &'a BTreeSet<String>, other| one.intersection(other).next().map(String::as_str);
        let same_group = self.group == other.group;
        same_group.then(|| both(&self.kinds, &other.kinds).or_else(|| both(&self.resources, &other.resources)))?
    }
}

/// CRDs that reserve a name of an earlier one: their index, that of the earlier one, and the first common name.
pub fn clashes(crds: &[CrdNames]) -> Vec<(usize, usize, &str)> {
    let mut owners: BTreeMap<(&str, bool, &str), usize> = BTreeMap::new();
    let mut clashes = Vec::new();
    for (at, names) in crds.iter().enumerate() {
        let mut clash = None;
        for (is_kind, set) in [(true, &names.kinds), (false, &names.resources)] {
            for name in set {
                let owner = *owners.entry((&names.group, is_kind, name)).or_insert(at);
                if owner != at && clash.is_none() {
                    clash = Some((at, owner, name.as_str()));
                }
            }
        }
        clashes.extend(clash);
    }
    clashes
}

pub(crate) fn list_kind(kind: &str) -> String {
    format!("{kind}List")
}

/// Checks the length of a kind, because the list kind must also be a label.
pub(crate) fn list_kind_of(kind: &str) -> Result<(), Problem> {
    if kind.len() <= KIND_MAX {
        return Ok(());
    }
    let list = list_kind(kind);
    Err(Problem::new(format!("the kind `{kind}` is too long: its list kind `{list}` has {} characters", list.len()))
        .help(format!("use at most {KIND_MAX} characters, so that both kinds have at most 63")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_is_of_one_crd_of_its_group() {
        let crd = |group: &str, names: Value| json!({ "spec": { "group": group, "names": names } });
        let foo = crd("a.b", json!({ "kind": "Foo", "plural": "foos", "singular": "foo", "shortNames": ["f"] }));
        for (group, names, common) in [
            ("a.b", json!({ "kind": "Bar", "plural": "bars", "singular": "bar" }), None),
            ("b.c", json!({ "kind": "Foo", "plural": "foos", "singular": "foo", "shortNames": ["f"] }), None),
            ("a.b", json!({ "kind": "FooList", "plural": "foolists" }), Some("FooList")),
            ("a.b", json!({ "kind": "Bar", "plural": "bars", "listKind": "Foo" }), Some("Foo")),
            ("a.b", json!({ "kind": "Bar", "plural": "foo" }), Some("foo")),
            ("a.b", json!({ "kind": "Bar", "plural": "bars", "singular": "f" }), Some("f")),
            ("a.b", json!({ "kind": "Bar", "plural": "bars", "shortNames": ["x", "foos"] }), Some("foos")),
            ("a.b", json!({ "kind": "FOO", "plural": "bars" }), Some("foo")),
        ] {
            let (one, other) = (CrdNames::of(&foo), CrdNames::of(&crd(group, names)));
            assert_eq!(one.common(&other), common);
            assert_eq!(other.common(&one), common);
            assert_eq!(clashes(&[one, other]).first().map(|(_, _, name)| *name), common);
        }
    }
}
