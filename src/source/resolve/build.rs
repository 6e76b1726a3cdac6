//! Builds the names of every module: declarations first, then imports to a fixpoint.

use std::rc::Rc;

use syn::{Fields, Item, Visibility};

use super::super::ident::{ident, segments};
use super::super::macros::MacroItems;
use super::super::namespace::Namespace;
use super::super::sources::{ItemRef, ModuleId, Sources, index};
use super::import::{Import, flatten};
use super::names::{Def, ModuleNames, NameBinding, Precedence, Scopes, Visible};
use super::walk::{extern_crate, is_anchor};

impl Scopes {
    pub(in super::super) fn build(sources: &Sources) -> Self {
        let names = vec![ModuleNames::new(); sources.modules.len()];
        let mut scopes = Self { names, macro_items: MacroItems::of(sources), ..Self::default() };
        let mut imports = Vec::new();
        for (position, data) in sources.items.iter().enumerate() {
            scopes.declare(sources, ItemRef(index(position)), sources.scope(data.module), &mut imports);
        }
        scopes.run(sources, &mut imports);
        if scopes.shadow_globs(&imports) {
            scopes.run(sources, &mut imports);
        }
        for import in imports.into_iter().filter(|import| !import.found) {
            if let Some(name) = import.name {
                scopes.unresolved.insert((import.module, name), import.path);
            }
        }
        scopes
    }

    fn run(&mut self, sources: &Sources, imports: &mut [Import]) {
        // The limit for a chain of re-exports; a round is linear.
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

    /// Lets unresolved named imports shadow globs. Returns true if a glob had bound such a name.
    fn shadow_globs(&mut self, imports: &[Import]) -> bool {
        let mut closed = false;
        for import in imports.iter().filter(|import| !import.found) {
            let name = import.name.as_ref().and_then(|name| self.names[import.module.0 as usize].get_mut(name));
            for binding in name.into_iter().flatten().flatten().filter(|binding| binding.precedence == Precedence::Glob)
            {
                let why = format!("cannot resolve `use {}`", import.path.join("::"));
                *binding = NameBinding::item(Def::Ambiguous(why.into()), binding.visible);
                closed = true;
            }
        }
        closed
    }

    fn declare(&mut self, sources: &Sources, id: ItemRef, module: ModuleId, imports: &mut Vec<Import>) {
        use Namespace::{Macros, Types, Values};
        let data = &sources[id];
        let (name, vis, namespaces): (_, _, &[Namespace]) = match &data.item {
            Item::Struct(item) => (
                &item.ident,
                &item.vis,
                if matches!(item.fields, Fields::Named(_)) { &[Types] } else { &[Types, Values] },
            ),
            Item::Enum(item) => (&item.ident, &item.vis, &[Types]),
            Item::Union(item) => (&item.ident, &item.vis, &[Types]),
            Item::Trait(item) => (&item.ident, &item.vis, &[Types]),
            Item::Type(item) => (&item.ident, &item.vis, &[Types]),
            Item::Const(item) => (&item.ident, &item.vis, &[Values]),
            Item::Static(item) => (&item.ident, &item.vis, &[Values]),
            Item::Fn(item) => (&item.sig.ident, &item.vis, &[Values]),
            Item::Mod(item) => (&item.ident, &item.vis, &[Types]),
            Item::Macro(item) => {
                if let Some(name) = &item.ident {
                    self.bind(module, &ident(name), Macros, NameBinding::item(Def::Item(id), Visible::Everywhere));
                }
                return;
            }
            Item::ExternCrate(item) => {
                let krate = sources[module].krate;
                let source = ident(&item.ident);
                let name = item.rename.as_ref().map_or_else(|| source.clone(), |(_, name)| ident(name));
                if item.attrs.iter().any(|attr| attr.path().is_ident("macro_use")) {
                    self.macro_use.entry(krate).or_default().push(source.clone());
                }
                let def = if source == "self" {
                    Some(Def::Module(sources[krate].root))
                } else {
                    Some(extern_crate(sources, krate, &source).unwrap_or_else(|| Def::Foreign([source].into())))
                };
                if let Some(def) = def.filter(|_| name != "_") {
                    let visible = self.visible(sources, module, &item.vis);
                    self.bind(module, &name, Types, NameBinding::item(def.clone(), visible));
                    if sources[module].parent.is_none() {
                        self.extern_crates.insert((krate, name), def);
                    }
                }
                return;
            }
            Item::Use(item) => {
                let visible = self.visible(sources, module, &item.vis);
                let conditional = data.unknown_cfg.is_some();
                let krate = &sources.krate(module);
                let old = sources[krate.package].manifest.edition == "2015";
                let mut add = |path: Vec<String>, name: Option<Rc<str>>, types_only: bool| {
                    let from_root = old && !path.first().is_some_and(|first| is_anchor(first));
                    let base = if from_root { krate.root } else { module };
                    let leading_colon = item.leading_colon.is_some() && !old;
                    let number = imports.len();
                    if let Some(name) = &name {
                        self.imported.insert((module, Rc::clone(name)));
                    }
                    if let (Some(name), [first, _, ..], false) = (&name, path.as_slice(), leading_colon)
                        && **name == **first
                    {
                        self.namesakes.insert((module, Rc::clone(name)));
                    }
                    let (found, foreign) = (false, None);
                    imports.push(Import {
                        index: number,
                        module,
                        base,
                        path,
                        leading_colon,
                        conditional,
                        found,
                        name,
                        types_only,
                        visible,
                        foreign,
                    });
                };
                flatten(&item.tree, &mut Vec::new(), &mut add);
                return;
            }
            _ => return,
        };
        let visible = self.visible(sources, module, vis);
        if let Some(derived) = (sources.ecosystem.derive.declares)(&data.item)
            && derived != ident(name)
        {
            let def = Def::Member(id, derived.as_str().into());
            for namespace in [Types, Values] {
                let binding = NameBinding { precedence: Precedence::Glob, ..NameBinding::item(def.clone(), visible) };
                self.bind(module, &derived, namespace, binding);
            }
        }
        let def = data.child.map_or(Def::Item(id), Def::Module);
        for namespace in namespaces {
            self.bind(module, &ident(name), *namespace, NameBinding::item(def.clone(), visible));
        }
    }

    fn visible(&self, sources: &Sources, module: ModuleId, vis: &Visibility) -> Visible {
        match vis {
            Visibility::Public(_) => Visible::Everywhere,
            Visibility::Inherited => Visible::Within(module),
            Visibility::Restricted(vis) => {
                let path = segments(&vis.path);
                match self.walk(sources, module, &path, false, Namespace::Types) {
                    Ok(Def::Module(module)) => Visible::Within(module),
                    _ => Visible::Within(sources.krate(module).root),
                }
            }
        }
    }
}
