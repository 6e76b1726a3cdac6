//! Everything that was read, as numbered lists: packages, crates, modules, items, files.

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
    /// Of the `mod` item and of the top of the file.
    pub(super) attrs: Vec<Attribute>,
    /// The `mod` item.
    pub(super) declared: Option<ItemRef>,
    /// The module whose items these are, where `include!` takes them in from a file of their own.
    pub(super) included_in: Option<ModuleId>,
    pub(super) unknown_cfg: Option<String>,
    /// False when its file is missing or no valid Rust: names may be missing.
    pub(super) complete: bool,
    /// Only the outline of its file was read: its modules in files of their own.
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
    /// The module that a `mod` item declares, or the file that `include!` takes in.
    pub(super) child: Option<ModuleId>,
    pub(super) unknown_cfg: Option<String>,
    pub(super) item: Item,
}

/// Everything that was read, before names are resolved.
#[derive(Debug)]
pub(super) struct Sources {
    pub(super) ecosystem: &'static Ecosystem,
    pub(super) files: Vec<SourceFile>,
    pub(super) modules: Vec<Module>,
    pub(super) items: Vec<ItemData>,
    pub(super) crates: Vec<Crate>,
    pub(super) packages: Vec<Package>,
    /// Modules that answers depend on beyond their outline.
    pub(super) requested: RefCell<BTreeSet<ModuleId>>,
    /// Packages of a registry that answers depend on.
    pub(super) requested_packages: RefCell<BTreeSet<(String, Version)>>,
    /// Packages of a registry that were requested before: whether their sources are there.
    pub(super) located: BTreeMap<(String, Version), bool>,
    /// Packages of a registry that answers depend on, and whose sources are not on this machine.
    pub(super) lacking: RefCell<BTreeSet<(String, Version)>>,
    words: OfFiles<WordIndex>,
    trait_functions: OfFiles<TraitFunctions>,
    pub(super) caches: Caches,
    pub(super) expanded: Expanded,
    /// An answer depends on the expansion of macros.
    pub(super) wants_expansion: Cell<bool>,
}

/// What is computed from the texts of all files, anew when there are more of them.
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

    /// Notes that an answer depends on a module beyond its outline.
    pub(super) fn request(&self, module: ModuleId) {
        if self[module].unread {
            self.requested.borrow_mut().insert(module);
        }
    }

    /// The same of all modules of a file.
    pub(super) fn request_file(&self, file: FileId) {
        self.request_modules(|module| module.file == file);
    }

    /// The same of the files for which `test` holds.
    pub(super) fn request_files(&self, test: impl Fn(&SourceFile) -> bool) {
        self.request_modules(|module| test(&self[module.file]));
    }

    fn request_modules(&self, test: impl Fn(&Module) -> bool) {
        let unread = self.modules.iter().enumerate().filter(|(_, module)| module.unread && test(module));
        self.requested.borrow_mut().extend(unread.map(|(position, _)| ModuleId(index(position))));
    }

    /// The files of the packages by path.
    pub(super) fn files_of_others(&self) -> impl Iterator<Item = &SourceFile> {
        let others = self.modules.iter().filter(|module| !self[self[module.krate].package].own);
        others.map(|module| &self[module.file])
    }

    /// What decides `cfg` in the files of which only the outline was read.
    pub(super) fn unread_files(&self) -> BTreeMap<FileId, &CfgSet> {
        let unread = self.modules.iter().filter(|module| module.unread);
        let known = unread.map(|module| {
            let package = self[module.krate].package;
            (module.file, &self[package].cfg)
        });
        known.collect()
    }

    /// The paths, as shown, of the files of packages from a registry.
    pub(super) fn fetched_files(&self) -> impl Iterator<Item = &str> {
        let fetched = |module: &&Module| self[self[module.krate].package].fetched;
        self.modules.iter().filter(fetched).map(|module| &*self[module.file].path)
    }

    /// What the texts of all files say of names.
    pub(super) fn word_index(&self) -> Rc<WordIndex> {
        let files = self.files.iter().enumerate();
        self.words.get(&self.files, || WordIndex::of(files.map(|(id, file)| (FileId(index(id)), &*file.text))))
    }

    /// The names of the functions of traits in the texts of all files.
    pub(super) fn trait_functions(&self) -> Rc<TraitFunctions> {
        self.trait_functions.get(&self.files, || TraitFunctions::of(self.files.iter().map(|file| &*file.text)))
    }

    /// The module that names in this one are looked up in: not itself, when it is an included file.
    pub(super) fn scope(&self, module: ModuleId) -> ModuleId {
        self[module].included_in.unwrap_or(module)
    }

    /// The crate that a module belongs to.
    pub(super) fn krate(&self, module: ModuleId) -> &Crate {
        &self[self[module].krate]
    }

    /// The package that a module belongs to.
    pub(super) fn package(&self, module: ModuleId) -> &Package {
        &self[self.krate(module).package]
    }

    /// The file that a module stands in.
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

/// Arenas hold fewer than four thousand million things.
pub(super) fn index(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
