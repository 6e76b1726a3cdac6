//! Destinations of manifests: the usual folders, one folder, one file, or stdout.

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::{Manifests, pending};
use crate::api;
use crate::crd;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin, Problem};
use crate::edit;
use crate::k8s::{self, kind_name};
use crate::ops::Findings;
use crate::ops::crd_place::PlacedCrds;
use crate::ops::elsewhere::elsewhere;
use crate::parallel;
use crate::plan::{Draft, RECORD, RelPath};
use crate::project::Project;
use crate::rbac::scope;
use crate::source::{FeatureSelection, Packages, Pending, SourceChoice};
use crate::yaml;

/// The destination in the options. Paths are relative to the working directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Destination {
    /// `config/crd/bases`, `config/rbac` and `config/webhook`.
    Usual,
    /// All files in one folder.
    Folder(PathBuf),
    /// One file.
    File(PathBuf),
    /// No file.
    Stdout,
}

/// The resolved destination. Paths are relative to [`Self::base`].
#[derive(Debug)]
pub(crate) struct Output {
    base: PathBuf,
    layout: Layout,
}

#[derive(Debug)]
enum Layout {
    /// `config/crd/bases`, `config/rbac` and `config/webhook`.
    Usual,
    /// One folder; empty for the base itself.
    Folder(String),
    /// One file.
    File(String),
    /// No file.
    Stdout,
}

/// The effect of a plan on the files of earlier runs.
#[derive(Default)]
pub(crate) struct ManifestChanges {
    /// The plan removes some files.
    pub(crate) removes: bool,
    /// Notes about stale files that stay.
    pub(crate) kept: Diagnostics,
}

impl Output {
    /// Resolves a destination. `root` is the base, unless the destination is outside of it.
    pub(crate) fn new(destination: &Destination, root: &Path) -> Result<Self> {
        let usual = Self::usual(root);
        match destination {
            Destination::Usual => Ok(usual),
            Destination::Stdout => Ok(Self { layout: Layout::Stdout, ..usual }),
            Destination::Folder(path) => {
                let path = resolve(path)?;
                Ok(match inside(&path, root) {
                    Some(folder) => Self { layout: Layout::Folder(folder), ..usual },
                    None => Self { base: path, layout: Layout::Folder(String::new()) },
                })
            }
            Destination::File(path) => {
                let path = resolve(path)?;
                let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
                    return Err(Problem::new(format!("`{}` is not the path of a file", path.display())).into());
                };
                let name = name.to_string_lossy().into_owned();
                Ok(match inside(&path, root) {
                    Some(file) => Self { layout: Layout::File(file), ..usual },
                    None => Self { layout: Layout::File(name), base: folder.to_path_buf() },
                })
            }
        }
    }

    /// The destination without flags.
    pub(crate) fn usual(root: &Path) -> Self {
        Self { base: root.to_path_buf(), layout: Layout::Usual }
    }

    pub(crate) fn base(&self) -> &Path {
        &self.base
    }

    pub(crate) fn is_usual(&self) -> bool {
        matches!(self.layout, Layout::Usual)
    }

    pub(crate) fn is_stdout(&self) -> bool {
        matches!(self.layout, Layout::Stdout)
    }

    /// Plans the files and the removal of stale files. Findings name kustomizations that cannot be built without a removed file.
    pub(crate) fn write(
        &self,
        manifests: &Manifests,
        header: &Header,
        project: Option<&Project>,
        draft: &mut Draft,
    ) -> Result<Findings<ManifestChanges>> {
        let (crd_folder, role_folder, webhook_folder) = match &self.layout {
            Layout::Usual => ("config/crd/bases", "config/rbac", "config/webhook"),
            Layout::Folder(folder) => (folder.as_str(), folder.as_str(), folder.as_str()),
            Layout::File(path) => {
                draft.generate(RelPath::new(path)?, text(manifests, header));
                return Ok(Findings { value: ManifestChanges::default(), diagnostics: Diagnostics::default() });
            }
            Layout::Stdout => {
                return Ok(Findings { value: ManifestChanges::default(), diagnostics: Diagnostics::default() });
            }
        };
        let mut removes = false;
        let mut kept = Diagnostics::default();
        let mut found = Diagnostics::default();
        if let Some(crds) = &manifests.crds {
            let place = project.and_then(|project| project.crds.as_ref()).filter(|_| self.is_usual());
            let mut placed = PlacedCrds::new(header.text());
            let mut written = BTreeSet::new();
            let texts = parallel::map(crds, |crd| yaml::file(header.text(), std::slice::from_ref(&crd.value)));
            for (crd, text) in crds.iter().zip(texts) {
                let path = below(crd_folder, &crd.file_name)?;
                if self.is_usual() && project.is_some() && draft.read(&path)?.is_none() {
                    list(draft, &path)?;
                }
                placed.generated_before(place.and(draft.read(&path)?));
                draft.generate(path.clone(), text);
                written.insert(path);
            }
            let groups: BTreeSet<&str> = crds.iter().map(|crd| crd::group(&crd.value)).collect();
            let stale =
                if manifests.complete { stale(draft, crd_folder, project, &groups, &written)? } else { Vec::new() };
            // CRDs of excluded kinds and of other workspace members are not stale.
            let mut stale: Vec<(RelPath, String)> =
                stale.into_iter().filter(|(_, name)| !manifests.kinds.all.contains(name)).collect();
            if let (false, Some(packages)) = (stale.is_empty(), &manifests.packages) {
                match declared_elsewhere(packages) {
                    Some(elsewhere) => stale.retain(|(_, name)| !elsewhere.contains(name)),
                    None => stale.clear(),
                }
                let mut behind = behind_features(packages, &pending(draft)?);
                // Of these only the plural has changed.
                behind.retain(|name| crds.iter().all(|crd| crd.name() != *name));
                kept = stale.iter().filter(|(_, name)| behind.contains(name)).map(stays).collect();
                stale.retain(|(_, name)| !behind.contains(name));
            }
            let stale: Vec<RelPath> = stale.into_iter().map(|(path, _)| path).collect();
            removes = !stale.is_empty();
            for path in stale {
                placed.gone(place.and(draft.read(&path)?));
                found.extend(unlist(draft, &path)?);
                draft.remove(path);
            }
            if let Some(place) = place {
                found.extend(placed.write(crds, place, draft)?);
            }
        }
        if let Some(roles) = &manifests.roles.documents {
            let path = below(role_folder, "role.yaml")?;
            if let Some(scope) = manifests.roles.scope.as_ref().filter(|_| self.is_usual()) {
                let placed = scope.place(roles.clone(), &manifests.roles.name);
                draft.generate(path, yaml::file(header.text(), &placed.inside));
                write_overlay(scope.overlay(&placed), header, draft)?;
            } else {
                draft.generate(path, yaml::file(header.text(), roles));
            }
        }
        if let Some(webhooks) = &manifests.webhooks.documents {
            removes |= write_webhooks(webhooks, webhook_folder, manifests, header, draft)?;
        }
        Ok(Findings { value: ManifestChanges { removes, kept }, diagnostics: found })
    }
}

/// The custom resources of workspace members that were not read, as `Kind.group`. Returns `None` if a member cannot be read.
fn declared_elsewhere(packages: &Packages) -> Option<BTreeSet<String>> {
    let mut declared = BTreeSet::new();
    for member in packages.unread().ok()? {
        let all = FeatureSelection { all: true, ..FeatureSelection::default() };
        let names = declared_with(&member.dir, &all, &Pending::default()).ok()?;
        if names.diagnostics.has_errors() {
            return None;
        }
        declared.extend(names.value);
    }
    Some(declared)
}

/// The custom resources, as `Kind.group`, that packages declare with all features or without any. What can't be read with them
/// declares none.
fn behind_features(packages: &Packages, pending: &Pending) -> BTreeSet<String> {
    let all = FeatureSelection { all: true, ..FeatureSelection::default() };
    let none = FeatureSelection { no_default: true, ..FeatureSelection::default() };
    let read = packages
        .members
        .iter()
        .flat_map(|member| [&all, &none].map(|features| declared_with(&member.dir, features, pending)));
    read.flatten().flat_map(|names| names.value).collect()
}

/// The custom resources of a package with these features, as `Kind.group`, without external ones.
fn declared_with(dir: &Path, features: &FeatureSelection, pending: &Pending) -> Result<Findings<BTreeSet<String>>> {
    let (mut tree, mut diagnostics) = k8s::load_with(dir, features, pending)?;
    let (names, read) = tree.settle(api::names);
    diagnostics.extend(read);
    diagnostics.extend(tree.read_all());
    let own = SourceChoice::default().without(&tree.manifest().external)?;
    Ok(Findings { value: names.into_keys().filter(|name| own.takes(name)).collect(), diagnostics })
}

fn stays((path, kind): &(RelPath, String)) -> Diagnostic {
    let message = format!("`{path}` is kept, since `{kind}` requires a feature that is not enabled in this run");
    Diagnostic::new(Code::CrdKept, message)
        .help("pass `--features` or `--all-features` to update it, or delete the file")
        .about(kind.clone())
}

/// Adds a new CRD of a project to the kustomization in `config/crd`.
fn list(draft: &mut Draft, crd: &RelPath) -> Result<()> {
    let kustomization = RelPath::new("config/crd/kustomization.yaml")?;
    let Some(entry) = crd.as_str().strip_prefix("config/crd/") else { return Ok(()) };
    // The user owns a list of another form.
    if let Some(text) = draft.read(&kustomization)?
        && !lists(&text, entry)
        && edit::kustomization::add_entry(&text, "resources", entry).is_ok()
    {
        draft.edit(&kustomization, |text| edit::kustomization::add_entry(text, "resources", entry))?;
    }
    Ok(())
}

/// Returns true if a kustomization names the file anywhere.
fn lists(text: &str, file: &str) -> bool {
    fn names(value: &Value, file: &str) -> bool {
        match value {
            Value::String(text) => text.strip_prefix("./").unwrap_or(text) == file,
            Value::Array(values) => values.iter().any(|value| names(value, file)),
            Value::Object(fields) => fields.values().any(|value| names(value, file)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
    serde_yaml::from_str::<Value>(text).is_ok_and(|value| names(&value, file))
}

/// Removes a file from the kustomizations of its folder and of the parent folder. They could not be built otherwise.
fn unlist(draft: &mut Draft, file: &RelPath) -> Result<Diagnostics> {
    let mut found = Diagnostics::default();
    for (at, _) in file.as_str().rmatch_indices('/').take(2) {
        let (folder, entry) = (&file.as_str()[..at], &file.as_str()[at + 1..]);
        for name in ["kustomization.yaml", "kustomization.yml", "Kustomization"] {
            let kustomization = below(folder, name)?;
            let Some(text) = draft.read(&kustomization)? else { continue };
            if edit::kustomization::remove_entry(&text, entry) != text {
                draft.edit(&kustomization, |text| {
                    Ok(edit::kustomization::close_empty(&edit::kustomization::remove_entry(text, entry)))
                })?;
            } else if !lists(&text, entry) {
                continue;
            }
            if lists(&draft.read(&kustomization)?.unwrap_or_default(), entry) {
                let message = format!("`{kustomization}` lists `{entry}`, which is removed");
                let place = Origin::file(kustomization.as_str());
                found.push(Diagnostic::new(Code::DanglingKustomization, message).help("remove the entry").at(place));
            }
        }
    }
    Ok(found)
}

/// Plans the webhook file. Without webhooks the file is removed, or emptied if a kustomization lists it. Returns true if it had
/// webhooks of an earlier run that are removed.
fn write_webhooks(
    webhooks: &[Value],
    folder: &str,
    manifests: &Manifests,
    header: &Header,
    draft: &mut Draft,
) -> Result<bool> {
    let path = below(folder, WEBHOOKS)?;
    if !webhooks.is_empty() {
        draft.generate(path, yaml::file(header.text(), webhooks));
        return Ok(false);
    }
    let before = draft.read(&path)?;
    let is_foreign = before.as_ref().is_some_and(|text| !is_webhooks(text));
    // The file may have webhooks of other workspace members.
    let others = || manifests.packages.as_ref().is_some_and(|packages| elsewhere(packages).is_some());
    if !manifests.complete || is_foreign || (before.is_some() && others()) {
        return Ok(false);
    }
    let kustomization = draft.read(&below(folder, "kustomization.yaml")?)?;
    let listed = kustomization.and_then(|text| serde_yaml::from_str::<Value>(&text).ok());
    let is_listed = listed.is_some_and(|listed| {
        listed["resources"].as_array().is_some_and(|resources| resources.iter().any(|file| file == WEBHOOKS))
    });
    let had_some = before.as_ref().is_some_and(|text| !text.ends_with(NO_WEBHOOKS));
    if is_listed {
        draft.generate(path, format!("{}{NO_WEBHOOKS}", header.text().unwrap_or_default()));
    } else if before.is_some() {
        draft.remove(path);
    }
    Ok(had_some)
}

/// The name of the webhook file.
const WEBHOOKS: &str = "manifests.yaml";
const NO_WEBHOOKS: &str = "# Written by `memcached-sdk generate`: no marker of a webhook is in the source.\n";

/// Returns true if `generate` has written the file.
fn is_webhooks(text: &str) -> bool {
    let is_configuration = |document: &Value| {
        let kind = document["kind"].as_str().unwrap_or_default();
        matches!(kind, "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration")
    };
    let documents: Option<Vec<Value>> = serde_yaml::from_multiple(text).ok();
    text.ends_with(NO_WEBHOOKS) || documents.is_some_and(|documents| documents.iter().all(is_configuration))
}

/// Marks generated files in `config/namespaces`.
const OVERLAY_NOTE: &str =
    "# Written by `memcached-sdk generate`: PROJECT and the markers say which namespaces there are.\n";

/// Plans the files of `config/namespaces`, and the removal of those that are no longer needed.
fn write_overlay(files: Vec<(&str, Vec<Value>)>, header: &Header, draft: &mut Draft) -> Result<()> {
    let folder = "config/namespaces";
    let mut stale: BTreeSet<&str> = scope::OVERLAY_FILES.into();
    for (name, documents) in files {
        let header = format!("{}{OVERLAY_NOTE}", header.text().unwrap_or_default());
        draft.generate(below(folder, name)?, yaml::file(Some(&header), &documents));
        stale.remove(name);
    }
    for name in stale {
        let path = below(folder, name)?;
        if draft.read(&path)?.is_some_and(|text| text.contains(OVERLAY_NOTE)) {
            draft.remove(path);
        }
    }
    Ok(())
}

/// Renders all manifests as YAML documents, each after a line `---`.
pub(crate) fn text(manifests: &Manifests, header: &Header) -> String {
    let crds = manifests.crds.iter().flatten().map(|crd| crd.value.clone());
    let others = manifests.roles.documents.iter().chain(&manifests.webhooks.documents).flatten();
    let all: Vec<Value> = crds.chain(others.cloned()).collect();
    yaml::file(header.text(), &all)
}

/// The header of each file.
#[derive(Debug, Default)]
pub(crate) struct Header(Option<String>);

impl Header {
    /// Reads the header file and replaces ` YEAR` by the year.
    pub(crate) fn read(path: Option<&Path>, year: Option<&str>) -> Result<Self> {
        let Some(path) = path else { return Ok(Self::default()) };
        let mut text = std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        if let Some(index) = text.lines().position(|line| !matches!(line.trim_start().chars().next(), None | Some('#')))
        {
            let message =
                format!("`{}` is not a valid header for YAML: line {} is not a comment", path.display(), index + 1);
            return Err(Problem::new(message).help("start each line with `#`").into());
        }
        if let Some(year) = year {
            text = text.replace(" YEAR", &format!(" {year}"));
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        Ok(Self(Some(text)))
    }

    fn text(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

/// Converts a path to an absolute path without `.` and `..`.
fn resolve(path: &Path) -> Result<PathBuf> {
    Ok(crate::source::clean(&std::path::absolute(path)?))
}

/// Returns `path` relative to `root`, with `/`, if it is below `root`.
fn inside(path: &Path, root: &Path) -> Option<String> {
    let parts = path.strip_prefix(root).ok()?.components().map(|part| part.as_os_str().to_str());
    parts.collect::<Option<Vec<_>>>().map(|parts| parts.join("/"))
}

fn below(folder: &str, name: &str) -> Result<RelPath, Problem> {
    if folder.is_empty() { RelPath::new(name) } else { RelPath::new(format!("{folder}/{name}")) }
}

/// The CRD files of earlier runs, each with its kind. Their names follow our scheme, and their group is in the source or in the
/// project. Other files in the folder stay.
fn stale(
    draft: &Draft,
    folder: &str,
    project: Option<&Project>,
    groups: &BTreeSet<&str>,
    written: &BTreeSet<RelPath>,
) -> Result<Vec<(RelPath, String)>> {
    // This command may delete the last kind of a group.
    let before = LazyCell::new(|| {
        let text = std::fs::read_to_string(draft.root().join(RECORD)).ok()?;
        Project::parse(&text).ok()
    });
    let ours = |group: &str| {
        let resources = project.into_iter().chain(before.as_ref()).flat_map(|project| &project.resources);
        let domain = project.and_then(|project| project.domain.as_ref());
        groups.contains(group)
            || resources.filter(|resource| resource.api.is_some()).any(|resource| resource.qualified_group() == group)
            || domain.is_some_and(|domain| crd::is_owned(group, domain.as_str()))
    };
    let mut stale = Vec::new();
    for entry in std::fs::read_dir(draft.root().join(folder)).into_iter().flatten() {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if Path::new(&name).extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let Ok(path) = below(folder, &name) else { continue };
        if written.contains(&path) {
            continue;
        }
        let Some(text) = draft.read(&path)? else { continue };
        let Ok(crd) = serde_yaml::from_str::<Value>(&text) else { continue };
        if crd["kind"] == "CustomResourceDefinition" && crd::file_name(&crd) == name && ours(crd::group(&crd)) {
            let kind = crd["spec"]["names"]["kind"].as_str().unwrap_or_default();
            stale.push((path, kind_name(kind, crd::group(&crd))));
        }
    }
    stale.sort();
    Ok(stale)
}
