//! What a path means: `use` in every form, globs and their cycles, re-exports, extern crates, the std prelude.
//!
//! The names of every module are computed once, by running all imports until nothing changes; a lookup is then a
//! walk along the path. A name that is not found is said to be so, with what may be hiding it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::rc::Rc;

use syn::{Fields, Item, UseTree, Visibility};

use super::file::FileId;
use super::foreign;
use super::kube::CustomResource;
use super::made::Made;
use super::manifest::crate_name;
use super::module::Sources;
use super::{CrateId, ItemRef, ModuleId, SourceTree, ident};

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
    /// It can't be told, and why.
    Unresolved(String),
}

/// Rust's three name spaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Namespace {
    /// Types, traits and modules.
    Types,
    /// Functions, constants, statics, constructors.
    Values,
    /// Macros, derives and attributes.
    Macros,
}

const NAMESPACES: [Namespace; 3] = [Namespace::Types, Namespace::Values, Namespace::Macros];

#[derive(Debug, Clone, PartialEq, Eq)]
enum Def {
    Module(ModuleId),
    Item(ItemRef),
    Member(ItemRef, Rc<str>),
    Foreign(Rc<[String]>),
    /// Several things, of which cfg or an error of the user chooses one.
    Ambiguous(Rc<str>),
}

/// Who can see a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Public,
    Within(ModuleId),
}

/// How a name came to be; a stronger one hides a weaker one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    Glob,
    /// An import from another crate, which may or may not exist in this name space.
    Maybe,
    Explicit,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Binding {
    def: Def,
    scope: Scope,
    strength: Strength,
    /// The import that made it, which may find a better answer in a later round.
    import: Option<usize>,
    /// The import is there only under a `cfg` that only the compiler can decide.
    doubtful: bool,
}

type Names = BTreeMap<Rc<str>, [Option<Binding>; 3]>;

/// A glob import from another crate, as a module has it.
#[derive(Debug)]
struct ForeignGlob {
    scope: Scope,
    /// The module says so itself.
    own: bool,
    /// The modules that it comes through.
    through: BTreeSet<ModuleId>,
}

#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is said by the import alone")]
struct Import {
    index: usize,
    module: ModuleId,
    /// Where the path begins: the module, in the edition of 2015 the root of the crate.
    base: ModuleId,
    path: Vec<String>,
    leading_colon: bool,
    /// Only the compiler can decide the `cfg` of it.
    doubtful: bool,
    /// It means something in one of the name spaces.
    found: bool,
    /// None: a glob.
    name: Option<Rc<str>>,
    /// `{self}`: the type name space only.
    types_only: bool,
    scope: Scope,
    /// What it imports from a crate that is not read, while nothing in the module is called like that crate.
    outside: Option<Rc<[String]>>,
}

/// The names of every module.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    names: Vec<Names>,
    /// Glob imports from other crates, by module.
    foreign_globs: BTreeMap<ModuleId, BTreeMap<Rc<[String]>, ForeignGlob>>,
    /// The names that imports give, whether they find something or not.
    imported: BTreeSet<(ModuleId, Rc<str>)>,
    /// `extern crate x as y` at a crate root.
    extern_crates: BTreeMap<(CrateId, String), Def>,
    /// What macro calls may declare.
    made: Made,
    /// Named imports that found nothing: their paths.
    failed: BTreeMap<(ModuleId, Rc<str>), Vec<String>>,
    /// `#[macro_use] extern crate x`.
    macro_use: BTreeMap<CrateId, Vec<String>>,
    /// `use x::…::x`: a macro or a function of the crate, or else rustc could not tell which `x` the path begins with.
    namesakes: BTreeSet<(ModuleId, Rc<str>)>,
}

impl Binding {
    fn item(def: Def, scope: Scope) -> Self {
        Self { def, scope, strength: Strength::Explicit, import: None, doubtful: false }
    }
}

enum Failure {
    /// No such name in the module, with the position of the part of the path.
    Missing(ModuleId, usize),
    /// The part of this position may mean several things.
    Unclear(Rc<str>, usize),
    Other(String),
}

impl Scopes {
    pub(super) fn build(sources: &Sources) -> Self {
        let names = vec![Names::new(); sources.modules.len()];
        let mut scopes = Self { names, made: Made::of(sources), ..Self::default() };
        let mut imports = Vec::new();
        for (position, data) in sources.items.iter().enumerate() {
            scopes.declare(sources, ItemRef(super::index(position)), data.module, &mut imports);
        }
        scopes.run(sources, &mut imports);
        if scopes.close(&imports) {
            scopes.run(sources, &mut imports);
        }
        for import in imports.into_iter().filter(|import| !import.found) {
            if let Some(name) = import.name {
                scopes.failed.insert((import.module, name), import.path);
            }
        }
        scopes
    }

    /// Runs all imports until nothing changes.
    fn run(&mut self, sources: &Sources, imports: &mut [Import]) {
        // Enough for any chain of re-exports that people write; each round is linear.
        for _ in 0..64 {
            let mut changed = false;
            for import in imports.iter_mut().filter(|import| import.name.is_some()) {
                changed |= self.import(sources, import);
            }
            for import in imports.iter().filter(|import| import.name.is_none()) {
                changed |= self.glob(sources, import);
            }
            if !changed {
                break;
            }
        }
    }

    /// A named import that found nothing has a meaning all the same, which is none that a glob import brings in. True
    /// when there is such a name.
    fn close(&mut self, imports: &[Import]) -> bool {
        let mut closed = false;
        for import in imports.iter().filter(|import| !import.found) {
            let name = import.name.as_ref().and_then(|name| self.names[import.module.0 as usize].get_mut(name));
            for binding in name.into_iter().flatten().flatten().filter(|binding| binding.strength == Strength::Glob) {
                let why = format!("nothing was found for `use {}`", import.path.join("::"));
                *binding = Binding::item(Def::Ambiguous(why.into()), binding.scope);
                closed = true;
            }
        }
        closed
    }

    fn declare(&mut self, sources: &Sources, id: ItemRef, module: ModuleId, imports: &mut Vec<Import>) {
        use Namespace::{Macros, Types, Values};
        let data = &sources.items[id.0 as usize];
        let (name, vis, namespaces): (_, _, &[Namespace]) = match &data.item {
            Item::Struct(item) => (
                &item.ident,
                &item.vis,
                if matches!(item.fields, Fields::Named(_)) { &[Types] } else { &[Types, Values] },
            ),
            Item::Enum(item) => (&item.ident, &item.vis, &[Types]),
            Item::Union(item) => (&item.ident, &item.vis, &[Types]),
            Item::Trait(item) => (&item.ident, &item.vis, &[Types]),
            Item::TraitAlias(item) => (&item.ident, &item.vis, &[Types]),
            Item::Type(item) => (&item.ident, &item.vis, &[Types]),
            Item::Const(item) => (&item.ident, &item.vis, &[Values]),
            Item::Static(item) => (&item.ident, &item.vis, &[Values]),
            Item::Fn(item) => (&item.sig.ident, &item.vis, &[Values]),
            Item::Mod(item) => (&item.ident, &item.vis, &[Types]),
            Item::Macro(item) => {
                if let Some(name) = &item.ident {
                    self.bind(module, &ident(name), Macros, Binding::item(Def::Item(id), Scope::Public));
                }
                return;
            }
            Item::ExternCrate(item) => {
                let krate = sources.modules[module.0 as usize].krate;
                let source = ident(&item.ident);
                let name = item.rename.as_ref().map_or_else(|| source.clone(), |(_, name)| ident(name));
                if item.attrs.iter().any(|attr| attr.path().is_ident("macro_use")) {
                    self.macro_use.entry(krate).or_default().push(source.clone());
                }
                let def = if source == "self" {
                    Some(Def::Module(sources.crates[krate.0 as usize].root))
                } else {
                    Some(extern_crate(sources, krate, &source).unwrap_or_else(|| Def::Foreign([source].into())))
                };
                if let Some(def) = def.filter(|_| name != "_") {
                    let scope = self.scope(sources, module, &item.vis);
                    self.bind(module, &name, Types, Binding::item(def.clone(), scope));
                    if sources.modules[module.0 as usize].parent.is_none() {
                        self.extern_crates.insert((krate, name), def);
                    }
                }
                return;
            }
            Item::Use(item) => {
                let scope = self.scope(sources, module, &item.vis);
                let doubtful = data.unknown_cfg.is_some();
                let krate = &sources.crates[sources.modules[module.0 as usize].krate.0 as usize];
                let old = sources.packages[krate.package.0 as usize].manifest.edition == "2015";
                let mut add = |path: Vec<String>, name: Option<Rc<str>>, types_only: bool| {
                    let from_root = old && !path.first().is_some_and(|first| is_anchor(first));
                    let base = if from_root { krate.root } else { module };
                    let leading_colon = item.leading_colon.is_some() && !old;
                    let index = imports.len();
                    if let Some(name) = &name {
                        self.imported.insert((module, Rc::clone(name)));
                    }
                    if let (Some(name), [first, _, ..], false) = (&name, path.as_slice(), leading_colon)
                        && **name == **first
                    {
                        self.namesakes.insert((module, Rc::clone(name)));
                    }
                    let (found, outside) = (false, None);
                    imports.push(Import {
                        index,
                        module,
                        base,
                        path,
                        leading_colon,
                        doubtful,
                        found,
                        name,
                        types_only,
                        scope,
                        outside,
                    });
                };
                flatten(&item.tree, &mut Vec::new(), &mut add);
                return;
            }
            _ => return,
        };
        let scope = self.scope(sources, module, vis);
        if let Some(resource) = CustomResource::of(&data.item)
            && resource.root != ident(name).as_str()
        {
            let def = Def::Member(id, resource.root.as_str().into());
            for namespace in [Types, Values] {
                let binding = Binding { strength: Strength::Glob, ..Binding::item(def.clone(), scope) };
                self.bind(module, &resource.root, namespace, binding);
            }
        }
        let def = data.child.map_or(Def::Item(id), Def::Module);
        for namespace in namespaces {
            self.bind(module, &ident(name), *namespace, Binding::item(def.clone(), scope));
        }
    }

    fn scope(&self, sources: &Sources, module: ModuleId, vis: &Visibility) -> Scope {
        match vis {
            Visibility::Public(_) => Scope::Public,
            Visibility::Inherited => Scope::Within(module),
            Visibility::Restricted(vis) => {
                let path = segments(&vis.path);
                match self.walk(sources, module, &path, false, Namespace::Types) {
                    Ok(Def::Module(module)) => Scope::Within(module),
                    _ => Scope::Within(sources.crates[sources.modules[module.0 as usize].krate.0 as usize].root),
                }
            }
        }
    }

    fn get(&self, sources: &Sources, module: ModuleId, name: &str, namespace: Namespace) -> Option<&Binding> {
        let names = self.names[module.0 as usize].get(name);
        let binding = names.and_then(|names| names[namespace as usize].as_ref());
        // An outline knows modules; what else a name means under an unknown cfg is in the rest of the file.
        let certain = |binding: &Binding| match binding.def {
            Def::Module(found) => sources.modules[found.0 as usize].unknown_cfg.is_none(),
            _ => false,
        };
        if !binding.is_some_and(certain) {
            sources.want(module);
        }
        binding
    }

    /// Sets a name; false when it was so already or something stronger is there.
    fn bind(&mut self, module: ModuleId, name: &str, namespace: Namespace, mut new: Binding) -> bool {
        let names = &mut self.names[module.0 as usize];
        if !names.contains_key(name) {
            names.insert(name.into(), Default::default());
        }
        let Some(slot) = names.get_mut(name).map(|slots| &mut slots[namespace as usize]) else { return false };
        if let Some(old) = slot {
            let unclear = || Def::Ambiguous(format!("what `{name}` means depends on `cfg`").into());
            if old.strength > new.strength {
                let hides = old.doubtful && old.def != new.def && old.import != new.import;
                if hides {
                    *old = Binding { def: unclear(), import: None, doubtful: false, ..old.clone() };
                }
                return hides;
            }
            if old.strength < new.strength && new.doubtful && old.def != new.def && old.import != new.import {
                new = Binding { def: unclear(), import: None, doubtful: false, ..new };
            }
            if old.strength == new.strength && (old.import.is_none() || old.import != new.import) {
                if old.def == new.def {
                    let wider = new.scope == Scope::Public && old.scope != Scope::Public;
                    if wider {
                        old.scope = new.scope;
                    }
                    return wider;
                }
                if matches!(old.def, Def::Ambiguous(_)) {
                    return false;
                }
                // cfg that only the compiler knows, or an error of the user.
                new.def = Def::Ambiguous(format!("`{name}` has more than one meaning here").into());
                new.import = None;
            }
            if *old == new {
                return false;
            }
        }
        *slot = Some(new);
        true
    }

    /// Runs a named import; true when it changed something.
    fn import(&mut self, sources: &Sources, import: &mut Import) -> bool {
        let Some(name) = import.name.clone() else { return false };
        let mut changed = false;
        for namespace in NAMESPACES {
            if import.types_only && namespace != Namespace::Types {
                continue;
            }
            let def = match &import.outside {
                Some(path) if !self.hides_crate(import) => Def::Foreign(Rc::clone(path)),
                _ => match self.walk(sources, import.base, &import.path, import.leading_colon, namespace) {
                    Ok(def) => def,
                    Err(Failure::Unclear(why, _)) => Def::Ambiguous(why),
                    Err(Failure::Missing(..) | Failure::Other(_)) => continue,
                },
            };
            import.found = true;
            if let Def::Foreign(path) = &def
                && import.outside.is_none()
                && self.is_of_crate(sources, import)
            {
                import.outside = Some(Rc::clone(path));
            }
            let strength = match &def {
                Def::Foreign(path) if path.len() > 1 && !import.types_only => Strength::Maybe,
                _ => Strength::Explicit,
            };
            let def = if import.doubtful { if_sure(sources, import, &name, namespace, def) } else { def };
            let (scope, doubtful) = (import.scope, import.doubtful);
            let binding = Binding { def, scope, strength, import: Some(import.index), doubtful };
            changed |= self.bind(import.module, &name, namespace, binding);
        }
        changed
    }

    /// Something in the module of an import is called like the crate that its path begins with.
    fn hides_crate(&self, import: &Import) -> bool {
        let first = import.path[0].as_str();
        let names = self.names[import.base.0 as usize].get(first);
        let binding = names.and_then(|names| names[Namespace::Types as usize].as_ref());
        !import.leading_colon && binding.is_some_and(|binding| !self.is_namesake(import.base, first, binding))
    }

    /// What a name means is not what a longer path begins with, which is the crate of the same name.
    fn is_namesake(&self, module: ModuleId, name: &str, binding: &Binding) -> bool {
        binding.strength == Strength::Maybe && self.namesakes.contains(&(module, Rc::from(name)))
    }

    /// The path of an import begins with the name of a crate that is not read, and goes on.
    fn is_of_crate(&self, sources: &Sources, import: &Import) -> bool {
        let [first, _, ..] = import.path.as_slice() else { return false };
        if is_anchor(first) || self.hides_crate(import) {
            return false;
        }
        let krate = sources.modules[import.module.0 as usize].krate;
        let declared = self.extern_crates.get(&(krate, first.clone())).cloned();
        matches!(declared.or_else(|| extern_crate(sources, krate, first)), Some(Def::Foreign(_)))
    }

    /// Runs a glob import; true when it changed something.
    fn glob(&mut self, sources: &Sources, import: &Import) -> bool {
        match self.walk(sources, import.base, &import.path, import.leading_colon, Namespace::Types) {
            Ok(Def::Module(from)) if from == import.module => false,
            Ok(Def::Module(from)) => {
                sources.want(from);
                let visible: Vec<_> = self.names[from.0 as usize]
                    .iter()
                    .flat_map(|(name, slots)| {
                        NAMESPACES.iter().zip(slots).filter_map(move |(namespace, slot)| {
                            slot.as_ref().map(|binding| (name.clone(), *namespace, binding.clone()))
                        })
                    })
                    .filter(|(_, _, binding)| sees(sources, import.module, binding.scope))
                    .collect();
                let mut changed = false;
                for (name, namespace, binding) in visible {
                    changed |= self.bind_glob(sources, import, &name, namespace, binding.def);
                }
                // What the other module gets from a crate that we can't look into comes along.
                let globs = self.foreign_globs.get(&from).into_iter().flatten();
                let globs = globs.filter(|(_, glob)| sees(sources, import.module, glob.scope));
                let globs: Vec<_> = globs.map(|(path, _)| path.clone()).collect();
                for path in globs {
                    changed |= self.foreign_glob(import, path, Some(from));
                }
                changed
            }
            Ok(Def::Item(item)) => {
                let Item::Enum(data) = &sources.items[item.0 as usize].item else { return false };
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

    fn bind_glob(
        &mut self,
        sources: &Sources,
        import: &Import,
        name: &str,
        namespace: Namespace,
        mut def: Def,
    ) -> bool {
        if namespace != Namespace::Macros
            && let Some(call) = self.made.may_declare(import.module, name)
        {
            def = Def::Ambiguous(format!("`{call}!` may declare it").into());
        } else if import.doubtful {
            def = if_sure(sources, import, name, namespace, def);
        }
        let (scope, strength, doubtful) = (import.scope, Strength::Glob, import.doubtful);
        let binding = Binding { def, scope, strength, import: Some(import.index), doubtful };
        self.bind(import.module, name, namespace, binding)
    }

    fn foreign_glob(&mut self, import: &Import, path: Rc<[String]>, from: Option<ModuleId>) -> bool {
        let globs = self.foreign_globs.entry(import.module).or_default();
        let mut changed = !globs.contains_key(&path);
        let new = || ForeignGlob { scope: import.scope, own: false, through: BTreeSet::new() };
        let glob = globs.entry(path).or_insert_with(new);
        if import.scope == Scope::Public && glob.scope != Scope::Public {
            glob.scope = Scope::Public;
            changed = true;
        }
        changed
            | match from {
                Some(from) => glob.through.insert(from),
                None => !std::mem::replace(&mut glob.own, true),
            }
    }

    /// Follows a path from a module.
    fn walk(
        &self,
        sources: &Sources,
        module: ModuleId,
        path: &[String],
        leading_colon: bool,
        namespace: Namespace,
    ) -> Result<Def, Failure> {
        let krate = sources.modules[module.0 as usize].krate;
        let space = |at: usize| if at + 1 == path.len() { namespace } else { Namespace::Types };
        let root = sources.crates[krate.0 as usize].root;
        let Some(first) = path.first() else { return Ok(Def::Module(root)) };
        let package = sources.crates[krate.0 as usize].package;
        let from_root = leading_colon && sources.packages[package.0 as usize].manifest.edition == "2015";
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
                    let parent = sources.modules[of.0 as usize].parent;
                    of = parent.ok_or_else(|| Failure::Other("`super` goes above the crate root".to_string()))?;
                    at += 1;
                }
                Def::Module(of)
            }
            "Self" => return Err(Failure::Other("`Self` has a meaning only inside an `impl`".to_string())),
            name => {
                let alone = path.len() == 1;
                self.first(sources, module, name, space(0), alone).ok_or(Failure::Missing(module, 0))?
            }
        };
        while at < path.len() {
            let name = &path[at];
            def = match def {
                Def::Module(of) => match self.get(sources, of, name, space(at)) {
                    Some(binding) => binding.def.clone(),
                    None => self.through_globs(sources, of, name, space(at)).ok_or(Failure::Missing(of, at))?,
                },
                Def::Item(item) if at + 1 == path.len() => Def::Member(item, name.as_str().into()),
                Def::Foreign(prefix) => {
                    let rest = &path[at..];
                    at = path.len() - 1;
                    Def::Foreign(prefix.iter().chain(rest).cloned().collect())
                }
                Def::Item(_) | Def::Member(..) => {
                    return Err(Failure::Other(format!("`{}` is not a module", path[at - 1])));
                }
                Def::Ambiguous(why) => return Err(Failure::Unclear(why, at - 1)),
            };
            at += 1;
        }
        match def {
            Def::Ambiguous(why) => Err(Failure::Unclear(why, at - 1)),
            def => Ok(def),
        }
    }

    /// The first part of a path, `alone` if there are no others: a name in scope, else a crate.
    fn first(&self, sources: &Sources, module: ModuleId, name: &str, namespace: Namespace, alone: bool) -> Option<Def> {
        let binding = self.get(sources, module, name, namespace);
        if let Some(binding) = binding.filter(|binding| alone || !self.is_namesake(module, name, binding)) {
            return Some(binding.def.clone());
        }
        if self.is_lost(module, name) {
            return None;
        }
        // A glob import hides a crate.
        if let Some(path) = self.through_kubernetes(sources, module, name, namespace) {
            return Some(path);
        }
        let krate = sources.modules[module.0 as usize].krate;
        if namespace == Namespace::Types && self.made.declares(module, name).is_none() {
            let declared = self.extern_crates.get(&(krate, name.to_string())).cloned();
            if let Some(def) = declared.or_else(|| extern_crate(sources, krate, name)) {
                return Some(def);
            }
        }
        self.through_globs(sources, module, name, namespace)
    }

    /// A named import gives the name a meaning that was not found.
    fn is_lost(&self, module: ModuleId, name: &str) -> bool {
        !self.failed.is_empty() && self.failed.contains_key(&(module, Rc::from(name)))
    }

    /// A name that a glob import from another crate is known to bring in.
    fn through_globs(&self, sources: &Sources, module: ModuleId, name: &str, namespace: Namespace) -> Option<Def> {
        let globs = self.foreign_globs.get(&module).filter(|_| !self.is_lost(module, name))?;
        match globs.keys().find(|path| foreign::glob_has(path, name)) {
            Some(_) if self.made.may_declare(module, name).is_some() => None,
            Some(path) => Some(Def::Foreign(path.iter().cloned().chain([name.to_string()]).collect())),
            None => self.through_kubernetes(sources, module, name, namespace),
        }
    }

    /// A name that a glob import brings in from k8s-openapi.
    fn through_kubernetes(&self, sources: &Sources, module: ModuleId, name: &str, namespace: Namespace) -> Option<Def> {
        let mut globs = self.foreign_globs.get(&module)?.keys().filter(|path| foreign::is_kubernetes(path));
        let path = globs.find(|path| brings(sources, module, path, name, namespace) == Some(true))?;
        self.is_unhidden(sources, module, path, name, &mut BTreeSet::new())
            .then(|| Def::Foreign(path.iter().cloned().chain([name.to_string()]).collect()))
    }

    /// Nothing that is not known here gives the name another meaning on all ways on which a glob import comes: a macro
    /// may declare it, and an import that finds nothing may mean it.
    fn is_unhidden(
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
        sources.want(module);
        let data = &sources.modules[module.0 as usize];
        let calls =
            |item: &ItemRef| matches!(&sources.items[item.0 as usize].item, Item::Macro(item) if item.ident.is_none());
        let Some(glob) = self.foreign_globs.get(&module).and_then(|globs| globs.get(path)) else { return false };
        data.complete
            && !data.items.iter().any(calls)
            && !self.imported.contains(&(module, Rc::from(name)))
            && (glob.own || glob.through.iter().any(|from| self.is_unhidden(sources, *from, path, name, seen)))
    }
}

/// Whether a glob import from another crate brings in a name; `None` when that is not known.
fn brings(sources: &Sources, module: ModuleId, path: &[String], name: &str, namespace: Namespace) -> Option<bool> {
    let path = foreign::canonical(path.to_vec());
    if foreign::is_kubernetes(&path) {
        let package = sources.crates[sources.modules[module.0 as usize].krate.0 as usize].package;
        return sources.kubernetes.has(sources, package, &path[1..], name, namespace);
    }
    foreign::glob_has(&path, name).then_some(true)
}

/// What an import brings in that may not be there: not clear when the name has a meaning without it.
fn if_sure(sources: &Sources, import: &Import, name: &str, namespace: Namespace, def: Def) -> Def {
    let krate = sources.modules[import.module.0 as usize].krate;
    let types = namespace == Namespace::Types;
    let prelude = foreign::prelude(name, namespace).map(|path| Def::Foreign(path.into()));
    let without = prelude.or_else(|| types.then(|| extern_crate(sources, krate, name)).flatten());
    if without.is_some_and(|without| without != def) || (types && foreign::is_primitive(name)) {
        return Def::Ambiguous(format!("what `{name}` means depends on `cfg`").into());
    }
    def
}

/// A crate by the name that a package's code has for it.
fn extern_crate(sources: &Sources, krate: CrateId, name: &str) -> Option<Def> {
    if matches!(name, "std" | "core" | "alloc") {
        return Some(Def::Foreign(["std".to_string()].into()));
    }
    let package = &sources.packages[sources.crates[krate.0 as usize].package.0 as usize];
    let root = |krate: CrateId| Def::Module(sources.crates[krate.0 as usize].root);
    if let Some(lib) = package.lib
        && lib != krate
        && sources.crates[lib.0 as usize].name == name
    {
        return Some(root(lib));
    }
    let found = package.manifest.dependencies.get(name)?;
    if found.several {
        return Some(Def::Ambiguous("it is another package on another platform".into()));
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

/// The path begins at a module.
fn is_anchor(first: &str) -> bool {
    matches!(first, "crate" | "$crate" | "self" | "super" | "Self")
}

/// The module is inside the scope.
fn sees(sources: &Sources, module: ModuleId, scope: Scope) -> bool {
    let Scope::Within(scope) = scope else { return true };
    let mut at = Some(module);
    while let Some(module) = at {
        if module == scope {
            return true;
        }
        at = sources.modules[module.0 as usize].parent;
    }
    false
}

fn flatten(tree: &UseTree, path: &mut Vec<String>, add: &mut impl FnMut(Vec<String>, Option<Rc<str>>, bool)) {
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
            // What has no name is in scope all the same, as traits are.
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

fn segments(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| ident(&segment.ident)).collect()
}

impl SourceTree {
    /// What a path in a type position means, seen from a module. Generic parameters and `Self` are the caller's.
    pub fn resolve(&self, module: ModuleId, path: &syn::Path) -> Resolution {
        self.resolve_in(module, path, Namespace::Types)
    }

    /// What a path in any position means, seen from a module.
    pub fn resolve_in(&self, module: ModuleId, path: &syn::Path, namespace: Namespace) -> Resolution {
        let parts = segments(path);
        match self.scopes.walk(&self.sources, module, &parts, path.leading_colon.is_some(), namespace) {
            Ok(Def::Item(item)) => Resolution::Local(item),
            Ok(Def::Member(item, name)) => Resolution::Member(item, name.to_string()),
            Ok(Def::Foreign(path)) => Resolution::Foreign(foreign::canonical(path.to_vec())),
            Ok(Def::Module(of)) => match self.module_data(of).declared {
                Some(item) => Resolution::Local(item),
                None => Resolution::Unresolved(format!("`{}` is a crate", parts.join("::"))),
            },
            Ok(Def::Ambiguous(why)) => Resolution::Unresolved(why.to_string()),
            Err(Failure::Unclear(why, at)) => Resolution::Unresolved(format!("`{}` is not clear: {why}", parts[at])),
            Err(Failure::Other(why)) => Resolution::Unresolved(why),
            Err(Failure::Missing(of, at)) => self.missing(module, &parts, of, at, namespace),
        }
    }

    /// What a path that can't be resolved may mean through glob imports from other crates: the paths there.
    pub fn through_foreign_globs(&self, module: ModuleId, path: &syn::Path, namespace: Namespace) -> Vec<Vec<String>> {
        let parts = segments(path);
        let found = self.scopes.walk(&self.sources, module, &parts, path.leading_colon.is_some(), namespace);
        let Err(Failure::Missing(of, at)) = found else { return Vec::new() };
        self.foreign_globs(of).map(|glob| foreign::canonical([&glob, &parts[at..]].concat())).collect()
    }

    /// Types and traits that have a name in a module; `None` when a macro, or an import that is not found, may bring
    /// others.
    pub(super) fn types_in_scope(&self, module: ModuleId) -> Option<impl Iterator<Item = ItemRef>> {
        let all = &self.scopes.names[module.0 as usize];
        let types = all.values().filter_map(|names| Some(&names[Namespace::Types as usize].as_ref()?.def));
        let clear = !types.clone().any(|def| matches!(def, Def::Ambiguous(_)))
            && self.scopes.failed.keys().all(|(of, _)| *of != module)
            && self.item_macros(module).is_none();
        clear.then(|| types.filter_map(|def| if let Def::Item(item) = def { Some(*item) } else { None }))
    }

    fn foreign_globs(&self, module: ModuleId) -> impl Iterator<Item = Vec<String>> {
        let globs = self.scopes.foreign_globs.get(&module).into_iter().flat_map(BTreeMap::keys);
        globs.map(|path| foreign::canonical(path.to_vec()))
    }

    fn missing(&self, module: ModuleId, parts: &[String], of: ModuleId, at: usize, namespace: Namespace) -> Resolution {
        let name = &parts[at];
        let import = self.scopes.failed.get(&(of, Rc::from(name.as_str())));
        if at == 0 && import.is_none() {
            let last = parts.len() == 1;
            let space = if last { namespace } else { Namespace::Types };
            if (foreign::prelude(name, space).is_some() || foreign::is_primitive(name))
                && let Some(call) = self.scopes.made.declares(module, name)
            {
                return Resolution::Unresolved(format!("`{name}` may be declared by `{call}!`"));
            }
            if space == Namespace::Types && foreign::is_primitive(name) {
                return match parts {
                    [name] => Resolution::Primitive(name.clone()),
                    _ => Resolution::Foreign([&["std".to_string()], parts].concat()),
                };
            }
            if let Some(path) = foreign::prelude(name, space) {
                if let Some(why) = self.hides_prelude(module, name, space) {
                    return Resolution::Unresolved(why);
                }
                return Resolution::Foreign([&path, &parts[1..]].concat());
            }
            let macro_use = self.scopes.macro_use.get(&self.module_data(module).krate);
            if space == Namespace::Macros
                && let Some(krate) =
                    macro_use.into_iter().flatten().find(|krate| foreign::glob_has(&[(*krate).clone()], name))
            {
                return Resolution::Foreign(foreign::canonical(vec![krate.clone(), name.clone()]));
            }
        }
        let mut why = format!("cannot find `{name}`");
        if at > 0 {
            let _ = write!(why, " in `{}`", self.module_path(of).join("::"));
        }
        let space = if at + 1 == parts.len() { namespace } else { Namespace::Types };
        let brings = |path: &Vec<String>| brings(&self.sources, of, path, name, space) != Some(false);
        let globs = self.foreign_globs(of).filter(brings).map(|path| format!("`use {}::*`", path.join("::")));
        let globs: Vec<_> = globs.collect();
        if let Some(path) = import {
            let _ = write!(why, ": nothing was found for `use {}`", path.join("::"));
            match self.scopes.walk(&self.sources, of, path, false, Namespace::Types) {
                Err(Failure::Missing(there, 0)) if there == of && path.len() > 1 => {
                    let _ = write!(why, "; `{}` is no module, and no dependency in `Cargo.toml`", path[0]);
                }
                // It fails in the module that it names: look there for what hides it, but not round in circles.
                Err(Failure::Missing(there, _)) if there != of => {
                    if let Some(places) = self.item_macros(there) {
                        let _ = write!(why, "; it may be generated by a macro this tool does not expand: {places}");
                    }
                }
                _ => {}
            }
        } else if !self.module_data(of).complete {
            why.push_str("; the file of that module could not be read");
        } else if !globs.is_empty() {
            let _ = write!(why, "; it may come from {}, which is another crate", globs.join(" or "));
            if let Some(places) = self.item_macros(of) {
                let _ = write!(why, "; it may be generated by a macro this tool does not expand: {places}");
            }
        } else if let Some(places) = self.item_macros(of) {
            let _ = write!(why, "; it may be generated by a macro this tool does not expand: {places}");
        } else if at == 0 && parts.len() > 1 && name.starts_with(char::is_lowercase) {
            why.push_str("; `Cargo.toml` has no dependency of that name");
        }
        Resolution::Unresolved(why)
    }

    /// What may be meant by a name of the prelude instead: a macro of the crate, whose scope is the text after it, or
    /// an import of everything from a crate that nothing is known of.
    fn hides_prelude(&self, module: ModuleId, name: &str, space: Namespace) -> Option<String> {
        if space == Namespace::Macros {
            let index = self.sources.index();
            let hides = index.declaring_macro(name).any(|file| self.is_in_scope_of_macro(module, name, file));
            if hides {
                return Some(format!("`{name}!` may be a macro that the crate declares itself"));
            }
        }
        let globs = self.foreign_globs(module).find(|path| !foreign::keeps_prelude(&path[0]));
        globs.map(|path| {
            let path = path.join("::");
            format!(
                "whether `{name}` is that of the standard library depends on `use {path}::*`, which is another crate"
            )
        })
    }

    /// The module is inside of one where `macro_rules!` in a file gives a macro this name, whose scope is the text.
    fn is_in_scope_of_macro(&self, module: ModuleId, name: &str, file: FileId) -> bool {
        let krate = self.module_data(module).krate;
        let all = self.sources.modules.iter().enumerate();
        let mut declaring = all.filter(|(_, data)| data.file == file && data.krate == krate);
        declaring.any(|(position, data)| {
            let mut declaring = ModuleId(super::index(position));
            self.sources.want(declaring);
            let named = |item: &ItemRef| matches!(self.item(*item), Item::Macro(item) if item.ident.as_ref().is_some_and(|found| found == name));
            if !data.items.iter().any(named) {
                return false;
            }
            let leaks = |of: ModuleId| self.module_data(of).attrs.iter().any(|attr| attr.path().is_ident("macro_use"));
            while let Some(parent) = self.parent(declaring).filter(|_| leaks(declaring)) {
                declaring = parent;
            }
            sees(&self.sources, module, Scope::Within(declaring))
        })
    }

    /// The macro calls among the items of a module, as text for people.
    fn item_macros(&self, module: ModuleId) -> Option<String> {
        let mut places = Vec::new();
        for id in self.module_items(module) {
            let Item::Macro(item) = self.item(*id) else { continue };
            if item.ident.is_some() {
                continue;
            }
            let file = &self.sources.files[self.module_data(module).file.0 as usize];
            let name = segments(&item.mac.path).join("::");
            let span = item.mac.path.segments[0].ident.span();
            let (line, column) = file.line_column(file.range(span).start);
            places.push(format!("`{name}!` at {}:{line}:{column}", file.path));
        }
        (!places.is_empty()).then(|| places.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{load, show};
    use super::Namespace::{self, Macros, Types, Values};

    #[track_caller]
    fn check(package: &str, cases: &[(&str, &str, Namespace, &str)]) {
        let (tree, _) = load(package);
        for (module, path, namespace, expected) in cases {
            assert_eq!(show(&tree, module, path, *namespace), *expected, "`{path}` in `{module}`");
        }
    }

    #[test]
    fn local_names() {
        check(
            r#"
//- src/lib.rs
pub mod a { pub struct A; struct Private; pub enum E { V, W(u8) } pub fn f() {} impl A { pub fn new() {} }
    pub mod deep { pub struct Deep; pub use super::super::b::B as Renamed; } }
mod b { pub struct B; pub use crate::a::deep::Renamed as Back; pub use self::B as Other; }
mod globs { use crate::a::*; use super::b::{self, *}; use crate::a::E::*; mod inner { use super::*; } }
pub use a::deep as d;
use a::{A as X, deep::{self, Deep}};
type Alias = a::A;
struct r#type;
"#,
            &[
                ("op", "X", Types, "op::a::A"),
                ("op", "Deep", Types, "op::a::deep::Deep"),
                ("op", "deep::Deep", Types, "op::a::deep::Deep"),
                ("op", "d::Renamed", Types, "op::b::B"),
                ("op::b", "Back", Types, "op::b::B"),
                ("op::b", "Other", Types, "op::b::B"),
                ("op::b", "super::a::A", Types, "op::a::A"),
                ("op::a::deep", "super::super::X", Types, "op::a::A"),
                ("op::a::deep", "self::super::A", Types, "op::a::A"),
                ("op::globs", "A", Types, "op::a::A"),
                ("op::globs", "B", Types, "op::b::B"),
                ("op::globs", "b::B", Types, "op::b::B"),
                ("op::globs", "W", Values, "op::a::E.W"),
                ("op::globs::inner", "A", Types, "op::a::A"),
                ("op::globs::inner", "deep::Deep", Types, "op::a::deep::Deep"),
                ("op::globs", "Private", Types, "cannot find `Private`"),
                ("op", "a::E::V", Values, "op::a::E.V"),
                ("op", "a::f", Values, "op::a::f"),
                ("op", "a::f", Types, "cannot find `f` in `op::a`"),
                ("op", "X::new", Values, "op::a::A.new"),
                ("op", "Alias", Types, "op::Alias"),
                ("op", "r#type", Types, "op::type"),
                ("op", "crate::nothing::A", Types, "cannot find `nothing` in `op`"),
                ("op", "super::A", Types, "`super` goes above the crate root"),
                ("op", "Self", Types, "`Self` has a meaning only inside an `impl`"),
            ],
        );
    }

    #[test]
    fn names_of_other_crates() {
        check(
            r#"
//- Cargo.toml
[package]
name = "op"
edition = "2024"
[dependencies]
kube = "5"
k8s = { package = "k8s-openapi", version = "0.29" }
serde = "1"
schemars = "1"
kube-derive = "5"
//- src/lib.rs
use kube::CustomResource as CR;
use url::Url;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::*;
use k8s::apimachinery::pkg::apis::meta::v1::Condition;
pub use k8s::api::core::v1 as core_v1;
use std::{collections::{BTreeMap, HashMap as Map}, option::Option as Maybe};
use core::option;
extern crate alloc as memory;
mod namesake { use serde::{serde, Serialize}; use k8s::a::b::k8s; use k8s::api::core::v1 as core; mod local { pub mod local {} }
    mod x { use super::local::local; } }
mod renamed { use ::serde::de as serde; }
mod child { use super::core_v1::PodSpec; use k8s::api::apps::v1::*; }
mod shadow { pub struct Option; pub struct String; pub struct u8; }
mod shadowed { use super::shadow::*; }
"#,
            &[
                ("op", "CR", Macros, "extern kube::CustomResource"),
                ("op", "CustomResource", Macros, "extern kube::CustomResource"),
                ("op", "JsonSchema", Macros, "extern schemars::JsonSchema"),
                ("op", "JsonSchema", Types, "extern schemars::JsonSchema"),
                ("op", "Serialize", Macros, "extern serde::Serialize"),
                ("op", "serde::Deserialize", Macros, "extern serde::Deserialize"),
                ("op", "::serde::Deserialize", Macros, "extern serde::Deserialize"),
                ("op", "Clone", Macros, "extern std::clone::Clone"),
                ("op", "Condition", Types, "extern k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition"),
                ("op", "core_v1::Pod", Types, "extern k8s_openapi::api::core::v1::Pod"),
                ("op::child", "PodSpec", Types, "extern k8s_openapi::api::core::v1::PodSpec"),
                ("op", "BTreeMap", Types, "extern std::collections::BTreeMap"),
                ("op", "Map", Types, "extern std::collections::HashMap"),
                ("op", "Maybe", Types, "extern std::option::Option"),
                ("op", "option::Option", Types, "extern std::option::Option"),
                ("op", "Option", Types, "extern std::option::Option"),
                ("op", "memory::vec::Vec", Types, "extern std::vec::Vec"),
                ("op", "::std::string::String", Types, "extern std::string::String"),
                ("op", "u8", Types, "primitive u8"),
                ("op::namesake", "serde", Macros, "extern serde::serde"),
                ("op::namesake", "Serialize", Macros, "extern serde::Serialize"),
                ("op::namesake", "serde::Deserialize", Types, "extern serde::Deserialize"),
                ("op::namesake", "k8s", Macros, "extern k8s_openapi::a::b::k8s"),
                ("op::namesake", "core::Pod", Types, "extern k8s_openapi::api::core::v1::Pod"),
                ("op::renamed", "serde::Error", Types, "extern serde::de::Error"),
                ("op::namesake::x", "local", Types, "op::namesake::local::local"),
                ("op", "Some", Values, "extern std::option::Option::Some"),
                ("op::shadowed", "Option", Types, "op::shadow::Option"),
                ("op::shadowed", "String", Types, "op::shadow::String"),
                ("op::shadowed", "u8", Types, "op::shadow::u8"),
                (
                    "op::child",
                    "Deployment",
                    Types,
                    "cannot find `Deployment`; it may come from `use k8s_openapi::api::apps::v1::*`, which is another crate",
                ),
                (
                    "op::child",
                    "crate::unknown::Thing",
                    Types,
                    "cannot find `unknown` in `op`; it may come from `use serde::*`, which is another crate",
                ),
                (
                    "op",
                    "Url",
                    Types,
                    "cannot find `Url`: nothing was found for `use url::Url`; `url` is no module, and no dependency in \
                     `Cargo.toml`",
                ),
                (
                    "op::shadow",
                    "unknown::Thing",
                    Types,
                    "cannot find `unknown`; `Cargo.toml` has no dependency of that name",
                ),
            ],
        );
    }

    #[test]
    fn glob_cycles_end() {
        check(
            r#"
//- src/lib.rs
mod a { pub use super::b::*; pub struct A; }
mod b { pub use super::c::*; pub struct B; }
mod c { pub use super::a::*; pub use super::b::*; pub use super::c::*; pub struct C; }
pub use a::*;
mod chain { use super::one::x::Y; }
pub mod one { pub use super::two::*; }
pub mod two { pub use super::three::*; }
pub mod three { pub mod x { pub struct Y; } }
mod cycle1 { pub use super::cycle2::Nothing; }
mod cycle2 { pub use super::cycle1::Nothing; }
"#,
            &[
                ("op", "A", Types, "op::a::A"),
                ("op", "B", Types, "op::b::B"),
                ("op", "C", Types, "op::c::C"),
                ("op::c", "A", Types, "op::a::A"),
                ("op::a", "C", Types, "op::c::C"),
                ("op::chain", "Y", Types, "op::three::x::Y"),
                (
                    "op::cycle1",
                    "Nothing",
                    Types,
                    "cannot find `Nothing`: nothing was found for `use super::cycle2::Nothing`",
                ),
            ],
        );
    }

    #[test]
    fn what_can_not_be_told_is_said() {
        check(
            r#"
//- src/lib.rs
macro_rules! newtype { ($name:ident) => { struct $name(u8); } }

newtype!(HostName);
mod user { use super::HostName; }
mod broken;
mod two { #[cfg(unix)] pub struct T; #[cfg(windows)] pub struct T; #[cfg(unix)] pub struct One; }
mod globs { mod x { pub struct S; } mod y { pub struct S; } use x::*; use y::*; }
mod explicit { mod x { pub struct S; } mod y { pub struct S; } use x::*; use y::S; }
//- src/broken.rs
struct
"#,
            &[
                (
                    "op",
                    "HostName",
                    Types,
                    "cannot find `HostName`; it may be generated by a macro this tool does not expand: \
                     `newtype!` at src/lib.rs:3:1",
                ),
                (
                    "op::user",
                    "HostName",
                    Types,
                    "cannot find `HostName`: nothing was found for `use super::HostName`; it may be generated by a macro \
                     this tool does not expand: `newtype!` at src/lib.rs:3:1",
                ),
                ("op", "newtype", Macros, "op::newtype"),
                (
                    "op",
                    "broken::S",
                    Types,
                    "cannot find `S` in `op::broken`; the file of that module could not be read",
                ),
                ("op", "two::T", Types, "`T` is not clear: `T` has more than one meaning here"),
                ("op", "two::One", Types, "op::two::One"),
                ("op::globs", "S", Types, "`S` is not clear: `S` has more than one meaning here"),
                ("op::explicit", "S", Types, "op::explicit::y::S"),
            ],
        );
    }

    #[test]
    fn binaries_and_path_dependencies() {
        check(
            r#"
//- Cargo.toml
[package]
name = "op"
edition = "2024"
[workspace]
[dependencies]
types = { path = "types", package = "op-types", features = ["extra"] }
//- src/lib.rs
pub mod api { pub struct Memcached; pub use types::Shared; }
//- src/main.rs
use op::api::{Memcached, Shared};
mod local { pub struct Memcached; }
//- types/Cargo.toml
[package]
name = "op-types"
edition = "2024"
[features]
extra = []
//- types/src/lib.rs
pub struct Shared;
#[cfg(feature = "extra")] pub struct Extra;
#[cfg(feature = "more")] pub struct More;
"#,
            &[
                ("op", "api::Memcached", Types, "op::api::Memcached"),
                ("op", "types::Extra", Types, "op_types::Extra"),
                ("op", "types::More", Types, "cannot find `More` in `op_types`"),
                ("op::api", "Shared", Types, "op_types::Shared"),
            ],
        );
    }
}
