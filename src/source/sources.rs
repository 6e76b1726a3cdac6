//! The arenas of the tree: packages, crates, modules, items and files.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Index, IndexMut};
use std::rc::Rc;

use semver::Version;
use syn::{Attribute, Item};

use super::cfg::CfgSet;
use super::ecosystem::{Caches, Ecosystem};
use super::file::{FileId, SourceFile};
use super::macros::expansion::Expanded;
use super::outline::{TraitFunctions, WordIndex};
use super::package::{CrateId, Package, PackageId};

/// A module of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModuleId(pub(super) u32);

/// An item of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ItemRef(pub(super) u32);

#[derive(Debug)]
pub(super) struct Crate {
    pub(super) name: String,
    pub(super) package: PackageId,
    pub(super) lib: bool,
    pub(super) root: ModuleId,
}

#[derive(Debug)]
pub(super) struct Module {
    pub(super) krate: CrateId,
    pub(super) parent: Option<ModuleId>,
    pub(super) name: String,
    pub(super) file: FileId,
    pub(super) items: Vec<ItemRef>,
    /// Attributes of the `mod` item and of the top of the file.
    pub(super) attrs: Vec<Attribute>,
    pub(super) declared: Option<ItemRef>,
    /// The module that `include!`s this file, and that its items belong to.
    pub(super) included_in: Option<ModuleId>,
    pub(super) unknown_cfg: Option<String>,
    /// False if the file is missing or not valid Rust, so that names may be missing.
    pub(super) complete: bool,
    /// Only the outline was read: modules in their own files.
    pub(super) unread: bool,
}

impl Module {
    pub(super) fn add_unknown(&mut self, text: &str) {
        self.unknown_cfg = Some(match self.unknown_cfg.take() {
            Some(old) => format!("{old}, {text}"),
            None => text.to_string(),
        });
    }
}

#[derive(Debug)]
pub(super) struct ItemData {
    pub(super) module: ModuleId,
    /// The module of a `mod` item, or of an `include!`d file.
    pub(super) child: Option<ModuleId>,
    pub(super) unknown_cfg: Option<String>,
    pub(super) item: Item,
}

#[derive(Debug)]
pub(super) struct Sources {
    pub(super) ecosystem: &'static Ecosystem,
    pub(super) files: Vec<SourceFile>,
    pub(super) modules: Vec<Module>,
    pub(super) items: Vec<ItemData>,
    pub(super) crates: Vec<Crate>,
    pub(super) packages: Vec<Package>,
    /// Modules that answers need beyond their outline.
    pub(super) requested: RefCell<BTreeSet<ModuleId>>,
    /// Registry packages that answers need.
    pub(super) requested_packages: RefCell<BTreeSet<(String, Version)>>,
    /// Registry packages that were requested before; true if their sources exist.
    pub(super) located: BTreeMap<(String, Version), bool>,
    /// Registry packages that answers need and that are not downloaded.
    pub(super) lacking: RefCell<BTreeSet<(String, Version)>>,
    words: OfFiles<WordIndex>,
    trait_functions: OfFiles<TraitFunctions>,
    pub(super) caches: Caches,
    pub(super) expanded: Expanded,
    /// An answer needs the expansion of macros.
    pub(super) wants_expansion: Cell<bool>,
}

/// A value computed from the texts of all files. Recomputed when files are added.
#[derive(Debug, Default)]
struct OfFiles<T>(RefCell<Option<(usize, Rc<T>)>>);

impl<T> OfFiles<T> {
    fn get(&self, files: &[SourceFile], read: impl FnOnce() -> T) -> Rc<T> {
        let mut known = self.0.borrow_mut();
        match &*known {
            Some((count, known)) if *count == files.len() => Rc::clone(known),
            _ => Rc::clone(&known.insert((files.len(), Rc::new(read()))).1),
        }
    }
}

impl Sources {
    pub(super) fn new(ecosystem: &'static Ecosystem) -> Self {
        Self {
            ecosystem,
            files: Vec::new(),
            modules: Vec::new(),
            items: Vec::new(),
            crates: Vec::new(),
            packages: Vec::new(),
            requested: RefCell::default(),
            requested_packages: RefCell::default(),
            located: BTreeMap::new(),
            lacking: RefCell::default(),
            words: OfFiles::default(),
            trait_functions: OfFiles::default(),
            caches: Caches::default(),
            expanded: Expanded::default(),
            wants_expansion: Cell::new(false),
        }
    }

    pub(super) fn request(&self, module: ModuleId) {
        if self[module].unread {
            self.requested.borrow_mut().insert(module);
        }
    }

    pub(super) fn request_file(&self, file: FileId) {
        self.request_modules(|module| module.file == file);
    }

    pub(super) fn request_files(&self, test: impl Fn(&SourceFile) -> bool) {
        self.request_modules(|module| test(&self[module.file]));
    }

    fn request_modules(&self, test: impl Fn(&Module) -> bool) {
        let unread = self.modules.iter().enumerate().filter(|(_, module)| module.unread && test(module));
        self.requested.borrow_mut().extend(unread.map(|(position, _)| ModuleId(index(position))));
    }

    pub(super) fn files_of_others(&self) -> impl Iterator<Item = &SourceFile> {
        let others = self.modules.iter().filter(|module| !self[self[module.krate].package].own);
        others.map(|module| &self[module.file])
    }

    /// The cfg of each file of which only the outline was read.
    pub(super) fn unread_files(&self) -> BTreeMap<FileId, &CfgSet> {
        let unread = self.modules.iter().filter(|module| module.unread);
        let known = unread.map(|module| {
            let package = self[module.krate].package;
            (module.file, &self[package].cfg)
        });
        known.collect()
    }

    pub(super) fn fetched_files(&self) -> impl Iterator<Item = &str> {
        let fetched = |module: &&Module| self[self[module.krate].package].fetched;
        self.modules.iter().filter(fetched).map(|module| &*self[module.file].path)
    }

    pub(super) fn word_index(&self) -> Rc<WordIndex> {
        let files = self.files.iter().enumerate();
        self.words.get(&self.files, || WordIndex::of(files.map(|(id, file)| (FileId(index(id)), &*file.text))))
    }

    pub(super) fn trait_functions(&self) -> Rc<TraitFunctions> {
        self.trait_functions.get(&self.files, || TraitFunctions::of(self.files.iter().map(|file| &*file.text)))
    }

    /// The module in which names of this one are looked up: the including module for an included file.
    pub(super) fn scope(&self, module: ModuleId) -> ModuleId {
        self[module].included_in.unwrap_or(module)
    }

    pub(super) fn krate(&self, module: ModuleId) -> &Crate {
        &self[self[module].krate]
    }

    pub(super) fn package(&self, module: ModuleId) -> &Package {
        &self[self.krate(module).package]
    }

    pub(super) fn file(&self, module: ModuleId) -> &SourceFile {
        &self[self[module].file]
    }
}

macro_rules! indexed {
    ($($id:ty => $list:ident: $of:ty,)*) => {
        $(
            impl Index<$id> for Sources {
                type Output = $of;

                fn index(&self, id: $id) -> &$of {
                    &self.$list[id.0 as usize]
                }
            }

            impl IndexMut<$id> for Sources {
                fn index_mut(&mut self, id: $id) -> &mut $of {
                    &mut self.$list[id.0 as usize]
                }
            }
        )*
    };
}

indexed! {
    FileId => files: SourceFile,
    ModuleId => modules: Module,
    ItemRef => items: ItemData,
    CrateId => crates: Crate,
    PackageId => packages: Package,
}

/// Arenas have fewer than 2³² entries.
pub(super) fn index(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
