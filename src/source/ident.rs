//! Names of items and crates.

use syn::Item;

pub(super) fn name(item: &Item) -> Option<&syn::Ident> {
    Some(match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::ExternCrate(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Mod(item) => &item.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    })
}

pub(super) fn ident(ident: &syn::Ident) -> String {
    let text = ident.to_string();
    match text.strip_prefix("r#") {
        Some(raw) => raw.to_string(),
        None => text,
    }
}

pub(super) fn segments(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| ident(&segment.ident)).collect()
}

/// The crate name of a package or dependency.
pub fn crate_name(name: &str) -> String {
    name.replace('-', "_")
}
