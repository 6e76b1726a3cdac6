//! Moves files of the author to where another layout or other names of the project put them, and rewrites what leads to
//! them.

use std::collections::BTreeMap;

use anyhow::Result;

use super::edit::{MergeRules, apply_difference};
use super::files_in;
use super::replay::Scaffold;
use crate::diagnostic::{Diagnostics, Problem};
use crate::parallel;
use crate::plan::{Draft, IfExists, RelPath};
use crate::project::name::ControllerName;
use crate::project::{Controllers, Resource};
use crate::scaffold;
use crate::source::{ApiNames, Regroup, Renames, crate_name, imports, regrouped, renamed};

/// The folders with files of the operator's own package, and with files of config/ whose names follow a kind.
const FOLDERS: [&str; 7] =
    ["benches", "config/crd/patches", "config/rbac", "config/samples", "examples", "src", "tests"];

/// Changes of paths and names in a project.
#[derive(Debug)]
pub(crate) struct Moves {
    crate_name: String,
    /// Old path → new path, without `.rs`. An entry stands for a file, or for a folder and the file of its module.
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) paths: Vec<Regroup>,
    pub(crate) names: NameChanges,
}

/// Changes of names in Rust files.
#[derive(Debug, Default)]
pub(crate) struct NameChanges {
    /// Types of the project.
    pub(crate) types: BTreeMap<String, String>,
    /// The modules of the kinds that are renamed, from the crate's root.
    pub(crate) modules: Vec<Vec<String>>,
    /// True if other kinds have a type of the same name.
    pub(crate) shared: bool,
    /// Further identifiers of each scaffolded file.
    pub(crate) words: BTreeMap<RelPath, BTreeMap<String, String>>,
    /// First words of paths.
    pub(crate) roots: BTreeMap<String, String>,
    pub(crate) apis: Vec<(ApiNames, ApiNames)>,
}

impl Moves {
    pub(crate) fn new(package: &str) -> Self {
        Self {
            crate_name: crate_name(package),
            files: BTreeMap::new(),
            paths: Vec::new(),
            names: NameChanges::default(),
        }
    }

    /// The new path of a file.
    pub(crate) fn path(&self, path: &RelPath) -> Result<RelPath> {
        let text = path.as_str();
        let moved = self.files.iter().filter_map(|(from, to)| {
            let rest = text.strip_prefix(from.as_str())?;
            (rest.is_empty() || rest == ".rs" || rest.starts_with('/')).then(|| (from.len(), format!("{to}{rest}")))
        });
        let longest = moved.max_by_key(|(length, _)| *length);
        Ok(longest.map_or(Ok(path.clone()), |(_, moved)| RelPath::new(moved))?)
    }

    /// The new text of a Rust file; the text itself for other files.
    pub(crate) fn text(&self, path: &RelPath, text: &str) -> String {
        let Some(file) = path.as_str().strip_suffix(".rs") else { return text.to_owned() };
        let module: Vec<&str> = match file.strip_prefix("src/") {
            Some("lib" | "main") | None => Vec::new(),
            Some(module) => module.strip_suffix("/mod").unwrap_or(module).split('/').collect(),
        };
        let names = self.names(path, &module, text);
        renamed(&regrouped(text, &self.crate_name, &module, &self.paths), &names)
    }

    /// The scaffold, moved.
    pub(crate) fn scaffold(&self, before: &Scaffold) -> Result<Scaffold> {
        before.iter().map(|(path, text)| Ok((self.path(path)?, self.text(path, text)))).collect()
    }

    /// Moves all files of the draft's folder, and makes the difference between both scaffolds in them. `from` is a moved scaffold.
    pub(crate) fn apply(
        &self,
        draft: &mut Draft,
        from: &Scaffold,
        to: &Scaffold,
        rules: MergeRules,
    ) -> Result<Diagnostics> {
        let occupied = self.carry(draft)?;
        let found = apply_difference(draft, from, to, rules)?;
        if !found.has_errors() {
            occupied.into_iter().try_for_each(|path| path.check(draft))?;
        }
        Ok(found)
    }

    /// Returns the new paths that existed already.
    fn carry(&self, draft: &mut Draft) -> Result<Vec<OccupiedPath>> {
        let mut occupied = Vec::new();
        // rustfmt runs as one process per file.
        let files: Vec<RelPath> = files_in(draft.root(), &FOLDERS).collect::<Result<_>>()?;
        let carried = parallel::map(files.iter(), |path| self.carried(draft, path));
        for (path, carried) in files.iter().zip(carried) {
            let Some((new, text)) = carried? else { continue };
            if new == *path {
                // An edit has the line ends of Unix, unless the file mixes both.
                draft.edit(path, |before| Ok(if before.contains('\r') { text } else { text.replace("\r\n", "\n") }))?;
                continue;
            }
            let there = draft.read(&new)?;
            draft.remove(path.clone());
            draft.scaffold(new.clone(), text, if there.is_some() { IfExists::Overwrite } else { IfExists::Refuse });
            occupied.extend(there.map(|text| OccupiedPath { from: path.clone(), to: new, text }));
        }
        Ok(occupied)
    }

    /// The new path and text of a file. `None` if it stays as it is.
    fn carried(&self, draft: &Draft, path: &RelPath) -> Result<Option<(RelPath, String)>> {
        let new = self.path(path)?;
        if new == *path && !path.is_rust() {
            return Ok(None);
        }
        let Some(text) = draft.read(path)? else { return Ok(None) };
        let changed = self.formatted_text(path, &text);
        Ok((new != *path || changed != text).then_some((new, changed)))
    }

    /// Like [`Self::text`], and a text that rustfmt has formatted stays formatted.
    pub(crate) fn formatted_text(&self, path: &RelPath, text: &str) -> String {
        scaffold::formatted_as(path, text, self.text(path, text))
    }

    /// The names to change in a file, whose module is `module`.
    fn names(&self, path: &RelPath, module: &[&str], text: &str) -> Renames {
        let NameChanges { types, modules, shared, words, roots, apis } = &self.names;
        let mut names = Renames { roots: roots.clone(), apis: apis.clone(), ..Renames::default() };
        let words = words.get(path);
        names.words.extend(words.cloned().unwrap_or_default());
        let imports = imports(text);
        let imports_of =
            |name: &String| -> Vec<&Vec<String>> { imports.iter().filter(|path| path.last() == Some(name)).collect() };
        let is_of_kind =
            modules.iter().any(|modules| module.len() >= modules.len() && modules.iter().eq(&module[..modules.len()]));
        for (old, new) in types {
            let is_meant = match imports_of(old).as_slice() {
                _ if words.is_some() => true,
                [] => is_of_kind || !shared,
                imports => imports.iter().any(|import| self.leads_to_kind(import, module)),
            };
            if is_meant {
                names.words.insert(old.clone(), new.clone());
            }
        }
        for change in &self.paths {
            if let Regroup::Rename { path, names: segments } = change
                && let (Some(old), Some((at, new))) = (path.last(), segments.last())
                && at + 1 == path.len()
                && imports_of(old).iter().any(|import| self.absolute(import, module).as_ref() == Some(path))
            {
                names.roots.insert(old.clone(), new.clone());
            }
        }
        names
    }

    /// Returns true if an import of a type may mean a type of the renamed kind.
    fn leads_to_kind(&self, import: &[String], module: &[&str]) -> bool {
        let Some(path) = self.absolute(import, module) else { return false };
        let above = &path[..path.len().saturating_sub(1)];
        !self.names.shared || self.names.modules.iter().any(|modules| above.len() > 1 && modules.starts_with(above))
    }

    /// The path of an import from the crate's root; `None` if it leads to another crate.
    fn absolute(&self, import: &[String], module: &[&str]) -> Option<Vec<String>> {
        let (first, rest) = import.split_first()?;
        let mut path: Vec<String> = match first.as_str() {
            "crate" => Vec::new(),
            name if name == self.crate_name => Vec::new(),
            "self" | "super" => module.iter().map(|&module| module.to_owned()).collect(),
            _ => return None,
        };
        for word in import[..1].iter().filter(|word| *word == "super").chain(rest) {
            if word == "super" {
                path.pop()?;
            } else {
                path.push(word.clone());
            }
        }
        Some(path)
    }
}

/// A file at the new path of another file.
struct OccupiedPath {
    from: RelPath,
    to: RelPath,
    text: String,
}

impl OccupiedPath {
    /// Returns an error unless an interrupted run of the command has written the file: it has the text of the whole plan.
    fn check(self, draft: &Draft) -> Result<()> {
        let Self { from, to, text } = self;
        if draft.read(&to)?.as_ref() == Some(&text) {
            return Ok(());
        }
        let problem = Problem::new(format!("cannot move `{from}` to `{to}`: it exists"));
        Err(problem.help("move one of them away, and run the command again").into())
    }
}

/// The names of a resource in attributes and markers.
pub(crate) fn names_of(resource: &Resource) -> ApiNames {
    ApiNames {
        group: resource.qualified_group(),
        version: resource.version.to_string(),
        kind: resource.kind.to_string(),
        plural: resource.plural.to_string(),
        short_names: resource.api.iter().flat_map(|api| &api.short_names).map(ToString::to_string).collect(),
    }
}

/// Returns the result of `of` for each controller of a resource.
pub(crate) fn controllers<T>(resource: &Resource, of: impl Fn(Option<&ControllerName>) -> T) -> Vec<T> {
    match &resource.controllers {
        Controllers::None => Vec::new(),
        Controllers::Default => vec![of(None)],
        Controllers::Named(names) => names.iter().map(|name| of(Some(name))).collect(),
    }
}

/// The files of a resource that are not modules of the crate, in a fixed order.
pub(crate) fn files_of(resource: &Resource, multigroup: bool) -> Vec<String> {
    let prefix = resource.file_prefix(multigroup);
    let roles = ["admin", "editor", "viewer"].map(|who| format!("config/rbac/{prefix}_{who}_role.yaml"));
    let patch = format!("config/crd/patches/webhook_in_{}.yaml", resource.webhook_crd(multigroup));
    let sample = format!("config/samples/{}", resource.sample_file());
    let webhook = format!("tests/envtest_webhook_{}.rs", resource.webhook_test(multigroup));
    let tests = controllers(resource, |name| resource.test_module(multigroup, name));
    let tests =
        tests.into_iter().flat_map(|test| ["", "envtest_", "explore_"].map(|of| format!("tests/{of}{test}.rs")));
    roles.into_iter().chain([patch, sample, webhook]).chain(tests).collect()
}
