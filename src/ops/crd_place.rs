//! The CRDs at the place that PROJECT records: in a chart, or in a folder of the author.
//!
//! Takes generated CRDs and plans in the draft. Must stay true: in a file that exists only the generated values change, and
//! a file that is not understood is an error.

mod document;
mod lines;

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::Value;

use self::document::{CrdText, Unmatched, escaped, placed};
use super::compare;
use super::manifests::patches;
use crate::crd::{self, Crd};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin};
use crate::plan::{Draft, IfExists, RelPath};
use crate::project::crd_place::{CrdFileNames, CrdPlace};
use crate::yaml;

/// Facts about earlier runs, which `config/crd/bases` has.
#[derive(Default)]
pub(crate) struct PlacedCrds<'a> {
    /// The CRDs that were generated last, by name.
    before: BTreeMap<String, Value>,
    /// The CRDs that are no longer generated.
    gone: Vec<CrdFileNames>,
    /// The header of new files.
    header: Option<&'a str>,
}

impl<'a> PlacedCrds<'a> {
    pub(crate) fn new(header: Option<&'a str>) -> Self {
        Self { header, ..Self::default() }
    }

    /// Adds the text of a CRD that was generated before.
    pub(crate) fn generated_before(&mut self, text: Option<String>) {
        let crd: Option<Value> = text.and_then(|text| serde_yaml::from_str(&text).ok());
        self.before.extend(crd.map(|crd| (names(&crd).crd(), crd)));
    }

    /// Adds the text of a CRD that is no longer generated.
    pub(crate) fn gone(&mut self, text: Option<String>) {
        let crd: Option<Value> = text.and_then(|text| serde_yaml::from_str(&text).ok());
        self.gone.extend(crd.map(|crd| names(&crd)));
    }

    /// Plans the CRDs, with the patches of `config/crd`, at their place.
    pub(crate) fn write(&self, crds: &[Crd], place: &CrdPlace, draft: &mut Draft) -> Result<Diagnostics> {
        let mut found = Diagnostics::default();
        let mut crds = crds.to_vec();
        // `generate` reports patches that do not fit.
        for (at, patched) in patches::patched(&crds, draft)?.value {
            crds[at].value["spec"] = patched.value["spec"].clone();
        }
        let mut files: BTreeMap<RelPath, Vec<&Crd>> = BTreeMap::new();
        for crd in &crds {
            files.entry(place.path(&names(&crd.value))?).or_default().push(crd);
        }
        let missing = missing(draft, &files)?;
        if let ([old], [new]) = (&self.gone[..], &missing[..]) {
            found.extend(rename(draft, place, old, &names(&new.value))?);
        }
        let mut folders = BTreeMap::new();
        for (path, crds) in &files {
            if draft.read(path)?.is_none() {
                let (folder, _) = path.as_str().rsplit_once('/').unwrap_or_default();
                let there = folders.entry(folder).or_insert_with(|| files_by_crd(draft, folder));
                let others = in_other_files(there, path, crds);
                if others.has_errors() {
                    found.extend(others);
                    continue;
                }
                let text = new_text(draft, path, crds, &files, self.header)?;
                draft.generate(path.clone(), text);
                continue;
            }
            found.extend(edit(draft, path, |file| {
                for crd in crds {
                    let name = names(&crd.value).crd();
                    if file.find(&name)?.is_none() {
                        if file.has_actions() {
                            return Err(not_there(&name));
                        }
                        file.append(&crd.value);
                    }
                    file.set(&name, &crd.value, self.before.get(&name).unwrap_or(&Value::Null))?;
                }
                Ok(())
            })?);
        }
        for names in &self.gone {
            found.extend(remove(draft, &place.path(names)?, names)?);
        }
        Ok(found)
    }
}

/// Gives a CRD another name, and its file.
pub(crate) fn rename(
    draft: &mut Draft,
    place: &CrdPlace,
    from: &CrdFileNames,
    to: &CrdFileNames,
) -> Result<Diagnostics> {
    let (old, new) = (place.path(from)?, place.path(to)?);
    let Some(file) = file(draft, &old)?.filter(|file| matches!(file.find(&from.crd()), Ok(Some(_)))) else {
        return Ok(Diagnostics::default());
    };
    if old == new {
        return edit(draft, &old, |file| file.rename(&from.crd(), &to.crd()));
    }
    if file.documents().len() > 1 || draft.read(&new)?.is_some() {
        return remove(draft, &old, from);
    }
    let found = edit(draft, &old, |file| file.rename(&from.crd(), &to.crd()))?;
    relocate(draft, old, new)?;
    Ok(found)
}

/// Moves the CRDs of these kinds to another place. A file goes as it is, if it has no others; `generate` writes the rest.
pub(crate) fn relocate_all(
    draft: &mut Draft,
    from: &CrdPlace,
    to: &CrdPlace,
    kinds: &[CrdFileNames],
) -> Result<Diagnostics> {
    let mut found = Diagnostics::default();
    for names in kinds {
        let (old, new) = (from.path(names)?, to.path(names)?);
        let Some(file) = file(draft, &old)?.filter(|_| old != new) else { continue };
        if !matches!(file.find(&names.crd()), Ok(Some(_))) {
            continue;
        }
        let go = kinds.iter().filter(|names| {
            let is_at = |place: &CrdPlace, path: &RelPath| place.path(names).is_ok_and(|there| there == *path);
            is_at(from, &old) && is_at(to, &new)
        });
        let is_alike = is_template(draft, &old) == is_template(draft, &new);
        if go.count() == file.documents().len() && is_alike && draft.read(&new)?.is_none() {
            relocate(draft, old, new)?;
        } else {
            found.extend(remove(draft, &old, names)?);
        }
    }
    Ok(found)
}

/// The reason why the CRD in a file cannot be kept up to date there.
pub(crate) fn refused(draft: &Draft, place: &CrdPlace, names: &CrdFileNames) -> Result<Option<Diagnostic>> {
    let path = place.path(names)?;
    let Some(mut file) = file(draft, &path)? else { return Ok(None) };
    let refused = file.find(&names.crd()).and_then(|crd| match crd {
        Some(crd) => file.set(&names.crd(), &crd.value, &Value::Null),
        None if file.has_actions() => Err(not_there(&names.crd())),
        None => Ok(()),
    });
    Ok(refused.err().map(|why| finding(&path, &file.text(), why)))
}

/// Returns true if a file has a CRD.
pub(crate) fn has(draft: &Draft, path: &RelPath, crd: &Value) -> Result<bool> {
    Ok(file(draft, path)?.is_some_and(|file| matches!(file.find(&names(crd).crd()), Ok(Some(_)))))
}

fn not_there(name: &str) -> Unmatched {
    let message = format!("the template has no CRD `{name}`");
    let help = "add a document with this `metadata.name` where it belongs; the next run fills in its `spec`";
    Unmatched { line: 0, message, help: help.to_owned() }
}

/// The CRDs without a document at their place.
fn missing<'a>(draft: &Draft, files: &BTreeMap<RelPath, Vec<&'a Crd>>) -> Result<Vec<&'a Crd>> {
    let mut missing = Vec::new();
    for (path, crds) in files {
        let file = file(draft, path)?;
        let is_there =
            |crd: &&&Crd| file.as_ref().is_some_and(|file| !matches!(file.find(&names(&crd.value).crd()), Ok(None)));
        missing.extend(crds.iter().filter(|crd| !is_there(crd)));
    }
    Ok(missing)
}

/// The files of a folder by the names of their CRDs.
fn files_by_crd(draft: &Draft, folder: &str) -> BTreeMap<String, Vec<RelPath>> {
    let mut files: BTreeMap<String, Vec<RelPath>> = BTreeMap::new();
    for entry in std::fs::read_dir(draft.root().join(folder)).into_iter().flatten().flatten() {
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        let Ok(path) = RelPath::new(if folder.is_empty() { name } else { format!("{folder}/{name}") }) else {
            continue;
        };
        if !path.is_yaml() {
            continue;
        }
        // A file of other bytes, or that is not understood, has no CRD of ours.
        let Ok(Some(file)) = file(draft, &path) else { continue };
        for crd in file.crds().unwrap_or_default() {
            files.entry(crd.name()).or_default().push(path.clone());
        }
    }
    files
}

/// Reports CRDs that another file of the folder has already: a cluster or a release cannot have them twice.
fn in_other_files(files: &BTreeMap<String, Vec<RelPath>>, path: &RelPath, crds: &[&Crd]) -> Diagnostics {
    let mut found = Diagnostics::default();
    for name in crds.iter().map(|crd| names(&crd.value).crd()) {
        for other in files.get(&name).into_iter().flatten() {
            let message = format!("`{name}` is in `{other}`, but the place of PROJECT is `{path}`");
            let help = "rename the file, or choose another place with `memcached-sdk edit --crds`";
            found.push(Diagnostic::new(Code::CrdPlace, message).at(Origin::file(other.as_str())).help(help));
        }
    }
    found
}

/// The text of a new file. In a chart it is like that of another kind, with its labels, annotations and switches.
fn new_text(
    draft: &Draft,
    path: &RelPath,
    crds: &[&Crd],
    files: &BTreeMap<RelPath, Vec<&Crd>>,
    header: Option<&str>,
) -> Result<String> {
    let is_template = is_template(draft, path);
    if let ([new], true) = (crds, is_template) {
        for (other, likes) in files {
            let ([like], Some(mut file)) = (&likes[..], file(draft, other)?) else { continue };
            let (from, to) = (names(&like.value).crd(), names(&new.value).crd());
            let is_frame = file.documents().len() == 1 && matches!(file.find(&from), Ok(Some(_)));
            if is_frame
                && file.rename(&from, &to).is_ok()
                && matches!(file.find(&to), Ok(Some(_)))
                && file.set(&to, &new.value, &like.value).is_ok()
            {
                return Ok(file.text());
            }
        }
    }
    let values: Vec<Value> = crds.iter().map(|crd| placed(&crd.value)).collect();
    let text = yaml::file(header, &values);
    Ok(if is_template { escaped(&text) } else { text })
}

/// Removes a CRD, and its file with the last one.
fn remove(draft: &mut Draft, path: &RelPath, names: &CrdFileNames) -> Result<Diagnostics> {
    if draft.read(path)?.is_none() {
        return Ok(Diagnostics::default());
    }
    let mut is_left = true;
    let found = edit(draft, path, |file| {
        is_left = file.remove(&names.crd())?;
        Ok(())
    })?;
    if !is_left {
        draft.remove(path.clone());
    }
    Ok(found)
}

fn relocate(draft: &mut Draft, old: RelPath, new: RelPath) -> Result<()> {
    let text = draft.read(&old)?.unwrap_or_default();
    draft.remove(old);
    draft.scaffold(new, text, IfExists::Refuse);
    Ok(())
}

/// Edits a file in the draft, or reports why it stays.
fn edit(
    draft: &mut Draft,
    path: &RelPath,
    change: impl FnOnce(&mut CrdText) -> Result<(), Unmatched>,
) -> Result<Diagnostics> {
    let is_template = is_template(draft, path);
    let mut refused = None;
    draft.edit(path, |text| {
        let mut file = CrdText::new(text, is_template);
        match change(&mut file) {
            Ok(()) => Ok(file.text()),
            Err(why) => {
                refused = Some(finding(path, text, why));
                Ok(text.to_owned())
            }
        }
    })?;
    Ok(refused.into_iter().collect())
}

fn finding(path: &RelPath, text: &str, why: Unmatched) -> Diagnostic {
    let start = text.split_inclusive('\n').take(why.line).map(str::len).sum();
    let end = start + text[start..].lines().next().unwrap_or_default().len();
    let origin = Origin { path: path.as_str().into(), text: text.into(), range: start..end };
    Diagnostic::new(Code::CrdPlace, why.message).at(origin).help(why.help)
}

fn file(draft: &Draft, path: &RelPath) -> Result<Option<CrdText>> {
    let text = draft.read(path)?;
    Ok(text.map(|text| CrdText::new(&text.replace("\r\n", "\n"), is_template(draft, path))))
}

fn is_template(draft: &Draft, path: &RelPath) -> bool {
    compare::is_template(&path.below(draft.root()))
}

/// The names of a CRD.
pub(crate) fn names(value: &Value) -> CrdFileNames {
    let text = |key: &str| value["spec"]["names"][key].as_str().unwrap_or_default().to_owned();
    CrdFileNames { group: crd::group(value).to_owned(), plural: text("plural"), kind: text("kind") }
}
