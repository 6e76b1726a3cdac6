//! Which functions a string may decide about: the path of a request, a namespace, a kind or a subresource.
//!
//! Only these are told apart by the strings that they are called with. All others are run once for any string.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::Visit;

use super::index::{FunctionId, Index};

/// What strings are given to, of kube and of `http`.
const DECIDING: &[&str] = &[
    "ApiResource",
    "GroupVersionKind",
    "LeaseLock",
    "Namespace",
    "Request",
    "constrain",
    "create_subresource",
    "from_gvk_with_plural",
    "get_subresource",
    "gvk",
    "namespaced",
    "namespaced_with",
    "patch_subresource",
    "replace_subresource",
    "uri",
    "var",
];

/// The functions that hand a string to one of these, or to each other.
#[derive(Debug, Default)]
pub(super) struct Decides(BTreeSet<FunctionId>);

impl Decides {
    pub(super) fn new(index: &Index<'_>) -> Self {
        let mut callers: BTreeMap<String, Vec<FunctionId>> = BTreeMap::new();
        for id in index.ids() {
            let function = index.get(id);
            let has_arguments = function.signature.inputs.iter().any(|input| matches!(input, syn::FnArg::Typed(_)));
            let Some(block) = function.block.filter(|_| has_arguments) else { continue };
            let mut names = Names::default();
            names.visit_block(block);
            for name in names.0 {
                callers.entry(name).or_default().push(id);
            }
        }
        let mut decides = BTreeSet::new();
        let mut open: Vec<String> = DECIDING.iter().map(|name| (*name).to_owned()).collect();
        while let Some(name) = open.pop() {
            for id in callers.remove(&name).into_iter().flatten() {
                if decides.insert(id) {
                    open.push(index.get(id).name());
                }
            }
        }
        Self(decides)
    }

    pub(super) fn contains(&self, function: FunctionId) -> bool {
        self.0.contains(&function)
    }
}

/// What is called, and the types that are named.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    fn tokens(&mut self, tokens: proc_macro2::TokenStream) {
        for token in tokens {
            match token {
                proc_macro2::TokenTree::Group(group) => self.tokens(group.stream()),
                proc_macro2::TokenTree::Ident(name) => {
                    self.0.insert(name.to_string());
                }
                proc_macro2::TokenTree::Punct(_) | proc_macro2::TokenTree::Literal(_) => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_ident(&mut self, name: &'ast syn::Ident) {
        self.0.insert(name.to_string());
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.0.extend(call.path.segments.last().map(|last| last.ident.to_string()));
        self.tokens(call.tokens.clone());
    }
}
