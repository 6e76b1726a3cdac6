//! The manager of generated projects, which is known by what it offers and not read: what it
//! requests depends on the methods that are called and the flags that are set, not on the code that it has.

use std::collections::BTreeMap;

use syn::Item;

use crate::runtime;
use crate::source::{ItemRef, ModuleId, SourceTree};

/// Its feature for a leader for life.
pub(super) const LIFE: &str = "leader-for-life";

/// Returns true for the modules of the runtime's package.
pub(super) fn is_inside(tree: &SourceTree, module: ModuleId) -> bool {
    tree.manifest_of(module).name == runtime::PACKAGE
}

/// A type of the manager whose methods make requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ManagerType {
    Manager,
    Controller,
    Objects,
    Index,
    Webhooks,
}

pub(super) fn types(tree: &SourceTree) -> BTreeMap<ItemRef, ManagerType> {
    let named = |item: ItemRef| {
        let Item::Struct(found) = tree.item(item) else { return None };
        let known = match found.ident.to_string().as_str() {
            "Manager" => ManagerType::Manager,
            "Controller" => ManagerType::Controller,
            "Objects" => ManagerType::Objects,
            "Index" => ManagerType::Index,
            "Webhooks" => ManagerType::Webhooks,
            _ => return None,
        };
        is_inside(tree, tree.module(item)).then_some((item, known))
    };
    tree.all_items().filter_map(named).collect()
}
