//! What serde's own parser understands of a type.

use proc_macro2::Span;
use serde_derive_internals::ast::Container;
use serde_derive_internals::{Ctxt, Derive};
use syn::spanned::Spanned as _;
use syn::{Data, DeriveInput, Ident};

use crate::schema::quietly;

/// The type as one of serde's derives sees it. An error says what is wrong in the code, also where the derive panics.
pub(super) fn serde_type(input: &DeriveInput, derive: Derive) -> syn::Result<Container<'_>> {
    let parse = || {
        let errors = Ctxt::new();
        let private = Ident::new("__private", Span::call_site());
        let container = Container::from_ast(&errors, input, derive, &private);
        errors.check().map(|()| container)
    };
    match quietly(parse) {
        Ok(parsed) => parsed?.ok_or_else(|| syn::Error::new(input.span(), "serde can't read the type")),
        Err(panic) => Err(match names(input).find(|name| is_odd(name)) {
            Some(name) => {
                let message = format!(
                    "serde's derive panics, since `rename_all` can't make a name of `{name}`: give it one by \
                     `#[serde(rename = \"…\")]`"
                );
                syn::Error::new(name.span(), message)
            }
            None => syn::Error::new(input.ident.span(), format!("serde's derive panics on `{}`: {panic}", input.ident)),
        }),
    }
}

/// The names of all fields and variants.
fn names(input: &DeriveInput) -> impl Iterator<Item = &Ident> {
    let (variants, fields) = match &input.data {
        Data::Struct(data) => (None, Some(&data.fields)),
        Data::Enum(data) => (Some(&data.variants), None),
        Data::Union(_) => (None, None),
    };
    let of_variants = variants.into_iter().flatten();
    let fields = fields.into_iter().chain(of_variants.clone().map(|variant| &variant.fields)).flatten();
    of_variants.map(|variant| &variant.ident).chain(fields.filter_map(|field| field.ident.as_ref()))
}

/// Serde cuts off the first byte of a name to write it in another case.
fn is_odd(name: &Ident) -> bool {
    let name = name.to_string();
    !name.trim_start_matches('_').starts_with(|first: char| first.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_serde_panics_on() {
        let odd = |name: &str| {
            Some(format!(
                "serde's derive panics, since `rename_all` can't make a name of `{name}`: give it one by `#[serde(rename = \"…\")]`"
            ))
        };
        for (text, message) in [
            ("#[serde(rename_all = \"camelCase\")] struct S { one: u8, ümlaut: u8 }", odd("ümlaut")),
            ("#[serde(rename_all = \"camelCase\")] struct S { __: u8 }", odd("__")),
            ("#[serde(rename_all = \"camelCase\")] enum S { One, Ü }", odd("Ü")),
            ("#[serde(rename_all_fields = \"camelCase\")] enum S { Ö { ü: u8 } }", odd("Ö")),
            ("enum S { #[serde(rename_all = \"camelCase\")] One { é: u8 } }", odd("é")),
            ("#[serde(rename_all = \"camelCase\")] struct S { #[serde(rename = \"a\")] ü: u8 }", None),
            ("#[serde(rename_all = \"snake_case\")] enum S { Ü }", None),
        ] {
            let input = syn::parse_str(text).unwrap();
            let found = serde_type(&input, Derive::Deserialize).err().map(|error| error.to_string());
            assert_eq!(found, message, "{text}");
        }
    }
}
