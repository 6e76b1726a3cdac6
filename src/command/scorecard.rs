//! `scorecard`: the tests of a bundle that need no cluster.

use anyhow::Result;
use serde_json::{Value, json};

use super::outcome::{Outcome, UsageError};
use crate::cli::{DataFormat, ScorecardArgs};
use crate::diagnostic::Problem;
use crate::ops::bundle::folder;
use crate::ship::olm::scorecard::{Test, Verdict};
use crate::term::Term;

pub(super) fn run(args: &ScorecardArgs, term: &mut Term) -> Result<Outcome> {
    let has = |test: &Test, (key, value): &(String, String)| {
        test.labels().iter().any(|(of, said)| of == key && said == value)
    };
    let tests: Vec<Test> =
        Test::ALL.into_iter().filter(|test| args.selector.iter().all(|label| has(test, label))).collect();
    if tests.is_empty() {
        let labels = Test::ALL.map(|test| format!("test={}-test", test.as_str())).join(", ");
        let problem = Problem::new("no test has all of these labels");
        return Err(UsageError(problem.help(format!("there are suite=basic, suite=olm, {labels}"))).into());
    }
    let shown = args.dir.display().to_string();
    let folder = folder(&args.dir)?;
    let (contents, _) = folder.read();
    let Some((_, csv)) = contents.csv() else {
        let problem = Problem::new(format!("`{shown}` is not a bundle: it has no ClusterServiceVersion"));
        return Err(problem.help(format!("run `memcached-sdk bundle validate {shown}`")).into());
    };
    let verdicts: Vec<Verdict> = tests.iter().map(|test| test.run(&folder, &contents, csv)).collect();
    let failed = verdicts.iter().filter(|verdict| !verdict.errors.is_empty()).count();
    if args.output == DataFormat::Json {
        let items: Vec<Value> = verdicts.iter().map(Verdict::to_json).collect();
        let list =
            json!({ "kind": "TestList", "apiVersion": "scorecard.operatorframework.io/v1alpha3", "items": items });
        term.data(&format!("{list:#}\n"))?;
    } else {
        term.data(&verdicts.iter().map(text).collect::<String>())?;
        term.status(&format!("{} passed, {failed} failed", verdicts.len() - failed));
    }
    Ok(if failed == 0 { Outcome::Done } else { Outcome::Failed })
}

fn text(verdict: &Verdict) -> String {
    let state = if verdict.errors.is_empty() { "pass" } else { "fail" };
    let mut text = format!("{state}  {}\n", verdict.test.as_str());
    text.extend(verdict.errors.iter().map(|error| format!("      {error}\n")));
    text.extend(verdict.suggestions.iter().map(|suggestion| format!("      perhaps: {suggestion}\n")));
    text
}
