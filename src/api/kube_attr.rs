//! `#[kube(…)]` and `#[x_kube(…)]`, with the field names that kube-derive gives to darling.

use darling::ast::NestedMeta;
use darling::util::{Override, parse_expr};
use darling::{FromDeriveInput, FromField, FromMeta};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceSubresourceScale,
};
use serde::Deserialize;
use syn::{Expr, Meta, Path};

#[derive(Debug, FromDeriveInput)]
#[allow(clippy::struct_excessive_bools, reason = "the keys of the attribute")]
#[darling(attributes(kube))]
pub(super) struct KubeAttrs {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
    pub(super) doc: Option<String>,
    #[darling(rename = "root")]
    pub(super) kind_struct: Option<String>,
    pub(super) plural: Option<String>,
    pub(super) singular: Option<String>,
    #[darling(default)]
    pub(super) namespaced: bool,
    #[darling(default)]
    pub(super) no_spec: bool,
    #[darling(multiple, rename = "derive")]
    #[allow(dead_code, reason = "read so that it is legal; no part of the CRD")]
    pub(super) derives: Vec<String>,
    #[darling(multiple, rename = "attr")]
    pub(super) attributes: Vec<RootAttribute>,
    pub(super) schema: Option<SchemaMode>,
    pub(super) status: Option<Path>,
    #[darling(multiple, rename = "category")]
    pub(super) categories: Vec<String>,
    #[darling(multiple, rename = "shortname")]
    pub(super) shortnames: Vec<String>,
    #[darling(multiple, rename = "printcolumn")]
    pub(super) printcolumns: Vec<PrintColumns>,
    #[darling(multiple)]
    pub(super) selectable: Vec<String>,
    pub(super) scale: Option<Scale>,
    #[darling(default)]
    #[allow(dead_code, reason = "read so that it is legal; no part of the CRD")]
    pub(super) crates: Crates,
    #[darling(multiple, rename = "annotation")]
    pub(super) annotations: Vec<KeyValue>,
    #[darling(multiple, rename = "label")]
    pub(super) labels: Vec<KeyValue>,
    #[darling(multiple, rename = "validation", with = parse_expr::preserve_str_literal)]
    pub(super) validations: Vec<Expr>,
    #[darling(default)]
    pub(super) cel: bool,
    #[darling(default = yes)]
    pub(super) storage: bool,
    #[darling(default = yes)]
    pub(super) served: bool,
    pub(super) deprecated: Option<Override<String>>,
}

fn yes() -> bool {
    true
}

/// Names of crates. Only their syntax is checked, because they do not affect a CRD.
#[derive(Debug, Default, FromMeta)]
#[allow(dead_code, reason = "read so that it is legal; no part of the CRD")]
#[darling(default)]
pub(super) struct Crates {
    kube: Option<Path>,
    kube_core: Option<Path>,
    k8s_openapi: Option<Path>,
    schemars: Option<Path>,
    serde: Option<Path>,
    serde_json: Option<Path>,
    std: Option<Path>,
}

/// The source of the schema: `schema = "…"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromMeta)]
pub(super) enum SchemaMode {
    Disabled,
    Manual,
    Derived,
}

/// An attribute for the generated root type.
#[derive(Debug)]
pub(super) struct RootAttribute(pub(super) Meta);

impl FromMeta for RootAttribute {
    fn from_string(value: &str) -> darling::Result<Self> {
        let meta = syn::parse_str::<Meta>(value)?;
        match ["derive", "serde", "schemars"].iter().find(|name| meta.path().is_ident(name)) {
            Some(name) => Err(darling::Error::custom(format!("`attr` must not be `{name}`"))),
            None => Ok(Self(meta)),
        }
    }
}

/// `annotation("key", "value")`.
#[derive(Debug)]
pub(super) struct KeyValue(pub(super) String, pub(super) String);

impl FromMeta for KeyValue {
    fn from_list(items: &[NestedMeta]) -> darling::Result<Self> {
        match items {
            [NestedMeta::Lit(syn::Lit::Str(key)), NestedMeta::Lit(syn::Lit::Str(value))] => {
                Ok(Self(key.value(), value.value()))
            }
            _ => Err(darling::Error::unsupported_format("anything but `\"key\", \"value\"`")),
        }
    }
}

/// `printcolumn(…)`: a list, or JSON in a string.
#[derive(Debug)]
pub(super) enum PrintColumns {
    One(CustomResourceColumnDefinition),
    /// JSON that only kube before [`Change::OneColumn`](crate::schema::release::ReleaseChange::OneColumn) accepts, which reads all
    /// strings as one list. The text is the reason why later releases do not accept it.
    Several(Vec<CustomResourceColumnDefinition>, String),
}

/// One column, in either form.
#[derive(Debug, Deserialize, FromMeta)]
#[serde(rename_all = "camelCase")]
struct PrintColumn {
    description: Option<String>,
    format: Option<String>,
    json_path: String,
    name: String,
    priority: Option<i32>,
    #[serde(rename = "type")]
    type_: String,
}

impl From<PrintColumn> for PrintColumns {
    fn from(column: PrintColumn) -> Self {
        let PrintColumn { description, format, json_path, name, priority, type_ } = column;
        Self::One(CustomResourceColumnDefinition { description, format, json_path, name, priority, type_ })
    }
}

impl FromMeta for PrintColumns {
    fn from_string(value: &str) -> darling::Result<Self> {
        let several = || serde_json::from_str(&format!("[{value}]")).ok();
        serde_json::from_str::<PrintColumn>(value).map(Self::from).or_else(|error| match several() {
            Some(columns) => Ok(Self::Several(columns, error.to_string())),
            None => Err(darling::Error::custom(error)),
        })
    }

    fn from_list(items: &[NestedMeta]) -> darling::Result<Self> {
        PrintColumn::from_list(items).map(Self::from)
    }
}

/// `scale(…)`: a list, or JSON in a string.
#[derive(Debug)]
pub(super) struct Scale(pub(super) CustomResourceSubresourceScale);

#[derive(Debug, Deserialize, FromMeta)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::struct_field_names, reason = "the keys of the attribute")]
struct ScalePaths {
    label_selector_path: Option<String>,
    spec_replicas_path: String,
    status_replicas_path: String,
}

impl From<ScalePaths> for Scale {
    fn from(scale: ScalePaths) -> Self {
        let ScalePaths { label_selector_path, spec_replicas_path, status_replicas_path } = scale;
        Self(CustomResourceSubresourceScale { label_selector_path, spec_replicas_path, status_replicas_path })
    }
}

impl FromMeta for Scale {
    fn from_string(value: &str) -> darling::Result<Self> {
        serde_json::from_str::<ScalePaths>(value).map(Self::from).map_err(darling::Error::custom)
    }

    fn from_list(items: &[NestedMeta]) -> darling::Result<Self> {
        ScalePaths::from_list(items).map(Self::from)
    }
}

/// `#[x_kube(…)]` of a struct that derives `KubeSchema`.
#[derive(Debug, FromDeriveInput)]
#[darling(attributes(x_kube), supports(struct_named))]
pub(super) struct KubeSchemaAttrs {
    #[darling(default)]
    #[allow(dead_code, reason = "read so that it is legal; no part of the CRD")]
    crates: Crates,
    #[darling(multiple, rename = "validation", with = parse_expr::preserve_str_literal)]
    pub(super) validations: Vec<Expr>,
    #[darling(default)]
    #[allow(dead_code, reason = "read so that it is legal; no part of the CRD")]
    cel: bool,
}

/// `#[x_kube(…)]` of a field.
#[derive(Debug, FromField)]
#[darling(attributes(x_kube))]
pub(super) struct KubeSchemaFieldAttrs {
    #[darling(multiple, rename = "validation", with = parse_expr::preserve_str_literal)]
    pub(super) validations: Vec<Expr>,
    pub(super) merge_strategy: Option<Expr>,
}
