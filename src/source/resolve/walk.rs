//! Follows a path from a module, segment by segment.

use std::collections::BTreeSet;
use std::rc::Rc;

use syn::Item;

use super::super::ident::crate_name;
use super::super::namespace::Namespace;
use super::super::package::CrateId;
use super::super::sources::{ItemRef, ModuleId, Sources};
use super::names::{Def, NameBinding, Precedence, Scopes};

pub(in crate::source) enum ResolveFailure {
    /// The module does not declare the segment at this position.
    Missing(ModuleId, usize),
    Ambiguous(Rc<str>, usize),
    Other(String),
}

impl Scopes {
    pub(in crate::source) fn walk(
        &self,
        sources: &Sources,
        module: ModuleId,
        path: &[String],
        leading_colon: bool,
        namespace: Namespace,
    ) -> Result<Def, ResolveFailure> {
        let krate = sources[module].krate;
        let space = |at: usize| if at + 1 == path.len() { namespace } else { Namespace::Types };
        let root = sources[krate].root;
        let Some(first) = path.first() else { return Ok(Def::Module(root)) };
        let package = sources[krate].package;
        let from_root = leading_colon && sources[package].manifest.edition == "2015";
        let (module, leading_colon) = if from_root { (root, false) } else { (module, leading_colon) };
        let mut at = 1;
        let mut def = match first.as_str() {
            _ if leading_colon => self
                .extern_crates
                .get(&(krate, first.clone()))
                .cloned()
                .or_else(|| extern_crate(sources, krate, first))
                .unwrap_or_else(|| Def::Foreign([first.clone()].into())),
            "crate" | "$crate" => Def::Module(root),
            "self" | "super" => {
                let mut of = module;
                at = usize::from(first == "self");
                while path.get(at).is_some_and(|part| part == "super") {
                    let parent = sources[of].parent;
                    of = parent.ok_or_else(|| {
                        ResolveFailure::Other(
                            "too many leading `super`: there are no modules above the crate root".to_string(),
                        )
                    })?;
                    at += 1;
                }
                Def::Module(of)
            }
            "Self" => return Err(ResolveFailure::Other("`Self` is only valid in an `impl`".to_string())),
            name => {
                let alone = path.len() == 1;
                self.first_segment(sources, module, name, space(0), alone).ok_or(ResolveFailure::Missing(module, 0))?
            }
        };
        while at < path.len() {
            let name = &path[at];
            def = match def {
                Def::Module(of) => match self.get(sources, of, name, space(at)) {
                    Some(binding) => binding.def.clone(),
                    None => {
                        self.in_foreign_glob(sources, of, name, space(at)).ok_or(ResolveFailure::Missing(of, at))?
                    }
                },
                Def::Item(item) if at + 1 == path.len() => Def::Member(item, name.as_str().into()),
                Def::Foreign(prefix) => {
                    let rest = &path[at..];
                    at = path.len() - 1;
                    Def::Foreign(prefix.iter().chain(rest).cloned().collect())
                }
                Def::Item(_) | Def::Member(..) => {
                    return Err(ResolveFailure::Other(format!("`{}` is not a module", path[at - 1])));
                }
                Def::Ambiguous(why) => return Err(ResolveFailure::Ambiguous(why, at - 1)),
            };
            at += 1;
        }
        match def {
            Def::Ambiguous(why) => Err(ResolveFailure::Ambiguous(why, at - 1)),
            def => Ok(def),
        }
    }

    /// The first segment of a path (`alone` if it is the only one): a name in scope, or else a crate.
    pub(in crate::source) fn first_segment(
        &self,
        sources: &Sources,
        module: ModuleId,
        name: &str,
        namespace: Namespace,
        alone: bool,
    ) -> Option<Def> {
        let binding = self.get(sources, module, name, namespace);
        if let Some(binding) = binding.filter(|binding| alone || !self.is_namesake(module, name, binding)) {
            return Some(binding.def.clone());
        }
        if self.is_unresolved(module, name) {
            return None;
        }
        // A glob import shadows a crate.
        if let Some(path) = self.in_listed_glob(sources, module, name, namespace) {
            return Some(path);
        }
        let krate = sources[module].krate;
        if namespace == Namespace::Types && self.macro_items.declares(module, name).is_none() {
            let declared = self.extern_crates.get(&(krate, name.to_string())).cloned();
            if let Some(def) = declared.or_else(|| extern_crate(sources, krate, name)) {
                return Some(def);
            }
        }
        self.in_foreign_glob(sources, module, name, namespace)
    }

    /// An unresolved named import shadows every other meaning of the name.
    pub(in crate::source) fn is_unresolved(&self, module: ModuleId, name: &str) -> bool {
        !self.unresolved.is_empty() && self.unresolved.contains_key(&(module, Rc::from(name)))
    }

    /// Returns true if the binding is a macro or function: a longer path then begins with the crate of the same name.
    pub(in crate::source) fn is_namesake(&self, module: ModuleId, name: &str, binding: &NameBinding) -> bool {
        binding.precedence == Precedence::Possible && self.namesakes.contains(&(module, Rc::from(name)))
    }

    /// A name that a glob import from a foreign crate is known to bring in.
    pub(in crate::source) fn in_foreign_glob(
        &self,
        sources: &Sources,
        module: ModuleId,
        name: &str,
        namespace: Namespace,
    ) -> Option<Def> {
        let globs = self.foreign_globs.get(&module).filter(|_| !self.is_unresolved(module, name))?;
        match globs.keys().find(|path| sources.ecosystem.glob_has(path, name)) {
            Some(_) if self.macro_items.may_declare(module, name).is_some() => None,
            Some(path) => Some(Def::Foreign(path.iter().cloned().chain([name.to_string()]).collect())),
            None => self.in_listed_glob(sources, module, name, namespace),
        }
    }

    pub(in crate::source) fn in_listed_glob(
        &self,
        sources: &Sources,
        module: ModuleId,
        name: &str,
        namespace: Namespace,
    ) -> Option<Def> {
        let mut globs = self.foreign_globs.get(&module)?.keys().filter(|path| sources.ecosystem.lists(path));
        let path = globs.find(|path| brings(sources, path, name, namespace) == Some(true))?;
        self.is_unhidden(sources, module, path, name, &mut BTreeSet::new())
            .then(|| Def::Foreign(path.iter().cloned().chain([name.to_string()]).collect()))
    }

    /// Returns true if along some chain of globs no macro call, unread file or named import can shadow the name.
    pub(in crate::source) fn is_unhidden(
        &self,
        sources: &Sources,
        module: ModuleId,
        path: &Rc<[String]>,
        name: &str,
        seen: &mut BTreeSet<ModuleId>,
    ) -> bool {
        if !seen.insert(module) {
            return false;
        }
        sources.request(module);
        let data = &sources[module];
        let calls = |item: &ItemRef| matches!(&sources[*item].item, Item::Macro(item) if item.ident.is_none());
        let Some(glob) = self.foreign_globs.get(&module).and_then(|globs| globs.get(path)) else { return false };
        data.complete
            && !data.items.iter().any(calls)
            && !self.imported.contains(&(module, Rc::from(name)))
            && (glob.own || glob.through.iter().any(|from| self.is_unhidden(sources, *from, path, name, seen)))
    }
}

/// Returns true if a glob import from a foreign crate brings in the name; `None` if unknown.
pub(in crate::source) fn brings(sources: &Sources, path: &[String], name: &str, namespace: Namespace) -> Option<bool> {
    let path = sources.ecosystem.canonical(path.to_vec());
    if sources.ecosystem.lists(&path) {
        return (sources.ecosystem.listed.has)(&path[1..], name, namespace);
    }
    sources.ecosystem.glob_has(&path, name).then_some(true)
}

pub(in crate::source) fn extern_crate(sources: &Sources, krate: CrateId, name: &str) -> Option<Def> {
    if matches!(name, "std" | "core" | "alloc") {
        return Some(Def::Foreign(["std".to_string()].into()));
    }
    let package = &sources[sources[krate].package];
    let root = |krate: CrateId| Def::Module(sources[krate].root);
    if let Some(lib) = package.lib
        && lib != krate
        && sources[lib].name == name
    {
        return Some(root(lib));
    }
    let found = package.manifest.dependencies.get(name)?;
    if found.several {
        return Some(Def::Ambiguous("it is a different package on other platforms".into()));
    }
    if let Some(path) = &found.path {
        let local = sources.packages.iter().find(|package| !package.own && package.manifest.dir == *path);
        if let Some(lib) = local.and_then(|package| package.lib) {
            return Some(root(lib));
        }
    } else if let Some(version) = &found.locked {
        let fetched = sources.packages.iter().find(|package| {
            package.fetched
                && package.manifest.name == found.package
                && package.manifest.version.as_ref() == Some(&version.to_string())
        });
        if let Some(lib) = fetched.and_then(|package| package.lib) {
            return Some(root(lib));
        }
    }
    Some(Def::Foreign([crate_name(&found.package)].into()))
}

/// Returns true if the segment names a module relative to the code, not a crate.
pub(in crate::source) fn is_anchor(first: &str) -> bool {
    matches!(first, "crate" | "$crate" | "self" | "super" | "Self")
}
