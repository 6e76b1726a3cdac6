//! The source → its manifests, in memory. `generate` and the commands that change the source use it.

mod crds;
pub(crate) mod output;
pub(crate) mod patches;
mod refused;
mod role;
pub(crate) mod samples;
mod webhooks;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::Result;
use serde_json::Value;

use self::crds::CrdStep;
use self::output::{Header, Output};
use self::refused::KnownKinds;
pub(crate) use self::refused::RefusedSubject;
use self::role::{OperatorRoles, RoleStep};
use self::webhooks::{Configurations, WebhookStep};
use super::Findings;
use crate::api;
use crate::crd::Crd;
use crate::crd::conversion::{Conversions, Converted};
use crate::crd::fix::Fixable;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Problem, Severity};
use crate::engine::{self, Engine};
use crate::k8s::{self, CustomResource};
use crate::plan::{Draft, RelPath};
use crate::project::webhook::ProjectWebhooks;
use crate::project::{Project, Resource};
use crate::rbac::role as rbac_role;
use crate::rbac::scope::OperatorScope;
use crate::source::{FeatureSelection, Member, Packages, Pending, SourceChoice, SourceTree};

/// The kinds of manifests to generate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WantedManifests {
    pub(crate) crds: bool,
    pub(crate) roles: bool,
    pub(crate) webhooks: bool,
}

impl WantedManifests {
    pub(crate) const ALL: Self = Self { crds: true, roles: true, webhooks: true };
}

/// The manifests to generate and their source.
pub(crate) struct ManifestOptions {
    pub(crate) what: WantedManifests,
    pub(crate) role_name: String,
    pub(crate) fold: bool,
    pub(crate) packages: Packages,
    /// The features of each package.
    pub(crate) features: Vec<FeatureSelection>,
    /// The only files and folders whose declarations count; empty means all.
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) engine: engine::EngineRequest,
    pub(crate) max_desc_len: Option<usize>,
    pub(crate) fix: Vec<Fixable>,
    pub(crate) choice: SourceChoice,
    /// Keeps the manifests that have no error, although others have one.
    pub(crate) keep_going: bool,
    pub(crate) converted: Converted,
    /// Keeps the role if the source has no marker. The role is then handwritten, or derived from the code.
    pub(crate) keeps_role: bool,
}

impl ManifestOptions {
    /// Sets the options that depend on the project.
    pub(crate) fn in_project(self, project: &Project, converted: Converted) -> Self {
        let choice = self.choice.clone().without_foreign(foreign(project));
        Self { converted, choice, keeps_role: project.is_adopted(), ..self }
    }
}

/// The generated manifests.
#[derive(Default)]
pub(crate) struct Manifests {
    /// `None` if CRDs are not requested.
    pub(crate) crds: Option<Vec<Crd>>,
    pub(crate) roles: OperatorRoles,
    pub(crate) webhooks: Configurations,
    /// The packages that were read.
    pub(crate) packages: Option<Packages>,
    /// No CRD was excluded, so every other CRD on disk is stale.
    pub(crate) complete: bool,
    /// New releases per package folder. With them the package produces the same CRDs.
    pub(crate) verified: Vec<(PathBuf, Vec<String>)>,
    /// The declared custom resources, as `Kind.group`, including excluded and refused ones.
    pub(crate) kinds: KnownKinds,
}

/// Names of custom resources with their root types.
pub(crate) type Roots = BTreeMap<String, BTreeSet<String>>;

/// Plans the manifests of `generate` without flags, but never compiles. The commands that change the source use it.
pub(crate) fn manifests(draft: &mut Draft, project: &Project) -> Result<Diagnostics> {
    let (options, pending) = of_draft(draft, project)?;
    let scope = scope(draft, project)?;
    let Findings { value: mut manifests, diagnostics: mut found } =
        generate(&options, &pending, Some(scope), &mut |_| {})?;
    let mut of_release = found.iter().filter(|found| found.code == Code::NewRelease);
    let new = of_release.next().map(|new| {
        manifests.crds = None;
        let message = format!("the CRDs are not written, since {}", new.message);
        Diagnostic::new(Code::NotGenerated, message).help("run `memcached-sdk generate`: it compiles once")
    });
    // The lock file of a new project is made afterwards, of releases that its manifest asks for.
    let kept = found.iter().filter(|found| !matches!(found.code, Code::NewRelease | Code::NoLock)).cloned();
    found = kept.chain(new).collect();
    if project.is_adopted()
        && let Some(error) = found.iter().find(|found| found.code.severity() == Severity::Error).cloned()
    {
        // The code that was there may have errors that this command is not about.
        manifests.crds = None;
        manifests.roles.documents = None;
        manifests.webhooks.documents = None;
        let message = format!("the manifests are not written: {}", error.message);
        found = found.iter().filter(|found| found.code.severity() != Severity::Error).cloned().collect();
        found.push(Diagnostic::new(Code::NotGenerated, message).at(error.origin).help("run `memcached-sdk generate`"));
    }
    let is_for_the_compiler = engine::is_for_the_compiler(&found);
    let output = Output::usual(draft.root());
    let written = output.write(&manifests, &Header::default(), Some(project), draft)?.report(&mut found);
    found.extend(written.kept);
    if written.removes {
        found.extend(read_all(&options, &pending)?);
    }
    if let Some(crds) = &manifests.crds {
        found.extend(samples::update(crds, draft)?);
        found.extend(patches::patched(crds, draft)?.diagnostics);
    }
    if is_for_the_compiler {
        let problem = Problem::new("the CRDs of this project cannot be generated without compiling it");
        found.push(problem.help("pass `--make=false`, and run `memcached-sdk generate` afterwards").into());
    }
    Ok(found)
}

/// Returns true if the source says that objects are stored in this version, or does not say it.
pub(crate) fn is_stored(draft: &Draft, project: &Project, resource: &Resource) -> Result<bool> {
    let (mut options, pending) = of_draft(draft, project)?;
    options.what = WantedManifests { crds: true, roles: false, webhooks: false };
    let crds = generate(&options, &pending, None, &mut |_| {})?.value.crds.unwrap_or_default();
    let name = k8s::kind_name(resource.kind.as_str(), &resource.qualified_group());
    let crd = crds.iter().find(|crd| crd.name() == name);
    let mut versions = crd.into_iter().flat_map(Crd::versions);
    let version = versions.find(|(version, _)| *version == resource.version.as_str());
    Ok(version.is_none_or(|(_, version)| version["storage"] != false))
}

/// The options of `generate` without flags, and the files of the draft.
pub(crate) fn of_draft(draft: &Draft, project: &Project) -> Result<(ManifestOptions, Pending)> {
    let root = draft.root().to_path_buf();
    let member = Member { name: project.name.to_string(), dir: root.clone(), features: [].into() };
    let options = ManifestOptions {
        what: WantedManifests::ALL,
        role_name: rbac_role::ROLE.to_owned(),
        fold: false,
        packages: Packages { root: root.clone(), members: vec![member], all: true },
        features: vec![FeatureSelection::default()],
        paths: Vec::new(),
        engine: engine::EngineRequest { engine: Engine::Static, ..engine::EngineRequest::default() },
        max_desc_len: None,
        fix: Vec::new(),
        choice: SourceChoice::default(),
        keep_going: false,
        converted: Converted::Unknown,
        keeps_role: false,
    };
    Ok((options.in_project(project, Converted::SoFar(converted(project)?)), pending(draft)?))
}

/// The files of the draft, which are not written yet.
fn pending(draft: &Draft) -> Result<Pending> {
    let mut pending = Pending::default();
    for path in draft.paths() {
        if let Some(text) = draft.read(path)? {
            pending.insert(&path.below(draft.root()), text);
        }
    }
    Ok(pending)
}

/// Loads the source of a package. Also returns the requested paths that are not in the package.
fn load(
    options: &ManifestOptions,
    member: &Member,
    features: &FeatureSelection,
    pending: &Pending,
) -> Result<Findings<(SourceTree, Vec<PathBuf>)>> {
    let (mut tree, diagnostics) = k8s::load_below(&options.packages.root, &member.dir, features, pending)?;
    let missing = tree.restrict(&options.paths);
    tree.choose(options.choice.clone().without(&tree.manifest().external)?);
    Ok(Findings { value: (tree, missing), diagnostics })
}

/// The selected packages with their features.
fn members(options: &ManifestOptions) -> impl Iterator<Item = (&Member, &FeatureSelection)> {
    options.packages.members.iter().zip(&options.features)
}

/// Reads every package, so that a broken file does not cause removals.
pub(crate) fn read_all(options: &ManifestOptions, pending: &Pending) -> Result<Diagnostics> {
    let mut found = Diagnostics::default();
    for (member, features) in members(options) {
        let (mut tree, _) = load(options, member, features, pending)?.value;
        found.extend(tree.read_all());
    }
    Ok(found)
}

/// Reads the packages one after the other, since a workspace may be large. `say` receives progress messages.
pub(crate) fn generate(
    options: &ManifestOptions,
    pending: &Pending,
    scope: Option<OperatorScope>,
    say: &mut dyn FnMut(&str),
) -> Result<Findings<Manifests>> {
    let mut found = Diagnostics::default();
    let confined_to = scope.as_ref().and_then(|scope| scope.confined_to.clone());
    let mut crds = options.what.crds.then(CrdStep::default);
    let mut roles = options.what.roles.then(|| RoleStep::new(scope));
    let mut webhooks = options.what.webhooks.then(WebhookStep::default);
    let mut nowhere = options.paths.clone();
    for (member, features) in members(options) {
        // An error in one package stops the run, or only excludes the manifests of that package.
        let mut here = if options.keep_going { Diagnostics::default() } else { std::mem::take(&mut found) };
        let (mut tree, missing) = load(options, member, features, pending)?.report(&mut here);
        let broken = here.has_errors();
        nowhere.retain(|path| missing.iter().any(|missing| path.components().eq(missing.components())));
        if let Some(step) = &mut crds {
            step.read(&mut tree, features, options, &mut here, say);
        }
        if let Some(step) = &mut roles {
            here.extend(step.read(&mut tree, broken));
        }
        if let Some(step) = &mut webhooks {
            here.extend(step.read(&mut tree, broken));
        }
        found.extend(here);
    }
    if let Some(path) = nowhere.first() {
        let problem = Problem::new(format!("no source file of the package is in `{}`", path.display()));
        return Err(problem
            .help("`--paths` takes files and folders that `mod` reaches from the root of a crate")
            .into());
    }
    let complete = options.packages.all && options.paths.is_empty() && !options.choice.names_kinds();
    let mut manifests = Manifests { packages: Some(options.packages.clone()), complete, ..Manifests::default() };
    if let Some(mut step) = crds {
        manifests.kinds = std::mem::take(&mut step.kinds);
        manifests.verified = std::mem::take(&mut step.verified);
        manifests.kinds.check(&options.choice, &mut found)?;
        manifests.crds = Some(step.finish(options).report(&mut found));
    }
    if let Some(step) = roles {
        manifests.roles = step.finish(options).report(&mut found);
    }
    if let Some(step) = webhooks {
        let crds = manifests.crds.as_deref().filter(|_| !found.has_errors());
        manifests.webhooks = step.finish(options, confined_to.as_deref(), crds).report(&mut found);
    }
    Ok(Findings { value: manifests, diagnostics: found })
}

/// The kinds of a project with a conversion webhook.
pub(crate) fn converted(project: &Project) -> Result<Conversions> {
    let mut kinds = BTreeSet::new();
    for resource in project.resources.iter().filter(|resource| resource.webhooks.is_some()) {
        if ProjectWebhooks::of(resource)?.conversion {
            kinds.insert(k8s::kind_name(resource.kind.as_str(), &resource.qualified_group()));
        }
    }
    Ok(Conversions { kinds, domain: project.domain.as_ref().map(ToString::to_string) })
}

/// The kinds of other projects that PROJECT records, as `Kind.group`: their CRDs are written there.
pub(crate) fn foreign(project: &Project) -> BTreeSet<String> {
    let external = project.resources.iter().filter(|resource| resource.external);
    external.map(|resource| k8s::kind_name(resource.kind.as_str(), &resource.qualified_group())).collect()
}

/// Returns the scope of the project's operator. Its namespace and name prefix come from the kustomization.
pub(crate) fn scope(draft: &Draft, project: &Project) -> Result<OperatorScope> {
    let text = draft.read(&RelPath::new("config/default/kustomization.yaml")?)?;
    let kustomization: Option<Value> = text.and_then(|text| serde_yaml::from_str(&text).ok());
    let text = |key: &str| kustomization.as_ref().map(|value| value[key].as_str().unwrap_or_default().to_owned());
    let own = text("namespace").filter(|name| !name.is_empty()).unwrap_or_else(|| project.namespace());
    let prefix = text("namePrefix").unwrap_or_else(|| format!("{}-", project.name));
    let listed: Vec<String> = project.namespaces.iter().map(ToString::to_string).collect();
    let confined_to = project.namespaced.then(|| if listed.is_empty() { vec![own.clone()] } else { listed });
    let is_cluster_wide = |kind: &&Resource| kind.api.as_ref().map_or(!kind.namespaced, |api| !api.namespaced);
    let kinds = project.resources.iter().filter(is_cluster_wide);
    let cluster_wide = kinds.map(|kind| (kind.qualified_group(), kind.plural.to_string())).collect();
    Ok(OperatorScope { own, prefix, confined_to, cluster_wide })
}

/// Returns group and plural of the cluster-scoped kinds in the source. Errors in the kinds are reported with their CRDs.
pub(crate) fn cluster_wide(tree: &SourceTree) -> Vec<(String, String)> {
    let (declared, _) = api::declared(tree);
    let kinds = declared.into_iter().filter_map(|declared| k8s::custom_resource(tree, declared.item));
    let named = |kind: CustomResource| {
        let plural = api::plural_of(&kind);
        (kind.group, plural)
    };
    kinds.filter(|kind| !kind.namespaced).map(named).collect()
}
