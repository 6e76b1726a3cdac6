//! Objects that were just read from the server: a server-side apply of one makes nothing.
//!
//! It has to be the same `Api` and the same name that it was read by.

use std::collections::BTreeSet;

use quote::ToTokens as _;
use syn::{Expr, Pat};

use super::read::{Frame, Place, Reader, Spot, spot};

/// How an object was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Existing {
    /// The `Api` and the name as they are written.
    api: String,
    name: String,
    /// The variables that hold it.
    held: BTreeSet<String>,
}

impl Reader<'_> {
    /// Notes that a call reads an object.
    pub(super) fn reads(&mut self, place: Place) {
        self.reads.insert(spot(&place));
    }

    /// How the object was read that an expression is, or that it applies.
    fn existing(&self, frame: &Frame, expr: &Expr) -> Option<Existing> {
        match expr {
            Expr::Reference(inner) => self.existing(frame, &inner.expr),
            Expr::Paren(inner) => self.existing(frame, &inner.expr),
            Expr::Group(inner) => self.existing(frame, &inner.expr),
            Expr::Await(inner) => self.existing(frame, &inner.base),
            Expr::Try(inner) => self.existing(frame, &inner.expr),
            Expr::Path(path) => frame.existing.get(&path.path.get_ident()?.to_string()).cloned(),
            Expr::Call(call) => {
                let Expr::Path(function) = &*call.func else { return None };
                let is_apply = function.path.segments.last().is_some_and(|last| last.ident == "Apply");
                self.existing(frame, call.args.first().filter(|_| is_apply)?)
            }
            Expr::MethodCall(call) => {
                let place: Spot = spot(&Self::place(frame, call.method.span()));
                if self.reads.contains(&place) {
                    let (api, name) = (written(&call.receiver), written(call.args.first()?));
                    return Some(Existing { api, name, held: BTreeSet::new() });
                }
                let same = SAME.iter().any(|name| call.method == name);
                self.existing(frame, Some(&call.receiver).filter(|_| same)?)
            }
            _ => None,
        }
    }

    /// Notes that a pattern binds what an expression is: an object that exists, or something else.
    pub(super) fn note_existing(&self, frame: &mut Frame, pattern: &Pat, value: &Expr) {
        if let Some(mut existing) = self.existing(frame, value)
            && let Some(name) = bound(pattern)
        {
            existing.held.insert(name.clone());
            frame.existing.insert(name, existing);
        }
    }

    /// Whether a patch is the server-side apply of an object that was read by the same `Api` and name.
    pub(super) fn applies_existing(&self, frame: &Frame, api: &Expr, name: &Expr, patch: &Expr) -> bool {
        self.existing(frame, patch).is_some_and(|existing| {
            let of_object = || match name_of(name) {
                Expr::Path(found) => {
                    found.path.get_ident().is_some_and(|held| existing.held.contains(&held.to_string()))
                }
                _ => false,
            };
            existing.api == written(api) && (existing.name == written(name) || of_object())
        })
    }
}

/// Methods whose answer is the object that they are called on.
const SAME: &[&str] = &[
    "as_mut",
    "as_ref",
    "clone",
    "context",
    "expect",
    "into",
    "map_err",
    "ok",
    "ok_or",
    "ok_or_else",
    "to_owned",
    "unwrap",
    "with_context",
    "wrap_err",
    "wrap_err_with",
];

/// The only name that a pattern binds, through `Some` and `Ok`.
fn bound(pattern: &Pat) -> Option<String> {
    match pattern {
        Pat::Ident(found) => Some(found.ident.to_string()),
        Pat::Type(found) => bound(&found.pat),
        Pat::Reference(found) => bound(&found.pat),
        Pat::Paren(found) => bound(&found.pat),
        Pat::TupleStruct(found) => {
            let last = found.path.segments.last()?;
            bound(found.elems.first().filter(|_| last.ident == "Some" || last.ident == "Ok")?)
        }
        _ => None,
    }
}

/// What `object.name_any()` and `object.metadata.name.…` begin with.
fn name_of(expr: &Expr) -> &Expr {
    match expr {
        Expr::Reference(inner) => name_of(&inner.expr),
        Expr::MethodCall(call) => name_of(&call.receiver),
        Expr::Field(field) => name_of(&field.base),
        Expr::Try(inner) => name_of(&inner.expr),
        other => other,
    }
}

/// An expression as it is written, without references.
fn written(expr: &Expr) -> String {
    match expr {
        Expr::Reference(inner) => written(&inner.expr),
        Expr::Paren(inner) => written(&inner.expr),
        other => other.to_token_stream().to_string(),
    }
}
