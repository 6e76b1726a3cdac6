//! Findings of one bundle, and the kinds that its CSV owns.

use serde_json::Value;

use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin};
use crate::ship::objects::{items, text};
use crate::ship::olm::folder::{Contents, Folder};

/// The bundle under validation, with its findings.
pub(super) struct BundleCheck<'a> {
    pub(super) folder: &'a Folder,
    pub(super) contents: &'a Contents,
    /// The CSV.
    pub(super) csv: &'a Value,
    pub(super) path: &'a str,
    pub(super) found: Diagnostics,
}

impl<'a> BundleCheck<'a> {
    pub(super) fn push(&mut self, code: Code, place: Origin, message: impl Into<String>, help: impl Into<String>) {
        self.found.push(Diagnostic::new(code, message).help(help).at(place));
    }

    /// Adds a finding about the CSV.
    pub(super) fn csv(&mut self, code: Code, message: impl Into<String>, help: impl Into<String>) {
        self.push(code, self.folder.place(self.path), message, help);
    }

    pub(super) fn spec(&self) -> &'a Value {
        &self.csv["spec"]
    }
}

/// Group, version and kind.
pub(super) type ObjectGvk = (String, String, String);

pub(super) fn shown_kind((group, version, kind): &ObjectGvk) -> String {
    format!("{kind} {group}/{version}")
}

/// Returns the kinds that the CSV owns.
pub(super) fn owned(csv: &Value) -> Vec<ObjectGvk> {
    items(&csv["spec"]["customresourcedefinitions"]["owned"])
        .iter()
        .map(|owned| {
            let name = text(&owned["name"]);
            let group = name.split_once('.').map_or(name, |(_, group)| group);
            (group.to_owned(), text(&owned["version"]).to_owned(), text(&owned["kind"]).to_owned())
        })
        .collect()
}
