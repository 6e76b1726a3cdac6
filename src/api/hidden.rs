//! Custom resources in places that are not read: macros, included files, and what stands in blocks inside of items.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Attribute, Item};

use crate::diagnostic::{Code, Diagnostic, Origin};
use crate::source::{ModuleId, Namespace, Resolution, SourceTree};

use super::LIST;
use super::maker::INERT;
use super::types::attributes;

/// Looks for them.
pub(super) struct Hidden<'a> {
    tree: &'a SourceTree,
    /// `CustomResource` and what the package calls it by `use … as …`, wherever that is: what a name means inside of a
    /// macro or a block is not asked.
    names: BTreeSet<String>,
}

impl<'a> Hidden<'a> {
    pub(super) fn new(tree: &'a SourceTree) -> Self {
        Self { tree, names: tree.names("CustomResource") }
    }

    /// Whether the derive may have this name somewhere.
    pub(super) fn is_name(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Whether one of the tokens may be the name of the derive.
    pub(super) fn is_named(&self, tokens: TokenStream) -> bool {
        mentions(&|name| self.is_name(name), tokens, Within::Anything)
    }

    /// What an item that is no custom resource may declare.
    pub(super) fn behind(&self, module: ModuleId, item: &Item) -> Option<Diagnostic> {
        if let Item::Macro(call) = item
            && call.ident.is_none()
        {
            return self.macro_call(module, &call.mac, &self.tree.origin(module, item.span()));
        }
        if let Some(attribute) = attributes_of(item).iter().find(|attribute| self.makes_resources(attribute)) {
            let name = attribute.path().to_token_stream().to_string().replace(' ', "");
            let message = format!("the attribute macro `#[{name}]` may declare custom resources, and is not read");
            return Some(error(message, self.tree.origin(module, item.span())));
        }
        self.inside(module, item)
    }

    /// What an item may declare besides itself.
    pub(super) fn inside(&self, module: ModuleId, item: &Item) -> Option<Diagnostic> {
        let origin = self.tree.origin(module, item.span());
        if matches!(item, Item::Use(_) | Item::Mod(_)) || !self.may_derive(origin.text.get(origin.range.clone())?) {
            return None;
        }
        let (found, place) = match item {
            Item::Macro(item) => (self.is_named(item.mac.tokens.clone()), "a macro"),
            item => {
                (mentions(&|name| self.is_name(name), without_its_derives(item), Within::Code), "the body of an item")
            }
        };
        found.then(|| error(format!("{place} derives `CustomResource`, and what it declares is not read"), origin))
    }

    /// What a macro among the items of a module may declare.
    fn macro_call(&self, module: ModuleId, mac: &syn::Macro, origin: &Origin) -> Option<Diagnostic> {
        let unread = |message: String| Some(Diagnostic::new(Code::UnreadMacro, message).at(origin.clone()).help(LIST));
        let error = |message: String| error(message, origin.clone());
        let name = mac.path.to_token_stream().to_string().replace(' ', "");
        if mac.path.segments.last().is_some_and(|last| last.ident == "include") {
            let Ok(path) = mac.parse_body::<syn::LitStr>() else {
                return unread("the file that `include!` takes in is not known".to_owned());
            };
            return match self.tree.include(module, &path.value()) {
                Some(text) if self.may_derive(&text) => {
                    Some(error(format!("`{}` is included and derives `CustomResource`", path.value())))
                }
                Some(text) if text.contains("include!") => {
                    unread(format!("`{}` is included and takes in other files", path.value()))
                }
                Some(_) => None,
                None => unread(format!("`{}` is included and can't be read", path.value())),
            };
        }
        if self.is_named(mac.tokens.clone()) {
            return Some(error("a macro derives `CustomResource`, and what it declares is not read".to_owned()));
        }
        match self.tree.resolve_in(module, &mac.path, Namespace::Macros) {
            Resolution::Local(definition) if !self.tree.is_own(self.tree.module(definition)) => {
                let Item::Macro(definition) = self.tree.item(definition) else { return None };
                self.is_named(definition.mac.tokens.clone()).then(|| {
                    error(format!("the macro `{name}!` derives `CustomResource`, and what it declares is not read"))
                })
            }
            Resolution::Foreign(path) if self.tree.knows_kube(&path[0]) => {
                unread(format!("the macro `{name}!` is of a crate that uses kube, and may declare custom resources"))
            }
            _ => None,
        }
    }

    /// An attribute that is no known one and speaks of custom resources.
    fn makes_resources(&self, attribute: &Attribute) -> bool {
        let speaks = |name: &str| ["crd", "kube_core"].contains(&name) || self.is_name(name);
        let path = attribute.path();
        let inert = path.get_ident().is_some_and(|ident| INERT.contains(&ident.to_string().as_str()));
        let other = path.is_ident("cfg") || path.is_ident("cfg_attr");
        !inert && !other && mentions(&speaks, attribute.meta.to_token_stream(), Within::Anything)
    }

    /// False only for a text that says no name of the derive.
    fn may_derive(&self, text: &str) -> bool {
        let mut words = text.split(|letter: char| letter != '_' && !letter.is_alphanumeric());
        self.names.iter().any(|name| text.contains(name)) && words.any(|word| self.names.contains(word))
    }
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

/// An item without those attributes that say whether it is a custom resource itself.
fn without_its_derives(item: &Item) -> TokenStream {
    let mut item = item.clone();
    if let Item::Struct(syn::ItemStruct { attrs, .. })
    | Item::Enum(syn::ItemEnum { attrs, .. })
    | Item::Union(syn::ItemUnion { attrs, .. }) = &mut item
    {
        attrs.retain(|attribute| !["derive", "cfg_attr"].iter().any(|name| attribute.path().is_ident(name)));
    }
    item.into_token_stream()
}

/// Where a name counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    /// Everywhere: a macro may put it into a derive.
    Anything,
    /// In a `derive(…)` only.
    Code,
}

/// One of the names, where it counts.
fn mentions(is_name: &dyn Fn(&str) -> bool, tokens: TokenStream, within: Within) -> bool {
    let mut after_derive = false;
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => {
            let derives = std::mem::take(&mut after_derive) && group.delimiter() == Delimiter::Parenthesis;
            mentions(is_name, group.stream(), if derives { Within::Anything } else { within })
        }
        TokenTree::Ident(ident) => {
            after_derive = ident == "derive";
            within == Within::Anything && is_name(&ident.unraw().to_string())
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_derive_is_found_only_where_it_is_one() {
        let names = BTreeSet::from(["CustomResource", "Q"].map(str::to_owned));
        for (tokens, within, expected) in [
            ("#[derive(CustomResource)] struct S;", Within::Code, true),
            ("use kube::CustomResource;", Within::Code, false),
            ("fn f() { #[derive(Clone, kube::CustomResource)] struct S; }", Within::Code, true),
            ("fn f() { use kube::CustomResource as Q; #[derive(Q)] struct S; }", Within::Code, true),
            ("fn f() { #[cfg_attr(unix, derive(Clone, r#Q))] struct S; }", Within::Code, true),
            ("fn f<Q>(q: Q) { #[derive(Clone)] struct S([Q; 1]); }", Within::Code, false),
            ("fn crd(x: CustomResource) {}", Within::Code, false),
            ("CustomResource", Within::Anything, true),
            ("#[derive(k::Q)] struct S;", Within::Anything, true),
        ] {
            assert_eq!(mentions(&|name| names.contains(name), tokens.parse().unwrap(), within), expected, "{tokens}");
        }
    }

    #[test]
    fn the_derives_of_an_item_are_not_inside_of_it() {
        let names = BTreeSet::from(["CustomResource".to_owned()]);
        for (item, expected) in [
            ("#[derive(CustomResource)] #[kube(kind = \"A\")] struct A { a: [u8; 1] }", false),
            ("#[cfg_attr(unix, derive(CustomResource))] struct A;", false),
            ("#[derive(CustomResource)] struct A { a: [u8; { #[derive(CustomResource)] struct B; 1 }] }", true),
            ("struct A([u8; { #[derive(CustomResource)] struct B; 1 }]);", true),
            ("enum A { A = { #[derive(CustomResource)] struct B; 1 } }", true),
            ("struct A<const N: usize = { #[derive(CustomResource)] struct B; 1 }>;", true),
            ("struct A { a: m! { #[derive(CustomResource)] struct B; } }", true),
            ("union A { a: [u8; { #[derive(CustomResource)] struct B; 1 }] }", true),
        ] {
            let tokens = without_its_derives(&syn::parse_str(item).unwrap());
            assert_eq!(mentions(&|name| names.contains(name), tokens, Within::Code), expected, "{item}");
        }
    }
}
