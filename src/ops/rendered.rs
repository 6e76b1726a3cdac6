//! Reads rendered manifests and plans the files that are generated from them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::diagnostic::Problem;
use crate::plan::{Draft, RelPath};
use crate::yaml;

/// The help for missing manifests of a project.
pub(crate) const RENDER: &str = "run `make build-installer` first, or pass other manifests with `--manifests`, such as the output of \
                                 `kubectl kustomize config/default`";

/// Reads the documents of a file, or of all YAML files below a folder. `-` is stdin. `help` explains how to create them.
pub(crate) fn documents(path: &Path, help: &str) -> Result<Vec<Value>> {
    let mut all = Vec::new();
    for path in manifests(path)? {
        all.extend(parse(&read(&path, help)?, &path.display().to_string())?);
    }
    Ok(all)
}

/// The file itself, or all YAML files below a folder.
pub(super) fn manifests(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    Ok(yaml_files(path)?.into_iter().map(|name| path.join(name)).collect())
}

fn parse(text: &str, shown: &str) -> Result<Vec<Value>> {
    let documents = serde_yaml::from_multiple::<Value>(text);
    Ok(documents.map_err(|error| Problem::new(yaml::invalid(shown, 0, &error)))?)
}

/// Reads the objects of a stream, including the items of a `List`. `doing` describes the caller's step in errors.
pub(crate) fn objects(path: &Path, help: &str, doing: &str) -> Result<Vec<Value>> {
    objects_of(documents(path, help)?, doing)
}

/// Like [`objects`], for the output of a kustomization. `say` gets the command that renders it.
pub(crate) fn rendered(folder: &Path, help: &str, doing: &str, say: &mut dyn FnMut(&str)) -> Result<Vec<Value>> {
    let shown = folder.display();
    if !folder.join("kustomization.yaml").is_file() {
        return Err(Problem::new(format!("`{shown}` has no `kustomization.yaml`")).help(help).into());
    }
    for (program, verb) in [("kubectl", "kustomize"), ("kustomize", "build")] {
        let output = match Command::new(program).arg(verb).arg(folder).stdin(Stdio::null()).output() {
            Ok(output) => output,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error).with_context(|| format!("cannot run `{program}`")),
        };
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(Problem::new(format!("`{program} {verb} {shown}` failed: {why}")).into());
        }
        say(&format!("rendered: {program} {verb} {shown}"));
        return objects_of(parse(&String::from_utf8_lossy(&output.stdout), &shown.to_string())?, doing);
    }
    let problem = Problem::new(format!("cannot render `{shown}`: neither `kubectl` nor `kustomize` is in PATH"));
    Err(problem
        .help(format!(
            "install one of them, or pipe the rendered manifests: `kubectl kustomize {shown} | memcached-sdk \
                generate bundle`"
        ))
        .into())
}

fn objects_of(documents: Vec<Value>, doing: &str) -> Result<Vec<Value>> {
    let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    let mut objects = Vec::new();
    for document in documents {
        match document["items"].as_array() {
            Some(items) if document["kind"] == "List" => objects.extend(items.iter().cloned()),
            _ => objects.push(document),
        }
    }
    objects.retain(|object| !object.is_null());
    for object in &objects {
        if !is_text(&object["apiVersion"]) || !is_text(&object["kind"]) || !is_text(&object["metadata"]["name"]) {
            let known: String = object.to_string().chars().take(80).collect();
            let message = format!("a document is not an object with `apiVersion`, `kind` and a name: {known}");
            return Err(Problem::new(message)).with_context(|| doing.to_owned());
        }
    }
    Ok(objects)
}

pub(super) fn read(path: &Path, help: &str) -> Result<String> {
    if path == Path::new("-") {
        if std::io::stdin().is_terminal() {
            return Err(Problem::new("there are no manifests on stdin").help(help).into());
        }
        let text = std::io::read_to_string(std::io::stdin()).context("cannot read stdin")?;
        if text.trim().is_empty() {
            return Err(Problem::new("stdin is empty: no manifests were piped in").help(help).into());
        }
        return Ok(text);
    }
    std::fs::read_to_string(path)
        .map_err(|error| Problem::new(format!("cannot read `{}`: {error}", path.display())).help(help).into())
}

/// Plans files below `folder`. Generated files are replaced, and removed when their object is gone. Another file at one of the
/// paths is an error with `help`.
pub(crate) fn put(
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
            return Err(Problem::new(format!("`{path}` exists and was not generated")).help(help).into());
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

/// Lists the YAML files below a folder, sorted by path.
pub(crate) fn yaml_files(folder: &Path) -> Result<Vec<String>> {
    let mut files = files(folder)?;
    files.retain(|path| Path::new(path).extension().is_some_and(|extension| extension == "yaml"));
    Ok(files)
}

/// Lists the files below a folder, sorted by path. A missing folder has no files.
pub(crate) fn files(folder: &Path) -> Result<Vec<String>> {
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
