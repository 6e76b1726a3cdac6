//! What the bounds of a generic type prove: schemars writes a default only where they say that it can be serialised.

use std::collections::BTreeMap;

use quote::ToTokens;
use serde_derive_internals::ast::Data;
use serde_derive_internals::{Derive as SerdeDerive, ast};
use syn::visit::Visit;
use syn::{Item, Type as SynType, WherePredicate};

use crate::schema::known;
use crate::schema::known::Kind;
use crate::source::{ItemRef, Resolution};

use super::items::generics;
use super::serde_type::serde_type;
use super::types::{Scope, Types};

impl Types<'_> {
    /// Whether the impl that schemars derives can prove that a field implements `Serialize`: only then it writes the
    /// default, whatever the type arguments turn out to be.
    ///
    /// `added` are bounds that attributes add.
    pub(super) fn provable(&self, scope: &Scope, field: &ast::Field<'_>, added: &[WherePredicate]) -> Provable {
        if scope.generics.is_empty() {
            return Provable::Yes;
        }
        let generics = scope.this.and_then(|this| self.user(this)).and_then(|user| generics(self.tree.item(user.item)));
        let Some(generics) = generics.filter(|_| field.attrs.serialize_with().is_none()) else {
            return Provable::Unknown;
        };
        let mut parameters = Parameters::new();
        for param in &generics.params {
            let (name, bound) = match param {
                syn::GenericParam::Type(param) => {
                    let name = param.ident.to_string();
                    let bound = self.bound_by_serialize(scope, generics, &name, added);
                    (name, bound)
                }
                syn::GenericParam::Const(param) => (param.ident.to_string(), Some(true)),
                syn::GenericParam::Lifetime(_) => continue,
            };
            parameters.insert(name, bound);
        }
        match self.is_written(scope, &parameters, field.ty) {
            Some(true) => Provable::Yes,
            Some(false) => Provable::No,
            None => Provable::Unknown,
        }
    }

    /// Whether no bound of a function is a trait of the user's, which may bring a method that is called like one of std and
    /// comes first where only the bounds say what a value can do.
    pub(super) fn has_plain_bounds(&self, scope: &Scope, sig: &syn::Signature) -> bool {
        let mut bounds = Bounds::default();
        bounds.visit_signature(sig);
        bounds.0.iter().all(|bound| match bound {
            syn::TypeParamBound::Trait(bound) => {
                matches!(self.resolve(scope, &bound.path), Resolution::Foreign(path) if PLAIN_TRAITS.contains(&path[0].as_str()))
            }
            _ => true,
        })
    }

    /// Whether a type parameter has the bound `Serialize`; `None` when a bound may imply it.
    fn bound_by_serialize(
        &self,
        scope: &Scope,
        generics: &syn::Generics,
        name: &str,
        added: &[WherePredicate],
    ) -> Option<bool> {
        let mut bounds = Vec::new();
        let param = generics.type_params().find(|param| param.ident == name)?;
        bounds.extend(&param.bounds);
        for predicate in generics.where_clause.iter().flat_map(|clause| &clause.predicates).chain(added) {
            match predicate {
                syn::WherePredicate::Type(predicate) => match &predicate.bounded_ty {
                    SynType::Path(path) if path.path.is_ident(name) => bounds.extend(&predicate.bounds),
                    other if mentions(other.to_token_stream(), name) => return None,
                    _ => {}
                },
                syn::WherePredicate::Lifetime(_) => {}
                _ => return None,
            }
        }
        let mut found = false;
        for bound in bounds {
            let syn::TypeParamBound::Trait(bound) = bound else { continue };
            match self.resolve(scope, &bound.path) {
                Resolution::Foreign(path) if path.join("::") == "serde::Serialize" => found = true,
                Resolution::Foreign(path)
                    if ["std", "serde", "schemars"].contains(&path[0].as_str())
                        && path.last().is_some_and(|name| name != "Serialize") => {}
                _ => return None,
            }
        }
        Some(found)
    }

    /// Whether a type implements `Serialize` for all arguments that the bounds of its parameters allow.
    fn is_written(&self, scope: &Scope, parameters: &Parameters, ty: &SynType) -> Option<bool> {
        let tokens = ty.to_token_stream();
        if mentions(tokens.clone(), "Self") {
            return None;
        }
        if !parameters.keys().any(|name| mentions(tokens.clone(), name)) {
            return Some(true);
        }
        let all = |types: &mut dyn Iterator<Item = &SynType>| {
            let found: Vec<Option<bool>> = types.map(|ty| self.is_written(scope, parameters, ty)).collect();
            all_written(&found)
        };
        let path = match ty {
            SynType::Paren(inner) => return self.is_written(scope, parameters, &inner.elem),
            SynType::Group(inner) => return self.is_written(scope, parameters, &inner.elem),
            SynType::Reference(inner) => return self.is_written(scope, parameters, &inner.elem),
            SynType::Array(inner) => return self.is_written(scope, parameters, &inner.elem),
            SynType::Slice(inner) => return self.is_written(scope, parameters, &inner.elem),
            SynType::Tuple(tuple) => return all(&mut tuple.elems.iter()),
            SynType::Path(path) if path.qself.is_none() => &path.path,
            _ => return None,
        };
        if let Some(bound) = path.get_ident().and_then(|ident| parameters.get(&ident.to_string())) {
            return *bound;
        }
        let mut arguments = Vec::new();
        if let Some(syn::PathArguments::AngleBracketed(list)) = path.segments.last().map(|last| &last.arguments) {
            for argument in &list.args {
                match argument {
                    syn::GenericArgument::Type(ty) => arguments.push(ty),
                    syn::GenericArgument::Const(_) | syn::GenericArgument::Lifetime(_) => {}
                    _ => return None,
                }
            }
        }
        match self.resolve(scope, path) {
            Resolution::Foreign(path) => match known::lookup(&path.join("::"))?.kind {
                Kind::Phantom => Some(true),
                // They can be written exactly when their arguments can.
                Kind::Option
                | Kind::Result
                | Kind::Vec
                | Kind::List
                | Kind::TreeSet
                | Kind::HashSet
                | Kind::TreeMap
                | Kind::HashMap
                | Kind::Box
                | Kind::Reverse => all(&mut arguments.into_iter()),
                _ => None,
            },
            Resolution::Local(item) => {
                let found = arguments.into_iter().map(|ty| self.is_written(scope, parameters, ty)).collect();
                self.is_item_written(item, found)
            }
            _ => None,
        }
    }

    /// The same of a type of the user, by what is known of its type arguments.
    fn is_item_written(&self, item: ItemRef, arguments: Vec<Option<bool>>) -> Option<bool> {
        let of = self.tree.item(item);
        let declared = match of {
            Item::Type(alias) => &alias.generics,
            of => generics(of)?,
        };
        let names: Vec<String> = declared.type_params().map(|param| param.ident.to_string()).collect();
        if names.len() != arguments.len() || declared.const_params().next().is_some() {
            return None;
        }
        let parameters: Parameters = names.iter().cloned().zip(arguments).collect();
        if let Item::Type(alias) = of {
            return self.is_written(&Scope::module(self.tree.module(item)), &parameters, &alias.ty);
        }
        let input = self.derive_input(item).filter(|_| self.derives_trait(item, "serde::Serialize"))?;
        let container = serde_type(&input, SerdeDerive::Serialize).ok()?;
        let attrs = &container.attrs;
        let own_bound = |field: &ast::Field<'_>| field.attrs.ser_bound().is_some();
        let special = |variant: &ast::Variant<'_>| {
            variant.attrs.skip_serializing()
                || variant.attrs.serialize_with().is_some()
                || variant.attrs.ser_bound().is_some()
        };
        if attrs.ser_bound().is_some()
            || attrs.type_into().is_some()
            || attrs.remote().is_some()
            || container.data.all_fields().any(own_bound)
            || matches!(&container.data, Data::Enum(variants) if variants.iter().any(special))
        {
            return None;
        }
        // serde bounds each parameter that a field which is written mentions, but for those of `PhantomData`.
        let written = container
            .data
            .all_fields()
            .filter(|field| !field.attrs.skip_serializing() && field.attrs.serialize_with().is_none());
        let types: Vec<proc_macro2::TokenStream> = written.map(|field| field.ty.to_token_stream()).collect();
        let mut needed = Vec::new();
        for (name, bound) in parameters {
            let mut mentioning = types.iter().filter(|ty| mentions((*ty).clone(), &name));
            if mentioning.clone().any(|ty| mentions(ty.clone(), "PhantomData")) {
                return None;
            }
            if mentioning.next().is_some() {
                needed.push(bound);
            }
        }
        all_written(&needed)
    }
}

/// The bounds inside of a signature.
#[derive(Default)]
struct Bounds<'t>(Vec<&'t syn::TypeParamBound>);

impl<'t> Visit<'t> for Bounds<'t> {
    fn visit_type_param_bound(&mut self, bound: &'t syn::TypeParamBound) {
        self.0.push(bound);
    }
}

/// What an impl can prove of a type with parameters.
pub(super) enum Provable {
    Yes,
    No,
    Unknown,
}

/// Whether each type parameter implements `Serialize` for all arguments; `None` is not known.
type Parameters = BTreeMap<String, Option<bool>>;

/// Crates of which no trait has a method that is called like an inherent one of std.
const PLAIN_TRAITS: [&str; 7] = ["std", "serde", "schemars", "kube", "kube_core", "k8s_openapi", "strum"];

fn all_written(parts: &[Option<bool>]) -> Option<bool> {
    if parts.contains(&Some(false)) {
        Some(false)
    } else {
        parts.iter().copied().collect::<Option<Vec<bool>>>().map(|_| true)
    }
}

/// The word is among the tokens.
pub(super) fn mentions(tokens: proc_macro2::TokenStream, word: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        proc_macro2::TokenTree::Group(group) => mentions(group.stream(), word),
        proc_macro2::TokenTree::Ident(ident) => ident == word,
        _ => false,
    })
}
