//! The functions to which strings are followed: those that make a kind or name a subresource, and those that call them.

use std::collections::BTreeSet;

use proc_macro2::Ident;
use quote::ToTokens as _;
use syn::visit::Visit;

use super::index::{FunctionId, FunctionIndex, IndexedFunction, Owner};
use crate::source::macros::words;

/// The functions whose string parameters may decide which resource is requested.
pub(super) fn spelling(index: &FunctionIndex<'_>) -> BTreeSet<FunctionId> {
    let mentions: Vec<(FunctionId, Mentions)> = index
        .ids()
        .map(|id| {
            let mut mentions = Mentions::default();
            if let Some(block) = index.get(id).block {
                mentions.visit_block(block);
            }
            (id, mentions)
        })
        .collect();
    let mut found: BTreeSet<FunctionId> = BTreeSet::new();
    let mut names: BTreeSet<String> = BTreeSet::new();
    loop {
        let is_new = |id: &FunctionId, mentions: &Mentions| {
            !found.contains(id) && (mentions.spells || mentions.names.iter().any(|name| names.contains(name)))
        };
        let new: Vec<FunctionId> =
            mentions.iter().filter(|(id, mentions)| is_new(id, mentions)).map(|(id, _)| *id).collect();
        if new.is_empty() {
            return found;
        }
        for id in new {
            found.insert(id);
            names.extend(called(index.get(id)));
        }
    }
}

/// Names of a function in calls: by itself, below its type, or as a method.
fn called(function: &IndexedFunction<'_>) -> Vec<String> {
    let name = function.name();
    let owner = match function.owner {
        None => return vec![name],
        Some(Owner::Impl(block, _)) => words(block.item.self_ty.to_token_stream()).first().map(Ident::to_string),
        Some(Owner::Trait(item, _)) => Some(item.ident.to_string()),
    };
    let mut names = vec![format!("Self::{name}"), format!("{}::{name}", owner.unwrap_or_default())];
    if function.takes_self() {
        names.push(format!(".{name}"));
    }
    names
}

/// Names in a body.
#[derive(Debug, Default)]
struct Mentions {
    names: BTreeSet<String>,
    spells: bool,
}

impl Mentions {
    fn word(&mut self, word: &str) {
        self.spells |=
            matches!(word, "ApiResource" | "GroupVersionKind" | "GroupVersion") || word.ends_with("_subresource");
    }
}

impl<'ast> Visit<'ast> for Mentions {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        for segment in &segments {
            self.word(segment);
        }
        match segments.as_slice() {
            [.., owner, last] if owner.starts_with(char::is_uppercase) => {
                self.names.insert(format!("{owner}::{last}"));
            }
            [.., last] => {
                self.names.insert(last.clone());
            }
            [] => {}
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let name = call.method.to_string();
        self.word(&name);
        self.names.insert(format!(".{name}"));
        syn::visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        for word in words(call.tokens.clone()) {
            let word = word.to_string();
            self.word(&word);
            self.names.extend([format!(".{word}"), word]);
        }
        syn::visit::visit_macro(self, call);
    }
}
