//! `render`: an object → the objects that the operator of the project makes for it, without a cluster.
//!
//! Runs `tests/explore_*.rs` of the project with the object in [`REQUEST`]. The explorer of its kind prints the answer on
//! a line: the objects of the operator once the state has settled, or the reason of a refusal.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use serde_json::Value;
use similar::TextDiff;

use super::rendered;
use crate::diagnostic::Problem;
use crate::yaml;

/// The variable that the explorer reads.
const REQUEST: &str = "EXPLORER_RENDER";

/// Options of `render`.
#[derive(Debug, Clone)]
pub(crate) struct RenderOptions {
    /// A file in YAML with one object; `-` is stdin.
    pub(crate) object: PathBuf,
    /// The object before a change, for a difference.
    pub(crate) before: Option<PathBuf>,
}

/// The result of `render`.
#[derive(Debug, Clone)]
pub(crate) enum Rendering {
    /// Objects in YAML.
    Objects(String),
    /// A unified diff of objects, empty without a difference.
    Diff(String),
}

/// Renders in the project of the current folder.
pub(crate) fn run(options: &RenderOptions) -> Result<Rendering> {
    let after = text(&options.object)?;
    Ok(match &options.before {
        None => Rendering::Objects(after),
        Some(path) => {
            let before = text(path)?;
            let shown = |path: &Path| path.display().to_string();
            let diff = TextDiff::from_lines(&before, &after);
            Rendering::Diff(diff.unified_diff().header(&shown(path), &shown(&options.object)).to_string())
        }
    })
}

/// The objects for the object in a file, in YAML.
fn text(path: &Path) -> Result<String> {
    let help = "pass a file with one custom resource, or pipe it: `memcached-sdk render -`";
    let shown = path.display();
    let objects = rendered::objects(path, help, "reading the object")?;
    let [object] = objects.as_slice() else {
        return Err(Problem::new(format!("`{shown}` has {} objects", objects.len())).help(help).into());
    };
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(&cargo)
        .args(["test", "--quiet", "--no-fail-fast", "--test", "explore_*", "--", "--test-threads=1"])
        .env(REQUEST, object.to_string())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run `{cargo}`"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let mut answers = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let answer = answers.find(|answer| !answer["rendered"].is_null() || !answer["refused"].is_null());
    let (version, kind) = (&object["apiVersion"], &object["kind"]);
    let Some(answer) = answer else {
        let kind = kind.as_str().unwrap_or_default();
        return Err(if output.status.success() {
            Problem::new(format!("no test in `tests/explore_*.rs` has a sample of the kind `{kind}`"))
                .help("run the command in a project with a controller for the kind; `create api` scaffolds such a test")
        } else {
            Problem::new("the tests that explore the operator failed to run")
                .help("run `cargo test --test 'explore_*'` in the project")
        }
        .into());
    };
    if let Some(reason) = answer["refused"].as_str() {
        let name = &object["metadata"]["name"];
        let what = [version, kind, name].map(|field| field.as_str().unwrap_or_default()).join(" ");
        return Err(Problem::new(format!("cannot render {what}: {reason}")).into());
    }
    Ok(yaml::file(None, answer["rendered"].as_array().map(Vec::as_slice).unwrap_or_default()))
}
