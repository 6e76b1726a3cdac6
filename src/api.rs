//! One version of a custom resource as we understand it: `#[kube(…)]` and the types behind spec and status.

mod attribute;
mod block;
mod bound;
mod call;
mod conform;
mod container;
mod default_of;
mod dependency;
mod hidden;
mod item_impl;
mod json;
mod kube_attr;
mod kube_schema;
mod macros;
mod maker;
mod meta;
mod method;
mod number;
mod outside;
mod predicate;
mod rule;
mod schema_code;
mod schema_id;
mod schemars_attr;
mod serde_type;
mod std_value;
mod types;
mod value;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use darling::FromDeriveInput as _;
use darling::util::Override;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceColumnDefinition;
use proc_macro2::TokenTree;
use quote::ToTokens;
use semver::Version;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Data, DeriveInput, Fields, Item, Meta as SynMeta, Token};

use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin};
use crate::schema::known;
use crate::schema::release::{Change, Releases};
use crate::schema::{Constraints, Container, Field, Graph, Meta, Shape, TypeId, Unknown, Validated};
use crate::source::{ItemRef, SourceTree};

use hidden::Hidden;
use kube_attr::{KubeAttrs, PrintColumn, PrintColumns, SchemaMode};
use schemars_attr::SchemarsAttrs;
use types::{Derive, Refusal, Scope, Types, attributes, derives};

/// One version of a custom resource.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is an attribute of its own")]
pub struct Api {
    /// API group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Name of the Rust type that the derive generates.
    pub root: String,
    /// Name of the resource in URLs.
    pub plural: String,
    /// Name of one object.
    pub singular: String,
    /// Objects live in namespaces.
    pub namespaced: bool,
    /// Short names.
    pub short_names: Vec<String>,
    /// Categories.
    pub categories: Vec<String>,
    /// Annotations of the CRD.
    pub annotations: Vec<(String, String)>,
    /// Labels of the CRD.
    pub labels: Vec<(String, String)>,
    /// The version is served.
    pub served: bool,
    /// The version is stored.
    pub storage: bool,
    /// The version is deprecated, with a warning of its own or the usual one.
    pub deprecated: Option<Option<String>>,
    /// Printer columns.
    pub columns: Vec<Column>,
    /// JSON paths of selectable fields.
    pub selectable: Vec<String>,
    /// The status subresource is on.
    pub status: bool,
    /// The scale subresource.
    pub scale: Option<Scale>,
    /// Types, and the root among them; none with `schema = "disabled"`.
    pub schema: Option<(Arc<Graph>, TypeId)>,
    /// Where each type of the graph is declared.
    pub types: Vec<(TypeId, String, Origin)>,
    /// Where the spec is declared.
    pub origin: Origin,
    /// The releases of kube and schemars that make the CRD.
    pub releases: Releases,
}

/// A printer column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Heading.
    pub name: String,
    /// `OpenAPI` type.
    pub type_: String,
    /// Where the value is.
    pub json_path: String,
    /// `OpenAPI` format.
    pub format: Option<String>,
    /// What it means.
    pub description: Option<String>,
    /// Above 0: only shown on demand.
    pub priority: Option<i32>,
}

impl From<CustomResourceColumnDefinition> for Column {
    fn from(column: CustomResourceColumnDefinition) -> Self {
        let CustomResourceColumnDefinition { description, format, json_path, name, priority, type_ } = column;
        Column { name, type_, json_path, format, description, priority }
    }
}

/// The scale subresource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scale {
    /// Where the wanted number is.
    pub spec_replicas_path: String,
    /// Where the observed number is.
    pub status_replicas_path: String,
    /// Where the label selector is.
    pub label_selector_path: Option<String>,
}

const DERIVE: &str = "kube::CustomResource";

/// A type that derives `CustomResource`, before anything else about it is read.
#[derive(Debug)]
pub struct Declared {
    /// The spec.
    pub item: ItemRef,
    /// Why the derive may be another one of this name.
    pub doubt: Option<Diagnostic>,
}

/// Every type of the package that derives `CustomResource`, in the order of the source; and where there may be more.
pub fn declared(tree: &SourceTree) -> (Vec<Declared>, Diagnostics) {
    let mut declared = Vec::new();
    let mut diagnostics = Diagnostics::default();
    let mut seen = BTreeMap::new();
    let hidden = Hidden::new(tree);
    diagnostics.extend(hidden.unlinked().into_iter().collect());
    for item in tree.declarations() {
        let module = tree.module(item);
        if !matches!(tree.item(item), Item::Struct(_) | Item::Enum(_) | Item::Union(_)) {
            diagnostics.extend(hidden.behind(module, tree.item(item)).into_iter().collect());
            continue;
        }
        for attribute in attributes(tree.item(item)) {
            if attribute.path().is_ident("cfg_attr") && hidden.is_named(attribute.meta.to_token_stream()) {
                let message =
                    "whether `CustomResource` is derived depends on a `cfg` that only the compiler can decide";
                let origin = tree.origin(module, attribute.span());
                diagnostics.push(Diagnostic::new(Code::UnknownCfg, message).at(origin).help(LIST));
            }
        }
        let found = derives(tree, module, attributes(tree.item(item)));
        if found.iter().any(|(_, derive)| matches!(derive, Derive::Resolved(path) if path == DERIVE)) {
            let origin = tree.origin(module, tree.item(item).span());
            // A file that two targets include declares its types once, but one that is two modules of a target twice.
            let root = tree.root(module);
            if *seen.entry((origin.path, origin.range.start)).or_insert(root) == root {
                declared.push(Declared { item, doubt: None });
            }
            diagnostics.extend(hidden.inside(module, tree.item(item)).into_iter().collect());
            continue;
        }
        let behind = hidden.behind(module, tree.item(item));
        let kube = attributes(tree.item(item)).iter().find(|attribute| attribute.path().is_ident("kube"));
        // A crate may have the derive under another name.
        let renamed = found.iter().find_map(|(_, derive)| match derive {
            Derive::Resolved(path) if !is_of_another(path) => Some(path),
            _ => None,
        });
        if let (None, Some(kube), Some(path)) = (&behind, kube, renamed) {
            let message = format!("cannot tell whether the derive `{path}` is `CustomResource`");
            let doubt = Diagnostic::new(Code::UnresolvedName, message).at(tree.origin(module, kube.span())).help(NAME);
            declared.push(Declared { item, doubt: Some(doubt) });
            continue;
        }
        diagnostics.extend(behind.into_iter().collect());
        for (_, derive) in found {
            let Derive::Unresolved(text, span) = derive else { continue };
            let name = text.rsplit("::").next().unwrap_or_default();
            if kube.is_some() || hidden.is_name(name) || !text.contains("::") {
                let doubt = Diagnostic::new(Code::UnresolvedName, format!("cannot tell what the derive `{text}` is"))
                    .at(tree.origin(module, span))
                    .help(NAME);
                if kube.is_some() {
                    declared.push(Declared { item, doubt: Some(doubt) });
                } else if name == "CustomResource" {
                    diagnostics.push(doubt);
                }
            }
        }
    }
    (declared, diagnostics)
}

/// The custom resources that the package declares, as `Kind.group`, each with the types that are their roots.
pub fn names(tree: &SourceTree) -> BTreeMap<String, BTreeSet<String>> {
    let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let (declared, _) = declared(tree);
    for resource in declared.into_iter().filter_map(|declared| tree.custom_resource(declared.item)) {
        names.entry(resource.name()).or_default().insert(resource.root);
    }
    names
}

/// The derive is of a crate that has none with an attribute `kube` but kube.
fn is_of_another(path: &str) -> bool {
    let krate = path.split("::").next().unwrap_or_default();
    ["std", "serde", "schemars", "kube", "serde_json", "clap", "garde", "validator", "strum"].contains(&krate)
}

/// What to do about a derive that may be another one.
const NAME: &str = "name it by its path: `#[derive(kube::CustomResource)]`, or list the path of the type in `crds` of \
                    `[package.metadata.memcached-sdk]`";

/// What to do about a type that can't be found.
const LIST: &str = "declare the type in a module, or list its path in `crds` of `[package.metadata.memcached-sdk]`";

/// The releases of dependencies that are newer than those known here, and not verified: their packages and versions.
pub fn new_releases(tree: &SourceTree) -> Vec<(&'static str, Version)> {
    dependency::new_releases(tree)
}

/// Every custom resource version that the package declares, in the order of the source.
pub fn all(tree: &SourceTree) -> (Vec<Api>, Diagnostics) {
    let mut apis = Vec::new();
    let diagnostics = each(tree, &mut |api| apis.push(api));
    (apis, diagnostics)
}

/// The same, handed over one by one as soon as they are read.
pub fn each(tree: &SourceTree, take: &mut dyn FnMut(Api)) -> Diagnostics {
    let (declared, mut diagnostics) = declared(tree);
    let declared: Vec<Declared> = declared.into_iter().filter(|declared| tree.is_chosen(declared.item)).collect();
    let releases = dependency::releases(tree);
    if !declared.is_empty()
        && let Some(diagnostic) = dependency::gate(tree)
    {
        // Of code for an older release most would be refused for what it is, which is said once.
        let unknown = diagnostic.code == Code::DependencyVersion;
        diagnostics.push(diagnostic);
        if unknown {
            diagnostics.sort();
            return diagnostics;
        }
    }
    for Declared { item, doubt } in declared {
        let name = || tree.custom_resource(item).map(|resource| resource.name());
        if let Some(doubt) = doubt {
            diagnostics.push(doubt.about(name()));
            continue;
        }
        let (api, found) = api(tree, item, releases);
        api.into_iter().for_each(&mut *take);
        diagnostics.extend(found.iter().map(|found| found.clone().about(name())).collect());
    }
    diagnostics.sort();
    diagnostics
}

fn api(tree: &SourceTree, item: ItemRef, releases: Releases) -> (Option<Api>, Diagnostics) {
    let scope = Scope::module(tree.module(item));
    let mut types = Types::new(tree, releases);
    let api = read(&mut types, &scope, item);
    let clean = !types.diagnostics.has_errors();
    (api.filter(|_| clean), types.diagnostics)
}

/// What is understood of a custom resource version, when its CRD comes from somewhere else: its schema may lack parts.
pub fn understood(tree: &SourceTree, item: ItemRef) -> Option<Api> {
    read(&mut Types::new(tree, dependency::releases(tree)), &Scope::module(tree.module(item)), item)
}

fn read(types: &mut Types<'_>, scope: &Scope, item: ItemRef) -> Option<Api> {
    let tree = types.tree;
    let input = types.derive_input(item)?;
    if let Some(cfg) = tree.unknown_cfg(item) {
        let message = format!("`{}` exists only under `cfg({cfg})`, which only the compiler can decide", input.ident);
        types.refuse(Refusal::new(Code::UnknownCfg, scope, input.ident.span(), message));
        return None;
    }
    let attrs = match KubeAttrs::from_derive_input(&input) {
        Ok(attrs) => attrs,
        Err(errors) => {
            types.refuse_keys(scope, &input.ident, errors);
            look_at_types(types, scope, item, &input);
            return None;
        }
    };
    types.path = vec![attrs.kind.clone()];
    let root = attrs.kind_struct.clone().unwrap_or_else(|| attrs.kind.clone());
    if input.ident == root.as_str() {
        let message = format!("the spec is called `{root}` like the kind, whose type the derive generates");
        types.refuse(
            Refusal::new(Code::KubeAttribute, scope, input.ident.span(), message)
                .help(format!("rename the struct to `{root}Spec`")),
        );
        return None;
    }
    if attrs.no_spec && !flattenable(&input) {
        let message = "`no_spec` needs named fields that are not `apiVersion`, `kind`, `metadata` or `status`";
        types.refuse(Refusal::new(Code::KubeAttribute, scope, input.ident.span(), message));
    }
    if attrs.schema.is_some_and(|mode| mode != SchemaMode::Derived) {
        let derive = derives(tree, scope.module, &input.attrs);
        let derive = derive.iter().find(|(_, derive)| matches!(derive, Derive::Resolved(path) if path == DERIVE));
        let above = derive.map_or(0, |(position, _)| *position);
        types.attribute_macros(scope, &input.attrs[..above]);
    }
    let schema = match attrs.schema.unwrap_or(SchemaMode::Derived) {
        SchemaMode::Disabled => None,
        SchemaMode::Manual => Some(types.manual_root(scope, &input.ident, &root)?),
        SchemaMode::Derived => Some(root_type(types, scope, &input, &attrs, root.clone())?),
    };
    let releases = types.graph.releases;
    let columns = columns(types, scope, &input, attrs.printcolumns);
    // Before, the derive pasted them into JSON as they are.
    if let Some(path) =
        attrs.selectable.iter().find(|path| path.contains(['"', '\\']) || path.contains(char::is_control))
        && !releases.has(Change::AbsentLists)
    {
        let message = format!("kube-derive before 4.2.0 makes something else of the selectable path `{path}`");
        types.refuse(Refusal::new(Code::KubeAttribute, scope, input.ident.span(), message));
    }
    let singular = attrs.singular.unwrap_or_else(|| attrs.kind.to_ascii_lowercase());
    let declared: Vec<(TypeId, String, Origin)> = types
        .graph
        .containers()
        .filter_map(|(id, container)| {
            let user = types.user(id)?;
            let ident = match tree.item(user.item) {
                Item::Struct(item) => &item.ident,
                Item::Enum(item) => &item.ident,
                _ => return None,
            };
            Some((id, container.name.clone(), tree.origin(user.scope.module, ident.span())))
        })
        .collect();
    Some(Api {
        plural: attrs.plural.unwrap_or_else(|| plural(&singular)),
        group: attrs.group,
        version: attrs.version,
        kind: attrs.kind,
        root,
        singular,
        namespaced: attrs.namespaced,
        short_names: attrs.shortnames,
        categories: attrs.categories,
        annotations: attrs.annotations.into_iter().map(|pair| (pair.0, pair.1)).collect(),
        labels: attrs.labels.into_iter().map(|pair| (pair.0, pair.1)).collect(),
        served: attrs.served,
        storage: attrs.storage,
        deprecated: attrs.deprecated.map(|warning| match warning {
            Override::Inherit => None,
            Override::Explicit(text) => Some(text),
        }),
        columns,
        selectable: attrs.selectable,
        status: attrs.status.is_some(),
        scale: attrs.scale.map(|scale| {
            let kube_attr::Scale { label_selector_path, spec_replicas_path, status_replicas_path } = scale;
            Scale { spec_replicas_path, status_replicas_path, label_selector_path }
        }),
        schema: schema.map(|root| (Arc::new(std::mem::take(&mut types.graph)), root)),
        types: declared,
        origin: tree.origin(scope.module, input.ident.span()),
        releases,
    })
}

/// Looks at spec and status of a resource whose `#[kube(…)]` is wrong, unless it may have no schema.
fn look_at_types(types: &mut Types<'_>, scope: &Scope, item: ItemRef, input: &DeriveInput) {
    let Some(resource) = types.tree.custom_resource(item) else { return };
    let kube = input.attrs.iter().filter(|attribute| attribute.path().is_ident("kube"));
    let mut keys = kube.filter_map(|attribute| attribute.meta.require_list().ok()).flat_map(|list| list.tokens.clone());
    if keys.any(|token| matches!(token, TokenTree::Ident(key) if key == "schema" || key == "no_spec")) {
        return;
    }
    let status = resource.status.as_deref().and_then(|status| syn::parse_str::<syn::Path>(status).ok());
    for (part, path) in [("spec", Some(input.ident.clone().into())), ("status", status)] {
        let Some(path) = path else { continue };
        types.path = vec![resource.kind.clone(), part.to_owned()];
        let ty = types.path_ty(scope, &path);
        types.use_type(ty, (scope.module, input.ident.span()));
    }
}

/// The columns that a release of kube makes of what the attribute says.
fn columns(types: &mut Types<'_>, scope: &Scope, input: &DeriveInput, attrs: Vec<PrintColumns>) -> Vec<Column> {
    let mut columns = Vec::new();
    for column in attrs {
        match column {
            PrintColumns::One(PrintColumn { description, format, json_path, name, priority, type_ }) => {
                columns.push(Column { name, type_, json_path, format, description, priority });
            }
            PrintColumns::Several(several, why) if types.graph.releases.has(Change::OneColumn) => {
                let message = format!("{why}; one `printcolumn` is one column, of which {} are here", several.len());
                types.refuse(Refusal::new(Code::KubeAttribute, scope, input.ident.span(), message));
            }
            PrintColumns::Several(several, _) => columns.extend(several.into_iter().map(Column::from)),
        }
    }
    columns
}

/// The type that the derive generates: metadata apart, a struct of spec and status.
fn root_type(
    types: &mut Types<'_>,
    scope: &Scope,
    input: &DeriveInput,
    attrs: &KubeAttrs,
    name: String,
) -> Option<TypeId> {
    let validated = !attrs.validations.is_empty() || attrs.cel;
    let rules = types.rules(scope, &attrs.validations);
    let mut described = SchemarsAttrs::default();
    let doc = attrs
        .doc
        .clone()
        .unwrap_or_else(|| format!(" Auto-generated derived type for {} via `CustomResource`", input.ident));
    described.docs.push(syn::parse_quote!(#doc));
    for attribute in &attrs.attributes {
        match &attribute.0 {
            SynMeta::NameValue(pair) if pair.path.is_ident("doc") => described.docs.push(pair.value.clone()),
            // `KubeSchema` does not hand it on.
            meta if meta.path().is_ident("deprecated") => described.deprecated = !validated,
            meta if is_inert(meta) => {}
            meta => {
                let message = format!("the attribute `{}` on the generated type is not read", meta.to_token_stream());
                types.refuse(Refusal::new(Code::KubeAttribute, scope, input.ident.span(), message));
            }
        }
    }
    let meta = types.meta(scope, &described);
    let mut fields = Vec::new();
    // Parameters of the spec are their defaults, since the derive names it without arguments.
    let spec = types.path_ty(scope, &input.ident.clone().into());
    if !attrs.no_spec {
        types.path.push("spec".to_owned());
    }
    types.use_type(spec, (scope.module, input.ident.span()));
    types.path.truncate(1);
    fields.push(Field { flatten: attrs.no_spec, ..field("spec", spec) });
    if let Some(path) = &attrs.status {
        types.path.push("status".to_owned());
        let status = types.path_ty(scope, path);
        types.use_type(status, (scope.module, path.span()));
        types.path.truncate(1);
        let option = known::lookup("std::option::Option").map(|option| types.known_type(option, vec![status]))?;
        fields.push(field("status", option));
    }
    let name = if validated { types.kube_schema_name(&name) } else { name };
    let container = Container {
        // With rules it is `KubeSchema` that the root derives.
        id: if validated {
            name.clone().into()
        } else {
            format!("{}::{name}", types.tree.module_path(scope.module).join("::")).into()
        },
        inline: validated,
        name,
        shape: Shape::Struct(fields, Unknown::Allow),
        meta: meta?,
        validated: validated.then_some(Validated { rules: rules?, fields: Vec::new() }),
    };
    Some(types.add_described(container))
}

/// The attribute has no influence on a schema, nor has what it would bring in under a `cfg`.
fn is_inert(meta: &SynMeta) -> bool {
    if let SynMeta::List(list) = meta
        && list.path.is_ident("cfg_attr")
    {
        let parser = Punctuated::<SynMeta, Token![,]>::parse_terminated;
        let parts = list.parse_args_with(parser).unwrap_or_default();
        // Other text than that of `#[doc = "…"]` is for rustdoc.
        let read = |part: &SynMeta| matches!(part, SynMeta::NameValue(_)) || !is_inert(part);
        return !parts.is_empty() && !parts.iter().skip(1).any(read);
    }
    ["allow", "warn", "deny", "expect", "must_use", "non_exhaustive", "doc", "repr"]
        .iter()
        .any(|name| meta.path().is_ident(name))
}

fn field(name: &str, ty: TypeId) -> Field {
    Field {
        name: name.to_owned(),
        ty,
        has_default: false,
        flatten: false,
        read_only: false,
        write_only: false,
        default: None,
        meta: Meta::default(),
        constraints: Constraints::default(),
        origin: None,
    }
}

fn flattenable(input: &DeriveInput) -> bool {
    let Data::Struct(data) = &input.data else { return false };
    let Fields::Named(fields) = &data.fields else { return false };
    let reserved = ["apiVersion", "api_version", "kind", "metadata", "status"];
    !fields
        .named
        .iter()
        .any(|field| field.ident.as_ref().is_some_and(|name| reserved.iter().any(|other| name == other)))
}

/// kube's guess; irregular plurals are written out by the user.
pub(crate) fn plural(word: &str) -> String {
    let es = ["s", "x", "z", "ch", "sh"];
    if es.iter().any(|ending| word.ends_with(ending)) {
        return format!("{word}es");
    }
    // kube counts characters up to a number of bytes.
    let before = word.len().checked_sub(2).and_then(|position| word.chars().nth(position));
    match word.strip_suffix('y') {
        Some(stem) if before.is_some_and(|last| !"aeiou".contains(last)) => {
            format!("{stem}ies")
        }
        _ => format!("{word}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_are_those_of_kube() {
        for (word, expected) in [
            ("memcached", "memcacheds"),
            ("box", "boxes"),
            ("policy", "policies"),
            ("day", "days"),
            ("batch", "batches"),
            ("y", "ys"),
        ] {
            assert_eq!(plural(word), expected);
        }
    }
}
