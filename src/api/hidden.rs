//! Custom resources in code that is not read: macros, included files, and blocks inside of items.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Attribute, Item};

use crate::diagnostic::{Code, Diagnostic, Origin};
use crate::source::macros::{any, is_punct, says};
use crate::source::{ItemRef, ModuleId, Namespace, Resolution, SourceTree, clean, relative};

use super::item_attrs::INERT;
use super::items::attributes;

/// Help for a type that can't be found.
pub(super) const LIST: &str =
    "declare the type in a module, or list its path in `crds` of `[package.metadata.memcached-sdk]`";

/// Finds custom resources in code that is not expanded.
pub(super) struct Hidden<'a> {
    tree: &'a SourceTree,
    /// `CustomResource` and its aliases by `use … as …` anywhere in the package. Names inside of macros and blocks are not
    /// resolved.
    names: BTreeSet<String>,
    /// Procedural macros of the project whose code contains the derive.
    makers: BTreeSet<String>,
}

impl<'a> Hidden<'a> {
    pub(super) fn new(tree: &'a SourceTree) -> Self {
        let mut hidden = Self { tree, names: tree.names("CustomResource"), makers: BTreeSet::new() };
        let makers = tree.proc_macros(|text| hidden.derives(text));
        hidden.makers = makers.iter().flat_map(|name| tree.names(name)).collect();
        tree.request_words(&hidden.makers);
        hidden
    }

    /// Returns an error for each file with resources that no `mod` declares, if unread code may declare the module.
    pub(super) fn unlinked(&self) -> Vec<Diagnostic> {
        let mut files = self.tree.unlinked_files();
        files.retain(|(_, text)| self.derives(text));
        if !files.is_empty() {
            self.tree.request_all();
        }
        let of_file = |(path, _): &(PathBuf, String)| {
            let item = self.tree.items().find(|item| self.may_declare(*item, path))?;
            let shown = relative(path, &clean(&self.tree.manifest().dir));
            let message = format!(
                "`{}` derives `CustomResource`, and this may declare it as a module, but is not expanded",
                shown.display()
            );
            Some(error(message, self.tree.origin(self.tree.module(item), self.tree.item(item).span())))
        };
        files.iter().filter_map(of_file).collect()
    }

    /// Returns true if an item may declare a file as a module in unread code.
    fn may_declare(&self, item: ItemRef, path: &Path) -> bool {
        let inside = path.strip_prefix(clean(&self.tree.manifest().dir)).unwrap_or(path);
        let names_it = |tokens: TokenStream| names_path(tokens, inside);
        let declares = |tokens: TokenStream| says(tokens.clone(), |name| name == "mod") && names_it(tokens);
        let call = match self.tree.item(item) {
            Item::Macro(call) if call.ident.is_none() => &call.mac,
            Item::Macro(_) | Item::Use(_) | Item::ExternCrate(_) => return false,
            Item::Mod(item) => {
                let conditional = item.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg_attr"));
                return conditional.into_iter().any(|attribute| names_it(attribute.to_token_stream()));
            }
            other => return declares(other.to_token_stream()),
        };
        let Some(name) = call.path.segments.last().map(|last| &last.ident) else { return false };
        let rules = self.tree.all_items().filter_map(|item| match self.tree.item(item) {
            Item::Macro(item) if item.ident.as_ref() == Some(name) => Some(item.mac.tokens.clone()),
            _ => None,
        });
        let rules: Vec<TokenStream> = rules.collect();
        // The rules of an unknown macro may contain `mod`.
        let unknown = rules.is_empty() && names_it(call.tokens.clone());
        unknown || declares(rules.into_iter().chain([call.tokens.clone()]).collect())
    }

    pub(super) fn is_name(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Returns true if one of the tokens may be the name of the derive.
    pub(super) fn is_named(&self, tokens: TokenStream) -> bool {
        says(tokens, |name| self.is_name(name))
    }

    /// Finds custom resources that an item may declare. The item itself is not a custom resource.
    pub(super) fn behind(&self, item: ItemRef) -> Option<Diagnostic> {
        let (module, followed) = (self.tree.module(item), self.tree.child(item).is_some());
        let item = self.tree.item(item);
        if let Item::Macro(call) = item
            && call.ident.is_none()
        {
            return self.macro_call(module, &call.mac, followed, &self.tree.origin(module, item.span()));
        }
        if let Some(attribute) = attributes_of(item).iter().find(|attribute| self.makes_resources(attribute)) {
            let name = attribute.path().to_token_stream().to_string().replace(' ', "");
            let message = format!("the attribute macro `#[{name}]` may declare custom resources, but is not expanded");
            return Some(error(message, self.tree.origin(module, item.span())));
        }
        self.inside(module, item).or_else(|| self.unread(module, item))
    }

    /// Finds attribute macros and derives of a crate that uses kube.
    fn unread(&self, module: ModuleId, item: &Item) -> Option<Diagnostic> {
        let of_kube = |path: &syn::Path| match self.tree.resolve_in(module, path, Namespace::Macros) {
            Resolution::Foreign(path) => {
                path.len() > 1 && !["kube", "kube_core"].contains(&path[0].as_str()) && self.tree.may_derive(&path[0])
            }
            _ => false,
        };
        let mut paths = Vec::new();
        for attribute in attributes_of(item) {
            if attribute.path().is_ident("derive") {
                // An attribute that does not parse does not compile either.
                let _ = attribute.parse_nested_meta(|meta| {
                    paths.push(meta.path);
                    Ok(())
                });
            } else if !is_inert(attribute) {
                paths.push(attribute.path().clone());
            }
        }
        let path = paths.into_iter().find(of_kube)?;
        let name = path.to_token_stream().to_string().replace(' ', "");
        let message = format!("the macro `{name}` comes from a crate that uses kube, and may declare custom resources");
        let origin = self.tree.origin(module, path.span());
        Some(Diagnostic::new(Code::UnreadMacro, message).at(origin).help(LIST))
    }

    /// Finds custom resources that an item may declare besides itself.
    pub(super) fn inside(&self, module: ModuleId, item: &Item) -> Option<Diagnostic> {
        let origin = self.tree.origin(module, item.span());
        if matches!(item, Item::Use(_) | Item::Mod(_)) || !self.may_derive(origin.text.get(origin.range.clone())?) {
            return None;
        }
        // The attributes of a type are about the type itself.
        let is_type = matches!(item, Item::Struct(_) | Item::Enum(_) | Item::Union(_));
        let is_attribute =
            |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket);
        let body = item.to_token_stream().into_iter().filter(|token| !(is_type && is_attribute(token))).collect();
        let (found, place) = match item {
            Item::Macro(item) => (self.is_named(item.mac.tokens.clone()), "a macro"),
            _ => (derives(body, &|name| self.is_name(name)), "the body of an item"),
        };
        found.then(|| error(format!("{place} derives `CustomResource`, but its items are not read"), origin))
    }

    /// Finds custom resources that a macro call among the items of a module may declare. The items of a `followed`
    /// `include!` are read.
    fn macro_call(&self, module: ModuleId, mac: &syn::Macro, followed: bool, origin: &Origin) -> Option<Diagnostic> {
        let unread = |message: String| Some(Diagnostic::new(Code::UnreadMacro, message).at(origin.clone()).help(LIST));
        let error = |message: String| error(message, origin.clone());
        let name = mac.path.to_token_stream().to_string().replace(' ', "");
        let resolution = self.tree.resolve_in(module, &mac.path, Namespace::Macros);
        let of_std = matches!(&resolution, Resolution::Foreign(path) if *path == ["std", "include"]);
        let is_own = |item: ItemRef| matches!(self.tree.item(item), Item::Macro(item) if item.ident.as_ref().is_some_and(|name| name == "include"));
        if followed && (of_std || mac.path.is_ident("include")) && !self.tree.all_items().any(is_own) {
            return None;
        }
        if of_std || mac.path.segments.last().is_some_and(|last| last.ident == "include") {
            let Ok(path) = mac.parse_body::<syn::LitStr>() else {
                return unread("the file of `include!` is unknown".to_owned());
            };
            let path = path.value();
            return match self.tree.include(module, &path) {
                Some(text) if self.may_derive(&text) => {
                    Some(error(format!("`{path}` is included and derives `CustomResource`")))
                }
                Some(_) => unread(format!("`{path}` is included and cannot be resolved")),
                None => unread(format!("`{path}` is included and cannot be read")),
            };
        }
        if mac.path.segments.last().is_some_and(|last| self.makers.contains(&last.ident.unraw().to_string())) {
            return Some(error(format!("the macro `{name}!` derives `CustomResource`, but is not expanded")));
        }
        if self.is_named(mac.tokens.clone()) {
            return Some(error("a macro derives `CustomResource`, but is not expanded".to_owned()));
        }
        let includes = |item: &Item| matches!(item, Item::Macro(item) if includes(item.mac.tokens.clone()));
        match resolution {
            Resolution::Local(definition) if includes(self.tree.item(definition)) => {
                unread(format!("the file of `{name}!` is unknown"))
            }
            Resolution::Local(definition) if !self.tree.is_own(self.tree.module(definition)) => {
                let Item::Macro(definition) = self.tree.item(definition) else { return None };
                self.is_named(definition.mac.tokens.clone())
                    .then(|| error(format!("the macro `{name}!` derives `CustomResource`, but is not expanded")))
            }
            Resolution::Foreign(path) if self.tree.may_derive(&path[0]) => unread(format!(
                "the macro `{name}!` comes from a crate that uses kube, and may declare custom resources"
            )),
            _ => None,
        }
    }

    /// Returns true if an unknown attribute mentions custom resources.
    fn makes_resources(&self, attribute: &Attribute) -> bool {
        let speaks = |name: &str| ["crd", "kube_core"].contains(&name) || self.is_name(name);
        let is_maker = |name: &str| self.makers.contains(name);
        if attribute.path().is_ident("derive") {
            return derives(attribute.meta.to_token_stream(), &is_maker);
        }
        let last = attribute.path().segments.last().map(|last| last.ident.unraw().to_string());
        !is_inert(attribute)
            && (last.is_some_and(|last| is_maker(&last)) || says(attribute.meta.to_token_stream(), speaks))
    }

    /// Returns true if the text derives one of the names.
    fn derives(&self, text: &str) -> bool {
        self.may_derive(text) && text.parse().is_ok_and(|tokens| derives(tokens, &|name| self.is_name(name)))
    }

    /// Returns false only if the text has no name of the derive.
    fn may_derive(&self, text: &str) -> bool {
        let mut words = text.split(|letter: char| letter != '_' && !letter.is_alphanumeric());
        self.names.iter().any(|name| text.contains(name)) && words.any(|word| self.names.contains(word))
    }
}

/// Returns true if the attribute is not a macro.
fn is_inert(attribute: &Attribute) -> bool {
    let name = attribute.path().get_ident().map(ToString::to_string);
    name.is_some_and(|name| INERT.contains(&name.as_str()) || name == "cfg" || name == "cfg_attr")
}

/// Returns true if the rules of a macro call `include!`.
fn includes(rules: TokenStream) -> bool {
    any(
        rules,
        &|_, from| matches!(from, [TokenTree::Ident(name), sign, ..] if name == "include" && is_punct(sign, '!')),
    )
}

/// Returns true if a token is the name of the file or of one of its folders, or a string with one or more of these names.
fn names_path(tokens: TokenStream, path: &Path) -> bool {
    let is_part = |text: &str| {
        let parts = Path::new(text).components().count();
        let ends = path.ancestors().chain([path.with_extension("").as_path()]).any(|path| path.ends_with(text));
        parts > 0 && text != "src" && ends
    };
    any(tokens, &|_, from| match &from[0] {
        TokenTree::Ident(ident) => is_part(&ident.unraw().to_string()),
        TokenTree::Literal(literal) => is_part(literal.to_string().trim_matches('"').trim_start_matches("./")),
        TokenTree::Group(_) | TokenTree::Punct(_) => false,
    })
}

fn error(message: String, origin: Origin) -> Diagnostic {
    Diagnostic::new(Code::HiddenResource, message).at(origin).help(LIST)
}

fn attributes_of(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(item) => &item.attrs,
        item => attributes(item),
    }
}

/// Returns true if a `derive(…)` has one of the names.
fn derives(tokens: TokenStream, is_name: &dyn Fn(&str) -> bool) -> bool {
    any(tokens, &|_, from| {
        matches!(from, [TokenTree::Ident(name), TokenTree::Group(list), ..]
            if name == "derive" && list.delimiter() == Delimiter::Parenthesis && says(list.stream(), is_name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_derive_is_found_only_where_it_is_one() {
        let is_name = |name: &str| ["CustomResource", "Q"].contains(&name);
        for (tokens, expected) in [
            ("#[derive(CustomResource)] struct S;", true),
            ("use kube::CustomResource;", false),
            ("fn f() { #[derive(Clone, kube::CustomResource)] struct S; }", true),
            ("fn f() { use kube::CustomResource as Q; #[derive(Q)] struct S; }", true),
            ("fn f() { #[cfg_attr(unix, derive(Clone, r#Q))] struct S; }", true),
            ("fn f<Q>(q: Q) { #[derive(Clone)] struct S([Q; 1]); }", false),
            ("fn crd(x: CustomResource) {}", false),
        ] {
            assert_eq!(derives(tokens.parse().unwrap(), &is_name), expected, "{tokens}");
        }
    }
}
