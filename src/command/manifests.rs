//! The source → the manifests that it asks for, in memory: for `generate`, and for the commands that change the source.

pub(super) mod output;
mod refused;
pub(super) mod samples;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::Result;
use serde_json::Value;

use self::output::{Header, Output};
pub(super) use self::refused::Refused;
use crate::api;
use crate::cli::GenerateWhat;
use crate::crd::conversion::{self, Conversions, Converted};
use crate::crd::fix::{self, Fix, Fixable};
use crate::crd::{self, Crd};
use crate::crd::{description, structural};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Problem};
use crate::engine::{self, Engine};
use crate::k8s::{self, CustomResource};
use crate::parallel;
use crate::plan::{Draft, RelPath};
use crate::project::webhook::Webhooks;
use crate::project::{Project, Resource};
use crate::rbac::check;
use crate::rbac::role::{self, Roles};
use crate::rbac::scope::OperatorScope;
use crate::source::marker::CONVERSION;
use crate::source::{Choice, FeatureSelection, Member, Packages, Pending, SourceTree};
use crate::webhook::{self, Handlers};

/// What to generate, and from what.
pub(super) struct Options {
    pub(super) what: GenerateWhat,
    pub(super) role_name: String,
    pub(super) fold: bool,
    pub(super) packages: Packages,
    /// The features of each package.
    pub(super) features: Vec<FeatureSelection>,
    /// The only files and folders whose declarations count; empty means all.
    pub(super) paths: Vec<PathBuf>,
    pub(super) engine: engine::Request,
    pub(super) max_desc_len: Option<usize>,
    pub(super) fix: Vec<Fixable>,
    pub(super) choice: Choice,
    /// An error costs only what it is about.
    pub(super) keep_going: bool,
    pub(super) converted: Converted,
}

/// What is generated.
#[derive(Default)]
pub(super) struct Manifests {
    /// Absent when not asked for.
    pub(super) crds: Option<Vec<Crd>>,
    pub(super) roles: Option<Vec<Value>>,
    pub(super) webhooks: Option<Vec<Value>>,
    /// The packages that were read.
    pub(super) packages: Option<Packages>,
    /// No marker asks for a permission, so that there is no role.
    pub(super) unmarked: bool,
    /// What the roles of markers that name none are called.
    pub(super) role_name: String,
    /// Where the roles hold; `None` outside of projects.
    pub(super) scope: Option<OperatorScope>,
    /// No CRD was left out on purpose, so that others on disk are stale.
    pub(super) complete: bool,
    /// New releases with which a package in a folder gives the CRDs that were read.
    pub(super) verified: Vec<(PathBuf, Vec<String>)>,
    /// The custom resources that there are, as `Kind.group`, where that matters: for what was not chosen or is refused.
    pub(super) kinds: Kinds,
}

/// Names of custom resources, each with the types that are their roots.
pub(super) type Roots = BTreeMap<String, BTreeSet<String>>;

/// The custom resources that there are.
#[derive(Default)]
pub(super) struct Kinds {
    /// Those of the source, each with the types that are their roots.
    roots: Roots,
    /// Those that only an answer of the compiler has shown, too.
    all: BTreeSet<String>,
    /// Those of packages in which no answer is known to be right.
    doubtful: BTreeSet<String>,
    /// The role is not known to be complete.
    doubtful_roles: bool,
    /// The same of the webhooks.
    doubtful_webhooks: bool,
}

/// Everything, as `generate` without flags writes it, but never by compiling: for the commands that change the source.
pub(super) fn manifests(draft: &mut Draft, project: &Project) -> Result<Diagnostics> {
    let root = draft.root().to_path_buf();
    let member = Member { name: project.name.to_string(), dir: root.clone(), features: [].into() };
    let options = Options {
        what: GenerateWhat::All,
        role_name: role::ROLE.to_owned(),
        fold: false,
        packages: Packages { root: root.clone(), members: vec![member], all: true },
        features: vec![FeatureSelection::default()],
        paths: Vec::new(),
        engine: engine::Request { engine: Engine::Static, ..engine::Request::default() },
        max_desc_len: None,
        fix: Vec::new(),
        choice: Choice::default(),
        keep_going: false,
        converted: Converted::SoFar(converted(project)?),
    };
    let mut pending = Pending::default();
    for path in draft.paths() {
        if let Some(text) = draft.read(path)? {
            pending.insert(&path.below(&root), text);
        }
    }
    let mut found = Diagnostics::default();
    let scope = scope(draft, project)?;
    let mut manifests = generate(&options, &pending, Some(scope), &mut found, &mut |_| {})?;
    let mut of_release = found.iter().filter(|found| found.code == Code::NewRelease);
    let new = of_release.next().map(|new| {
        manifests.crds = None;
        let message = format!("the CRDs are not written, since {}", new.message);
        Diagnostic::new(Code::NotGenerated, message).help("run `memcached-sdk generate`: it compiles once")
    });
    // The lock file of a new project is made afterwards, of releases that its manifest asks for.
    let kept = found.iter().filter(|found| !matches!(found.code, Code::NewRelease | Code::NoLock)).cloned();
    found = kept.chain(new).collect();
    let (removes, dangling) = Output::usual(&root).write(&manifests, &Header::default(), Some(project), draft)?;
    found.extend(dangling);
    if removes {
        found.extend(read_all(&options, &pending)?);
    }
    if let Some(crds) = &manifests.crds {
        found.extend(samples::update(crds, draft)?);
    }
    if engine::is_for_the_compiler(&found) {
        let problem = Problem::new("the CRDs of this project can't be written without compiling it");
        found.push(problem.help("pass `--make=false`, and run `memcached-sdk generate` afterwards").into());
    }
    Ok(found)
}

/// A package as source, and which of the paths that are asked for are not in it.
fn load(
    options: &Options,
    member: &Member,
    features: &FeatureSelection,
    pending: &Pending,
    found: &mut Diagnostics,
) -> Result<(SourceTree, Vec<PathBuf>)> {
    let (mut tree, wrong) = k8s::load_below(&options.packages.root, &member.dir, features, pending)?;
    found.extend(wrong);
    let missing = tree.restrict(&options.paths);
    tree.choose(options.choice.clone());
    Ok((tree, missing))
}

/// The packages that are chosen, with their features.
fn members(options: &Options) -> impl Iterator<Item = (&Member, &FeatureSelection)> {
    options.packages.members.iter().zip(&options.features)
}

/// Nothing is removed because of a file that is broken.
pub(super) fn read_all(options: &Options, pending: &Pending) -> Result<Diagnostics> {
    let mut found = Diagnostics::default();
    for (member, features) in members(options) {
        let (mut tree, _) = load(options, member, features, pending, &mut Diagnostics::default())?;
        found.extend(tree.read_all());
    }
    Ok(found)
}

/// Reads one package after the other, since a workspace may be large; `say` is told what takes a while.
pub(super) fn generate(
    options: &Options,
    pending: &Pending,
    mut scope: Option<OperatorScope>,
    found: &mut Diagnostics,
    say: &mut dyn FnMut(&str),
) -> Result<Manifests> {
    let (mut crds, mut markers, mut webhooks) = (Vec::new(), Vec::new(), Vec::new());
    let mut handlers = Handlers::default();
    let mut kinds = Kinds::default();
    let mut verified = Vec::new();
    let mut nowhere = options.paths.clone();
    for (member, features) in members(options) {
        // An error in one package is a reason to stop, or only to leave out what is of it.
        let mut here = if options.keep_going { Diagnostics::default() } else { std::mem::take(found) };
        let (mut tree, missing) = load(options, member, features, pending, &mut here)?;
        kinds.doubtful_roles |= here.has_errors();
        kinds.doubtful_webhooks |= here.has_errors();
        nowhere.retain(|path| missing.iter().any(|missing| path.components().eq(missing.components())));
        if options.what.crds() {
            let request = engine::Request { features: features.clone(), ..options.engine.clone() };
            let answer = engine::crds(&mut tree, &request, &mut here, say);
            if answer.crds.iter().any(conversion::is_needed) {
                let ((markers, diagnostics), read) = tree.settle(|tree| tree.markers(&[CONVERSION]));
                here.extend(conversion::check(&answer.crds, &markers, &options.converted));
                here.extend(diagnostics);
                here.extend(read);
            }
            crds.extend(answer.crds);
            verified.extend(Some((member.dir.clone(), answer.verified)).filter(|(_, releases)| !releases.is_empty()));
            if !options.choice.is_all() || here.has_errors() {
                kinds.add(api::names(&tree), answer.kinds, &here);
            }
        }
        if options.what.rbac() {
            let ((of_package, diagnostics), read) = tree.settle(check::markers);
            markers.extend(of_package);
            kinds.doubtful_roles |= diagnostics.has_errors() || read.has_errors();
            here.extend(diagnostics);
            here.extend(read);
            if let Some(scope) = scope.as_mut().filter(|scope| scope.confined_to.is_some()) {
                let (kinds, read) = tree.settle(cluster_wide);
                scope.cluster_wide.extend(kinds);
                here.extend(read);
            }
        }
        if options.what.webhooks() {
            let ((of_package, diagnostics), read) = tree.settle(webhook::webhooks);
            let (served, also_read) = tree.settle(webhook::handlers);
            webhooks.push(of_package);
            handlers.extend(served);
            kinds.doubtful_webhooks |= [&diagnostics, &read, &also_read].iter().any(|found| found.has_errors());
            here.extend(diagnostics);
            here.extend(read);
            here.extend(also_read);
        }
        found.extend(here);
        if options.packages.members.len() == 1 {
            // The process ends soon: to take all of it apart piece by piece would be for nothing.
            std::mem::forget(tree);
        }
    }
    if let Some(path) = nowhere.first() {
        let problem = Problem::new(format!("no source file of the package is in `{}`", path.display()));
        return Err(problem
            .help("`--paths` takes files and folders that `mod` reaches from the root of a crate")
            .into());
    }
    kinds.check(&options.choice, found)?;
    let complete = options.packages.all && options.paths.is_empty() && !options.choice.names_kinds();
    let packages = Some(options.packages.clone());
    let mut manifests = Manifests { packages, complete, verified, kinds, ..Manifests::default() };
    if options.what.crds() {
        manifests.crds = Some(finished(crds, options, found));
    }
    let confined_to = scope.as_ref().and_then(|scope| scope.confined_to.clone());
    if options.what.rbac() {
        if let Some(scope) = scope {
            let (confined, findings) = scope.confine(markers, &options.role_name);
            markers = confined;
            manifests.kinds.doubtful_roles |= findings.has_errors();
            found.extend(findings);
            manifests.scope = Some(scope);
        }
        // A role that allows nothing is of no use, and one that is there may be written by hand.
        manifests.unmarked = markers.is_empty() && manifests.scope.is_none() && !manifests.kinds.doubtful_roles;
        let documents = || role::documents(&markers, &Roles { default_name: &options.role_name, fold: options.fold });
        manifests.roles = (!manifests.unmarked).then(documents);
        manifests.role_name.clone_from(&options.role_name);
    }
    if options.what.webhooks() {
        let (mut documents, findings) = webhook::documents(&webhooks);
        if let Some(namespaces) = confined_to {
            webhook::confine(&mut documents, &namespaces);
        }
        manifests.kinds.doubtful_webhooks |= findings.has_errors();
        found.extend(findings);
        // Elsewhere there may be others.
        if options.packages.all && options.paths.is_empty() && !manifests.kinds.doubtful_webhooks {
            found.extend(handlers.compare(&webhooks));
            if options.choice.is_all() && !found.has_errors() {
                found.extend(webhook::unserved(&webhooks, &plurals(manifests.crds.iter().flatten())));
            }
        }
        manifests.webhooks = Some(documents);
    }
    Ok(manifests)
}

/// The resources of each group that has some.
fn plurals<'a>(crds: impl Iterator<Item = &'a Crd>) -> BTreeMap<String, BTreeSet<String>> {
    let mut plurals: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for crd in crds {
        let plural = crd.value["spec"]["names"]["plural"].as_str().unwrap_or_default();
        plurals.entry(crd::group(&crd.value).to_owned()).or_default().insert(plural.to_owned());
    }
    plurals
}

/// The CRDs of all packages, by file name.
fn finished(mut crds: Vec<Crd>, options: &Options, found: &mut Diagnostics) -> Vec<Crd> {
    found.extend(crd::repeated(&crds));
    found.extend(crd::clashes(&crds));
    crds.sort_by(|one, other| one.file_name.cmp(&other.file_name));
    let finished = parallel::map(crds, |crd| finish(crd, options));
    let finish = |(crd, findings)| {
        found.extend(findings);
        crd
    };
    finished.into_iter().map(finish).collect()
}

/// What is asked for beyond what the types say, and what the API server would say of the result.
fn finish(mut crd: Crd, options: &Options) -> (Crd, Diagnostics) {
    if let Some(limit) = options.max_desc_len {
        description::limit(&mut crd.value, limit);
    }
    let (crd, fixes) = fix::fix(crd, &options.fix);
    let mut found: Diagnostics = fixes.iter().map(Fix::done).collect();
    found.extend(fix::advice(&crd));
    found.extend(structural::check(&crd));
    let found = found.about(&crd.name());
    (crd, found)
}

/// The kinds of a project that a webhook converts.
pub(super) fn converted(project: &Project) -> Result<Conversions> {
    let mut kinds = BTreeSet::new();
    for resource in project.resources.iter().filter(|resource| resource.webhooks.is_some()) {
        if Webhooks::of(resource)?.conversion {
            kinds.insert(k8s::kind_name(resource.kind.as_str(), &resource.qualified_group()));
        }
    }
    Ok(Conversions { kinds, domain: project.domain.as_ref().map(ToString::to_string) })
}

/// Where the project's operator works. Its namespace and the prefix of its names are what kustomize gives it.
pub(super) fn scope(draft: &Draft, project: &Project) -> Result<OperatorScope> {
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

/// Group and plural of the kinds that the source puts into no namespace. What is wrong with kinds is said of their CRDs.
pub(super) fn cluster_wide(tree: &SourceTree) -> Vec<(String, String)> {
    let (declared, _) = api::declared(tree);
    let kinds = declared.into_iter().filter_map(|declared| k8s::custom_resource(tree, declared.item));
    let named = |kind: CustomResource| {
        let plural = api::plural_of(&kind);
        (kind.group, plural)
    };
    kinds.filter(|kind| !kind.namespaced).map(named).collect()
}
