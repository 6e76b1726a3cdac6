//! Schema identity, as schemars computes it. A nested type with the same id becomes a reference.

use std::collections::BTreeSet;

use serde_derive_internals::Ctxt;
use serde_derive_internals::ast::{Container, Data, Field};
use syn::visit::{Visit, visit_path};
use syn::{Path, Type};

use crate::schema::SchemaId;

use super::schemars_attr::{FieldAttrs, OwnerAttrs as _, With};
use super::types::{TypeScope, Types};

impl Types<'_> {
    /// Returns the id that the derive assigns to a type: its path and the arguments that a field needs.
    pub(super) fn schema_id(&self, scope: &TypeScope, cont: &Container<'_>, name: &str) -> SchemaId {
        let path = format!("{}::{name}", self.tree.module_path(scope.module).join("::"));
        // Sorted as in the derive.
        let relevant = relevant(cont);
        if relevant.is_empty() {
            return path.into();
        }
        let arguments = relevant.iter().filter_map(|name| scope.generics.get(name).copied()).collect();
        SchemaId { text: format!("{path}<"), arguments: Some(arguments) }
    }
}

/// Returns the type parameters in the types of fields, as the derive finds them: it ignores `PhantomData`.
fn relevant(cont: &Container<'_>) -> BTreeSet<String> {
    let parameters: BTreeSet<String> = cont.generics.type_params().map(|param| param.ident.to_string()).collect();
    let mut found = BTreeSet::new();
    let mut of_type = |ty: &Type| NamedParameters { parameters: &parameters, found: &mut found }.visit_type(ty);
    let mut visit = |fields: &[Field<'_>]| {
        for field in fields.iter().filter(|field| !(field.attrs.skip_deserializing() && field.attrs.skip_serializing()))
        {
            let errors = Ctxt::new();
            let with = FieldAttrs::read(&field.original.attrs, &errors).common.with;
            // Errors are reported where the attributes of the field are read.
            drop(errors.check());
            match with {
                Some(With::Type(ty)) => of_type(&ty),
                Some(With::Function(_)) => {}
                None => of_type(&field.original.ty),
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

/// The parameters that a type names.
struct NamedParameters<'p> {
    parameters: &'p BTreeSet<String>,
    found: &'p mut BTreeSet<String>,
}

impl Visit<'_> for NamedParameters<'_> {
    fn visit_path(&mut self, path: &Path) {
        if path.segments.last().is_some_and(|last| last.ident == "PhantomData") {
            return;
        }
        let first = path.segments.first().map(|first| first.ident.to_string());
        self.found.extend(first.filter(|first| path.leading_colon.is_none() && self.parameters.contains(first)));
        visit_path(self, path);
    }
}
