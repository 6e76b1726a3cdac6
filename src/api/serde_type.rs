//! Types as serde's own parser reads them.

use proc_macro2::Span;
use serde_derive_internals::ast::Container;
use serde_derive_internals::{Ctxt, Derive};
use syn::spanned::Spanned as _;
use syn::{DeriveInput, Ident};

use crate::schema::quietly;

/// Parses a type as one of serde's derives does. Returns an error for invalid code, also if the derive panics.
pub(super) fn serde_type(input: &DeriveInput, derive: Derive) -> syn::Result<Container<'_>> {
    let parse = || {
        let errors = Ctxt::new();
        let private = Ident::new("__private", Span::call_site());
        let container = Container::from_ast(&errors, input, derive, &private);
        errors.check().map(|()| container)
    };
    match quietly(parse) {
        Ok(parsed) => parsed?.ok_or_else(|| syn::Error::new(input.span(), "serde cannot parse the type")),
        Err(panic) => {
            let message = format!(
                "serde's derive panics on `{}`: {panic}; give a name that is not ASCII another one by \
                 `#[serde(rename = \"…\")]`",
                input.ident
            );
            Err(syn::Error::new(input.ident.span(), message))
        }
    }
}
