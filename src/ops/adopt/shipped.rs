//! The manifests that the repository has already, in kustomizations, charts and other folders.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::Value;

use crate::diagnostic::Diagnostic;
use crate::ops::{compare, crd_place};
use crate::plan::{Draft, RECORD, RelPath};
use crate::project::Project;
use crate::project::crd_place::{CrdFileNames, CrdPlace};
use crate::source::relative;

/// A folder with manifests.
#[derive(Default)]
struct ShippedFolder {
    is_chart: bool,
    is_kustomization: bool,
    /// The kinds of its objects.
    kinds: BTreeSet<String>,
}

/// The manifests below the root of the repository.
pub(super) struct ShippedManifests {
    folders: BTreeMap<String, ShippedFolder>,
    /// The image that all Deployments have.
    pub(super) image: Option<String>,
    /// The file of the image.
    image_from: String,
    /// The files of CRDs inside of the project, with the names of each.
    crds: Vec<(String, CrdFileNames)>,
}

/// The place at which the project has its CRDs already.
#[derive(Default)]
pub(super) struct ShippedPlace {
    /// The pattern of the files, if `generate` can write there.
    pub(super) place: Option<CrdPlace>,
    /// The reason why it cannot.
    refused: Option<Diagnostic>,
    /// The project has kinds to compare CRDs with.
    has_kinds: bool,
    /// A file with a name that no pattern gives.
    unnamed: Option<String>,
}

impl ShippedManifests {
    /// Reads the YAML files of the workspace, except those that are planned.
    pub(super) fn read(root: &Path, workspace: &Path, planned: &BTreeMap<RelPath, String>) -> Result<Self> {
        let mut shipped = Self { folders: BTreeMap::new(), image: None, image_from: String::new(), crds: Vec::new() };
        let inside = root.strip_prefix(workspace).unwrap_or(Path::new(""));
        let up = "../".repeat(inside.components().count());
        let mut images: BTreeSet<String> = BTreeSet::new();
        let ours: BTreeMap<PathBuf, &String> = planned.iter().map(|(path, text)| (path.below(root), text)).collect();
        for path in compare::files(workspace)? {
            let Ok(Ok(text)) = std::fs::read(&path).map(String::from_utf8) else { continue };
            let inside = relative(&path, workspace).to_string_lossy().replace('\\', "/");
            let shown = format!("{up}{inside}");
            if ours.get(&path).is_some_and(|planned| **planned == text)
                || is_example(&inside)
                || is_of_other_project(&path, root)
            {
                continue;
            }
            let mut objects = compare::objects(&path, &text);
            objects.retain(|object| object["kind"] != "Kustomization");
            let (folder, is_chart) = folder(&path, workspace, &up);
            let is_kustomization = path.file_stem().is_some_and(|name| name == "kustomization");
            if objects.is_empty() && !is_kustomization {
                continue;
            }
            let entry = shipped.folders.entry(folder).or_default();
            entry.is_chart |= is_chart;
            entry.is_kustomization |= is_kustomization;
            for object in &objects {
                if object["kind"] == "CustomResourceDefinition"
                    && let Ok(inside) = path.strip_prefix(root)
                {
                    let inside = inside.to_string_lossy().replace('\\', "/");
                    shipped.crds.push((inside, crd_place::names(object)));
                }
                let kind = object["kind"].as_str().unwrap_or_default().to_owned();
                if kind == "Deployment" {
                    for image in images_of(object) {
                        shown.clone_into(&mut shipped.image_from);
                        images.insert(image);
                    }
                }
                entry.kinds.insert(kind);
            }
        }
        if let [image] = images.iter().collect::<Vec<_>>()[..] {
            shipped.image = Some(image.clone());
        }
        shipped.folders.retain(|_, folder| !folder.kinds.is_empty());
        Ok(shipped)
    }

    /// The place of the CRDs of these kinds: where most of them are, charts first.
    pub(super) fn place(&self, draft: &Draft, kinds: &[CrdFileNames]) -> Result<ShippedPlace> {
        let mut folders: BTreeMap<&str, Vec<(String, CrdFileNames)>> = BTreeMap::new();
        for (path, names) in self.crds.iter().filter(|(_, names)| kinds.contains(names)) {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            folders.entry(folder).or_default().push((path.clone(), names.clone()));
        }
        let places = folders.into_values().filter_map(|files| {
            let of_chart = files.iter().filter(|(path, _)| is_in_chart(&draft.root().join(path))).count();
            let place = CrdPlace::of_files(&files)?;
            Some((Reverse((files.len(), of_chart)), place))
        });
        let mut places: Vec<(Reverse<(usize, usize)>, CrdPlace)> = places.collect();
        places.sort_by_key(|(rank, _)| *rank);
        let unnamed = self.crds.iter().find(|(_, names)| places.is_empty() && kinds.contains(names));
        let mut shipped = ShippedPlace {
            has_kinds: !kinds.is_empty(),
            unnamed: unnamed.map(|(path, _)| path.clone()),
            ..ShippedPlace::default()
        };
        for (_, place) in places {
            let mut refused = None;
            for kind in kinds {
                refused = refused.or(crd_place::refused(draft, &place, kind)?);
            }
            if refused.is_none() {
                shipped.place = Some(place);
                break;
            }
            shipped.refused = shipped.refused.or(refused);
        }
        Ok(shipped)
    }

    /// Lists the folders with the manifests of an operator: what `config/` has too, and what it lacks. `folder` is that of the
    /// project, unless it is the working directory.
    pub(super) fn told(&self, place: &ShippedPlace, folder: Option<&str>) -> Vec<String> {
        let mut lines = Vec::new();
        for (path, folder) in self.folders.iter().filter(|(_, folder)| folder.is_of_operator()) {
            let what = match folder {
                ShippedFolder { is_chart: true, .. } => "chart",
                ShippedFolder { is_kustomization: true, .. } => "kustomization",
                ShippedFolder { .. } => "files",
            };
            let (taken, left): (Vec<&str>, Vec<&str>) =
                folder.kinds.iter().map(String::as_str).partition(|kind| TAKEN.contains(kind));
            let left = if left.is_empty() { String::new() } else { format!("; it lacks {}", left.join(", ")) };
            lines.push(format!("  {path} ({what}): config/ has {} too{left}", taken.join(", ")));
        }
        if lines.is_empty() {
            return lines;
        }
        lines.insert(0, "\nManifests that were there stay as they are:".to_owned());
        if let Some(image) = &self.image {
            lines.push(format!("The image `{image}` is from `{}`.", self.image_from));
        }
        let has_crds = |folder: &&ShippedFolder| folder.kinds.contains("CustomResourceDefinition");
        let paths = self.folders.iter().filter(|(_, folder)| has_crds(folder)).map(|(path, _)| path.as_str());
        let paths: Vec<&str> = paths.collect();
        if place.has_kinds && !paths.is_empty() {
            let go = folder.map(|folder| format!("cd {folder} && ")).unwrap_or_default();
            let command = format!("{go}memcached-sdk generate crds --compare {}", paths.join(" --compare "));
            lines.push(format!("Compare their CRDs with the types: {command}"));
        }
        if let Some(place) = &place.place {
            lines.push(format!(
                "`generate` keeps the CRDs in `{place}` up to date too; `memcached-sdk edit --crds` chooses another place."
            ));
        } else if let Some(refused) = &place.refused {
            let at = refused.origin.as_ref().map(|origin| format!("{}:{}", origin.path, origin.line_column().0));
            lines.push(format!(
                "`generate` cannot keep these CRDs up to date: {}, in `{}`. When that is changed: memcached-sdk edit --crds FOLDER",
                refused.message,
                at.unwrap_or_default()
            ));
        } else if let Some(file) = &place.unnamed {
            lines.push(format!(
                "`generate` cannot keep these CRDs up to date: the names of the files, such as `{file}`, do not follow from the kinds. \
                 Rename them after `{{group}}`, `{{plural}}`, `{{singular}}` or `{{kind}}`, and run memcached-sdk edit --crds PATTERN"
            ));
        }
        lines
    }
}

/// The kinds of objects that `config/` has in every project without the runtime.
const TAKEN: [&str; 8] = [
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "Deployment",
    "Namespace",
    "Role",
    "RoleBinding",
    "ServiceAccount",
];

impl ShippedFolder {
    /// Returns true for a folder with CRDs, roles or the account of an operator.
    fn is_of_operator(&self) -> bool {
        ["CustomResourceDefinition", "ClusterRole", "Role", "ServiceAccount"]
            .iter()
            .any(|kind| self.kinds.contains(*kind))
    }
}

fn is_in_chart(path: &Path) -> bool {
    path.ancestors().any(|folder| folder.join("Chart.yaml").is_file())
}

/// Returns true for the manifests of another project of this program.
fn is_of_other_project(path: &Path, root: &Path) -> bool {
    let projects = path.ancestors().filter(|folder| folder.ends_with("config")).filter_map(Path::parent);
    let mut others = projects.filter(|project| *project != root);
    others.any(|project| {
        std::fs::read_to_string(project.join(RECORD)).is_ok_and(|record| Project::parse(&record).is_ok())
    })
}

/// Returns true for tests, examples and samples.
fn is_example(path: &str) -> bool {
    let is_of_tests = |part: &str| {
        ["test", "tests", "testdata", "testing", "e2e", "examples", "example", "samples", "docs", "doc", "site"]
            .contains(&part)
    };
    path.split('/').rev().skip(1).any(is_of_tests)
}

/// The folder of a file, or its chart. Returns true for a chart.
fn folder(path: &Path, workspace: &Path, up: &str) -> (String, bool) {
    let chart = path.ancestors().skip(1).find(|folder| folder.join("Chart.yaml").is_file());
    let shown = |folder: &Path| {
        let shown = relative(folder, workspace).to_string_lossy().replace('\\', "/");
        if shown.is_empty() && up.is_empty() { ".".to_owned() } else { format!("{up}{shown}") }
    };
    match chart {
        Some(chart) => (shown(chart), true),
        None => (shown(path.parent().unwrap_or(workspace)), false),
    }
}

/// The images of the containers that no template computes.
fn images_of(object: &Value) -> Vec<String> {
    let containers = object["spec"]["template"]["spec"]["containers"].as_array().into_iter().flatten();
    let images = containers.filter_map(|container| container["image"].as_str());
    images
        .filter(|image| !image.is_empty() && !image.starts_with("controller:") && !compare::is_computed(image))
        .map(str::to_owned)
        .collect()
}
