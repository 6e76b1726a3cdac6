//! Rust types from a CRD: the reverse of `generate`.
//!
//! Input: the text of a CRD. Output: one Rust file per version, and a finding for each property that Rust types cannot
//! express. Must stay true: `generate` makes an equal schema of the types, except for these findings. `nullable: false`,
//! and the `anyOf` beside `x-kubernetes-int-or-string`, are equal to their absence. kube makes every status nullable.

use serde_json::{Map, Value};

use crate::diagnostic::Problem;

mod clean;
mod literal;
mod names;
mod resource;
mod shape;
mod structs;

/// A part of a schema, or a whole one.
type SchemaMap = Map<String, Value>;

/// A CRD as Rust types.
#[derive(Debug)]
pub struct CrdTypes {
    /// The API group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// The plural name.
    pub plural: String,
    /// The short names.
    pub short_names: Vec<String>,
    /// True if objects live in namespaces.
    pub namespaced: bool,
    /// The versions, in the order of the CRD.
    pub versions: Vec<VersionTypes>,
}

/// A version of a CRD.
#[derive(Debug, Clone)]
pub struct VersionTypes {
    /// The name, such as `v1alpha1`.
    pub name: String,
    /// True for the version that is stored.
    pub storage: bool,
    /// The Rust file.
    pub text: String,
    /// The parts of the schema that the types cannot express.
    pub findings: Vec<TypesFinding>,
    /// True if the status has a list of conditions and a default.
    pub has_conditions: bool,
    /// The schema of the CRD.
    pub schema: SchemaMap,
}

/// A part of a CRD that Rust types cannot express.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypesFinding {
    /// The property path, such as `spec.ports[]`.
    pub path: String,
    /// The reason, as a sentence whose subject is the path.
    pub message: String,
}

/// Makes types of the CRD in a YAML text. `path` names the text in errors, and `kind` chooses among several CRDs.
///
/// # Errors
///
/// The text is not YAML, or has no single CRD with a schema.
pub fn of_crd(path: &str, text: &str, kind: Option<&str>) -> Result<CrdTypes, Problem> {
    of_value(&read(path, text, kind)?)
}

/// Makes types of a CRD.
pub(crate) fn of_value(crd: &Value) -> Result<CrdTypes, Problem> {
    resource::types(crd)
}

/// Reads the CRD in a YAML text; see [`of_crd`].
pub(crate) fn read(path: &str, text: &str, kind: Option<&str>) -> Result<Value, Problem> {
    let documents: Vec<Value> =
        serde_yaml::from_multiple(text).map_err(|error| Problem::new(crate::yaml::invalid(path, 0, &error)))?;
    chosen(path, documents, kind)
}

/// Leaves only one version in a CRD. Returns false if the CRD does not have it.
pub(crate) fn keep_version(crd: &mut Value, name: &str, storage: bool) -> bool {
    let Some(versions) = crd["spec"]["versions"].as_array_mut() else { return false };
    versions.retain(|version| version["name"] == name);
    for version in &mut *versions {
        version["storage"] = storage.into();
    }
    !versions.is_empty()
}

/// Returns the CRD of the kind among the documents.
fn chosen(path: &str, documents: Vec<Value>, kind: Option<&str>) -> Result<Value, Problem> {
    let lists = documents.into_iter().flat_map(|mut document| match document.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => vec![document],
    });
    let crds: Vec<Value> = lists.filter(|document| document["kind"] == "CustomResourceDefinition").collect();
    let kind_of = |crd: &Value| crd["spec"]["names"]["kind"].as_str().unwrap_or_default().to_owned();
    let kinds: Vec<String> = crds.iter().map(|crd| format!("`{}`", kind_of(crd))).collect();
    let mut wanted: Vec<Value> = crds.into_iter().filter(|crd| kind.is_none_or(|kind| kind_of(crd) == kind)).collect();
    match (wanted.pop(), kind) {
        (Some(crd), _) if wanted.is_empty() => Ok(crd),
        (Some(_), _) => {
            let problem = Problem::new(format!("`{path}` has several CRDs: {}", kinds.join(", ")));
            Err(problem.help("choose one with `--kind`"))
        }
        (None, Some(kind)) if !kinds.is_empty() => {
            let problem = Problem::new(format!("`{path}` has no CRD of the kind `{kind}`"));
            Err(problem.help(format!("its CRDs are {}", kinds.join(", "))))
        }
        (None, _) => {
            let problem =
                Problem::new(format!("`{path}` is not a CRD: no object has the kind `CustomResourceDefinition`"));
            Err(problem.help("print one with `kubectl get crd NAME --output yaml`"))
        }
    }
}

#[cfg(test)]
mod tests;
