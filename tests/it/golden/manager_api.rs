//! The public API of the manager. `manager_api.txt` lists it, so that each change is deliberate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use quote::ToTokens;
use syn::{Attribute, Fields, ImplItem, Item, ItemImpl, TraitItem, Type, UseTree, Visibility};

type Modules = BTreeMap<String, Vec<Item>>;

#[derive(Default)]
struct Listing {
    types: BTreeMap<String, String>,
    lines: BTreeSet<String>,
}

#[test]
fn the_public_api_is_the_listed_one() {
    let mut modules = Modules::new();
    for (path, text) in crate::golden::samples::libraries() {
        let Some(file) = path.strip_prefix("manager/src/").and_then(|path| path.strip_suffix(".rs")) else { continue };
        if file.split('/').any(|part| part == "tests") {
            continue;
        }
        let path = if file == "lib" { String::new() } else { file.replace('/', "::") };
        modules.insert(path, syn::parse_file(&text).unwrap().items);
    }
    let mut listing = Listing::default();
    listing.module(&modules, "", "manager");
    for item in modules.values().flatten() {
        if let Item::Impl(item) = item {
            listing.implementation(item);
        }
    }
    let found: String = listing.lines.iter().map(|line| format!("{line}\n")).collect();
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden/manager_api.txt");
    snapbox::assert_data_eq!(found, snapbox::Data::read_from(&list, None).raw());
}

impl Listing {
    /// Lists the items of a public module under the path `at`.
    fn module(&mut self, modules: &Modules, module: &str, at: &str) {
        for item in &modules[module] {
            match item {
                Item::Mod(item) if is_public(&item.vis) => {
                    let name = item.ident.to_string();
                    self.lines.insert(line(&item.attrs, &format!("mod {at}::{name}")));
                    self.module(modules, &inside(module, &name), &format!("{at}::{name}"));
                }
                Item::Use(item) if is_public(&item.vis) => self.reexport(modules, module, &item.tree, &mut vec![], at),
                item => self.item(item, at),
            }
        }
    }

    fn reexport(&mut self, modules: &Modules, module: &str, tree: &UseTree, path: &mut Vec<String>, at: &str) {
        match tree {
            UseTree::Path(part) => {
                path.push(part.ident.to_string());
                self.reexport(modules, module, &part.tree, path, at);
                path.pop();
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.reexport(modules, module, tree, path, at);
                }
            }
            UseTree::Name(name) => {
                let own = path.split_first().filter(|(first, _)| *first == "self");
                let from = own.map(|(_, inner)| inner.iter().fold(module.to_owned(), |from, part| inside(&from, part)));
                match from.and_then(|from| modules.get(&from).map(|items| (from, items))) {
                    Some((from, items)) => {
                        let named = items.iter().filter(|item| ident(item).is_some_and(|ident| name.ident == *ident));
                        let before = self.lines.len();
                        named.for_each(|item| self.item(item, at));
                        if self.lines.len() == before {
                            // The type is re-exported there as well.
                            for item in items {
                                if let Item::Use(item) = item
                                    && item.tree.to_token_stream().to_string().contains(&name.ident.to_string())
                                {
                                    self.reexport(modules, &from, &item.tree, &mut vec![], at);
                                }
                            }
                        }
                    }
                    None => {
                        self.lines.insert(format!("use {at}::{} = {}", name.ident, shown(tree, path)));
                    }
                }
            }
            UseTree::Rename(_) | UseTree::Glob(_) => {
                self.lines.insert(format!("use {at}::{}", shown(tree, path)));
            }
        }
    }

    fn item(&mut self, item: &Item, at: &str) {
        match item {
            Item::Const(item) if is_public(&item.vis) => {
                self.lines.insert(line(&item.attrs, &format!("const {at}::{}: {}", item.ident, text(&item.ty))));
            }
            Item::Fn(item) if is_public(&item.vis) => {
                self.lines.insert(line(&item.attrs, &format!("fn {at}: {}", text(&item.sig))));
            }
            Item::Type(item) if is_public(&item.vis) => {
                self.lines.insert(line(&item.attrs, &format!("type {at}::{} = {}", item.ident, text(&item.ty))));
            }
            Item::Struct(item) if is_public(&item.vis) => {
                let path = self.named(&item.ident.to_string(), at);
                let generics = text(&item.generics);
                self.lines.insert(line(&item.attrs, &format!("struct {path}{generics}{}", derives(&item.attrs))));
                self.fields(&path, &item.fields, false);
            }
            Item::Enum(item) if is_public(&item.vis) => {
                let path = self.named(&item.ident.to_string(), at);
                self.lines.insert(line(&item.attrs, &format!("enum {path}{}", derives(&item.attrs))));
                for variant in &item.variants {
                    let path = format!("{path}::{}", variant.ident);
                    self.lines.insert(line(&variant.attrs, &path));
                    self.fields(&path, &variant.fields, true);
                }
            }
            Item::Trait(item) if is_public(&item.vis) => {
                let path = self.named(&item.ident.to_string(), at);
                let head = format!("trait {path}{}: {}", text(&item.generics), text(&item.supertraits));
                self.lines.insert(line(&item.attrs, &head));
                for inner in &item.items {
                    match inner {
                        TraitItem::Fn(inner) => {
                            let default = if inner.default.is_some() { " { … }" } else { "" };
                            self.lines.insert(format!("{path}: {}{default}", text(&inner.sig)));
                        }
                        TraitItem::Const(inner) => {
                            let default = if inner.default.is_some() { " = …" } else { "" };
                            self.lines.insert(format!("{path}: const {}: {}{default}", inner.ident, text(&inner.ty)));
                        }
                        TraitItem::Type(inner) => {
                            self.lines.insert(format!("{path}: type {}: {}", inner.ident, text(&inner.bounds)));
                        }
                        inner => panic!("{path} has an item that is not listed: {}", text(inner)),
                    }
                }
            }
            _ => {}
        }
    }

    fn fields(&mut self, path: &str, fields: &Fields, are_public: bool) {
        for (position, field) in fields.iter().enumerate() {
            if are_public || is_public(&field.vis) {
                let name = field.ident.as_ref().map_or_else(|| position.to_string(), ToString::to_string);
                self.lines.insert(line(&field.attrs, &format!("{path}.{name}: {}", text(&field.ty))));
            }
        }
    }

    fn named(&mut self, name: &str, at: &str) -> String {
        let path = format!("{at}::{name}");
        self.types.insert(name.to_owned(), path.clone());
        path
    }

    fn implementation(&mut self, item: &ItemImpl) {
        let own = match &*item.self_ty {
            Type::Path(of) if of.path.segments.len() == 1 => {
                self.types.get(&of.path.segments[0].ident.to_string()).cloned()
            }
            _ => None,
        };
        if let Some((implemented, _)) = &item.trait_ {
            let name = implemented.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
            let Some(of) = own.or_else(|| self.types.contains_key(&name).then(|| text(&item.self_ty))) else { return };
            let head = format!("impl {} for {of}: {}", text(implemented), text(&item.generics));
            self.lines.insert(line(&item.attrs, head.trim_end_matches([':', ' '])));
            return;
        }
        let Some(path) = own else { return };
        for inner in &item.items {
            if let ImplItem::Fn(inner) = inner
                && is_public(&inner.vis)
            {
                self.lines.insert(line(&inner.attrs, &format!("{path}: {}", text(&inner.sig))));
            }
        }
    }
}

fn inside(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn ident(item: &Item) -> Option<&syn::Ident> {
    match item {
        Item::Const(item) => Some(&item.ident),
        Item::Enum(item) => Some(&item.ident),
        Item::Fn(item) => Some(&item.sig.ident),
        Item::Struct(item) => Some(&item.ident),
        Item::Trait(item) => Some(&item.ident),
        Item::Type(item) => Some(&item.ident),
        _ => None,
    }
}

fn shown(tree: &UseTree, path: &[String]) -> String {
    path.iter().map(|part| format!("{part}::")).collect::<String>() + &text(tree)
}

/// An entry of the list, prefixed with its `cfg` and the attributes that callers notice.
fn line(attributes: &[Attribute], shown: &str) -> String {
    let of_api = ["cfg", "must_use", "non_exhaustive"];
    let told = attributes.iter().filter(|attribute| of_api.iter().any(|name| attribute.path().is_ident(name)));
    let told = told.map(|attribute| match attribute.path().is_ident("must_use") {
        true => " #[must_use]".to_owned(),
        false => format!(" {}", text(attribute)),
    });
    shown.to_owned() + &told.collect::<String>()
}

fn derives(attributes: &[Attribute]) -> String {
    let derives = attributes.iter().filter(|attribute| attribute.path().is_ident("derive"));
    derives.map(|derive| format!(" {}", text(derive))).collect()
}

/// Tokens with the spacing of rustfmt.
fn text(tokens: &impl ToTokens) -> String {
    let mut text = tokens.to_token_stream().to_string();
    for (from, to) in [
        (" :: ", "::"),
        (" < ", "<"),
        (" >", ">"),
        ("< ", "<"),
        (" ,", ","),
        (" ;", ";"),
        (" :", ":"),
        ("& ", "&"),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        ("# [", "#["),
        (" <", "<"),
        ("- >", "->"),
        ("-> ", " -> "),
        ("  ", " "),
    ] {
        text = text.replace(from, to);
    }
    text
}
