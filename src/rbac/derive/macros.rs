//! Calls of macros that are still there after the expansion.

use syn::{ImplItem, Item, TraitItem};

/// The calls of macros that stand for items.
pub(super) fn calls(item: &Item) -> Vec<&syn::Macro> {
    match item {
        Item::Macro(call) if call.ident.is_none() => vec![&call.mac],
        Item::Impl(block) => {
            let calls = block.items.iter().filter_map(|item| match item {
                ImplItem::Macro(call) => Some(&call.mac),
                _ => None,
            });
            calls.collect()
        }
        Item::Trait(block) => {
            let calls = block.items.iter().filter_map(|item| match item {
                TraitItem::Macro(call) => Some(&call.mac),
                _ => None,
            });
            calls.collect()
        }
        _ => Vec::new(),
    }
}
