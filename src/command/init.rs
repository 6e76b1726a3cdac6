//! `init`: a folder and a domain → a project without APIs.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use super::choice::Choice;
use super::outcome::{Outcome, Usage, apply};
use super::{existing, manifests, toolchain};
use crate::cli::{InitArgs, License, ProjectArgs, WriteArgs, peers};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Problem};
use crate::plan::{Draft, IfExists, RECORD, RelPath};
use crate::project::Project;
use crate::project::manager::ManagerSource;
use crate::project::name::{Domain, Namespace, ProjectName, SUBDOMAIN_MAX};
use crate::runtime;
use crate::scaffold;
use crate::scaffold::context::ProjectContext;
use crate::source::{clean, members, workspace_of};
use crate::term::{self, Term};

/// The domain of a project that was given none.
pub(super) const DOMAIN: &str = "my.domain";

pub(super) fn run(args: &InitArgs, term: &mut Term) -> Result<Outcome> {
    existing::refuse(&args.dir)?;
    say_peers(&args.project, term);
    let mut draft = Draft::open(&args.dir);
    let found = plan(&mut draft, &args.project, DOMAIN, if_exists(&args.write))?;
    refuse_other_project(&draft)?;
    let mut report = apply(draft, found, &args.write)?;
    if report.is_written(&args.write) {
        report.diagnostics.extend(fetch(&args.dir, &args.project, term));
        let folder = in_folder(&args.dir);
        report.next = format!(
            "\nNext, define an API:\n  {folder}memcached-sdk create api --group GROUP --version v1alpha1 --kind KIND\n"
        );
    }
    report.show(&args.write, term)
}

/// Says what flags of kubebuilder and operator-sdk mean here.
pub(super) fn say_peers(args: &ProjectArgs, term: &mut Term) {
    term.statuses(peers::notes(&args.parts.plugins));
    term.statuses(args.peers.notes());
    if let Some(path) = args.repo.as_deref().filter(|repo| is_module_path(repo)) {
        term.status(&format!("`--repo`: a Go module has this path; the URL of the repository is `https://{path}`"));
    }
}

/// `github.com/owner/name`, without a scheme: the path of a Go module.
fn is_module_path(repo: &str) -> bool {
    let host = repo.split_once('/').map(|(host, _)| host);
    !repo.contains([':', '@']) && host.is_some_and(|host| host.contains('.') && !host.starts_with('.'))
}

/// `cd folder && `, unless we are there.
pub(super) fn in_folder(folder: &Path) -> String {
    if folder == Path::new(".") { String::new() } else { format!("cd {} && ", folder.display()) }
}

/// What happens to files that are there already.
pub(super) fn if_exists(write: &WriteArgs) -> IfExists {
    if write.force { IfExists::Overwrite } else { IfExists::Refuse }
}

/// The files of a project without APIs, PROJECT among them.
pub(super) fn plan(draft: &mut Draft, args: &ProjectArgs, domain: &str, if_exists: IfExists) -> Result<Diagnostics> {
    let mut project = project(draft.root(), args, domain)?;
    project.workspace = workspace(draft.root(), &project.manager)?;
    scaffold::manager::check(draft.root(), &project.manager)?;
    if !args.skip_toolchain_check {
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
    Ok(found)
}

/// The way to the root of the cargo workspace that takes the project for a member, if one does: `../..`.
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
                "the cargo workspace `{}` has a package `{}` already, in `{there}`, and cannot have two",
                manifest.display(),
                runtime::PACKAGE
            ));
            return Err(problem.help(format!("share it: pass `--manager path={up}/{there}`")).into());
        }
    }
    Ok(Some(up))
}

/// What is of the user once, and PROJECT.
pub(super) fn scaffold(draft: &mut Draft, project: &Project, if_exists: IfExists) -> Result<Diagnostics> {
    let found = scaffold::project(draft, &ProjectContext::new(project), if_exists)?;
    scaffold::parts(draft, project)?;
    draft.scaffold(RelPath::new(RECORD)?, project.to_yaml(), if_exists);
    Ok(found)
}

fn project(root: &Path, args: &ProjectArgs, domain: &str) -> Result<Project> {
    let name = if let Some(name) = &args.project_name {
        ProjectName::parse(name).map_err(Usage)?
    } else {
        let root = std::path::absolute(root).context("the folder has no path")?;
        let folder = root.file_name().ok_or_else(|| {
            Usage(Problem::new("the folder has no name to call the project by").help("pass `--project-name`"))
        })?;
        ProjectName::from_folder(&folder.to_string_lossy()).map_err(Usage)?
    };
    let domain = Domain::parse(args.domain.as_deref().unwrap_or(domain)).map_err(Usage)?;
    let mut project = Project::new(name, Some(domain));
    let lease = project.leader_election_id();
    if lease.len() > SUBDOMAIN_MAX {
        let problem =
            Problem::new(format!("the domain is too long: the Lease of leader election, `{lease}`, ends in it"));
        let most = SUBDOMAIN_MAX - lease.find('.').map_or(0, |dot| dot + 1);
        return Err(Usage(problem.help(format!("use a domain of at most {most} characters"))).into());
    }
    project.multigroup = args.multigroup;
    project.namespaces = namespaces(&args.namespaces)?;
    project.namespaced = args.namespaced || !project.namespaces.is_empty();
    let repo =
        args.repo.as_ref().map(|repo| if is_module_path(repo) { format!("https://{repo}") } else { repo.clone() });
    project.repo = repo.map(|repo| words("--repo", &repo)).transpose()?.flatten();
    project.owner = args.owner.as_deref().map(|owner| words("--owner", owner)).transpose()?.flatten();
    project.license = license(args.license);
    for choice in Choice::of_parts(&args.parts) {
        choice.apply_to(&mut project);
    }
    Ok(project)
}

/// The namespaces that are named, each once.
pub(super) fn namespaces(names: &[String]) -> Result<Vec<Namespace>> {
    let mut namespaces = Vec::new();
    for name in names {
        let namespace = Namespace::parse(name).map_err(Usage)?;
        if !namespaces.contains(&namespace) {
            namespaces.push(namespace);
        }
    }
    Ok(namespaces)
}

/// A text that stands in files of several formats; `None` for an empty one.
pub(super) fn words(flag: &str, text: &str) -> Result<Option<String>> {
    if text.chars().any(|c| c.is_control() || c == '"' || c == '\\') {
        let problem =
            Problem::new(format!("invalid `{flag}`: quotes, backslashes and control characters are not allowed"));
        return Err(Usage(problem).into());
    }
    Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
}

/// The SPDX expression of a license.
pub(super) fn license(license: License) -> Option<String> {
    Some(license.spdx().to_owned()).filter(|license| !license.is_empty())
}

/// A project is never laid over another one, not even with `--force`: its record would be lost.
pub(super) fn refuse_other_project(draft: &Draft) -> Result<()> {
    let record = RelPath::new(RECORD)?;
    let disk = Draft::open(draft.root()).read(&record)?;
    if disk.is_some() && disk != draft.read(&record)? {
        return Err(Problem::new(format!("`{}` is a project already, and not this one", term::folder(draft.root())))
            .help("choose another folder, or add to the project with `memcached-sdk create api`")
            .into());
    }
    Ok(())
}

/// What `--fetch-deps` asks for.
pub(super) fn fetch(root: &Path, args: &ProjectArgs, term: &mut Term) -> Diagnostics {
    if args.fetch_deps { fetch_dependencies(root, term) } else { Diagnostics::default() }
}

/// Writes Cargo.lock and downloads the dependencies. That can be done at any later time, so a failure is a warning.
pub(super) fn fetch_dependencies(root: &Path, term: &mut Term) -> Diagnostics {
    let mut found = Diagnostics::default();
    term.status("fetching the dependencies with cargo");
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(&cargo).arg("fetch").current_dir(root).stdin(Stdio::null()).output();
    let why = match output {
        Ok(output) if output.status.success() => return found,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => format!("`{cargo}`: {error}"),
    };
    found.push(
        Diagnostic::new(Code::NotFetched, format!("the dependencies could not be fetched: {why}"))
            .help("the project is complete; `cargo build` fetches them when it can"),
    );
    found
}
