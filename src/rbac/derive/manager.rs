//! The runtime library of operators, the crate `manager`, whose function bodies are not evaluated.
//!
//! Its requests depend on the methods that are called and on flags. Marker lines above public methods declare them:
//!
//! ```text
//! // +requests: of=K, subresource=status, verbs=patch
//! // +requests: of=leases.coordination.k8s.io, namespace=own, verbs=create;get, role=leader-election-role
//! ```
//!
//! - `of`: a type parameter in scope, or a resource as `plural.group`.
//! - `namespace=own`: the requests stay in the operator's own namespace.
//! - `role`: a role of every project that allows the requests.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use syn::{Item, ItemImpl, Type};

use super::resource::DerivedResource;
use crate::rbac::RequestScope;
use crate::runtime;
use crate::source::{ItemRef, ModuleId, SourceTree};

/// Its feature for a leader for life.
pub(super) const LIFE: &str = "leader-for-life";

/// Returns true for the modules of the runtime's package, unless it is the package in question.
pub(super) fn is_inside(tree: &SourceTree, module: ModuleId) -> bool {
    tree.manifest_of(module).name == runtime::PACKAGE && !tree.is_own(module)
}

/// A type of the manager whose methods make requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ManagerType {
    Manager,
    Controller,
    Objects,
    Index,
    Webhooks,
}

impl ManagerType {
    fn named(name: &syn::Ident) -> Option<Self> {
        Some(match name.to_string().as_str() {
            "Manager" => Self::Manager,
            "Controller" => Self::Controller,
            "Objects" => Self::Objects,
            "Index" => Self::Index,
            "Webhooks" => Self::Webhooks,
            _ => return None,
        })
    }
}

pub(super) fn types(tree: &SourceTree) -> BTreeMap<ItemRef, ManagerType> {
    let named = |item: ItemRef| {
        let Item::Struct(found) = tree.item(item) else { return None };
        let known = ManagerType::named(&found.ident)?;
        is_inside(tree, tree.module(item)).then_some((item, known))
    };
    tree.all_items().filter_map(named).collect()
}

/// One marker: requests of a method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ManagerRequest {
    pub(super) of: Requested,
    pub(super) verbs: Vec<&'static str>,
    pub(super) subresource: Option<&'static str>,
    pub(super) role: Option<&'static str>,
}

/// The objects of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Requested {
    /// Objects of the kind that a type parameter stands for.
    Parameter(&'static str),
    Resource(DerivedResource, RequestScope),
}

impl ManagerRequest {
    /// Parses a marker after its name.
    fn parse(text: &'static str) -> Option<Self> {
        let mut arguments = BTreeMap::new();
        for argument in text.split(',') {
            let (name, value) = argument.trim().split_once('=')?;
            arguments.insert(name, value);
        }
        let of = arguments.remove("of")?;
        let scope = match arguments.remove("namespace") {
            Some("own") => RequestScope::Own,
            Some(_) => return None,
            None => RequestScope::Cluster,
        };
        let request = Self {
            of: if of.starts_with(char::is_uppercase) {
                Requested::Parameter(of)
            } else {
                let (plural, group) = of.split_once('.').unwrap_or((of, ""));
                Requested::Resource(DerivedResource::spelled(group, of, Some(plural)), scope)
            },
            verbs: arguments.remove("verbs")?.split(';').collect(),
            subresource: arguments.remove("subresource"),
            role: arguments.remove("role"),
        };
        arguments.is_empty().then_some(request)
    }
}

/// The public methods of the runtime that this program embeds, each with its markers.
type Methods = BTreeMap<ManagerType, BTreeMap<&'static str, Vec<ManagerRequest>>>;

/// The requests that a method declares. `None` if the embedded runtime has no such method.
pub(super) fn requests(of: ManagerType, method: &str) -> Option<&'static [ManagerRequest]> {
    METHODS.get(&of)?.get(method).map(Vec::as_slice)
}

static METHODS: LazyLock<Methods> = LazyLock::new(|| {
    let mut methods = Methods::new();
    runtime::sources().for_each(|text| read(text, &mut methods));
    methods
});

/// Reads the `impl` blocks of a file line by line. Relies on the layout of rustfmt, like [`runtime::copy`].
fn read(text: &'static str, methods: &mut Methods) {
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if !line.starts_with("impl") {
            continue;
        }
        let mut header = line.to_owned();
        while !header.ends_with(['{', '}'])
            && let Some(more) = lines.next()
        {
            header.push_str(more);
        }
        if let Some(of) = owner(&header) {
            read_methods(lines.by_ref().take_while(|line| *line != "}"), methods.entry(of).or_default());
        }
    }
}

/// The type of an inherent `impl` block, by the text up to its brace.
fn owner(header: &str) -> Option<ManagerType> {
    owner_of(&syn::parse_str(&format!("{}{{}}", header.strip_suffix('{')?)).ok()?)
}

fn owner_of(block: &ItemImpl) -> Option<ManagerType> {
    match &*block.self_ty {
        Type::Path(ty) if block.trait_.is_none() => ManagerType::named(&ty.path.segments.last()?.ident),
        _ => None,
    }
}

fn read_methods(lines: impl Iterator<Item = &'static str>, methods: &mut BTreeMap<&'static str, Vec<ManagerRequest>>) {
    let mut markers = Vec::new();
    for line in lines.filter_map(|line| line.strip_prefix("    ")) {
        if let Some(marker) = line.strip_prefix("// +requests:") {
            markers.push(ManagerRequest::parse(marker));
        } else if let Some(rest) = line.strip_prefix("pub ") {
            let signature = rest.strip_prefix("async ").unwrap_or(rest);
            // A method with a marker that cannot be parsed stays unknown.
            let requests: Option<Vec<_>> = std::mem::take(&mut markers).into_iter().collect();
            if let (Some(rest), Some(requests)) = (signature.strip_prefix("fn "), requests) {
                methods.insert(rest.split(['(', '<']).next().unwrap_or_default(), requests);
            }
        } else if line == "}" {
            markers.clear();
        }
    }
}

#[cfg(test)]
mod tests;
