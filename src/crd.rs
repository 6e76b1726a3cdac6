//! Builds `CustomResourceDefinition`s from custom resources, one per kind with all its versions.
//!
//! Input: the versions of a package, as [`Api`] or as CRDs of the compiler. Output: [`Crd`]s in [`canonical`] form, and
//! diagnostics for contradictions between versions. Must stay true: a CRD equals the result of `crd()` of the compiled
//! type; only [`fix`] and [`description`] depart from it, on request.

pub mod conversion;
pub mod description;
pub mod fix;
pub mod sample;
pub mod structural;
pub mod walk;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionNames, CustomResourceDefinitionSpec,
    CustomResourceDefinitionVersion, CustomResourceSubresourceScale, CustomResourceSubresourceStatus,
    CustomResourceSubresources, CustomResourceValidation, JSONSchemaProps, SelectableField,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::Version;
use serde_json::{Value, json};

use self::walk::SchemaPath;
use crate::api::{self, Api};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin};
use crate::k8s::kind_name;
use crate::parallel;
use crate::project::crd_names::{self, CrdNames};
use crate::schema::release::ReleaseChange;
use crate::schema::{self, FieldOrigins, SchemaFailure};
use crate::source::SourceTree;

/// A CRD with its file name.
#[derive(Debug, Clone, PartialEq)]
pub struct Crd {
    /// `<group>_<plural>.yaml`.
    pub file_name: String,
    /// The object, in its [`canonical`] form.
    pub value: Value,
    /// Declarations of the versions in the source, by version name.
    pub declared: BTreeMap<String, Declaration>,
}

impl Crd {
    /// The kind.
    pub fn kind(&self) -> &str {
        self.value["spec"]["names"]["kind"].as_str().unwrap_or_default()
    }

    /// Its name as `Kind.group`.
    pub fn name(&self) -> String {
        kind_name(self.kind(), group(&self.value))
    }

    /// The versions with their names.
    pub fn versions(&self) -> impl Iterator<Item = (&str, &Value)> {
        let versions = self.value["spec"]["versions"].as_array().into_iter().flatten();
        versions.map(|version| (version["name"].as_str().unwrap_or_default(), version))
    }

    /// The declaration of the first version.
    pub fn origin(&self) -> Option<&Origin> {
        self.declared.values().next().map(|declared| &declared.origin)
    }

    /// The source place of a part of a version's schema: the field, or else the type.
    pub fn place(&self, version: &str, path: &SchemaPath) -> Option<&Origin> {
        let declared = self.declared.get(version)?;
        declared.origins.find(path.fields()).or(Some(&declared.origin))
    }
}

/// The declaration of a version in the source.
#[derive(Debug, Clone, PartialEq)]
pub struct Declaration {
    /// The place of the type.
    pub origin: Origin,
    /// The places of its fields, as far as the source is understood.
    pub origins: Arc<FieldOrigins>,
    /// The scale subresource in its attributes.
    pub scale: Option<CustomResourceSubresourceScale>,
    /// The type that the derive generates.
    pub root: Option<String>,
}

impl Declaration {
    /// A declaration with only a place.
    pub fn at(origin: Origin) -> Self {
        Self { origin, origins: Arc::default(), scale: None, root: None }
    }
}

impl From<&Api> for Declaration {
    fn from(api: &Api) -> Self {
        let origins = api.schema.as_ref().map(|(graph, root)| schema::field_origins(graph, *root)).unwrap_or_default();
        Self { origin: api.origin.clone(), origins, scale: api.scale.clone(), root: Some(api.root.clone()) }
    }
}

/// A version of a kind: the result of `crd()` of its type.
#[derive(Debug, Clone, PartialEq)]
pub struct CrdDefinition {
    /// The object with a single version, in [`canonical`] form.
    pub value: Value,
    /// The declaration in the source.
    pub declared: Option<Declaration>,
}

impl CrdDefinition {
    fn of(api: &Api) -> Result<Self, Diagnostic> {
        let value = single(api).map_err(|why| why.about(kind_name(&api.kind, &api.group)))?;
        Ok(Self { value, declared: Some(api.into()) })
    }

    /// Splits a CRD into its versions.
    pub fn split(crd: Value, declared: Option<&Declaration>) -> Vec<Self> {
        let crd = canonical(crd);
        let versions = crd["spec"]["versions"].as_array().cloned().unwrap_or_default();
        let alone = |version| {
            let mut value = crd.clone();
            value["spec"]["versions"] = json!([version]);
            Self { value, declared: declared.cloned() }
        };
        versions.into_iter().map(alone).collect()
    }

    /// Group, kind and version.
    pub fn key(&self) -> (&str, &str, &str) {
        (self.text("/spec/group"), self.kind(), self.version())
    }

    /// Its name as `Kind.group`.
    pub fn name(&self) -> String {
        kind_name(self.kind(), self.text("/spec/group"))
    }

    /// The place of the type.
    pub fn origin(&self) -> Option<&Origin> {
        self.declared.as_ref().map(|declared| &declared.origin)
    }

    fn kind(&self) -> &str {
        self.text("/spec/names/kind")
    }

    fn version(&self) -> &str {
        self.text("/spec/versions/0/name")
    }

    fn is_stored(&self) -> bool {
        self.value.pointer("/spec/versions/0/storage").and_then(Value::as_bool) == Some(true)
    }

    fn text(&self, pointer: &str) -> &str {
        self.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }
}

/// All custom resource versions that the package declares. Reads the source on demand and uses all cores. The second
/// diagnostics are those of newly read files.
pub fn read_definitions(tree: &mut SourceTree) -> ((Vec<CrdDefinition>, Diagnostics), Diagnostics) {
    let (answers, (mut diagnostics, syntax)) = parallel::answers(
        |api: Api| CrdDefinition::of(&api),
        |queue| {
            tree.settle(|tree| {
                queue.clear();
                api::each(tree, &mut |api| {
                    // An unsettled answer is discarded and repeated.
                    if tree.is_settled() {
                        queue.push(api);
                    }
                })
            })
        },
    );
    let mut definitions = Vec::new();
    for answer in answers {
        match answer {
            Ok(definition) => definitions.push(definition),
            Err(diagnostic) => diagnostics.push(diagnostic),
        }
    }
    ((definitions, diagnostics), syntax)
}

/// The CRD of a single version in [`canonical`] form: the result of `crd()` of the compiled type.
pub fn single(api: &Api) -> Result<Value, Diagnostic> {
    let value = serde_json::to_value(definition(api)?);
    value.map(canonical).map_err(|error| Diagnostic::new(Code::NotStructural, error.to_string()).at(api.origin.clone()))
}

/// The form for comparing and writing CRDs, without fields that only the API server sets.
pub fn canonical(mut crd: Value) -> Value {
    if let Some(object) = crd.as_object_mut() {
        object.remove("status");
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("creationTimestamp");
        }
    }
    crd
}

/// The API group of a CRD.
pub fn group(crd: &Value) -> &str {
    crd["spec"]["group"].as_str().unwrap_or_default()
}

/// Returns true if the group is this domain or a subdomain.
pub(crate) fn is_below(group: &str, domain: &str) -> bool {
    group == domain || group.ends_with(&format!(".{domain}"))
}

/// Domains whose subdomains have different owners.
const SHARED_DOMAINS: [&str; 5] = ["github.io", "gitlab.io", "k8s.io", "kubernetes.io", "x-k8s.io"];

/// Returns true if the owner of this domain owns the group. Subdomains of a shared domain do not count.
pub(crate) fn is_owned(group: &str, domain: &str) -> bool {
    group == domain || (is_below(group, domain) && !SHARED_DOMAINS.contains(&domain))
}

/// Returns true if two groups have the same owner: one is below the other, or both are below the same domain.
pub(crate) fn is_related(one: &str, other: &str) -> bool {
    let siblings = one.split_once('.').zip(other.split_once('.')).is_some_and(|((_, domain), (_, same))| {
        domain == same && domain.contains('.') && !SHARED_DOMAINS.contains(&domain)
    });
    siblings || is_owned(one, other) || is_owned(other, one)
}

/// The file name of a CRD: `cache.example.com_memcacheds.yaml`.
pub fn file_name(crd: &Value) -> String {
    format!("{}_{}.yaml", group(crd), crd["spec"]["names"]["plural"].as_str().unwrap_or_default())
}

/// Merges versions into a CRD per kind, ordered by file name.
pub fn merge(definitions: Vec<CrdDefinition>) -> (Vec<Crd>, Diagnostics) {
    let mut kinds: BTreeMap<(String, String), Vec<CrdDefinition>> = BTreeMap::new();
    for definition in definitions {
        let (group, kind, _) = definition.key();
        kinds.entry((group.to_owned(), kind.to_owned())).or_default().push(definition);
    }
    let mut diagnostics = Diagnostics::default();
    let mut crds: Vec<Crd> = Vec::new();
    for ((group, kind), versions) in kinds {
        let name = kind_name(&kind, &group);
        let contradictions = contradictions(&versions);
        if contradictions.is_empty() {
            crds.extend(one(versions));
        }
        diagnostics.extend(contradictions.about(&name));
    }
    crds.sort_by(|a, b| a.file_name.cmp(&b.file_name));
    for pair in crds.windows(2).filter(|pair| pair[0].file_name == pair[1].file_name) {
        let message = format!("two kinds have the same plural as `{}`", pair[0].file_name);
        let found =
            Diagnostic::new(Code::VersionConflict, message).help("set another `plural` in `#[kube(…)]` of one of them");
        diagnostics.push(found.about(pair[0].name()).about(pair[1].name()));
    }
    diagnostics.sort();
    (crds, diagnostics)
}

/// CRDs that two packages declare.
pub fn repeated(crds: &[Crd]) -> Diagnostics {
    let mut found = Diagnostics::default();
    let mut firsts = BTreeMap::new();
    for crd in crds {
        let first = match firsts.entry(&crd.file_name) {
            Entry::Vacant(entry) => {
                entry.insert(crd);
                continue;
            }
            Entry::Occupied(first) => *first.get(),
        };
        let message = format!("two packages declare the CRD of `{}`{}", crd.file_name, first_in(first.origin()));
        found.push(
            Diagnostic::new(Code::DuplicateResource, message)
                .at(crd.origin().cloned())
                .help("keep the types of a kind in one package, or choose packages with `--package`")
                .about(first.name())
                .about(crd.name()),
        );
    }
    found
}

/// CRDs of the same group with a common name, such as a list kind.
pub fn clashes(crds: &[Crd]) -> Diagnostics {
    let names: Vec<CrdNames> = crds.iter().map(|crd| CrdNames::of(&crd.value)).collect();
    let clashes = crd_names::clashes(&names).into_iter();
    let clashes = clashes.map(|(crd, first, name)| (&crds[crd], &crds[first], name));
    // A CRD in two packages is a separate error.
    let different = clashes.filter(|(crd, first, _)| crd.file_name != first.file_name);
    let finding = |(crd, first, name): (&Crd, &Crd, &str)| {
        let message = format!(
            "`{}` and `{}` share the name `{name}`; the API server accepts it for one of them only{}",
            crd.name(),
            first.name(),
            first_in(first.origin())
        );
        Diagnostic::new(Code::InvalidName, message)
            .at(crd.origin().cloned())
            .help("kind, list kind, plural, singular and short names must be unique within a group")
            .about(first.name())
            .about(crd.name())
    };
    different.map(finding).collect()
}

/// The end of a sentence with the place of the first occurrence.
fn first_in(origin: Option<&Origin>) -> String {
    origin
        .map_or_else(String::new, |origin| format!(", the first in {} on line {}", origin.path, origin.line_column().0))
}

fn contradictions(versions: &[CrdDefinition]) -> Diagnostics {
    let mut found = Diagnostics::default();
    let kind = versions[0].kind();
    for (index, definition) in versions.iter().enumerate() {
        if let Some(first) = versions[..index].iter().find(|other| other.version() == definition.version()) {
            let message =
                format!("`{kind}` has the version `{}` twice{}", definition.version(), first_in(first.origin()));
            found.push(
                Diagnostic::new(Code::DuplicateResource, message)
                    .at(definition.origin().cloned())
                    .help("set another `version` or `kind` in `#[kube(…)]` of one of them"),
            );
        }
    }
    let first = &versions[0];
    for other in &versions[1..] {
        for (what, pointer) in
            [("plural", "/spec/names/plural"), ("singular", "/spec/names/singular"), ("scope", "/spec/scope")]
        {
            let (here, there) = (first.text(pointer), other.text(pointer));
            if here != there {
                let message = format!(
                    "the {what} of `{kind}` is `{here}` in `{}` but `{there}` in `{}`",
                    first.version(),
                    other.version()
                );
                found.push(
                    Diagnostic::new(Code::VersionConflict, message)
                        .at(other.origin().cloned())
                        .help("all versions of a kind must have the same names and scope"),
                );
            }
        }
    }
    let stored: Vec<&str> = versions.iter().filter(|one| one.is_stored()).map(CrdDefinition::version).collect();
    let (message, help) = match stored.as_slice() {
        [_] => return found,
        [] => (format!("`{kind}` has no storage version"), "remove `storage = false` from one version"),
        stored => (
            format!("`{kind}` has {} storage versions: `{}`", stored.len(), stored.join("`, `")),
            "add `storage = false` to `#[kube(…)]` of all versions except one",
        ),
    };
    let at = versions.iter().rev().find(|one| one.is_stored()).unwrap_or(first);
    found.push(Diagnostic::new(Code::StorageVersion, message).at(at.origin().cloned()).help(help));
    found
}

/// Merges versions: names and metadata of the stored version, versions by their priority in the API server.
fn one(mut versions: Vec<CrdDefinition>) -> Option<Crd> {
    versions.sort_by_key(|one| Reverse(Version::parse(one.version()).priority()));
    let stored = versions.iter().find(|one| one.is_stored())?;
    let mut value = stored.value.clone();
    let file_name = file_name(&value);
    let declared = versions.iter().filter_map(|one| Some((one.version().to_owned(), one.declared.clone()?))).collect();
    value["spec"]["versions"] = versions.into_iter().map(|mut one| one.value["spec"]["versions"][0].take()).collect();
    Some(Crd { file_name, value, declared })
}

/// The CRD of a version, as the derive builds it.
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
                categories: some(api, &api.categories),
                kind: api.kind.clone(),
                plural: api.plural.clone(),
                short_names: some(api, &api.short_names),
                singular: Some(api.singular.clone()),
                ..CustomResourceDefinitionNames::default()
            },
            scope: if api.namespaced { "Namespaced" } else { "Cluster" }.to_owned(),
            versions: vec![version(api, schema)],
            ..CustomResourceDefinitionSpec::default()
        },
        ..CustomResourceDefinition::default()
    })
}

/// Since [`ReleaseChange::AbsentLists`], an empty list is absent.
fn some<T: Clone>(api: &Api, list: &[T]) -> Option<Vec<T>> {
    (!list.is_empty() || !api.releases.has(ReleaseChange::AbsentLists)).then(|| list.to_vec())
}

fn version(api: &Api, schema: Option<JSONSchemaProps>) -> CustomResourceDefinitionVersion {
    let selectable: Vec<_> = api.selectable.iter().map(|path| SelectableField { json_path: path.clone() }).collect();
    // kube writes a scale subresource only beside a status.
    let subresources = api.status.then(|| CustomResourceSubresources {
        scale: api.scale.clone(),
        status: Some(CustomResourceSubresourceStatus(json!({}))),
    });
    CustomResourceDefinitionVersion {
        additional_printer_columns: some(api, &api.columns),
        deprecated: api.deprecated.then_some(true),
        deprecation_warning: api.deprecation_warning.clone(),
        name: api.version.clone(),
        schema: Some(CustomResourceValidation { open_api_v3_schema: schema }),
        selectable_fields: (!selectable.is_empty()).then_some(selectable),
        served: api.served,
        storage: api.storage,
        subresources: match subresources {
            None if !api.releases.has(ReleaseChange::AbsentLists) => Some(CustomResourceSubresources::default()),
            subresources => subresources,
        },
    }
}

fn explain(api: &Api, failure: &SchemaFailure) -> Diagnostic {
    let culprit = match failure {
        SchemaFailure::NotStructural { culprit, .. } => *culprit,
        SchemaFailure::NotProps(_) | SchemaFailure::Recursive | SchemaFailure::TooLarge => None,
    };
    let declared = api.types.iter().find(|(id, ..)| Some(*id) == culprit);
    let (name, origin) = declared.map_or((&api.kind, &api.origin), |(_, name, origin)| (name, origin));
    let diagnostic = match failure {
        SchemaFailure::NotStructural { panic, .. } => {
            let (why, help) = reason(panic)
                .unwrap_or((format!("`{panic}`"), "change the type, or describe it with `#[schemars(with = \"…\")]`"));
            Diagnostic::new(Code::NotStructural, format!("kube cannot build a structural schema for `{name}`: {why}"))
                .help(help)
        }
        SchemaFailure::NotProps(error) => Diagnostic::new(
            Code::NotStructural,
            format!("the schema of `{name}` is not a valid OpenAPI v3 schema for a CRD: {error}"),
        )
        .help("check the values of `extend(…)`: one of them has the wrong type"),
        SchemaFailure::Recursive => Diagnostic::new(
            Code::RecursiveType,
            format!("the schema of `{name}` is recursive, which a CRD cannot express"),
        )
        .help(
            "give types of one module different names, also those of `rename`, which schemars takes for the same type \
             inside of each other; describe a type inside of itself with `#[schemars(with = \"serde_json::Value\")]`",
        ),
        SchemaFailure::TooLarge => Diagnostic::new(
            Code::SchemaSize,
            format!("the schema of `{name}` is too large for the API server: each use of a type is written in full"),
        )
        .help("describe an inner value with `#[schemars(with = \"serde_json::Value\")]`"),
    };
    diagnostic.at(origin.clone())
}

/// The reason for a panic of kube's schema rewriter and a help text; `None` for other panics.
pub fn reason(panic: &str) -> Option<(String, &'static str)> {
    if panic.starts_with("Property") {
        let property = panic.split('"').nth(1).unwrap_or_default();
        return Some((
            format!("its variants give the property `{property}` different schemas"),
            "leave the enum externally tagged (no `tag = …`), and give equal fields of its variants equal types",
        ));
    }
    (panic.starts_with("Enum variant set") || panic.starts_with("variant defined type"))
        .then(|| ("its variants have different types".to_owned(), "use only unit variants, or only variants with data"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_below_a_shared_domain_have_different_owners() {
        for (one, other, related) in [
            ("a.example.com", "b.example.com", true),
            ("example.com", "b.example.com", true),
            ("a.example.com", "b.a.example.com", true),
            ("a.com", "b.com", false),
            ("a.x-k8s.io", "b.x-k8s.io", false),
            ("a.k8s.io", "b.k8s.io", false),
            ("a.networking.x-k8s.io", "networking.x-k8s.io", true),
            ("x-k8s.io", "a.x-k8s.io", false),
            ("me.github.io", "you.github.io", false),
        ] {
            assert_eq!((is_related(one, other), is_related(other, one)), (related, related), "{one} {other}");
        }
        assert!(is_owned("a.example.com", "example.com") && is_owned("x-k8s.io", "x-k8s.io"));
        assert!(!is_owned("a.x-k8s.io", "x-k8s.io"));
    }
}
