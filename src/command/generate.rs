//! `generate`: the source → CRDs, the manager's role, and the configurations of its webhooks.

mod record;

use std::path::Path;

use anyhow::Result;
use serde_json::Value;

use self::record::Record;
use super::elsewhere::elsewhere;
use super::manifests::output::{self, Header, Output};
use super::manifests::{Manifests, Options, Refused, converted, generate, read_all, samples, scope};
use super::outcome::{Outcome, Usage, apply, apply_anyway};
use super::{edit, update};
use crate::cli::{FeatureArgs, GenerateArgs, GenerateWhat, OutputFormat, PackageArgs};
use crate::crd::Declaration;
use crate::crd::conversion::Converted;
use crate::diagnostic::{Diagnostics, Problem};
use crate::engine;
use crate::plan::{Draft, RECORD, RelPath};
use crate::project::Project;
use crate::rbac::marker;
use crate::source::{Choice, FeatureSelection, PackageSelection, Packages, Pending};
use crate::term::{Term, Verbosity};

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
    if !args.what.crds() && !choice.is_all() {
        let what = if args.what.rbac() { "rbac" } else { "webhooks" };
        let problem =
            Problem::new(format!("`--kind` and `--exclude` choose CRDs, of which `generate {what}` writes none"));
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
        engine: request(args, term),
        max_desc_len: args.layout.max_desc_len,
        fix: args.fix.iter().flat_map(|fix| fix.sorts()).copied().collect(),
        choice,
        keep_going: args.kinds.keep_going,
        converted: match &project {
            Some(project) => Converted::All(converted(project)?),
            None => Converted::Unknown,
        },
    };
    let mut found = Diagnostics::default();
    let scope = project.as_ref().map(|project| scope(&Draft::open(&root), project)).transpose()?;
    let mut manifests = generate(&options, &Pending::default(), scope, &mut found, &mut |text| term.status(text))?;
    list(&manifests, term);
    tell_of_nothing(&manifests, &options, &found, term);
    let refused = Refused::of(&manifests, &options, &found);
    let domain = project.as_ref().and_then(|project| project.domain.as_ref());
    found.extend(refused.only_read(&manifests, &options, domain.map(ToString::to_string).as_deref()));
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
    let (removes, mut dangling) = output.write(&manifests, &header, project.as_ref(), &mut draft)?;
    if removes {
        let broken = read_all(&options, &Pending::default())?;
        if options.keep_going && broken.has_errors() {
            manifests.complete = false;
            draft = Draft::open(output.base());
            (_, dangling) = output.write(&manifests, &header, project.as_ref(), &mut draft)?;
        }
        found.extend(broken);
    }
    found.extend(dangling);
    if let (true, Some(_), Some(crds)) = (output.is_usual(), &project, &manifests.crds) {
        found.extend(samples::update(crds, &mut draft)?);
    }
    if args.write.check
        && args.what == GenerateWhat::All
        && output.is_usual()
        && let Some(project) = &project
    {
        found.extend(update::verify_manager(&mut draft, project)?.into_iter().collect());
        found.extend(edit::verify_choices(&mut draft, project, term)?);
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

/// Says that there is nothing to write, which is seldom what somebody wants, and where something may be.
fn tell_of_nothing(manifests: &Manifests, options: &Options, found: &Diagnostics, term: &mut Term) {
    if found.has_errors() {
        return;
    }
    let nothing = |values: &Option<Vec<Value>>| values.as_ref().is_none_or(Vec::is_empty);
    let is_empty = manifests.crds.as_ref().is_none_or(Vec::is_empty) && nothing(&manifests.webhooks);
    if is_empty
        && manifests.roles.is_none()
        && let Some(elsewhere) = elsewhere(&options.packages)
    {
        term.status(&format!("nothing to generate was found; {elsewhere}"));
    } else if manifests.unmarked {
        term.status(
            "the role is left as it is, since the source has no `+kubebuilder:rbac` marker: `memcached-sdk rbac lint --fix` \
             writes those that it needs",
        );
    }
}

/// Which engine is asked for.
fn request(args: &GenerateArgs, term: &Term) -> engine::Request {
    let quiet = term.verbosity() == Verbosity::Quiet;
    engine::Request { engine: args.engine, verify: args.verify, features: FeatureSelection::default(), quiet }
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
