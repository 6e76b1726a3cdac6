//! Resolves paths. A failure includes the reason and what may hide the meaning.

#[cfg(test)]
mod tests;
mod unresolved;

use std::collections::BTreeMap;

use super::ident::segments;
use super::namespace::Namespace;
use super::resolve::names::Def;
use super::resolve::walk::ResolveFailure;
use super::sources::{ItemRef, ModuleId};
use super::tree::SourceTree;

/// The meaning of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// An item of the tree.
    Local(ItemRef),
    /// A variant or an associated item of an item of the tree.
    Member(ItemRef, String),
    /// An item of another crate by its canonical path: package name first, `std` for `core` and `alloc`.
    Foreign(Vec<String>),
    /// A primitive type.
    Primitive(String),
    /// Unresolved, with the reason.
    Unresolved(String),
}

impl SourceTree {
    /// Resolves a type path as seen from a module. The caller handles generic parameters and `Self`.
    pub fn resolve(&self, module: ModuleId, path: &syn::Path) -> Resolution {
        self.resolve_in(module, path, Namespace::Types)
    }

    /// Resolves a path in a namespace, as seen from a module.
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
            Err(ResolveFailure::Ambiguous(why, at)) => {
                Resolution::Unresolved(format!("`{}` is ambiguous: {why}", parts[at]))
            }
            Err(ResolveFailure::Other(why)) => Resolution::Unresolved(why),
            Err(ResolveFailure::Missing(of, at)) => self.explain(module, &parts, of, at, namespace),
        }
    }

    /// The foreign paths that an unresolved path may mean through glob imports from other crates.
    pub fn through_foreign_globs(&self, module: ModuleId, path: &syn::Path, namespace: Namespace) -> Vec<Vec<String>> {
        let (parts, module) = (segments(path), self.sources.scope(module));
        let found = self.scopes.walk(&self.sources, module, &parts, path.leading_colon.is_some(), namespace);
        let Err(ResolveFailure::Missing(of, at)) = found else { return Vec::new() };
        self.foreign_globs(of).map(|glob| self.sources.ecosystem.canonical([&glob, &parts[at..]].concat())).collect()
    }

    /// The types and traits that have a name in a module; `None` if a macro or an unresolved import may add others.
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
