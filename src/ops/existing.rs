//! Existing crates. `init` and `new` create a project of their own and never replace a crate.

use std::path::Path;

use anyhow::Result;

use super::elsewhere::uses_kube;
use super::shown_folder;
use crate::diagnostic::Problem;
use crate::plan::{Draft, RECORD, RelPath};
use crate::runtime;
use crate::source::CargoManifest;

/// Lines that `cargo new` writes to `src/main.rs` and `src/lib.rs`.
const OF_CARGO: [&str; 2] = ["println!(\"Hello, world!\");", "pub fn add(left: u64, right: u64) -> u64 {"];

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
            None => Problem::new(format!("`{folder}` has a `Cargo.toml` that is not one of a package")).help(new),
            Some(own) if own.dependencies.is_empty() && sources.is_empty() => return Ok(()),
            Some(own) => {
                let problem = Problem::new(format!("`{folder}` already contains a crate: `{}`", own.name));
                problem.help(if uses_kube(&own) { format!("{WORKS}, {new}") } else { new.to_owned() })
            }
        },
    };
    Err(problem.into())
}

/// The help for an operator that was not scaffolded: the commands that work in it.
const WORKS: &str = "these work in it as it is, without a project: `memcached-sdk generate` writes CRDs and roles into `config/`, \
                     `memcached-sdk rbac derive` prints the permissions that the code uses, `memcached-sdk rbac lint --fix` adds \
                     them as markers, and of rendered manifests `memcached-sdk generate helm --manifests FILE` makes a chart and \
                     `memcached-sdk generate bundle --manifests FILE --package NAME` a bundle. For a new operator";
