//! The `macro_rules!` of the packages.

use std::collections::{BTreeMap, BTreeSet};

use syn::Item;

use super::manager;
use crate::source::{ItemRef, ModuleId, SourceTree};

/// The macros of the tree, and what became of their calls.
#[derive(Debug, Default)]
pub(super) struct Macros {
    rules: BTreeMap<String, Vec<ItemRef>>,
    /// Those that something calls: what they write is told there.
    pub(super) called: BTreeSet<ItemRef>,
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
