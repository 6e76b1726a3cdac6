//! What Kubernetes would like changed in a CRD that says exactly what the types say: a pass of its own, off unless asked for.

use serde_json::{Map, Value, json};

use super::crd::Crd;
use super::{schema, structural};
use crate::api::Scale;
use crate::cli::Mendable;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin};

/// One change of a CRD.
#[derive(Debug, Clone, PartialEq)]
pub struct Mend {
    /// Of which sort it is.
    pub what: Mendable,
    /// What is changed, such as ``the format `uint32` is `int64` now``.
    pub change: String,
    /// What is changed in: a kind, a version, a field.
    pub subject: String,
    /// Where that is written.
    pub origin: Option<Origin>,
}

/// Changes what is asked for.
pub fn mend(mut crd: Crd, wanted: &[Mendable]) -> (Crd, Vec<Mend>) {
    let wants = |what| wanted.contains(&what) || wanted.contains(&Mendable::All);
    let mut mends = Vec::new();
    if wants(Mendable::Formats) {
        mends.extend(formats(&mut crd));
    }
    if wants(Mendable::ListKind) {
        mends.extend(list_kind(&mut crd));
    }
    if wants(Mendable::Scale) {
        mends.extend(scale(&mut crd));
    }
    (crd, mends)
}

/// What else a mend would change, and what to write in the types instead; of formats, [`structural::check`] warns.
pub fn advice(crd: &Crd) -> Diagnostics {
    let (_, mends) = mend(crd.clone(), &[Mendable::ListKind, Mendable::Scale]);
    mends.iter().filter_map(Mend::advice).collect()
}

impl Mend {
    /// Tells of a change that was made.
    pub fn done(&self) -> Diagnostic {
        Diagnostic::new(Code::Mended, format!("{}: {}", self.change, self.subject)).at(self.origin.clone())
    }

    /// Tells of a change that was not asked for.
    fn advice(&self) -> Option<Diagnostic> {
        let subject = &self.subject;
        let (code, message, help) = match self.what {
            Mendable::ListKind => (
                Code::ListKind,
                format!("the CRD has no `listKind`, which the API server fills in: {subject}"),
                "pass `--mend list-kind` if the file is compared with what the server has stored",
            ),
            Mendable::Scale => (
                Code::DroppedScale,
                format!("kube leaves out the scale subresource of a kind without a status: {subject}"),
                "give it a status that has the field of `status_replicas_path`, and name that by `status = \"…\"`; or pass \
                 `--mend scale`",
            ),
            Mendable::All | Mendable::Formats => return None,
        };
        Some(Diagnostic::new(code, message).at(self.origin.clone()).help(help))
    }
}

/// Formats that the API server does not know: it warns of them, and ignores them otherwise. One that it knows takes the place
/// of one of integers, if all values are of that too.
fn formats(crd: &mut Crd) -> Vec<Mend> {
    let mut changed = Vec::new();
    schema::edit(&mut crd.value, &mut |version, path, schema| {
        let Some(format) = schema.get("format").and_then(Value::as_str).filter(|format| !structural::knows(format))
        else {
            return;
        };
        let format = format.to_owned();
        let wider = wider(&format).filter(|_| schema.get("type").is_some_and(|kind| kind == "integer"));
        let change = if let Some(wider) = wider {
            schema.insert("format".to_owned(), wider.into());
            format!("the format `{format}` is `{wider}` now")
        } else {
            schema.remove("format");
            format!("the format `{format}` is left out")
        };
        changed.push((version.to_owned(), path.clone(), change));
    });
    let mend = |(version, path, change): (String, schema::Path, String)| Mend {
        what: Mendable::Formats,
        change,
        subject: format!("`{path}` in `{}`, version `{version}`", crd.kind()),
        origin: crd.place(&version, &path).cloned(),
    };
    changed.into_iter().map(mend).collect()
}

/// The format of Kubernetes that holds all integers of a format of schemars.
fn wider(format: &str) -> Option<&'static str> {
    match format {
        "int8" | "int16" | "uint8" | "uint16" => Some("int32"),
        "int" | "uint32" => Some("int64"),
        _ => None,
    }
}

/// What the API server fills in.
fn list_kind(crd: &mut Crd) -> Option<Mend> {
    let list_kind = format!("{}List", crd.kind());
    let names = crd.value.pointer_mut("/spec/names").and_then(Value::as_object_mut)?;
    if names.get("listKind").is_some_and(|kind| *kind != "") {
        return None;
    }
    names.insert("listKind".to_owned(), list_kind.as_str().into());
    let subject = format!("`{}`", crd.kind());
    Some(Mend {
        what: Mendable::ListKind,
        change: format!("`listKind` is `{list_kind}` now"),
        subject,
        origin: crd.origin().cloned(),
    })
}

/// kube writes a scale subresource only beside a status.
fn scale(crd: &mut Crd) -> Vec<Mend> {
    let kind = crd.kind().to_owned();
    let mut mends = Vec::new();
    let versions = crd.value.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten() {
        let name = version["name"].as_str().unwrap_or_default().to_owned();
        let Some(declared) = crd.declared.get(&name) else { continue };
        let Some(scale) = declared.scale.as_ref().filter(|_| version.pointer("/subresources/scale").is_none()) else {
            continue;
        };
        version["subresources"]["scale"] = subresource(scale);
        mends.push(Mend {
            what: Mendable::Scale,
            change: "the scale subresource is written".to_owned(),
            subject: format!("`{kind}`, version `{name}`"),
            origin: Some(declared.origin.clone()),
        });
    }
    mends
}

fn subresource(scale: &Scale) -> Value {
    let Scale { spec_replicas_path, status_replicas_path, label_selector_path } = scale;
    let mut value = Map::from_iter([
        ("specReplicasPath".to_owned(), json!(spec_replicas_path)),
        ("statusReplicasPath".to_owned(), json!(status_replicas_path)),
    ]);
    value.extend(label_selector_path.as_ref().map(|path| ("labelSelectorPath".to_owned(), json!(path))));
    Value::Object(value)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::manifest::crd::Declaration;

    fn crd(spec: &Value) -> Crd {
        let schema = json!({ "type": "object", "properties": { "spec": spec } });
        let version = json!({ "name": "v1", "schema": { "openAPIV3Schema": schema } });
        let value = json!({ "spec": { "names": { "kind": "Thing" }, "versions": [version] } });
        let declared = Declaration {
            scale: Some(Scale {
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
        assert_eq!(mend(before.clone(), &[]), (before, Vec::new()));
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
            let (mended, mends) = mend(crd(&list), &[Mendable::Formats]);
            let pointer = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/items/format";
            assert_eq!(mended.value.pointer(pointer).cloned().unwrap_or_default(), expected, "{kind} {format}");
            assert_eq!(mends.is_empty(), expected == format, "{mends:?}");
        }
    }

    #[test]
    fn the_second_time_nothing_is_left_to_mend() {
        let (once, mends) = mend(crd(&json!({ "type": "integer", "format": "uint8" })), &[Mendable::All]);
        let said: Vec<String> = mends.iter().map(|mend| mend.done().message).collect();
        assert_eq!(
            said,
            [
                "the format `uint8` is `int32` now: `spec` in `Thing`, version `v1`",
                "`listKind` is `ThingList` now: `Thing`",
                "the scale subresource is written: `Thing`, version `v1`",
            ]
        );
        let scale = json!({ "specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size" });
        assert_eq!(once.value.pointer("/spec/versions/0/subresources"), Some(&json!({ "scale": scale })));
        assert_eq!(mend(once.clone(), &[Mendable::All]), (once, Vec::new()));
    }

    #[test]
    fn advice_is_what_a_mend_would_change() {
        let before = crd(&json!({ "type": "integer", "format": "uint8" }));
        let codes: Vec<Code> = advice(&before).iter().map(|advice| advice.code).collect();
        assert_eq!(codes, [Code::ListKind, Code::DroppedScale]);
        assert!(advice(&mend(before, &[Mendable::All]).0).is_empty());
    }
}
