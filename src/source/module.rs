//! Follows `mod` from the root of each target: which file is which module, and which items are active.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use proc_macro2::Span;
use semver::Version;
use syn::spanned::Spanned as _;
use syn::{Attribute, Item, ItemMod, Lit, Meta};

use super::cfg::{Cfg, CfgSet, attrs_mut};
use super::comment::{Found, deeper_than, find};
use super::file::{FileId, SourceFile, clean, relative};
use super::files::Pending;
use super::kubernetes::Kubernetes;
use super::outline::{Index, TraitFunctions, outline};
use super::registry::Generated;
use super::{Crate, CrateId, ItemData, ItemRef, Module, ModuleId, Package, PackageId};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};

/// Parsing recurses: some 40 kB of stack for each level of brackets in an unoptimised build. Code has fewer than 40.
pub(super) const DEEPEST: usize = 400;

/// Everything that was read, before names are resolved.
#[derive(Debug, Default)]
pub(super) struct Sources {
    pub(super) files: Vec<SourceFile>,
    pub(super) modules: Vec<Module>,
    pub(super) items: Vec<ItemData>,
    pub(super) crates: Vec<Crate>,
    pub(super) packages: Vec<Package>,
    /// Modules of which more was asked for than their outline.
    pub(super) wanted: RefCell<BTreeSet<ModuleId>>,
    /// Packages of a registry of which something was asked for.
    pub(super) wanted_packages: RefCell<BTreeSet<(String, Version)>>,
    /// Packages of a registry that were looked for: whether their sources are there.
    pub(super) sought: BTreeMap<(String, Version), bool>,
    known: OfFiles<Index>,
    trait_functions: OfFiles<TraitFunctions>,
    /// What was read of crates that a generator has written.
    pub(super) generated: Generated,
    /// What the modules of k8s-openapi have.
    pub(super) kubernetes: Kubernetes,
}

/// What the texts of so many files say, once it was asked for.
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
    /// Notes that an answer depends on what is in this module.
    pub(super) fn want(&self, module: ModuleId) {
        if self.modules[module.0 as usize].unread {
            self.wanted.borrow_mut().insert(module);
        }
    }

    /// Notes that an answer depends on what is in this file.
    pub(super) fn want_file(&self, file: FileId) {
        let modules = self.modules.iter().enumerate().filter(|(_, module)| module.file == file);
        modules.for_each(|(position, _)| self.want(ModuleId(index(position))));
    }

    /// Notes that answers depend on the modules of the files for which `test` holds.
    pub(super) fn want_files(&self, test: impl Fn(&SourceFile) -> bool) {
        for (position, module) in self.modules.iter().enumerate().filter(|(_, module)| module.unread) {
            if test(&self.files[module.file.0 as usize]) {
                self.want(ModuleId(index(position)));
            }
        }
    }

    /// What decides `cfg` in the files of which no more than the outline was read.
    pub(super) fn unread_files(&self) -> BTreeMap<FileId, &CfgSet> {
        let unread = self.modules.iter().filter(|module| module.unread);
        let known = unread.map(|module| {
            let package = self.crates[module.krate.0 as usize].package;
            (module.file, &self.packages[package.0 as usize].cfg)
        });
        known.collect()
    }

    /// The paths, as shown, of the files of packages from a registry.
    pub(super) fn fetched_files(&self) -> impl Iterator<Item = &str> {
        let fetched = |module: &&Module| self.packages[self.crates[module.krate.0 as usize].package.0 as usize].fetched;
        self.modules.iter().filter(fetched).map(|module| &*self.files[module.file.0 as usize].path)
    }

    /// What the texts of all files say of names.
    pub(super) fn index(&self) -> Rc<Index> {
        let files = self.files.iter().enumerate();
        self.known.get(&self.files, || Index::of(files.map(|(id, file)| (FileId(index(id)), &*file.text))))
    }

    /// The names of the functions of traits in the texts of all files.
    pub(super) fn trait_functions(&self) -> Rc<TraitFunctions> {
        self.trait_functions.get(&self.files, || TraitFunctions::of(self.files.iter().map(|file| &*file.text)))
    }
}

/// Where the files of a module's children are looked for, as rustc does.
#[derive(Debug, Clone)]
struct Dir {
    path: PathBuf,
    /// Name of a file `foo.rs`, whose children are in `foo/`.
    relative: Option<String>,
}

pub(super) struct Loader<'a> {
    pub(super) sources: Sources,
    pub(super) diagnostics: Diagnostics,
    by_path: BTreeMap<PathBuf, FileId>,
    /// The files that are being followed, to notice a module that contains itself.
    stack: Vec<FileId>,
    /// What paths are shown relative to.
    root: &'a Path,
    pending: &'a Pending,
    /// Parse no file whose modules can be told without.
    outlines: bool,
}

impl<'a> Loader<'a> {
    pub(super) fn new(sources: Sources, root: &'a Path, pending: &'a Pending, outlines: bool) -> Self {
        Self {
            sources,
            outlines,
            diagnostics: Diagnostics::default(),
            by_path: BTreeMap::new(),
            stack: Vec::new(),
            root,
            pending,
        }
    }

    /// Reads one target of a package; a root that can't be read is a diagnostic.
    pub(super) fn target(&mut self, package: PackageId, name: String, lib: bool, root: &Path) {
        let file = match self.read(root, package) {
            Ok(file) => file,
            Err(error) => {
                let manifest = &self.sources.packages[package.0 as usize].manifest;
                self.diagnostics.push(Diagnostic {
                    code: Code::MissingModule,
                    message: format!("cannot read `{}`, the root of `{name}`: {error}", self.shown(root).display()),
                    origin: Some(manifest.origin.clone()),
                    help: Some("create the file, or set `path` of the target in Cargo.toml".to_string()),
                    kinds: Box::default(),
                });
                return;
            }
        };
        let krate = CrateId(index(self.sources.crates.len()));
        let module = self.module(Module {
            krate,
            parent: None,
            name: "crate".to_string(),
            file,
            items: Vec::new(),
            attrs: Vec::new(),
            declared: None,
            unknown_cfg: None,
            complete: true,
            unread: false,
        });
        self.sources.crates.push(Crate { name, package, lib, root: module });
        if lib {
            self.sources.packages[package.0 as usize].lib = Some(krate);
        }
        let dir = Dir { path: root.parent().unwrap_or(Path::new("")).to_path_buf(), relative: None };
        self.follow(module, file, &dir);
    }

    fn module(&mut self, module: Module) -> ModuleId {
        self.sources.modules.push(module);
        ModuleId(index(self.sources.modules.len() - 1))
    }

    fn shown(&self, path: &Path) -> PathBuf {
        for package in self.sources.packages.iter().filter(|package| package.fetched) {
            if let Ok(inside) = path.strip_prefix(&package.manifest.dir) {
                let version = package.manifest.version.as_deref().unwrap_or_default();
                return Path::new(&format!("{}-{version}", package.manifest.name)).join(inside);
            }
        }
        relative(&clean(path), &clean(self.root))
    }

    fn read(&mut self, path: &Path, package: PackageId) -> std::io::Result<FileId> {
        let path = clean(path);
        if let Some(id) = self.by_path.get(&path) {
            return Ok(*id);
        }
        let text = self.pending.read(&path)?;
        let id = FileId(index(self.sources.files.len()));
        let own = self.sources.packages[package.0 as usize].own;
        self.sources.files.push(SourceFile::new(path.clone(), &self.shown(&path), text, own));
        self.by_path.insert(path, id);
        Ok(id)
    }

    /// Reads `file` as the body of `module`, or its outline where that will do.
    fn follow(&mut self, module: ModuleId, file: FileId, dir: &Dir) {
        let source = &self.sources.files[file.0 as usize];
        let parsed = match if self.outlines { outline(source.rust()) } else { None } {
            Some(outline) => {
                self.sources.modules[module.0 as usize].unread = true;
                if outline.is_empty() {
                    return;
                }
                self.parse(module, file, &outline)
            }
            None => self.parse(module, file, &source.text.clone()[source.base..]),
        };
        let Some(parsed) = parsed else { return };
        let mut attrs = parsed.attrs;
        match self.cfg(module).apply(&mut attrs) {
            Cfg::On => {}
            Cfg::Off => {
                let file = &mut self.sources.files[file.0 as usize];
                file.inactive.push(0..file.text.len());
                return;
            }
            Cfg::Unknown(text) => self.sources.modules[module.0 as usize].add_unknown(&text),
        }
        let data = &mut self.sources.modules[module.0 as usize];
        if !data.unread {
            data.attrs.extend(attrs);
        }
        self.stack.push(file);
        self.items(module, parsed.items, dir, VecDeque::new());
        self.stack.pop();
    }

    /// Reads what the outline of a module has left out: everything but modules in files of their own.
    pub(super) fn complete(&mut self, module: ModuleId) {
        let data = &mut self.sources.modules[module.0 as usize];
        data.unread = false;
        let (file, known) = (data.file, VecDeque::from(std::mem::take(&mut data.items)));
        let source = &self.sources.files[file.0 as usize];
        if let Some(parsed) = self.parse(module, file, &source.text.clone()[source.base..]) {
            // An outline is made only where no cfg is among them.
            self.sources.modules[module.0 as usize].attrs.extend(parsed.attrs);
            self.items(module, parsed.items, &Dir { path: PathBuf::new(), relative: None }, known);
        } else {
            self.sources.modules[module.0 as usize].items = known.into();
        }
    }

    /// Parses `text`, which is from `file`.
    fn parse(&mut self, module: ModuleId, file: FileId, text: &str) -> Option<syn::File> {
        let source = &self.sources.files[file.0 as usize];
        let diagnostic = if let Some(at) = deeper_than(DEEPEST, text) {
            let at = at + source.base;
            let diagnostic = Diagnostic::new(Code::Syntax, "the code is nested too deeply to be read");
            diagnostic.at(source.origin(at..at + 1))
        } else {
            let error = match syn::parse_str::<syn::File>(text) {
                Ok(parsed) => return Some(parsed),
                Err(error) => error,
            };
            let message = match error.to_string() {
                // What proc-macro2 says when it can't even cut the text into tokens.
                text if text == "cannot parse string into token stream" => {
                    "a bracket or literal is not closed, or a character does not belong here".to_string()
                }
                text => text,
            };
            Diagnostic::new(Code::Syntax, message).at(source.origin(source.range(error.span())))
        };
        self.diagnostics.push(diagnostic);
        self.sources.modules[module.0 as usize].complete = false;
        None
    }

    fn cfg(&self, module: ModuleId) -> &CfgSet {
        let krate = self.sources.modules[module.0 as usize].krate;
        let package = self.sources.crates[krate.0 as usize].package;
        &self.sources.packages[package.0 as usize].cfg
    }

    /// `known` are the modules in files of their own that were read before, in order.
    fn items(&mut self, module: ModuleId, items: Vec<Item>, dir: &Dir, mut known: VecDeque<ItemRef>) {
        let file = self.sources.modules[module.0 as usize].file;
        for mut item in items {
            let (cfg, dropped) = decide(self.cfg(module), &mut item);
            let source = &mut self.sources.files[file.0 as usize];
            for span in dropped {
                let range = source.range(span);
                source.inactive.push(range);
            }
            let unknown_cfg = match cfg {
                Cfg::Off => continue,
                Cfg::On => None,
                Cfg::Unknown(text) => Some(text),
            };
            let content = match &mut item {
                Item::Mod(item) => Some(item.content.take().map(|(_, items)| items)),
                _ => None,
            };
            if let Some(None) = content
                && let Some(id) = known.pop_front()
            {
                self.sources.modules[module.0 as usize].items.push(id);
                continue;
            }
            let id = ItemRef(index(self.sources.items.len()));
            self.sources.items.push(ItemData { module, child: None, unknown_cfg, item });
            self.sources.modules[module.0 as usize].items.push(id);
            if let Some(content) = content {
                self.child(module, id, content, dir);
            }
        }
    }

    fn child(&mut self, parent: ModuleId, declared: ItemRef, content: Option<Vec<Item>>, dir: &Dir) {
        let data = &self.sources.items[declared.0 as usize];
        let Item::Mod(item) = &data.item else { return };
        let (name, span, attrs) = (super::ident(&item.ident), item.span(), item.attrs.clone());
        let path_attr = path_attribute(&attrs);
        let above = &self.sources.modules[parent.0 as usize];
        let mut module = Module {
            krate: above.krate,
            parent: Some(parent),
            name: name.clone(),
            file: above.file,
            items: Vec::new(),
            attrs,
            declared: Some(declared),
            unknown_cfg: above.unknown_cfg.clone(),
            complete: true,
            unread: false,
        };
        if let Some(unknown) = &data.unknown_cfg {
            module.add_unknown(unknown);
        }
        // A `cfg_attr` that is left may give another path.
        let uncertain =
            module.unknown_cfg.is_some() || module.attrs.iter().any(|attr| attr.path().is_ident("cfg_attr"));
        let module = self.module(module);
        self.sources.items[declared.0 as usize].child = Some(module);

        if let Some(items) = content {
            let mut path = dir.path.clone();
            match path_attr {
                Some(attr) => path.push(attr),
                None => path.extend(dir.relative.iter().chain([&name])),
            }
            self.items(module, items, &Dir { path, relative: None }, VecDeque::new());
            return;
        }
        let candidates = if let Some(attr) = path_attr {
            vec![(dir.path.join(attr), None)]
        } else {
            let mut base = dir.path.clone();
            base.extend(&dir.relative);
            vec![(base.join(format!("{name}.rs")), Some(name.clone())), (base.join(&name).join("mod.rs"), None)]
        };
        let package = self.sources.crates[self.sources.modules[module.0 as usize].krate.0 as usize].package;
        let mut problem = None;
        for (path, relative) in &candidates {
            match self.read(path, package) {
                Ok(file) if self.stack.contains(&file) => {
                    problem = Some(format!("module `{name}` contains itself through `{}`", self.shown(path).display()));
                    break;
                }
                Ok(file) => {
                    self.sources.modules[module.0 as usize].file = file;
                    let dir = path.parent().unwrap_or(Path::new("")).to_path_buf();
                    self.follow(module, file, &Dir { path: dir, relative: relative.clone() });
                    return;
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => {
                    problem = Some(format!("cannot read `{}`: {error}", self.shown(path).display()));
                    break;
                }
            }
        }
        self.sources.modules[module.0 as usize].complete = false;
        if uncertain && problem.is_none() {
            return;
        }
        let source = &self.sources.files[self.sources.modules[parent.0 as usize].file.0 as usize];
        let wanted: Vec<_> = candidates.iter().map(|(path, _)| format!("`{}`", self.shown(path).display())).collect();
        self.diagnostics.push(Diagnostic {
            code: Code::MissingModule,
            message: problem.unwrap_or_else(|| format!("no file for module `{name}`")),
            origin: Some(source.origin(source.range(span))),
            help: Some(format!("create {}, or remove the line", wanted.join(" or "))),
            kinds: Box::default(),
        });
    }
}

/// The comments of a file that say `word` and are not switched off. `unread` decides `cfg` in a file of which no more than the
/// outline was read; `None` when such a file is no Rust.
pub(super) fn comments(file: &SourceFile, word: &str, unread: Option<&CfgSet>) -> Option<Vec<Found>> {
    let mut found = find(&file.text);
    found.retain(|comment| file.text[comment.range.clone()].contains(word));
    let said: usize = found.iter().map(|comment| file.text[comment.range.clone()].matches(word).count()).sum();
    // Only a parser knows what cfg switches off, and whether a string that holds the word is one.
    let conditional = file.text.contains("cfg") || file.text.contains("test]");
    if let Some(cfg) = unread
        && (conditional || said < file.text.matches(word).count())
        && file.switched_off.get().is_none()
    {
        let inactive = inactive(file, cfg)?;
        file.switched_off.get_or_init(|| inactive);
    }
    found.retain(|comment| file.is_active(comment.range.start));
    Some(found)
}

/// The parts of a file that are switched off; `None` when it is no Rust.
fn inactive(file: &SourceFile, cfg: &CfgSet) -> Option<Vec<Range<usize>>> {
    let text = file.rust();
    if deeper_than(DEEPEST, text).is_some() {
        return None;
    }
    let mut parsed = syn::parse_str::<syn::File>(text).ok()?;
    let mut ranges = Vec::new();
    if cfg.apply(&mut parsed.attrs) == Cfg::Off {
        ranges.push(0..file.text.len());
    } else {
        switched_off(parsed.items, file, cfg, &mut ranges);
    }
    Some(ranges)
}

fn switched_off(items: Vec<Item>, file: &SourceFile, cfg: &CfgSet, ranges: &mut Vec<Range<usize>>) {
    for mut item in items {
        let (decided, spans) = decide(cfg, &mut item);
        ranges.extend(spans.into_iter().map(|span| file.range(span)));
        if let Item::Mod(ItemMod { content: Some((_, items)), .. }) = item
            && decided != Cfg::Off
        {
            switched_off(items, file, cfg, ranges);
        }
    }
}

/// Takes out of an item what `cfg` switches off; whether the item is, and where what was taken out stands.
fn decide(cfg: &CfgSet, item: &mut Item) -> (Cfg, Vec<Span>) {
    let first = attrs_mut(item).and_then(|attrs| attrs.first().map(|attr| attr.pound_token.span()));
    let mut dropped = Vec::new();
    let decided = cfg.apply_to_item(item, &mut dropped);
    if decided == Cfg::Off {
        let span = item.span();
        dropped.push(first.and_then(|first: Span| first.join(span)).unwrap_or(span));
    }
    (decided, dropped)
}

/// The value of `#[path = "…"]`.
fn path_attribute(attrs: &[Attribute]) -> Option<String> {
    attrs.iter().find_map(|attr| match &attr.meta {
        Meta::NameValue(meta) if meta.path.is_ident("path") => match &meta.value {
            syn::Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    })
}

/// Arenas hold fewer than four thousand million things.
pub(super) fn index(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
