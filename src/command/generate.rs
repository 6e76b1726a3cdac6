//! `generate`: the source → CRDs and the manager's role.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::{Outcome, Usage, apply, update};
use crate::cli::{Engine, FeatureArgs, GenerateArgs, GenerateWhat};
use crate::diagnostic::{Diagnostics, Problem};
use crate::engine;
use crate::manifest::{rbac, yaml};
use crate::plan::{Draft, RECORD, RelPath};
use crate::project::Project;
use crate::source::{CargoManifest, FeatureSelection, Pending, SourceTree};
use crate::term::{Term, Verbosity};

/// What to write, and where.
struct Options {
    what: GenerateWhat,
    role_name: String,
    header: Option<String>,
    output_dir: String,
    crds: engine::Request,
}

pub(super) fn run(args: &GenerateArgs, term: &mut Term) -> Result<Outcome> {
    let mut draft = Draft::open(&crate_root(Path::new("."))?);
    let project = draft.read(&RelPath::new(RECORD)?)?.map(|text| Project::parse(&text)).transpose()?;
    let header = args
        .header_file
        .as_ref()
        .map(|path| std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display())));
    let options = Options {
        what: args.what,
        role_name: args.role_name.clone(),
        header: header.transpose()?,
        output_dir: args.output_dir.trim_end_matches('/').to_owned(),
        crds: engine::Request {
            engine: args.engine,
            verify: args.verify,
            features: features(&args.features),
            quiet: term.verbosity() == Verbosity::Quiet,
        },
    };
    let mut found = plan(&mut draft, project.as_ref(), &options, &mut |text| term.status(text))?;
    if args.write.check
        && args.what == GenerateWhat::All
        && let Some(project) = &project
        && let Some(differs) = update::verify_manager(&mut draft, project)?
    {
        found.push(differs);
    }
    found.sort();
    apply(draft, found, &args.write)?.show(&args.write, term)
}

/// The folder of the crate that `start` is in, as cargo finds it: the nearest one upwards that has a Cargo.toml.
fn crate_root(start: &Path) -> Result<PathBuf> {
    let start = std::path::absolute(start).unwrap_or_else(|_| start.to_path_buf());
    let root = start.ancestors().find(|folder| folder.join("Cargo.toml").is_file());
    Ok(root.map(Path::to_path_buf).ok_or_else(|| {
        Problem::new("there is no `Cargo.toml` here or in a folder above").help("change to the folder of a crate")
    })?)
}

fn features(args: &FeatureArgs) -> FeatureSelection {
    let names = args.features.iter().flat_map(|names| names.split_whitespace());
    FeatureSelection {
        no_default: args.no_default_features,
        all: args.all_features,
        features: names.map(str::to_owned).collect(),
    }
}

/// Refuses features that the crate does not have; those of its dependencies are left to cargo.
fn check_features(selection: &FeatureSelection, manifest: &CargoManifest) -> Result<()> {
    let known = |name: &&String| name.contains('/') || *name == "default" || manifest.features.contains_key(*name);
    let Some(unknown) = selection.features.iter().find(|name| !known(name)) else { return Ok(()) };
    let names: Vec<&str> = manifest.features.keys().map(String::as_str).collect();
    let problem = Problem::new(format!("`{}` has no feature `{unknown}`", manifest.name));
    Err(Usage(if names.is_empty() { problem } else { problem.help(format!("it has `{}`", names.join("`, `"))) }).into())
}

/// Everything, as `generate` without flags writes it, but never by compiling: for the commands that change the source.
pub(super) fn manifests(draft: &mut Draft, project: &Project) -> Result<Diagnostics> {
    let options = Options {
        what: GenerateWhat::All,
        role_name: "manager-role".to_owned(),
        header: None,
        output_dir: "config".to_owned(),
        crds: engine::Request { engine: Engine::Static, ..engine::Request::default() },
    };
    let mut found = plan(draft, Some(project), &options, &mut |_| {})?;
    if engine::is_for_the_compiler(&found) {
        let problem = Problem::new("the CRDs of this project can't be written without compiling it");
        found.push(problem.help("pass `--make=false`, and run `memcached-sdk generate` afterwards").into());
    }
    Ok(found)
}

/// `say` is told what takes a while.
fn plan(
    draft: &mut Draft,
    project: Option<&Project>,
    options: &Options,
    say: &mut dyn FnMut(&str),
) -> Result<Diagnostics> {
    let Options { what, role_name, header, output_dir, crds: request } = options;
    let mut pending = Pending::default();
    for path in draft.paths() {
        if let Some(text) = draft.read(path)? {
            pending.insert(&path.below(draft.root()), text);
        }
    }
    let (mut tree, mut found) = SourceTree::load_with(draft.root(), &request.features, &pending)?;
    check_features(&request.features, tree.manifest())?;
    if what.crds() {
        let crds = engine::crds(&mut tree, request, &mut found, say);
        let bases = format!("{output_dir}/crd/bases");
        let mut written = BTreeSet::new();
        for crd in &crds {
            let path = RelPath::new(format!("{bases}/{}", crd.file_name))?;
            draft.generate(path.clone(), yaml::file(header.as_deref(), std::slice::from_ref(&crd.value)));
            written.insert(path);
        }
        let groups: BTreeSet<String> = crds.iter().map(|crd| group(&crd.value).to_owned()).collect();
        let stale = stale(draft, &bases, project, &groups, &written)?;
        if !stale.is_empty() {
            // Nothing is removed because of a file that is broken.
            found.extend(tree.read_all());
        }
        for path in stale {
            draft.remove(path);
        }
    }
    if what.rbac() {
        let ((mut roles, diagnostics), read) = tree.settle(|tree| rbac::roles(tree, role_name));
        found.extend(diagnostics);
        found.extend(read);
        if let Some(project) = project.filter(|project| project.namespaced) {
            confine(&mut roles, project);
        }
        draft.generate(RelPath::new(format!("{output_dir}/rbac/role.yaml"))?, yaml::file(header.as_deref(), &roles));
    }
    Ok(found)
}

/// The role that allows nothing is a Role where the project binds a Role: markers name the namespace, but here are none.
fn confine(roles: &mut [Value], project: &Project) {
    if let [role] = roles
        && role["kind"] == "ClusterRole"
        && role["rules"].as_array().is_some_and(Vec::is_empty)
    {
        role["kind"] = "Role".into();
        role["metadata"]["namespace"] = format!("{}-system", project.name).into();
    }
}

fn group(crd: &Value) -> &str {
    crd["spec"]["group"].as_str().unwrap_or_default()
}

/// `cache.example.com_memcacheds.yaml`
fn file_name(crd: &Value) -> String {
    format!("{}_{}.yaml", group(crd), crd["spec"]["names"]["plural"].as_str().unwrap_or_default())
}

/// The CRDs that an earlier run wrote: files named as we name them, of a group of the source or of the project.
/// What somebody else has put into the folder stays.
fn stale(
    draft: &Draft,
    bases: &str,
    project: Option<&Project>,
    groups: &BTreeSet<String>,
    written: &BTreeSet<RelPath>,
) -> Result<Vec<RelPath>> {
    let ours = |group: &str| {
        let resources = project.iter().flat_map(|project| &project.resources);
        let domain = project.and_then(|project| project.domain.as_ref());
        groups.contains(group)
            || resources.filter(|resource| resource.api.is_some()).any(|resource| resource.qualified_group() == group)
            || domain.is_some_and(|domain| group == domain.as_str() || group.ends_with(&format!(".{domain}")))
    };
    let mut stale = Vec::new();
    let folder = RelPath::new(bases)?.below(draft.root());
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let Ok(path) = RelPath::new(format!("{bases}/{name}")) else { continue };
        if written.contains(&path) {
            continue;
        }
        let Some(text) = draft.read(&path)? else { continue };
        let Ok(crd) = serde_yaml::from_str::<Value>(&text) else { continue };
        if crd["kind"] == "CustomResourceDefinition" && file_name(&crd) == name && ours(group(&crd)) {
            stale.push(path);
        }
    }
    stale.sort();
    Ok(stale)
}
