//! `#[kube(…)]` of a spec → an [`Api`] with the root of its schema.

use std::sync::Arc;

use darling::FromDeriveInput as _;
use darling::util::Override;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceColumnDefinition as Column;
use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Data, DeriveInput, Fields, Item, Meta as SynMeta, Token};

use crate::api::canonical::CUSTOM_RESOURCE;
use crate::api::custom_resource::{Api, plural};
use crate::api::items::{DeriveItem, derives};
use crate::api::kube_attr::{KubeAttrs, PrintColumns, SchemaMode};
use crate::api::schemars_attr::CommonAttrs;
use crate::api::types::{Refusal, TypeScope};
use crate::diagnostic::{Code, Origin};
use crate::k8s;
use crate::schema::known;
use crate::schema::release::ReleaseChange;
use crate::schema::{Constraints, Container, Meta, SchemaField, SchemaShape, TypeId, Unknown, Validated};
use crate::source::ItemRef;

use super::describer::{Describer, Reported};

pub(in crate::api) fn read(describer: &mut Describer<'_>, scope: &TypeScope, item: ItemRef) -> Result<Api, Reported> {
    let tree = describer.tree;
    let input = describer.types.derive_input(item).ok_or(Reported)?;
    if let Some(cfg) = tree.unknown_cfg(item) {
        let message = format!("`{}` exists only under `cfg({cfg})`, which only the compiler can decide", input.ident);
        return Err(describer.refuse(Refusal::new(Code::UnknownCfg, scope, input.ident.span(), message)));
    }
    let attrs = match KubeAttrs::from_derive_input(&input) {
        Ok(attrs) => attrs,
        Err(errors) => {
            let reported = describer.refuse_keys(scope, &input.ident, errors);
            look_at_types(describer, scope, item, &input);
            return Err(reported);
        }
    };
    describer.path = vec![attrs.kind.clone()];
    let root = attrs.kind_struct.clone().unwrap_or_else(|| attrs.kind.clone());
    if input.ident == root.as_str() {
        let message =
            format!("the spec has the same name as the kind, `{root}`, for which the derive generates a type");
        let refusal = Refusal::new(Code::KubeAttribute, scope, input.ident.span(), message);
        return Err(describer.refuse(refusal.help(format!("rename the struct to `{root}Spec`"))));
    }
    if attrs.no_spec && !flattenable(&input) {
        let message = "`no_spec` needs named fields that are not `apiVersion`, `kind`, `metadata` or `status`";
        describer.refuse(Refusal::new(Code::KubeAttribute, scope, input.ident.span(), message));
    }
    if attrs.schema.is_some_and(|mode| mode != SchemaMode::Derived) {
        let derive = derives(tree, scope.module, &input.attrs);
        let derive =
            derive.iter().find(|(_, derive)| matches!(derive, DeriveItem::Resolved(path) if path == CUSTOM_RESOURCE));
        let above = derive.map_or(0, |(position, _)| *position);
        describer.attribute_macros(scope, &input.attrs[..above]);
    }
    let schema = match attrs.schema.unwrap_or(SchemaMode::Derived) {
        SchemaMode::Disabled => None,
        SchemaMode::Manual => Some(describer.manual_root(scope, &input.ident, &root)?),
        SchemaMode::Derived => Some(root_type(describer, scope, &input, &attrs, root.clone())?),
    };
    let releases = describer.types.graph.releases;
    let columns = columns(describer, scope, &input, attrs.printcolumns);
    // Earlier releases of the derive insert them into JSON unchanged.
    if let Some(path) =
        attrs.selectable.iter().find(|path| path.contains(['"', '\\']) || path.contains(char::is_control))
        && !releases.has(ReleaseChange::AbsentLists)
    {
        let message = format!("kube-derive before 4.2.0 changes the selectable path `{path}`");
        describer.refuse(Refusal::new(Code::KubeAttribute, scope, input.ident.span(), message));
    }
    let singular = attrs.singular.unwrap_or_else(|| attrs.kind.to_ascii_lowercase());
    let declared: Vec<(TypeId, String, Origin)> = describer
        .types
        .graph
        .containers()
        .filter_map(|(id, container)| {
            let user = describer.types.user(id)?;
            let ident = match tree.item(user.item) {
                Item::Struct(item) => &item.ident,
                Item::Enum(item) => &item.ident,
                _ => return None,
            };
            Some((id, container.name.clone(), tree.origin(user.scope.module, ident.span())))
        })
        .collect();
    Ok(Api {
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
        deprecated: attrs.deprecated.is_some(),
        deprecation_warning: attrs.deprecated.and_then(|warning| match warning {
            Override::Inherit => None,
            Override::Explicit(text) => Some(text),
        }),
        columns,
        selectable: attrs.selectable,
        status: attrs.status.is_some(),
        scale: attrs.scale.map(|scale| scale.0),
        schema: schema.map(|root| (Arc::new(std::mem::take(&mut describer.types.graph)), root)),
        types: declared,
        origin: tree.origin(scope.module, input.ident.span()),
        releases,
    })
}

/// Checks spec and status of a resource with an invalid `#[kube(…)]`, unless the resource may have no schema.
fn look_at_types(describer: &mut Describer<'_>, scope: &TypeScope, item: ItemRef, input: &DeriveInput) {
    let Some(resource) = k8s::custom_resource(describer.tree, item) else { return };
    if resource.own_schema {
        return;
    }
    let status = resource.status.as_deref().and_then(|status| syn::parse_str::<syn::Path>(status).ok());
    for (part, path) in [("spec", Some(input.ident.clone().into())), ("status", status)] {
        let Some(path) = path else { continue };
        describer.path = vec![resource.kind.clone(), part.to_owned()];
        let ty = describer.evaluate(|eval| eval.path_ty(scope, &path));
        describer.use_type(ty, (scope.module, input.ident.span()));
    }
}

/// The printer columns that a release of kube generates from the attribute.
fn columns(
    describer: &mut Describer<'_>,
    scope: &TypeScope,
    input: &DeriveInput,
    attrs: Vec<PrintColumns>,
) -> Vec<Column> {
    let mut columns = Vec::new();
    for column in attrs {
        match column {
            PrintColumns::One(column) => columns.push(column),
            PrintColumns::Several(several, why) if describer.types.graph.releases.has(ReleaseChange::OneColumn) => {
                let message = format!("{why}; one `printcolumn` is one column, of which {} are here", several.len());
                describer.refuse(Refusal::new(Code::KubeAttribute, scope, input.ident.span(), message));
            }
            PrintColumns::Several(several, _) => columns.extend(several),
        }
    }
    columns
}

/// The type that the derive generates: a struct of spec and status. Metadata is handled separately.
fn root_type(
    describer: &mut Describer<'_>,
    scope: &TypeScope,
    input: &DeriveInput,
    attrs: &KubeAttrs,
    name: String,
) -> Result<TypeId, Reported> {
    let validated = !attrs.validations.is_empty() || attrs.cel;
    let rules = describer.rules(scope, &attrs.validations);
    let mut root = CommonAttrs::default();
    let doc = attrs
        .doc
        .clone()
        .unwrap_or_else(|| format!(" Auto-generated derived type for {} via `CustomResource`", input.ident));
    root.docs.push(syn::parse_quote!(#doc));
    for attribute in &attrs.attributes {
        match &attribute.0 {
            SynMeta::NameValue(pair) if pair.path.is_ident("doc") => root.docs.push(pair.value.clone()),
            // `KubeSchema` does not pass it on.
            meta if meta.path().is_ident("deprecated") => root.deprecated = !validated,
            meta if is_inert(meta) => {}
            meta => {
                let message =
                    format!("the attribute `{}` on the generated type is not supported", meta.to_token_stream());
                describer.refuse(Refusal::new(Code::KubeAttribute, scope, input.ident.span(), message));
            }
        }
    }
    let meta = describer.meta(scope, &root);
    let mut fields = Vec::new();
    // Type parameters of the spec have their defaults, because the derive names the spec without arguments.
    let spec = describer.evaluate(|eval| eval.path_ty(scope, &input.ident.clone().into()));
    if !attrs.no_spec {
        describer.path.push("spec".to_owned());
    }
    describer.use_type(spec, (scope.module, input.ident.span()));
    describer.path.truncate(1);
    fields.push(SchemaField { flatten: attrs.no_spec, ..field("spec", spec) });
    if let Some(path) = &attrs.status {
        describer.path.push("status".to_owned());
        let status = describer.evaluate(|eval| eval.path_ty(scope, path));
        describer.use_type(status, (scope.module, path.span()));
        describer.path.truncate(1);
        let option =
            known::lookup("std::option::Option").map(|option| describer.types.known_type(option, vec![status]));
        fields.push(field("status", option.ok_or(Reported)?));
    }
    let name = if validated { describer.kube_schema_name(&name) } else { name };
    let container = Container {
        // A root with rules derives `KubeSchema`.
        id: if validated {
            name.clone().into()
        } else {
            format!("{}::{name}", describer.tree.module_path(scope.module).join("::")).into()
        },
        inline: validated,
        name,
        shape: SchemaShape::Struct(fields, Unknown::Allow),
        meta: meta?,
        validated: validated.then_some(Validated { rules: rules?, fields: Vec::new() }),
    };
    Ok(describer.types.add_described(container))
}

/// Returns true if neither the attribute nor its content under a `cfg` affects a schema.
pub(super) fn is_inert(meta: &SynMeta) -> bool {
    if let SynMeta::List(list) = meta
        && list.path.is_ident("cfg_attr")
    {
        let parser = Punctuated::<SynMeta, Token![,]>::parse_terminated;
        let parts = list.parse_args_with(parser).unwrap_or_default();
        // Only the text of `#[doc = "…"]` is a description; the rest is for rustdoc.
        let read = |part: &SynMeta| matches!(part, SynMeta::NameValue(_)) || !is_inert(part);
        return !parts.is_empty() && !parts.iter().skip(1).any(read);
    }
    ["allow", "warn", "deny", "expect", "must_use", "non_exhaustive", "doc", "repr"]
        .iter()
        .any(|name| meta.path().is_ident(name))
}

fn field(name: &str, ty: TypeId) -> SchemaField {
    SchemaField {
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
