//! Attributes of items: finds macros that may rewrite the item, and expands the known macro `#[skip_serializing_none]`.

use serde_derive_internals::Ctxt;
use syn::{Attribute, Data, DeriveInput};

use crate::source::{ModuleId, Namespace, Resolution, SourceTree};

use super::attribute::entries;

/// Attributes that do not rewrite the item: built-in ones, helpers of known derives, and tool attributes.
pub(super) const INERT: [&str; 22] = [
    "allow",
    "automatically_derived",
    "default",
    "deny",
    "deprecated",
    "derive",
    "doc",
    "expect",
    "forbid",
    "garde",
    "kube",
    "must_use",
    "non_exhaustive",
    "path",
    "repr",
    "schemars",
    "serde",
    "validate",
    "warn",
    "x_kube",
    "cold",
    "inline",
];

pub(super) fn is_inert(path: &syn::Path) -> bool {
    match path.get_ident() {
        Some(ident) => INERT.contains(&ident.to_string().as_str()),
        None => matches!(path.segments[0].ident.to_string().as_str(), "rustfmt" | "clippy" | "diagnostic"),
    }
}

/// Returns true if one of the attributes of a function, a constant or an `impl` block may rewrite it.
pub(super) fn rewrites(attributes: &[Attribute]) -> bool {
    let plain = |attribute: &Attribute| is_inert(attribute.path()) || attribute.path().is_ident("track_caller");
    !attributes.iter().all(plain)
}

/// Inert attributes of modules and crates.
pub(super) const MODULE_INERT: [&str; 9] = [
    "cfg",
    "crate_name",
    "crate_type",
    "feature",
    "macro_use",
    "no_std",
    "recursion_limit",
    "type_length_limit",
    "windows_subsystem",
];

/// Returns the position of `#[skip_serializing_none]` of `serde_with`, if every derive sees its result.
pub(super) fn skips_none(tree: &SourceTree, module: ModuleId, attributes: &[Attribute]) -> Option<usize> {
    let named = |path: &syn::Path| path.segments.last().is_some_and(|last| last.ident == "skip_serializing_none");
    let position = attributes.iter().position(|attribute| named(attribute.path()))?;
    let first = !attributes[..position].iter().any(|attribute| attribute.path().is_ident("derive"));
    let resolved = || tree.resolve_in(module, attributes[position].path(), Namespace::Macros);
    let is_it =
        first && matches!(resolved(), Resolution::Foreign(path) if path == ["serde_with", "skip_serializing_none"]);
    is_it.then_some(position)
}

/// Expands `#[skip_serializing_none]`: a field whose type is written as `Option` is skipped when it is `None`.
pub(super) fn skip_none(input: &mut DeriveInput) {
    fn is_option(ty: &syn::Type) -> bool {
        match ty {
            syn::Type::Group(group) => is_option(&group.elem),
            syn::Type::Paren(paren) => is_option(&paren.elem),
            syn::Type::Path(syn::TypePath { qself: Some(of), .. }) => is_option(&of.ty),
            syn::Type::Path(syn::TypePath { path, .. }) => {
                let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                matches!(names.as_slice(), ["std" | "core", "option", "Option"])
                    || (names == ["Option"] && path.leading_colon.is_none())
            }
            _ => false,
        }
    }
    let skip = |field: &mut syn::Field| {
        let errors = Ctxt::new();
        let own = entries(&field.attrs, "serde", &errors);
        let own = own.iter().any(|entry| entry.key().as_deref() == Some("skip_serializing_if"));
        // serde reports their errors.
        let _ = errors.check();
        let always = field.attrs.iter().any(|attribute| attribute.path().is_ident("serialize_always"));
        if is_option(&field.ty) && !own && !always {
            field.attrs.push(syn::parse_quote!(#[serde(skip_serializing_if = "Option::is_none")]));
        }
    };
    match &mut input.data {
        Data::Struct(data) => data.fields.iter_mut().for_each(skip),
        Data::Enum(data) => data.variants.iter_mut().flat_map(|variant| &mut variant.fields).for_each(skip),
        Data::Union(_) => {}
    }
}
