//! Follows `mod` from the root of each target. Maps files to modules and keeps the cfg-active items.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use syn::spanned::Spanned as _;
use syn::{Attribute, Item, Lit, Meta};

use super::cfg::{Cfg, CfgSet, decide};
use super::file::{FileId, SourceFile, clean, relative};
use super::files::Pending;
use super::ident::{ident, segments};
use super::lexer::{DEEPEST, deeper_than};
use super::outline::outline;
use super::package::{CrateId, PackageId};
use super::sources::{Crate, ItemData, ItemRef, Module, ModuleId, Sources, index};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, conflict};

/// The folder in which rustc looks for the files of a module's children.
#[derive(Debug, Clone)]
struct Dir {
    path: PathBuf,
    /// The stem of a file `foo.rs`, whose children are in `foo/`.
    relative: Option<String>,
}

impl Dir {
    /// The folder of a module that was read before.
    fn of(sources: &Sources, module: ModuleId) -> Self {
        let data = &sources[module];
        let disk = &sources[data.file].disk;
        let path = disk.parent().unwrap_or(Path::new("")).to_path_buf();
        let Some(parent) = data.parent else { return Self { path, relative: None } };
        let attr = path_attribute(&data.attrs);
        if sources[parent].file != data.file {
            let is_folder = attr.is_some() || disk.file_name().is_some_and(|name| name == "mod.rs");
            return Self { path, relative: (!is_folder).then(|| data.name.clone()) };
        }
        let outer = Self::of(sources, parent);
        let mut path = outer.path;
        match attr {
            Some(attr) => path.push(attr),
            None => path.extend(outer.relative.iter().chain([&data.name])),
        }
        Self { path, relative: None }
    }
}

fn root_of(file: &SourceFile) -> PathBuf {
    let mut root = file.disk.clone();
    for part in file.path.rsplit('/') {
        if root.file_name().is_none_or(|name| name != part) {
            return PathBuf::new();
        }
        root.pop();
    }
    root
}

pub(super) struct Loader<'a> {
    pub(super) sources: &'a mut Sources,
    pub(super) diagnostics: Diagnostics,
    by_path: BTreeMap<PathBuf, FileId>,
    /// The current chain of files, to detect a module that contains itself.
    stack: Vec<FileId>,
    root: &'a Path,
    pending: &'a Pending,
    /// Parse only files whose `mod` items the outline cannot determine.
    outlines: bool,
}

impl<'a> Loader<'a> {
    pub(super) fn new(sources: &'a mut Sources, root: &'a Path, pending: &'a Pending, outlines: bool) -> Self {
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

    pub(super) fn target(&mut self, package: PackageId, name: String, lib: bool, root: &Path) {
        let file = match self.read(root, package) {
            Ok(file) => file,
            Err(error) => {
                let manifest = &self.sources[package].manifest;
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
            included_in: None,
            unknown_cfg: None,
            complete: true,
            unread: false,
        });
        self.sources.crates.push(Crate { name, package, lib, root: module });
        if lib {
            self.sources[package].lib = Some(krate);
        }
        let dir = Dir { path: root.parent().unwrap_or(Path::new("")).to_path_buf(), relative: None };
        self.follow(module, file, &dir);
    }

    pub(super) fn expanded(sources: &mut Sources, module: ModuleId, items: Vec<Item>) -> Diagnostics {
        let (dir, root) = (Dir::of(sources, module), root_of(sources.file(module)));
        let pending = Pending::default();
        let mut loader = Loader::new(sources, &root, &pending, false);
        loader.stack.push(loader.sources[module].file);
        loader.items(module, items, &dir, VecDeque::new());
        loader.diagnostics
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
        self.read_as(path, &self.shown(path), package)
    }

    fn read_as(&mut self, path: &Path, shown: &Path, package: PackageId) -> std::io::Result<FileId> {
        let path = clean(path);
        if let Some(id) = self.by_path.get(&path) {
            return Ok(*id);
        }
        let text = self.pending.read(&path)?;
        let id = FileId(index(self.sources.files.len()));
        let own = self.sources[package].own;
        self.sources.files.push(SourceFile::new(path.clone(), shown, text, own));
        self.by_path.insert(path, id);
        Ok(id)
    }

    /// Reads `file` as the body of `module`, or only its outline if that suffices.
    fn follow(&mut self, module: ModuleId, file: FileId, dir: &Dir) {
        let source = &self.sources[file];
        let parsed = match if self.outlines { outline(source.rust()) } else { None } {
            Some(outline) => {
                self.sources[module].unread = true;
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
                let file = &mut self.sources[file];
                file.inactive.push(0..file.text.len());
                return;
            }
            Cfg::Unknown(text) => self.sources[module].add_unknown(&text),
        }
        let data = &mut self.sources[module];
        if !data.unread {
            data.attrs.extend(attrs);
        }
        self.stack.push(file);
        self.items(module, parsed.items, dir, VecDeque::new());
        self.stack.pop();
    }

    /// Reads the part of a module that its outline omits: everything except modules in their own files.
    pub(super) fn complete(&mut self, module: ModuleId) {
        let data = &mut self.sources[module];
        data.unread = false;
        let (file, known) = (data.file, VecDeque::from(std::mem::take(&mut data.items)));
        let source = &self.sources[file];
        if let Some(parsed) = self.parse(module, file, &source.text.clone()[source.base..]) {
            // An outline exists only if no inner attribute is a cfg.
            self.sources[module].attrs.extend(parsed.attrs);
            self.items(module, parsed.items, &Dir { path: PathBuf::new(), relative: None }, known);
        } else {
            self.sources[module].items = known.into();
        }
    }

    fn parse(&mut self, module: ModuleId, file: FileId, text: &str) -> Option<syn::File> {
        let source = &self.sources[file];
        let diagnostic = if let Some(at) = deeper_than(DEEPEST, text) {
            let at = at + source.base;
            let diagnostic = Diagnostic::new(Code::Syntax, "the code is nested too deeply");
            diagnostic.at(source.origin(at..at + 1))
        } else {
            let error = match syn::parse_str::<syn::File>(text) {
                Ok(parsed) => return Some(parsed),
                Err(error) => error,
            };
            let message = match error.to_string() {
                // The error text of proc-macro2 when tokenization fails.
                text if text == "cannot parse string into token stream" => {
                    "a bracket or literal is not closed, or a character is not valid here".to_string()
                }
                text => text,
            };
            match conflict::start(text).map(|at| source.base + at) {
                Some(at) => {
                    let diagnostic = Diagnostic::new(Code::Syntax, "the file has an unresolved merge conflict");
                    diagnostic.at(source.origin(at..at + 7)).help("resolve the conflict and remove its markers")
                }
                None => Diagnostic::new(Code::Syntax, message).at(source.origin(source.range(error.span()))),
            }
        };
        self.diagnostics.push(diagnostic);
        self.sources[module].complete = false;
        None
    }

    fn cfg(&self, module: ModuleId) -> &CfgSet {
        let krate = self.sources[module].krate;
        let package = self.sources[krate].package;
        &self.sources[package].cfg
    }

    /// `known` holds the modules in their own files that were read before, in order.
    fn items(&mut self, module: ModuleId, items: Vec<Item>, dir: &Dir, mut known: VecDeque<ItemRef>) {
        let file = self.sources[module].file;
        for mut item in items {
            let (cfg, dropped) = decide(self.cfg(module), &mut item);
            let source = &mut self.sources[file];
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
                self.sources[module].items.push(id);
                continue;
            }
            let id = ItemRef(index(self.sources.items.len()));
            let included = included_path(&item);
            self.sources.items.push(ItemData { module, child: None, unknown_cfg, item });
            self.sources[module].items.push(id);
            if let Some(content) = content {
                self.child(module, id, content, dir);
            } else if let Some(path) = included {
                self.include(module, id, &path);
            }
        }
    }

    /// Follows an `include!` item; the path is relative to the file of the call.
    fn include(&mut self, module: ModuleId, call: ItemRef, path: &str) {
        let host = self.sources.file(module);
        let beside = |file: &Path| clean(&file.parent().unwrap_or(Path::new("")).join(path));
        let (disk, shown) = (beside(&host.disk), beside(Path::new(&*host.path)));
        let package = self.sources.krate(module).package;
        // A call with an unreadable file stays unexpanded.
        let Ok(file) = self.read_as(&disk, &shown, package) else { return };
        let around = &self.sources[module];
        if file == around.file || self.stack.contains(&file) {
            return;
        }
        let mut included = Module {
            krate: around.krate,
            parent: around.parent,
            name: around.name.clone(),
            file,
            items: Vec::new(),
            attrs: around.attrs.clone(),
            declared: around.declared,
            included_in: Some(self.sources.scope(module)),
            unknown_cfg: around.unknown_cfg.clone(),
            complete: true,
            unread: false,
        };
        if let Some(unknown) = &self.sources[call].unknown_cfg {
            included.add_unknown(unknown);
        }
        let included = self.module(included);
        self.sources[call].child = Some(included);
        let path = disk.parent().unwrap_or(Path::new("")).to_path_buf();
        let outlines = std::mem::replace(&mut self.outlines, false);
        self.stack.push(self.sources[module].file);
        self.follow(included, file, &Dir { path, relative: None });
        self.stack.pop();
        self.outlines = outlines;
    }

    fn child(&mut self, parent: ModuleId, declared: ItemRef, content: Option<Vec<Item>>, dir: &Dir) {
        let data = &self.sources[declared];
        let Item::Mod(item) = &data.item else { return };
        let (name, span, attrs) = (ident(&item.ident), item.span(), item.attrs.clone());
        let path_attr = path_attribute(&attrs);
        let above = &self.sources[parent];
        let mut module = Module {
            krate: above.krate,
            parent: Some(self.sources.scope(parent)),
            name: name.clone(),
            file: above.file,
            items: Vec::new(),
            attrs,
            declared: Some(declared),
            included_in: None,
            unknown_cfg: above.unknown_cfg.clone(),
            complete: true,
            unread: false,
        };
        if let Some(unknown) = &data.unknown_cfg {
            module.add_unknown(unknown);
        }
        // A remaining `cfg_attr` may set another path.
        let uncertain =
            module.unknown_cfg.is_some() || module.attrs.iter().any(|attr| attr.path().is_ident("cfg_attr"));
        let module = self.module(module);
        self.sources[declared].child = Some(module);

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
        let package = self.sources.krate(module).package;
        let mut problem = None;
        for (path, relative) in &candidates {
            match self.read(path, package) {
                Ok(file) if self.stack.contains(&file) => {
                    problem = Some(format!("module `{name}` includes itself through `{}`", self.shown(path).display()));
                    break;
                }
                Ok(file) => {
                    self.sources[module].file = file;
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
        self.sources[module].complete = false;
        if uncertain && problem.is_none() {
            return;
        }
        let source = &self.sources.file(parent);
        let wanted: Vec<_> = candidates.iter().map(|(path, _)| format!("`{}`", self.shown(path).display())).collect();
        self.diagnostics.push(Diagnostic {
            code: Code::MissingModule,
            message: problem.unwrap_or_else(|| format!("file not found for module `{name}`")),
            origin: Some(source.origin(source.range(span))),
            help: Some(format!("create {}, or remove the declaration", wanted.join(" or "))),
            kinds: Box::default(),
        });
    }
}

fn included_path(item: &Item) -> Option<String> {
    let Item::Macro(call) = item else { return None };
    let is_include =
        call.ident.is_none() && matches!(segments(&call.mac.path).as_slice(), [.., last] if last == "include");
    is_include.then(|| call.mac.parse_body::<syn::LitStr>().ok()).flatten().map(|path| path.value())
}

fn path_attribute(attrs: &[Attribute]) -> Option<String> {
    attrs.iter().find_map(|attr| match &attr.meta {
        Meta::NameValue(meta) if meta.path.is_ident("path") => match &meta.value {
            syn::Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    })
}
