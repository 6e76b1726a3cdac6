//! `init` in an existing crate: its source → PROJECT and the manifests in `config/`. No existing file is changed.

mod crate_source;
mod shipped;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use serde_json::Value;

use self::crate_source::{CrateKind, CrateSource};
use self::shipped::ShippedManifests;
use super::choice::Choice;
use super::edit::{self, Edited};
use super::elsewhere::elsewhere;
use super::manifests::output::{Header, Output};
use super::manifests::{self, Manifests, RefusedSubject, samples};
use super::replay::replay;
use super::{Findings, UsageError, init, shown_folder};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Problem};
use crate::plan::{Draft, IfExists, RECORD, RelPath};
use crate::project::manager::ManagerSource;
use crate::project::name::{Domain, Group, Kind, Plural, ProjectName, ShortName, Version};
use crate::project::resource::without_domain;
use crate::project::webhook::ProjectWebhooks;
use crate::project::{Controllers, Project, Resource, ResourceApi};
use crate::rbac::derive::propose;
use crate::rbac::role;
use crate::scaffold;
pub(crate) use crate::scaffold::AdoptedPart;
use crate::scaffold::context::ProjectContext;
use crate::source::{CargoManifest, PackageSelection, Packages, workspace_of};

/// Options of `init` in an existing crate.
#[derive(Debug, Clone, Default)]
pub(crate) struct AdoptOptions {
    /// The name of the project; `None` takes that of the package.
    pub(crate) project_name: Option<String>,
    /// The domain of the project's API groups; `None` takes the common one of the kinds.
    pub(crate) domain: Option<String>,
    pub(crate) repo: Option<String>,
    pub(crate) owner: Option<String>,
    /// Gives each API group a folder, also if there is only one group.
    pub(crate) multigroup: bool,
    pub(crate) namespaced: bool,
    pub(crate) namespaces: Vec<String>,
    pub(crate) choices: Vec<Choice>,
    /// Further files to scaffold.
    pub(crate) with: BTreeSet<AdoptedPart>,
}

/// Plans PROJECT and the manifests of a crate. The value says what was found, and the next steps.
pub(crate) fn run(draft: &mut Draft, options: &AdoptOptions) -> Result<Findings<String>> {
    let root = std::path::absolute(draft.root())?;
    let selection = PackageSelection { manifest_path: Some(root.join("Cargo.toml")), ..PackageSelection::default() };
    let packages = Packages::find(Path::new("."), &selection)?;
    let Some(manifest) = CargoManifest::of(&root) else {
        return Err(Problem::new("`Cargo.toml` cannot be read").into());
    };
    let mut source = CrateSource::read(&packages, &selection)?;
    let mut project = project(&root, &manifest, &source, options)?;
    let generated = generated(draft, &project, &mut source)?;
    let mut found = generated.not_written();
    if draft.read(&RelPath::new(RECORD)?)?.is_some() {
        let value = again(draft, &project, &source, &mut found)?;
        return Ok(Findings { value, diagnostics: found });
    }
    // The kinds of other projects do not decide about groups.
    project = self::project(&root, &manifest, &source, options)?;
    record(&mut project, &source, &mut found);

    let mut imagined = imagined(&project)?;
    let mut manifests = generated.manifests;
    if manifests.roles.unmarked {
        found.extend(derive_role(&mut manifests, &source, &imagined, &project)?);
    }
    let _removes_nothing =
        Output::usual(draft.root()).write(&manifests, &Header::default(), Some(&project), &mut imagined)?;
    let (package_name, program_name) = (manifest.name.clone(), program(&manifest));
    let context = ProjectContext { package_name, program_name, ..ProjectContext::new(&project) };
    scaffold::adopted_parts(&mut imagined, &context, &options.with)?;

    let planned = planned(&imagined, manifests.crds.as_deref().unwrap_or_default())?;
    let is_confined = planned.keys().any(|path| path.as_str() == "config/namespaces/kustomization.yaml");
    let everything = if is_confined { "config/namespaces" } else { "config/default" };
    let shipped = ShippedManifests::read(&root, &packages.workspace(), &planned)?;
    let own = project.resources.iter().filter(|kind| kind.api.is_some());
    let place = shipped.place(draft, &own.map(Resource::crd_file_names).collect::<Vec<_>>())?;
    project.crds.clone_from(&place.place);
    for (path, mut text) in planned {
        if path.as_str() == "config/manager/kustomization.yaml"
            && let Some(image) = &shipped.image
        {
            text = with_image(&text, image);
        }
        draft.scaffold(path, text, IfExists::Skip);
    }
    draft.scaffold(RelPath::new(RECORD)?, project.to_yaml(), IfExists::Refuse);
    let is_complete = generated.refused.is_empty();
    let folder = Some(shown_folder(draft.root())).filter(|folder| folder != ".");
    let shipped = shipped.told(&place, folder.as_deref());
    let value = told(&project, &packages, shipped, is_complete, everything, folder.as_deref());
    Ok(Findings { value, diagnostics: found })
}

/// Updates the kinds of a project whose crate was adopted before: new ones are recorded, and those that the source no longer has
/// go.
fn again(draft: &mut Draft, new: &Project, source: &CrateSource, found: &mut Diagnostics) -> Result<String> {
    let recorded = Project::recorded(draft)?;
    if new.name != recorded.name {
        return Err(Problem::new(format!(
            "`{}` already contains the project `{}`",
            shown_folder(draft.root()),
            recorded.name
        ))
        .help("run the command without `--project-name`")
        .into());
    }
    let mut found_now = recorded.clone();
    found_now.resources.clear();
    record(&mut found_now, source, found);
    let mut wanted = recorded.clone();
    wanted.resources.retain(|kind| kind.path.is_none() || found_now.find(kind).is_some());
    for kind in found_now.resources {
        match wanted.resources.iter_mut().find(|other| other.same_gvk(&kind)) {
            Some(other) if other.is_adopted() && kind.is_adopted() => {
                *other = Resource { unknown: other.unknown.clone(), ..kind }
            }
            Some(_) => {}
            None => wanted.resources.push(kind),
        }
    }
    found.extend(edit::change(draft, &wanted, Edited::Keep)?);
    Ok(format!("\n{}", counts(&wanted)))
}

/// The scaffold of a project.
fn imagined(project: &Project) -> Result<Draft> {
    let mut imagined = Draft::imagined();
    for (path, text) in replay(project)? {
        imagined.scaffold(path, text, IfExists::Overwrite);
    }
    Ok(imagined)
}

/// The name of the program that the image runs: the default one, the first one, or that of the package.
fn program(manifest: &CargoManifest) -> String {
    manifest.default_program().unwrap_or_else(|| manifest.name.clone())
}

/// The project without its resources.
fn project(root: &Path, manifest: &CargoManifest, source: &CrateSource, options: &AdoptOptions) -> Result<Project> {
    let name = match &options.project_name {
        Some(name) => ProjectName::parse(name),
        None => ProjectName::from_folder(&manifest.name.replace('_', "-")),
    };
    let own = source.kinds.iter().filter(|kind| !kind.is_foreign);
    let groups: BTreeSet<&str> = own.map(|kind| kind.custom.group.as_str()).collect();
    let domain = match &options.domain {
        Some(domain) => Domain::parse(domain).map_err(UsageError)?,
        None => common_domain(&groups).map_or_else(|| Domain::parse(init::DOMAIN), Ok).map_err(UsageError)?,
    };
    let mut project = Project::new(name.map_err(UsageError)?, Some(domain));
    project.manager = ManagerSource::None;
    project.workspace = workspace_of(root).map(|(_, inside)| vec![".."; inside.split('/').count()].join("/"));
    project.multigroup = options.multigroup || groups.len() > 1;
    project.namespaces = init::namespaces(&options.namespaces)?;
    project.namespaced = options.namespaced || !project.namespaces.is_empty();
    project.repo = options.repo.as_deref().map(init::repository).transpose()?.flatten();
    project.owner = options.owner.as_deref().map(|owner| init::words("--owner", owner)).transpose()?.flatten();
    let is_none = |choice: &&Choice| **choice == Choice::Manager(ManagerSource::None);
    if let Some(choice) = options.choices.iter().find(|choice| !is_none(choice)) {
        let flag = choice.flag();
        let problem = Problem::new(format!("`{flag}` is about the runtime, which an existing crate does not get"));
        return Err(UsageError(problem.help("leave it out")).into());
    }
    if project.workspace.is_some() && options.with.contains(&AdoptedPart::Workflows) {
        let problem =
            Problem::new("workflows belong to the root of the repository, and this is a member of a workspace");
        return Err(UsageError(problem.help("leave `workflows` out of `--with`")).into());
    }
    Ok(project)
}

/// The longest common suffix of API groups that has a dot. The first label of a single group is not part of its domain, if what
/// follows has a dot.
fn common_domain(groups: &BTreeSet<&str>) -> Option<Domain> {
    let mut groups = groups.iter().filter(|group| group.contains('.'));
    let first = *groups.next()?;
    let (_, rest) = first.split_once('.')?;
    let mut domain = if rest.contains('.') { rest } else { first };
    for group in groups {
        while *group != domain && !group.strip_suffix(domain).is_some_and(|short| short.ends_with('.')) {
            (_, domain) = domain.split_once('.')?;
        }
    }
    Domain::parse(if domain.contains('.') { domain } else { first }).ok()
}

/// Records the kinds.
fn record(project: &mut Project, source: &CrateSource, found: &mut Diagnostics) {
    for kind in &source.kinds {
        match resource(kind, source, project.domain.as_ref()) {
            Ok(resource) if project.find(&resource).is_none() => project.resources.push(resource),
            Ok(_) => {}
            Err(problem) => {
                let message = format!("`{}` is not recorded: {}", kind.custom.name(), problem.message);
                found.push(Diagnostic::new(Code::NotGenerated, message).at(kind.origin.clone()));
            }
        }
    }
}

fn resource(kind: &CrateKind, source: &CrateSource, domain: Option<&Domain>) -> Result<Resource, Problem> {
    let custom = &kind.custom;
    let whole = Group::parse(&custom.group)?;
    let short = domain.and_then(|domain| Some((without_domain(&whole, domain)?, domain)));
    let (group, domain) = match short {
        Some((group, domain)) => (Group::parse(group)?, Some(domain.clone())),
        None => (whole, None),
    };
    let mut resource = Resource::new(group, domain, Version::parse(&custom.version)?, Kind::parse(&custom.kind)?)?;
    resource.plural = Plural::parse(&kind.plural)?;
    resource.path = Some(kind.module.clone());
    if source.is_controlled(kind) {
        resource.controllers = Controllers::Default;
    }
    let (defaulting, validation) = source.webhooks_of(kind);
    if defaulting || validation {
        let webhooks = ProjectWebhooks {
            defaulting,
            validation,
            webhook_version: Some("v1".to_owned()),
            ..ProjectWebhooks::default()
        };
        resource.webhooks = Some(webhooks.to_value());
    }
    if kind.is_foreign {
        resource.external = true;
        resource.namespaced = custom.namespaced;
    } else {
        let short_names = custom.short_names.iter().map(|name| ShortName::parse(name)).collect::<Result<_, _>>()?;
        resource.api = Some(ResourceApi { short_names, ..ResourceApi::new(custom.namespaced) });
    }
    Ok(resource)
}

/// The manifests that the source decides without the compiler.
struct Generated {
    manifests: Manifests,
    /// The kinds that have an error, as `Kind.group`.
    refused: BTreeSet<String>,
    /// The first error.
    error: Option<Diagnostic>,
}

/// Generates the manifests. Marks the kinds that the code only reads as those of other projects.
fn generated(draft: &Draft, project: &Project, source: &mut CrateSource) -> Result<Generated> {
    let (mut options, pending) = manifests::of_draft(draft, project)?;
    options.keep_going = true;
    let mut scope = manifests::scope(&imagined(project)?, project)?;
    scope.cluster_wide.extend(source.code.home.cluster_wide.iter().cloned());
    // `generate` reports its findings.
    let Findings { value: mut manifests, diagnostics } =
        manifests::generate(&options, &pending, Some(scope), &mut |_| {})?;
    let refused = RefusedSubject::of(&manifests, &options, &diagnostics);
    let only_read = refused.only_read(&manifests, &options, None);
    let foreign: BTreeSet<&String> = only_read.iter().flat_map(|found| &found.kinds).collect();
    source.kinds.iter_mut().for_each(|kind| kind.is_foreign |= foreign.contains(&kind.custom.name()));
    manifests.crds.iter_mut().for_each(|crds| crds.retain(|crd| !foreign.contains(&crd.name())));
    let error = diagnostics.iter().find(|found| found.code.severity() == crate::diagnostic::Severity::Error).cloned();
    let mut kinds: BTreeSet<String> = BTreeSet::new();
    if error.is_some() {
        refused.leave_out(&mut manifests);
        let written: BTreeSet<String> = manifests.crds.iter().flatten().map(crate::crd::Crd::name).collect();
        kinds = source.kinds.iter().filter(|kind| !kind.is_foreign).map(|kind| kind.custom.name()).collect();
        kinds.retain(|kind| !written.contains(kind));
    }
    manifests.complete = false;
    Ok(Generated { manifests, refused: kinds, error })
}

impl Generated {
    /// Names the kinds whose CRDs are not written.
    fn not_written(&self) -> Diagnostics {
        let names: Vec<String> = self.refused.iter().map(|name| format!("`{name}`")).collect();
        let Some(error) = self.error.as_ref().filter(|_| !names.is_empty()) else { return Diagnostics::default() };
        let message = format!("the CRDs of {} are not written yet: {}", names.join(", "), error.message);
        let found = Diagnostic::new(Code::NotGenerated, message).help("run `memcached-sdk generate`");
        Diagnostics::from_iter([if let Some(origin) = error.origin.clone() { found.at(origin) } else { found }])
    }
}

/// Makes the role of the requests in the code. Names the requests that could not be followed.
fn derive_role(
    manifests: &mut Manifests,
    source: &CrateSource,
    imagined: &Draft,
    project: &Project,
) -> Result<Diagnostics> {
    let mut found = Diagnostics::default();
    let mut scope = manifests::scope(imagined, project)?;
    scope.cluster_wide.extend(source.code.home.cluster_wide.iter().cloned());
    let (documents, unbound) = propose::roles(&source.code.usages, role::ROLE, &scope);
    found.extend(unbound);
    manifests.roles.documents = Some(documents);
    let doubts = source.code.doubts.len();
    if doubts > 0 {
        let calls = if doubts == 1 { "a call".to_owned() } else { format!("{doubts} calls") };
        let message = format!("`config/rbac/role.yaml` may lack permissions: {calls} could not be followed");
        found.push(Diagnostic::new(Code::RbacNotFollowed, message).help("`memcached-sdk rbac derive` lists the calls"));
    }
    Ok(found)
}

/// The files of the draft, with the required fields in the samples.
fn planned(imagined: &Draft, crds: &[crate::crd::Crd]) -> Result<BTreeMap<RelPath, String>> {
    let mut planned = BTreeMap::new();
    for path in imagined.paths().filter(|path| path.as_str() != RECORD && !path.is_rust()) {
        let Some(text) = imagined.read(path)? else { continue };
        let is_sample = path.as_str().starts_with("config/samples/");
        planned.insert(path.clone(), if is_sample { samples::filled(crds, &text) } else { text });
    }
    Ok(planned)
}

/// Sets the image in `config/manager/kustomization.yaml`.
fn with_image(text: &str, image: &str) -> String {
    let image = crate::ship::Image::new(image);
    let key = if image.version.starts_with("sha256:") { "digest" } else { "newTag" };
    let version = if image.version.is_empty() { "latest" } else { image.version };
    text.replace("newName: controller", &format!("newName: {}", image.repository))
        .replace("newTag: latest", &format!("{key}: {}", crate::yaml::document(&Value::from(version)).trim_end()))
}

/// Says how much PROJECT records.
fn counts(project: &Project) -> String {
    let counted = |what: &str, is: &dyn Fn(&&Resource) -> bool| {
        let count = project.resources.iter().filter(is).count();
        let plural = if count == 1 { "" } else { "s" };
        what.replace("%s", plural).replacen('%', &count.to_string(), 1)
    };
    let mut parts = vec![
        counted("% kind%s", &|kind| kind.api.is_some()),
        counted("% controller%s", &|kind| kind.controllers != Controllers::None),
    ];
    if project.resources.iter().any(|kind| kind.webhooks.is_some()) {
        parts.push(counted("% kind%s with webhooks", &|kind| kind.webhooks.is_some()));
    }
    if project.resources.iter().any(|kind| kind.external) {
        parts.push(counted("% kind%s of other projects, which are never written", &|kind| kind.external));
    }
    format!("PROJECT records {}.", parts.join(", "))
}

/// The findings and the next steps, for people. `folder` is that of the project, unless it is the working directory.
fn told(
    project: &Project,
    packages: &Packages,
    shipped: Vec<String>,
    is_complete: bool,
    everything: &str,
    folder: Option<&str>,
) -> String {
    let mut lines = vec![String::new(), counts(project)];
    if project.resources.is_empty() {
        lines.push(match elsewhere(packages) {
            Some(elsewhere) => elsewhere.note("No type here derives `CustomResource`").message + ".",
            None => "No type derives `CustomResource`; `memcached-sdk generate` says what it cannot read.".to_owned(),
        });
    }
    lines.extend(shipped);
    let run = ("memcached-sdk generate".to_owned(), "after each change of the types, and of markers");
    let look = (
        format!("kubectl kustomize {everything}"),
        "everything that is deployed; give config/manager what your program needs",
    );
    let steps = if is_complete { [look, run] } else { [run, look] };
    lines.push("\nNext:".to_owned());
    lines.extend(folder.map(|folder| format!("  cd {folder}")));
    lines.extend(steps.map(|(command, why)| format!("  {command:<36}# {why}")));
    lines.join("\n")
}
