//! The declarations that a public operator's custom resources need, moved to kube 5 and schemars 1.
//!
//! An item is kept if a kept item mentions its name; paths are not resolved. So a resolution error of the engine still
//! differs from the compiler's answer.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;

use memcached_sdk::source::{ItemRef, ModuleId, SourceTree};
use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens as _, quote};
use syn::{Attribute, Item, UseTree};

/// Derives that are kept: std, serde and schema derives.
const DERIVES: [&str; 14] = [
    "Clone",
    "Copy",
    "Debug",
    "Default",
    "PartialEq",
    "Eq",
    "PartialOrd",
    "Ord",
    "Hash",
    "Serialize",
    "Deserialize",
    "JsonSchema",
    "CustomResource",
    "KubeSchema",
];
/// Attributes that affect the schema.
const ATTRIBUTES: [&str; 11] =
    ["doc", "serde", "schemars", "validate", "kube", "x_kube", "default", "deprecated", "cfg", "cfg_attr", "derive"];
/// Traits that may affect a schema or a default.
const TRAITS: [&str; 16] = [
    "Default",
    "JsonSchema",
    "Serialize",
    "Deserialize",
    "From",
    "TryFrom",
    "Display",
    "FromStr",
    "PartialEq",
    "Eq",
    "Hash",
    "Ord",
    "PartialOrd",
    "Clone",
    "Deref",
    "AsRef",
];

/// A module path relative to the crate.
pub(super) type Path = Vec<String>;

/// An item, an import of one name, or an associated item.
pub(super) struct Unit {
    /// Empty after removal.
    pub(super) text: String,
    pub(super) name: String,
    pub(super) import: bool,
    /// The unit is needed once all of these names are mentioned.
    provides: Vec<String>,
    mentions: BTreeSet<String>,
    /// The type that the `CustomResource` derive generates.
    pub(super) root: Option<String>,
}

pub(super) struct Declarations {
    pub(super) name: String,
    pub(super) units: BTreeMap<Path, Vec<Unit>>,
    /// Features of the package, with the default ones.
    pub(super) features: String,
}

/// Position of a unit in the written text.
pub(super) struct Place {
    pub(super) module: Path,
    pub(super) index: usize,
    pub(super) range: Range<usize>,
}

impl Declarations {
    /// Returns declarations for each target whose custom resources are not in an earlier target.
    pub(super) fn of(tree: &SourceTree, repository: &str) -> Vec<Self> {
        let slug: String =
            repository.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '_' }).collect();
        let mut seen = BTreeSet::new();
        let mut all = Vec::new();
        for root in tree.roots().filter(|root| tree.is_own(*root)) {
            let mut units: BTreeMap<Path, Vec<Unit>> = BTreeMap::new();
            let mut fresh = false;
            for item in tree.items().filter(|item| root_of(tree, tree.module(*item)) == root) {
                let path = tree.module_path(tree.module(item))[1..].to_vec();
                let kept = units.entry(path).or_default();
                for unit in taken(tree, item) {
                    if unit.root.is_some() {
                        fresh |= seen.insert((tree.module_file(tree.module(item)).to_path_buf(), unit.root.clone()));
                    }
                    kept.push(unit);
                }
            }
            if fresh {
                prune(&mut units);
                let package = tree.manifest().name.replace('-', "_");
                let name = format!("{slug}_{package}_{}", all.len()).to_lowercase();
                all.push(Self { name, units, features: features(tree) });
            }
        }
        all
    }

    pub(super) fn resources(&self) -> usize {
        self.units.values().flatten().filter(|unit| unit.root.is_some() && !unit.text.is_empty()).count()
    }

    /// Returns the text of the crate and the position of each unit.
    pub(super) fn write(&self) -> (String, Vec<Place>) {
        let (mut text, mut places) = ("#![allow(warnings)]\n".to_owned(), Vec::new());
        let all: BTreeSet<&[String]> =
            self.units.keys().flat_map(|path| (0..=path.len()).map(|length| &path[..length])).collect();
        self.module(&[], &all, &mut text, &mut places);
        (text, places)
    }

    /// Writes a module: its units, a function that lists its resources and those of its submodules, and the submodules.
    fn module(&self, path: &[String], all: &BTreeSet<&[String]>, text: &mut String, places: &mut Vec<Place>) {
        let units = self.units.get(path).map_or(&[][..], Vec::as_slice);
        for (index, unit) in units.iter().enumerate().filter(|(_, unit)| !unit.text.is_empty()) {
            let start = text.len();
            text.push_str(&unit.text);
            places.push(Place { module: path.to_vec(), index, range: start..text.len() });
            text.push('\n');
        }
        text.push_str("pub fn crds_of_module(add: &mut dyn FnMut(&str, fn() -> ::serde_json::Value)) {\n");
        for root in units.iter().filter(|unit| !unit.text.is_empty()).filter_map(|unit| unit.root.as_ref()) {
            let key = key(path, root);
            let crd = format!("<{root} as ::kube::CustomResourceExt>::crd()");
            writeln!(text, "    add({key:?}, || ::serde_json::to_value({crd}).unwrap());").unwrap();
        }
        let children: Vec<_> =
            all.iter().filter(|child| child.len() == path.len() + 1 && child.starts_with(path)).collect();
        for child in &children {
            writeln!(text, "    {}::crds_of_module(add);", raw(&child[path.len()])).unwrap();
        }
        text.push_str("}\n");
        for child in children {
            writeln!(text, "pub mod {} {{", raw(&child[path.len()])).unwrap();
            self.module(child, all, text, places);
            text.push_str("}\n");
        }
    }
}

/// Unique name of a custom resource in its crate.
pub(super) fn key(module: &[String], root: &str) -> String {
    [module, &[root.to_owned()]].concat().join("::")
}

fn raw(name: &str) -> String {
    if syn::parse_str::<Ident>(name).is_ok() { name.to_owned() } else { format!("r#{name}") }
}

fn root_of(tree: &SourceTree, module: ModuleId) -> ModuleId {
    tree.parent(module).map_or(module, |parent| root_of(tree, parent))
}

/// `[features]` without features of dependencies.
fn features(tree: &SourceTree) -> String {
    let manifest = tree.manifest();
    let mut text = "[features]\n".to_owned();
    for name in manifest.features.keys().filter(|name| *name != "default") {
        writeln!(text, "{name:?} = []").unwrap();
    }
    let active = manifest.active_features.iter().filter(|name| *name != "default");
    let active: Vec<_> = active.filter(|name| manifest.features.contains_key(*name)).collect();
    writeln!(text, "default = {active:?}").unwrap();
    text
}

/// Removes units that no custom resource reaches.
fn prune(units: &mut BTreeMap<Path, Vec<Unit>>) {
    let mut named: BTreeSet<String> = BTreeSet::new();
    let mut kept = BTreeSet::new();
    loop {
        let before = kept.len();
        for (path, list) in units.iter() {
            for (index, unit) in list.iter().enumerate() {
                let needed = unit.root.is_some() || unit.provides.iter().all(|name| named.contains(name));
                if needed && kept.insert((path.clone(), index)) {
                    named.extend(unit.mentions.iter().cloned());
                }
            }
        }
        if kept.len() == before {
            break;
        }
    }
    for (path, list) in units.iter_mut() {
        let mut index = 0;
        list.retain(|_| {
            index += 1;
            kept.contains(&(path.clone(), index - 1))
        });
    }
    units.retain(|_, list| !list.is_empty());
}

/// Splits an item into the units to keep: imports and associated items are separate.
fn taken(tree: &SourceTree, item: ItemRef) -> Vec<Unit> {
    let mut item = tree.item(item).clone();
    match &mut item {
        Item::Use(found) => {
            let mut all = Vec::new();
            imports(&found.tree, &TokenStream::new(), &mut all);
            let (vis, colon) = (&found.vis, found.leading_colon);
            return all
                .into_iter()
                .map(|(name, path)| Unit::new(quote!(#vis use #colon #path;), name.into_iter().collect(), true))
                .collect();
        }
        Item::Struct(found) => {
            clean(&mut found.attrs);
            found.fields.iter_mut().for_each(|field| clean(&mut field.attrs));
        }
        Item::Enum(found) => {
            clean(&mut found.attrs);
            for variant in &mut found.variants {
                clean(&mut variant.attrs);
                variant.fields.iter_mut().for_each(|field| clean(&mut field.attrs));
            }
        }
        Item::Type(found) => clean(&mut found.attrs),
        Item::Const(found) => clean(&mut found.attrs),
        Item::Static(found) => clean(&mut found.attrs),
        Item::Trait(found) => clean(&mut found.attrs),
        Item::Fn(found) if found.sig.asyncness.is_none() => clean(&mut found.attrs),
        Item::Impl(found) => return associated(found),
        _ => return Vec::new(),
    }
    let name = match &item {
        Item::Struct(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Const(item) => &item.ident,
        Item::Static(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        _ => return Vec::new(),
    };
    let name = name.to_string();
    let root = root(&item);
    let mut unit = Unit::new(item.to_token_stream(), vec![name], false);
    unit.root = root;
    vec![unit]
}

/// A trait impl is one unit; an inherent impl is one unit for each item.
fn associated(block: &syn::ItemImpl) -> Vec<Unit> {
    let mut block = block.clone();
    clean(&mut block.attrs);
    let syn::Type::Path(of) = &*block.self_ty else { return Vec::new() };
    let of = of.path.segments.last().unwrap().ident.to_string();
    if let Some((path, _)) = &block.trait_ {
        let name = path.segments.last().unwrap().ident.to_string();
        let kept = TRAITS.contains(&name.as_str());
        return if kept { vec![Unit::new(block.to_token_stream(), vec![of], false)] } else { Vec::new() };
    }
    let named = block.items.iter().filter_map(|item| match item {
        syn::ImplItem::Const(found) => Some((item, found.ident.to_string())),
        syn::ImplItem::Fn(found) if found.sig.asyncness.is_none() => Some((item, found.sig.ident.to_string())),
        _ => None,
    });
    let single = |item: &syn::ImplItem| syn::ItemImpl { items: vec![item.clone()], ..block.clone() };
    named.map(|(item, name)| Unit::new(single(item).to_token_stream(), vec![of.clone(), name], false)).collect()
}

impl Unit {
    fn new(tokens: TokenStream, provides: Vec<String>, import: bool) -> Self {
        let tokens = moved(tokens);
        let mut mentions = BTreeSet::new();
        mention(tokens.clone(), &mut mentions);
        let text = tokens.to_string();
        let name = if import { text.clone() } else { provides.join("::") };
        Self { text, name, import, provides, mentions, root: None }
    }
}

/// Splits imports into single names. A glob has no name.
fn imports(tree: &UseTree, before: &TokenStream, all: &mut Vec<(Option<String>, TokenStream)>) {
    match tree {
        UseTree::Path(path) => {
            let ident = &path.ident;
            imports(&path.tree, &quote!(#before #ident ::), all);
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| imports(tree, before, all)),
        UseTree::Name(name) if name.ident == "self" => {
            let last = before.clone().into_iter().filter_map(|token| match token {
                TokenTree::Ident(ident) => Some(ident.to_string()),
                _ => None,
            });
            all.push((last.last(), quote!(#before {self})));
        }
        UseTree::Name(name) => all.push((Some(name.ident.to_string()), quote!(#before #tree))),
        // `as _` imports methods, which do not mention the name.
        UseTree::Rename(name) if name.rename == "_" => all.push((None, quote!(#before #tree))),
        UseTree::Rename(name) => all.push((Some(name.rename.to_string()), quote!(#before #tree))),
        UseTree::Glob(_) => all.push((None, quote!(#before #tree))),
    }
}

/// Collects all names in tokens, and in strings that are paths.
fn mention(tokens: TokenStream, all: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => mention(group.stream(), all),
            TokenTree::Ident(ident) => drop(all.insert(ident.to_string())),
            TokenTree::Literal(literal) => {
                if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string())
                    && text.value().len() < 200
                    && let Ok(inner) = text.value().parse::<TokenStream>()
                {
                    mention(inner, all);
                }
            }
            TokenTree::Punct(_) => {}
        }
    }
}

/// Renames the moved names of schemars 0.8.
fn moved(tokens: TokenStream) -> TokenStream {
    let mut all: Vec<TokenTree> = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), moved(group.stream()));
                inner.set_span(group.span());
                all.push(inner.into());
            }
            TokenTree::Ident(ident)
                if ["gen", "r#gen", "schema"].iter().any(|name| ident == name)
                    && ends_with(&all, "schemars")
                    && matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == ':') =>
            {
                tokens.next();
                tokens.next();
            }
            token => all.push(token),
        }
    }
    all.into_iter().collect()
}

fn ends_with(tokens: &[TokenTree], name: &str) -> bool {
    let colon = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':');
    matches!(tokens, [.., TokenTree::Ident(ident), first, second] if ident == name && colon(first) && colon(second))
}

/// Keeps the attributes that affect the schema, and known derives.
fn clean(attributes: &mut Vec<Attribute>) {
    attributes.retain(|attribute| ATTRIBUTES.iter().any(|name| attribute.path().is_ident(name)));
    for attribute in attributes.iter_mut().filter(|attribute| attribute.path().is_ident("derive")) {
        let mut kept = Vec::new();
        let _ = attribute.parse_nested_meta(|meta| {
            let last = meta.path.segments.last().unwrap().ident.to_string();
            if DERIVES.contains(&last.as_str()) {
                kept.push(meta.path);
            }
            Ok(())
        });
        *attribute = syn::parse_quote!(#[derive(#(#kept),*)]);
    }
}

/// The type that a `CustomResource` derive generates.
fn root(item: &Item) -> Option<String> {
    let attributes = match item {
        Item::Struct(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        _ => return None,
    };
    let mut derives = attributes.iter().filter(|attribute| attribute.path().is_ident("derive"));
    if !derives.any(|attribute| attribute.to_token_stream().to_string().contains("CustomResource")) {
        return None;
    }
    let (mut kind, mut root) = (None, None);
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("kube")) {
        let parser = syn::punctuated::Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated;
        for meta in attribute.parse_args_with(parser).ok()? {
            let syn::Meta::NameValue(pair) = &meta else { continue };
            let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &pair.value else { continue };
            if pair.path.is_ident("kind") {
                kind = Some(text.value());
            } else if pair.path.is_ident("root") {
                root = Some(text.value());
            }
        }
    }
    root.or(kind)
}
