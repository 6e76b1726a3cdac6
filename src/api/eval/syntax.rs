//! Syntax helpers that need no name resolution.

use std::collections::BTreeSet;

use syn::{Expr, ExprCall, GenericArgument, GenericParam, Lit, Path};

use crate::schema::TypeId;

use crate::api::types::TypeScope;

/// Returns the type before the last segment of a path: `Foo` of `Foo::default`.
pub(super) fn owner_type(path: &syn::Path) -> Option<syn::Type> {
    let mut path = path.clone();
    path.segments.pop();
    path.segments.pop_punct();
    if path.segments.is_empty() {
        return None;
    }
    Some(syn::Type::Path(syn::TypePath { attrs: Vec::new(), qself: None, path }))
}

/// Builds `path(argument)`, also for a path that is only valid as a type: `Vec<T>::f`.
pub(super) fn call_of(path: syn::ExprPath, argument: Option<Expr>) -> ExprCall {
    ExprCall {
        attrs: Vec::new(),
        func: Box::new(Expr::Path(path)),
        paren_token: syn::token::Paren::default(),
        args: argument.into_iter().collect(),
    }
}

/// Returns true if the type before the last segment of a path has explicit arguments.
pub(super) fn has_arguments(path: &Path) -> bool {
    path.segments.iter().rev().nth(1).is_some_and(|owner| !owner.arguments.is_none() || owner.ident == "Self")
}

/// Returns the type argument behind the parameter `T` of `T::default`.
pub(super) fn generic_default(scope: &TypeScope, path: &Path) -> Option<TypeId> {
    let mut segments = path.segments.iter();
    match (segments.next(), segments.next(), segments.next()) {
        (Some(of), Some(function), None) if function.ident == "default" => {
            scope.generics.get(&of.ident.to_string()).copied()
        }
        _ => None,
    }
}

pub(super) fn unwrap(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(inner) => unwrap(&inner.expr),
        Expr::Group(inner) => unwrap(&inner.expr),
        expr => expr,
    }
}

/// Returns the name of a type or const parameter.
pub(super) fn parameter(param: &GenericParam) -> Option<String> {
    match param {
        GenericParam::Type(param) => Some(param.ident.to_string()),
        GenericParam::Const(param) => Some(param.ident.to_string()),
        GenericParam::Lifetime(_) => None,
    }
}

pub(super) fn text_literal(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Lit(lit) => match &lit.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// Returns true if the impl is for every type of the item: `impl<A, B> … for T<A, B>`, with the names of the declaration.
pub(super) fn parameters_match(item: &syn::ItemImpl, declared: &[String]) -> bool {
    let syn::Type::Path(path) = &*item.self_ty else { return false };
    let Some(segment) = path.path.segments.last() else { return false };
    let arguments: Vec<String> = match &segment.arguments {
        syn::PathArguments::None => Vec::new(),
        syn::PathArguments::AngleBracketed(list) => list
            .args
            .iter()
            .filter(|argument| !matches!(argument, GenericArgument::Lifetime(_)))
            .map(|argument| match argument {
                GenericArgument::Type(syn::Type::Path(ty)) => {
                    ty.path.get_ident().map(ToString::to_string).unwrap_or_default()
                }
                _ => String::new(),
            })
            .collect(),
        syn::PathArguments::Parenthesized(_) => return false,
    };
    let bound: BTreeSet<String> = item.generics.type_params().map(|param| param.ident.to_string()).collect();
    arguments == declared && bound.len() == arguments.len() && arguments.iter().all(|name| bound.contains(name))
}
