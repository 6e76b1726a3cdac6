//! The names of every module.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::super::macros::MacroItems;
use super::super::namespace::Namespace;
use super::super::package::CrateId;
use super::super::sources::{ItemRef, ModuleId, Sources};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::source) enum Def {
    Module(ModuleId),
    Item(ItemRef),
    Member(ItemRef, Rc<str>),
    Foreign(Rc<[String]>),
    /// Several definitions, between which cfg or an error in the code decides; the text is the reason.
    Ambiguous(Rc<str>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::source) enum Visible {
    Everywhere,
    Within(ModuleId),
}

/// The kind of a declaration; a higher precedence shadows a lower one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::source) enum Precedence {
    Glob,
    /// A named import from a foreign crate; the name may not exist in this namespace.
    Possible,
    Explicit,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::source) struct NameBinding {
    pub(in crate::source) def: Def,
    pub(in crate::source) visible: Visible,
    pub(in crate::source) precedence: Precedence,
    /// The import behind it; a later round may resolve it better.
    pub(in crate::source) import: Option<usize>,
    /// The import has a `cfg` that only the compiler can decide.
    pub(in crate::source) conditional: bool,
}

pub(in crate::source) type ModuleNames = BTreeMap<Rc<str>, [Option<NameBinding>; 3]>;

#[derive(Debug)]
pub(in crate::source) struct ForeignGlob {
    pub(in crate::source) visible: Visible,
    /// The import is in the module itself.
    pub(in crate::source) own: bool,
    /// The modules whose globs re-export it to this one.
    pub(in crate::source) through: BTreeSet<ModuleId>,
}

#[derive(Debug, Default)]
pub(in crate::source) struct Scopes {
    pub(in crate::source) names: Vec<ModuleNames>,
    /// Glob imports from other crates, by module.
    pub(in crate::source) foreign_globs: BTreeMap<ModuleId, BTreeMap<Rc<[String]>, ForeignGlob>>,
    /// The names of all named imports, resolved or not.
    pub(in crate::source) imported: BTreeSet<(ModuleId, Rc<str>)>,
    /// `extern crate x as y` at a crate root.
    pub(in crate::source) extern_crates: BTreeMap<(CrateId, String), Def>,
    pub(in crate::source) macro_items: MacroItems,
    /// Unresolved named imports: their paths.
    pub(in crate::source) unresolved: BTreeMap<(ModuleId, Rc<str>), Vec<String>>,
    /// `#[macro_use] extern crate x`.
    pub(in crate::source) macro_use: BTreeMap<CrateId, Vec<String>>,
    /// `use x::…::x` of a macro or function. A type `x` would make the first `x` ambiguous for rustc.
    pub(in crate::source) namesakes: BTreeSet<(ModuleId, Rc<str>)>,
}

impl NameBinding {
    pub(in crate::source) fn item(def: Def, visible: Visible) -> Self {
        Self { def, visible, precedence: Precedence::Explicit, import: None, conditional: false }
    }
}

impl Scopes {
    pub(in crate::source) fn get(
        &self,
        sources: &Sources,
        module: ModuleId,
        name: &str,
        namespace: Namespace,
    ) -> Option<&NameBinding> {
        let names = self.names[module.0 as usize].get(name);
        let binding = names.and_then(|names| names[namespace as usize].as_ref());
        // An outline has only modules. Under an unknown cfg, the rest of the file may declare the same name.
        let certain = |binding: &NameBinding| match binding.def {
            Def::Module(found) => sources[found].unknown_cfg.is_none(),
            _ => false,
        };
        if !binding.is_some_and(certain) {
            sources.request(module);
        }
        binding
    }

    /// Binds a name. Returns false if the same binding, or one of higher precedence, exists.
    pub(in crate::source) fn bind(
        &mut self,
        module: ModuleId,
        name: &str,
        namespace: Namespace,
        mut new: NameBinding,
    ) -> bool {
        let names = &mut self.names[module.0 as usize];
        if !names.contains_key(name) {
            names.insert(name.into(), Default::default());
        }
        let Some(slot) = names.get_mut(name).map(|slots| &mut slots[namespace as usize]) else { return false };
        if let Some(old) = slot {
            let unclear = || Def::Ambiguous(format!("the meaning of `{name}` depends on `cfg`").into());
            if old.precedence > new.precedence {
                let hides = old.conditional && old.def != new.def && old.import != new.import;
                if hides {
                    *old = NameBinding { def: unclear(), import: None, conditional: false, ..old.clone() };
                }
                return hides;
            }
            if old.precedence < new.precedence && new.conditional && old.def != new.def && old.import != new.import {
                new = NameBinding { def: unclear(), import: None, conditional: false, ..new };
            }
            if old.precedence == new.precedence && (old.import.is_none() || old.import != new.import) {
                if old.def == new.def {
                    let wider = new.visible == Visible::Everywhere && old.visible != Visible::Everywhere;
                    if wider {
                        old.visible = new.visible;
                    }
                    return wider;
                }
                if matches!(old.def, Def::Ambiguous(_)) {
                    return false;
                }
                // Caused by cfg that only the compiler knows, or by an error in the code.
                new.def = Def::Ambiguous(format!("multiple imports or declarations of `{name}`").into());
                new.import = None;
            }
            if *old == new {
                return false;
            }
        }
        *slot = Some(new);
        true
    }
}

pub(in crate::source) fn sees(sources: &Sources, module: ModuleId, visible: Visible) -> bool {
    let Visible::Within(around) = visible else { return true };
    let mut at = Some(module);
    while let Some(module) = at {
        if module == around {
            return true;
        }
        at = sources[module].parent;
    }
    false
}
