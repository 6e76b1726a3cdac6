//! What a type in the source means.

use std::rc::Rc;

use syn::punctuated::Punctuated;
use syn::{GenericArgument, GenericParam, Generics as Declared, Item, PathArguments, ReturnType, Type, TypeParamBound};

use crate::source::{ItemRef, ModuleId, Namespace, Resolution};

use super::read::Reader;
use super::types::{Generics, Ty};

/// Where a name is looked up.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    pub(super) module: ModuleId,
    pub(super) itself: Option<Ty>,
    pub(super) generics: Generics,
    /// `use` inside a function: the path of each name.
    pub(super) uses: std::collections::BTreeMap<String, syn::Path>,
}

impl Scope {
    pub(super) fn new(module: ModuleId) -> Self {
        Self { module, itself: None, generics: Generics::new(), uses: std::collections::BTreeMap::new() }
    }
}

/// Crates whose types are one set of names.
const KUBE: [&str; 5] = ["kube", "kube_client", "kube_core", "kube_runtime", "kube_derive"];

/// The front of the path of a type that is declared nowhere, such as one that a macro makes.
pub(super) const UNFOUND: &str = "?::";

/// Types that are not told from what is in them: the last part of their path.
const TRANSPARENT: &[&str] = &[
    "Arc",
    "ArcSwap",
    "BoxFuture",
    "Box",
    "Cell",
    "Cow",
    "Data",
    "Extension",
    "Guard",
    "Instrumented",
    "JoinHandle",
    "Json",
    "Lazy",
    "LazyLock",
    "LocalBoxFuture",
    "Mutex",
    "MutexGuard",
    "OnceCell",
    "OnceLock",
    "Option",
    "Pin",
    "Rc",
    "Ref",
    "RefCell",
    "RefMut",
    "Result",
    "RwLock",
    "RwLockReadGuard",
    "RwLockWriteGuard",
    "State",
    "Weak",
];

const COLLECTIONS: &[&str] = &[
    "BTreeSet",
    "BinaryHeap",
    "BoxStream",
    "FuturesOrdered",
    "FuturesUnordered",
    "HashSet",
    "IndexSet",
    "IntoIter",
    "Iter",
    "JoinSet",
    "LinkedList",
    "LocalBoxStream",
    "Receiver",
    "Sender",
    "UnboundedReceiver",
    "UnboundedSender",
    "Vec",
    "VecDeque",
];

const MAPS: &[&str] = &["BTreeMap", "DashMap", "HashMap", "IndexMap"];

/// The last part of a path of kube under its one name.
pub(super) fn is_kube(path: &[String]) -> bool {
    path.first().is_some_and(|first| KUBE.contains(&first.as_str()))
}

impl Reader<'_> {
    /// What a path means here.
    pub(super) fn resolve(&self, scope: &Scope, path: &syn::Path, namespace: Namespace) -> Resolution {
        let first = path.segments.first().map(|first| first.ident.to_string());
        let used = first.as_ref().and_then(|first| scope.uses.get(first)).filter(|_| path.leading_colon.is_none());
        let path = match used {
            Some(used) => {
                let mut used = used.clone();
                used.segments.extend(path.segments.iter().skip(1).cloned());
                std::borrow::Cow::Owned(used)
            }
            None => std::borrow::Cow::Borrowed(path),
        };
        match self.tree.resolve_in(scope.module, &path, namespace) {
            Resolution::Unresolved(why) => {
                let candidates = self.tree.through_foreign_globs(scope.module, &path, namespace);
                match candidates.iter().find(|candidate| self.exists(candidate)) {
                    Some(found) => Resolution::Foreign(self.reexported(found.clone())),
                    None => Resolution::Unresolved(why),
                }
            }
            Resolution::Foreign(path) => Resolution::Foreign(self.reexported(path)),
            found => found,
        }
    }

    /// The path of what a crate that is built on kube hands on under the name of its own crate: `framework::kube::Api`.
    fn reexported(&self, path: Vec<String>) -> Vec<String> {
        let is_origin = |part: &String| KUBE.contains(&part.as_str()) || part == "k8s_openapi";
        match path.iter().position(is_origin) {
            Some(at) if at > 0 && self.tree.knows_kube(&path[0]) => path[at..].to_vec(),
            _ => path,
        }
    }

    /// Something of another crate is known to exist.
    fn exists(&self, path: &[String]) -> bool {
        let type_ = path.iter().position(|part| part.starts_with(char::is_uppercase)).map_or(path, |at| &path[..=at]);
        match type_.first().map(String::as_str) {
            Some("k8s_openapi") => self.kinds.foreign(&type_.join("::")).is_some(),
            _ if is_kube(path) => {
                let name = type_.last().map(String::as_str).unwrap_or_default();
                KUBE_NAMES.contains(&name)
            }
            _ => false,
        }
    }

    /// What a type means here.
    pub(super) fn lower(&mut self, scope: &Scope, ty: &Type) -> Ty {
        match ty {
            Type::Reference(ty) => self.lower(scope, &ty.elem),
            Type::Paren(ty) => self.lower(scope, &ty.elem),
            Type::Group(ty) => self.lower(scope, &ty.elem),
            Type::Ptr(ty) => self.lower(scope, &ty.elem),
            Type::Slice(ty) => Ty::many(self.lower(scope, &ty.elem)),
            Type::Array(ty) => Ty::many(self.lower(scope, &ty.elem)),
            Type::Tuple(ty) => Ty::Tuple(ty.elems.iter().map(|ty| self.lower(scope, ty)).collect()),
            Type::Path(ty) => match &ty.qself {
                None => self.lower_path(scope, &ty.path),
                Some(itself) => {
                    let of = self.lower(scope, &itself.ty);
                    self.associated_type(&of, ty.path.segments.last())
                }
            },
            Type::ImplTrait(ty) => self.bounds(scope, &ty.bounds).unwrap_or(Ty::Unknown),
            Type::TraitObject(ty) => self.bounds(scope, &ty.bounds).unwrap_or(Ty::Unknown),
            Type::FnPtr(ty) => Ty::Function(Rc::new(self.lower_return(scope, &ty.output))),
            Type::Infer(_) => self.inferred.fresh(),
            _ => Ty::Unknown,
        }
    }

    pub(super) fn lower_return(&mut self, scope: &Scope, output: &ReturnType) -> Ty {
        match output {
            ReturnType::Default => Ty::Tuple(Vec::new()),
            ReturnType::Type(_, ty) => self.lower(scope, ty),
        }
    }

    fn arguments(&mut self, scope: &Scope, arguments: &PathArguments) -> Vec<Ty> {
        let PathArguments::AngleBracketed(arguments) = arguments else { return Vec::new() };
        let mut types = Vec::new();
        for argument in &arguments.args {
            if let GenericArgument::Type(ty) = argument {
                types.push(self.lower(scope, ty));
            }
        }
        types
    }

    /// The type arguments that a path has at its end.
    pub(super) fn turbofish(&mut self, scope: &Scope, path: &syn::Path) -> Vec<Ty> {
        path.segments.last().map(|last| self.arguments(scope, &last.arguments)).unwrap_or_default()
    }

    pub(super) fn lower_path(&mut self, scope: &Scope, path: &syn::Path) -> Ty {
        let Some(first) = path.segments.first() else { return Ty::Unknown };
        let name = first.ident.to_string();
        if path.segments.len() == 1 {
            if name == "Self" {
                return scope.itself.clone().unwrap_or(Ty::Unknown);
            }
            if let Some(known) = scope.generics.get(&name) {
                return known.clone();
            }
        } else if name == "Self" || scope.generics.contains_key(&name) {
            let of = if name == "Self" { scope.itself.clone() } else { scope.generics.get(&name).cloned() };
            return match of {
                Some(of) if path.segments.len() == 2 => self.associated_type(&of, path.segments.last()),
                _ => Ty::Unknown,
            };
        }
        let arguments = self.turbofish(scope, path);
        match self.resolve(scope, path, Namespace::Types) {
            Resolution::Local(item) => self.lower_item(item, arguments),
            Resolution::Member(item, name) => match self.tree.custom_resource(item) {
                Some(resource) if resource.root == name => Ty::Root(item),
                _ => self.lower_item(item, Vec::new()),
            },
            Resolution::Foreign(path) => self.lower_foreign(&path, arguments),
            Resolution::Primitive(name) => Ty::foreign(&name),
            Resolution::Unresolved(_) if path.segments.len() == 1 && name.starts_with(char::is_uppercase) => {
                Ty::Foreign(format!("{UNFOUND}{name}").into(), arguments)
            }
            Resolution::Unresolved(_) => Ty::Unknown,
        }
    }

    /// What a type of the tree or a resource has as an associated type.
    fn associated_type(&mut self, of: &Ty, name: Option<&syn::PathSegment>) -> Ty {
        let (of, Some(name)) = (self.inferred.resolve(of), name.map(|name| name.ident.to_string())) else {
            return Ty::Unknown;
        };
        if name == "Scope"
            && let Some([resource]) = self.kinds.resources(&of).as_deref()
        {
            return match resource.namespaced {
                Some(true) => Ty::foreign("k8s_openapi::NamespaceResourceScope"),
                Some(false) => Ty::foreign("k8s_openapi::ClusterResourceScope"),
                None => Ty::Unknown,
            };
        }
        if matches!(of, Ty::Param(_) | Ty::Unknown | Ty::Infer(_)) || self.depth > 32 {
            return Ty::Unknown;
        }
        for (module, block) in self.index.associated.get(&name).cloned().unwrap_or_default() {
            let implemented = self.implemented(module, block);
            if matches!(implemented, Ty::Param(_) | Ty::Unknown) || !self.may_be(&implemented, &of) {
                continue;
            }
            let found = block.items.iter().find_map(|item| match item {
                syn::ImplItem::Type(found) if found.ident == name => Some(&found.ty),
                _ => None,
            });
            let Some(found) = found else { continue };
            let mut scope = Scope::new(module);
            scope.generics = self.bind_generics(&scope, &block.generics, &[]);
            let itself = self.lower(&scope, &block.self_ty);
            self.inferred.unify(&itself, &of);
            scope.itself = Some(of);
            self.depth += 1;
            let lowered = self.lower(&scope, found);
            self.depth -= 1;
            return self.inferred.resolve(&lowered);
        }
        Ty::Unknown
    }

    /// An item of the tree as a type; what is not given is inferred.
    pub(super) fn lower_item(&mut self, item: ItemRef, mut arguments: Vec<Ty>) -> Ty {
        let generics = match self.tree.item(item) {
            Item::Struct(item) => &item.generics,
            Item::Enum(item) => &item.generics,
            Item::Union(item) => &item.generics,
            Item::Trait(_) => return Ty::Item(item, Vec::new()),
            Item::Type(alias) => {
                let mut scope = Scope::new(self.tree.module(item));
                scope.generics = self.bind_generics(&scope, &alias.generics, &arguments);
                if self.depth > 32 {
                    return Ty::Unknown;
                }
                self.depth += 1;
                let lowered = self.lower(&scope, &alias.ty);
                self.depth -= 1;
                return lowered;
            }
            _ => return Ty::Unknown,
        };
        let wanted = generics.type_params().count();
        while arguments.len() < wanted {
            arguments.push(self.inferred.fresh());
        }
        arguments.truncate(wanted);
        Ty::Item(item, arguments)
    }

    /// Type parameters with their arguments, or else their defaults.
    pub(super) fn bind_generics(&mut self, scope: &Scope, declared: &Declared, arguments: &[Ty]) -> Generics {
        let mut bound = Generics::new();
        for (position, parameter) in declared.type_params().enumerate() {
            let known = arguments.get(position).cloned();
            let ty = match (known, &parameter.default) {
                (Some(known), _) => known,
                (None, Some((_, default))) => self.lower(scope, default),
                (None, None) => self.inferred.fresh(),
            };
            bound.insert(parameter.ident.to_string(), ty);
        }
        bound
    }

    /// A type of another crate.
    pub(super) fn lower_foreign(&mut self, path: &[String], arguments: Vec<Ty>) -> Ty {
        let Some(name) = path.last() else { return Ty::Unknown };
        let name = name.as_str();
        let mut first = arguments.first().cloned();
        if matches!(name, "NamespaceResourceScope" | "ClusterResourceScope") {
            return Ty::foreign(&format!("k8s_openapi::{name}"));
        }
        if is_kube(path) {
            return match name {
                "Api" => Ty::api(first.unwrap_or_else(|| self.inferred.fresh())),
                "Result" => first.unwrap_or(Ty::Unknown),
                "ObjectList" => Ty::many(first.unwrap_or(Ty::Unknown)),
                _ => Ty::Foreign(format!("kube::{name}").into(), arguments),
            };
        }
        if path[0] != "k8s_openapi" {
            if TRANSPARENT.contains(&name) {
                return first.unwrap_or_else(|| self.inferred.fresh());
            }
            if COLLECTIONS.contains(&name) {
                return Ty::many(first.take().unwrap_or_else(|| self.inferred.fresh()));
            }
            if MAPS.contains(&name) {
                let value = arguments.into_iter().nth(1);
                return Ty::Map(Rc::new(value.unwrap_or_else(|| self.inferred.fresh())));
            }
        }
        Ty::Foreign(path.join("::").into(), arguments)
    }

    /// What bounds say of the shape of a value: a future is its output, an iterator is many.
    pub(super) fn bounds<P>(&mut self, scope: &Scope, bounds: &Punctuated<TypeParamBound, P>) -> Option<Ty> {
        bounds.iter().find_map(|bound| {
            let TypeParamBound::Trait(bound) = bound else { return None };
            let last = bound.path.segments.last()?;
            let associated = |name: &str| match &last.arguments {
                PathArguments::AngleBracketed(arguments) => arguments.args.iter().find_map(|argument| match argument {
                    GenericArgument::AssocType(found) if found.ident == name => Some(&found.ty),
                    _ => None,
                }),
                _ => None,
            };
            match last.ident.to_string().as_str() {
                "Future" | "TryFuture" | "IntoFuture" => {
                    let output = associated("Output").or_else(|| associated("Ok"))?;
                    Some(self.lower(scope, output))
                }
                "Iterator" | "IntoIterator" | "Stream" | "TryStream" | "DoubleEndedIterator" | "ExactSizeIterator" => {
                    let item = associated("Item").or_else(|| associated("Ok"))?;
                    Some(Ty::many(self.lower(scope, item)))
                }
                "Fn" | "FnMut" | "FnOnce" | "AsyncFn" | "AsyncFnMut" | "AsyncFnOnce" => {
                    let PathArguments::Parenthesized(call) = &last.arguments else { return None };
                    Some(Ty::Function(Rc::new(self.lower_return(scope, &call.output))))
                }
                "Into" | "AsRef" | "Borrow" => self.arguments(scope, &last.arguments).into_iter().next(),
                "Deref" => Some(self.lower(scope, associated("Target")?)),
                _ => match self.resolve(scope, &bound.path, Namespace::Types) {
                    Resolution::Local(item) if matches!(self.tree.item(item), Item::Trait(_)) => {
                        Some(Ty::Item(item, Vec::new()))
                    }
                    _ => None,
                },
            }
        })
    }

    /// What a closure is called with, when `ty` is a parameter that is called.
    pub(super) fn closure_inputs(&mut self, scope: &Scope, declared: &[&Declared], ty: &Type) -> Vec<Ty> {
        let mut found: Vec<&TypeParamBound> = Vec::new();
        match ty {
            Type::ImplTrait(ty) => found.extend(&ty.bounds),
            Type::Reference(ty) => return self.closure_inputs(scope, declared, &ty.elem),
            Type::TraitObject(ty) => found.extend(&ty.bounds),
            Type::FnPtr(ty) => return ty.inputs.iter().map(|input| self.lower(scope, &input.ty)).collect(),
            Type::Path(path) => {
                let Some(name) = path.path.get_ident() else { return Vec::new() };
                for generics in declared {
                    found.extend(bounds_of(generics, name));
                }
            }
            _ => {}
        }
        for bound in found {
            let TypeParamBound::Trait(bound) = bound else { continue };
            if let Some(PathArguments::Parenthesized(call)) = bound.path.segments.last().map(|last| &last.arguments) {
                return call.inputs.iter().map(|input| self.lower(scope, &input.ty)).collect();
            }
        }
        Vec::new()
    }
}

/// The bounds of a type parameter, wherever they are written.
pub(super) fn bounds_of<'a>(generics: &'a Declared, name: &syn::Ident) -> Vec<&'a TypeParamBound> {
    let mut found = Vec::new();
    for parameter in &generics.params {
        if let GenericParam::Type(parameter) = parameter
            && parameter.ident == *name
        {
            found.extend(&parameter.bounds);
        }
    }
    for predicate in generics.where_clause.iter().flat_map(|clause| &clause.predicates) {
        if let syn::WherePredicate::Type(predicate) = predicate
            && matches!(&predicate.bounded_ty, Type::Path(path) if path.path.is_ident(name))
        {
            found.extend(&predicate.bounds);
        }
    }
    found
}

/// What a glob import from kube is known to bring in.
const KUBE_NAMES: &[&str] = &[
    "Api",
    "ApiResource",
    "AttachParams",
    "Client",
    "Config",
    "Controller",
    "DeleteParams",
    "DynamicObject",
    "GroupVersionKind",
    "GetParams",
    "ListParams",
    "LogParams",
    "Patch",
    "ObjectList",
    "PartialObjectMeta",
    "PatchParams",
    "PostParams",
    "Recorder",
    "Request",
    "WatchParams",
    "finalizer",
    "watcher",
    "metadata_watcher",
    "await_condition",
    "watch_object",
];
