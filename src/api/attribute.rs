//! Attribute lists as schemars reads them: `#[schemars(…)]` overrides `#[serde(…)]` key by key, `!key` unsets one.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use serde_derive_internals::Ctxt;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{Attribute, Data, DeriveInput, Expr, ExprLit, Field, Lit, LitStr, Path, Token};

/// One item of an attribute list, such as `rename = "x"`, `range(min = 1)`, `skip` or `!default`.
#[derive(Clone)]
pub(super) enum AttributeEntry {
    /// `skip`, `range(min = 1)`, `rename = "x"`
    Meta(Box<syn::Meta>),
    /// `!default`
    Not(Path, TokenStream),
}

impl Parse for AttributeEntry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(Token![!]) {
            let not = input.parse::<Token![!]>()?;
            let path = input.parse::<Path>()?;
            return Ok(AttributeEntry::Not(path.clone(), quote!(#not #path)));
        }
        Ok(AttributeEntry::Meta(Box::new(input.parse()?)))
    }
}

impl ToTokens for AttributeEntry {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            AttributeEntry::Meta(meta) => meta.to_tokens(tokens),
            AttributeEntry::Not(_, all) => all.to_tokens(tokens),
        }
    }
}

impl AttributeEntry {
    /// Returns the key, if it is a single word.
    pub(super) fn key(&self) -> Option<String> {
        let path = match self {
            AttributeEntry::Meta(meta) => meta.path(),
            AttributeEntry::Not(path, _) => path,
        };
        path.get_ident().map(ToString::to_string)
    }
}

/// Returns the items of all attributes of one name. Errors in foreign attributes are reported by their owners.
pub(super) fn entries(attributes: &[Attribute], name: &str, errors: &Ctxt) -> Vec<AttributeEntry> {
    let mut all = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident(name)) {
        match attribute.parse_args_with(Punctuated::<AttributeEntry, Token![,]>::parse_terminated) {
            Ok(entries) => all.extend(entries),
            Err(error) if name == "schemars" => errors.syn_error(error),
            Err(_) => {}
        }
    }
    all
}

/// Keys that schemars passes to serde's parser, from both `#[schemars(…)]` and `#[serde(…)]`.
const SHARED: [&str; 19] = [
    "bound",
    "content",
    "default",
    "deny_unknown_fields",
    "flatten",
    "from",
    "into",
    "remote",
    "rename",
    "rename_all",
    "rename_all_fields",
    "skip",
    "skip_deserializing",
    "skip_serializing",
    "skip_serializing_if",
    "tag",
    "transparent",
    "try_from",
    "untagged",
];

/// Keys of `#[serde(…)]` that survive beside [`SHARED`].
const SERDE_ONLY: [&str; 2] = ["serialize_with", "with"];

/// Returns true if serde's parser understands this key of `#[schemars(…)]`.
pub(super) fn is_shared(key: &str) -> bool {
    SHARED.contains(&key)
}

/// Returns the input in the form that the `JsonSchema` derive passes to serde's parser.
pub(super) fn effective(mut input: DeriveInput) -> syn::Result<DeriveInput> {
    let errors = Ctxt::new();
    merge(&errors, &mut input.attrs);
    let fields = |fields: &mut dyn Iterator<Item = &mut Field>| {
        for field in fields {
            merge(&errors, &mut field.attrs);
        }
    };
    match &mut input.data {
        Data::Struct(data) => fields(&mut data.fields.iter_mut()),
        Data::Enum(data) => {
            for variant in &mut data.variants {
                merge(&errors, &mut variant.attrs);
                fields(&mut variant.fields.iter_mut());
            }
        }
        Data::Union(data) => fields(&mut data.fields.named.iter_mut()),
    }
    errors.check()?;
    Ok(input)
}

fn merge(errors: &Ctxt, attributes: &mut Vec<Attribute>) {
    if !attributes.iter().any(|attribute| attribute.path().is_ident("serde") || attribute.path().is_ident("schemars")) {
        return;
    }
    let mut merged = Vec::new();
    let mut set = BTreeSet::new();
    let mut unset = BTreeMap::new();
    for entry in entries(attributes, "schemars", errors) {
        let Some(key) = entry.key() else { continue };
        if let AttributeEntry::Not(..) = entry {
            if unset.insert(key.clone(), entry.clone()).is_some() {
                errors.error_spanned_by(entry, format_args!("duplicate schemars attribute item `!{key}`"));
            }
        } else if is_shared(&key) {
            set.insert(key);
            merged.push(entry);
        }
    }
    for (key, entry) in &unset {
        if set.contains(key) {
            errors.error_spanned_by(entry, format_args!("schemars attribute has both `{key}` and `!{key}`"));
        }
    }
    if set.contains("skip") {
        set.extend(["skip_serializing".to_owned(), "skip_deserializing".to_owned()]);
    }
    let mut present = BTreeSet::new();
    for entry in entries(attributes, "serde", errors) {
        let Some(key) = entry.key() else { continue };
        let understood = is_shared(&key) || SERDE_ONLY.contains(&key.as_str());
        if understood && key != "bound" && !set.contains(&key) && !unset.contains_key(&key) {
            merged.push(entry);
        }
        present.insert(key);
    }
    for (key, entry) in &unset {
        if !present.contains(key) {
            errors.error_spanned_by(entry, format_args!("useless `!{key}`: no serde attribute has `{key}`"));
        }
    }
    attributes.retain(|attribute| !attribute.path().is_ident("serde"));
    if merged.is_empty() {
        return;
    }
    match Attribute::parse_outer.parse2(quote!(#[serde(#(#merged),*)])) {
        Ok(parsed) => attributes.extend(parsed),
        Err(error) => errors.syn_error(error),
    }
}

/// The text of a string literal.
pub(super) fn literal(expr: &Expr) -> Option<&LitStr> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text),
        Expr::Group(group) => literal(&group.expr),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expected: &str) {
        let input: DeriveInput = syn::parse_str(input).unwrap();
        let actual = match effective(input) {
            Ok(input) => input.to_token_stream().to_string(),
            Err(error) => format!("error: {error}"),
        };
        let expected = syn::parse_str::<DeriveInput>(expected)
            .map_or_else(|_| expected.to_owned(), |input| input.to_token_stream().to_string());
        assert_eq!(actual, expected);
    }

    #[test]
    fn schemars_overrides_serde_key_by_key() {
        check("#[serde(alias = \"b\")] struct S;", "struct S;");
        check(
            "#[serde(rename = \"a\", default)] #[schemars(rename = \"b\")] struct S;",
            "#[schemars(rename = \"b\")] #[serde(rename = \"b\", default)] struct S;",
        );
        check("#[serde(default)] #[schemars(!default)] struct S;", "#[schemars(!default)] struct S;");
        check(
            "struct S { #[serde(skip_serializing)] #[schemars(skip)] a: u8 }",
            "struct S { #[schemars(skip)] #[serde(skip)] a: u8 }",
        );
    }

    #[test]
    fn contradictions_are_errors() {
        check("#[schemars(!default)] struct S;", "error: useless `!default`: no serde attribute has `default`");
        check(
            "#[serde(default)] #[schemars(default, !default)] struct S;",
            "error: schemars attribute has both `default` and `!default`",
        );
    }
}
