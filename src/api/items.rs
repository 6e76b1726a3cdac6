//! Items of the source as they are written: text, attributes, derives.

use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned as _;
use syn::{Attribute, Item};

use crate::source::{ModuleId, Namespace, Resolution, SourceTree};

/// One path of a `#[derive(…)]`.
#[derive(Debug, Clone)]
pub(super) enum DeriveItem {
    /// A macro of another crate, by its canonical path.
    Resolved(String),
    /// A path that means nothing known.
    Unresolved(String, Span),
}

/// The derives of an item with the position of their attribute.
pub(super) type Derives = [(usize, DeriveItem)];

/// See [`Derives`].
pub(super) fn derives(tree: &SourceTree, module: ModuleId, attributes: &[Attribute]) -> Vec<(usize, DeriveItem)> {
    let mut all = Vec::new();
    for (position, attribute) in attributes.iter().enumerate() {
        if !attribute.path().is_ident("derive") {
            continue;
        }
        // A derive that does not parse does not compile either.
        let _ = attribute.parse_nested_meta(|meta| {
            let derive = match tree.resolve_in(module, &meta.path, Namespace::Macros) {
                Resolution::Foreign(path) => DeriveItem::Resolved(path.join("::")),
                _ => DeriveItem::Unresolved(text(tree, module, &meta.path), meta.path.span()),
            };
            all.push((position, derive));
            Ok(())
        });
    }
    all
}

pub(super) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Struct(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        _ => &[],
    }
}

pub(super) fn generics(item: &Item) -> Option<&syn::Generics> {
    match item {
        Item::Struct(item) => Some(&item.generics),
        Item::Enum(item) => Some(&item.generics),
        _ => None,
    }
}

/// Source text of a piece of syntax, on one line.
pub(super) fn text(tree: &SourceTree, module: ModuleId, tokens: &impl ToTokens) -> String {
    let origin = tree.origin(module, tokens.to_token_stream().span());
    shortened(origin.text.get(origin.range).unwrap_or_default())
}

pub(super) fn shortened(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().count() > 60 { text.chars().take(59).chain(['…']).collect() } else { text }
}
