//! The types of public operators as one crate that compiles: what does not is taken out item by item.
//!
//! Only declarations are kept, imports one by one, derives and attributes that the schema depends on. rustc says which
//! items do not compile without the rest of their project (or with kube 5); they go, and rustc is asked again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use memcached_sdk::source::SourceTree;
use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::ToTokens as _;
use serde_json::Value;
use syn::{Attribute, ImplItem, Item, UseTree};

use crate::generated;

/// Derives that are kept: of std, of serde, and those that make a schema.
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
const ATTRIBUTES: [&str; 7] = ["doc", "serde", "schemars", "kube", "x_kube", "default", "deprecated"];
const TRAITS: [&str; 14] = [
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
];
const ROUNDS: usize = 40;

/// The module of an item, its position there, and its place in the text.
type Found = (Vec<String>, usize, std::ops::Range<usize>);

/// The declarations of one package, by the path of their module.
pub(super) struct Module {
    name: String,
    items: BTreeMap<Vec<String>, Vec<String>>,
}

impl Module {
    /// Takes the declarations out of a package.
    pub(super) fn new(name: &str, tree: &SourceTree) -> Self {
        let mut items: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
        for item in tree.items().filter(|item| tree.unknown_cfg(*item).is_none()) {
            let path = tree.module_path(tree.module(item));
            let list = items.entry(path[1..].to_vec()).or_default();
            list.extend(declarations(tree.item(item)).into_iter().map(|tokens| rebase(tokens, name).to_string()));
        }
        Self { name: name.to_owned(), items }
    }

    /// The text, the place of each item in it, and the keys of the custom resources.
    fn write(&self) -> (String, Vec<Found>) {
        let (mut text, mut places) = (String::new(), Vec::new());
        let all: BTreeSet<&[String]> =
            self.items.keys().flat_map(|path| (0..=path.len()).map(|length| &path[..length])).collect();
        self.module(&[], &all, &mut text, &mut places);
        (text, places)
    }

    fn module(&self, path: &[String], all: &BTreeSet<&[String]>, text: &mut String, places: &mut Vec<Found>) {
        let mut roots = Vec::new();
        for (index, item) in self.items.get(path).into_iter().flatten().enumerate() {
            let start = text.len();
            text.push_str(item);
            if !item.is_empty() {
                places.push((path.to_vec(), index, start..text.len()));
                text.push('\n');
            }
            roots.extend(root(item));
        }
        text.push_str("pub fn crds_of_module(add: &mut dyn FnMut(&str, fn() -> serde_json::Value)) {\n");
        for root in &roots {
            let key = [std::slice::from_ref(&self.name), path, std::slice::from_ref(root)].concat().join("::");
            writeln!(
                text,
                "    add({key:?}, || serde_json::to_value(<{root} as ::kube::CustomResourceExt>::crd()).unwrap());"
            )
            .unwrap();
        }
        text.push_str("}\n");
        for child in all.iter().filter(|child| child.len() == path.len() + 1 && child.starts_with(path)) {
            writeln!(text, "pub mod {} {{", raw(&child[path.len()])).unwrap();
            self.module(child, all, text, places);
            text.push_str("}\n");
        }
    }

    fn calls(&self) -> String {
        let all: BTreeSet<&[String]> =
            self.items.keys().flat_map(|path| (0..=path.len()).map(|length| &path[..length])).collect();
        let path = |path: &[String]| path.iter().map(|part| raw(part) + "::").collect::<String>();
        all.iter().map(|of| format!("    {}::{}crds_of_module(add);\n", self.name, path(of))).collect()
    }
}

fn raw(name: &str) -> String {
    if syn::parse_str::<Ident>(name).is_ok() { name.to_owned() } else { format!("r#{name}") }
}

/// Writes the crate, takes out what does not compile, and returns what `crd()` says: nothing for a panic.
pub(super) fn compile(folder: &Path, manifest: &str, lock: &str, modules: &mut [Module]) -> BTreeMap<String, Value> {
    std::fs::create_dir_all(folder.join("src")).unwrap();
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(folder.join("Cargo.lock"), lock).unwrap();
    let mut main = "#![allow(warnings)]\n".to_owned();
    modules.iter().for_each(|module| writeln!(main, "mod {};", module.name).unwrap());
    main.push_str("fn all(add: &mut dyn FnMut(&str, fn() -> serde_json::Value)) {\n");
    modules.iter().for_each(|module| main.push_str(&module.calls()));
    main.push_str(
        "}\nfn main() {\n    std::panic::set_hook(Box::new(|_| {}));\n    let mut crds = serde_json::Map::new();\n    \
         all(&mut |key, crd| drop(crds.insert(key.to_owned(), std::panic::catch_unwind(crd).unwrap_or_default())));\n    \
         println!(\"{}\", serde_json::to_string(&crds).unwrap());\n}\n",
    );
    std::fs::write(folder.join("src/main.rs"), main).unwrap();
    for round in 0..ROUNDS {
        let mut places = BTreeMap::new();
        for (index, module) in modules.iter().enumerate() {
            let (text, found) = module.write();
            let path = format!("src/{}.rs", module.name);
            std::fs::write(folder.join(&path), text).unwrap();
            places.insert(path, (index, found));
        }
        let output = generated::cargo(folder, &["check", "--message-format=json", "--quiet"]).output().unwrap();
        let mut gone = BTreeSet::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let message: Value = serde_json::from_str(line).unwrap();
            if message["message"]["level"] == "error" {
                blame(&message["message"], &places, &mut gone);
            }
        }
        println!("round {round}: {} items are taken out", gone.len());
        if output.status.success() {
            let output = generated::cargo(folder, &["run", "--quiet"]).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            return serde_json::from_slice(&output.stdout).unwrap();
        }
        assert!(!gone.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        for (module, path, index) in gone {
            modules[module].items.get_mut(&path).unwrap()[index].clear();
        }
    }
    panic!("the crate does not compile after {ROUNDS} rounds");
}

type Places = BTreeMap<String, (usize, Vec<Found>)>;

/// The items that an error of rustc is in.
fn blame(message: &Value, places: &Places, gone: &mut BTreeSet<(usize, Vec<String>, usize)>) {
    let before = gone.len();
    for span in message["spans"].as_array().into_iter().flatten().filter(|span| span["is_primary"] == true) {
        let mut span = span;
        while span["expansion"].is_object() && !places.contains_key(span["file_name"].as_str().unwrap_or_default()) {
            span = &span["expansion"]["span"];
        }
        let Some((module, items)) = places.get(span["file_name"].as_str().unwrap_or_default()) else { continue };
        let at = usize::try_from(span["byte_start"].as_u64().unwrap()).unwrap();
        let found = items.iter().find(|(_, _, range)| range.contains(&at));
        gone.extend(found.map(|(path, index, _)| (*module, path.clone(), *index)));
    }
    if gone.len() == before {
        for child in message["children"].as_array().into_iter().flatten() {
            blame(child, places, gone);
        }
    }
}

/// What of an item is kept, one import at a time.
fn declarations(item: &Item) -> Vec<TokenStream> {
    let mut item = item.clone();
    match &mut item {
        Item::Use(found) => {
            let mut all = Vec::new();
            let colon = found.leading_colon;
            imports(&found.tree, &TokenStream::new(), &mut all);
            return all.into_iter().map(|path| quote::quote!(pub use #colon #path;)).collect();
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
        Item::Fn(found) if found.sig.asyncness.is_none() => clean(&mut found.attrs),
        Item::Impl(found) => {
            clean(&mut found.attrs);
            match &found.trait_ {
                Some((path, _)) => {
                    let name = path.segments.last().unwrap().ident.to_string();
                    if !TRAITS.contains(&name.as_str()) {
                        return Vec::new();
                    }
                }
                None => found.items.retain(|item| match item {
                    ImplItem::Const(_) => true,
                    ImplItem::Fn(function) => {
                        function.sig.asyncness.is_none()
                            && !matches!(function.sig.inputs.first(), Some(syn::FnArg::Receiver(_)))
                    }
                    _ => false,
                }),
            }
        }
        _ => return Vec::new(),
    }
    vec![item.to_token_stream()]
}

fn imports(tree: &UseTree, before: &TokenStream, all: &mut Vec<TokenStream>) {
    match tree {
        UseTree::Path(path) => {
            let ident = &path.ident;
            imports(&path.tree, &quote::quote!(#before #ident ::), all);
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| imports(tree, before, all)),
        UseTree::Name(name) if name.ident == "self" => all.push(quote::quote!(#before {self})),
        tree => all.push(quote::quote!(#before #tree)),
    }
}

/// Keeps the attributes that a schema depends on, and the derives that are there.
fn clean(attributes: &mut Vec<Attribute>) {
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
    attributes.retain(|attribute| {
        attribute.path().is_ident("derive") || ATTRIBUTES.iter().any(|name| attribute.path().is_ident(name))
    });
}

/// `crate::x` as `crate::name::x`.
fn rebase(tokens: TokenStream, name: &str) -> TokenStream {
    let mut all = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                all.push(TokenTree::Group(Group::new(group.delimiter(), rebase(group.stream(), name))));
            }
            TokenTree::Ident(ident) if ident == "crate" => {
                let name = Ident::new(name, ident.span());
                all.extend(quote::quote!(crate :: #name));
            }
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let moved = text.strip_prefix("\"crate::").map(|rest| format!("\"crate::{name}::{rest}"));
                all.push(TokenTree::Literal(moved.map_or(literal, |text| text.parse().unwrap())));
            }
            token => all.push(token),
        }
    }
    all.into_iter().collect()
}

/// The type that the derive of a custom resource generates.
fn root(item: &str) -> Option<String> {
    let item = syn::parse_str::<Item>(item).ok()?;
    let attributes = match &item {
        Item::Struct(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        _ => return None,
    };
    let derives = attributes.iter().filter(|attribute| attribute.path().is_ident("derive"));
    if !derives.into_iter().any(|attribute| attribute.to_token_stream().to_string().contains("CustomResource")) {
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
