//! Bounds of generic types. schemars writes a default only where they prove that the value is `Serialize`.

use std::collections::BTreeMap;

use quote::ToTokens;
use serde_derive_internals::ast;
use syn::visit::Visit;
use syn::{GenericArgument, PathArguments, Type as SynType, TypeParamBound, WherePredicate};

use crate::schema::known;
use crate::schema::known::ValueKind;
use crate::source::Resolution;
use crate::source::macros::says;

use super::canonical::SERIALIZE;
use super::items::generics;
use super::types::{TypeScope, Types};

impl Types<'_> {
    /// Returns true if the impl that schemars derives can prove that a field implements `Serialize`. Only then it
    /// writes the default, with any type arguments. `None` means undecided.
    ///
    /// `added` are bounds that attributes add.
    pub(super) fn provable(&self, scope: &TypeScope, field: &ast::Field<'_>, added: &[WherePredicate]) -> Option<bool> {
        if scope.generics.is_empty() {
            return Some(true);
        }
        let generics = generics(self.tree.item(self.user(scope.this?)?.item))?;
        if field.attrs.serialize_with().is_some() {
            return None;
        }
        let parameters = generics.type_params().map(|param| {
            let name = param.ident.to_string();
            let bound = self.bound_by_serialize(scope, generics, &name, added);
            (name, bound)
        });
        self.is_written(scope, &parameters.collect(), field.ty)
    }

    /// Returns true if no bound of a function is a trait of the user. Such a trait may have a method with a name of std. That
    /// method takes precedence if only the bounds define the methods of a value.
    pub(super) fn has_plain_bounds(&self, scope: &TypeScope, sig: &syn::Signature) -> bool {
        let mut bounds = Bounds::default();
        bounds.visit_signature(sig);
        bounds.0.iter().all(|bound| match bound {
            TypeParamBound::Trait(bound) => {
                matches!(self.resolve(scope, &bound.path), Resolution::Foreign(path) if PLAIN_TRAITS.contains(&path[0].as_str()))
            }
            _ => true,
        })
    }

    /// Returns true if a type parameter has the bound `Serialize`; `None` if a bound may imply it.
    fn bound_by_serialize(
        &self,
        scope: &TypeScope,
        generics: &syn::Generics,
        name: &str,
        added: &[WherePredicate],
    ) -> Option<bool> {
        let mut bounds: Vec<&TypeParamBound> = Vec::new();
        bounds.extend(&generics.type_params().find(|param| param.ident == name)?.bounds);
        for predicate in generics.where_clause.iter().flat_map(|clause| &clause.predicates).chain(added) {
            let WherePredicate::Type(predicate) = predicate else { return None };
            match &predicate.bounded_ty {
                SynType::Path(path) if path.path.is_ident(name) => bounds.extend(&predicate.bounds),
                other if says(other.to_token_stream(), |word| word == name) => return None,
                _ => {}
            }
        }
        let mut found = false;
        for bound in bounds {
            let TypeParamBound::Trait(bound) = bound else { continue };
            match self.resolve(scope, &bound.path) {
                Resolution::Foreign(path) if path.join("::") == SERIALIZE => found = true,
                Resolution::Foreign(path)
                    if ["std", "serde", "schemars"].contains(&path[0].as_str())
                        && path.last().is_some_and(|name| name != "Serialize") => {}
                _ => return None,
            }
        }
        Some(found)
    }

    /// Returns true if a type implements `Serialize` for all arguments that the bounds of its parameters allow.
    fn is_written(&self, scope: &TypeScope, parameters: &Parameters, ty: &SynType) -> Option<bool> {
        let tokens = ty.to_token_stream();
        if says(tokens.clone(), |word| word == "Self") {
            return None;
        }
        if !says(tokens, |word| parameters.contains_key(word)) {
            return Some(true);
        }
        let SynType::Path(path) = ty else { return None };
        if let Some(bound) = path.path.get_ident().and_then(|ident| parameters.get(&ident.to_string())) {
            return *bound;
        }
        let Resolution::Foreign(found) = self.resolve(scope, &path.path) else { return None };
        let kind = known::lookup(&found.join("::"))?.kind;
        if kind == ValueKind::Phantom {
            return Some(true);
        }
        // These wrappers are `Serialize` exactly when their arguments are.
        let transparent = [
            ValueKind::Option,
            ValueKind::Vec,
            ValueKind::TreeSet,
            ValueKind::HashSet,
            ValueKind::TreeMap,
            ValueKind::HashMap,
            ValueKind::Box,
        ];
        let PathArguments::AngleBracketed(list) = &path.path.segments.last()?.arguments else { return None };
        let mut written = Some(transparent.contains(&kind)).filter(|transparent| *transparent);
        for argument in &list.args {
            let GenericArgument::Type(ty) = argument else { return None };
            written = written.zip(self.is_written(scope, parameters, ty)).map(|(all, this)| all && this);
        }
        written
    }
}

#[derive(Default)]
struct Bounds<'t>(Vec<&'t TypeParamBound>);

impl<'t> Visit<'t> for Bounds<'t> {
    fn visit_type_param_bound(&mut self, bound: &'t TypeParamBound) {
        self.0.push(bound);
    }
}

/// Type parameters, each with true if it implements `Serialize` for all arguments; `None` is undecided.
type Parameters = BTreeMap<String, Option<bool>>;

/// Crates without a trait method that has the name of an inherent method of std.
const PLAIN_TRAITS: [&str; 7] = ["std", "serde", "schemars", "kube", "kube_core", "k8s_openapi", "strum"];
