//! Rendered manifests in, and what is generated of them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::diagnostic::Problem;
use crate::plan::{Draft, RelPath};

/// How to make manifests of a project.
pub(super) const RENDER: &str = "run `make build-installer` first, or name other manifests with `--manifests`";

/// The documents of a file, or of all YAML files below a folder; `-` is stdin. `help` says how to make them.
pub(super) fn documents(path: &Path, help: &str) -> Result<Vec<Value>> {
    let paths = if path.is_dir() {
        yaml_files(path)?.into_iter().map(|name| path.join(name)).collect()
    } else {
        vec![path.to_path_buf()]
    };
    let mut all = Vec::new();
    for path in paths {
        let documents = serde_yaml::from_multiple::<Value>(&read(&path, help)?);
        all.extend(documents.map_err(|error| Problem::new(format!("`{}` is no YAML: {error}", path.display())))?);
    }
    Ok(all)
}

/// The objects of a stream, those of a `List` among them. `doing` is what they are for.
pub(super) fn objects(path: &Path, help: &str, doing: &str) -> Result<Vec<Value>> {
    let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    let mut objects = Vec::new();
    for document in documents(path, help)? {
        match document["items"].as_array() {
            Some(items) if document["kind"] == "List" => objects.extend(items.iter().cloned()),
            _ => objects.push(document),
        }
    }
    objects.retain(|object| !object.is_null());
    for object in &objects {
        if !is_text(&object["apiVersion"]) || !is_text(&object["kind"]) || !is_text(&object["metadata"]["name"]) {
            let known: String = object.to_string().chars().take(80).collect();
            let message = format!("a document is no object with `apiVersion`, `kind` and a name: {known}");
            return Err(Problem::new(message)).with_context(|| doing.to_owned());
        }
    }
    Ok(objects)
}

fn read(path: &Path, help: &str) -> Result<String> {
    if path == Path::new("-") {
        if std::io::stdin().is_terminal() {
            return Err(Problem::new("there are no manifests on stdin").help(help).into());
        }
        return std::io::read_to_string(std::io::stdin()).context("cannot read stdin");
    }
    std::fs::read_to_string(path)
        .map_err(|error| Problem::new(format!("cannot read `{}`: {error}", path.display())).help(help).into())
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
    let mut files = files(folder)?;
    files.retain(|path| Path::new(path).extension().is_some_and(|extension| extension == "yaml"));
    Ok(files)
}

/// The paths of the files below a folder, sorted; none without the folder.
pub(super) fn files(folder: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    if !folder.is_dir() {
        return Ok(files);
    }
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.with_context(|| format!("cannot read `{}`", folder.display()))?;
        if entry.file_type().is_file()
            && let Ok(path) = entry.path().strip_prefix(folder)
        {
            files.push(path.to_string_lossy().replace('\\', "/"));
        }
    }
    Ok(files)
}
