//! `generate`: arguments → [`GenerateOptions`], and the result of [`generate::run`] → files and messages.

use anyhow::Result;
use serde_json::Value;

use super::outcome::{Outcome, OutcomeReport, UsageError, apply, apply_anyway};
use crate::cli::{FeatureArgs, GenerateArgs, GenerateWhat, LayoutArgs, OutputFormat, PackageArgs, WriteArgs};
use crate::crd::{Crd, Declaration};
use crate::diagnostic::Problem;
use crate::engine;
use crate::ops::generate::{self, GenerateOptions, GenerateOutcome};
use crate::ops::manifests::WantedManifests;
use crate::ops::manifests::output::Destination;
use crate::ops::{Findings, compare, edit, update};
use crate::source::{FeatureSelection, PackageSelection};
use crate::term::{Term, Verbosity};

pub(super) fn run(args: &GenerateArgs, term: &mut Term) -> Result<Outcome> {
    if args.layout.stdout && args.write.output != OutputFormat::Text {
        return Err(UsageError(Problem::new("`--stdout` prints manifests, so it allows no other `--output`")).into());
    }
    if !args.compare.is_empty() {
        return run_compare(args, term);
    }
    run_with(&options(args, term), &args.write, term)
}

/// Compares the CRDs of the source with shipped ones: diffs to stdout, findings to stderr.
fn run_compare(args: &GenerateArgs, term: &mut Term) -> Result<Outcome> {
    let compared = compare::run(&options(args, term), &args.compare, &mut |text| term.status(text))?;
    let Findings { value: comparison, diagnostics: mut found } = compared;
    let outcome = match (found.has_errors(), args.kinds.keep_going) {
        (true, false) => Outcome::Failed,
        (true, true) => Outcome::Partly,
        (false, _) if comparison.is_equal() => Outcome::Done,
        (false, _) => Outcome::Differs,
    };
    let is_text = args.write.output == OutputFormat::Text;
    for difference in comparison.different {
        if is_text {
            term.diff(&difference.diff)?;
            found.push(difference.finding);
        } else {
            found.push(difference.in_full());
        }
    }
    found.extend(comparison.others);
    found.sort();
    if !is_text {
        let report = OutcomeReport { outcome, changes: Vec::new(), diagnostics: found, next: String::new() };
        return report.show(&args.write, term);
    }
    term.diagnostics(&found);
    term.status(&comparison.summary);
    Ok(outcome)
}

/// Runs the operation and reports its result.
pub(super) fn run_with(options: &GenerateOptions, write: &WriteArgs, term: &mut Term) -> Result<Outcome> {
    let is_text = write.output == OutputFormat::Text;
    let Findings { value: generated, diagnostics: mut found } = generate::run(options, &mut |text| term.status(text))?;
    let GenerateOutcome { mut draft, text, manifests, project, notes, refused, next } = generated;
    list(manifests.crds.as_deref(), term);
    if is_text {
        notes.iter().for_each(|note| term.status(&note.sentence()));
    } else {
        found.extend(notes);
    }
    let outcome = if let Some(text) = text {
        found.sort();
        term.diagnostics(&found);
        let outcome = match (found.has_errors(), options.keep_going) {
            (false, _) => Outcome::Done,
            (true, true) => Outcome::Partly,
            (true, false) => Outcome::Failed,
        };
        if outcome != Outcome::Failed {
            term.data(&text)?;
        }
        outcome
    } else {
        if let Some(project) = project.filter(|_| options.check && options.wanted == WantedManifests::ALL) {
            found.extend(update::verify_manager(&mut draft, &project)?.into_iter().collect());
            found.extend(edit::verify_choices(&mut draft, &project)?);
        }
        found.sort();
        let mut report = if options.keep_going { apply_anyway } else { apply }(draft, found, write)?;
        report.next = next;
        report.show(write, term)?
    };
    if let Some(refused) = refused {
        term.status(&refused);
    }
    Ok(outcome)
}

fn options(args: &GenerateArgs, term: &Term) -> GenerateOptions {
    GenerateOptions {
        wanted: wanted(args.what),
        packages: selection(&args.packages),
        features: features(&args.features),
        paths: args.packages.paths.clone(),
        kinds: args.kinds.kind.clone(),
        excluded: args.kinds.exclude.clone(),
        keep_going: args.kinds.keep_going,
        engine: request(args, term),
        fix: args.fix.iter().flat_map(|fix| fix.sorts()).copied().collect(),
        max_desc_len: args.layout.max_desc_len,
        role_name: args.role_name.clone(),
        fold: args.fold,
        destination: destination(&args.layout),
        header: args.layout.header_file.clone(),
        year: args.layout.year.clone(),
        check: args.write.check,
        preview: if args.layout.stdout { Some("--stdout") } else { preview(&args.write) },
    }
}

/// Returns the flag that prevents writing.
pub(super) fn preview(write: &WriteArgs) -> Option<&'static str> {
    let flags = [("--check", write.check), ("--dry-run", write.dry_run), ("--diff", write.diff)];
    flags.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
}

fn wanted(what: GenerateWhat) -> WantedManifests {
    let nothing = WantedManifests { crds: false, roles: false, webhooks: false };
    match what {
        GenerateWhat::All => WantedManifests::ALL,
        GenerateWhat::Crds => WantedManifests { crds: true, ..nothing },
        GenerateWhat::Rbac => WantedManifests { roles: true, ..nothing },
        GenerateWhat::Webhooks => WantedManifests { webhooks: true, ..nothing },
    }
}

fn destination(args: &LayoutArgs) -> Destination {
    match args {
        LayoutArgs { stdout: true, .. } => Destination::Stdout,
        LayoutArgs { output_dir: Some(path), .. } => Destination::Folder(path.clone()),
        LayoutArgs { single_file: Some(path), .. } => Destination::File(path.clone()),
        LayoutArgs { .. } => Destination::Usual,
    }
}

/// Returns true if cargo must be silent, too.
pub(super) fn is_quiet(term: &Term) -> bool {
    term.verbosity() == Verbosity::Quiet
}

/// The engine that the flags select.
fn request(args: &GenerateArgs, term: &Term) -> engine::EngineRequest {
    let quiet = is_quiet(term);
    engine::EngineRequest { engine: args.engine, verify: args.verify, features: FeatureSelection::default(), quiet }
}

/// The packages that the command line names.
pub(super) fn selection(args: &PackageArgs) -> PackageSelection {
    PackageSelection {
        manifest_path: args.manifest_path.clone(),
        packages: args.package.clone(),
        workspace: args.workspace,
    }
}

pub(super) fn features(args: &FeatureArgs) -> FeatureSelection {
    let names = args.features.iter().flat_map(|names| names.split_whitespace());
    FeatureSelection {
        no_default: args.no_default_features,
        all: args.all_features,
        features: names.map(str::to_owned).collect(),
    }
}

/// Lists the kinds with `-v`. Warns if there are no kinds, which may be a mistake.
fn list(crds: Option<&[Crd]>, term: &mut Term) {
    let Some(crds) = crds else { return };
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
