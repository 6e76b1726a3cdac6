//! Finds the types of a package that are custom resources.

use std::collections::{BTreeMap, BTreeSet};

use quote::ToTokens;
use syn::Item;
use syn::spanned::Spanned as _;

use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::k8s;
use crate::source::{ItemRef, SourceTree};

use super::canonical::CUSTOM_RESOURCE;
use super::hidden::{Hidden, LIST};
use super::items::{DeriveItem, attributes, derives};

/// A type that derives `CustomResource`. The rest of the type is not read yet.
#[derive(Debug)]
pub struct DeclaredApi {
    /// The spec.
    pub item: ItemRef,
    /// The reason why the derive may be another derive of this name.
    pub doubt: Option<Diagnostic>,
}

/// Finds every type of the package that derives `CustomResource`, in the order of the source. The diagnostics name places with
/// possible further types.
pub fn declared(tree: &SourceTree) -> (Vec<DeclaredApi>, Diagnostics) {
    let mut declared = Vec::new();
    let mut diagnostics = Diagnostics::default();
    let mut seen = BTreeMap::new();
    let hidden = Hidden::new(tree);
    diagnostics.extend(hidden.unlinked().into_iter().collect());
    for item in tree.declarations() {
        let module = tree.module(item);
        if !matches!(tree.item(item), Item::Struct(_) | Item::Enum(_) | Item::Union(_)) {
            diagnostics.extend(hidden.behind(item).into_iter().collect());
            continue;
        }
        for attribute in attributes(tree.item(item)) {
            if attribute.path().is_ident("cfg_attr") && hidden.is_named(attribute.meta.to_token_stream()) {
                let message =
                    "whether `CustomResource` is derived depends on a `cfg` that only the compiler can decide";
                let origin = tree.origin(module, attribute.span());
                diagnostics.push(Diagnostic::new(Code::UnknownCfg, message).at(origin).help(LIST));
            }
        }
        let found = derives(tree, module, attributes(tree.item(item)));
        if found.iter().any(|(_, derive)| matches!(derive, DeriveItem::Resolved(path) if path == CUSTOM_RESOURCE)) {
            let origin = tree.origin(module, tree.item(item).span());
            // A file of two targets declares its types once. A file that is two modules of one target declares them twice.
            let root = tree.root(module);
            if *seen.entry((origin.path, origin.range.start)).or_insert(root) == root {
                declared.push(DeclaredApi { item, doubt: None });
            }
            diagnostics.extend(hidden.inside(module, tree.item(item)).into_iter().collect());
            continue;
        }
        let behind = hidden.behind(item);
        let kube = attributes(tree.item(item)).iter().find(|attribute| attribute.path().is_ident("kube"));
        // A crate may have the derive under another name.
        let renamed = found.iter().find_map(|(_, derive)| match derive {
            DeriveItem::Resolved(path) if !is_of_another(path) => Some(path),
            _ => None,
        });
        if let (None, Some(kube), Some(path)) = (&behind, kube, renamed) {
            let message = format!("cannot tell whether the derive `{path}` is `CustomResource`");
            let doubt = Diagnostic::new(Code::UnresolvedName, message).at(tree.origin(module, kube.span())).help(NAME);
            declared.push(DeclaredApi { item, doubt: Some(doubt) });
            continue;
        }
        diagnostics.extend(behind.into_iter().collect());
        for (_, derive) in found {
            let DeriveItem::Unresolved(text, span) = derive else { continue };
            let name = text.rsplit("::").next().unwrap_or_default();
            if kube.is_some() || hidden.is_name(name) || !text.contains("::") {
                let doubt = Diagnostic::new(Code::UnresolvedName, format!("cannot resolve the derive `{text}`"))
                    .at(tree.origin(module, span))
                    .help(NAME);
                if kube.is_some() {
                    declared.push(DeclaredApi { item, doubt: Some(doubt) });
                } else if name == "CustomResource" {
                    diagnostics.push(doubt);
                }
            }
        }
    }
    (declared, diagnostics)
}

/// Returns the custom resources of the package, as `Kind.group`, with their root types.
pub fn names(tree: &SourceTree) -> BTreeMap<String, BTreeSet<String>> {
    let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let (declared, _) = declared(tree);
    for resource in declared.into_iter().filter_map(|declared| k8s::custom_resource(tree, declared.item)) {
        names.entry(resource.name()).or_default().insert(resource.root);
    }
    names
}

/// Returns true for a derive of kube itself, or of a crate whose derives do not use the attribute `kube`.
fn is_of_another(path: &str) -> bool {
    let krate = path.split("::").next().unwrap_or_default();
    ["std", "serde", "schemars", "kube", "serde_json", "clap", "garde", "validator", "strum"].contains(&krate)
}

/// Help for an ambiguous derive.
const NAME: &str = "write its full path: `#[derive(kube::CustomResource)]`, or list the path of the type in `crds` \
    of `[package.metadata.memcached-sdk]`";
