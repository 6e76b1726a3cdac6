//! Checks a version beside its schema: columns, subresources, selectable fields and the deprecation warning.

use serde_json::Value;

use super::{StructuralCheck, field_path};
use crate::crd::walk::SchemaPath;
use crate::diagnostic::Code;

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];

const COLUMN_FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

const MAX_SELECTABLE: usize = 8;

/// The limit for a deprecation warning, in bytes.
const MAX_WARNING: usize = 256;

impl StructuralCheck<'_> {
    pub(super) fn version(&mut self, version: &Value) {
        self.columns(version);
        self.scale(version);
        self.selectable(version);
        self.deprecation(version);
    }

    fn about(&mut self, code: Code, what: &str, help: &str) {
        self.say(code, &SchemaPath::default(), what, help);
    }

    fn columns(&mut self, version: &Value) {
        for column in version["additionalPrinterColumns"].as_array().into_iter().flatten() {
            let text = |key: &str| column[key].as_str().unwrap_or_default();
            let (name, kind, path) = (text("name"), text("type"), text("jsonPath"));
            if name.is_empty() {
                self.about(
                    Code::PrinterColumn,
                    &format!("the printer column of `{path}` has no name"),
                    "add `name = \"…\"`",
                );
            }
            if !COLUMN_TYPES.contains(&kind) {
                let help = format!("expected one of `{}`", COLUMN_TYPES.join("`, `"));
                self.about(
                    Code::PrinterColumn,
                    &format!("the printer column `{name}` has the unsupported type `{kind}`"),
                    &help,
                );
            }
            let format = text("format");
            if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
                let help = format!("use one of `{}`", COLUMN_FORMATS.join("`, `"));
                self.about(
                    Code::PrinterColumn,
                    &format!("the printer column `{name}` has the unsupported format `{format}`"),
                    &help,
                );
            }
            if !path.starts_with('.') {
                let what = format!("the `json_path` `{path}` of the printer column `{name}` must begin with `.`");
                self.about(Code::PrinterColumn, &what, "write the path from the object to the value: `.spec.size`");
            }
        }
    }

    fn scale(&mut self, version: &Value) {
        let Some(scale) = version.pointer("/subresources/scale") else { return };
        for (key, roots, optional) in [
            ("specReplicasPath", &[".spec."][..], false),
            ("statusReplicasPath", &[".status."], false),
            ("labelSelectorPath", &[".spec.", ".status."], true),
        ] {
            let path = scale[key].as_str().unwrap_or_default();
            let fine = roots.iter().any(|root| path.starts_with(root)) || (optional && path.is_empty());
            if !fine {
                let roots: Vec<String> = roots.iter().map(|root| format!("`{root}`")).collect();
                let what = format!("`{key}` is `{path}`, but must begin with {}", roots.join(" or "));
                self.about(Code::ScalePath, &what, "write the path from the object to the field: `.spec.replicas`");
            }
        }
    }

    fn selectable(&mut self, version: &Value) {
        let Some(schema) = version.pointer("/schema/openAPIV3Schema").and_then(Value::as_object) else { return };
        let mut seen: Vec<Vec<String>> = Vec::new();
        for field in version["selectableFields"].as_array().into_iter().flatten() {
            let path = field["jsonPath"].as_str().unwrap_or_default();
            let names = match field_path::follow(schema, path, false) {
                Ok((names, found)) => {
                    let kind = found.and_then(|found| found.get("type")).and_then(Value::as_str).unwrap_or_default();
                    let scalar = ["string", "boolean", "integer"].contains(&kind);
                    if !scalar || names.first().is_some_and(|first| first == "metadata") {
                        let help = "select a field of type string, boolean or integer that is not in `metadata`";
                        self.about(Code::SelectableField, &format!("`{path}` cannot be a selectable field"), help);
                    }
                    names
                }
                Err(why) => {
                    let what = format!("the selectable field `{path}` does not exist: {why}");
                    self.about(
                        Code::SelectableField,
                        &what,
                        "write the path from the object to the field: `.spec.color`",
                    );
                    continue;
                }
            };
            if seen.contains(&names) {
                self.about(Code::SelectableField, &format!("duplicate selectable field `{path}`"), "name it once");
            } else {
                seen.push(names);
            }
        }
        if seen.len() > MAX_SELECTABLE {
            let what = format!("too many selectable fields: {}", seen.len());
            self.about(Code::SelectableField, &what, &format!("the limit is {MAX_SELECTABLE}"));
        }
    }

    fn deprecation(&mut self, version: &Value) {
        let Some(warning) = version["deprecationWarning"].as_str() else { return };
        let what = if version["deprecated"] != true {
            "a version that is not deprecated has a warning"
        } else if warning.is_empty() {
            "the warning of a deprecated version is empty"
        } else if warning.len() > MAX_WARNING {
            "the warning of a deprecated version is longer than 256 bytes"
        } else if warning.chars().any(char::is_control) {
            "the warning of a deprecated version has a control character"
        } else {
            return;
        };
        self.about(
            Code::DeprecationWarning,
            what,
            "write one short line in `deprecated = \"…\"`, or only `deprecated`",
        );
    }
}
