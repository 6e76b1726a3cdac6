//! A crate read with syn: files, modules, names, cfg, dependencies. Never runs cargo or rustc.
//!
//! [`SourceTree::load`] reads the library and the binaries of one package, and the libraries of its path
//! dependencies. What is wrong in the code becomes a diagnostic; an error is only what keeps us from reading at all.

mod asked;
mod cfg;
mod cfg_body;
mod choice;
mod comment;
mod file;
mod files;
mod foreign;
mod impls;
mod kube;
mod kubernetes;
mod lock;
mod made;
mod manifest;
pub mod marker;
mod module;
mod outline;
mod proc_macros;
mod registry;
mod resolve;
mod unlinked;
mod workspace;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use proc_macro2::Span;
use syn::{Attribute, Item};

pub use self::asked::asked_for_crds;
pub use self::cfg::{Cfg, CfgSet};
pub use self::choice::Choice;
pub use self::comment::{Comment, CommentKind};
use self::file::FileId;
pub(crate) use self::file::clean;
pub(crate) use self::file::relative;
pub use self::files::Pending;
use self::impls::Impls;
pub use self::kube::{CustomResource, kind_name};
pub(crate) use self::manifest::get;
pub use self::manifest::{CargoManifest, Dependency, DependencyKind, FeatureSelection, crate_name};
use self::module::{Loader, Sources, index};
pub use self::registry::{GeneratedResource, GeneratedType};
use self::resolve::Scopes;
pub use self::resolve::{Namespace, Resolution};
pub use self::workspace::{Member, PackageSelection, Packages, in_workspace};
use crate::diagnostic::{Diagnostic, Diagnostics, Origin};
use crate::parallel;

/// A module of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModuleId(u32);

/// An item of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ItemRef(u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CrateId(u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PackageId(u32);

#[derive(Debug)]
struct Package {
    manifest: CargoManifest,
    cfg: CfgSet,
    lib: Option<CrateId>,
    own: bool,
    /// It comes from a registry.
    fetched: bool,
}

#[derive(Debug)]
struct Crate {
    name: String,
    package: PackageId,
    lib: bool,
    root: ModuleId,
}

#[derive(Debug)]
struct Module {
    krate: CrateId,
    parent: Option<ModuleId>,
    name: String,
    file: FileId,
    items: Vec<ItemRef>,
    /// Of the `mod` item and of the top of the file.
    attrs: Vec<Attribute>,
    /// The `mod` item.
    declared: Option<ItemRef>,
    unknown_cfg: Option<String>,
    /// False when its file is missing or no valid Rust: names may be missing.
    complete: bool,
    /// Only the outline of its file was read: its modules in files of their own.
    unread: bool,
}

impl Module {
    fn add_unknown(&mut self, text: &str) {
        self.unknown_cfg = Some(match self.unknown_cfg.take() {
            Some(old) => format!("{old}, {text}"),
            None => text.to_string(),
        });
    }
}

#[derive(Debug)]
struct ItemData {
    module: ModuleId,
    /// The module that a `mod` item declares.
    child: Option<ModuleId>,
    unknown_cfg: Option<String>,
    item: Item,
}

/// What becomes of a package that is asked for.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// It is read next; the answer that depends on it is worth nothing, and [`SourceTree::settle`] asks again.
    Read,
    /// It can't be read, for this reason.
    Never(String),
}

impl Wanted {
    /// Why it can't be read.
    pub fn never(self) -> Option<String> {
        match self {
            Self::Read => None,
            Self::Never(why) => Some(why),
        }
    }
}

/// A package as source code: its own targets and the libraries of its path dependencies.
#[derive(Debug)]
pub struct SourceTree {
    sources: Sources,
    scopes: Scopes,
    /// The `impl` blocks, once they were asked for.
    impls: OnceCell<Impls>,
    /// Files and folders that declarations are looked for in; empty means everywhere.
    only: Vec<PathBuf>,
    /// The custom resources that are asked for.
    choice: Choice,
}

impl SourceTree {
    /// Reads the package in `dir` with its default features, every file of it.
    ///
    /// An error means that there is nothing to read: no `Cargo.toml`, or no package in it.
    pub fn load(dir: &Path) -> anyhow::Result<(Self, Diagnostics)> {
        Self::read(dir, dir, &FeatureSelection::default(), &Pending::default(), false)
    }

    /// Reads the package in `dir` with other features, and with files that are not written yet.
    ///
    /// Of files that can't declare a custom resource only the outline is read, until [`Self::settle`] finds that
    /// more of them is needed.
    pub fn load_with(
        dir: &Path,
        selection: &FeatureSelection,
        pending: &Pending,
    ) -> anyhow::Result<(Self, Diagnostics)> {
        Self::read(dir, dir, selection, pending, true)
    }

    /// As [`Self::load_with`], with paths shown relative to `root` instead of the folder of the package.
    pub fn load_below(
        root: &Path,
        dir: &Path,
        selection: &FeatureSelection,
        pending: &Pending,
    ) -> anyhow::Result<(Self, Diagnostics)> {
        Self::read(root, dir, selection, pending, true)
    }

    fn read(
        root: &Path,
        dir: &Path,
        selection: &FeatureSelection,
        pending: &Pending,
        outlines: bool,
    ) -> anyhow::Result<(Self, Diagnostics)> {
        let mut loader = Loader::new(Sources::default(), root, pending, outlines);
        let manifests = manifests_of(root, dir, selection, pending, Asked::ForSure)?;
        let possible = match manifests.as_slice() {
            [_] => Vec::new(),
            _ => manifests_of(root, dir, selection, pending, Asked::Perhaps)?,
        };
        for (position, manifest) in manifests.into_iter().enumerate() {
            let package = PackageId(index(loader.sources.packages.len()));
            let features = manifest.active_features.clone();
            let possible = possible.iter().find(|possible| possible.dir == manifest.dir);
            let maybe = possible.into_iter().flat_map(|possible| possible.active_features.difference(&features));
            let cfg = CfgSet { maybe: maybe.cloned().collect(), features };
            let targets = manifest.targets.clone();
            let own = position == 0;
            loader.sources.packages.push(Package { manifest, cfg, lib: None, own, fetched: false });
            for target in targets {
                let features = &loader.sources.packages[package.0 as usize].manifest.active_features;
                let wanted = target.required_features.iter().all(|feature| features.contains(feature));
                if (target.lib || own) && wanted {
                    loader.target(package, target.name, target.lib, &target.root);
                }
            }
        }
        let Loader { sources, mut diagnostics, .. } = loader;
        let mut names = sources.index().names(DERIVE);
        let manifest = &sources.packages[0].manifest;
        names.extend(
            manifest.dependencies.iter().filter(|(_, found)| uses_kube(manifest, found)).map(|(name, _)| name.clone()),
        );
        sources.want_files(|file| outline::may_derive(&file.text, &names) || outline::may_include(&file.text));
        let mut tree = Self {
            sources,
            scopes: Scopes::default(),
            impls: OnceCell::new(),
            only: Vec::new(),
            choice: Choice::default(),
        };
        diagnostics.extend(tree.read_wanted());
        Ok((tree, diagnostics))
    }

    /// The answer of `ask`, which sees all that it needs; and what is wrong in the files that were read for it.
    pub fn settle<T>(&mut self, mut ask: impl FnMut(&Self) -> T) -> (T, Diagnostics) {
        let mut diagnostics = Diagnostics::default();
        let mut again = false;
        loop {
            let answer = ask(self);
            let packages = self.sources.wanted_packages.take();
            if self.sources.wanted.borrow().is_empty() && packages.is_empty() {
                return (answer, diagnostics);
            }
            if !packages.is_empty() {
                diagnostics.extend(self.read_packages(packages));
                continue;
            }
            // What is needed for what is needed is not found out one by one.
            if std::mem::replace(&mut again, true) {
                self.sources.want_files(|_| true);
            }
            diagnostics.extend(self.read_wanted());
        }
    }

    /// Whether what was asked so far since the last reading needs nothing that is not read.
    pub fn is_settled(&self) -> bool {
        self.sources.wanted.borrow().is_empty() && self.sources.wanted_packages.borrow().is_empty()
    }

    /// Reads the libraries of packages from a registry.
    fn read_packages(&mut self, packages: BTreeSet<(String, semver::Version)>) -> Diagnostics {
        let pending = Pending::default();
        let root = self.manifest().dir.clone();
        let workspace = self.manifest().workspace.clone();
        let mut loader = Loader::new(std::mem::take(&mut self.sources), &root, &pending, true);
        for (name, version) in packages {
            let found = registry::locate(&workspace, &name, &version);
            let manifest = found.and_then(|dir| loader.sources.fetched_manifest(&dir, &name, &version));
            loader.sources.sought.insert((name, version), manifest.is_some());
            let Some((manifest, cfg)) = manifest else { continue };
            let package = PackageId(index(loader.sources.packages.len()));
            let lib = manifest.targets.iter().find(|target| target.lib).cloned();
            loader.sources.packages.push(Package { manifest, cfg, lib: None, own: false, fetched: true });
            if let Some(lib) = lib {
                loader.target(package, lib.name, true, &lib.root);
            }
        }
        self.sources = loader.sources;
        // What a package of somebody else lacks shows as a name that can't be resolved, if anything needs it.
        self.read_wanted()
    }

    /// Asks for the source of a package that code in a module names, by its name in Rust code, since an answer depends on it.
    pub fn want_package(&self, module: ModuleId, name: &str) -> Wanted {
        let here = self.manifest_of(module).dependencies.values();
        let anywhere = self.manifests().flat_map(|manifest| manifest.dependencies.values());
        let mut found = here.chain(anywhere).filter(|dependency| crate_name(&dependency.package) == name);
        let Some(dependency) = found.next() else { return Wanted::Never("no dependency has this name".to_owned()) };
        let Some(version) = dependency.locked.clone() else {
            return Wanted::Never("its version is not in `Cargo.lock`".to_owned());
        };
        if found.any(|other| other.locked.as_ref().is_some_and(|other| *other != version)) {
            return Wanted::Never("several versions of it are used".to_owned());
        }
        if !dependency.registry {
            return Wanted::Never("it does not come from a registry".to_owned());
        }
        let key = (dependency.package.clone(), version);
        match self.sources.sought.get(&key) {
            None => {
                self.sources.wanted_packages.borrow_mut().insert(key);
                Wanted::Read
            }
            Some(true) => Wanted::Never("it is re-exported in a way that is not read".to_owned()),
            Some(false) => {
                Wanted::Never(format!("the sources of {} {} are not there, run `cargo fetch`", key.0, key.1))
            }
        }
    }

    /// A macro of this crate may expand to a custom resource: the crate is built with kube.
    pub fn knows_kube(&self, krate: &str) -> bool {
        self.manifest().lock.as_ref().is_some_and(|lock| lock.is_on_kube(krate))
    }

    /// Reads every file to its end, and says what is wrong in those that were not read before.
    pub fn read_all(&mut self) -> Diagnostics {
        self.sources.want_files(|_| true);
        self.read_wanted()
    }

    /// Reads the rest of the modules that something depends on, and what their names depend on.
    fn read_wanted(&mut self) -> Diagnostics {
        let pending = Pending::default();
        let mut loader = Loader::new(std::mem::take(&mut self.sources), Path::new(""), &pending, false);
        loop {
            for module in loader.sources.wanted.take() {
                loader.complete(module);
            }
            self.scopes = Scopes::build(&loader.sources);
            if loader.sources.wanted.borrow().is_empty() {
                break;
            }
        }
        self.sources = loader.sources;
        self.impls.take();
        let fetched: BTreeSet<&str> = self.sources.fetched_files().collect();
        let ours =
            |diagnostic: &&Diagnostic| diagnostic.origin.as_ref().is_none_or(|origin| !fetched.contains(&*origin.path));
        loader.diagnostics.iter().filter(ours).cloned().collect()
    }

    /// `Cargo.toml` and `Cargo.lock` of the package.
    pub fn manifest(&self) -> &CargoManifest {
        &self.sources.packages[0].manifest
    }

    /// All cfg-active items of the package's own targets, in the order of the source: library first, then binaries,
    /// a module's items where its `mod` stands.
    pub fn items(&self) -> impl Iterator<Item = ItemRef> {
        let own = |krate: &&Crate| self.sources.packages[krate.package.0 as usize].own;
        let mut items = Vec::with_capacity(self.sources.items.len());
        for krate in self.sources.crates.iter().filter(own) {
            self.collect(krate.root, &mut items);
        }
        items.into_iter()
    }

    /// The same of all packages that were read.
    pub fn all_items(&self) -> impl Iterator<Item = ItemRef> {
        let mut items = Vec::with_capacity(self.sources.items.len());
        for krate in &self.sources.crates {
            self.collect(krate.root, &mut items);
        }
        items.into_iter()
    }

    /// From now on only these files and folders declare something: see [`Self::declarations`] and [`Self::comments`].
    /// Names are looked for everywhere still. The answer is a path that holds no file of the package.
    pub fn restrict(&mut self, paths: &[PathBuf]) -> Vec<PathBuf> {
        self.only = paths.iter().map(|path| file::clean(path)).collect();
        let own =
            |path: &Path| self.sources.files.iter().any(|file| file.own && file::clean(&file.disk).starts_with(path));
        self.only.iter().filter(|path| !own(path)).cloned().collect()
    }

    fn is_wanted(&self, disk: &Path) -> bool {
        self.only.is_empty() || self.only.iter().any(|path| file::clean(disk).starts_with(path))
    }

    /// Whether [`Self::restrict`] leaves only a part.
    pub fn is_restricted(&self) -> bool {
        !self.only.is_empty()
    }

    /// Whether what is declared in a module is left by [`Self::restrict`].
    pub fn is_left(&self, module: ModuleId) -> bool {
        self.is_wanted(self.module_file(module))
    }

    /// From now on only these custom resources are asked for: see [`Self::is_chosen`].
    pub fn choose(&mut self, choice: Choice) {
        self.choice = choice;
    }

    /// What [`Self::choose`] was given.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// Whether [`Self::choose`] leaves the custom resource of which an item is the spec. One that does not say its name is
    /// always left.
    pub fn is_chosen(&self, item: ItemRef) -> bool {
        self.custom_resource(item).is_none_or(|resource| self.choice.takes(&resource.name()))
    }

    /// Those of [`Self::items`] that [`Self::restrict`] leaves.
    pub fn declarations(&self) -> impl Iterator<Item = ItemRef> {
        self.items().filter(|item| self.is_left(self.module(*item)))
    }

    fn collect(&self, module: ModuleId, out: &mut Vec<ItemRef>) {
        for item in &self.module_data(module).items {
            out.push(*item);
            if let Some(child) = self.child(*item) {
                self.collect(child, out);
            }
        }
    }

    /// The item with cfg applied: what is off is gone, what can't be decided still has its `#[cfg]`.
    /// A `mod` item has no content: its items are items of the tree.
    pub fn item(&self, item: ItemRef) -> &Item {
        &self.data(item).item
    }

    /// The module that holds the item.
    pub fn module(&self, item: ItemRef) -> ModuleId {
        self.data(item).module
    }

    /// The module that a `mod` item declares.
    pub fn child(&self, item: ItemRef) -> Option<ModuleId> {
        self.data(item).child
    }

    /// The items of one module.
    pub fn module_items(&self, module: ModuleId) -> &[ItemRef] {
        self.sources.want(module);
        &self.module_data(module).items
    }

    /// The module around a module.
    pub fn parent(&self, module: ModuleId) -> Option<ModuleId> {
        self.module_data(module).parent
    }

    /// The root modules of the package's own targets, the library first.
    pub fn roots(&self) -> impl Iterator<Item = ModuleId> {
        let own = |krate: &&Crate| self.sources.packages[krate.package.0 as usize].own;
        self.sources.crates.iter().filter(own).map(|krate| krate.root)
    }

    /// The root module of the crate that a module belongs to.
    pub fn root(&self, module: ModuleId) -> ModuleId {
        self.krate(module).root
    }

    /// The `mod` item of a module; the root of a crate has none.
    pub fn declaration(&self, module: ModuleId) -> Option<ItemRef> {
        self.module_data(module).declared
    }

    /// The file that a module stands in.
    pub fn module_file(&self, module: ModuleId) -> &Path {
        &self.sources.files[self.module_data(module).file.0 as usize].disk
    }

    /// The text of that file as syn reads it, and how many bytes are before it.
    pub fn module_text(&self, module: ModuleId) -> (&str, usize) {
        let file = &self.sources.files[self.module_data(module).file.0 as usize];
        (file.rust(), file.base)
    }

    /// Attributes of the module: of its `mod` item and at the top of its file.
    pub fn module_attrs(&self, module: ModuleId) -> &[Attribute] {
        &self.module_data(module).attrs
    }

    /// The module belongs to the package itself, not to a path dependency.
    pub fn is_own(&self, module: ModuleId) -> bool {
        self.sources.packages[self.krate(module).package.0 as usize].own
    }

    /// The crate names of the package's own binaries.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        let own = |krate: &&Crate| !krate.lib && self.sources.packages[krate.package.0 as usize].own;
        self.sources.crates.iter().filter(own).map(|krate| krate.name.as_str())
    }

    /// The module belongs to a library, so that other crates can name its public items.
    pub fn is_lib(&self, module: ModuleId) -> bool {
        self.krate(module).lib
    }

    /// The path of a module, crate name first.
    pub fn module_path(&self, module: ModuleId) -> Vec<String> {
        let mut path = Vec::new();
        let mut at = module;
        while let Some(parent) = self.parent(at) {
            path.push(self.module_data(at).name.clone());
            at = parent;
        }
        path.push(self.krate(module).name.clone());
        path.reverse();
        path
    }

    /// The path of an item that has a name, crate name first.
    pub fn path(&self, item: ItemRef) -> Vec<String> {
        let mut path = self.module_path(self.module(item));
        path.extend(name(self.item(item)).map(ident));
        path
    }

    /// The predicates around the item that only the compiler can decide.
    pub fn unknown_cfg(&self, item: ItemRef) -> Option<String> {
        let data = self.data(item);
        let around = self.module_data(data.module).unknown_cfg.as_deref();
        let texts: Vec<_> = [around, data.unknown_cfg.as_deref()].into_iter().flatten().collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    /// What decides `cfg` in this module.
    pub fn cfg(&self, module: ModuleId) -> &CfgSet {
        &self.sources.packages[self.krate(module).package.0 as usize].cfg
    }

    /// The manifest of the package that the module belongs to.
    pub fn manifest_of(&self, module: ModuleId) -> &CargoManifest {
        &self.sources.packages[self.krate(module).package.0 as usize].manifest
    }

    /// The manifests of all packages that were read, the package's own first.
    pub fn manifests(&self) -> impl Iterator<Item = &CargoManifest> {
        self.sources.packages.iter().map(|package| &package.manifest)
    }

    /// The versions of a package in the lock file.
    pub fn locked(&self, package: &str) -> Vec<semver::Version> {
        self.manifest().lock.as_ref().map(|lock| lock.versions(package)).unwrap_or_default()
    }

    /// The versions of a package, by its name in Rust code, that the lock file has below another package.
    pub fn locked_below(&self, package: &str, version: &semver::Version, dependency: &str) -> Vec<semver::Version> {
        self.manifest().lock.as_ref().map(|lock| lock.below(package, version, dependency)).unwrap_or_default()
    }

    /// The dependency on k8s-openapi that code in a module uses, its feature for a version of Kubernetes, and whether
    /// they are those of what is linked here; or why there is none.
    pub fn k8s_openapi(&self, module: ModuleId) -> Result<(&Dependency, &str, bool), String> {
        let all: Vec<&CargoManifest> = self.manifests().collect();
        let (dependency, feature) = kubernetes::chosen(self.manifest_of(module), &all)?;
        Ok((dependency, feature, kubernetes::is_linked(dependency, feature)))
    }

    /// The folder of the modules that a feature switches on in a generated crate: `latest` stands for the newest.
    pub fn generated_modules(&self, package: &str, version: &semver::Version, feature: &str) -> Option<PathBuf> {
        self.sources.generated.folder(&self.manifest().workspace, package, version, feature)
    }

    /// A type of a generated crate by its path below a folder of modules.
    pub fn generated_type(&self, dir: &Path, path: &[String]) -> Option<Rc<GeneratedType>> {
        self.sources.generated.get(dir, path)
    }

    /// The names of a type of a generated crate in the API, if it is a resource.
    pub fn generated_resource(&self, dir: &Path, path: &[String]) -> Option<Rc<GeneratedResource>> {
        self.sources.generated.resource(dir, path)
    }

    /// The custom resource of which an item is the spec.
    pub fn custom_resource(&self, item: ItemRef) -> Option<CustomResource> {
        CustomResource::of(self.item(item))
    }

    /// Says that an answer depends on all code that may run; false when some of it is not read yet.
    ///
    /// A file without the word `fn` has no code.
    pub fn seek_code(&self) -> bool {
        self.sources.want_files(|file| file.text.contains("fn"));
        self.sources.wanted.borrow().is_empty()
    }

    /// `name` and every other name that a `use` in any file may give it, also in steps.
    pub fn names(&self, name: &str) -> BTreeSet<String> {
        self.sources.index().names(name)
    }

    /// The module belongs to a package that comes from a registry.
    pub fn is_fetched(&self, module: ModuleId) -> bool {
        self.sources.packages[self.krate(module).package.0 as usize].fetched
    }

    /// The place of a span from an item of this module.
    pub fn origin(&self, module: ModuleId, span: Span) -> Origin {
        let file = &self.sources.files[self.module_data(module).file.0 as usize];
        file.origin(file.range(span))
    }

    /// The text of a file that code in this module includes by a path.
    pub fn include(&self, module: ModuleId, path: &str) -> Option<String> {
        let file = &self.sources.files[self.module_data(module).file.0 as usize];
        files::read(&file.disk.parent()?.join(path)).ok()
    }

    /// The `//` comments that say `word`, of the package's own files, file by file; not those switched off by cfg.
    pub fn comments(&self, word: &str) -> Vec<Comment> {
        let unread = self.sources.unread_files();
        let files = self.sources.files.iter().enumerate();
        let files = files.filter(|(_, file)| file.own && self.is_wanted(&file.disk) && file.text.contains(word));
        let questions = files.map(|(position, file)| {
            let id = FileId(index(position));
            (id, file, unread.get(&id).copied())
        });
        let answers = parallel::map(questions, |(id, file, cfg)| (id, file, module::comments(file, word, cfg)));
        let mut comments = Vec::new();
        for (id, file, found) in answers {
            match found {
                Some(found) => comments.extend(found.iter().map(|comment| comment::Comment::new(comment, file))),
                None => self.sources.want_file(id),
            }
        }
        comments
    }

    /// What is in `/* */` comments of the package's own active source and begins a line, after blanks and `*`, with `word`.
    pub fn lines_of_blocks(&self, word: &str) -> impl Iterator<Item = Origin> {
        let files = self.sources.files.iter().filter(|file| file.own && self.is_wanted(&file.disk));
        files.filter(move |file| file.text.contains("/*") && file.text.contains(word)).flat_map(move |file| {
            let mut found = Vec::new();
            for block in comment::blocks(&file.text).into_iter().filter(|block| file.is_active(block.start)) {
                let mut start = block.start + 1;
                for line in file.text[start..block.end].split_inclusive('\n') {
                    let text = line.trim_start_matches(['*', ' ', '\t']);
                    let shown = text.trim_end_matches(['/', '*', ' ', '\t', '\r', '\n']);
                    if text.starts_with(word) {
                        let at = start + line.len() - text.len();
                        found.push(file.origin(at..at + shown.len()));
                    }
                    start += line.len();
                }
            }
            found
        })
    }

    /// The files that were read, of path dependencies too.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.sources.files.iter().map(|file| file.disk.as_path())
    }

    /// The package's own files that were read.
    pub fn own_files(&self) -> impl Iterator<Item = &Path> {
        self.sources.files.iter().filter(|file| file.own).map(|file| file.disk.as_path())
    }

    fn data(&self, item: ItemRef) -> &ItemData {
        &self.sources.items[item.0 as usize]
    }

    fn module_data(&self, module: ModuleId) -> &Module {
        &self.sources.modules[module.0 as usize]
    }

    fn krate(&self, module: ModuleId) -> &Crate {
        &self.sources.crates[self.module_data(module).krate.0 as usize]
    }
}

/// Which features of path dependencies count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// Those that are on for every platform and in every build.
    ForSure,
    /// Those that are on for one platform, or in a build of the tests; some versions of cargo's resolver have them on
    /// everywhere.
    Perhaps,
}

/// The package in `dir` and, transitively, its path dependencies, with the features that cargo would unify.
fn manifests_of(
    root: &Path,
    dir: &Path,
    selection: &FeatureSelection,
    pending: &Pending,
    asked: Asked,
) -> anyhow::Result<Vec<CargoManifest>> {
    let shown = |dir: &Path| {
        file::relative(&file::clean(&dir.join("Cargo.toml")), &file::clean(root)).to_string_lossy().into_owned()
    };
    let own = CargoManifest::read(dir, &shown(dir), selection, pending, None)?;
    let mut wanted: BTreeMap<PathBuf, FeatureSelection> = BTreeMap::new();
    let mut read: BTreeMap<PathBuf, CargoManifest> = BTreeMap::new();
    let mut order = Vec::new();
    let mut queue = vec![own.clone()];
    while let Some(manifest) = queue.pop() {
        let normal = manifest.dependencies.iter().filter(|(name, found)| manifest.is_active(name, found));
        let other = manifest.other_dependencies.values().filter(|_| asked == Asked::Perhaps && own.old_resolver);
        for dependency in normal.map(|(_, dependency)| dependency).chain(other) {
            let Some(path) = dependency.path.as_ref().filter(|path| path.as_path() != dir) else { continue };
            let default = FeatureSelection { no_default: true, ..FeatureSelection::default() };
            let mut selection = wanted.get(path).cloned().unwrap_or(default);
            let (default_features, features) = match asked {
                Asked::ForSure => (dependency.sure_default, &dependency.sure),
                Asked::Perhaps => (dependency.default_features, &dependency.features),
            };
            selection.no_default &= !default_features;
            selection.features.extend(features.iter().cloned());
            if wanted.get(path) == Some(&selection) {
                continue;
            }
            // A path dependency that can't be read stays a foreign crate.
            if let Ok(manifest) = CargoManifest::read(path, &shown(path), &selection, pending, own.lock.as_ref()) {
                if read.insert(path.clone(), manifest.clone()).is_none() {
                    order.push(path.clone());
                }
                queue.push(manifest);
            }
            wanted.insert(path.clone(), selection);
        }
    }
    Ok(std::iter::once(own).chain(order.iter().filter_map(|path| read.remove(path))).collect())
}

const DERIVE: &str = "CustomResource";

/// The dependency may have macros that derive custom resources.
fn uses_kube(manifest: &CargoManifest, dependency: &Dependency) -> bool {
    let lock = manifest.lock.as_ref();
    !dependency.package.starts_with("kube")
        && lock.is_some_and(|lock| lock.is_on_kube(&crate_name(&dependency.package)))
}

/// The name of an item that has one.
fn name(item: &Item) -> Option<&syn::Ident> {
    Some(match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::ExternCrate(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Mod(item) => &item.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    })
}

/// The text of an identifier without `r#`.
fn ident(ident: &syn::Ident) -> String {
    let text = ident.to_string();
    match text.strip_prefix("r#") {
        Some(raw) => raw.to_string(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// Loads a package given as one text: each file after a line `//- path`.
    #[allow(clippy::disallowed_methods, reason = "tests write what they read")]
    pub(super) fn load(text: &str) -> (SourceTree, Diagnostics) {
        let dir = tempfile::tempdir().unwrap();
        let mut files: BTreeMap<&str, String> = BTreeMap::new();
        let mut at = None;
        for line in text.lines() {
            if let Some(path) = line.strip_prefix("//- ") {
                at = Some(path);
                files.entry(path).or_default();
            } else if let Some(path) = at {
                writeln!(files.get_mut(path).unwrap(), "{line}").unwrap();
            }
        }
        if !files.contains_key("Cargo.toml") {
            files.insert("Cargo.toml", "package = { name = \"op\", edition = \"2024\" }\n".to_string());
        }
        for (path, text) in files {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        SourceTree::load(dir.path()).unwrap()
    }

    /// `path in module` as text, for tables.
    pub(super) fn show(tree: &SourceTree, module: &str, path: &str, namespace: Namespace) -> String {
        let modules = (0..index(tree.sources.modules.len())).map(ModuleId);
        let mut modules = modules.filter(|id| tree.module_path(*id).join("::") == module);
        let module = modules.next().unwrap_or_else(|| panic!("no module {module}"));
        match tree.resolve_in(module, &syn::parse_str(path).unwrap(), namespace) {
            Resolution::Local(item) => tree.path(item).join("::"),
            Resolution::Member(item, name) => format!("{}.{name}", tree.path(item).join("::")),
            Resolution::Foreign(path) => format!("extern {}", path.join("::")),
            Resolution::Primitive(name) => format!("primitive {name}"),
            Resolution::Unresolved(why) => why,
        }
    }

    fn messages(diagnostics: &Diagnostics) -> Vec<String> {
        let mut out = Vec::new();
        for diagnostic in diagnostics {
            let origin = diagnostic.origin.as_ref().unwrap();
            let before = &origin.text[..origin.range.start];
            let (line, column) = (before.matches('\n').count() + 1, before.rsplit('\n').next().unwrap().len() + 1);
            out.push(format!("{}:{line}:{column}: {}", origin.path, diagnostic.message));
        }
        out
    }

    fn paths(tree: &SourceTree) -> Vec<String> {
        tree.items().filter(|item| name(tree.item(*item)).is_some()).map(|item| tree.path(item).join("::")).collect()
    }

    #[test]
    fn follows_modules_as_rustc_does() {
        let (tree, diagnostics) = load(
            r#"
//- src/lib.rs
mod plain;
mod dir;
#[cfg_attr(unix, path = "os_unix.rs")] #[cfg_attr(windows, path = "os_windows.rs")] mod os;
mod inline { mod deep; #[path = "odd.rs"] mod named; struct InInline; }
#[path = "elsewhere/file.rs"] mod moved;
#[path = "thread_files"] mod thread { #[path = "tls.rs"] mod local; }
mod r#type;
#[cfg(test)] mod tests;
#[cfg_attr(feature = "none", path = "missing.rs")] mod conditional;
//- src/plain.rs
mod child; #[path = "sibling.rs"] mod other; mod inner { mod leaf; }
//- src/plain/child.rs
struct Child;
//- src/plain/inner/leaf.rs
struct Leaf;
//- src/sibling.rs
struct Sibling;
//- src/dir/mod.rs
mod child;
//- src/dir/child.rs
struct DirChild;
//- src/inline/deep.rs
struct Deep;
//- src/inline/odd.rs
struct Odd;
//- src/elsewhere/file.rs
mod near;
//- src/elsewhere/near.rs
struct Near;
//- src/thread_files/tls.rs
struct Tls;
//- src/type.rs
struct Raw;
//- src/conditional.rs
struct Conditional;
//- src/main.rs
struct Main;
"#,
        );
        assert_eq!(messages(&diagnostics), [""; 0]);
        let structs: Vec<_> = paths(&tree).into_iter().filter(|path| path.contains(char::is_uppercase)).collect();
        assert_eq!(
            structs,
            [
                "op::plain::child::Child",
                "op::plain::other::Sibling",
                "op::plain::inner::leaf::Leaf",
                "op::dir::child::DirChild",
                "op::inline::deep::Deep",
                "op::inline::named::Odd",
                "op::inline::InInline",
                "op::moved::near::Near",
                "op::thread::local::Tls",
                "op::type::Raw",
                "op::conditional::Conditional",
                "op::Main",
            ]
        );
    }

    #[test]
    fn broken_code_is_a_diagnostic() {
        let (tree, diagnostics) = load(
            r#"
//- src/lib.rs
struct Fine;
mod broken;
mod missing;
mod unclosed;
#[path = "lib.rs"] mod circle;
#[cfg(windows)] mod windows;
//- src/broken.rs
struct S {
    a: ,
}
//- src/unclosed.rs
fn f() { "
"#,
        );
        assert_eq!(
            messages(&diagnostics),
            [
                "src/broken.rs:2:8: expected one of: `for`, parentheses, `unsafe`, `fn`, `extern`, identifier, `::`, `<`, \
                 `dyn`, square brackets, `*`, `&`, `!`, `impl`, `_`, lifetime",
                "src/lib.rs:3:1: no file for module `missing`",
                "src/unclosed.rs:1:10: a bracket or literal is not closed, or a character does not belong here",
                "src/lib.rs:5:1: module `circle` contains itself through `src/lib.rs`",
            ]
        );
        assert!(paths(&tree).contains(&"op::Fine".to_string()));
    }

    #[test]
    fn manifests_as_cargo_reads_them() {
        let (tree, _) = load(
            r#"
//- Cargo.toml
[package]
name = "op"
edition.workspace = true
repository.workspace = true
[workspace]
members = ["types"]
[workspace.package]
edition = "2024"
repository = "https://example.com/op"
[workspace.dependencies]
kube = { version = "5", default-features = false, features = ["derive"] }
serde = "1.0.200"
[features]
default = ["full"]
full = ["metrics", "k8s-openapi/v1_36", "types?/extra", "dep:optional-crate"]
metrics = []
off = ["kube/client"]
[dependencies]
kube = { workspace = true, features = ["runtime"] }
serde.workspace = true
json = { package = "serde_json", version = "1" }
k8s-openapi = { version = "0.29", features = ["schemars"] }
types = { path = "./types", optional = true }
optional-crate = { version = "1", optional = true }
[target.'cfg(unix)'.dependencies]
nix = "0.30"
[dev-dependencies]
k8s-openapi = { version = "0.29", features = ["latest"] }
//- Cargo.lock
version = 4
[[package]]
name = "op"
version = "0.1.0"
dependencies = ["k8s-openapi", "kube 5.0.1", "serde_json"]
[[package]]
name = "kube"
version = "4.0.0"
source = "r"
[[package]]
name = "kube"
version = "5.0.1"
source = "r"
[[package]]
name = "k8s-openapi"
version = "0.29.0"
source = "r"
[[package]]
name = "serde_json"
version = "1.0.2"
source = "r"
//- types/Cargo.toml
[package]
name = "types"
[features]
extra = []
//- types/src/lib.rs
//- src/main.rs
"#,
        );
        let manifest = tree.manifest();
        assert_eq!(manifest.edition, "2024");
        assert_eq!(manifest.repository.as_deref(), Some("https://example.com/op"));
        assert!(manifest.has_lock);
        assert_eq!(Vec::from_iter(&manifest.active_features), ["default", "full", "metrics"]);
        let show = |(name, dependency): (&String, &Dependency)| {
            let features: Vec<_> = dependency.features.iter().map(String::as_str).collect();
            let locked = dependency.locked.as_ref().map(ToString::to_string).unwrap_or_default();
            format!(
                "{name} = {} {} {} default={} [{}]",
                dependency.package,
                dependency.requirement.as_deref().unwrap_or_default(),
                locked,
                dependency.default_features,
                features.join(",")
            )
        };
        assert_eq!(
            manifest.dependencies.iter().map(show).collect::<Vec<_>>(),
            [
                "json = serde_json 1 1.0.2 default=true []",
                "k8s_openapi = k8s-openapi 0.29 0.29.0 default=true [schemars,v1_36]",
                "kube = kube 5 5.0.1 default=false [derive,runtime]",
                "nix = nix 0.30  default=true []",
                "optional_crate = optional-crate 1  default=true []",
                "serde = serde 1.0.200  default=true []",
                "types = types   default=true [extra]",
            ]
        );
        let features = manifest.dependency_on("k8s-openapi").flat_map(|dependency| &dependency.features);
        assert_eq!(features.collect::<Vec<_>>(), ["schemars", "v1_36", "latest"]);
        let origin = &manifest.dependencies["kube"].origin;
        assert_eq!(&origin.text[origin.range.clone()], "kube = { workspace = true, features = [\"runtime\"] }");
    }

    #[test]
    fn features_of_packages_by_path() {
        let types = "//- types/Cargo.toml\npackage = { name = \"types\", edition = \"2024\" }\n[features]\ndefault = [\"usual\"]\n\
                     usual = []\nextra = []\n//- types/src/lib.rs\n//- src/lib.rs\n//- common/src/lib.rs\n//- common/Cargo.toml\n\
                     package = { name = \"common\", edition = \"2024\" }\n[dependencies]\n\
                     types = { path = \"../types\", features = [\"extra\"] }\n";
        let plain = "[dependencies]\ntypes = { path = \"types\" }\n";
        let extra = "types = { path = \"types\", features = [\"extra\"] }";
        let new = "package = { name = \"op\", edition = \"2021\" }\n";
        let old = "package = { name = \"op\", edition = \"2018\" }\n";
        let shared =
            "[dependencies]\ntypes = { workspace = true, default-features = false }\n[workspace.dependencies]\n";
        for (manifest, on, open) in [
            (format!("{new}{plain}"), "default usual", ""),
            (format!("{new}[dependencies]\n{extra}"), "default extra usual", ""),
            // Another platform may ask for a feature, or for the default ones.
            (format!("{new}{plain}[target.'cfg(windows)'.dependencies]\n{extra}"), "default usual", "extra"),
            (
                format!(
                    "{new}[target.a.dependencies]\n{extra}\n[target.b.dependencies]\ntypes = {{ path = \"types\", default-features = false }}"
                ),
                "",
                "default extra usual",
            ),
            (
                format!("{new}[target.a.dependencies]\n{extra}\n[target.b.dependencies]\n{extra}"),
                "default extra usual",
                "",
            ),
            // An optional package asks for nothing unless it is there.
            (format!("{new}{plain}common = {{ path = \"common\", optional = true }}"), "default usual", ""),
            (
                format!(
                    "{new}{plain}common = {{ path = \"common\", optional = true }}\n[features]\ndefault = [\"common\"]"
                ),
                "default extra usual",
                "",
            ),
            // What only tests ask for is on in each build with the old resolver.
            (format!("{new}{plain}[dev-dependencies]\n{extra}"), "default usual", ""),
            (format!("{old}{plain}[dev-dependencies]\n{extra}"), "default usual", "extra"),
            (format!("{old}{plain}[dev-dependencies]\n{extra}\n[workspace]\nresolver = \"2\""), "default usual", ""),
            // A member of a workspace can't switch off what the workspace has on.
            (format!("{new}{shared}types = {{ path = \"types\" }}"), "default usual", ""),
            (format!("{new}{shared}types = {{ path = \"types\", default-features = false }}"), "", ""),
        ] {
            let (tree, _) = load(&format!("//- Cargo.toml\n{manifest}\n{types}"));
            let cfg = &tree.sources.packages.iter().find(|package| package.manifest.name == "types").unwrap().cfg;
            let text = |features: &BTreeSet<String>| features.iter().cloned().collect::<Vec<_>>().join(" ");
            assert_eq!((text(&cfg.features).as_str(), text(&cfg.maybe).as_str()), (on, open), "{manifest}");
        }
    }

    #[test]
    fn an_optional_dependency_that_is_named_is_no_feature() {
        let manifest = "//- Cargo.toml\npackage = { name = \"op\", edition = \"2024\" }\n[features]\ndefault = [\"a\", \"types/extra\"]\n\
                        a = [\"dep:types\"]\n[dependencies]\ntypes = { version = \"1\", optional = true }\nother = { version = \"1\", optional = true }\n";
        let (tree, _) = load(manifest);
        assert_eq!(Vec::from_iter(&tree.manifest().active_features), ["a", "default"]);
        assert!(tree.manifest().features.keys().eq(["a", "default", "other"]));
    }

    #[test]
    fn a_dependency_that_is_another_one_elsewhere() {
        let tables = "[target.a.dependencies]\nsys = { path = \"x\", package = \"x\" }\n[target.b.dependencies]\nsys = { path = \"y\", package = \"y\" }\n";
        let (tree, _) = load(&format!(
            "//- Cargo.toml\npackage = {{ name = \"op\", edition = \"2024\" }}\n{tables}//- src/lib.rs\n//- x/Cargo.toml\n\
             package = {{ name = \"x\", edition = \"2024\" }}\n//- x/src/lib.rs\npub struct T;\n"
        ));
        let meant = show(&tree, "op", "sys::T", Namespace::Types);
        assert_eq!(meant, "`sys` is not clear: it is another package on another platform");
    }

    #[test]
    fn targets_as_cargo_finds_them() {
        let (tree, diagnostics) = load(
            r#"
//- Cargo.toml
[package]
name = "my-op"
edition = "2024"
[features]
tools = []
[lib]
name = "lib_name"
path = "source/root.rs"
[[bin]]
name = "first"
path = "source/first.rs"
[[bin]]
name = "gated"
path = "source/gated.rs"
required-features = ["tools"]
//- source/root.rs
pub struct Lib;
//- source/first.rs
use lib_name::Lib;
struct First;
//- source/gated.rs
struct Gated;
//- src/main.rs
struct Main;
//- src/bin/extra.rs
struct Extra;
//- src/bin/folder/main.rs
struct Folder;
//- tests/it.rs
struct Test;
"#,
        );
        assert_eq!(messages(&diagnostics), [""; 0]);
        assert_eq!(paths(&tree), ["lib_name::Lib", "extra::Extra", "first::First", "folder::Folder", "my_op::Main"]);
        assert_eq!(show(&tree, "first", "Lib", Namespace::Types), "lib_name::Lib");
    }

    #[test]
    fn comments_of_active_code() {
        let (tree, _) = load(
            r#"
//- src/lib.rs
#!/usr/bin/env rust
// one
fn f() { let _ = "// no"; } // two
#[cfg(test)]
// no
mod tests {
    // no
}
struct S {
    #[cfg(test)]
    // no
    a: u8,
    // three
}
#[cfg(unix)]
mod unix {
    // four
}
#[test]
fn t() {
    // no
}
"#,
        );
        let texts: Vec<_> = tree.comments("").into_iter().map(|comment| comment.text).collect();
        assert_eq!(texts, [" one", " two", " three", " four"]);
    }
}
