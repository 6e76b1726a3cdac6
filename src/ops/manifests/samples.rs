//! The samples of a project in `config/samples`, and the objects in `examples/`. Fills empty samples with the required fields, and
//! reports objects that are not valid.

use std::collections::BTreeSet;
use std::ops::Range;

use anyhow::Result;
use serde_json::{Map, Value};

use crate::crd::sample;
use crate::crd::walk::SchemaPath;
use crate::crd::{self, Crd};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin};
use crate::ops::files_in;
use crate::plan::{Draft, RelPath};
use crate::yaml;

const FOLDER: &str = "config/samples";

/// The folder of further objects, at any depth: the author's, which also holds other files.
const EXAMPLES: &str = "examples";

/// The spec of a sample whose type requires nothing.
const EMPTY: &str = "spec: {}";

/// Fills empty samples, and validates all samples and examples.
pub(crate) fn update(crds: &[Crd], draft: &mut Draft) -> Result<Diagnostics> {
    let mut found = Diagnostics::default();
    for path in files(draft) {
        match draft.read(&path) {
            Ok(Some(text)) if filled(crds, &text) != text => draft.edit(&path, |text| Ok(filled(crds, text)))?,
            Ok(_) => {}
            Err(error) => {
                found.push(Diagnostic::new(Code::InvalidSample, format!("{error:#}")).at(Origin::file(path.as_str())));
                continue;
            }
        }
        let text = draft.read(&path)?.unwrap_or_default();
        for range in yaml::documents(&text) {
            match serde_yaml::from_str(&text[range.clone()]) {
                Ok(object) => found.extend(judge(crds, &path, &text, range, &object).into_iter().collect()),
                Err(error) => {
                    let help = "correct it, or move it to another folder if it is not a sample";
                    let message = format!("the sample is not valid YAML: {}", yaml::reason(&error.to_string()));
                    found.push(wrong(&path, &text, message, range.start..range.start).help(help));
                }
            }
        }
    }
    for path in files_in(draft.root(), &[EXAMPLES]) {
        let path = path?;
        if !path.is_yaml() {
            continue;
        }
        // A file of other bytes, or of templates, has no object to validate.
        let Some(text) = draft.read(&path).ok().flatten() else { continue };
        for range in yaml::documents(&text) {
            if let Ok(object) = serde_yaml::from_str(&text[range.clone()]) {
                found.extend(judge(crds, &path, &text, range, &object).into_iter().collect());
            }
        }
    }
    Ok(found)
}

fn files(draft: &Draft) -> BTreeSet<RelPath> {
    let is_sample = |path: &RelPath| {
        let name = path.as_str().strip_prefix(FOLDER).and_then(|name| name.strip_prefix('/'));
        name.is_some_and(|name| !name.contains('/') && name != "kustomization.yaml" && path.is_yaml())
    };
    let there = std::fs::read_dir(draft.root().join(FOLDER)).into_iter().flatten().flatten();
    let there = there.filter_map(|entry| RelPath::new(format!("{FOLDER}/{}", entry.file_name().to_str()?)).ok());
    there.chain(draft.paths().cloned()).filter(is_sample).collect()
}

/// Returns the text with the required fields in each empty spec.
pub(crate) fn filled(crds: &[Crd], text: &str) -> String {
    let mut filled = text.to_owned();
    // Backwards, so that earlier ranges stay valid.
    for range in yaml::documents(text).into_iter().rev() {
        let document = &text[range.clone()];
        let Ok(object) = serde_yaml::from_str::<Value>(document) else { continue };
        let Some((_, schema)) = schema(crds, &object) else { continue };
        let spec = sample::least(schema).and_then(|mut least| least.remove("spec"));
        let Some(spec) = spec.filter(|spec| spec.as_object().is_some_and(|spec| !spec.is_empty())) else { continue };
        let mut at = range.start;
        for line in document.split_inclusive('\n') {
            if line.trim_end() == EMPTY {
                filled.replace_range(at..at + EMPTY.len(), &block("spec", &spec));
                break;
            }
            at += line.len();
        }
    }
    filled
}

/// Renders a field in block style, without a line feed at the end.
fn block(name: &str, value: &Value) -> String {
    let field = Value::Object(Map::from_iter([(name.to_owned(), value.clone())]));
    yaml::document(&field).trim_end().to_owned()
}

fn wrong(path: &RelPath, text: &str, message: String, range: Range<usize>) -> Diagnostic {
    let origin = Origin { path: path.as_str().into(), text: text.into(), range };
    Diagnostic::new(Code::InvalidSample, message).at(origin)
}

/// Validates the object of a document.
fn judge(crds: &[Crd], path: &RelPath, text: &str, range: Range<usize>, object: &Value) -> Option<Diagnostic> {
    let (name, schema) = schema(crds, object)?;
    let (inner, why) = sample::fits(schema, object).err()?;
    let what = inner.to_string();
    let what = if what.is_empty() { String::new() } else { format!("`{what}` of ") };
    let message = format!("the sample is not valid, {why}: {what}{name}");
    let help = match sample::least(schema) {
        Some(least) if !least.is_empty() => {
            format!("change it; a minimal valid object is\n{}", yaml::document(&Value::Object(least)).trim_end())
        }
        _ => "change it, so that the API server accepts it".to_owned(),
    };
    let place = place(&text[range.clone()], &inner);
    Some(wrong(path, text, message, place.start + range.start..place.end + range.start).help(help))
}

/// Returns the schema of an object and the name of its kind.
fn schema<'a>(crds: &'a [Crd], object: &Value) -> Option<(String, &'a Map<String, Value>)> {
    let (group, version) = object["apiVersion"].as_str()?.split_once('/')?;
    let crd = crds.iter().find(|crd| crd::group(&crd.value) == group && object["kind"] == crd.kind())?;
    let (_, found) = crd.versions().find(|(name, _)| *name == version)?;
    let schema = found.pointer("/schema/openAPIV3Schema").and_then(Value::as_object)?;
    Some((format!("{group}/{version} {}", crd.kind()), schema))
}

/// Returns the range of the innermost key on the path, in a document in block style.
fn place(document: &str, path: &SchemaPath) -> Range<usize> {
    let mut fields = path.fields().peekable();
    let (mut found, mut at) = (0..0, 0);
    // The columns of the last key that was found and of the keys below it.
    let (mut outer, mut inner) = (None, None);
    for line in document.split_inclusive('\n') {
        let body = line.trim();
        let column = line.len() - line.trim_start().len();
        let start = at + column;
        at += line.len();
        if body.is_empty() || body.starts_with('#') || body == "---" {
            continue;
        }
        if outer.is_some_and(|outer| column <= outer) {
            break;
        }
        let inner_column = *inner.get_or_insert(column);
        let Some(field) = fields.peek() else { break };
        let key = body.split(':').next().unwrap_or_default().trim_matches(['"', '\'']);
        if column == inner_column && key == *field {
            found = start..start + body.len();
            (outer, inner) = (Some(column), None);
            fields.next();
        }
    }
    found
}
