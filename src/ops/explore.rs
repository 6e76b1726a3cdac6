//! `explore`: an operator's binary → findings, on a kube-apiserver behind a proxy.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use jiff::SignedDuration;
use serde_json::Value;

use super::{UsageError, compare, envtest, rendered};
use crate::diagnostic::Problem;
use crate::explore::{self, ClusterChoice, Exploration, ExploreReport, Oracle};

/// Folders and files of a project of kubebuilder.
const CRDS: &str = "config/crd/bases";
const SAMPLES: &str = "config/samples";
const ROLE: &str = "config/rbac/role.yaml";

/// Options of `explore`.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExploreOptions {
    /// The operator's program and its arguments.
    pub(crate) command: Vec<OsString>,
    /// The program of the previous release. It gets the same arguments.
    pub(crate) previous: Option<PathBuf>,
    /// Folders or files with CRDs; none for the project's.
    pub(crate) crds: Vec<PathBuf>,
    /// Files with samples; none for the project's.
    pub(crate) samples: Vec<PathBuf>,
    /// A file with roles; none for the project's, if there is one.
    pub(crate) role: Option<PathBuf>,
    /// Permits all requests.
    pub(crate) no_role: bool,
    /// The cluster; none for an own API server.
    pub(crate) kubeconfig: Option<PathBuf>,
    /// A duration such as `60s`; none for the variable `EXPLORE`.
    pub(crate) budget: Option<String>,
    pub(crate) settle: Option<String>,
    pub(crate) only: Option<Oracle>,
    pub(crate) replay: Option<String>,
}

/// Explores a binary. `say` gets the progress.
pub(crate) fn run(options: &ExploreOptions, say: &mut dyn FnMut(&str)) -> Result<ExploreReport> {
    let exploration = prepare(options)?;
    explore::explore(&exploration, say)
}

/// Reads the inputs. Each missing one is wrong usage.
fn prepare(options: &ExploreOptions) -> Result<Exploration> {
    let help = "build the operator, and pass it behind `--`: `memcached-sdk explore -- ./bin/manager`";
    find_program(options.command.first(), help)?;
    let fallback = std::env::var("EXPLORE").ok().filter(|text| !text.is_empty());
    let budget = duration("--budget", options.budget.as_deref().or(fallback.as_deref()).unwrap_or("60s"))?;
    let settle = duration("--settle", options.settle.as_deref().unwrap_or("2s"))?;
    let mut wanted = options.only;
    if let Some(text) = &options.replay {
        let help = "pass the line below `Schedule` of a finding, such as `create: die before write 3`";
        wanted = Some(explore::oracle_of(text).map_err(|message| UsageError(Problem::new(message).help(help)))?);
    }
    let previous = previous(options, wanted)?;
    let crds = crds(&options.crds)?;
    let samples = samples(&options.samples)?;
    let roles = roles(options)?;
    let cluster = match &options.kubeconfig {
        Some(kubeconfig) if kubeconfig.is_file() => ClusterChoice::Of(kubeconfig.clone()),
        Some(kubeconfig) => return Err(not_found(kubeconfig, "pass a kubeconfig").into()),
        None => ClusterChoice::Own(envtest::installed_folder().ok_or_else(|| {
            let help =
                "run `memcached-sdk envtest`, set KUBEBUILDER_ASSETS to a folder with both, or pass `--kubeconfig`";
            UsageError(Problem::new("etcd and kube-apiserver not found").help(help))
        })?),
    };
    let command = options.command.clone();
    let (only, replay, flags) = (options.only, options.replay.clone(), flags(options));
    Ok(Exploration { cluster, crds, samples, roles, command, previous, budget, settle, only, replay, flags })
}

/// The flags that a replay needs too.
fn flags(options: &ExploreOptions) -> Vec<String> {
    let mut flags = Vec::new();
    let mut add = |name: &str, value: String| flags.extend([name.to_owned(), value]);
    let shown = |path: &PathBuf| path.display().to_string();
    options.crds.iter().for_each(|path| add("--crds", shown(path)));
    options.samples.iter().for_each(|path| add("--sample", shown(path)));
    options.role.iter().for_each(|path| add("--role", shown(path)));
    options.kubeconfig.iter().for_each(|path| add("--kubeconfig", shown(path)));
    options.previous.iter().for_each(|path| add("--previous", shown(path)));
    options.settle.iter().for_each(|settle| add("--settle", settle.clone()));
    if options.no_role {
        flags.push("--no-role".to_owned());
    }
    flags
}

/// The command of the previous release: its program with the arguments of the explored one.
fn previous(options: &ExploreOptions, wanted: Option<Oracle>) -> Result<Option<Vec<OsString>>, UsageError> {
    let help = "build the previous release, and pass its program: `--previous ../previous/bin/manager`";
    let Some(program) = options.previous.as_ref().map(|program| program.clone().into_os_string()) else {
        return if wanted == Some(Oracle::Release) {
            Err(UsageError(Problem::new("the oracle `release` needs the previous release").help(help)))
        } else {
            Ok(None)
        };
    };
    find_program(Some(&program), help)?;
    Ok(Some([program].into_iter().chain(options.command.iter().skip(1).cloned()).collect()))
}

/// A program with a path must exist. Others are looked for in PATH when they start.
fn find_program(program: Option<&OsString>, help: &str) -> Result<(), UsageError> {
    let Some(program) = program.map(Path::new) else {
        return Err(UsageError(Problem::new("the operator's program is missing").help(help)));
    };
    let in_path = || {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
    };
    if program.is_file() || (program.components().count() == 1 && in_path()) {
        Ok(())
    } else {
        Err(not_found(program, help))
    }
}

fn not_found(path: &Path, help: &str) -> UsageError {
    UsageError(Problem::new(format!("`{}` not found", path.display())).help(help))
}

fn duration(flag: &str, text: &str) -> Result<Duration, UsageError> {
    let parsed = text.parse::<SignedDuration>().ok().and_then(|duration| Duration::try_from(duration).ok());
    parsed.filter(|duration| !duration.is_zero()).ok_or_else(|| {
        let problem = Problem::new(format!("`{flag} {text}` is not a valid duration"));
        UsageError(problem.help("pass a duration such as `500ms`, `30s` or `10m`"))
    })
}

fn of_kind(objects: Vec<Value>, kinds: &[&str]) -> Vec<Value> {
    let is_of = |object: &Value| object["kind"].as_str().is_some_and(|kind| kinds.contains(&kind));
    objects.into_iter().filter(is_of).collect()
}

/// Reads the documents of a file or a folder. Templates of charts are read without their actions.
fn documents(path: &Path, help: &str) -> Result<Vec<Value>> {
    let mut all = Vec::new();
    for file in rendered::manifests(path)? {
        all.extend(if compare::is_template(&file) {
            compare::objects(&file, &rendered::read(&file, help)?)
        } else {
            rendered::documents(&file, help)?
        });
    }
    Ok(all)
}

fn crds(paths: &[PathBuf]) -> Result<Vec<Value>> {
    let help = "pass the folder with the CRDs: `--crds DIR`";
    let default = [PathBuf::from(CRDS)];
    let paths = match paths {
        [] if Path::new(CRDS).is_dir() => &default[..],
        [] => return Ok(Vec::new()),
        paths => paths,
    };
    let mut all = Vec::new();
    for path in paths {
        if !path.exists() {
            return Err(not_found(path, help).into());
        }
        let found = of_kind(documents(path, help)?, &["CustomResourceDefinition"]);
        if found.is_empty() {
            return Err(UsageError(Problem::new(format!("`{}` has no CRD", path.display())).help(help)).into());
        }
        all.extend(found);
    }
    Ok(all)
}

fn samples(paths: &[PathBuf]) -> Result<Vec<Value>> {
    let help = "pass a file with an object that the operator reconciles: `--sample FILE`";
    let mut files = paths.to_vec();
    if files.is_empty() {
        let names = rendered::yaml_files(Path::new(SAMPLES))?;
        let names = names.into_iter().filter(|name| !name.ends_with("kustomization.yaml"));
        files.extend(names.map(|name| Path::new(SAMPLES).join(name)));
    }
    let mut all = Vec::new();
    for file in &files {
        if !file.is_file() {
            return Err(not_found(file, help).into());
        }
        all.extend(rendered::objects(file, help, "reading the samples")?);
    }
    if all.is_empty() {
        return Err(UsageError(Problem::new(format!("there are no samples in `{SAMPLES}`")).help(help)).into());
    }
    Ok(all)
}

fn roles(options: &ExploreOptions) -> Result<Vec<Value>> {
    let help = "pass a file with a Role or a ClusterRole, or `--no-role`";
    let default = PathBuf::from(ROLE);
    let path = match &options.role {
        _ if options.no_role => return Ok(Vec::new()),
        Some(path) if !path.is_file() => return Err(not_found(path, help).into()),
        Some(path) => path,
        None if default.is_file() => &default,
        None => return Ok(Vec::new()),
    };
    let roles = of_kind(documents(path, help)?, &["Role", "ClusterRole"]);
    if roles.is_empty() {
        return Err(UsageError(Problem::new(format!("`{}` has no role", path.display())).help(help)).into());
    }
    Ok(roles)
}
