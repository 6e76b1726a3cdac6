//! `generate helm`: rendered manifests → a chart.

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::outcome::{Outcome, apply};
use super::stream;
use crate::cli::GenerateHelmArgs;
use crate::diagnostic::Problem;
use crate::edit::merge::merge;
use crate::plan::{Draft, IfExists, RelPath};
use crate::scaffold;
use crate::scaffold::context::ChartContext;
use crate::ship::chart::{self, Chart};
use crate::term::Term;

const FOLDER: &str = "chart";

pub(super) fn run(args: &GenerateHelmArgs, term: &mut Term) -> Result<Outcome> {
    let doing = format!("cannot make a chart of `{}`", args.manifests.display());
    let objects = stream::objects(&args.manifests, stream::RENDER, &doing)?;
    let chart = chart::chart(&objects).context(doing)?;
    let mut draft = Draft::open(&args.output_dir);
    let context = ChartContext {
        name: chart.name.clone(),
        longest: chart.longest,
        account_suffix: chart.account_suffix.clone(),
        has_crds: chart.templates.keys().any(|path| path.starts_with("crd/")),
    };
    scaffold::chart(&mut draft, FOLDER, &context, if args.write.force { IfExists::Overwrite } else { IfExists::Skip })?;
    stream::put(
        &mut draft,
        &format!("{FOLDER}/templates"),
        &chart.templates,
        chart::is_generated,
        "move it to a folder of your own, such as templates/custom",
    )?;
    put_values(&mut draft, &chart, args.write.force)?;
    let mut report = apply(draft, chart.found, &args.write)?;
    let folder = args.output_dir.join(FOLDER);
    report.next = format!(
        "Install it with: helm install {} {} --namespace {} --create-namespace",
        chart.name,
        folder.display(),
        chart.namespace.as_deref().unwrap_or(&chart.name)
    );
    report.show(&args.write, term)
}

/// Changes of the author in values.yaml stay: new values are merged into it, from the defaults that it was made of.
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
