//! Bindings of patterns.

use syn::punctuated::Punctuated;
use syn::{Item, Member, Pat, Token};

use crate::source::{ItemRef, Namespace, Resolution};

use super::frame::CallFrame;
use super::read::FunctionReader;
use super::types::Ty;

impl FunctionReader<'_> {
    /// Gives the names of a pattern their types.
    pub(super) fn bind(&mut self, frame: &mut CallFrame, pattern: &Pat, ty: &Ty) {
        match pattern {
            Pat::Ident(pattern) => {
                let value = match (ty, &pattern.subpat) {
                    (Ty::Unknown, None) => self.types.inferred.fresh(),
                    _ => ty.clone(),
                };
                frame.declare(pattern.ident.to_string(), value);
                if let Some((_, inner)) = &pattern.subpat {
                    self.bind(frame, inner, ty);
                }
            }
            Pat::Type(pattern) => {
                let declared = self.types.lower(&frame.scope, &pattern.ty);
                let ty = self.types.inferred.accept(&declared, ty);
                self.bind(frame, &pattern.pat, &ty);
            }
            Pat::Reference(pattern) => self.bind(frame, &pattern.pat, ty),
            Pat::Paren(pattern) => self.bind(frame, &pattern.pat, ty),
            Pat::Guard(pattern) => {
                self.bind(frame, &pattern.pat, ty);
                self.expr(frame, &pattern.guard, &Ty::Unknown);
            }
            Pat::Tuple(pattern) => {
                let known = self.resolve(ty);
                for (position, inner) in positions(&pattern.elems, known.parts().len()) {
                    self.bind(frame, inner, &known.part(position));
                }
            }
            Pat::Slice(pattern) => {
                let element = self.types.element(ty);
                for inner in &pattern.elems {
                    self.bind(frame, inner, &element);
                }
            }
            Pat::Or(pattern) => {
                for case in &pattern.cases {
                    self.bind(frame, case, ty);
                }
            }
            Pat::TupleStruct(pattern) => {
                let declared = if has_rest(&pattern.elems) { self.pattern_len(frame, &pattern.path) } else { 0 };
                for (position, inner) in positions(&pattern.elems, declared) {
                    let part = self.pattern_field(frame, &pattern.path, &position.to_string(), ty);
                    self.bind(frame, inner, &part);
                }
            }
            Pat::Struct(pattern) => {
                for field in &pattern.fields {
                    if self.is_off(frame, &field.attrs) {
                        continue;
                    }
                    let name = member(&field.member);
                    let part = self.pattern_field(frame, &pattern.path, &name, ty);
                    self.bind(frame, &field.pat, &part);
                }
            }
            _ => {}
        }
    }

    /// The struct of a pattern, or the enum and its variant.
    fn pattern_item(&self, frame: &CallFrame, path: &syn::Path) -> Option<(ItemRef, Option<String>)> {
        let resolved = |namespace| match self.types.resolve(&frame.scope, path, namespace) {
            Resolution::Local(item) => Some((item, None)),
            Resolution::Member(item, variant) => Some((item, Some(variant))),
            _ => None,
        };
        let of_self = || match (path.segments.first(), &frame.scope.itself) {
            (Some(first), Some(Ty::Item(item, _))) if first.ident == "Self" => {
                let last = path.segments.last().map(|last| last.ident.to_string());
                Some((*item, last.filter(|_| path.segments.len() > 1)))
            }
            _ => None,
        };
        resolved(Namespace::Values).or_else(|| resolved(Namespace::Types)).or_else(of_self)
    }

    /// The number of fields of a tuple struct or variant.
    fn pattern_len(&self, frame: &CallFrame, path: &syn::Path) -> usize {
        let Some((item, variant)) = self.pattern_item(frame, path) else { return 0 };
        match (self.tree.item(item), variant) {
            (Item::Struct(found), None) => found.fields.len(),
            (Item::Enum(found), Some(variant)) => {
                found.variants.iter().find(|found| found.ident == variant).map_or(0, |found| found.fields.len())
            }
            _ => 0,
        }
    }

    /// The type of a field in a pattern: `Some(x)` and `Ok(x)` are what they wrap.
    fn pattern_field(&mut self, frame: &CallFrame, path: &syn::Path, field: &str, ty: &Ty) -> Ty {
        let last = path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        if path.segments.len() == 1 {
            match last.as_str() {
                "Some" | "Ok" => return ty.clone(),
                "Err" => return Ty::Unknown,
                _ => {}
            }
        }
        let known = self.resolve(ty);
        let Some((item, variant)) = self.pattern_item(frame, path) else {
            // An event of a finalizer or watcher holds the object.
            return if EVENTS.contains(&last.as_str()) { known } else { Ty::Unknown };
        };
        let owner = match &known {
            Ty::Item(of, arguments) if *of == item => Ty::Item(item, arguments.clone()),
            Ty::Root(of) if *of == item => return self.field(&known, field),
            _ => self.types.lower_item(item, Vec::new()),
        };
        self.field_in(&owner, variant.as_deref(), field)
    }
}

/// Returns true if `..` stands for elements of a pattern.
fn has_rest(patterns: &Punctuated<Pat, Token![,]>) -> bool {
    patterns.iter().any(|pattern| matches!(pattern, Pat::Rest(_)))
}

/// The patterns of a tuple of `len` elements with their positions: those behind `..` count from the end.
fn positions(patterns: &Punctuated<Pat, Token![,]>, len: usize) -> Vec<(usize, &Pat)> {
    let rest = patterns.iter().position(|pattern| matches!(pattern, Pat::Rest(_)));
    let position = |at: usize| match rest {
        Some(rest) if at > rest => (len + at).checked_sub(patterns.len()),
        _ => Some(at),
    };
    patterns.iter().enumerate().filter_map(|(at, pattern)| Some((position(at)?, pattern))).collect()
}

/// The variants of events of kube that hold an object.
const EVENTS: &[&str] =
    &["Added", "Applied", "Apply", "Cleanup", "Delete", "Deleted", "InitApply", "Modified", "Restarted"];

pub(super) fn member(member: &Member) -> String {
    match member {
        Member::Named(name) => name.to_string(),
        Member::Unnamed(position) => position.index.to_string(),
    }
}
