//! What a path means. One that is not resolved says why, and what may hide its meaning.

#[cfg(test)]
mod tests;
mod unresolved;

use std::collections::BTreeMap;

use super::ident::segments;
use super::namespace::Namespace;
use super::resolve::names::Def;
use super::resolve::walk::Failure;
use super::sources::{ItemRef, ModuleId};
use super::tree::SourceTree;

/// What a path means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// An item of the tree.
    Local(ItemRef),
    /// A variant or an associated item of an item of the tree.
    Member(ItemRef, String),
    /// Something of another crate, by its canonical path: package name first, `core` and `alloc` as `std`.
    Foreign(Vec<String>),
    /// A primitive type.
    Primitive(String),
    /// Not resolved, and why.
    Unresolved(String),
}

impl SourceTree {
    /// What a path in a type position means, seen from a module. Generic parameters and `Self` are the caller's.
    pub fn resolve(&self, module: ModuleId, path: &syn::Path) -> Resolution {
        self.resolve_in(module, path, Namespace::Types)
    }

    /// What a path in any position means, seen from a module.
    pub fn resolve_in(&self, module: ModuleId, path: &syn::Path, namespace: Namespace) -> Resolution {
        let (parts, module) = (segments(path), self.sources.scope(module));
        match self.scopes.walk(&self.sources, module, &parts, path.leading_colon.is_some(), namespace) {
            Ok(Def::Item(item)) => Resolution::Local(item),
            Ok(Def::Member(item, name)) => Resolution::Member(item, name.to_string()),
            Ok(Def::Foreign(path)) => Resolution::Foreign(self.sources.ecosystem.canonical(path.to_vec())),
            Ok(Def::Module(of)) => match self.sources[of].declared {
                Some(item) => Resolution::Local(item),
                None => Resolution::Unresolved(format!("`{}` is a crate", parts.join("::"))),
            },
            Ok(Def::Ambiguous(why)) => Resolution::Unresolved(why.to_string()),
            Err(Failure::Ambiguous(why, at)) => Resolution::Unresolved(format!("`{}` is ambiguous: {why}", parts[at])),
            Err(Failure::Other(why)) => Resolution::Unresolved(why),
            Err(Failure::Missing(of, at)) => self.explain(module, &parts, of, at, namespace),
        }
    }

    /// What a path that can't be resolved may mean through glob imports from other crates: the paths there.
    pub fn through_foreign_globs(&self, module: ModuleId, path: &syn::Path, namespace: Namespace) -> Vec<Vec<String>> {
        let (parts, module) = (segments(path), self.sources.scope(module));
        let found = self.scopes.walk(&self.sources, module, &parts, path.leading_colon.is_some(), namespace);
        let Err(Failure::Missing(of, at)) = found else { return Vec::new() };
        self.foreign_globs(of).map(|glob| self.sources.ecosystem.canonical([&glob, &parts[at..]].concat())).collect()
    }

    /// Types and traits that have a name in a module; `None` when a macro, or an import that is not found, may bring
    /// others.
    pub(super) fn types_in_scope(&self, module: ModuleId) -> Option<impl Iterator<Item = ItemRef>> {
        let module = self.sources.scope(module);
        let all = &self.scopes.names[module.0 as usize];
        let types = all.values().filter_map(|names| Some(&names[Namespace::Types as usize].as_ref()?.def));
        let clear = !types.clone().any(|def| matches!(def, Def::Ambiguous(_)))
            && self.scopes.unresolved.keys().all(|(of, _)| *of != module)
            && self.macro_calls(module).is_none();
        clear.then(|| types.filter_map(|def| if let Def::Item(item) = def { Some(*item) } else { None }))
    }

    fn foreign_globs(&self, module: ModuleId) -> impl Iterator<Item = Vec<String>> {
        let globs = self.scopes.foreign_globs.get(&module).into_iter().flat_map(BTreeMap::keys);
        globs.map(|path| self.sources.ecosystem.canonical(path.to_vec()))
    }
}
