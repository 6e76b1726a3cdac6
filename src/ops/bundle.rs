//! `generate kustomize manifests` and `generate bundle`: the operator for the Operator Lifecycle Manager.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use base64::Engine as _;
use serde_json::Value;

use super::{Findings, UsageError, VERSION, rendered};
use crate::diagnostic::{Diagnostics, Problem};
use crate::plan::{Draft, IfExists, RECORD, RelPath};
use crate::project::name::ProjectName;
use crate::project::{self, Project};
use crate::scaffold;
use crate::scaffold::context::ProjectContext;
use crate::ship::olm::Options;
use crate::ship::olm::base::{self, Answers, InstallMode};
use crate::ship::olm::bundle::{self, Before};
use crate::ship::olm::folder::Folder;
use crate::ship::olm::metadata;
use crate::yaml;

/// The help for missing manifests of a bundle.
const RENDER: &str = "run `memcached-sdk generate kustomize manifests` first, whose `config/manifests` is rendered; or name manifests with \
                      `--manifests`, or pipe them";
const MANIFESTS: &str = "manifests";

/// Texts of the base of the `ClusterServiceVersion`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct BundleBaseOptions {
    pub(crate) display_name: Option<String>,
    /// The purpose of the operator, in Markdown.
    pub(crate) description: Option<String>,
    pub(crate) capabilities: Option<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) keywords: Vec<String>,
    /// Names and URLs.
    pub(crate) links: Vec<(String, String)>,
    /// Names and addresses.
    pub(crate) maintainers: Vec<(String, String)>,
    pub(crate) provider: Option<String>,
    pub(crate) provider_url: Option<String>,
    pub(crate) maturity: Option<String>,
    pub(crate) min_kube_version: Option<String>,
    /// A file in SVG, PNG, JPEG or GIF.
    pub(crate) icon: Option<PathBuf>,
}

/// Plans `config/manifests`, which is rendered for a bundle. `force` overwrites files that exist with other text.
pub(crate) fn base(draft: &mut Draft, options: &BundleBaseOptions, force: bool) -> Result<Diagnostics> {
    let project = Project::recorded(draft)?;
    let answers = answers(options, &project)?;
    let path = base_path(&project.name)?;
    let is_answered = *options != BundleBaseOptions::default();
    let text = base::file(&answers);
    if is_answered && !force && draft.read(&path)?.is_some_and(|there| there != text) {
        let problem = Problem::new(format!("`{path}` exists and is yours, so flags do not change it"));
        return Err(problem.help("write the answers there, or replace the file with `--force`").into());
    }
    let if_exists = if force { IfExists::Overwrite } else { IfExists::Skip };
    let found = scaffold::bundle(draft, &ProjectContext::new(&project), if_exists)?;
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
    Ok(found)
}

fn base_path(name: &ProjectName) -> Result<RelPath> {
    Ok(RelPath::new(format!("config/manifests/bases/{name}.clusterserviceversion.yaml"))?)
}

/// Moves the base of the CSV to the new name of a project, if there is one. Only the name of the CSV changes in it: the rest is
/// text for people.
pub(crate) fn rename_base(draft: &mut Draft, old: &ProjectName, new: &ProjectName) -> Result<()> {
    let [from, to] = [base_path(old)?, base_path(new)?];
    let Some(text) = draft.read(&from)? else { return Ok(()) };
    let [old_name, new_name] = [old, new].map(|name| format!("\n  name: {name}.v"));
    draft.remove(from.clone());
    draft.scaffold(to.clone(), text.replacen(&old_name, &new_name, 1), IfExists::Refuse);
    let kustomization = RelPath::new("config/manifests/kustomization.yaml")?;
    if draft.read(&kustomization)?.is_some() {
        let [old_line, new_line] = [from, to].map(|path| path.as_str().replacen("config/manifests/", "- ", 1));
        draft.edit(&kustomization, |text| Ok(text.replacen(&old_line, &new_line, 1)))?;
    }
    Ok(())
}

fn answers(options: &BundleBaseOptions, project: &Project) -> Result<Answers> {
    let install_modes = match (project.namespaced, project.namespaces.is_empty()) {
        (false, _) => vec![InstallMode::AllNamespaces],
        (true, true) => vec![InstallMode::OwnNamespace],
        (true, false) => vec![InstallMode::OwnNamespace, InstallMode::SingleNamespace, InstallMode::MultiNamespace],
    };
    Ok(Answers {
        package: project.name.to_string(),
        display_name: options.display_name.clone(),
        description: options.description.clone(),
        capabilities: options.capabilities.clone(),
        categories: options.categories.clone(),
        keywords: options.keywords.clone(),
        links: options.links.iter().cloned().collect(),
        maintainers: options.maintainers.iter().cloned().collect(),
        provider: options.provider.clone().or_else(|| project.owner.clone()),
        provider_url: options.provider_url.clone(),
        maturity: options.maturity.clone(),
        min_kube_version: options.min_kube_version.clone(),
        icon: options.icon.as_deref().map(icon).transpose()?,
        install_modes,
        repository: project.repo.clone(),
    })
}

/// Returns the media type of an icon, and the file in Base64.
fn icon(path: &Path) -> Result<(String, String)> {
    let media = match path.extension().and_then(|extension| extension.to_str()) {
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        _ => return Err(Problem::new(format!("`{}` is not an SVG, PNG, JPEG or GIF image", path.display())).into()),
    };
    let bytes = std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    Ok((media.to_owned(), base64::prelude::BASE64_STANDARD.encode(bytes)))
}

/// Options of `generate bundle`.
#[derive(Debug, Clone, Default)]
pub(crate) struct BundleOptions {
    /// The manifests, a file or a folder; `-` is stdin. `None` renders `kustomize_dir`.
    pub(crate) manifests: Option<PathBuf>,
    /// The version of the operator; `None` for that of the existing bundle.
    pub(crate) version: Option<String>,
    /// The name of the operator in catalogs; `None` for that of the project.
    pub(crate) package: Option<String>,
    pub(crate) channels: Option<String>,
    /// The default channel; empty for none.
    pub(crate) default_channel: Option<String>,
    pub(crate) replaces: Option<String>,
    /// Further service accounts of the operator.
    pub(crate) accounts: Vec<String>,
    pub(crate) kustomize_dir: PathBuf,
    pub(crate) output_dir: PathBuf,
}

/// The planned bundle.
pub(crate) struct PlannedBundle {
    pub(crate) draft: Draft,
    /// The name of the `ClusterServiceVersion`.
    pub(crate) name: String,
}

/// Plans a bundle. `say` gets the command that renders the manifests.
pub(crate) fn run(options: &BundleOptions, say: &mut dyn FnMut(&str)) -> Result<Findings<PlannedBundle>> {
    let project = options.package.is_none().then(project).transpose()?;
    let package =
        options.package.clone().or_else(|| project.map(|project| project.name.to_string())).unwrap_or_default();
    let (parent, folder) = place(&options.output_dir)?;
    let mut draft = Draft::open(&parent);
    let within = |path: &str| RelPath::new(format!("{folder}/{path}"));
    let parse = |path: &RelPath, text: Option<String>| {
        let value = text.map(|text| serde_yaml::from_str::<Value>(&text)).transpose();
        value.map_err(|error| Problem::new(yaml::invalid(path, 0, &error)))
    };
    let (csv, annotations) = (within(&format!("{MANIFESTS}/{}", bundle::csv_file(&package)))?, within(metadata::FILE)?);
    let before = Before {
        csv: parse(&csv, draft.read(&csv)?)?,
        annotations: parse(&annotations, draft.read(&annotations)?)?.as_ref().map(metadata::read).unwrap_or_default(),
    };
    let details = Options {
        version: options.version.clone(),
        channels: options.channels.clone(),
        default_channel: options.default_channel.clone(),
        replaces: options.replaces.clone(),
        created_at: created_at()?,
        accounts: options.accounts.iter().cloned().collect(),
        folder: folder.clone(),
        builder: format!("memcached-sdk-v{VERSION}"),
        layout: project::LAYOUT.to_owned(),
        package,
    };
    let source = options.manifests.as_deref();
    let doing = format!("cannot make a bundle from `{}`", source.unwrap_or(&options.kustomize_dir).display());
    let objects = match source {
        Some(path) => rendered::objects(path, RENDER, &doing)?,
        None => rendered::rendered(&options.kustomize_dir, RENDER, &doing, say)?,
    };
    let base = base_of(&options.kustomize_dir, &details.package)?;
    let (bundle, found) = bundle::bundle(objects, base, &before, &details).context(doing)?;
    rendered::put(
        &mut draft,
        &format!("{folder}/{MANIFESTS}"),
        &bundle.manifests,
        bundle::is_generated,
        "move it away: files with other names in this folder are kept",
    )?;
    for (path, text) in &bundle.others {
        draft.generate(within(path)?, text);
    }
    draft.generate(RelPath::new("bundle.Dockerfile")?, bundle.dockerfile);
    Ok(Findings { value: PlannedBundle { draft, name: bundle.name }, diagnostics: found })
}

/// Reads PROJECT in the working directory.
fn project() -> Result<Project> {
    let text = std::fs::read_to_string(RECORD).map_err(|_| {
        Problem::new("not in a project: `PROJECT` not found").help("pass the name of the operator with `--package`")
    })?;
    Ok(Project::parse(&text)?)
}

/// Splits a path into the folder around it and its name.
pub(crate) fn place(folder: &Path) -> Result<(PathBuf, String)> {
    let name = folder.file_name().and_then(|name| name.to_str());
    let name =
        name.ok_or_else(|| UsageError(Problem::new(format!("`{}` has no name of its own", folder.display()))))?;
    let parent = folder.parent().filter(|parent| *parent != Path::new(""));
    Ok((parent.unwrap_or(Path::new(".")).to_path_buf(), name.to_owned()))
}

/// The time that reproducible builds take for now. <https://reproducible-builds.org/docs/source-date-epoch/>
fn created_at() -> Result<Option<String>> {
    let Some(seconds) = std::env::var("SOURCE_DATE_EPOCH").ok().filter(|seconds| !seconds.is_empty()) else {
        return Ok(None);
    };
    let time = seconds.parse().ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    let time = time
        .ok_or_else(|| Problem::new(format!("`SOURCE_DATE_EPOCH` is `{seconds}`, which is not a time in seconds")))?;
    Ok(Some(time.to_string()))
}

fn base_of(folder: &Path, package: &str) -> Result<Option<Value>> {
    let path = folder.join("bases").join(format!("{package}.clusterserviceversion.yaml"));
    if !path.is_file() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let value = serde_yaml::from_str(&text);
    Ok(Some(value.map_err(|error| Problem::new(yaml::invalid(path.display(), 0, &error)))?))
}

/// Reads a bundle; invalid UTF-8 is replaced.
pub(crate) fn folder(path: &Path) -> Result<Folder> {
    let shown = path.to_string_lossy().replace('\\', "/");
    let mut files = BTreeMap::new();
    for file in rendered::files(path)? {
        let text = std::fs::read(path.join(&file)).with_context(|| format!("cannot read `{shown}/{file}`"))?;
        files.insert(file, String::from_utf8_lossy(&text).into_owned());
    }
    Ok(Folder { shown: shown.trim_end_matches('/').to_owned(), files })
}
