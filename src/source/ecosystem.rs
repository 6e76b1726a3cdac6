//! Facts about published packages, which the tree does not read.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use syn::Item;

use super::namespace::Namespace;

/// Facts about published packages, supplied by a room that knows them.
#[derive(Debug)]
pub struct Ecosystem {
    /// The derive whose types are searched for.
    pub derive: Derive,
    /// Re-exports by crate: (path below the crate, canonical path), a longer path before its own prefix. The empty path
    /// is the whole crate.
    pub aliases: &'static [(&'static str, &'static [(&'static str, &'static str)])],
    /// Names that a glob import of a module brings in, by the module's canonical path. Limited to names where a wrong
    /// guess is impossible: a second glob import of the same name would make its use an error, see [the
    /// reference](https://doc.rust-lang.org/reference/names/name-resolution.html#r-names.resolution.expansion.imports.ambiguity.glob-vs-glob).
    pub globs: &'static [(&'static str, &'static [&'static str])],
    /// Crates without a public name that shadows one of the prelude.
    pub keep_prelude: &'static [&'static str],
    /// A package whose module contents are known without parsing it.
    pub listed: Listed,
}

/// A derive macro. Files that may use it are parsed first.
#[derive(Debug)]
pub struct Derive {
    /// Its exported name.
    pub name: &'static str,
    /// Its helper attribute.
    pub attribute: &'static str,
    /// Attribute macros that expand to the derive.
    pub attribute_macros: &'static [&'static str],
    /// The packages that export the derive.
    pub packages: &'static [&'static str],
    /// The name prefix of packages that depend on these and have no derive of their own.
    pub family: &'static str,
    /// The type that the derive declares beside an item.
    pub declares: fn(&Item) -> Option<String>,
}

/// A package whose module contents are known without parsing it.
#[derive(Debug)]
pub struct Listed {
    /// The name of its crate.
    pub krate: &'static str,
    /// Returns true if the module at this path below the crate has the name; `None` if unknown.
    pub has: fn(&[String], &str, Namespace) -> Option<bool>,
}

/// Caches of other rooms: one value per type, kept for the lifetime of the tree.
#[derive(Debug, Default)]
pub(super) struct Caches(RefCell<BTreeMap<TypeId, Rc<dyn Any>>>);

impl Caches {
    pub(super) fn get<T: Default + 'static>(&self) -> Rc<T> {
        let mut caches = self.0.borrow_mut();
        let cache = caches.entry(TypeId::of::<T>()).or_insert_with(|| Rc::new(T::default()));
        Rc::clone(cache).downcast().unwrap_or_default()
    }
}

impl Ecosystem {
    pub(crate) fn canonical(&self, mut path: Vec<String>) -> Vec<String> {
        if matches!(path[0].as_str(), "core" | "alloc") {
            path[0] = "std".to_string();
        }
        // A rewritten path may be an alias again: kube::core → kube_core → …
        for _ in 0..4 {
            let Some((alias, canonical)) = self.alias(&path) else { break };
            let mut rewritten: Vec<String> = canonical.split("::").map(str::to_owned).collect();
            rewritten.extend(path.drain(alias..));
            if rewritten == path {
                break;
            }
            path = rewritten;
        }
        path
    }

    /// The number of leading parts that form an alias, and the canonical path.
    fn alias(&self, path: &[String]) -> Option<(usize, &'static str)> {
        let (krate, rest) = path.split_first()?;
        let aliases = super::prelude::ALIASES.iter().chain(self.aliases).find(|(of, _)| of == krate)?.1;
        aliases.iter().find_map(|(alias, canonical)| {
            let mut parts = alias.split("::").filter(|part| !part.is_empty());
            let length = parts.clone().count();
            let is_prefix = rest.len() >= length && parts.by_ref().zip(rest).all(|(part, other)| part == other);
            is_prefix.then_some((length + 1, *canonical))
        })
    }

    pub(super) fn glob_has(&self, path: &[String], name: &str) -> bool {
        let path = self.canonical(path.to_vec()).join("::");
        let mut globs = super::prelude::GLOBS.iter().chain(self.globs);
        globs.any(|(glob, names)| *glob == path && names.contains(&name))
    }

    /// Returns true if a glob import from this crate shadows no prelude type.
    pub(super) fn keeps_prelude(&self, krate: &str) -> bool {
        krate == "std" || self.keep_prelude.contains(&krate)
    }

    pub(super) fn lists(&self, path: &[String]) -> bool {
        path.first().is_some_and(|krate| krate == self.listed.krate)
    }
}
