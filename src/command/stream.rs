//! Rendered manifests in, and what is generated of them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::diagnostic::Problem;
use crate::plan::{Draft, RelPath};

/// The documents of a file; `-` is stdin.
pub(super) fn documents(path: &Path) -> Result<Vec<Value>> {
    let documents = serde_yaml::from_multiple(&read(path)?);
    Ok(documents.map_err(|error| Problem::new(format!("`{}` is no YAML: {error}", path.display())))?)
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

/// Puts files below `folder`. Ours are replaced, and removed when their object is gone; `help` is about one that is not ours.
pub(super) fn put(
    draft: &mut Draft,
    folder: &str,
    files: &BTreeMap<String, String>,
    is_generated: fn(&str) -> bool,
    help: &str,
) -> Result<()> {
    let mut kept = BTreeSet::new();
    let inside = |path: &str| if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") };
    for (path, text) in files {
        let path = inside(path);
        let rel = RelPath::new(&path)?;
        if draft.read(&rel)?.is_some_and(|text| !is_generated(&text)) {
            return Err(Problem::new(format!("`{path}` is there and not ours")).help(help).into());
        }
        draft.generate(rel, text);
        kept.insert(path);
    }
    for path in yaml_files(&draft.root().join(folder))? {
        let path = inside(&path);
        let Ok(rel) = RelPath::new(&path) else { continue };
        if !kept.contains(&path) && draft.read(&rel)?.is_some_and(|text| is_generated(&text)) {
            draft.remove(rel);
        }
    }
    Ok(())
}

/// The paths of the YAML files below a folder, sorted.
pub(super) fn yaml_files(folder: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    if !folder.is_dir() {
        return Ok(files);
    }
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.with_context(|| format!("cannot read `{}`", folder.display()))?;
        let is_yaml = entry.path().extension().is_some_and(|extension| extension == "yaml");
        if entry.file_type().is_file()
            && is_yaml
            && let Ok(path) = entry.path().strip_prefix(folder)
        {
            files.push(path.to_string_lossy().replace('\\', "/"));
        }
    }
    Ok(files)
}
