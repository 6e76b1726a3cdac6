//! The types whose `crd()` runs: those in the source, and those that `Cargo.toml` lists because macros hide them.

use std::rc::Rc;

use syn::{Item, Visibility};
use toml_edit::Document;

use crate::api::{self, Api, DeclaredApi};
use crate::crd::{self, Declaration};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin};
use crate::k8s::{self, kind_name};
use crate::source::{CargoManifest, ItemRef, ModuleId, SourceTree, get};

const TABLE: &str = "package.metadata.memcached-sdk";

#[derive(Debug, Clone)]
pub(super) struct CompiledType {
    /// The path from the crate root; unique in a package.
    pub(super) path: String,
    /// The module whose asking function names it.
    pub(super) module: ModuleId,
    pub(super) name: String,
    pub(super) public: bool,
    /// The path of kube's core that the derive uses.
    pub(super) core: String,
    /// The path of `serde_json` that the derive uses.
    pub(super) json: String,
    /// Group, version and kind, if the attributes contain them.
    pub(super) key: Option<[String; 3]>,
    /// The spec, if the source contains it.
    item: Option<ItemRef>,
    /// The part of it that the source reader understands.
    api: Option<Rc<Api>>,
    /// The declaration: the place of the spec, or of the line that lists it.
    pub(super) declared: Declaration,
}

impl CompiledType {
    pub(super) fn origin(&self) -> Origin {
        self.declared.origin.clone()
    }

    /// The name as `Kind.group`, if the attributes contain it.
    pub(super) fn resource(&self) -> Option<String> {
        self.key.as_ref().map(|[group, _, kind]| kind_name(kind, group))
    }

    /// Reads its declaration in the source. Ignores errors: they were the reason to run the compiler.
    pub(super) fn read(&mut self, tree: &mut SourceTree) {
        let Some(item) = self.item else { return };
        let (understood, _) = tree.settle(|tree| api::understood(tree, item));
        if let Some(api) = understood {
            self.declared = Declaration::from(&api);
            self.api = Some(Rc::new(api));
        }
    }

    /// The finding about the type that kube cannot make structural, if the source shows it.
    pub(super) fn culprit(&self) -> Option<Diagnostic> {
        let found = crd::single(self.api.as_deref()?).err()?;
        (found.code == Code::NotStructural).then_some(found)
    }
}

#[derive(Debug, Default)]
pub(super) struct Metadata {
    /// The binary that prints the CRDs, with its arguments.
    pub(super) crdgen: Option<Vec<String>>,
    /// Paths of types from the crate root.
    pub(super) crds: Vec<(String, Origin)>,
}

impl Metadata {
    pub(super) fn read(manifest: &CargoManifest) -> (Self, Diagnostics) {
        let mut metadata = Self::default();
        let mut found = Diagnostics::default();
        let Ok(document) = Document::parse(manifest.origin.text.to_string()) else { return (metadata, found) };
        let table = get(document.as_item(), &["package", "metadata", "memcached-sdk"]);
        for (key, item) in table.and_then(toml_edit::Item::as_table_like).into_iter().flat_map(|table| table.iter()) {
            let origin = Origin { range: item.span().unwrap_or_default(), ..manifest.origin.clone() };
            let texts: Option<Vec<_>> = match item.as_array() {
                Some(array) => array.iter().map(|value| Some((value.as_str()?.to_owned(), value.span()))).collect(),
                None => item.as_str().map(|text| vec![(text.to_owned(), item.span())]),
            };
            match (key, texts) {
                ("crdgen", Some(texts)) if !texts.is_empty() => {
                    metadata.crdgen = Some(texts.into_iter().map(|(text, _)| text).collect());
                }
                ("crds", Some(texts)) => {
                    for (text, span) in texts {
                        let origin = Origin { range: span.unwrap_or_default(), ..origin.clone() };
                        if is_path(&text) {
                            metadata.crds.push((text, origin));
                        } else {
                            let message = format!("`{text}` is not a valid path of a type");
                            let help = "use a path from the crate root, such as `api::v1::Foo`";
                            found.push(Diagnostic::new(Code::CompileFailed, message).at(origin).help(help));
                        }
                    }
                }
                // Read where releases matter, and where kinds are selected.
                ("verified" | "external", Some(_)) => {}
                ("crdgen" | "crds" | "verified" | "external", _) => found.push(
                    Diagnostic::new(
                        Code::CompileFailed,
                        format!("`{key}` in `[{TABLE}]` must be a string or a list of strings"),
                    )
                    .at(origin),
                ),
                _ => found.push(
                    Diagnostic::new(Code::CompileFailed, format!("unknown key `{key}` in `[{TABLE}]`"))
                        .at(origin)
                        .help("the keys are `crdgen`, `crds`, `external` and `verified`"),
                ),
            }
        }
        (metadata, found)
    }
}

fn is_path(text: &str) -> bool {
    syn::parse_str::<syn::Path>(text).is_ok_and(|path| {
        path.leading_colon.is_none() && path.segments.iter().all(|segment| segment.arguments.is_none())
    })
}

/// All types in source order, and reasons why there may be more.
pub(super) fn find(tree: &SourceTree, listed: &[(String, Origin)]) -> (Vec<CompiledType>, Diagnostics) {
    let (declared, doubts) = api::declared(tree);
    let mut kinds: Vec<CompiledType> = Vec::new();
    let mut found = Diagnostics::default();
    if listed.is_empty() {
        // The list resolves the doubts.
        found = doubts;
    }
    for DeclaredApi { item, .. } in declared.into_iter().filter(|declared| k8s::is_chosen(tree, declared.item)) {
        let kind = match kind(tree, item) {
            Ok(kind) => kind,
            Err(diagnostic) => {
                found.push(diagnostic);
                continue;
            }
        };
        if kinds.iter().any(|other| (other.module, &other.name) == (kind.module, &kind.name)) {
            continue;
        }
        match tree.unknown_cfg(item) {
            Some(cfg) if !listed.iter().any(|(path, _)| absolute(path) == kind.path) => {
                let message =
                    format!("`{}` exists only under `cfg({cfg})`, which only the compiler can decide", kind.name);
                let help =
                    format!("if the type exists in the build, add it to `crds = [\"{}\"]` in `[{TABLE}]`", kind.path);
                let unknown = Diagnostic::new(Code::UnknownCfg, message).at(kind.origin()).help(help);
                found.push(unknown.about(kind.resource()));
            }
            _ => kinds.push(kind),
        }
    }
    for (path, origin) in listed {
        if let Some(root) = tree.roots().next()
            && !kinds.iter().any(|kind| kind.path == absolute(path))
        {
            let kind = named(tree, root, absolute(path), &kinds, origin.clone());
            kinds.extend(Some(kind).filter(|kind| tree.is_left(kind.module)));
        }
    }
    for kind in &kinds {
        // A shadow package looks for `main` in the root module.
        tree.module_items(tree.root(kind.module));
    }
    (kinds, found)
}

fn absolute(path: &str) -> &str {
    path.strip_prefix("crate::").unwrap_or(path)
}

const CORE: &str = "::kube::core";
const JSON: &str = "::serde_json";

fn kind(tree: &SourceTree, item: ItemRef) -> Result<CompiledType, Diagnostic> {
    let (visibility, ident) = match tree.item(item) {
        Item::Struct(item) => (&item.vis, &item.ident),
        Item::Enum(item) => (&item.vis, &item.ident),
        Item::Union(item) => (&item.vis, &item.ident),
        _ => unreachable!("only types derive"),
    };
    let module = tree.module(item);
    let origin = tree.origin(module, ident.span());
    let Some(resource) = k8s::custom_resource(tree, item) else {
        // Uses the static engine's words, which deduplicates the finding.
        let missing = Diagnostic::new(Code::KubeAttribute, "Missing field `kind`").at(origin);
        return Err(missing.help("add `kind = \"…\"` to `#[kube(…)]`"));
    };
    let name = resource.root;
    let path = tree.module_path(module).into_iter().skip(1).chain([name.clone()]).collect::<Vec<_>>().join("::");
    let public = tree.is_lib(module) && matches!(visibility, Visibility::Public(_)) && is_public(tree, module);
    let key = [resource.group, resource.version, resource.kind];
    Ok(CompiledType {
        path,
        module,
        name,
        public,
        core: resource.kube_core.unwrap_or_else(|| CORE.to_owned()),
        json: resource.serde_json.unwrap_or_else(|| JSON.to_owned()),
        key: key.iter().all(|part| !part.is_empty()).then_some(key),
        item: Some(item),
        api: None,
        declared: Declaration::at(origin),
    })
}

/// A listed type: resolves the modules of its path that the source has. The crate paths are those of the other types.
fn named(tree: &SourceTree, root: ModuleId, path: &str, others: &[CompiledType], origin: Origin) -> CompiledType {
    let mut module = root;
    let mut rest = path;
    while let Some((name, below)) = rest.split_once("::") {
        let child = |item: &ItemRef| {
            tree.child(*item).filter(|child| tree.module_path(*child).last().is_some_and(|last| last == name))
        };
        let Some(child) = tree.module_items(module).iter().find_map(child) else { break };
        (module, rest) = (child, below);
    }
    let public = tree.is_lib(module) && is_public(tree, module);
    let (core, json) = match others.first() {
        Some(other) => (other.core.clone(), other.json.clone()),
        None => (CORE.to_owned(), JSON.to_owned()),
    };
    let (path, name, declared) = (path.to_owned(), rest.to_owned(), Declaration::at(origin));
    CompiledType { path, module, name, public, core, json, key: None, item: None, api: None, declared }
}

fn is_public(tree: &SourceTree, module: ModuleId) -> bool {
    std::iter::successors(Some(module), |module| tree.parent(*module)).all(|module| {
        let declaration = tree.declaration(module).map(|item| tree.item(item));
        declaration.is_none_or(|item| matches!(item, Item::Mod(item) if matches!(item.vis, Visibility::Public(_))))
    })
}
