//! `generate`: the source → CRDs and the manager's role.

mod output;
mod record;
mod refused;
mod samples;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::Value;

use self::output::{Header, Output};
use self::record::Record;
use self::refused::Refused;
use super::{Outcome, Usage, apply, apply_anyway, update};
use crate::api;
use crate::cli::{FeatureArgs, GenerateArgs, GenerateWhat, OutputFormat, PackageArgs};
use crate::crd::fix::{self, Fix, Fixable};
use crate::crd::{self, Crd, Declaration};
use crate::crd::{description, structural};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Problem};
use crate::engine::{self, Engine};
use crate::parallel;
use crate::plan::{Draft, RECORD, RelPath};
use crate::project::Project;
use crate::rbac::marker::{self, Roles};
use crate::rbac::scope::Scope;
use crate::source::{
    Choice, CustomResource, FeatureSelection, Member, PackageSelection, Packages, Pending, SourceTree,
};
use crate::term::{Term, Verbosity};

/// What to generate, and from what.
struct Options {
    what: GenerateWhat,
    role_name: String,
    fold: bool,
    packages: Packages,
    /// The features of each package.
    features: Vec<FeatureSelection>,
    /// The only files and folders whose declarations count; empty means all.
    paths: Vec<PathBuf>,
    engine: engine::Request,
    max_desc_len: Option<usize>,
    fix: Vec<Fixable>,
    choice: Choice,
    /// An error costs only what it is about.
    keep_going: bool,
}

/// What is generated.
#[derive(Default)]
struct Manifests {
    /// Absent when not asked for.
    crds: Option<Vec<Crd>>,
    roles: Option<Vec<Value>>,
    /// What the roles of markers that name none are called.
    role_name: String,
    /// Where the roles hold; `None` outside of projects.
    scope: Option<Scope>,
    /// No CRD was left out on purpose, so that others on disk are stale.
    complete: bool,
    /// New releases with which a package in a folder gives the CRDs that were read.
    verified: Vec<(PathBuf, Vec<String>)>,
    /// The custom resources that there are, as `Kind.group`, where that matters: for what was not chosen or is refused.
    kinds: Kinds,
}

/// Names of custom resources, each with the types that are their roots.
type Roots = BTreeMap<String, BTreeSet<String>>;

/// The custom resources that there are.
#[derive(Default)]
struct Kinds {
    /// Those of the source, each with the types that are their roots.
    roots: Roots,
    /// Those that only an answer of the compiler has shown, too.
    all: BTreeSet<String>,
    /// Those of packages in which no answer is known to be right.
    doubtful: BTreeSet<String>,
    /// The role is not known to be complete.
    doubtful_roles: bool,
}

pub(super) fn run(args: &GenerateArgs, term: &mut Term) -> Result<Outcome> {
    if args.layout.stdout && args.write.output != OutputFormat::Text {
        return Err(Usage(Problem::new("`--stdout` prints manifests, so it allows no other `--output`")).into());
    }
    if let Some(why) = marker::wrong_role_name(&args.role_name) {
        let problem = Problem::new(format!("`{}` can't be the name of a role: {why}", args.role_name));
        return Err(Usage(problem.help("choose another `--role-name`")).into());
    }
    let packages = Packages::find(Path::new("."), &selection(&args.packages))?;
    let features = packages.features(&features(&args.features)).map_err(Usage)?;
    let root = packages.root.clone();
    let choice = Choice::new(&args.kinds.kind, &args.kinds.exclude).map_err(Usage)?;
    if args.what == GenerateWhat::Rbac && !choice.is_all() {
        let problem = Problem::new("`--kind` and `--exclude` choose CRDs, of which `generate rbac` writes none");
        return Err(Usage(problem).into());
    }
    let output = Output::new(&args.layout, &root)?;
    let project = if output.is_usual() { project(&root)? } else { own_project(&root)? };
    let header = Header::read(&args.layout)?;
    let options = Options {
        what: args.what,
        role_name: args.role_name.clone(),
        fold: args.fold,
        packages,
        features,
        paths: args.packages.paths.iter().map(std::path::absolute).collect::<Result<_, _>>()?,
        engine: engine::Request {
            engine: args.engine,
            verify: args.verify,
            features: FeatureSelection::default(),
            quiet: term.verbosity() == Verbosity::Quiet,
        },
        max_desc_len: args.layout.max_desc_len,
        fix: args.fix.iter().flat_map(|fix| fix.sorts()).copied().collect(),
        choice,
        keep_going: args.kinds.keep_going,
    };
    let mut found = Diagnostics::default();
    let scope = project.as_ref().map(|project| scope(&Draft::open(&root), project)).transpose()?;
    let mut manifests = generate(&options, &Pending::default(), scope, &mut found, &mut |text| term.status(text))?;
    list(&manifests, term);
    let refused = Refused::of(&manifests, &options, &found);
    found.extend(refused.only_read(&manifests, &options.packages));
    if options.keep_going && found.has_errors() {
        refused.leave_out(&mut manifests);
    }
    let record = Record { base: output.base(), folder: &root, write: &args.write, stdout: args.layout.stdout };
    if output.is_stdout() {
        found.extend(record.not_made(&manifests.verified));
        found.sort();
        term.diagnostics(&found);
        let outcome = match (found.has_errors(), options.keep_going) {
            (false, _) => Outcome::Done,
            (true, true) => Outcome::Partly,
            (true, false) => Outcome::Failed,
        };
        if outcome != Outcome::Failed {
            term.data(&output::text(&manifests, &header))?;
        }
        refused.tell(&options, term);
        return Ok(outcome);
    }
    let mut draft = Draft::open(output.base());
    if output.write(&manifests, &header, project.as_ref(), &mut draft)? {
        let broken = read_all(&options, &Pending::default())?;
        if options.keep_going && broken.has_errors() {
            manifests.complete = false;
            draft = Draft::open(output.base());
            output.write(&manifests, &header, project.as_ref(), &mut draft)?;
        }
        found.extend(broken);
    }
    if let (true, Some(_), Some(crds)) = (output.is_usual(), &project, &manifests.crds) {
        found.extend(samples::update(crds, &mut draft)?);
    }
    if args.write.check
        && args.what == GenerateWhat::All
        && output.is_usual()
        && let Some(project) = &project
        && let Some(differs) = update::verify_manager(&mut draft, project)?
    {
        found.push(differs);
    }
    let next = record.make(&manifests.verified, &mut draft)?;
    found.extend(record.not_made(&manifests.verified));
    std::mem::forget(manifests);
    found.sort();
    let mut report = if options.keep_going { apply_anyway } else { apply }(draft, found, &args.write)?;
    report.next = next;
    let outcome = report.show(&args.write, term)?;
    refused.tell(&options, term);
    Ok(outcome)
}

/// The packages that the command line names.
pub(super) fn selection(args: &PackageArgs) -> PackageSelection {
    PackageSelection {
        manifest_path: args.manifest_path.clone(),
        packages: args.package.clone(),
        workspace: args.workspace,
    }
}

/// What PROJECT says, if the code is that of a project. What another tool has in `config/` is not ours to replace.
fn project(root: &Path) -> Result<Option<Project>> {
    let Some(text) = record(root)? else { return Ok(None) };
    match Project::parse(&text) {
        Err(problem) if Project::is_of_another_tool(&text) => Err(problem.help(OTHER_PLACE).into()),
        project => Ok(Some(project?)),
    }
}

const OTHER_PLACE: &str = "`config/` may have files of that tool: say where to write with `--stdout`, `--output-dir` or \
                           `--single-file`";

/// The same for commands that write nothing there: for them a project of another tool is none.
pub(super) fn own_project(root: &Path) -> Result<Option<Project>> {
    let own = record(root)?.filter(|text| !Project::is_of_another_tool(text));
    Ok(own.map(|text| Project::parse(&text)).transpose()?)
}

/// The text of PROJECT.
fn record(root: &Path) -> Result<Option<String>> {
    Draft::open(root).read(&RelPath::new(RECORD)?)
}

pub(super) fn features(args: &FeatureArgs) -> FeatureSelection {
    let names = args.features.iter().flat_map(|names| names.split_whitespace());
    FeatureSelection {
        no_default: args.no_default_features,
        all: args.all_features,
        features: names.map(str::to_owned).collect(),
    }
}

/// Everything, as `generate` without flags writes it, but never by compiling: for the commands that change the source.
pub(super) fn manifests(draft: &mut Draft, project: &Project) -> Result<Diagnostics> {
    let root = draft.root().to_path_buf();
    let member = Member { name: project.name.to_string(), dir: root.clone(), features: [].into() };
    let options = Options {
        what: GenerateWhat::All,
        role_name: marker::ROLE.to_owned(),
        fold: false,
        packages: Packages { root: root.clone(), members: vec![member], all: true },
        features: vec![FeatureSelection::default()],
        paths: Vec::new(),
        engine: engine::Request { engine: Engine::Static, ..engine::Request::default() },
        max_desc_len: None,
        fix: Vec::new(),
        choice: Choice::default(),
        keep_going: false,
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
    let told = found.iter().filter(|found| !matches!(found.code, Code::NewRelease | Code::NoLock)).cloned();
    found = told.chain(new).collect();
    if Output::usual(&root).write(&manifests, &Header::default(), Some(project), draft)? {
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
    (member, features): (&Member, &FeatureSelection),
    pending: &Pending,
    found: &mut Diagnostics,
) -> Result<(SourceTree, Vec<PathBuf>)> {
    let (mut tree, wrong) = SourceTree::load_below(&options.packages.root, &member.dir, features, pending)?;
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
fn read_all(options: &Options, pending: &Pending) -> Result<Diagnostics> {
    let mut found = Diagnostics::default();
    for member in members(options) {
        let (mut tree, _) = load(options, member, pending, &mut Diagnostics::default())?;
        found.extend(tree.read_all());
    }
    Ok(found)
}

/// Reads one package after the other, since a workspace may be large; `say` is told what takes a while.
fn generate(
    options: &Options,
    pending: &Pending,
    mut scope: Option<Scope>,
    found: &mut Diagnostics,
    say: &mut dyn FnMut(&str),
) -> Result<Manifests> {
    let (mut crds, mut markers) = (Vec::new(), Vec::new());
    let mut kinds = Kinds::default();
    let mut verified = Vec::new();
    let mut nowhere = options.paths.clone();
    for member in members(options) {
        // An error in one package is a reason to stop, or only to leave out what is of it.
        let mut here = if options.keep_going { Diagnostics::default() } else { std::mem::take(found) };
        let (mut tree, missing) = load(options, member, pending, &mut here)?;
        kinds.doubtful_roles |= here.has_errors();
        nowhere.retain(|path| missing.iter().any(|missing| path.components().eq(missing.components())));
        if options.what.crds() {
            let request = engine::Request { features: member.1.clone(), ..options.engine.clone() };
            let answer = engine::crds(&mut tree, &request, &mut here, say);
            crds.extend(answer.crds);
            verified.extend(Some((member.0.dir.clone(), answer.verified)).filter(|(_, releases)| !releases.is_empty()));
            if !options.choice.is_all() || here.has_errors() {
                kinds.add(api::names(&tree), answer.kinds, &here);
            }
        }
        if options.what.rbac() {
            let ((of_package, diagnostics), read) = tree.settle(marker::markers);
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
    let mut manifests = Manifests { complete, verified, kinds, ..Manifests::default() };
    if options.what.crds() {
        manifests.crds = Some(finished(crds, options, found));
    }
    if options.what.rbac() {
        if let Some(scope) = scope {
            let (confined, findings) = scope.confine(markers, &options.role_name);
            markers = confined;
            manifests.kinds.doubtful_roles |= findings.has_errors();
            found.extend(findings);
            manifests.scope = Some(scope);
        }
        manifests.roles =
            Some(marker::documents(&markers, &Roles { default_name: &options.role_name, fold: options.fold }));
        manifests.role_name.clone_from(&options.role_name);
    }
    Ok(manifests)
}

/// The CRDs of all packages, by file name.
fn finished(mut crds: Vec<Crd>, options: &Options, found: &mut Diagnostics) -> Vec<Crd> {
    found.extend(crd::repeated(&crds));
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

/// Says which kinds there are, with `-v`; and that there is none, which may be a mistake.
fn list(manifests: &Manifests, term: &mut Term) {
    let Some(crds) = &manifests.crds else { return };
    for crd in crds {
        let text = |pointer| crd.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (kind, group) = (text("/spec/names/kind"), text("/spec/group"));
        for (version, Declaration { origin, .. }) in &crd.declared {
            let (line, column) = origin.line_column();
            term.detail(&format!("{group}/{version} {kind}: {}:{line}:{column}", origin.path));
        }
    }
    if crds.is_empty() {
        term.detail("no custom resource is declared");
    }
}

/// Where the project's operator works. Its namespace and the prefix of its names are what kustomize gives it.
pub(super) fn scope(draft: &Draft, project: &Project) -> Result<Scope> {
    let text = draft.read(&RelPath::new("config/default/kustomization.yaml")?)?;
    let kustomization: Option<Value> = text.and_then(|text| serde_yaml::from_str(&text).ok());
    let said = |key: &str| kustomization.as_ref().map(|value| value[key].as_str().unwrap_or_default().to_owned());
    let own = said("namespace").filter(|name| !name.is_empty()).unwrap_or_else(|| project.namespace());
    let prefix = said("namePrefix").unwrap_or_else(|| format!("{}-", project.name));
    let listed: Vec<String> = project.namespaces.iter().map(ToString::to_string).collect();
    let confined_to = project.namespaced.then(|| if listed.is_empty() { vec![own.clone()] } else { listed });
    let kinds = project.resources.iter().filter(|resource| resource.api.as_ref().is_some_and(|api| !api.namespaced));
    let cluster_wide = kinds.map(|kind| (kind.qualified_group(), kind.plural.to_string())).collect();
    Ok(Scope { own, prefix, confined_to, cluster_wide })
}

/// Group and plural of the kinds that the source puts into no namespace. What is wrong with kinds is said of their CRDs.
pub(super) fn cluster_wide(tree: &SourceTree) -> Vec<(String, String)> {
    let (declared, _) = api::declared(tree);
    let kinds = declared.into_iter().filter_map(|declared| tree.custom_resource(declared.item));
    let named = |kind: CustomResource| {
        let plural = kind.plural.unwrap_or_else(|| api::plural(&kind.kind.to_lowercase()));
        (kind.group, plural)
    };
    kinds.filter(|kind| !kind.namespaced).map(named).collect()
}
