//! `doctor`: the machine, the project and its source → checks, each with what to do when it fails.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;

use super::envtest;
use super::generate::{self, GenerateOptions, GenerateOutcome};
use super::toolchain::{self, first_line, first_words};
use super::{Findings, VERSION};
use crate::crd::{Crd, group};
use crate::diagnostic::{Problem, Severity};
use crate::engine::{self, Engine};
use crate::plan::Draft;
use crate::plan::apply::{ChangeKind, Mode, apply};
use crate::project::{Controllers, Project, Resource};
use crate::source::{CargoManifest, PackageSelection};

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Health {
    Ok,
    /// Some commands or make targets do not work.
    Warning,
    /// The project does not build, or its manifests are wrong.
    Error,
}

/// One check.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct Checkup {
    /// The subject, such as `kubectl`.
    pub(crate) name: &'static str,
    pub(crate) health: Health,
    /// The version or the fault.
    pub(crate) message: String,
    /// The next step, with a command if there is one.
    pub(crate) help: Option<String>,
}

impl Checkup {
    fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self { name, health: Health::Ok, message: message.into(), help: None }
    }

    fn of(name: &'static str, failed: Health, result: Result<String, Problem>) -> Self {
        match result {
            Ok(message) => Self::ok(name, message),
            Err(problem) => Self { name, health: failed, message: problem.message, help: problem.help },
        }
    }
}

/// Checks the machine, and the project around the working directory if there is one.
pub(crate) fn run() -> Vec<Checkup> {
    let mut checks = machine();
    match Project::find_root(Path::new(".")) {
        Ok(root) => checks.extend(project(&root)),
        Err(problem) => checks.push(Checkup::of("project", Health::Warning, Err(problem))),
    }
    checks
}

fn machine() -> Vec<Checkup> {
    let rust =
        toolchain::rust().map_err(|problem| Problem { message: format!("missing {}", problem.message), ..problem });
    let linker = toolchain::c_compiler().map(str::to_owned);
    let linker = linker.map_err(|problem| Problem { message: format!("missing {}", problem.message), ..problem });
    vec![
        Checkup::of("rust", Health::Error, rust),
        Checkup::of("cargo", Health::Error, program("cargo", &["--version"], "install Rust from https://rustup.rs")),
        Checkup::of("c-compiler", Health::Error, linker),
        Checkup::of("rustfmt", Health::Warning, subcommand("fmt", "rustfmt")),
        Checkup::of("clippy", Health::Warning, subcommand("clippy", "clippy")),
        Checkup::of("kubectl", Health::Warning, kubectl()),
        Checkup::of("container-tool", Health::Warning, container_tool()),
        Checkup::of("envtest", Health::Warning, api_server()),
        Checkup::of("memcached-sdk", Health::Warning, own_program()),
    ]
}

/// Returns the name and version that a program prints.
fn program(name: &str, arguments: &[&str], help: &str) -> Result<String, Problem> {
    let found = first_line(name, arguments).map(|line| first_words(&line));
    found.ok_or_else(|| Problem::new(format!("`{name}` cannot be run")).help(help))
}

/// Checks a component of the toolchain, which `make lint` runs.
fn subcommand(command: &str, component: &str) -> Result<String, Problem> {
    let found = first_line("cargo", &[command, "--version"]).map(|line| first_words(&line));
    found.ok_or_else(|| {
        Problem::new(format!("`cargo {command}` cannot be run; `make lint` needs it"))
            .help(format!("run `rustup component add {component}`"))
    })
}

fn variable(name: &str, default: &str) -> String {
    std::env::var(name).ok().filter(|value| !value.is_empty()).unwrap_or_else(|| default.to_owned())
}

fn kubectl() -> Result<String, Problem> {
    let kubectl = variable("KUBECTL", "kubectl");
    first_line(&kubectl, &["version", "--client"]).ok_or_else(|| {
        Problem::new(format!("`{kubectl}` cannot be run; `make install` and `make deploy` need it"))
            .help("install it from https://kubernetes.io/docs/tasks/tools, or set KUBECTL")
    })
}

/// Finds the program of `make docker-build`.
fn container_tool() -> Result<String, Problem> {
    let tool = variable("CONTAINER_TOOL", "docker");
    if let Some(line) = first_line(&tool, &["--version"]) {
        return Ok(line);
    }
    let problem = Problem::new(format!("`{tool}` cannot be run; `make docker-build` needs it"));
    let other = ["podman", "nerdctl", "docker"].into_iter().find(|other| first_line(other, &["--version"]).is_some());
    Err(match other {
        Some(other) => problem.help(format!("run `make docker-build CONTAINER_TOOL={other}`, or set CONTAINER_TOOL")),
        None => problem.help("install docker or podman, and set CONTAINER_TOOL if it is not docker"),
    })
}

fn api_server() -> Result<String, Problem> {
    envtest::installed_folder().map(|folder| folder.display().to_string()).ok_or_else(|| {
        Problem::new("etcd and kube-apiserver not found; tests on an API server are skipped without them")
            .help("run `memcached-sdk envtest`, or set KUBEBUILDER_ASSETS to a folder with both")
    })
}

/// Finds this program the way that the Makefile does.
fn own_program() -> Result<String, Problem> {
    let name = variable("MEMCACHED_SDK", "memcached-sdk");
    let help = "add its folder to PATH, or set MEMCACHED_SDK to its path";
    let found = first_line(&name, &["version"])
        .ok_or_else(|| Problem::new(format!("`{name}` cannot be run; `make` calls it before each build")).help(help))?;
    let version = format!("memcached-sdk {VERSION}");
    if found == version {
        return Ok(found);
    }
    Err(Problem::new(format!("`make` runs {found}; this is {version}")).help("install one version of both"))
}

fn project(root: &Path) -> Vec<Checkup> {
    let mut checks = Vec::new();
    let project = match Project::recorded(&Draft::open(root)) {
        Ok(project) => project,
        Err(error) => {
            let help = error.chain().find_map(|cause| cause.downcast_ref::<Problem>()?.help.clone());
            let problem = Problem { message: format!("{error:#}"), help };
            return vec![Checkup::of("project", Health::Error, Err(problem))];
        }
    };
    checks.push(Checkup::of("project", Health::Warning, version(&project)));
    checks.push(Checkup::of("releases", Health::Warning, releases(root)));
    if !project.is_adopted() {
        checks.push(Checkup::of("controllers", Health::Warning, controllers(root, &project)));
    }
    checks.extend(manifests(root, &project));
    checks
}

/// Compares the version of this program with that of the project.
fn version(project: &Project) -> Result<String, Problem> {
    let name = project.name.as_str();
    match project.cli_version.as_deref() {
        Some(VERSION) => Ok(format!("{name}, by memcached-sdk {VERSION}")),
        Some(other) => Err(Problem::new(format!("{name} was written by memcached-sdk {other}; this is {VERSION}"))
            .help("run `memcached-sdk update`")),
        None => Err(Problem::new(format!("`PROJECT` of {name} does not say which version wrote it"))
            .help("run `memcached-sdk update`")),
    }
}

/// Checks that a program has one version of each crate whose types the others share.
fn releases(root: &Path) -> Result<String, Problem> {
    let manifest = CargoManifest::of_locked(root).filter(|manifest| manifest.has_lock);
    let Some(manifest) = manifest else {
        return Err(Problem::new("`Cargo.toml` or `Cargo.lock` is missing or cannot be read").help("run `cargo fetch`"));
    };
    let mut shown = Vec::new();
    for name in ["kube", "k8s-openapi", "schemars"] {
        match manifest.locked_versions(name).as_slice() {
            [] => {
                return Err(Problem::new(format!("`Cargo.lock` has no {name}")).help(format!("run `cargo add {name}`")));
            }
            [version] => shown.push(format!("{name} {version}")),
            [first, .., last] => {
                let what = format!("the program links {name} {first} and {last}, whose types are incompatible");
                let help = format!("find who needs the older one with `cargo tree --invert {name}@{first}`");
                return Err(Problem::new(what).help(help));
            }
        }
    }
    Ok(shown.join(", "))
}

/// Reads the source: compares its kinds with PROJECT, and the manifests with those on disk.
fn manifests(root: &Path, project: &Project) -> Vec<Checkup> {
    let options = GenerateOptions {
        packages: PackageSelection { manifest_path: Some(root.join("Cargo.toml")), ..PackageSelection::default() },
        engine: engine::EngineRequest { engine: Engine::Static, quiet: true, ..engine::EngineRequest::default() },
        check: true,
        preview: Some("--check"),
        ..GenerateOptions::default()
    };
    let Findings { value: generated, diagnostics } = match generate::run(&options, &mut |_| {}) {
        Ok(findings) => findings,
        Err(error) => {
            let help = error.chain().find_map(|cause| cause.downcast_ref::<Problem>()?.help.clone());
            return vec![Checkup::of("source", Health::Error, Err(Problem { message: format!("{error:#}"), help }))];
        }
    };
    let mut errors = diagnostics.iter().filter(|found| found.code.severity() == Severity::Error);
    if let Some(first) = errors.next() {
        let place = first.origin.as_ref().map(|origin| format!("`{}:{}`: ", origin.path, origin.line_column().0));
        let place = place.unwrap_or_default();
        let more = match errors.count() {
            0 => String::new(),
            count => format!(" (and {count} more)"),
        };
        let problem = Problem::new(format!("{place}{}{more}", first.message));
        return vec![Checkup::of("source", Health::Error, Err(problem.help("run `memcached-sdk generate --check`")))];
    }
    let crds = generated.manifests.crds.as_deref().unwrap_or_default();
    vec![
        Checkup::of("source", Health::Error, kinds(project, crds)),
        Checkup::of("manifests", Health::Error, up_to_date(generated, root)),
    ]
}

/// Compares the kinds of PROJECT with those in the source, in both directions.
fn kinds(project: &Project, crds: &[Crd]) -> Result<String, Problem> {
    let in_source: BTreeSet<String> = crds
        .iter()
        .flat_map(|crd| crd.versions().map(|(version, _)| format!("{}/{version} {}", group(&crd.value), crd.kind())))
        .collect();
    let own = || project.resources.iter().filter(|resource| resource.api.is_some() && !resource.external);
    let recorded: BTreeSet<String> = own().map(Resource::display).collect();
    if let Some(kind) = recorded.difference(&in_source).next() {
        return Err(Problem::new(format!("`PROJECT` lists `{kind}`, but the source has no such type"))
            .help("restore the type from version control, or remove the entry from `PROJECT`"));
    }
    let more = in_source.difference(&recorded).count();
    let more = if more == 0 { String::new() } else { format!(", and {more} that `PROJECT` does not list") };
    let count = recorded.len();
    Ok(format!("{count} of {count} kinds found{more}"))
}

/// Looks for the files of controllers where they were scaffolded. Their author may have moved them.
fn controllers(root: &Path, project: &Project) -> Result<String, Problem> {
    let mut found = 0;
    for resource in &project.resources {
        let names: Vec<Option<_>> = match &resource.controllers {
            Controllers::None => Vec::new(),
            Controllers::Default => vec![None],
            Controllers::Named(names) => names.iter().map(Some).collect(),
        };
        for name in names {
            let path = format!("src/{}.rs", resource.controller_modules(project.multigroup, name).join("/"));
            found += 1;
            if !root.join(&path).is_file() {
                let what =
                    format!("`PROJECT` lists a controller for `{}`, but `{path}` is missing", resource.display());
                return Err(
                    Problem::new(what).help("restore the file from version control; if you moved it, nothing is wrong")
                );
            }
        }
    }
    Ok(format!("{found} of {found} controllers found"))
}

fn up_to_date(generated: GenerateOutcome, root: &Path) -> Result<String, Problem> {
    let changes = apply(&generated.draft.finish(), root, Mode::Check, &mut |_| Ok(()))
        .map_err(|error| Problem::new(error.to_string()))?;
    let stale: Vec<&str> = changes
        .iter()
        .filter(|change| change.kind != ChangeKind::Unchanged)
        .map(|change| change.path.as_str())
        .collect();
    match stale.as_slice() {
        [] => Ok(format!("{} files are up to date", changes.len())),
        [path] => Err(Problem::new(format!("`{path}` is not up to date with the source"))),
        [path, rest @ ..] => {
            Err(Problem::new(format!("`{path}` and {} more files are not up to date with the source", rest.len())))
        }
    }
    .map_err(|problem| problem.help("run `memcached-sdk generate`"))
}
