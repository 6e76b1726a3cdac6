//! `generate helm`: rendered manifests → a chart.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::{Outcome, apply};
use crate::chart::{self, Chart};
use crate::cli::GenerateHelmArgs;
use crate::diagnostic::{Diagnostics, Problem};
use crate::edit::merge::merge;
use crate::plan::{Draft, IfExists, RelPath};
use crate::scaffold;
use crate::scaffold::context::ChartContext;
use crate::term::Term;

const FOLDER: &str = "chart";

pub(super) fn run(args: &GenerateHelmArgs, term: &mut Term) -> Result<Outcome> {
    let shown = args.manifests.display();
    let objects: Vec<Value> = serde_yaml::from_multiple(&read(&args.manifests)?)
        .map_err(|error| Problem::new(format!("`{shown}` is no YAML: {error}")))?;
    let chart = chart::chart(objects).with_context(|| format!("cannot make a chart of `{shown}`"))?;
    let mut draft = Draft::open(&args.output_dir);
    let context = ChartContext {
        name: chart.name.clone(),
        // The name of a Service has 63 characters at most.
        longest: 63_usize.saturating_sub(chart.longest_suffix).max(1),
        account_suffix: chart.account_suffix.clone(),
        has_crds: chart.templates.keys().any(|path| path.starts_with("crd/")),
    };
    scaffold::chart(&mut draft, FOLDER, &context, if args.write.force { IfExists::Overwrite } else { IfExists::Skip })?;
    put_templates(&mut draft, &chart)?;
    put_values(&mut draft, &chart, args.write.force)?;
    let mut report = apply(draft, Diagnostics::default(), &args.write)?;
    let folder = args.output_dir.join(FOLDER);
    report.next = format!(
        "Install it with: helm install {} {} --namespace {} --create-namespace",
        chart.name,
        folder.display(),
        chart.namespace.as_deref().unwrap_or(&chart.name)
    );
    report.show(&args.write, term)
}

fn read(path: &Path) -> Result<String> {
    if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("cannot read stdin")?;
        return Ok(text);
    }
    std::fs::read_to_string(path).map_err(|error| {
        let problem = Problem::new(format!("cannot read `{}`: {error}", path.display()));
        problem.help("run `make build-installer` first, or name other manifests with `--manifests`").into()
    })
}

/// Ours are replaced, and removed when their object is gone.
fn put_templates(draft: &mut Draft, chart: &Chart) -> Result<()> {
    let mut kept = BTreeSet::new();
    for (path, text) in &chart.templates {
        let path = format!("{FOLDER}/templates/{path}");
        let rel = RelPath::new(&path)?;
        if draft.read(&rel)?.is_some_and(|text| !chart::is_generated(&text)) {
            let problem = Problem::new(format!("`{path}` is there and not ours"));
            return Err(problem.help("move it to a folder of your own, such as templates/custom").into());
        }
        draft.generate(rel, text);
        kept.insert(path);
    }
    for path in yaml_files(&draft.root().join(FOLDER).join("templates"), &format!("{FOLDER}/templates"))? {
        let Ok(rel) = RelPath::new(&path) else { continue };
        if !kept.contains(&path) && draft.read(&rel)?.is_some_and(|text| chart::is_generated(&text)) {
            draft.remove(rel);
        }
    }
    Ok(())
}

/// The YAML files below a folder, with the path that it has.
fn yaml_files(folder: &Path, path: &str) -> Result<Vec<String>> {
    let mut files = Vec::new();
    if !folder.is_dir() {
        return Ok(files);
    }
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))? {
        let entry = entry?;
        let below = format!("{path}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            files.extend(yaml_files(&entry.path(), &below)?);
        } else if Path::new(&below).extension().is_some_and(|extension| extension == "yaml") {
            files.push(below);
        }
    }
    Ok(files)
}

/// What the author has changed in values.yaml stays: what is new is merged into it, from the defaults that it was made of.
fn put_values(draft: &mut Draft, chart: &Chart, force: bool) -> Result<()> {
    let [base, values, schema] =
        [".values.yaml", "values.yaml", "values.schema.json"].map(|name| RelPath::new(format!("{FOLDER}/{name}")));
    let (base, values) = (base?, values?);
    match (draft.read(&values)?, draft.read(&base)?) {
        (Some(theirs), before) if !force => {
            let before = before.unwrap_or_else(|| theirs.clone());
            let merged = merge(&before, &chart.values, &theirs).text;
            let parse = |text: &str| serde_yaml::from_str::<Value>(text);
            let there = parse(&merged).map_err(|error| Problem::new(format!("`{values}` is no YAML: {error}")))?;
            let missing = chart::missing(&parse(&chart.values).unwrap_or_default(), &there);
            if !missing.is_empty() {
                let problem = Problem::new(format!("`{values}` lacks {}", missing.join(", ")));
                let help =
                    format!("add them as `{base}` has them, or take your values.yaml away and run the command again");
                return Err(problem.help(help).into());
            }
            draft.edit(&values, |_| Ok(merged))?;
        }
        _ => draft.scaffold(values, chart.values.clone(), IfExists::Overwrite),
    }
    draft.generate(base, chart.values.clone());
    draft.generate(schema?, chart.schema.clone());
    Ok(())
}
