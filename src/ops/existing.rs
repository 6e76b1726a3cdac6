//! Existing crates. `init` makes a project of an operator without changing its files; other crates are refused.

use std::path::Path;

use anyhow::Result;

use super::elsewhere::uses_kube;
use super::shown_folder;
use crate::diagnostic::Problem;
use crate::plan::{Draft, RECORD, RelPath};
use crate::project::Project;
use crate::runtime;
use crate::source::{CargoManifest, clean, members, read_file, rust_files};

/// Lines that `cargo new` writes to `src/main.rs` and `src/lib.rs`.
const OF_CARGO: [&str; 2] = ["println!(\"Hello, world!\");", "pub fn add(left: u64, right: u64) -> u64 {"];

/// Returns true for the crate of an operator that was not scaffolded, also after `init` has made a project of it.
pub(crate) fn is_adoptable(root: &Path) -> Result<bool> {
    let draft = Draft::open(root);
    if let Some(record) = draft.read(&RelPath::new(RECORD)?)? {
        return Ok(Project::parse(&record).is_ok_and(|project| project.is_adopted()));
    }
    if draft.read(&RelPath::new("Cargo.toml")?)?.is_some_and(|text| text.contains(runtime::PACKAGE)) {
        return Ok(false);
    }
    Ok(CargoManifest::of(root).is_some_and(|own| is_operator(&own)))
}

/// Returns true if the package depends on kube, or names its derive, which another crate may export.
fn is_operator(own: &CargoManifest) -> bool {
    let derives = |path: &std::path::PathBuf| read_file(path).is_ok_and(|text| text.contains("CustomResource"));
    uses_kube(own) || rust_files(vec![own.dir.join("src")], |_, _| false).iter().any(derives)
}

/// Refuses a folder with sources that do not belong to a project, with any flags.
pub(crate) fn refuse(root: &Path) -> Result<()> {
    let draft = Draft::open(root);
    let read = |path: &str| draft.read(&RelPath::new(path)?);
    if read(RECORD)?.is_some() {
        return Ok(());
    }
    let manifest = read("Cargo.toml")?;
    if manifest.as_deref().is_some_and(|text| text.contains(runtime::PACKAGE)) {
        // An earlier run was interrupted before it wrote `PROJECT`.
        return Ok(());
    }
    let mut sources = Vec::new();
    for path in ["src/main.rs", "src/lib.rs", "build.rs"] {
        if read(path)?.is_some_and(|text| !OF_CARGO.iter().any(|mark| text.contains(mark)) || text.lines().count() > 20)
        {
            sources.push(path);
        }
    }
    let folder = shown_folder(root);
    let new = "create the project in a separate folder: `memcached-sdk init FOLDER`";
    let problem = match (manifest, sources.first()) {
        (None, None) => return Ok(()),
        (None, Some(path)) => Problem::new(format!("`{folder}` already contains sources: `{path}`")).help(new),
        (Some(_), _) => match CargoManifest::of(root) {
            None => {
                let problem = Problem::new(format!("`{folder}` has a `Cargo.toml` that is not one of a package"));
                problem.help(match operators(root).as_slice() {
                    [] => new.to_owned(),
                    found => format!("run it in the folder of an operator: {}; or {new}", found.join(", ")),
                })
            }
            Some(own) if own.dependencies.is_empty() && sources.is_empty() => return Ok(()),
            Some(own) => {
                let problem = Problem::new(format!("`{folder}` already contains a crate: `{}`", own.name));
                problem.help(if is_operator(&own) { format!("{ADOPT}, or {new}") } else { new.to_owned() })
            }
        },
    };
    Err(problem.into())
}

/// The help for an operator that was not scaffolded.
const ADOPT: &str = "run `memcached-sdk init` in it, which makes a project of the crate and changes none of its files";

/// The folders of the members of a workspace that are operators.
fn operators(root: &Path) -> Vec<String> {
    let Ok(root) = std::path::absolute(root).map(|root| clean(&root)) else { return Vec::new() };
    let members = members(&root, None).unwrap_or_default();
    let operators = members.iter().filter(|member| CargoManifest::of(&member.dir).is_some_and(|own| uses_kube(&own)));
    let folder = |dir: &Path| dir.strip_prefix(&root).unwrap_or(dir).display().to_string().replace('\\', "/");
    operators.map(|member| format!("`memcached-sdk init {}`", folder(&member.dir))).collect()
}
