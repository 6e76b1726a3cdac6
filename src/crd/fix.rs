//! Optional changes to a CRD that Kubernetes recommends. Off by default, because the CRD then differs from the types.

use serde_json::{Value, json};

use super::Crd;
use super::{structural, walk};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin};

/// A category of fixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fixable {
    /// Formats that the API server warns about.
    Formats,
    /// The name of the list kind.
    ListKind,
    /// The scale subresource of a kind without a status.
    Scale,
}

impl Fixable {
    /// All categories.
    pub const ALL: [Self; 3] = [Self::Formats, Self::ListKind, Self::Scale];
}

/// A change of a CRD.
#[derive(Debug, Clone, PartialEq)]
pub struct CrdFix {
    /// The category.
    pub what: Fixable,
    /// The change, such as ``the format `uint32` is `int64` now``.
    pub change: String,
    /// The changed part: a kind, a version or a field.
    pub subject: String,
    /// Its place in the source.
    pub origin: Option<Origin>,
}

/// Applies the wanted fixes.
pub fn fix(mut crd: Crd, wanted: &[Fixable]) -> (Crd, Vec<CrdFix>) {
    let wants = |what| wanted.contains(&what);
    let mut fixes = Vec::new();
    if wants(Fixable::Formats) {
        fixes.extend(formats(&mut crd));
    }
    if wants(Fixable::ListKind) {
        fixes.extend(list_kind(&mut crd));
    }
    if wants(Fixable::Scale) {
        fixes.extend(scale(&mut crd));
    }
    (crd, fixes)
}

/// Suggests changes in the types in place of fixes. [`structural::check`] warns about formats.
pub fn advice(crd: &Crd) -> Diagnostics {
    let (_, fixes) = fix(crd.clone(), &[Fixable::ListKind, Fixable::Scale]);
    fixes.iter().filter_map(CrdFix::advice).collect()
}

impl CrdFix {
    /// The note about an applied fix.
    pub fn done(&self) -> Diagnostic {
        Diagnostic::new(Code::Fixed, format!("{}: {}", self.change, self.subject)).at(self.origin.clone())
    }

    fn advice(&self) -> Option<Diagnostic> {
        let subject = &self.subject;
        let (code, message, help) = match self.what {
            Fixable::ListKind => (
                Code::ListKind,
                format!("the CRD has no `listKind`; the API server sets it: {subject}"),
                "pass `--fix list-kind` if the file is compared with what the server has stored",
            ),
            Fixable::Scale => (
                Code::DroppedScale,
                format!("kube omits the scale subresource of a kind without a status: {subject}"),
                "give it a status that has the field of `status_replicas_path`, and name that by `status = \"…\"`; or pass \
                 `--fix scale`",
            ),
            Fixable::Formats => return None,
        };
        Some(Diagnostic::new(code, message).at(self.origin.clone()).help(help))
    }
}

/// Replaces or removes formats that the API server does not know: it warns about them and ignores them. The replacement
/// is a known format that contains all values of the integer format.
fn formats(crd: &mut Crd) -> Vec<CrdFix> {
    let mut changed = Vec::new();
    walk::edit(&mut crd.value, &mut |version, path, schema| {
        let Some(format) = schema.get("format").and_then(Value::as_str).filter(|format| !structural::is_format(format))
        else {
            return;
        };
        let format = format.to_owned();
        let wider = wider(&format).filter(|_| schema.get("type").is_some_and(|kind| kind == "integer"));
        let change = if let Some(wider) = wider {
            schema.insert("format".to_owned(), wider.into());
            format!("changed the format `{format}` to `{wider}`")
        } else {
            schema.remove("format");
            format!("removed the format `{format}`")
        };
        changed.push((version.to_owned(), path.clone(), change));
    });
    let fix = |(version, path, change): (String, walk::SchemaPath, String)| CrdFix {
        what: Fixable::Formats,
        change,
        subject: format!("`{path}` in `{}`, version `{version}`", crd.kind()),
        origin: crd.place(&version, &path).cloned(),
    };
    changed.into_iter().map(fix).collect()
}

/// The Kubernetes format that holds all integers of a schemars format.
fn wider(format: &str) -> Option<&'static str> {
    match format {
        "int8" | "int16" | "uint8" | "uint16" => Some("int32"),
        "int" | "uint32" => Some("int64"),
        _ => None,
    }
}

/// The API server defaults the list kind.
fn list_kind(crd: &mut Crd) -> Option<CrdFix> {
    let list_kind = format!("{}List", crd.kind());
    let names = crd.value.pointer_mut("/spec/names").and_then(Value::as_object_mut)?;
    if names.get("listKind").is_some_and(|kind| *kind != "") {
        return None;
    }
    names.insert("listKind".to_owned(), list_kind.as_str().into());
    let subject = format!("`{}`", crd.kind());
    Some(CrdFix {
        what: Fixable::ListKind,
        change: format!("set `listKind` to `{list_kind}`"),
        subject,
        origin: crd.origin().cloned(),
    })
}

/// kube writes a scale subresource only beside a status.
fn scale(crd: &mut Crd) -> Vec<CrdFix> {
    let kind = crd.kind().to_owned();
    let mut fixes = Vec::new();
    let versions = crd.value.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten() {
        let name = version["name"].as_str().unwrap_or_default().to_owned();
        let Some(declared) = crd.declared.get(&name) else { continue };
        let Some(scale) = declared.scale.as_ref().filter(|_| version.pointer("/subresources/scale").is_none()) else {
            continue;
        };
        version["subresources"]["scale"] = json!(scale);
        fixes.push(CrdFix {
            what: Fixable::Scale,
            change: "added the scale subresource".to_owned(),
            subject: format!("`{kind}`, version `{name}`"),
            origin: Some(declared.origin.clone()),
        });
    }
    fixes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceSubresourceScale;

    use super::*;
    use crate::crd::Declaration;

    fn crd(spec: &Value) -> Crd {
        let schema = json!({ "type": "object", "properties": { "spec": spec } });
        let version = json!({ "name": "v1", "schema": { "openAPIV3Schema": schema } });
        let value = json!({ "spec": { "names": { "kind": "Thing" }, "versions": [version] } });
        let declared = Declaration {
            scale: Some(CustomResourceSubresourceScale {
                spec_replicas_path: ".spec.size".to_owned(),
                status_replicas_path: ".status.size".to_owned(),
                label_selector_path: None,
            }),
            ..Declaration::at(Origin::file("src/lib.rs"))
        };
        Crd { file_name: "things.yaml".to_owned(), value, declared: BTreeMap::from([("v1".to_owned(), declared)]) }
    }

    #[test]
    fn nothing_changes_that_is_not_asked_for() {
        let before = crd(&json!({ "type": "integer", "format": "uint32" }));
        assert_eq!(fix(before.clone(), &[]), (before, Vec::new()));
    }

    #[test]
    fn formats_become_those_that_hold_the_same_integers() {
        for (kind, format, expected) in [
            ("integer", "int32", json!("int32")),
            ("integer", "int8", json!("int32")),
            ("integer", "uint16", json!("int32")),
            ("integer", "uint32", json!("int64")),
            ("integer", "int", json!("int64")),
            ("integer", "uint64", Value::Null),
            ("integer", "uint", Value::Null),
            ("integer", "int128", Value::Null),
            ("number", "uint32", Value::Null),
            ("string", "date-time", json!("date-time")),
            ("string", "cron", Value::Null),
        ] {
            let list = json!({ "type": "array", "items": { "type": kind, "format": format } });
            let (after, fixes) = fix(crd(&list), &[Fixable::Formats]);
            let pointer = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/items/format";
            assert_eq!(after.value.pointer(pointer).cloned().unwrap_or_default(), expected, "{kind} {format}");
            assert_eq!(fixes.is_empty(), expected == format, "{fixes:?}");
        }
    }

    #[test]
    fn the_second_time_nothing_is_left_to_fix() {
        let (once, fixes) = fix(crd(&json!({ "type": "integer", "format": "uint8" })), &Fixable::ALL);
        let said: Vec<String> = fixes.iter().map(|fix| fix.done().message).collect();
        assert_eq!(
            said,
            [
                "changed the format `uint8` to `int32`: `spec` in `Thing`, version `v1`",
                "set `listKind` to `ThingList`: `Thing`",
                "added the scale subresource: `Thing`, version `v1`",
            ]
        );
        let scale = json!({ "specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size" });
        assert_eq!(once.value.pointer("/spec/versions/0/subresources"), Some(&json!({ "scale": scale })));
        assert_eq!(fix(once.clone(), &Fixable::ALL), (once, Vec::new()));
    }

    #[test]
    fn advice_is_what_a_fix_would_change() {
        let before = crd(&json!({ "type": "integer", "format": "uint8" }));
        let codes: Vec<Code> = advice(&before).iter().map(|advice| advice.code).collect();
        assert_eq!(codes, [Code::ListKind, Code::DroppedScale]);
        assert!(advice(&fix(before, &Fixable::ALL).0).is_empty());
    }
}
