//! Imports, named and glob: the names that each binds in its module.

use std::collections::BTreeSet;
use std::rc::Rc;

use syn::{Item, UseTree};

use super::super::ident::ident;
use super::super::namespace::Namespace;
use super::super::prelude::{is_primitive, prelude};
use super::super::sources::{ModuleId, Sources};
use super::names::{Def, ForeignGlob, NameBinding, Precedence, Scopes, Visible, sees};
use super::walk::{ResolveFailure, extern_crate, is_anchor};

#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each field is set by the import")]
pub(super) struct Import {
    pub(super) index: usize,
    pub(super) module: ModuleId,
    /// The start of the path: the module, or in the 2015 edition the crate root.
    pub(super) base: ModuleId,
    pub(super) path: Vec<String>,
    pub(super) leading_colon: bool,
    /// Under a `cfg` that only the compiler can decide.
    pub(super) conditional: bool,
    /// Resolved in at least one namespace.
    pub(super) found: bool,
    /// `None`: a glob.
    pub(super) name: Option<Rc<str>>,
    /// `{self}`: the type namespace only.
    pub(super) types_only: bool,
    pub(super) visible: Visible,
    /// The canonical path in a foreign crate, valid unless a name of the module shadows that crate.
    pub(super) foreign: Option<Rc<[String]>>,
}

impl Scopes {
    /// Runs a named import. Returns true if a name changed.
    pub(super) fn import(&mut self, sources: &Sources, import: &mut Import) -> bool {
        let Some(name) = import.name.clone() else { return false };
        let mut changed = false;
        for namespace in Namespace::ALL {
            if import.types_only && namespace != Namespace::Types {
                continue;
            }
            let def = match &import.foreign {
                Some(path) if !self.hides_crate(import) => Def::Foreign(Rc::clone(path)),
                _ => match self.walk(sources, import.base, &import.path, import.leading_colon, namespace) {
                    Ok(def) => def,
                    Err(ResolveFailure::Ambiguous(why, _)) => Def::Ambiguous(why),
                    Err(ResolveFailure::Missing(..) | ResolveFailure::Other(_)) => continue,
                },
            };
            import.found = true;
            if let Def::Foreign(path) = &def
                && import.foreign.is_none()
                && self.is_of_crate(sources, import)
            {
                import.foreign = Some(Rc::clone(path));
            }
            let precedence = match &def {
                Def::Foreign(path) if path.len() > 1 && !import.types_only => Precedence::Possible,
                _ => Precedence::Explicit,
            };
            let def = if import.conditional { if_present(sources, import, &name, namespace, def) } else { def };
            let (visible, conditional) = (import.visible, import.conditional);
            let binding = NameBinding { def, visible, precedence, import: Some(import.index), conditional };
            changed |= self.bind(import.module, &name, namespace, binding);
        }
        changed
    }

    /// Returns true if a name of the importing module shadows the crate at the start of the path.
    pub(super) fn hides_crate(&self, import: &Import) -> bool {
        let first = import.path[0].as_str();
        let names = self.names[import.base.0 as usize].get(first);
        let binding = names.and_then(|names| names[Namespace::Types as usize].as_ref());
        !import.leading_colon && binding.is_some_and(|binding| !self.is_namesake(import.base, first, binding))
    }

    /// Returns true if the path starts with a foreign crate and has more segments.
    pub(super) fn is_of_crate(&self, sources: &Sources, import: &Import) -> bool {
        let [first, _, ..] = import.path.as_slice() else { return false };
        if is_anchor(first) || self.hides_crate(import) {
            return false;
        }
        let krate = sources[import.module].krate;
        let declared = self.extern_crates.get(&(krate, first.clone())).cloned();
        matches!(declared.or_else(|| extern_crate(sources, krate, first)), Some(Def::Foreign(_)))
    }

    pub(super) fn glob(&mut self, sources: &Sources, import: &Import) -> bool {
        match self.walk(sources, import.base, &import.path, import.leading_colon, Namespace::Types) {
            Ok(Def::Module(from)) if from == import.module => false,
            Ok(Def::Module(from)) => {
                sources.request(from);
                let visible: Vec<_> = self.names[from.0 as usize]
                    .iter()
                    .flat_map(|(name, slots)| {
                        Namespace::ALL.iter().zip(slots).filter_map(move |(namespace, slot)| {
                            slot.as_ref().map(|binding| (name.clone(), *namespace, binding.clone()))
                        })
                    })
                    .filter(|(_, _, binding)| sees(sources, import.module, binding.visible))
                    .collect();
                let mut changed = false;
                for (name, namespace, binding) in visible {
                    changed |= self.bind_glob(sources, import, &name, namespace, binding.def);
                }
                // A glob re-exports the globs of the other module.
                let globs = self.foreign_globs.get(&from).into_iter().flatten();
                let globs = globs.filter(|(_, glob)| sees(sources, import.module, glob.visible));
                let globs: Vec<_> = globs.map(|(path, _)| path.clone()).collect();
                for path in globs {
                    changed |= self.foreign_glob(import, path, Some(from));
                }
                changed
            }
            Ok(Def::Item(item)) => {
                let Item::Enum(data) = &sources[item].item else { return false };
                let mut changed = false;
                for variant in &data.variants {
                    let name: Rc<str> = ident(&variant.ident).into();
                    for namespace in [Namespace::Types, Namespace::Values] {
                        let def = Def::Member(item, name.clone());
                        changed |= self.bind_glob(sources, import, &name, namespace, def);
                    }
                }
                changed
            }
            Ok(Def::Foreign(path)) => self.foreign_glob(import, path, None),
            _ => false,
        }
    }

    pub(super) fn bind_glob(
        &mut self,
        sources: &Sources,
        import: &Import,
        name: &str,
        namespace: Namespace,
        mut def: Def,
    ) -> bool {
        if namespace != Namespace::Macros
            && let Some(call) = self.macro_items.may_declare(import.module, name)
        {
            def = Def::Ambiguous(format!("`{call}!` may declare it").into());
        } else if import.conditional {
            def = if_present(sources, import, name, namespace, def);
        }
        let (visible, precedence, conditional) = (import.visible, Precedence::Glob, import.conditional);
        let binding = NameBinding { def, visible, precedence, import: Some(import.index), conditional };
        self.bind(import.module, name, namespace, binding)
    }

    pub(super) fn foreign_glob(&mut self, import: &Import, path: Rc<[String]>, from: Option<ModuleId>) -> bool {
        let globs = self.foreign_globs.entry(import.module).or_default();
        let mut changed = !globs.contains_key(&path);
        let new = || ForeignGlob { visible: import.visible, own: false, through: BTreeSet::new() };
        let glob = globs.entry(path).or_insert_with(new);
        if import.visible == Visible::Everywhere && glob.visible != Visible::Everywhere {
            glob.visible = Visible::Everywhere;
            changed = true;
        }
        changed
            | match from {
                Some(from) => glob.through.insert(from),
                None => !std::mem::replace(&mut glob.own, true),
            }
    }
}

/// The definition of a conditional import; ambiguous if the name has another meaning without it.
pub(super) fn if_present(sources: &Sources, import: &Import, name: &str, namespace: Namespace, def: Def) -> Def {
    let krate = sources[import.module].krate;
    let types = namespace == Namespace::Types;
    let in_prelude = prelude(name, namespace).map(|path| Def::Foreign(path.into()));
    let without = in_prelude.or_else(|| types.then(|| extern_crate(sources, krate, name)).flatten());
    if without.is_some_and(|without| without != def) || (types && is_primitive(name)) {
        return Def::Ambiguous(format!("the meaning of `{name}` depends on `cfg`").into());
    }
    def
}

pub(super) fn flatten(
    tree: &UseTree,
    path: &mut Vec<String>,
    add: &mut impl FnMut(Vec<String>, Option<Rc<str>>, bool),
) {
    let full = |path: &[String], name: &str| match name {
        "self" if !path.is_empty() => (path.to_vec(), true),
        _ => (path.iter().cloned().chain([name.to_string()]).collect(), false),
    };
    match tree {
        UseTree::Path(tree) => {
            path.push(ident(&tree.ident));
            flatten(&tree.tree, path, add);
            path.pop();
        }
        UseTree::Name(tree) => {
            let (path, types_only) = full(path, &ident(&tree.ident));
            if let Some(name) = path.last().map(|name| Rc::from(name.as_str())) {
                add(path, Some(name), types_only);
            }
        }
        UseTree::Rename(tree) => {
            let (path, types_only) = full(path, &ident(&tree.ident));
            // `as _` binds no name, but brings a trait into scope.
            let name = match ident(&tree.rename) {
                name if name == "_" => format!("_ {}", path.join("::")),
                name => name,
            };
            add(path, Some(name.into()), types_only);
        }
        UseTree::Glob(_) => add(path.clone(), None, true),
        UseTree::Group(tree) => tree.items.iter().for_each(|tree| flatten(tree, path, add)),
    }
}
