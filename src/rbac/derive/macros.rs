//! The `macro_rules!` of the packages, and what in macros may make requests.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::Item;

use super::foreign::Kube;
use super::{manager, table};
use crate::source::macros::words;
use crate::source::{ItemRef, ModuleId, SourceTree};

/// The macros of the tree, and what became of their calls.
#[derive(Debug, Default)]
pub(super) struct Macros {
    rules: BTreeMap<String, Vec<ItemRef>>,
    /// Those that something calls.
    called: BTreeSet<ItemRef>,
    pub(super) depth: usize,
    pub(super) calls: usize,
}

impl Macros {
    pub(super) fn new(tree: &SourceTree) -> Self {
        let mut rules: BTreeMap<String, Vec<ItemRef>> = BTreeMap::new();
        for item in tree.all_items() {
            let module = tree.module(item);
            if let Item::Macro(found) = tree.item(item)
                && let Some(name) = found.ident.as_ref().filter(|_| found.mac.path.is_ident("macro_rules"))
                && !tree.is_fetched(module)
                && !manager::is_inside(tree, module)
            {
                rules.entry(name.to_string()).or_default().push(item);
            }
        }
        Self { rules, ..Self::default() }
    }

    pub(super) fn start(&mut self) {
        self.called.clear();
        self.calls = 0;
    }

    /// Whether something calls it: what it writes is told there.
    pub(super) fn is_called(&self, item: ItemRef) -> bool {
        self.called.contains(&item)
    }

    pub(super) fn call(&mut self, item: ItemRef) {
        self.called.insert(item);
    }

    /// The macro that a call in a module means.
    pub(super) fn named(&self, tree: &SourceTree, module: ModuleId, path: &syn::Path) -> Option<ItemRef> {
        let krate = |module: ModuleId| tree.module_path(module).swap_remove(0);
        let candidates = self.rules.get(&path.segments.last()?.ident.to_string())?;
        let first = path.segments.first().filter(|_| path.segments.len() > 1).map(|first| first.ident.to_string());
        let wanted = match first.as_deref() {
            None | Some("crate" | "self" | "super") => krate(module),
            Some(other) => other.to_owned(),
        };
        let in_crate = candidates.iter().find(|item| krate(tree.module(**item)) == wanted);
        let imported = || candidates.first().filter(|_| first.is_none() && candidates.len() == 1);
        in_crate.or_else(imported).copied()
    }
}

/// The calls of macros that stand for items.
pub(super) fn calls(item: &Item) -> Vec<&syn::Macro> {
    match item {
        Item::Macro(call) if call.ident.is_none() => vec![&call.mac],
        Item::Impl(block) => {
            let calls = block.items.iter().filter_map(|item| match item {
                syn::ImplItem::Macro(call) => Some(&call.mac),
                _ => None,
            });
            calls.collect()
        }
        _ => Vec::new(),
    }
}

/// Tokens that may be calls of an `Api`: `Api::…`, a method that only an `Api` has, or a plain one with its parameters.
pub(super) fn speaks_of_api(tokens: TokenStream) -> bool {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_punct = |token: Option<&TokenTree>, wanted: char| matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted);
    tokens.iter().enumerate().any(|(at, token)| match token {
        TokenTree::Group(group) => speaks_of_api(group.stream()),
        TokenTree::Ident(ident) => {
            let name = ident.to_string();
            let before = at.checked_sub(1).and_then(|at| tokens.get(at));
            let after = tokens.get(at + 1);
            if !is_punct(before, '.') {
                return name == "Api" && is_punct(after, ':') && is_punct(tokens.get(at + 2), ':');
            }
            let given = || matches!(after, Some(TokenTree::Group(group)) if names_params(group.stream()));
            table::is_telling(&name) || (table::takes_params(&name) && given())
        }
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

/// Tokens that name a type which only requests take.
fn names_params(tokens: TokenStream) -> bool {
    words(tokens).iter().any(|word| word == "EventType" || Kube::named(&word.to_string()).is_params())
}
