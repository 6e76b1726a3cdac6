//! Environment variables in manifests, especially those that hold the namespace of the pod.
//!
//! Templates are not rendered: only the lines about one variable must be readable.

use std::collections::BTreeMap;
use std::path::Path;

/// Values of environment variables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// Variables, with true if all manifests set them to the namespace of the pod.
    own: BTreeMap<String, bool>,
    /// The values that the operator is run with; none for one with several.
    values: BTreeMap<String, Option<String>>,
    /// Values of flags, which start with `--`.
    flags: BTreeMap<String, Option<String>>,
}

/// The maximum number of folders and files, and the maximum length of a manifest.
const ENTRIES: usize = 20_000;
const BYTES: u64 = 1 << 20;

impl Environment {
    /// Reads the manifests and templates below a folder.
    pub fn below(root: &Path) -> Self {
        let mut environment = Self::default();
        let mut left = ENTRIES;
        let mut folders = vec![root.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten().take(left) {
                left -= 1;
                let name = entry.file_name().to_string_lossy().into_owned();
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() && !name.starts_with('.') && !matches!(name.as_str(), "target" | "node_modules") {
                    folders.push(entry.path());
                }
                let is_manifest = [".yaml", ".yml", ".tpl"].iter().any(|end| name.ends_with(end));
                if kind.is_file() && is_manifest && entry.metadata().is_ok_and(|metadata| metadata.len() < BYTES) {
                    environment.add(&std::fs::read_to_string(entry.path()).unwrap_or_default());
                }
            }
        }
        environment
    }

    /// Adds what a manifest says that the operator is run by.
    pub(crate) fn deploy(&mut self, text: &str) {
        for (variable, item) in items(text) {
            let value = item.split_once("value: ").and_then(|(_, rest)| rest.split([' ', ',', '}']).next());
            let value = value.filter(|value| !value.is_empty() && !value.starts_with("$("));
            learn(&mut self.values, variable, value);
        }
        for (flag, value) in flags(text) {
            learn(&mut self.flags, flag, Some(&value));
        }
        self.add(text);
    }

    /// The value of a flag that the operator is run with.
    pub(crate) fn flag(&self, flag: &str) -> Option<&str> {
        self.flags.get(flag)?.as_deref()
    }

    /// The value that the operator is run with.
    pub(crate) fn value(&self, variable: &str) -> Option<&str> {
        self.values.get(variable)?.as_deref()
    }

    fn add(&mut self, text: &str) {
        for (variable, item) in items(text) {
            let is_own = item.contains("fieldPath: metadata.namespace") || item.contains(".Release.Namespace");
            if is_own || item.contains("value") {
                *self.own.entry(variable).or_insert(true) &= is_own;
            }
        }
    }

    /// Every manifest that sets the variable gives it the namespace of the pod, and one does.
    pub(crate) fn is_own_namespace(&self, variable: &str) -> bool {
        self.own.get(variable).copied().unwrap_or_default()
    }
}

/// Several values make it unknown.
fn learn(known: &mut BTreeMap<String, Option<String>>, name: String, value: Option<&str>) {
    let entry = known.entry(name).or_insert_with(|| value.map(str::to_owned));
    if entry.as_deref() != value {
        *entry = None;
    }
}

/// Flags with their values: `--flag=value`, or two items.
fn flags(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let text = lines.collect::<Vec<_>>().join(" ").replace(['"', '\'', '[', ']', ','], " ");
    let words: Vec<&str> = text.split_whitespace().filter(|word| *word != "-").collect();
    let pairs = words.iter().enumerate().filter(|(_, word)| word.starts_with("--") && word.len() > 2);
    let pair = |(at, word): (usize, &&str)| match word.split_once('=') {
        Some((flag, value)) => Some((flag.to_owned(), value.to_owned())),
        None => words.get(at + 1).map(|value| ((*word).to_owned(), (*value).to_owned())),
    };
    pairs.filter_map(pair).collect()
}

/// List items that begin with a name, in one line each and without quotes.
fn items(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = variable(line) else { continue };
        let indent = |line: &str| line.len() - line.trim_start().len();
        let inside = |other: &&&str| indent(other) > indent(line) || other.trim().is_empty();
        let rest = lines[at + 1..].iter().take_while(inside).copied();
        let item: String = std::iter::once(*line).chain(rest).collect::<Vec<_>>().join(" ").replace(['"', '\''], "");
        found.push((name.to_owned(), item));
    }
    found
}

/// The variable of which a list item begins: `- name: NAME`, also as `- {name: NAME, …}`.
fn variable(line: &str) -> Option<&str> {
    let item = line.trim_start().strip_prefix('-')?.trim_start().trim_start_matches('{').trim_start();
    let name = item.strip_prefix("name:")?.trim().trim_start_matches(['"', '\'']);
    let end = name.find(|char: char| !char.is_ascii_alphanumeric() && char != '_').unwrap_or(name.len());
    (end > 0).then(|| &name[..end])
}
