//! A bundle as it is on disk.

use std::collections::BTreeMap;

use serde_json::Value;

use super::kinds::CSV;
use super::metadata;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin};
use crate::ship::objects::kind;
use crate::yaml;

/// The files of a bundle, by their path in its folder.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Prefix of paths in messages; empty for the folder itself.
    pub(crate) shown: String,
    pub(crate) files: BTreeMap<String, String>,
}

/// The parsed files of a bundle.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// Objects by path, the CSV among them.
    pub(crate) objects: Vec<(String, Value)>,
    /// The index of the CSV among the objects.
    csv: Option<usize>,
    pub(crate) annotations: Option<BTreeMap<String, String>>,
}

impl Contents {
    /// The CSV and its path.
    pub(crate) fn csv(&self) -> Option<(&str, &Value)> {
        let (path, csv) = &self.objects[self.csv?];
        Some((path, csv))
    }

    /// The CRDs and their paths.
    pub(crate) fn crds(&self) -> impl Iterator<Item = &(String, Value)> {
        self.objects.iter().filter(|(_, object)| kind(object) == "CustomResourceDefinition")
    }
}

impl Folder {
    /// Returns the place of a file, for messages.
    pub(crate) fn place(&self, path: &str) -> Origin {
        Origin::file(if self.shown.is_empty() { path.to_owned() } else { format!("{}/{path}", self.shown) })
    }

    /// Reads the files, and reports the files that OLM would not read.
    pub(crate) fn read(&self) -> (Contents, Diagnostics) {
        let mut contents = Contents::default();
        let mut found = Diagnostics::default();
        let mut wrong = |path: Option<&str>, message: String, help: &str| {
            let diagnostic = Diagnostic::new(Code::BundleStructure, message).help(help);
            found.push(diagnostic.at(path.map(|path| self.place(path))));
        };
        for folder in ["manifests", "metadata"] {
            if !self.files.keys().any(|path| path.starts_with(&format!("{folder}/"))) {
                let help = "pass the folder of a bundle, as written by `generate bundle`";
                wrong(None, format!("the bundle has no `{folder}/`"), help);
            }
        }
        for (path, text) in &self.files {
            let Some(name) = path.strip_prefix("manifests/") else { continue };
            if name.contains('/') {
                wrong(
                    Some(path),
                    "`manifests/` has a subfolder, which OLM does not read".to_owned(),
                    "move its files to `manifests/`",
                );
                continue;
            }
            if name.starts_with('.') {
                wrong(Some(path), "`manifests/` has a hidden file".to_owned(), "remove it");
                continue;
            }
            let documents = yaml::documents(text);
            if documents.len() > 1 {
                let message = "the file has several documents, and OLM reads only the first".to_owned();
                wrong(Some(path), message, "write each to a separate file");
            }
            let first = documents.first().map_or("", |range| &text[range.clone()]);
            match serde_yaml::from_str::<Value>(first) {
                Ok(object) if !object.is_object() || kind(&object).is_empty() => {
                    wrong(Some(path), "the file has no object with a `kind`".to_owned(), "remove it");
                }
                Ok(object) => {
                    if kind(&object) == CSV {
                        if contents.csv.is_some() {
                            let message = format!("the bundle has a second `{CSV}`");
                            wrong(Some(path), message, "move each to a separate bundle");
                        }
                        contents.csv = Some(contents.objects.len());
                    }
                    contents.objects.push((path.clone(), object));
                }
                Err(error) => {
                    let why = yaml::reason(&error.to_string()).to_owned();
                    wrong(
                        Some(path),
                        format!("the file is not valid YAML: {why}"),
                        "correct it, or generate the bundle again",
                    );
                }
            }
        }
        if contents.csv.is_none() {
            let help = format!("it must contain an object of kind `{CSV}`");
            wrong(None, format!("`manifests/` has no `{CSV}`"), &help);
        }
        for (path, text) in self.files.iter().filter(|(path, _)| path.starts_with("metadata/")) {
            if let Ok(value) = serde_yaml::from_str::<Value>(text)
                && value["annotations"].is_object()
            {
                contents.annotations = Some(metadata::read(&value));
            } else if path == metadata::FILE {
                wrong(Some(path), "the file has no `annotations`".to_owned(), "generate the bundle again");
            }
        }
        (contents, found)
    }
}
