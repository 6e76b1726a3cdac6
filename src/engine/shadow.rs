//! The shadow package: a copy of the user's with extra functions that reach private types, and another `main`.
//!
//! A tree of links to the user's files, except for edited files. Edits are at the end of modules and in the line of
//! `main`, so line numbers in compiler messages are the user's.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use syn::Item;

use super::cargo::{Cargo, Program};
use super::dump;
use super::kinds::CompiledType;
use super::manifest::{EngineManifests, helper_name, identifier, lock};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::{FeatureSelection, ItemRef, ModuleId, SourceTree, relative};

const ASKER: &str = "memcached-sdk-crdgen.rs";

/// Builds and runs a program for each crate of the package that has types.
pub(super) fn ask(
    cargo: &Cargo<'_>,
    tree: &SourceTree,
    features: &FeatureSelection,
    kinds: &[CompiledType],
) -> Result<Vec<(String, ExitStatus)>, Diagnostic> {
    let manifest = tree.manifest();
    let scratch = cargo.scratch()?;
    // The folder of the user's files in the workspace.
    let mirror = scratch.member("tree");
    let manifests = EngineManifests::read(manifest).map_err(|error| Diagnostic::from(&error))?;
    // The mirror starts at the workspace, which is how far `include_str!("../../README.md")` may reach.
    let base = if manifest.dir.starts_with(&manifest.workspace) { &manifest.workspace } else { &manifest.dir };
    let package = manifest.dir.strip_prefix(base).unwrap_or(Path::new(""));

    let mut edits = Edits::default();
    let mut binaries = Vec::new();
    let mut texts = BTreeMap::new();
    for root in tree.roots() {
        let kinds: Vec<&CompiledType> = kinds.iter().filter(|kind| tree.root(kind.module) == root).collect();
        let Some(json) = kinds.first().map(|kind| kind.json.as_str()) else { continue };
        add_functions(tree, &kinds, json, &mut edits);
        let path = if tree.is_lib(root) {
            let library = format!("::{}", tree.module_path(root)[0]);
            let json = json.strip_prefix("crate").map_or_else(|| json.to_owned(), |path| format!("{library}{path}"));
            texts.insert(package.join(ASKER), dump::main(&format!("{library}::{}", dump::ASK), &json));
            ASKER.to_owned()
        } else {
            replace_main(tree, root, json, &mut edits);
            slashed(&relative(tree.module_file(root), &manifest.dir))
        };
        let suffix = if binaries.is_empty() { String::new() } else { format!("-{}", binaries.len()) };
        binaries.push((helper_name(&manifest.name) + &suffix, path));
    }
    for (file, edits) in edits.0 {
        let path = file.strip_prefix(base).map_err(|_| {
            Diagnostic::new(Code::CompileFailed, format!("`{}` is outside of the workspace", file.display()))
                .help("move the module of the type into the workspace")
        })?;
        texts.insert(path.to_path_buf(), edits.apply());
    }
    texts.insert(package.join("Cargo.toml"), manifests.shadow(&binaries));
    let member = slashed(&Path::new(&mirror).join(package));
    let write = || -> io::Result<()> {
        let folder = |path: &str| format!("shadow/{path}");
        scratch.write(&folder("Cargo.toml"), &manifests.workspace(&member))?;
        if let Some(lock) = lock(manifest) {
            scratch.write(&folder("Cargo.lock"), &lock)?;
        }
        scratch.mirror(base, &folder(&mirror), &texts, &without(base, package, &cargo.target))
    };
    write().map_err(|error| cargo.unwritable(&error))?;

    // Makes the compiler print the user's paths.
    let remap = format!("--remap-path-prefix={mirror}=");
    // Lints of added code are noise.
    let flags = ["--cap-lints", "allow", &remap];
    let workspace = scratch.path("shadow");
    let run = |(binary, _): &(String, String)| {
        cargo.run(&Program { workspace: &workspace, package: &manifest.name, binary, features, flags: &flags })
    };
    binaries.iter().map(run).collect()
}

/// Paths without a link: manifests and lock files that would create other workspaces, and build output.
fn without(base: &Path, package: &Path, target: &Path) -> BTreeSet<PathBuf> {
    let mut without = BTreeSet::from([package.join("Cargo.lock")]);
    for folder in package.ancestors().skip(1) {
        without.extend(["Cargo.toml", "Cargo.lock"].map(|name| folder.join(name)));
    }
    without.extend(target.strip_prefix(base).map(Path::to_path_buf));
    without
}

#[derive(Default)]
struct Node {
    types: Vec<(String, String)>,
    modules: BTreeSet<String>,
}

fn add_functions(tree: &SourceTree, kinds: &[&CompiledType], json: &str, edits: &mut Edits) {
    let mut nodes: BTreeMap<ModuleId, Node> = BTreeMap::new();
    for kind in kinds {
        let crd = format!("<{} as {}::CustomResourceExt>::crd()", kind.name, kind.core);
        nodes.entry(kind.module).or_default().types.push((kind.path.clone(), crd));
        let mut module = kind.module;
        while let Some(parent) = tree.parent(module) {
            nodes.entry(parent).or_default().modules.insert(name(tree, module));
            module = parent;
        }
    }
    for (module, node) in nodes {
        let visibility = match tree.parent(module) {
            None if tree.is_lib(module) => "pub ",
            None => "",
            Some(_) => "pub(crate) ",
        };
        let types: Vec<(&str, String)> = node.types.iter().map(|(kind, crd)| (kind.as_str(), crd.clone())).collect();
        let modules: Vec<String> = node.modules.iter().map(|name| identifier(name)).collect();
        let text = dump::ask(visibility, json, &types, &modules);
        let file = edits.file(tree, module);
        for end in ends(tree, module) {
            file.insert(end, &text);
        }
    }
}

fn name(tree: &SourceTree, module: ModuleId) -> String {
    tree.module_path(module).pop().unwrap_or_default()
}

/// The offsets where the text of a module ends: its brace, or the end of its file. Several if `cfg` selects between
/// modules.
fn ends(tree: &SourceTree, module: ModuleId) -> Vec<usize> {
    let file = tree.module_file(module);
    let mut inline = Vec::new();
    let mut at = module;
    while let Some(parent) = tree.parent(at).filter(|parent| tree.module_file(*parent) == file) {
        inline.insert(0, name(tree, at));
        at = parent;
    }
    let (text, before) = tree.module_text(module);
    let mut ends = Vec::new();
    if inline.is_empty() {
        ends.push(before + text.len());
    } else if let Ok(parsed) = syn::parse_str::<syn::File>(text) {
        braces(&parsed.items, &inline, &mut |end| ends.push(before + end));
    }
    ends
}

fn braces(items: &[Item], path: &[String], found: &mut impl FnMut(usize)) {
    let Some((first, below)) = path.split_first() else { return };
    for item in items {
        if let Item::Mod(item) = item
            && item.ident.to_string().trim_start_matches("r#") == first
            && let Some((brace, items)) = &item.content
        {
            if below.is_empty() {
                found(brace.span.close().byte_range().start);
            }
            braces(items, below, found);
        }
    }
}

/// Replaces `main`; the old one stays as an unused function.
fn replace_main(tree: &SourceTree, root: ModuleId, json: &str, edits: &mut Edits) {
    let file = edits.file(tree, root);
    let main = |item: &ItemRef| match tree.item(*item) {
        Item::Fn(item) if item.sig.ident == "main" => Some(item),
        _ => None,
    };
    for main in tree.module_items(root).iter().filter_map(main) {
        use syn::spanned::Spanned as _;
        for attribute in &main.attrs {
            // For example `#[tokio::main]`.
            if !["cfg", "cfg_attr", "doc"].iter().any(|name| attribute.path().is_ident(name)) {
                file.blank(tree.origin(root, attribute.span()).range);
            }
        }
        file.replace(tree.origin(root, main.sig.ident.span()).range, "memcached_sdk_main");
    }
    file.insert(file.text.len(), &dump::main(dump::ASK, json));
}

#[derive(Default)]
struct Edits(BTreeMap<PathBuf, FileEdits>);

impl Edits {
    fn file(&mut self, tree: &SourceTree, module: ModuleId) -> &mut FileEdits {
        let path = tree.module_file(module).to_path_buf();
        self.0.entry(path).or_insert_with(|| {
            let (text, before) = tree.module_text(module);
            // Blanks replace a byte order mark and a `#!` line, because offsets count them.
            FileEdits { text: " ".repeat(before) + text, edits: Vec::new() }
        })
    }
}

struct FileEdits {
    text: String,
    edits: Vec<(Range<usize>, String)>,
}

impl FileEdits {
    fn insert(&mut self, at: usize, text: &str) {
        self.replace(at..at, text);
    }

    fn replace(&mut self, range: Range<usize>, text: &str) {
        self.edits.push((range, text.to_owned()));
    }

    /// Blanks a range but keeps line ends and so the line numbers.
    fn blank(&mut self, range: Range<usize>) {
        let text = self.text.get(range.clone()).unwrap_or_default();
        let blank: String = text.chars().map(|letter| if letter == '\n' { '\n' } else { ' ' }).collect();
        self.edits.push((range, blank));
    }

    fn apply(mut self) -> String {
        self.edits.sort_by_key(|(range, _)| range.start);
        for (range, text) in self.edits.into_iter().rev() {
            self.text.replace_range(range, &text);
        }
        self.text
    }
}

fn slashed(path: &Path) -> String {
    path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_ends_at_its_brace_in_every_variant() {
        let text = "mod a { mod r#type { struct A; } }\n#[cfg(x)]\nmod a { mod other {} }\n#[cfg(not(x))]\nmod a {\n    mod r#type {}\n}\n";
        let items = syn::parse_file(text).unwrap().items;
        let after = |path: &[&str]| {
            let path: Vec<String> = path.iter().map(|name| (*name).to_owned()).collect();
            let mut found = Vec::new();
            braces(&items, &path, &mut |end| found.push(&text[..end]));
            found.into_iter().map(|before| before.lines().next_back().unwrap_or_default()).collect::<Vec<_>>()
        };
        assert_eq!(after(&["a", "type"]), ["mod a { mod r#type { struct A; ", "    mod r#type {"]);
        assert_eq!(after(&["a"]), ["mod a { mod r#type { struct A; } ", "mod a { mod other {} ", "    mod r#type {}"]);
        assert_eq!(after(&["b"]), Vec::<&str>::new());
    }

    #[test]
    fn edits_keep_the_lines() {
        let text = "#[é(\n)]\nfn main() {}\n";
        let mut file = FileEdits { text: text.to_owned(), edits: Vec::new() };
        let main = text.find("main").unwrap();
        file.insert(text.len(), "// one\n");
        file.replace(main..main + 4, "other");
        file.blank(0..text.find("\nfn").unwrap());
        file.insert(text.len(), "// two\n");
        assert_eq!(file.apply(), "    \n  \nfn other() {}\n// one\n// two\n");
    }
}
