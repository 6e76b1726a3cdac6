//! `init`: a folder and a domain → a project without APIs.

use std::path::Path;

use anyhow::{Context as _, Result};

use super::choice::Choice;
use super::create_api::{self, CreateApiOptions};
use super::{UsageError, manifests, shown_folder, toolchain};
use crate::diagnostic::{Diagnostics, Problem};
use crate::plan::{Draft, IfExists, RECORD, RelPath};
use crate::project::Project;
use crate::project::manager::ManagerSource;
use crate::project::name::{Domain, Namespace, ProjectName, SUBDOMAIN_MAX};
use crate::runtime;
use crate::scaffold;
use crate::scaffold::context::ProjectContext;
use crate::source::{clean, members, workspace_of};

/// The default domain of a project.
pub(crate) const DOMAIN: &str = "my.domain";

/// Options of `init`.
#[derive(Debug, Clone)]
pub(crate) struct InitOptions {
    /// The name of the project; `None` takes that of the folder.
    pub(crate) project_name: Option<String>,
    /// The domain of the project's API groups.
    pub(crate) domain: String,
    pub(crate) repo: Option<String>,
    pub(crate) owner: Option<String>,
    /// The SPDX expression of the license.
    pub(crate) license: Option<String>,
    pub(crate) multigroup: bool,
    pub(crate) namespaced: bool,
    pub(crate) namespaces: Vec<String>,
    pub(crate) choices: Vec<Choice>,
    /// Fails without a Rust toolchain and a C linker.
    pub(crate) check_toolchain: bool,
    /// The handling of files that exist.
    pub(crate) if_exists: IfExists,
    /// The initial APIs of the project.
    pub(crate) apis: Vec<CreateApiOptions>,
}

/// Plans the files of a project, PROJECT among them.
pub(crate) fn run(draft: &mut Draft, options: &InitOptions) -> Result<Diagnostics> {
    let if_exists = options.if_exists;
    let mut project = project(draft.root(), options)?;
    if project.is_adopted() {
        let problem =
            Problem::new("`--manager none` is for a crate that exists: the code of a new project uses the runtime");
        return Err(UsageError(problem.help("leave `--manager` out")).into());
    }
    project.workspace = workspace(draft.root(), &project.manager)?;
    scaffold::manager::check(draft.root(), &project.manager)?;
    if options.check_toolchain {
        toolchain::check()?;
    }
    let mut found = scaffold(draft, &project, if_exists)?;
    if project.manager == ManagerSource::Vendored {
        found.extend(scaffold::manager::files(draft, if_exists == IfExists::Overwrite)?);
    }
    if let Some(long) = project.name.check_services() {
        found.push(long);
    }
    found.extend(manifests::manifests(draft, &project)?);
    for api in &options.apis {
        let _only_further_versions_have_a_step = create_api::run(draft, api)?.report(&mut found);
    }
    refuse_other_project(draft)?;
    Ok(found)
}

/// Returns true for the path of a Go module: `github.com/owner/name`, without a scheme.
pub(crate) fn is_module_path(repo: &str) -> bool {
    let host = repo.split_once('/').map(|(host, _)| host);
    !repo.contains([':', '@']) && host.is_some_and(|host| host.contains('.') && !host.starts_with('.'))
}

/// The URL of a repository; that of a Go module for its path. `None` if it is empty.
pub(crate) fn repository(repo: &str) -> Result<Option<String>> {
    words("--repo", &if is_module_path(repo) { format!("https://{repo}") } else { repo.to_owned() })
}

/// Returns the relative path to the root of the cargo workspace that includes the project, such as `../..`.
fn workspace(root: &Path, source: &ManagerSource) -> Result<Option<String>> {
    let Some((manifest, inside)) = workspace_of(root) else { return Ok(None) };
    let up = vec![".."; inside.split('/').count()].join("/");
    if *source == ManagerSource::Vendored {
        let folder = manifest.parent().unwrap_or(&manifest);
        let new = clean(&std::path::absolute(root)?);
        if let Some(other) = members(folder, Some(&new))?.into_iter().find(|member| member.name == runtime::PACKAGE) {
            let there = other.dir.strip_prefix(folder).unwrap_or(&other.dir);
            let there = there.to_string_lossy().replace('\\', "/");
            let problem = Problem::new(format!(
                "the cargo workspace `{}` already has a package `{}`, in `{there}`",
                manifest.display(),
                runtime::PACKAGE
            ));
            return Err(problem.help(format!("share it: pass `--manager path={up}/{there}`")).into());
        }
    }
    Ok(Some(up))
}

/// Plans the files that belong to the user after scaffolding, and PROJECT.
pub(crate) fn scaffold(draft: &mut Draft, project: &Project, if_exists: IfExists) -> Result<Diagnostics> {
    let context = ProjectContext::new(project);
    let found = if project.is_adopted() {
        scaffold::adopted(draft, &context, if_exists)?
    } else {
        let found = scaffold::project(draft, &context, if_exists)?;
        scaffold::parts(draft, project)?;
        found
    };
    draft.scaffold(RelPath::new(RECORD)?, project.to_yaml(), if_exists);
    Ok(found)
}

fn project(root: &Path, options: &InitOptions) -> Result<Project> {
    let name = if let Some(name) = &options.project_name {
        ProjectName::parse(name).map_err(UsageError)?
    } else {
        let root = std::path::absolute(root).context("the folder has no path")?;
        let folder = root.file_name().ok_or_else(|| {
            UsageError(Problem::new("cannot derive a project name from the folder").help("pass `--project-name`"))
        })?;
        ProjectName::from_folder(&folder.to_string_lossy()).map_err(UsageError)?
    };
    let domain = Domain::parse(&options.domain).map_err(UsageError)?;
    let mut project = Project::new(name, Some(domain));
    let lease = project.leader_election_id();
    if lease.len() > SUBDOMAIN_MAX {
        let problem =
            Problem::new(format!("the domain is too long for the name of the leader election Lease, `{lease}`"));
        let most = SUBDOMAIN_MAX - lease.find('.').map_or(0, |dot| dot + 1);
        return Err(UsageError(problem.help(format!("use a domain of at most {most} characters"))).into());
    }
    project.multigroup = options.multigroup;
    project.namespaces = namespaces(&options.namespaces)?;
    project.namespaced = options.namespaced || !project.namespaces.is_empty();
    project.repo = options.repo.as_deref().map(repository).transpose()?.flatten();
    project.owner = options.owner.as_deref().map(|owner| words("--owner", owner)).transpose()?.flatten();
    project.license.clone_from(&options.license);
    for choice in &options.choices {
        choice.apply_to(&mut project);
    }
    Ok(project)
}

/// Parses the namespaces without duplicates.
pub(crate) fn namespaces(names: &[String]) -> Result<Vec<Namespace>> {
    let mut namespaces = Vec::new();
    for name in names {
        let namespace = Namespace::parse(name).map_err(UsageError)?;
        if !namespaces.contains(&namespace) {
            namespaces.push(namespace);
        }
    }
    Ok(namespaces)
}

/// Checks a text that goes into files of several formats. Returns `None` for an empty text.
pub(crate) fn words(flag: &str, text: &str) -> Result<Option<String>> {
    if text.chars().any(|c| c.is_control() || c == '"' || c == '\\') {
        let problem =
            Problem::new(format!("invalid `{flag}`: quotes, backslashes and control characters are not allowed"));
        return Err(UsageError(problem).into());
    }
    Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
}

/// Refuses to overwrite another project, even with `--force`: its PROJECT file would be lost.
fn refuse_other_project(draft: &Draft) -> Result<()> {
    let record = RelPath::new(RECORD)?;
    let disk = Draft::open(draft.root()).read(&record)?;
    if disk.is_some() && disk != draft.read(&record)? {
        return Err(Problem::new(format!("`{}` already contains a different project", shown_folder(draft.root())))
            .help("choose another folder, or add to the project with `memcached-sdk create api`")
            .into());
    }
    Ok(())
}
