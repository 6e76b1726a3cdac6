//! `edit --multigroup`: moves files into the folders of their groups, or out of them, and updates the paths that lead to them.
//!
//! The rest of each file stays. Names of objects and controllers do not change, because they exist in clusters.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};

use super::{Edited, MergeRules};
use crate::diagnostic::{Diagnostics, Problem};
use crate::ops::moves::{Moves, controllers, files_of};
use crate::ops::replay::replay;
use crate::plan::{Draft, IfExists};
use crate::project::{Project, Resource};
use crate::source::Regroup;

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
    let moves = moves(&from, &to);
    let [before, mut after] = [replay(&from)?, replay(&to)?];
    let carried = moves.scaffold(&before)?;
    for path in before.keys() {
        let new = moves.path(path)?;
        if let Some(text) = carried.get(&new).filter(|_| new != *path) {
            after.insert(new, text.clone());
        }
    }
    found.extend(moves.apply(draft, &carried, &after, MergeRules::new(IfExists::Refuse, Edited::Keep))?);
    Ok(to)
}

/// The moves from one layout to the other.
fn moves(from: &Project, to: &Project) -> Moves {
    let (one, several) = if to.multigroup { (from, to) } else { (to, from) };
    let mut moves = Moves::new(&one.package());
    for (one_resource, resource) in one.resources.iter().zip(&several.resources) {
        let group = resource.group_module();
        for modules in modules(one, one_resource) {
            let mut grouped = modules.clone();
            grouped.insert(1, group.clone());
            moves.files.insert(format!("src/{}", modules.join("/")), format!("src/{}", grouped.join("/")));
            moves.paths.push(if to.multigroup {
                Regroup::Into { path: modules, at: 1, name: group.clone() }
            } else {
                grouped.truncate(2);
                Regroup::OutOf(grouped)
            });
        }
        moves.files.extend(files_of(one_resource, false).into_iter().zip(files_of(resource, true)));
    }
    if !to.multigroup {
        moves.files = moves.files.into_iter().map(|(one, several)| (several, one)).collect();
    }
    moves
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
    let controllers = controllers(resource, |name| resource.controller_modules(false, name));
    let own = resource.api.is_some().then_some(api);
    let webhook = resource.webhooks.is_some().then_some(webhook);
    own.into_iter().chain(webhook).chain(controllers).collect()
}
