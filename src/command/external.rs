//! A kind whose type is in another crate.

use anyhow::Result;

use super::outcome::Usage;
use crate::cli::ExternalArgs;
use crate::diagnostic::Problem;
use crate::plan::Draft;
use crate::project::name::Domain;
use crate::project::{Project, Resource};
use crate::scaffold;

/// What its group ends in: that of the project only for kinds of the project.
pub(super) fn domain(args: &ExternalArgs, project: &Project) -> Result<Option<Domain>> {
    Ok(match &args.external_api_domain {
        Some(domain) => Some(Domain::parse(domain).map_err(Usage)?),
        None if args.external_api_path.is_some() => None,
        None => project.domain.clone(),
    })
}

/// Says of a resource where its type is, if the flags do.
pub(super) fn name(args: &ExternalArgs, resource: &mut Resource) -> Result<()> {
    if let Some(path) = &args.external_api_path {
        resource.external = true;
        resource.path = Some(rust_path(path)?);
        resource.module.clone_from(&args.external_api_module);
    }
    Ok(())
}

/// A path such as `cert_manager::v1`: the module that the type is in.
fn rust_path(path: &str) -> Result<String> {
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
    };
    if !path.split("::").all(is_name) {
        let problem = Problem::new(format!("`{path}` is not the path of a Rust module"));
        return Err(Usage(problem.help("name where the type is, such as `cert_manager::v1`")).into());
    }
    Ok(path.to_owned())
}

/// Adds the crate that has the type to the dependencies.
pub(super) fn depend(draft: &mut Draft, resource: &Resource) -> Result<()> {
    let Some(module) = &resource.module else { return Ok(()) };
    let (name, version) = module.split_once('@').unwrap_or((module, "*"));
    scaffold::depend_on(draft, name, version)
}
