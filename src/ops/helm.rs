//! `generate helm`: rendered manifests → a chart.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::{Findings, crd_place, rendered};
use crate::diagnostic::Problem;
use crate::edit::merge::{ConflictChoice, merge};
use crate::plan::{Draft, IfExists, RECORD, RelPath};
use crate::project::Project;
use crate::scaffold;
use crate::scaffold::context::ChartContext;
use crate::ship::chart::{self, Chart};
use crate::source::clean;
use crate::yaml;

/// The folder of the chart in the output folder.
pub(crate) const FOLDER: &str = "chart";

const CRD: &str = "CustomResourceDefinition";

/// Options of `generate helm`.
#[derive(Debug, Clone)]
pub(crate) struct HelmOptions {
    /// The manifests; `-` is stdin.
    pub(crate) manifests: PathBuf,
    /// The folder that gets the chart.
    pub(crate) output_dir: PathBuf,
    /// Overwrites scaffolded files that exist with other text.
    pub(crate) force: bool,
}

/// The planned chart.
pub(crate) struct PlannedChart {
    pub(crate) draft: Draft,
    pub(crate) name: String,
    /// The namespace of the objects, if they have one.
    pub(crate) namespace: Option<String>,
}

/// Plans a chart of the manifests.
pub(crate) fn run(options: &HelmOptions) -> Result<Findings<PlannedChart>> {
    let doing = format!("cannot make a chart from `{}`", options.manifests.display());
    let mut objects = rendered::objects(&options.manifests, rendered::RENDER, &doing)?;
    remove_placed(&mut objects, &options.output_dir.join(FOLDER))?;
    let chart = chart::chart(&objects).context(doing)?;
    let mut draft = Draft::open(&options.output_dir);
    let context = ChartContext {
        name: chart.name.clone(),
        longest: chart.longest,
        account_suffix: chart.account_suffix.clone(),
        has_crds: chart.templates.keys().any(|path| path.starts_with("crd/")),
    };
    let if_exists = if options.force { IfExists::Overwrite } else { IfExists::Skip };
    scaffold::chart(&mut draft, FOLDER, &context, if_exists)?;
    rendered::put(
        &mut draft,
        &format!("{FOLDER}/templates"),
        &chart.templates,
        chart::is_generated,
        "move it to a separate folder, such as templates/custom",
    )?;
    put_values(&mut draft, &chart, options.force)?;
    let Chart { name, namespace, found, .. } = chart;
    Ok(Findings { value: PlannedChart { draft, name, namespace }, diagnostics: found })
}

/// Removes the CRDs that `generate` keeps up to date in a file of the author in this chart: a release cannot have them twice.
fn remove_placed(objects: &mut Vec<Value>, chart: &Path) -> Result<()> {
    let draft = Draft::open(Path::new(""));
    let record = RelPath::new(RECORD)?;
    if draft.read(&record)?.is_none() {
        return Ok(());
    }
    let Some(place) = Project::recorded(&draft)?.crds else { return Ok(()) };
    let chart = clean(&std::path::absolute(chart)?);
    let mut placed = BTreeSet::new();
    for crd in objects.iter().filter(|object| object["kind"] == CRD) {
        let path = place.path(&crd_place::names(crd))?;
        let is_inside = clean(&std::path::absolute(path.below(draft.root()))?).starts_with(&chart);
        let is_of_author = draft.read(&path)?.is_some_and(|text| !chart::is_generated(&text));
        if is_inside && is_of_author && crd_place::has(&draft, &path, crd)? {
            placed.insert(crd["metadata"]["name"].to_string());
        }
    }
    objects.retain(|object| object["kind"] != CRD || !placed.contains(&object["metadata"]["name"].to_string()));
    Ok(())
}

/// Changes of the author in values.yaml stay: new values are merged into it, from the defaults that it was made of.
fn put_values(draft: &mut Draft, chart: &Chart, force: bool) -> Result<()> {
    let [base, values, schema] =
        [".values.yaml", "values.yaml", "values.schema.json"].map(|name| RelPath::new(format!("{FOLDER}/{name}")));
    let (base, values) = (base?, values?);
    match (draft.read(&values)?, draft.read(&base)?) {
        (Some(theirs), before) if !force => {
            let before = before.unwrap_or_else(|| theirs.clone());
            let merged = merge(&before, &chart.values, &theirs, ConflictChoice::Author).text;
            let parse = |text: &str| serde_yaml::from_str::<Value>(text);
            let there = parse(&merged).map_err(|error| Problem::new(yaml::invalid(&values, 0, &error)))?;
            let missing = chart::missing(&parse(&chart.values).unwrap_or_default(), &there);
            if !missing.is_empty() {
                let problem = Problem::new(format!("`{values}` lacks {}", missing.join(", ")));
                let help = format!("copy them from `{base}`, or remove your values.yaml and run the command again");
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
