//! `generate`: the source → CRDs, the operator's roles, and the configurations of its webhooks, as a plan.

mod record;

use std::path::{Path, PathBuf};

use anyhow::Result;

use self::record::Record;
use super::elsewhere::elsewhere;
use super::manifests::output::{self, Destination, Header, Output};
use super::manifests::{
    ManifestOptions, Manifests, RefusedSubject, WantedManifests, converted, generate, patches, read_all, samples, scope,
};
use super::{Findings, UsageError};
use crate::crd::conversion::Converted;
use crate::crd::fix::Fixable;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Problem};
use crate::engine;
use crate::plan::{Draft, RECORD, RelPath};
use crate::project::Project;
use crate::rbac::{marker, role};
use crate::source::{FeatureSelection, PackageSelection, Packages, Pending, SourceChoice};

/// Options of `generate`: the manifests, the source and the destination.
#[derive(Debug, Clone)]
pub(crate) struct GenerateOptions {
    pub(crate) wanted: WantedManifests,
    /// The packages to read, with their features.
    pub(crate) packages: PackageSelection,
    pub(crate) features: FeatureSelection,
    /// The only files and folders whose declarations count; empty means all.
    pub(crate) paths: Vec<PathBuf>,
    /// Filters for the CRDs to write and to leave out: `Kind`, `Kind.group` or a glob.
    pub(crate) kinds: Vec<String>,
    pub(crate) excluded: Vec<String>,
    /// Writes the manifests that have no error, although others have one.
    pub(crate) keep_going: bool,
    pub(crate) engine: engine::EngineRequest,
    pub(crate) fix: Vec<Fixable>,
    pub(crate) max_desc_len: Option<usize>,
    /// The role name for markers without a name.
    pub(crate) role_name: String,
    pub(crate) fold: bool,
    pub(crate) destination: Destination,
    /// A file with the header of each generated file, and the year for that header.
    pub(crate) header: Option<PathBuf>,
    pub(crate) year: Option<String>,
    /// Compares the plan with the disk instead of writing.
    pub(crate) check: bool,
    /// The flag that prevents writing, if one is given.
    pub(crate) preview: Option<&'static str>,
}

impl Default for GenerateOptions {
    /// Selects all manifests of the package in the working directory, at the usual places of a project.
    fn default() -> Self {
        Self {
            wanted: WantedManifests::ALL,
            packages: PackageSelection::default(),
            features: FeatureSelection::default(),
            paths: Vec::new(),
            kinds: Vec::new(),
            excluded: Vec::new(),
            keep_going: false,
            engine: engine::EngineRequest::default(),
            fix: Vec::new(),
            max_desc_len: None,
            role_name: role::ROLE.to_owned(),
            fold: false,
            destination: Destination::Usual,
            header: None,
            year: None,
            check: false,
            preview: None,
        }
    }
}

/// The result of `generate`.
pub(crate) struct GenerateOutcome {
    pub(crate) draft: Draft,
    /// The manifests as one text; `None` if the draft contains them.
    pub(crate) text: Option<String>,
    pub(crate) manifests: Manifests,
    /// The content of PROJECT, if the manifests go to the usual places of a project.
    pub(crate) project: Option<Project>,
    /// Notes without a place in the source.
    pub(crate) notes: Diagnostics,
    /// The manifests that an error excludes, with the flags that write the rest.
    pub(crate) refused: Option<String>,
    /// The message after the draft is written.
    pub(crate) next: String,
}

/// Reads the source and plans its manifests. `say` receives progress messages.
pub(crate) fn run(options: &GenerateOptions, say: &mut dyn FnMut(&str)) -> Result<Findings<GenerateOutcome>> {
    let resolved = resolve(options)?;
    let root = resolved.packages.root.clone();
    let output = Output::new(&options.destination, &root)?;
    let project = if output.is_usual() { project(&root)? } else { own_project(&root)? };
    let header = Header::read(options.header.as_deref(), options.year.as_deref())?;
    let resolved = match &project {
        Some(project) => resolved.in_project(project, Converted::All(converted(project)?)),
        None => resolved,
    };
    let scope = project.as_ref().map(|project| scope(&Draft::open(&root), project)).transpose()?;
    let Findings { value: mut manifests, diagnostics: mut found } =
        generate(&resolved, &Pending::default(), scope, say)?;
    let mut notes = if found.has_errors() { Diagnostics::default() } else { notes(&manifests, &resolved) };
    let refused = RefusedSubject::of(&manifests, &resolved, &found);
    let domain = project.as_ref().and_then(|project| project.domain.as_ref());
    found.extend(refused.only_read(&manifests, &resolved, domain.map(ToString::to_string).as_deref()));
    if resolved.keep_going && found.has_errors() {
        refused.leave_out(&mut manifests);
    }
    let record = Record { base: output.base(), folder: &root, prevented: options.preview, check: options.check };
    found.extend(record.not_made(&manifests.verified));
    let mut draft = Draft::open(output.base());
    let (mut text, mut next) = (None, String::new());
    if output.is_stdout() {
        text = Some(output::text(&manifests, &header));
    } else {
        let mut written = output.write(&manifests, &header, project.as_ref(), &mut draft)?;
        if written.value.removes {
            let broken = read_all(&resolved, &Pending::default())?;
            if resolved.keep_going && broken.has_errors() {
                manifests.complete = false;
                draft = Draft::open(output.base());
                written = output.write(&manifests, &header, project.as_ref(), &mut draft)?;
            }
            found.extend(broken);
        }
        notes.extend(written.report(&mut found).kept);
        if let (true, Some(_), Some(crds)) = (output.is_usual(), &project, &manifests.crds) {
            found.extend(samples::update(crds, &mut draft)?);
            if manifests.complete {
                found.extend(patches::patched(crds, &draft)?.diagnostics);
            }
        }
        next = record.make(&manifests.verified, &mut draft)?;
    }
    let project = project.filter(|_| output.is_usual());
    let refused = refused.summary(&resolved);
    Ok(Findings {
        value: GenerateOutcome { draft, text, manifests, project, notes, refused, next },
        diagnostics: found,
    })
}

/// Checks the options and resolves the names in them.
pub(super) fn resolve(options: &GenerateOptions) -> Result<ManifestOptions> {
    if let Some(why) = marker::wrong_role_name(&options.role_name) {
        let problem = Problem::new(format!("`{}` is not a valid role name: {why}", options.role_name));
        return Err(UsageError(problem.help("choose another `--role-name`")).into());
    }
    let packages = Packages::find(Path::new("."), &options.packages)?;
    let features = packages.features(&options.features).map_err(UsageError)?;
    let choice = SourceChoice::new(&options.kinds, &options.excluded).map_err(UsageError)?;
    if !options.wanted.crds && !choice.is_all() {
        let what = if options.wanted.roles { "rbac" } else { "webhooks" };
        let problem =
            Problem::new(format!("`--kind` and `--exclude` choose CRDs, but `generate {what}` writes no CRDs"));
        return Err(UsageError(problem).into());
    }
    Ok(ManifestOptions {
        what: options.wanted,
        role_name: options.role_name.clone(),
        fold: options.fold,
        packages,
        features,
        paths: options.paths.iter().map(std::path::absolute).collect::<Result<_, _>>()?,
        engine: options.engine.clone(),
        max_desc_len: options.max_desc_len,
        fix: options.fix.clone(),
        choice,
        keep_going: options.keep_going,
        converted: Converted::Unknown,
        keeps_role: false,
    })
}

/// Notes that nothing is generated, and names places that were not read. An empty result is rarely intended.
fn notes(manifests: &Manifests, options: &ManifestOptions) -> Diagnostics {
    let is_empty = manifests.crds.as_ref().is_none_or(Vec::is_empty)
        && manifests.webhooks.documents.as_ref().is_none_or(Vec::is_empty)
        && manifests.roles.documents.is_none();
    let elsewhere = if is_empty { elsewhere(&options.packages) } else { None };
    let note = match elsewhere {
        Some(elsewhere) => Some(elsewhere.note("nothing to generate was found")),
        None => manifests.roles.unmarked.then(|| {
            let message = "the role is not changed, since the source has no `+kubebuilder:rbac` marker";
            Diagnostic::new(Code::RoleKept, message)
                .help("`memcached-sdk rbac lint --fix` adds the markers that the code needs")
        }),
    };
    note.into_iter().collect()
}

/// Reads PROJECT, if the code belongs to a project. A PROJECT file of another tool is an error, since we must not replace its
/// `config/`.
fn project(root: &Path) -> Result<Option<Project>> {
    let Some(text) = record(root)? else { return Ok(None) };
    match Project::parse(&text) {
        Err(problem) if Project::is_of_another_tool(&text) => Err(problem.help(OTHER_PLACE).into()),
        project => Ok(Some(project?)),
    }
}

const OTHER_PLACE: &str = "`config/` may have files of that tool: say where to write with `--stdout`, `--output-dir` or \
                           `--single-file`";

/// Like [`project`], for operations that write nothing to `config/`: a PROJECT file of another tool does not count.
pub(crate) fn own_project(root: &Path) -> Result<Option<Project>> {
    let own = record(root)?.filter(|text| !Project::is_of_another_tool(text));
    Ok(own.map(|text| Project::parse(&text)).transpose()?)
}

/// Reads the text of PROJECT.
fn record(root: &Path) -> Result<Option<String>> {
    Draft::open(root).read(&RelPath::new(RECORD)?)
}
