//! `edit --multigroup`: moves files into the folders of their groups, or out of them, and updates the paths that lead to them.
//!
//! The rest of each file stays. Names of objects and controllers do not change, because they exist in clusters.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result};
use walkdir::WalkDir;

use super::{Edited, apply_difference};
use crate::diagnostic::{Diagnostics, Problem};
use crate::ops::replay::{Scaffold, replay};
use crate::plan::{Draft, IfExists, RelPath};
use crate::project::name::ControllerName;
use crate::project::{Controllers, Project, Resource};
use crate::scaffold;
use crate::source::{Regroup, crate_name, regrouped};

/// Changes the layout of the project in the draft. Returns the project with the other layout.
pub(crate) fn regroup(
    draft: &mut Draft,
    project: Project,
    multigroup: bool,
    found: &mut Diagnostics,
) -> Result<Project> {
    let (from, to) = if project.multigroup == multigroup {
        // Files may still have the other layout, if that layout is possible.
        let Ok(from) = project.regrouped(!multigroup) else { return Ok(project) };
        (from, project)
    } else {
        let own = project.resources.iter().filter(|resource| resource.api.is_some());
        let groups: BTreeSet<String> = own.map(|resource| format!("`{}`", resource.group)).collect();
        if !multigroup && groups.len() > 1 {
            let groups: Vec<String> = groups.into_iter().collect();
            let problem = Problem::new(format!("the project has types of several groups: {}", groups.join(", ")));
            return Err(problem.help("files without folders per group are for one group only").into());
        }
        let to = project.regrouped(multigroup).context("the project cannot have the other layout")?;
        (project, to)
    };
    let layout = SourceLayout::new(&from, &to);
    let [before, mut after] = [replay(&from)?, replay(&to)?];
    for path in files(draft.root())? {
        layout.carry(draft, &path)?;
    }
    let mut moved = Scaffold::new();
    for (path, text) in before {
        let new = layout.path(&path)?;
        let text = layout.text(&path, &text);
        if new != path {
            after.insert(new.clone(), text.clone());
        }
        moved.insert(new, text);
    }
    found.extend(apply_difference(draft, &moved, &after, IfExists::Refuse, Edited::Keep)?);
    Ok(to)
}

/// Lists the files of the operator's own package, and the files of config/ that the layout may rename.
fn files(root: &Path) -> Result<Vec<RelPath>> {
    let folders = ["benches", "config/crd/patches", "config/rbac", "examples", "src", "tests"];
    let mut files = Vec::new();
    for entry in folders.iter().map(|folder| root.join(folder)).filter(|folder| folder.is_dir()).flat_map(WalkDir::new)
    {
        let entry = entry?;
        if entry.file_type().is_file() {
            let parts: Vec<_> = entry.path().strip_prefix(root)?.iter().map(|part| part.to_string_lossy()).collect();
            files.push(RelPath::new(parts.join("/"))?);
        }
    }
    Ok(files)
}

/// The moves from one layout to the other.
struct SourceLayout {
    crate_name: String,
    /// Old path → new path, without `.rs`. An entry stands for a file, or for a folder and the file of its module.
    moves: BTreeMap<String, String>,
    paths: Vec<Regroup>,
}

impl SourceLayout {
    fn new(from: &Project, to: &Project) -> Self {
        let (one, several) = if to.multigroup { (from, to) } else { (to, from) };
        let mut layout = Self { crate_name: crate_name(&one.package()), moves: BTreeMap::new(), paths: Vec::new() };
        for (one_resource, resource) in one.resources.iter().zip(&several.resources) {
            let group = resource.group_module();
            for modules in modules(one, one_resource) {
                let mut grouped = modules.clone();
                grouped.insert(1, group.clone());
                layout.moves.insert(format!("src/{}", modules.join("/")), format!("src/{}", grouped.join("/")));
                layout.paths.push(if to.multigroup {
                    Regroup::Into { path: modules, at: 1, name: group.clone() }
                } else {
                    grouped.truncate(2);
                    Regroup::OutOf(grouped)
                });
            }
            layout.moves.extend(other_files(one_resource, false).into_iter().zip(other_files(resource, true)));
        }
        if !to.multigroup {
            layout.moves = layout.moves.into_iter().map(|(one, several)| (several, one)).collect();
        }
        layout
    }

    fn path(&self, path: &RelPath) -> Result<RelPath> {
        let text = path.as_str();
        let moved = self.moves.iter().find_map(|(from, to)| {
            let rest = text.strip_prefix(from)?;
            (rest.is_empty() || rest == ".rs" || rest.starts_with('/')).then(|| format!("{to}{rest}"))
        });
        Ok(moved.map_or(Ok(path.clone()), RelPath::new)?)
    }

    fn text(&self, path: &RelPath, text: &str) -> String {
        let Some(module) = path.as_str().strip_suffix(".rs") else { return text.to_owned() };
        let module: Vec<&str> = match module.strip_prefix("src/") {
            Some("lib" | "main") | None => Vec::new(),
            Some(module) => module.strip_suffix("/mod").unwrap_or(module).split('/').collect(),
        };
        regrouped(text, &self.crate_name, &module, &self.paths)
    }

    /// Moves a file of the user and updates the paths in it.
    fn carry(&self, draft: &mut Draft, path: &RelPath) -> Result<()> {
        let new = self.path(path)?;
        let Some(text) = draft.read(path)? else { return Ok(()) };
        let mut changed = self.text(path, &text);
        if changed != text && scaffold::formatted(path, &text) == text {
            changed = scaffold::formatted(path, &changed);
        }
        if new != *path {
            if draft.read(&new)?.is_some() {
                let problem = Problem::new(format!("cannot move `{path}` to `{new}`: it exists"));
                return Err(problem.help("move one of them away, and run the command again").into());
            }
            draft.remove(path.clone());
            draft.scaffold(new, changed, IfExists::Refuse);
        } else if changed != text {
            draft.edit(path, |_| Ok(changed))?;
        }
        Ok(())
    }
}

/// The module paths of a resource, from the crate root, in the layout without groups. The other layout adds a group to each.
fn modules(project: &Project, resource: &Resource) -> Vec<Vec<String>> {
    let mut api = resource.api_modules(false);
    let kind = api.pop();
    let mut webhook = api.clone();
    "webhook".clone_into(&mut webhook[0]);
    // Kinds of several groups may have handlers in one version.
    let groups: BTreeSet<_> = project
        .resources
        .iter()
        .filter(|other| other.webhooks.is_some() && other.version_module() == resource.version_module())
        .map(Resource::group_module)
        .collect();
    if groups.len() > 1 {
        webhook.extend(kind);
    }
    let own = resource.api.is_some().then_some(api);
    let webhook = resource.webhooks.is_some().then_some(webhook);
    own.into_iter().chain(webhook).chain(controllers(resource, false, Resource::controller_modules)).collect()
}

/// The files of a resource without a module, in a fixed order.
fn other_files(resource: &Resource, multigroup: bool) -> Vec<String> {
    let prefix = resource.file_prefix(multigroup);
    let roles = ["admin", "editor", "viewer"].map(|who| format!("config/rbac/{prefix}_{who}_role.yaml"));
    let patch = format!("config/crd/patches/webhook_in_{}.yaml", resource.webhook_crd(multigroup));
    let webhook = resource.webhook_test(multigroup);
    let tests = controllers(resource, multigroup, Resource::test_module);
    let tests = tests.iter().flat_map(|test| [format!("tests/{test}.rs"), format!("tests/envtest_{test}.rs")]);
    roles.into_iter().chain([patch, format!("tests/envtest_webhook_{webhook}.rs")]).chain(tests).collect()
}

/// Returns the result of `of` for each controller of a resource.
fn controllers<T>(
    resource: &Resource,
    multigroup: bool,
    of: impl Fn(&Resource, bool, Option<&ControllerName>) -> T,
) -> Vec<T> {
    match &resource.controllers {
        Controllers::None => Vec::new(),
        Controllers::Default => vec![of(resource, multigroup, None)],
        Controllers::Named(names) => names.iter().map(|name| of(resource, multigroup, Some(name))).collect(),
    }
}
