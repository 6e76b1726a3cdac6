//! The CRDs of a bundle, compared with the entries in its CSV.

use std::collections::BTreeSet;

use serde_json::Value;

use super::check::{BundleCheck, ObjectGvk, owned, shown_kind};
use crate::diagnostic::Code;
use crate::project::crd_names::{self, CrdNames};
use crate::ship::objects::{items, name, shown, text};

const HELP: &str = "generate the bundle again";

pub(super) fn check(check: &mut BundleCheck) {
    let mut there: BTreeSet<ObjectGvk> = BTreeSet::new();
    for (path, crd) in check.contents.crds() {
        let place = check.folder.place(path);
        let spec = &crd["spec"];
        for version in items(&spec["versions"]) {
            let kind =
                [&spec["group"], &version["name"], &spec["names"]["kind"]].map(|part| text(part).to_owned()).into();
            let message = format!("{} is in the bundle twice", shown_kind(&kind));
            if !there.insert(kind) {
                check.push(Code::BundleCrd, place.clone(), message, HELP);
            }
        }
        if let Some(why) = refused(crd) {
            check.push(Code::BundleCrd, place, format!("{} is refused: {why}", shown(crd)), HELP);
        }
    }
    let crds: Vec<&(String, Value)> = check.contents.crds().collect();
    let names: Vec<CrdNames> = crds.iter().map(|(_, crd)| CrdNames::of(crd)).collect();
    for (at, first, name) in crd_names::clashes(&names) {
        let ((path, crd), (_, first)) = (crds[at], crds[first]);
        // A duplicate CRD has a finding of its own.
        if self::name(crd) != self::name(first) {
            let message = format!(
                "{} and {} have the same name `{name}`, which the API server accepts for only one of them",
                shown(crd),
                shown(first)
            );
            let help = "make kinds, list kinds, plurals, singulars and short names of a group distinct";
            check.push(Code::BundleCrd, check.folder.place(path), message, help);
        }
    }
    let owned: BTreeSet<ObjectGvk> = owned(check.csv).into_iter().collect();
    for kind in owned.difference(&there) {
        let message = format!("the CSV owns {}, but the bundle does not have its CRD", shown_kind(kind));
        check.csv(Code::BundleCrd, message, HELP);
    }
    // A version that is not served needs no entry.
    let known: BTreeSet<(&str, &str)> = owned.iter().map(|(group, _, kind)| (group.as_str(), kind.as_str())).collect();
    for kind in there.iter().filter(|(group, _, kind)| !known.contains(&(group, kind))) {
        let message = format!("the bundle has the CRD of {}, but the CSV does not own it", shown_kind(kind));
        check.csv(Code::BundleCrd, message, HELP);
    }
}

/// Returns the first reason of the API server to refuse a CRD; `crd` checks schemas.
fn refused(crd: &Value) -> Option<String> {
    let spec = &crd["spec"];
    let names = &spec["names"];
    let full = format!("{}.{}", text(&names["plural"]), text(&spec["group"]));
    let versions = items(&spec["versions"]);
    let stored = versions.iter().filter(|version| version["storage"] == true).count();
    if text(&crd["apiVersion"]) != "apiextensions.k8s.io/v1" {
        return Some(format!("`{}` is not served by any current API server", text(&crd["apiVersion"])));
    }
    if name(crd) != full {
        return Some(format!("its name must be `{full}`"));
    }
    if text(&names["kind"]).is_empty() {
        return Some("`spec.names.kind` is missing".to_owned());
    }
    if !["Namespaced", "Cluster"].contains(&text(&spec["scope"])) {
        return Some("`spec.scope` is neither `Namespaced` nor `Cluster`".to_owned());
    }
    (stored != 1).then(|| format!("{stored} of its versions are stored, expected one"))
}
