//! `generate bundle`, `generate kustomize manifests`, `bundle validate`: the operator for the Operator Lifecycle Manager.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use base64::Engine as _;
use serde_json::Value;

use super::outcome::{Outcome, Report, Usage, apply};
use super::stream;
use crate::cli::{BundleValidateArgs, GenerateBundleArgs, KustomizeManifestsArgs, OutputFormat, WriteArgs};
use crate::diagnostic::Problem;
use crate::ops::shown_folder;
use crate::plan::{Draft, IfExists, RECORD, RelPath};
use crate::project::{self, Project};
use crate::scaffold;
use crate::scaffold::context::ProjectContext;
use crate::ship::olm::Options;
use crate::ship::olm::base::{self, Answers, InstallMode};
use crate::ship::olm::bundle::{self, Before};
use crate::ship::olm::folder::Folder;
use crate::ship::olm::metadata;
use crate::ship::olm::validate::{self, Optional};
use crate::term::Term;

/// The way to make manifests for a bundle.
const RENDER: &str = "run `memcached-sdk generate kustomize manifests` first, whose `config/manifests` is rendered; or name manifests with \
                      `--manifests`, or pipe them";
const MANIFESTS: &str = "manifests";

pub(super) fn kustomize_manifests(args: &KustomizeManifestsArgs, term: &mut Term) -> Result<Outcome> {
    let mut draft = Draft::open(&Project::find_root(Path::new("."))?);
    let project = Project::recorded(&draft)?;
    let answers = answers(args, &project)?;
    let path = RelPath::new(format!("config/manifests/bases/{}.clusterserviceversion.yaml", project.name))?;
    let asked = KustomizeManifestsArgs { interactive: None, write: WriteArgs::default(), ..args.clone() };
    let is_answered = asked != KustomizeManifestsArgs::default();
    let text = base::file(&answers);
    if is_answered && !args.write.force && draft.read(&path)?.is_some_and(|there| there != text) {
        let problem = Problem::new(format!("`{path}` is there and yours, so no flag changes it"));
        return Err(problem.help("write the answers there, or replace the file with `--force`").into());
    }
    let if_exists = if args.write.force { IfExists::Overwrite } else { IfExists::Skip };
    let found = scaffold::bundle(&mut draft, &ProjectContext::new(&project), if_exists)?;
    draft.scaffold(path, text, if_exists);
    // Like the Makefile: `config/namespaces` is `config/default`, with the Roles of other namespaces.
    let [with, without] = ["- ../namespaces\n", "- ../default\n"];
    let is_there = draft.read(&RelPath::new("config/namespaces/kustomization.yaml")?)?.is_some();
    let (from, to) = if is_there { (without, with) } else { (with, without) };
    // A project without kinds of its own has no samples so far.
    let [on, off] = ["\n- ../samples\n", "\n# - ../samples\n"];
    let has_samples = draft.read(&RelPath::new("config/samples/kustomization.yaml")?)?.is_some();
    let (before, after) = if has_samples { (off, on) } else { (on, off) };
    draft.edit(&RelPath::new("config/manifests/kustomization.yaml")?, |text| {
        Ok(text.replace(from, to).replace(before, after))
    })?;
    let mut report = apply(draft, found, &args.write)?;
    report.next =
        "Make a bundle of it, with kubectl or kustomize: memcached-sdk generate bundle --version 0.0.1".into();
    report.show(&args.write, term)
}

fn answers(args: &KustomizeManifestsArgs, project: &Project) -> Result<Answers> {
    let install_modes = match (project.namespaced, project.namespaces.is_empty()) {
        (false, _) => vec![InstallMode::AllNamespaces],
        (true, true) => vec![InstallMode::OwnNamespace],
        (true, false) => vec![InstallMode::OwnNamespace, InstallMode::SingleNamespace, InstallMode::MultiNamespace],
    };
    Ok(Answers {
        package: project.name.to_string(),
        display_name: args.display_name.clone(),
        description: args.description.clone(),
        capabilities: args.capabilities.clone(),
        categories: args.categories.clone(),
        keywords: args.keywords.clone(),
        links: args.link.iter().cloned().collect(),
        maintainers: args.maintainer.iter().cloned().collect(),
        provider: args.provider.clone().or_else(|| project.owner.clone()),
        provider_url: args.provider_url.clone(),
        maturity: args.maturity.clone(),
        min_kube_version: args.min_kube_version.clone(),
        icon: args.icon.as_deref().map(icon).transpose()?,
        install_modes,
        repository: project.repo.clone(),
    })
}

/// Its media type, and the file in Base64.
fn icon(path: &Path) -> Result<(String, String)> {
    let media = match path.extension().and_then(|extension| extension.to_str()) {
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        _ => return Err(Problem::new(format!("`{}` is no SVG, PNG, JPEG or GIF", path.display())).into()),
    };
    let bytes = std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    Ok((media.to_owned(), base64::prelude::BASE64_STANDARD.encode(bytes)))
}

pub(super) fn generate_bundle(args: &GenerateBundleArgs, term: &mut Term) -> Result<Outcome> {
    let project = args.package.is_none().then(project).transpose()?;
    let package = args.package.clone().or_else(|| project.map(|project| project.name.to_string())).unwrap_or_default();
    let (parent, folder) = place(&args.output_dir)?;
    let mut draft = Draft::open(&parent);
    let within = |path: &str| RelPath::new(format!("{folder}/{path}"));
    let parse = |path: &RelPath, text: Option<String>| {
        let value = text.map(|text| serde_yaml::from_str::<Value>(&text)).transpose();
        value.map_err(|error| Problem::new(format!("`{path}` is no YAML: {error}")))
    };
    let (csv, annotations) = (within(&format!("{MANIFESTS}/{}", bundle::csv_file(&package)))?, within(metadata::FILE)?);
    let before = Before {
        csv: parse(&csv, draft.read(&csv)?)?,
        annotations: parse(&annotations, draft.read(&annotations)?)?.as_ref().map(metadata::read).unwrap_or_default(),
    };
    let options = Options {
        version: args.version.as_ref().map(ToString::to_string),
        channels: args.channels.clone(),
        default_channel: args.default_channel.clone(),
        replaces: args.replaces.clone(),
        created_at: created_at()?,
        accounts: args.extra_service_accounts.iter().cloned().collect(),
        folder: folder.clone(),
        builder: format!("memcached-sdk-v{}", env!("CARGO_PKG_VERSION")),
        layout: project::LAYOUT.to_owned(),
        package,
    };
    let source = args.manifests.as_deref().or_else(|| stream::is_piped().then_some(Path::new("-")));
    let doing = format!("cannot make a bundle of `{}`", source.unwrap_or(&args.kustomize_dir).display());
    let objects = match source {
        Some(path) => stream::objects(path, RENDER, &doing)?,
        None => stream::rendered(&args.kustomize_dir, RENDER, &doing, term)?,
    };
    let base = base_of(&args.kustomize_dir, &options.package)?;
    let (bundle, found) = bundle::bundle(objects, base, &before, &options).context(doing)?;
    stream::put(
        &mut draft,
        &format!("{folder}/{MANIFESTS}"),
        &bundle.manifests,
        bundle::is_generated,
        "move it away: a file of another name in this folder stays",
    )?;
    for (path, text) in &bundle.others {
        draft.generate(within(path)?, text);
    }
    draft.generate(RelPath::new("bundle.Dockerfile")?, bundle.dockerfile);
    let mut report = apply(draft, found, &args.write)?;
    report.next =
        format!("`{}` is made: memcached-sdk bundle validate {}", bundle.name, shown_folder(&args.output_dir));
    report.show(&args.write, term)
}

/// The project that the command runs in.
fn project() -> Result<Project> {
    let text = std::fs::read_to_string(RECORD).map_err(|_| {
        Problem::new("not in a project: there is no `PROJECT` file").help("name the operator with `--package`")
    })?;
    Ok(Project::parse(&text)?)
}

/// The folder that a folder is in, and its name there.
pub(super) fn place(folder: &Path) -> Result<(PathBuf, String)> {
    let name = folder.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| Usage(Problem::new(format!("`{}` has no name of its own", folder.display()))))?;
    let parent = folder.parent().filter(|parent| *parent != Path::new(""));
    Ok((parent.unwrap_or(Path::new(".")).to_path_buf(), name.to_owned()))
}

/// The time that reproducible builds take for now. <https://reproducible-builds.org/docs/source-date-epoch/>
fn created_at() -> Result<Option<String>> {
    let Some(seconds) = std::env::var("SOURCE_DATE_EPOCH").ok().filter(|seconds| !seconds.is_empty()) else {
        return Ok(None);
    };
    let time = seconds.parse().ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    let time =
        time.ok_or_else(|| Problem::new(format!("`SOURCE_DATE_EPOCH` is `{seconds}`, and no time in seconds")))?;
    Ok(Some(time.to_string()))
}

fn base_of(folder: &Path, package: &str) -> Result<Option<Value>> {
    let path = folder.join("bases").join(format!("{package}.clusterserviceversion.yaml"));
    if !path.is_file() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let value = serde_yaml::from_str(&text);
    Ok(Some(value.map_err(|error| Problem::new(format!("`{}` is no YAML: {error}", path.display())))?))
}

/// A bundle as it is: in its texts, what is no text is replaced.
pub(super) fn folder(path: &Path) -> Result<Folder> {
    let shown = path.to_string_lossy().replace('\\', "/");
    let mut files = BTreeMap::new();
    for file in stream::files(path)? {
        let text = std::fs::read(path.join(&file)).with_context(|| format!("cannot read `{shown}/{file}`"))?;
        files.insert(file, String::from_utf8_lossy(&text).into_owned());
    }
    Ok(Folder { shown: shown.trim_end_matches('/').to_owned(), files })
}

pub(super) fn validate(args: &BundleValidateArgs, term: &mut Term) -> Result<Outcome> {
    let selected = selected(&args.select_optional).map_err(Usage)?;
    let kubernetes = kubernetes(&args.optional_values).map_err(Usage)?;
    if !args.dir.is_dir() {
        let problem = Problem::new(format!("there is no folder `{}`", args.dir.display()));
        return Err(problem.help("make it with `generate bundle`; an image has to be unpacked first").into());
    }
    let folder = folder(&args.dir)?;
    let diagnostics = validate::validate(&folder, &selected, kubernetes.as_ref());
    let outcome = if diagnostics.has_errors() { Outcome::Failed } else { Outcome::Done };
    if args.output == OutputFormat::Text {
        term.diagnostics(&diagnostics);
        if outcome == Outcome::Done {
            term.status(&format!("`{}` has no error", folder.shown));
        }
        return Ok(outcome);
    }
    let write = WriteArgs { output: args.output, ..WriteArgs::default() };
    Report { outcome, changes: Vec::new(), diagnostics, next: String::new() }.show(&write, term)
}

/// The validators of `--select-optional`.
fn selected(selectors: &[String]) -> Result<BTreeSet<Optional>, Problem> {
    let mut selected = BTreeSet::new();
    for selector in selectors {
        let known = Optional::ALL.into_iter().find(|one| selector.strip_prefix("name=") == Some(one.as_str()));
        match (known, selector.as_str()) {
            (Some(known), _) => _ = selected.insert(known),
            (None, "suite=operatorframework") => selected.extend(Optional::ALL),
            (None, "name=operatorhub") => {
                selected.extend([Optional::OperatorHub, Optional::Capabilities, Optional::Categories]);
            }
            (None, "name=multiarch" | "name=community") => {
                let problem =
                    Problem::new(format!("`{selector}` asks registries for images, which this command does not"));
                return Err(problem.help("`operator-sdk bundle validate` does"));
            }
            (None, _) => {
                let names: Vec<&str> = Optional::ALL.into_iter().map(Optional::as_str).collect();
                let problem = Problem::new(format!("there is no check `{selector}`"));
                return Err(
                    problem.help(format!("`suite=operatorframework`, or `name=` and one of {}", names.join(", ")))
                );
            }
        }
    }
    Ok(selected)
}

/// The version of `k8s-version`, of which the end may be missing.
fn kubernetes(values: &[(String, String)]) -> Result<Option<semver::Version>, Problem> {
    let mut found = None;
    for (key, value) in values {
        if key != "k8s-version" {
            return Err(Problem::new(format!("there is no value `{key}`")).help("`k8s-version=1.36` is one"));
        }
        let dots = value.matches('.').count();
        let full = format!("{}{}", value.trim_start_matches('v'), ".0".repeat(2_usize.saturating_sub(dots)));
        let version = semver::Version::parse(&full);
        found = Some(version.map_err(|_| Problem::new(format!("`{value}` is no version of Kubernetes")))?);
    }
    Ok(found)
}
