//! Kinds with a type in another crate.

use anyhow::Result;

use super::UsageError;
use crate::diagnostic::Problem;
use crate::plan::Draft;
use crate::project::name::Domain;
use crate::project::{Project, Resource};
use crate::scaffold;

/// The flags that name a type of another crate.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExternalOptions {
    /// The Rust module of the type; `None` if the type is not one of another crate.
    pub(crate) path: Option<String>,
    /// The domain of the type's API group.
    pub(crate) domain: Option<String>,
    /// The crate that becomes a dependency: `NAME@VERSION`.
    pub(crate) module: Option<String>,
}

/// Returns the domain of the kind's API group. The default is the domain of the project, but not for a type of another crate.
pub(crate) fn domain(options: &ExternalOptions, project: &Project) -> Result<Option<Domain>> {
    Ok(match &options.domain {
        Some(domain) => Some(Domain::parse(domain).map_err(UsageError)?),
        None if options.path.is_some() => None,
        None => project.domain.clone(),
    })
}

/// Sets the domain of a further version: the versions of a kind share their group, which may be outside of the project's domain.
pub(crate) fn domain_of_kind(options: &ExternalOptions, project: &Project, resource: &mut Resource) {
    if options.path.is_some() || options.domain.is_some() {
        return;
    }
    let is_version = |other: &&Resource| {
        let whole = other.qualified_group();
        other.api.is_some()
            && other.kind == resource.kind
            && (other.group == resource.group || whole == resource.group.as_str())
    };
    let mut others = project.resources.iter().filter(is_version);
    let Some(other) = others.next() else { return };
    if project.other_versions(resource).next().is_none() && others.all(|one| one.same_group_kind(other)) {
        (resource.group, resource.domain) = (other.group.clone(), other.domain.clone());
    }
}

/// Sets the location of the resource's type from the flags. `command` is the beginning of a suggested command, up to the group.
pub(crate) fn name(options: &ExternalOptions, command: &str, resource: &mut Resource) -> Result<()> {
    if let Some(path) = &options.path {
        let is_go = |text: &String| text.contains('/');
        if is_go(path) || options.module.as_ref().is_some_and(is_go) {
            return Err(UsageError(of_go(options, command, resource)).into());
        }
        resource.external = true;
        resource.path = Some(rust_path(path)?);
        resource.module.clone_from(&options.module);
    }
    Ok(())
}

/// The error for the path of a Go package. The help is the command for a Rust type.
fn of_go(options: &ExternalOptions, command: &str, resource: &Resource) -> Problem {
    let path = options.path.as_deref().unwrap_or_default();
    let go = if path.contains('/') { path } else { options.module.as_deref().unwrap_or_default() };
    let domain = options.domain.as_ref().map(|domain| format!(" --external-api-domain={domain}"));
    let problem = Problem::new(format!("`{go}` is a Go package, and the controller needs a type in Rust"));
    problem.help(format!(
        "add a crate that has the type of `{}`, or make one from the CRD with kopium, and name the module of the type: \
         `{command} --group {} --version {} --kind {}{} --external-api-path=CRATE::{} --external-api-module=CRATE@VERSION`; \
         see docs/coming-from-kubebuilder.md",
        resource.display(),
        resource.group,
        resource.version,
        resource.kind,
        domain.unwrap_or_default(),
        resource.version,
    ))
}

/// Parses the path of the type's module, such as `cert_manager::v1`.
fn rust_path(path: &str) -> Result<String> {
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
    };
    if !path.split("::").all(is_name) {
        let problem = Problem::new(format!("`{path}` is not the path of a Rust module"));
        return Err(UsageError(problem.help("pass the path of the module, such as `cert_manager::v1`")).into());
    }
    Ok(path.to_owned())
}

/// Adds the crate of the type to the dependencies.
pub(crate) fn depend(draft: &mut Draft, resource: &Resource) -> Result<()> {
    let Some(module) = &resource.module else { return Ok(()) };
    let (name, version) = module.split_once('@').unwrap_or((module, "*"));
    scaffold::depend_on(draft, name, version)
}
