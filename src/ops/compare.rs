//! `generate crds --compare`: the CRDs of the source, compared with those in files of any name.

mod normal;
mod places;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use serde_json::{Value, json};
use similar::TextDiff;

use super::generate::{self, GenerateOptions};
use super::manifests::{self, ManifestOptions, Manifests, RefusedSubject, patches};
use super::{Findings, UsageError};
use crate::crd::{self, Crd};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin, Problem, Severity};
use crate::engine;
use crate::k8s::kind_name;
use crate::plan::Draft;
use crate::source::Pending;
use crate::yaml::{self, template};

/// The differences between the source and the shipped CRDs.
pub(crate) struct Comparison {
    /// Shipped CRDs that differ from the source.
    pub(crate) different: Vec<CrdDifference>,
    /// CRDs of the source that are not shipped, and shipped CRDs that the source does not declare or that differ from each other.
    pub(crate) others: Diagnostics,
    /// The counts, as a sentence.
    pub(crate) summary: String,
}

impl Comparison {
    /// Returns true if the source and the shipped CRDs are equal.
    pub(crate) fn is_equal(&self) -> bool {
        self.different.is_empty() && self.others.is_empty()
    }
}

/// A shipped CRD that differs from the source.
pub(crate) struct CrdDifference {
    /// Names the fields that differ.
    pub(crate) finding: Diagnostic,
    /// The unified diff from the shipped CRD to the one of the source, without parts that do not matter.
    pub(crate) diff: String,
}

impl CrdDifference {
    /// The finding with the diff in its message.
    pub(crate) fn in_full(self) -> Diagnostic {
        let message = format!("{}:\n{}", self.finding.message, self.diff.trim_end());
        Diagnostic { message, ..self.finding }
    }
}

/// A CRD in a file.
struct ShippedCrd {
    /// The whole object.
    value: Value,
    /// The line with its name, or else the start of its document.
    origin: Origin,
}

impl ShippedCrd {
    fn name(&self) -> &str {
        self.value["metadata"]["name"].as_str().unwrap_or_default()
    }

    fn kind(&self) -> &str {
        self.value["spec"]["names"]["kind"].as_str().unwrap_or_default()
    }

    fn about(&self) -> String {
        kind_name(self.kind(), crd::group(&self.value))
    }

    fn place(&self) -> String {
        format!("{}:{}", self.origin.path, self.origin.line_column().0)
    }
}

/// Compares the CRDs of the source with those in files and folders. Writes nothing. `say` receives progress messages.
pub(crate) fn run(
    options: &GenerateOptions,
    paths: &[PathBuf],
    say: &mut dyn FnMut(&str),
) -> Result<Findings<Comparison>> {
    if !options.wanted.crds || options.wanted.roles {
        let problem = Problem::new("`--compare` compares CRDs only");
        return Err(UsageError(problem.help("run `memcached-sdk generate crds --compare PATH`")).into());
    }
    let shipped = read(paths)?;
    let mut resolved = generate::resolve(options)?;
    let project = generate::own_project(&resolved.packages.root)?;
    if let Some(project) = &project {
        resolved.choice = resolved.choice.without_foreign(manifests::foreign(project));
    }
    let Findings { value: mut manifests, diagnostics: mut found } =
        manifests::generate(&resolved, &Pending::default(), None, say)?;
    let refused = RefusedSubject::of(&manifests, &resolved, &found);
    let unshipped = unshipped(&manifests, &resolved, &refused, &shipped);
    // Advice about the CRDs of the source belongs to `generate`.
    let matters = |found: &&Diagnostic| {
        let is_foreign = !found.kinds.is_empty() && found.kinds.iter().all(|kind| unshipped.contains(kind));
        found.code.severity() == Severity::Error && !is_foreign
    };
    found = found.iter().filter(matters).cloned().collect();
    refused.leave_out(&mut manifests);
    if let (Some(_), Some(crds)) = (&project, &mut manifests.crds) {
        // `generate` reports patches that do not fit.
        for (at, patched) in patches::patched(crds, &Draft::open(&resolved.packages.root))?.value {
            crds[at] = patched;
        }
    }
    if found.has_errors() && !resolved.keep_going {
        let summary = "nothing was compared, because the source has errors: pass `--keep-going` to compare the rest";
        let (different, others) = (Vec::new(), Diagnostics::default());
        let value = Comparison { different, others, summary: summary.to_owned() };
        return Ok(Findings { value, diagnostics: found });
    }
    Ok(Findings { value: compare(&manifests, &shipped, &unshipped, resolved.max_desc_len), diagnostics: found })
}

/// The kinds of the source that are probably APIs of others: the code calls `crd()` of other kinds only, and no CRD of their group
/// is shipped.
fn unshipped(
    manifests: &Manifests,
    options: &ManifestOptions,
    refused: &RefusedSubject,
    shipped: &[ShippedCrd],
) -> BTreeSet<String> {
    let groups: BTreeSet<&str> = shipped.iter().map(|crd| crd::group(&crd.value)).collect();
    let only_read = refused.only_read(manifests, options, None);
    let mut kinds: BTreeSet<String> = only_read.iter().flat_map(|found| found.kinds.iter().cloned()).collect();
    let others = manifests.crds.iter().flatten().filter(|crd| !groups.contains(crd::group(&crd.value)));
    let others: Vec<&Crd> = others.collect();
    if !others.is_empty() {
        let called = engine::crd_calls(&options.packages.workspace());
        let is_called =
            |crd: &Crd| crd.declared.values().any(|one| one.root.as_ref().is_none_or(|root| called.contains(root)));
        kinds.extend(others.into_iter().filter(|crd| !called.is_empty() && !is_called(crd)).map(Crd::name));
    }
    kinds
}

/// `unshipped` are the kinds of the source that need not be shipped.
fn compare(
    manifests: &Manifests,
    shipped: &[ShippedCrd],
    unshipped: &BTreeSet<String>,
    max_desc_len: Option<usize>,
) -> Comparison {
    let crds = manifests.crds.as_deref().unwrap_or_default();
    let declared: BTreeSet<String> = crds.iter().map(Crd::name).chain(manifests.kinds.all.iter().cloned()).collect();
    let names: BTreeSet<&str> = crds.iter().filter_map(|crd| crd.value["metadata"]["name"].as_str()).collect();
    let groups: BTreeSet<&str> = declared.iter().filter_map(|kind| Some(kind.split_once('.')?.1)).collect();
    let mut by_name: BTreeMap<&str, Vec<&ShippedCrd>> = BTreeMap::new();
    for crd in shipped {
        by_name.entry(crd.name()).or_default().push(crd);
    }
    let mut comparison = Comparison { different: Vec::new(), others: Diagnostics::default(), summary: String::new() };
    let (mut equal, mut missing, mut foreign) = (0, 0, 0);
    for crd in crds {
        let name = crd.value["metadata"]["name"].as_str().unwrap_or_default();
        let Some(copies) = by_name.get(name) else {
            if !unshipped.contains(&crd.name()) {
                missing += 1;
                comparison.others.push(not_shipped(crd, name));
            }
            continue;
        };
        let found: Vec<CrdDifference> = copies.iter().filter_map(|copy| difference(copy, crd, max_desc_len)).collect();
        equal += usize::from(found.is_empty());
        comparison.different.extend(found);
    }
    for (name, copies) in by_name {
        let about = copies[0].about();
        if !groups.contains(crd::group(&copies[0].value)) {
            foreign += 1;
            continue;
        }
        if !names.contains(name) && !declared.contains(&about) {
            comparison.others.push(not_declared(copies[0], name));
        }
        comparison.others.extend(twice(name, &copies, max_desc_len).into_iter().collect());
    }
    let different: BTreeSet<&[String]> = comparison.different.iter().map(|one| &*one.finding.kinds).collect();
    let mut parts = vec![format!("{equal} equal"), format!("{} different", different.len())];
    let undeclared = comparison.others.iter().filter(|found| found.code == Code::CrdNotDeclared).count();
    for (count, text) in [(missing, "not shipped"), (undeclared, "not declared"), (foreign, "of other groups ignored")]
    {
        if count > 0 {
            parts.push(format!("{count} {text}"));
        }
    }
    comparison.summary =
        format!("compared the CRDs of the source with {} shipped: {}", shipped.len(), parts.join(", "));
    comparison
}

/// Compares a shipped CRD with the one of the source.
fn difference(shipped: &ShippedCrd, source: &Crd, max_desc_len: Option<usize>) -> Option<CrdDifference> {
    let actual = normal::normal(&normal::adopted(&shipped.value, &source.value), max_desc_len);
    let expected = normal::normal(&source.value, max_desc_len);
    if actual == expected {
        return None;
    }
    let (before, after) = (yaml::document(&actual), yaml::document(&expected));
    let shown = format!("{} (shipped)", shipped.place());
    let diff = TextDiff::from_lines(&before, &after).unified_diff().header(&shown, "source").to_string();
    let message = format!("`{}` differs from the source {}", shipped.name(), places::listed(&actual, &expected));
    let about = source.name();
    let help = format!("`memcached-sdk generate crds --stdout --kind {about}` prints the CRD of the source");
    let finding = Diagnostic::new(Code::CrdDiffers, message).at(shipped.origin.clone()).help(help).about(about);
    Some(CrdDifference { finding, diff })
}

fn not_shipped(crd: &Crd, name: &str) -> Diagnostic {
    let help = format!("`memcached-sdk generate crds --stdout --kind {}` prints it", crd.name());
    let found = Diagnostic::new(Code::CrdNotShipped, format!("`{name}` is declared in the source, but not shipped"));
    found.at(crd.origin().cloned()).help(help).about(crd.name())
}

fn not_declared(shipped: &ShippedCrd, name: &str) -> Diagnostic {
    let message = format!("`{name}` is shipped, but the source does not declare it");
    let help = "delete it, or read the package that declares it with `-p` or `--workspace`";
    Diagnostic::new(Code::CrdNotDeclared, message).at(shipped.origin.clone()).help(help).about(shipped.about())
}

/// Reports copies of a CRD with different content.
fn twice(name: &str, copies: &[&ShippedCrd], max_desc_len: Option<usize>) -> Option<Diagnostic> {
    let (first, rest) = copies.split_first()?;
    let content =
        |one: &ShippedCrd, other: &ShippedCrd| normal::normal(&normal::adopted(&one.value, &other.value), max_desc_len);
    let other = rest.iter().find(|copy| content(copy, first) != content(first, copy))?;
    let message = format!("`{name}` is shipped twice with different content, here and in `{}`", other.place());
    let help = "generate both files, or ship one of them";
    Some(Diagnostic::new(Code::CrdTwice, message).at(first.origin.clone()).help(help).about(first.about()))
}

/// Reads the CRDs in files, and in the YAML and JSON files below folders.
fn read(paths: &[PathBuf]) -> Result<Vec<ShippedCrd>> {
    let mut crds = Vec::new();
    for path in paths {
        if path.is_dir() {
            for file in files(path)? {
                // Files that are not text contain no manifests.
                if let Ok(Ok(text)) = std::fs::read(&file).map(String::from_utf8) {
                    crds.extend(read_text(&file, &text)?);
                }
            }
        } else {
            let text = std::fs::read_to_string(path)
                .map_err(|error| Problem::new(format!("cannot read `{}`: {error}", path.display())))?;
            crds.extend(read_text(path, &text)?);
        }
    }
    if crds.is_empty() {
        let paths: Vec<String> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
        let problem = Problem::new(format!("no CRD found in {}", paths.join(", ")));
        return Err(problem
            .help("pass YAML files with a `CustomResourceDefinition`, or folders with such files")
            .into());
    }
    Ok(crds)
}

/// The YAML and JSON files below a folder, sorted by path, except those of build folders and hidden ones.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let is_source = |entry: &walkdir::DirEntry| {
        let name = entry.file_name().to_string_lossy();
        entry.depth() == 0 || !(name.starts_with('.') || matches!(&*name, "target" | "node_modules"))
    };
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().filter_entry(is_source) {
        let entry = entry.map_err(|error| Problem::new(format!("cannot read `{}`: {error}", folder.display())))?;
        let extension = entry.path().extension().and_then(|extension| extension.to_str());
        if entry.file_type().is_file() && matches!(extension, Some("yaml" | "yml" | "json")) {
            files.push(entry.into_path());
        }
    }
    Ok(files)
}

/// Reads the CRDs in the text of a file.
fn read_text(path: &Path, text: &str) -> Result<Vec<ShippedCrd>, Problem> {
    let text = text.trim_start_matches('\u{feff}');
    if !text.contains("CustomResourceDefinition") {
        return Ok(Vec::new());
    }
    let shown = path.to_string_lossy().replace('\\', "/");
    let shown = shown.trim_start_matches("./");
    if is_template(path) {
        return parse(shown, text, &rendered(text));
    }
    match parse(shown, text, text) {
        Err(_) if text.contains("{{") => parse(shown, text, &rendered(text)),
        parsed => parsed,
    }
}

/// Reads the objects in a file. A document that is not valid YAML without its template actions is left out.
pub(crate) fn objects(path: &Path, text: &str) -> Vec<Value> {
    let plain = if is_template(path) { rendered(text) } else { text.to_owned() };
    let values = yaml::documents(&plain).into_iter().filter_map(|range| serde_yaml::from_str(&plain[range]).ok());
    values.filter(|object: &Value| object["apiVersion"].is_string() && object["kind"].is_string()).collect()
}

/// Returns true for a text that a template computes.
pub(crate) fn is_computed(text: &str) -> bool {
    text.contains(normal::UNKNOWN) || text.contains("{{") || text.contains('$')
}

/// Returns true for a file in the `templates` of a Helm chart.
pub(crate) fn is_template(path: &Path) -> bool {
    let is_of_chart = |folder: &Path| folder.parent().is_some_and(|chart| chart.join("Chart.yaml").is_file());
    path.ancestors().any(|folder| folder.ends_with("templates") && is_of_chart(folder))
}

/// Returns true for specs of CRDs that mean the same to the API server, except for the conversion.
pub(super) fn is_same_spec(one: &Value, other: &Value) -> bool {
    let is_whole = |spec: &Value| spec["names"].is_object();
    let [one, other] = [one, other]
        .map(|spec| if is_whole(spec) { normal::normal(&json!({ "spec": spec }), None) } else { spec.clone() });
    one == other
}

/// A Helm template without its actions. [`normal::UNKNOWN`] stands for values.
pub(crate) fn rendered(text: &str) -> String {
    template::without_actions(text, |action| match template::string_of(action.text) {
        Some(text) => text,
        None if action.is_line => String::new(),
        None => normal::UNKNOWN.to_owned(),
    })
}

/// Reads the CRDs in `plain`, which has the lines of `text`.
fn parse(path: &str, text: &str, plain: &str) -> Result<Vec<ShippedCrd>, Problem> {
    let whole: Arc<str> = text.into();
    let mut crds = Vec::new();
    for range in yaml::documents(plain) {
        let document = &plain[range.clone()];
        let above = plain[..range.start].matches('\n').count();
        // Other documents may be anything, such as values of a chart.
        if !document.lines().any(|line| line.contains("kind") && line.contains("CustomResourceDefinition")) {
            continue;
        }
        let value: Value = serde_yaml::from_str(document).map_err(|error| {
            let problem = Problem::new(yaml::invalid(path, above, &error));
            let help = "render the chart with `helm template CHART > all.yaml`, and pass that file";
            if text.contains("{{") { problem.help(help) } else { problem }
        })?;
        let objects = match value["items"].as_array() {
            Some(items) if value["kind"].as_str().is_some_and(|kind| kind.ends_with("List")) => items.clone(),
            _ => vec![value],
        };
        for value in objects.into_iter().filter(is_crd) {
            let named = |line: &str| {
                let line = line.trim().trim_end_matches(',').trim_start_matches("- ").trim_start_matches('"');
                line.strip_prefix("name").is_some_and(|rest| {
                    let rest = rest.trim_start_matches(['"', ':', ' ']).trim_end_matches(['"', '\'']);
                    value["metadata"]["name"] == rest.trim_start_matches('\'')
                })
            };
            let line = above + document.lines().position(named).unwrap_or(0);
            let start = text.split_inclusive('\n').take(line).map(str::len).sum();
            let end = start + text[start..].lines().next().unwrap_or_default().len();
            crds.push(ShippedCrd {
                value,
                origin: Origin { path: path.into(), text: whole.clone(), range: start..end },
            });
        }
    }
    Ok(crds)
}

/// Returns true for a whole CRD: a patch has no version with a schema.
fn is_crd(object: &Value) -> bool {
    let spec = &object["spec"];
    let has_schema = |version: &Value| version.get("schema").is_some() || version.get("storage").is_some();
    object["kind"] == "CustomResourceDefinition"
        && spec["group"].is_string()
        && (spec.get("version").is_some() || spec["versions"].as_array().is_some_and(|all| all.iter().any(has_schema)))
}
