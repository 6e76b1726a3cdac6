//! What tells derived schemas apart: schemars writes a reference for a type inside of one with the same id.

use std::collections::BTreeSet;

use quote::ToTokens;
use serde_derive_internals::Ctxt;
use serde_derive_internals::ast::{Container, Data, Field};
use syn::{GenericArgument, PathArguments, Type};

use crate::schema::SchemaId;
use crate::source::macros::words;

use super::schemars_attr::{Owner, SchemarsAttrs, With};
use super::types::{Scope, Types};

impl Types<'_> {
    /// The id that the derive gives a type: its path, and those of its arguments that a field needs.
    pub(super) fn schema_id(&self, scope: &Scope, cont: &Container<'_>, name: &str) -> SchemaId {
        let path = format!("{}::{name}", self.tree.module_path(scope.module).join("::"));
        // Sorted, as the derive has them.
        let relevant = relevant(cont);
        if relevant.is_empty() {
            return path.into();
        }
        let arguments = relevant.iter().filter_map(|name| scope.generics.get(name).copied()).collect();
        SchemaId { text: format!("{path}<"), arguments: Some(arguments) }
    }
}

/// The type parameters that the types of fields name, as the derive looks for them: not through `PhantomData`.
fn relevant(cont: &Container<'_>) -> BTreeSet<String> {
    let parameters: BTreeSet<String> = cont.generics.type_params().map(|param| param.ident.to_string()).collect();
    let mut found = BTreeSet::new();
    let mut visit = |fields: &[Field<'_>]| {
        for field in fields.iter().filter(|field| !(field.attrs.skip_deserializing() && field.attrs.skip_serializing()))
        {
            let errors = Ctxt::new();
            let with = SchemarsAttrs::read(&field.original.attrs, Owner::Field, &errors).with;
            // What is wrong is said where the attributes of the field are read.
            drop(errors.check());
            match with {
                Some(With::Type(ty)) => named(&ty, &parameters, &mut found),
                Some(With::Function(_)) => {}
                None => named(&field.original.ty, &parameters, &mut found),
            }
        }
    };
    match &cont.data {
        Data::Struct(_, fields) => visit(fields),
        Data::Enum(variants) => {
            let skipped =
                |attrs: &serde_derive_internals::attr::Variant| attrs.skip_deserializing() && attrs.skip_serializing();
            variants.iter().filter(|variant| !skipped(&variant.attrs)).for_each(|variant| visit(&variant.fields));
        }
    }
    found
}

fn named(ty: &Type, parameters: &BTreeSet<String>, found: &mut BTreeSet<String>) {
    match ty {
        Type::Array(inner) => named(&inner.elem, parameters, found),
        Type::Group(inner) => named(&inner.elem, parameters, found),
        Type::Paren(inner) => named(&inner.elem, parameters, found),
        Type::Reference(inner) => named(&inner.elem, parameters, found),
        Type::Slice(inner) => named(&inner.elem, parameters, found),
        Type::Tuple(tuple) => tuple.elems.iter().for_each(|elem| named(elem, parameters, found)),
        Type::Path(ty) => {
            if let Some(owner) = &ty.qself {
                named(&owner.ty, parameters, found);
            }
            if ty.path.segments.last().is_some_and(|last| last.ident == "PhantomData") {
                return;
            }
            let first = ty.path.segments.first().map(|first| first.ident.to_string());
            found.extend(first.filter(|first| ty.path.leading_colon.is_none() && parameters.contains(first)));
            for segment in &ty.path.segments {
                let PathArguments::AngleBracketed(list) = &segment.arguments else { continue };
                for argument in &list.args {
                    if let GenericArgument::Type(ty) = argument {
                        named(ty, parameters, found);
                    }
                }
            }
        }
        // No type of a field that is described.
        other => {
            let words = words(other.to_token_stream()).into_iter().map(|word| word.to_string());
            found.extend(words.filter(|word| parameters.contains(word)));
        }
    }
}
