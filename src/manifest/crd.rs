//! Custom resources → `CustomResourceDefinition`s, one per kind with all its versions.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition, CustomResourceDefinitionNames,
    CustomResourceDefinitionSpec, CustomResourceDefinitionVersion, CustomResourceSubresourceScale,
    CustomResourceSubresourceStatus, CustomResourceSubresources, CustomResourceValidation, JSONSchemaProps,
    SelectableField,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::Version;
use serde_json::{Value, json};

use crate::api::{self, Api};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::schema::{self, Failure};
use crate::source::SourceTree;

/// A CRD and the name of its file.
#[derive(Debug, Clone, PartialEq)]
pub struct Crd {
    /// `<group>_<plural>.yaml`.
    pub file_name: String,
    /// The object, in its [`canonical`] form.
    pub value: Value,
}

/// The CRDs of a package, by file name.
pub fn crds(tree: &SourceTree) -> (Vec<Crd>, Diagnostics) {
    let (apis, mut diagnostics) = api::all(tree);
    let mut kinds: BTreeMap<(&str, &str), Vec<&Api>> = BTreeMap::new();
    for api in &apis {
        kinds.entry((&api.group, &api.kind)).or_default().push(api);
    }
    let mut crds = Vec::new();
    for versions in kinds.into_values() {
        let contradictions = contradictions(&versions);
        let mut definitions = Vec::new();
        for api in &versions {
            match definition(api) {
                Ok(definition) => definitions.push(definition),
                Err(diagnostic) => diagnostics.push(diagnostic),
            }
        }
        if contradictions.is_empty() && definitions.len() == versions.len() {
            crds.extend(merge(definitions));
        }
        diagnostics.extend(contradictions);
    }
    for (index, crd) in crds.iter().enumerate() {
        if crds[..index].iter().any(|other: &Crd| other.file_name == crd.file_name) {
            let message = format!("two kinds have the plural of `{}`", crd.file_name);
            diagnostics.push(Diagnostic::new(Code::VersionConflict, message).help("give one of them another `plural`"));
        }
    }
    crds.sort_by(|a, b| a.file_name.cmp(&b.file_name));
    diagnostics.sort();
    (crds, diagnostics)
}

/// The CRD of one version alone: what `crd()` of the compiled type returns, in [`canonical`] form.
pub fn single(api: &Api) -> Result<Value, Diagnostic> {
    let value = serde_json::to_value(definition(api)?);
    value.map(canonical).map_err(|error| Diagnostic::new(Code::NotStructural, error.to_string()).at(api.origin.clone()))
}

/// The form in which CRDs are compared and written: without what only the API server fills in.
pub fn canonical(mut crd: Value) -> Value {
    if let Some(object) = crd.as_object_mut() {
        object.remove("status");
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("creationTimestamp");
        }
    }
    crd
}

/// Why versions of one kind can't be one CRD.
fn contradictions(versions: &[&Api]) -> Diagnostics {
    let mut found = Diagnostics::default();
    let kind = &versions[0].kind;
    for (index, api) in versions.iter().enumerate() {
        if let Some(first) = versions[..index].iter().find(|other| other.version == api.version) {
            let place = first.origin.line_column().0;
            let message = format!(
                "`{kind}` has the version `{}` twice, the first in {} on line {place}",
                api.version, first.origin.path
            );
            found.push(
                Diagnostic::new(Code::DuplicateResource, message)
                    .at(api.origin.clone())
                    .help("give one of them another version or kind"),
            );
        }
    }
    let first = versions[0];
    for api in &versions[1..] {
        for (what, one, other) in [
            ("plural", first.plural.as_str(), api.plural.as_str()),
            ("singular", &first.singular, &api.singular),
            ("scope", scope(first), scope(api)),
        ] {
            if one != other {
                let message = format!(
                    "the {what} of `{kind}` is `{one}` in `{}` but `{other}` in `{}`",
                    first.version, api.version
                );
                found.push(
                    Diagnostic::new(Code::VersionConflict, message)
                        .at(api.origin.clone())
                        .help("all versions of a kind share their names and scope"),
                );
            }
        }
    }
    let stored: Vec<&str> = versions.iter().filter(|api| api.storage).map(|api| api.version.as_str()).collect();
    let (message, help) = match stored.as_slice() {
        [_] => return found,
        [] => (format!("no version of `{kind}` is stored"), "remove `storage = false` from one version"),
        stored => (
            format!("`{kind}` stores {} versions: `{}`", stored.len(), stored.join("`, `")),
            "add `storage = false` to `#[kube(…)]` of all versions but one",
        ),
    };
    let at = versions.iter().rev().find(|api| api.storage).unwrap_or(&first);
    found.push(Diagnostic::new(Code::StorageVersion, message).at(at.origin.clone()).help(help));
    found
}

fn scope(api: &Api) -> &'static str {
    if api.namespaced { "Namespaced" } else { "Cluster" }
}

/// One CRD of many: names and metadata of the stored version, versions by their priority in the API server.
fn merge(mut definitions: Vec<CustomResourceDefinition>) -> Option<Crd> {
    let stored = definitions.iter().position(|crd| crd.spec.versions.iter().any(|version| version.storage))?;
    let mut crd = definitions.swap_remove(stored);
    crd.spec.versions.extend(definitions.into_iter().flat_map(|other| other.spec.versions));
    crd.spec.versions.sort_by_key(|version| Reverse(Version::parse(&version.name).priority()));
    let file_name = format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural);
    let value = serde_json::to_value(&crd).ok()?;
    Some(Crd { file_name, value: canonical(value) })
}

/// The CRD of one version, as the derive puts it together.
fn definition(api: &Api) -> Result<CustomResourceDefinition, Diagnostic> {
    let schema = match &api.schema {
        Some((graph, root)) => Some(schema::root(graph, *root).map_err(|failure| explain(api, &failure))?),
        None => None,
    };
    let pairs = |pairs: &[(String, String)]| {
        (!pairs.is_empty()).then(|| pairs.iter().cloned().collect::<BTreeMap<String, String>>())
    };
    Ok(CustomResourceDefinition {
        metadata: ObjectMeta {
            annotations: pairs(&api.annotations),
            labels: pairs(&api.labels),
            name: Some(format!("{}.{}", api.plural, api.group)),
            ..ObjectMeta::default()
        },
        spec: CustomResourceDefinitionSpec {
            group: api.group.clone(),
            names: CustomResourceDefinitionNames {
                categories: some(&api.categories),
                kind: api.kind.clone(),
                plural: api.plural.clone(),
                short_names: some(&api.short_names),
                singular: Some(api.singular.clone()),
                ..CustomResourceDefinitionNames::default()
            },
            scope: scope(api).to_owned(),
            versions: vec![version(api, schema)],
            ..CustomResourceDefinitionSpec::default()
        },
        ..CustomResourceDefinition::default()
    })
}

fn some<T: Clone>(list: &[T]) -> Option<Vec<T>> {
    (!list.is_empty()).then(|| list.to_vec())
}

fn version(api: &Api, schema: Option<JSONSchemaProps>) -> CustomResourceDefinitionVersion {
    let columns = api.columns.iter().map(|column| CustomResourceColumnDefinition {
        description: column.description.clone(),
        format: column.format.clone(),
        json_path: column.json_path.clone(),
        name: column.name.clone(),
        priority: column.priority,
        type_: column.type_.clone(),
    });
    let selectable = api.selectable.iter().map(|path| SelectableField { json_path: path.clone() });
    CustomResourceDefinitionVersion {
        additional_printer_columns: some(&columns.collect::<Vec<_>>()),
        deprecated: api.deprecated.is_some().then_some(true),
        deprecation_warning: api.deprecated.clone().flatten(),
        name: api.version.clone(),
        schema: Some(CustomResourceValidation { open_api_v3_schema: schema }),
        selectable_fields: some(&selectable.collect::<Vec<_>>()),
        served: api.served,
        storage: api.storage,
        // kube writes a scale subresource only beside a status.
        subresources: api.status.then(|| CustomResourceSubresources {
            scale: api.scale.as_ref().map(|scale| CustomResourceSubresourceScale {
                label_selector_path: scale.label_selector_path.clone(),
                spec_replicas_path: scale.spec_replicas_path.clone(),
                status_replicas_path: scale.status_replicas_path.clone(),
            }),
            status: Some(CustomResourceSubresourceStatus(json!({}))),
        }),
    }
}

/// A failure of the linked crates in words.
fn explain(api: &Api, failure: &Failure) -> Diagnostic {
    let culprit = match failure {
        Failure::NotStructural { culprit, .. } => *culprit,
        Failure::NotProps(_) | Failure::Recursive => None,
    };
    let declared = api.types.iter().find(|(id, ..)| Some(*id) == culprit);
    let (name, origin) = declared.map_or((&api.kind, &api.origin), |(_, name, origin)| (name, origin));
    let diagnostic = match failure {
        Failure::NotStructural { panic, .. } => {
            let (why, help) = reason(panic);
            Diagnostic::new(Code::NotStructural, format!("kube can't make a structural schema of `{name}`: {why}"))
                .help(help)
        }
        Failure::NotProps(error) => Diagnostic::new(
            Code::NotStructural,
            format!("the schema of `{name}` is no OpenAPI schema of a CRD: {error}"),
        )
        .help("look for an `extend(…)` whose value has the wrong type"),
        Failure::Recursive => Diagnostic::new(
            Code::RecursiveType,
            format!("the schema of `{name}` refers to itself, which no CRD can express"),
        )
        .help("describe the inner value with `#[schemars(with = \"serde_json::Value\")]`"),
    };
    diagnostic.at(origin.clone())
}

/// The panics of the rewriter, by their words.
fn reason(panic: &str) -> (String, &'static str) {
    if panic.starts_with("Property") {
        let property = panic.split('"').nth(1).unwrap_or_default();
        return (
            format!("its variants give the property `{property}` different schemas"),
            "leave the enum externally tagged (no `tag = …`), and give equal fields of its variants equal types",
        );
    }
    if panic.starts_with("Enum variant set") || panic.starts_with("variant defined type") {
        return (
            "its variants are of different types".to_owned(),
            "use only unit variants, or only variants with data",
        );
    }
    (format!("`{panic}`"), "change the type, or describe it with `#[schemars(with = \"…\")]`")
}
