//! The patches of CRDs that `config/crd/kustomization.yaml` lists: what an author adds to generated CRDs. Reports those that do not
//! fit.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use json_patch::{PatchErrorKind, PatchOperation};
use serde_json::Value;

use crate::crd::Crd;
use crate::crd::structural;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin};
use crate::ops::Findings;
use crate::plan::{Draft, RelPath};
use crate::yaml;

const FOLDER: &str = "config/crd";

/// An entry of `patches` in the kustomization.
struct CrdPatch {
    /// The file that has it, with its text.
    path: String,
    file: String,
    text: String,
    /// The name of the CRD that a JSON patch is for.
    target: Option<String>,
}

/// Applies the JSON patches to the CRDs, in memory, and checks the results. Returns the patched CRDs by their index. Of other
/// patches only the name of the CRD is checked: `kubectl kustomize` merges them.
pub(crate) fn patched(crds: &[Crd], draft: &Draft) -> Result<Findings<BTreeMap<usize, Crd>>> {
    let (mut found, mut patched) = (Diagnostics::default(), BTreeMap::new());
    let kustomization = RelPath::new(format!("{FOLDER}/kustomization.yaml"))?;
    let text = draft.read(&kustomization)?.unwrap_or_default();
    let value: Value = serde_yaml::from_str(&text).unwrap_or_default();
    let others = LazyCell::new(|| others(&value, crds, draft));
    for patch in patches(&value, &text, draft)? {
        for range in yaml::documents(&patch.text) {
            let Ok(document) = serde_yaml::from_str::<Value>(&patch.text[range]) else { continue };
            let name = match &document {
                Value::Array(_) => patch.target.as_deref(),
                object if object["kind"] == "CustomResourceDefinition" => object["metadata"]["name"].as_str(),
                _ => None,
            };
            let Some(name) = name else { continue };
            match crds.iter().position(|crd| crd.value["metadata"]["name"] == name) {
                Some(at) if document.is_array() => {
                    let crd = patched.entry(at).or_insert_with(|| crds[at].clone());
                    found.extend(apply(&patch, &document, name, crd));
                }
                None if others.as_ref().is_some_and(|others| !others.contains(name)) => {
                    let help = "correct the name, or remove the patch";
                    found.push(patch.wrong(&format!("no CRD has the name `{name}`"), name).help(help));
                }
                _ => {}
            }
        }
    }
    for (at, patched) in &patched {
        let before: BTreeSet<String> =
            structural::check(&crds[*at]).iter().map(|found| found.message.clone()).collect();
        for new in structural::check(patched).iter().filter(|found| !before.contains(&found.message)) {
            let message = format!("with the patches of `{kustomization}`: {}", new.message);
            let diagnostic = Diagnostic::new(Code::CrdPatch, message).at(Origin::file(kustomization.as_str()));
            found.push(match &new.help {
                Some(help) => diagnostic.help(help.clone()),
                None => diagnostic,
            });
        }
    }
    Ok(Findings { value: patched, diagnostics: found })
}

/// The names of further CRDs that the kustomization lists. `None` if it lists something that is not a file.
fn others(kustomization: &Value, crds: &[Crd], draft: &Draft) -> Option<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for resource in kustomization["resources"].as_array().into_iter().flatten() {
        let path = resource.as_str()?;
        if crds.iter().any(|crd| path.strip_prefix("bases/") == Some(crd.file_name.as_str())) {
            continue;
        }
        let text = draft.read(&RelPath::new(format!("{FOLDER}/{path}")).ok()?).ok()??;
        for range in yaml::documents(&text) {
            let object: Value = serde_yaml::from_str(&text[range]).ok()?;
            names.extend(object["metadata"]["name"].as_str().map(str::to_owned));
        }
    }
    Some(names)
}

/// The patches of a kustomization with this text.
fn patches(kustomization: &Value, text: &str, draft: &Draft) -> Result<Vec<CrdPatch>> {
    let mut patches = Vec::new();
    for entry in kustomization["patches"].as_array().into_iter().flatten() {
        let target = entry["target"]["name"].as_str().map(str::to_owned);
        if let Some(inline) = entry["patch"].as_str() {
            let path = format!("{FOLDER}/kustomization.yaml");
            patches.push(CrdPatch { path, file: text.to_owned(), text: inline.to_owned(), target });
        } else if let Some(path) = entry["path"].as_str() {
            // Kustomize reports a missing file.
            let path = format!("{FOLDER}/{}", path.trim_start_matches("./"));
            let Some(text) = RelPath::new(path.clone()).ok().map(|path| draft.read(&path)).transpose()?.flatten()
            else {
                continue;
            };
            patches.push(CrdPatch { path, file: text.clone(), text, target });
        }
    }
    Ok(patches)
}

/// Applies the operations of a JSON patch up to the first one that fails.
fn apply(patch: &CrdPatch, document: &Value, name: &str, crd: &mut Crd) -> Diagnostics {
    let mut found = Diagnostics::default();
    for operation in document.as_array().into_iter().flatten() {
        let shown = format!(
            "`{} {}`",
            operation["op"].as_str().unwrap_or_default(),
            operation["path"].as_str().unwrap_or_default()
        );
        let why = match serde_json::from_value::<PatchOperation>(operation.clone()) {
            Err(_) => "it is not an operation of a JSON patch",
            Ok(parsed) => match json_patch::patch(&mut crd.value, &[parsed]) {
                Ok(()) => continue,
                Err(error) => match error.kind {
                    PatchErrorKind::TestFailed => "the CRD has another value there",
                    PatchErrorKind::InvalidFromPointer => "the CRD has nothing at `from`",
                    _ => "the CRD has no such place",
                },
            },
        };
        let place = operation["path"].as_str().unwrap_or_default();
        let help = "adapt the patch to the generated CRD";
        found.push(patch.wrong(&format!("{shown} does not fit `{name}`: {why}"), place).help(help));
        break;
    }
    found
}

impl CrdPatch {
    /// A finding at the first place of the file that has this text.
    fn wrong(&self, message: &str, text: &str) -> Diagnostic {
        let at = self.file.find(text).filter(|_| !text.is_empty());
        let range = at.map_or(0..0, |at| at..at + text.len());
        let origin = Origin { path: self.path.as_str().into(), text: self.file.as_str().into(), range };
        Diagnostic::new(Code::CrdPatch, message.to_owned()).at(origin)
    }
}
