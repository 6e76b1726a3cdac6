//! Name capture by `KubeSchema`. It copies a struct into a function that declares other names.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use serde_derive_internals::Ctxt;
use syn::{Attribute, Data, DeriveInput, Ident, Meta};

use super::attribute::{AttributeEntry, entries, literal};

/// Names that the function imports from kube-core.
const IMPORTED: [&str; 6] = ["Rule", "Message", "Reason", "ListMerge", "MapMerge", "StructMerge"];

/// The struct that the function declares for each field with a rule.
const OF_FIELD: &str = "Validated";

/// Keys whose texts are types and paths.
const PATHS: [&str; 8] =
    ["default", "from", "into", "schema_with", "serialize_with", "skip_serializing_if", "try_from", "with"];

/// Returns a name in the struct that has another meaning in the function than beside the struct.
pub(super) fn hidden_name(input: &DeriveInput) -> Option<Ident> {
    let of_struct = format!("{}Validated", input.ident);
    let hides = |name: &Ident, rules: bool| {
        IMPORTED.iter().any(|other| name == other) || *name == of_struct || (rules && name == OF_FIELD)
    };
    let Data::Struct(data) = &input.data else { return None };
    let has_rules = |attrs: &[Attribute]| attrs.iter().any(|attr| attr.path().is_ident("x_kube"));
    let any_rules = data.fields.iter().any(|field| has_rules(&field.attrs));
    let of_container = in_attributes(&input.attrs).into_iter().find(|name| hides(name, any_rules));
    of_container.or_else(|| {
        data.fields.iter().find_map(|field| {
            let mut names = in_attributes(&field.attrs);
            first_names(field.ty.to_token_stream(), &mut names);
            names.into_iter().find(|name| hides(name, has_rules(&field.attrs)))
        })
    })
}

/// Collects the first names of paths in attributes that the copy keeps.
fn in_attributes(attributes: &[Attribute]) -> Vec<Ident> {
    let mut names = Vec::new();
    for owner in ["serde", "schemars", "validate"] {
        let errors = Ctxt::new();
        for entry in entries(attributes, owner, &errors) {
            first_names(entry.to_token_stream(), &mut names);
            if let AttributeEntry::Meta(meta) = &entry
                && let Meta::NameValue(pair) = &**meta
                && PATHS.iter().any(|key| pair.path.is_ident(key))
                && let Some(text) = literal(&pair.value)
            {
                first_names(text.parse().unwrap_or_default(), &mut names);
            }
        }
        // Errors are reported where the attributes are read.
        drop(errors.check());
    }
    names
}

/// Collects the names that do not follow a `::`.
fn first_names(tokens: TokenStream, names: &mut Vec<Ident>) {
    let mut colons = 0;
    for token in tokens {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ':' => {
                colons += 1;
                continue;
            }
            TokenTree::Ident(name) if colons < 2 => names.push(name),
            TokenTree::Group(group) => first_names(group.stream(), names),
            _ => {}
        }
        colons = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_function_come_first() {
        for (input, expected) in [
            ("struct A { a: Vec<Reason> }", Some("Reason")),
            ("struct A { a: Vec<self::Reason>, #[serde(rename = \"Rule\")] b: kube::Rule }", None),
            ("struct A { #[serde(default = \"Reason::first\")] a: B }", Some("Reason")),
            ("struct A { #[schemars(extend(\"x\" = [Message::NAME]))] a: B }", Some("Message")),
            ("struct A { a: Box<AValidated> }", Some("AValidated")),
            ("struct A { a: Validated }", None),
            ("struct A { #[x_kube(validation = \"a\")] b: B, a: Validated }", None),
            ("struct A { #[x_kube(validation = \"a\")] a: Validated }", Some("Validated")),
        ] {
            let found = hidden_name(&syn::parse_str(input).unwrap()).map(|name| name.to_string());
            assert_eq!(found.as_deref(), expected, "{input}");
        }
    }
}
