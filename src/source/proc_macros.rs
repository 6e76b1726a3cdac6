//! Procedural macros of the project's own packages.

use std::collections::BTreeSet;

use proc_macro2::TokenTree;
use syn::{Attribute, Item, Meta};

use super::file::FileId;
use super::ident::ident;
use super::tree::SourceTree;

impl SourceTree {
    /// The names of procedural macros in path dependencies of which a source file passes `is_of_kind`.
    pub fn proc_macros(&self, is_of_kind: impl Fn(&str) -> bool) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for (position, krate) in self.sources.crates.iter().enumerate() {
            let package = &self.sources[krate.package];
            let mut modules = self.sources.modules.iter().filter(|module| module.krate.0 as usize == position);
            let text = |file: FileId| &*self.sources[file].text;
            let defines = krate.lib && package.manifest.proc_macro && !package.own && !package.fetched;
            if !defines || !modules.any(|module| is_of_kind(text(module.file))) {
                continue;
            }
            // All are at the root of their crate.
            for item in self.module_items(krate.root) {
                let Item::Fn(item) = self.item(*item) else { continue };
                found.extend(item.attrs.iter().filter_map(|attribute| name(attribute, &item.sig.ident)));
            }
        }
        found
    }
}

fn name(attribute: &Attribute, function: &syn::Ident) -> Option<String> {
    let is = |name: &str| attribute.path().is_ident(name);
    match &attribute.meta {
        Meta::List(list) if is("proc_macro_derive") => match list.tokens.clone().into_iter().next()? {
            TokenTree::Ident(name) => Some(ident(&name)),
            _ => None,
        },
        Meta::Path(_) if is("proc_macro") || is("proc_macro_attribute") => Some(ident(function)),
        _ => None,
    }
}
