//! Finds the kind of the project that a command line names, with or without a group.

use anyhow::Result;

use super::UsageError;
use crate::diagnostic::Problem;
use crate::project::builtin::{self, Builtin};
use crate::project::{Project, Resource};

/// The maximum number of kinds in a help.
const LISTED: usize = 8;

/// An existing kind.
pub(crate) enum ExistingKind {
    /// A kind in PROJECT.
    Recorded(Box<Resource>),
    /// A kind of Kubernetes.
    Builtin(Builtin),
}

/// Finds the kind of `resource`, whose group is `group` on the command line. A group may already end in the project's domain.
/// An empty group stands for the only group of the project with that kind, then for the core group of Kubernetes.
pub(crate) fn find(project: &Project, resource: &Resource, group: &str) -> Result<ExistingKind> {
    if let Some(entry) = project.find(resource) {
        return Ok(ExistingKind::Recorded(Box::new(entry.clone())));
    }
    let same = |entry: &&Resource| entry.version == resource.version && entry.kind == resource.kind;
    if let Some(entry) = project.resources.iter().filter(same).find(|entry| {
        // The domain of a kind may be another one than that of the project.
        entry.qualified_group() == group || (!entry.core && entry.group.as_str() == group && !group.is_empty())
    }) {
        return Ok(ExistingKind::Recorded(Box::new(entry.clone())));
    }
    let (version, kind) = (resource.version.as_str(), resource.kind.as_str());
    if group.is_empty() {
        let entries: Vec<&Resource> = project.resources.iter().filter(same).collect();
        match entries[..] {
            [] => {}
            [entry] => return Ok(ExistingKind::Recorded(Box::new(entry.clone()))),
            _ => {
                let groups: Vec<String> = entries.iter().map(|entry| format!("`--group {}`", entry.group)).collect();
                let problem = Problem::new(format!("several groups of the project have `{version}` of `{kind}`"));
                return Err(UsageError(problem.help(format!("pass {}", groups.join(" or ")))).into());
            }
        }
        if let Ok(Some(builtin)) = builtin::find(group, version, kind) {
            return Ok(ExistingKind::Builtin(builtin));
        }
    } else if let Some(builtin) = builtin::find(group, version, kind)? {
        return Ok(ExistingKind::Builtin(builtin));
    }
    let shown = resource.display();
    let problem = Problem::new(format!("`{shown}` is neither an API of this project nor a built-in kind"));
    Err(problem.help(help(project, resource)).into())
}

/// Lists the existing kinds, preferably those of the same name.
fn help(project: &Project, resource: &Resource) -> String {
    let same: Vec<&Resource> = project.resources.iter().filter(|entry| entry.kind == resource.kind).collect();
    let same_is_empty = same.is_empty();
    let all = if same_is_empty { project.resources.iter().collect() } else { same };
    let builtins = builtin::all().into_iter().filter(|builtin| builtin.kind == resource.kind.as_str());
    let builtins: Vec<String> = builtins
        .map(|builtin| format!("`--group {} --version {} --kind {}`", builtin.group, builtin.version, builtin.kind))
        .collect();
    if same_is_empty && !builtins.is_empty() {
        return format!("Kubernetes has {}", builtins.join(", "));
    }
    let shown: Vec<String> = all.iter().take(LISTED).map(|entry| flags(entry)).collect();
    let more = if all.len() > LISTED { ", …" } else { "" };
    let there = if shown.is_empty() {
        "the project has no API yet; ".to_owned()
    } else {
        format!("the project has {}{more}; ", shown.join(", "))
    };
    format!(
        "{there}make an API with `memcached-sdk create api`, or name the type of another crate by `--external-api-path`"
    )
}

/// Returns the flags that name a kind of PROJECT.
fn flags(entry: &Resource) -> String {
    let group = if entry.group.is_empty() { String::new() } else { format!("--group {} ", entry.group) };
    format!("`{group}--version {} --kind {}`", entry.version, entry.kind)
}
