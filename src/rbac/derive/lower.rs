//! Lowering of types in the source.

use std::collections::BTreeMap;
use std::rc::Rc;

use syn::punctuated::Punctuated;
use syn::{GenericArgument, GenericParam, Generics as Declared, Item, PathArguments, ReturnType, Type, TypeParamBound};

use crate::k8s;
use crate::source::{ItemRef, ModuleId, Namespace, Resolution, SourceTree};

use super::foreign::{ForeignType, Kube, is_k8s, is_kube};
use super::index::{FunctionIndex, ImplBlock, ImplId};
use super::kinds::KindTable;
use super::manager;
use super::table;
use super::types::{Generics, Inferred, Ty};

/// The scope of name resolution.
#[derive(Debug, Clone)]
pub(super) struct NameScope {
    pub(super) module: ModuleId,
    pub(super) itself: Option<Ty>,
    pub(super) generics: Generics,
    /// `use` inside a function: the path of each name.
    pub(super) uses: BTreeMap<String, syn::Path>,
    /// The traits of the tree that bound a type parameter or `Self`, with their type arguments.
    pub(super) bounds: BTreeMap<String, Vec<Ty>>,
    /// The `impl` block around, whose associated types `Self::Name` means.
    pub(super) block: Option<ImplId>,
}

impl NameScope {
    pub(super) fn new(module: ModuleId) -> Self {
        Self {
            module,
            itself: None,
            generics: Generics::new(),
            uses: BTreeMap::new(),
            bounds: BTreeMap::new(),
            block: None,
        }
    }
}

/// Lowers types and resolves names of the source.
pub(super) struct Lowering<'a> {
    pub(super) tree: &'a SourceTree,
    pub(super) kinds: KindTable<'a>,
    pub(super) index: FunctionIndex<'a>,
    pub(super) inferred: Inferred,
    /// The types of `impl` blocks, with their parameters open.
    pub(super) blocks: BTreeMap<ImplId, Ty>,
    /// Types inside of each type of the tree, see [`Self::declared_parts`].
    held: BTreeMap<ItemRef, Vec<Ty>>,
    /// Depth of the current alias, constant or `Deref` chain.
    pub(super) depth: usize,
}

impl<'a> Lowering<'a> {
    pub(super) fn new(tree: &'a SourceTree) -> Self {
        Self {
            tree,
            kinds: KindTable::new(tree),
            index: FunctionIndex::new(tree, |module| manager::is_inside(tree, module)),
            inferred: Inferred::default(),
            blocks: BTreeMap::new(),
            held: BTreeMap::new(),
            depth: 0,
        }
    }

    pub(super) fn resolve(&self, scope: &NameScope, path: &syn::Path, namespace: Namespace) -> Resolution {
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
        let origin = (0..path.len()).find(|at| is_kube(&path[*at..]) || is_k8s(&path[*at..]));
        match origin {
            Some(at) if at > 0 && self.tree.may_derive(&path[0]) => path[at..].to_vec(),
            _ => path,
        }
    }

    /// Something of another crate is known to exist.
    fn exists(&self, path: &[String]) -> bool {
        let type_ = path.iter().position(|part| part.starts_with(char::is_uppercase)).map_or(path, |at| &path[..=at]);
        match ForeignType::at(type_) {
            ForeignType::K8s(path) => self.kinds.builtin(&path).is_some(),
            _ if is_kube(path) && table::is_function(path) => true,
            ForeignType::Kube(Kube::Other(name)) => matches!(&*name, "Api" | "ObjectList"),
            ForeignType::Kube(_) => true,
            _ => false,
        }
    }

    /// Why a type is no known resource.
    pub(super) fn why(&self, module: ModuleId, kind: &Ty) -> String {
        match self.kinds.named(kind) {
            Ty::Param(name) => {
                format!("the kind is the type parameter `{name}`, and no call determines it")
            }
            Ty::Foreign(ForeignType::Unresolved(name), _) => {
                format!("type `{name}` not found; a macro may declare it")
            }
            Ty::Foreign(ForeignType::Kube(Kube::DynamicObject), _) | Ty::Dynamic(_) => {
                "the kind is not a literal in the source".to_owned()
            }
            Ty::Foreign(found, _) => {
                let why = found.krate().and_then(|krate| self.tree.request_package(module, krate));
                let why = why.map_or(String::new(), |why| format!(": {why}"));
                format!("the resource of `{found}` is unknown{why}")
            }
            _ => "the kind could not be inferred".to_owned(),
        }
    }

    pub(super) fn dynamic(&self, kind: &Ty) -> Option<Ty> {
        let resources = self.kinds.resources(&self.inferred.resolve(kind))?;
        Some(Ty::dynamic(resources))
    }

    pub(super) fn tree_variant(&self, ty: &Ty, name: &str) -> bool {
        match ty {
            Ty::Item(item, _) => match self.tree.item(*item) {
                Item::Enum(found) => found.variants.iter().any(|variant| variant.ident == name),
                _ => false,
            },
            _ => false,
        }
    }

    /// The type that the front of a path names, if it names a type.
    pub(super) fn type_prefix(&mut self, scope: &NameScope, prefix: &syn::Path) -> Option<Ty> {
        let first = prefix.segments.first()?.ident.to_string();
        let last = prefix.segments.last()?.ident.to_string();
        let own = prefix.segments.len() == 1 && (first == "Self" || scope.generics.contains_key(&first));
        let is_type = own
            || match self.resolve(scope, prefix, Namespace::Types) {
                Resolution::Local(item) => !matches!(self.tree.item(item), Item::Mod(_)),
                Resolution::Member(..) | Resolution::Primitive(_) => true,
                Resolution::Foreign(_) => last.starts_with(char::is_uppercase),
                Resolution::Unresolved(_) => false,
            };
        is_type.then(|| self.lower_path(scope, prefix))
    }

    pub(super) fn lower(&mut self, scope: &NameScope, ty: &Type) -> Ty {
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
                    let named = itself.position.checked_sub(1).and_then(|at| ty.path.segments.get(at));
                    self.associated_type(&of, ty.path.segments.last(), |block| {
                        let path = block.item.trait_.as_ref().map(|(path, _)| path);
                        let last = path.and_then(|path| path.segments.last());
                        named.is_none_or(|named| last.is_some_and(|last| last.ident == named.ident))
                    })
                }
            },
            Type::ImplTrait(ty) => self.bounds(scope, &ty.bounds).unwrap_or(Ty::Unknown),
            Type::TraitObject(ty) => self.bounds(scope, &ty.bounds).unwrap_or(Ty::Unknown),
            Type::FnPtr(ty) => {
                let inputs: Vec<Ty> = ty.inputs.iter().map(|input| self.lower(scope, &input.ty)).collect();
                Ty::function(inputs, self.lower_return(scope, &ty.output))
            }
            Type::Infer(_) => self.inferred.fresh(),
            _ => Ty::Unknown,
        }
    }

    pub(super) fn lower_return(&mut self, scope: &NameScope, output: &ReturnType) -> Ty {
        match output {
            ReturnType::Default => Ty::Tuple(Vec::new()),
            ReturnType::Type(_, ty) => self.lower(scope, ty),
        }
    }

    fn arguments(&mut self, scope: &NameScope, arguments: &PathArguments) -> Vec<Ty> {
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
    pub(super) fn turbofish(&mut self, scope: &NameScope, path: &syn::Path) -> Vec<Ty> {
        path.segments.last().map(|last| self.arguments(scope, &last.arguments)).unwrap_or_default()
    }

    pub(super) fn lower_path(&mut self, scope: &NameScope, path: &syn::Path) -> Ty {
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
                Some(of) if path.segments.len() == 2 => {
                    let block = scope.block.filter(|_| name == "Self");
                    match self.associated_type(&of, path.segments.last(), |found| Some(found.id) == block) {
                        Ty::Unknown => self.associated_type(&of, path.segments.last(), |_| true),
                        found => found,
                    }
                }
                _ => Ty::Unknown,
            };
        }
        let arguments = self.turbofish(scope, path);
        match self.resolve(scope, path, Namespace::Types) {
            Resolution::Local(item) => self.lower_item(item, arguments),
            Resolution::Member(item, name) => match k8s::custom_resource(self.tree, item) {
                Some(resource) if resource.root == name => Ty::Root(item),
                _ => self.lower_item(item, Vec::new()),
            },
            Resolution::Foreign(path) => self.lower_foreign(&path, arguments),
            Resolution::Primitive(name) => Ty::foreign(ForeignType::primitive(&name)),
            Resolution::Unresolved(_) if path.segments.len() == 1 && name.starts_with(char::is_uppercase) => {
                Ty::Foreign(ForeignType::Unresolved(name.as_str().into()), arguments)
            }
            Resolution::Unresolved(_) => Ty::Unknown,
        }
    }

    /// The associated type of a type of the tree or of a resource.
    pub(super) fn associated_type(
        &mut self,
        of: &Ty,
        name: Option<&syn::PathSegment>,
        is_meant: impl Fn(&ImplBlock<'a>) -> bool,
    ) -> Ty {
        let (of, Some(name)) = (self.inferred.resolve(of), name.map(|name| name.ident.to_string())) else {
            return Ty::Unknown;
        };
        if name == "Scope"
            && let Some([resource]) = self.kinds.resources(&of).as_deref()
        {
            return match resource.namespaced {
                Some(true) => Ty::kube(Kube::NamespaceResourceScope),
                Some(false) => Ty::kube(Kube::ClusterResourceScope),
                None => Ty::Unknown,
            };
        }
        if matches!(of, Ty::Param(_) | Ty::Unknown | Ty::Infer(_)) || self.depth > 32 {
            return Ty::Unknown;
        }
        for block in self.index.associated.get(&name).cloned().unwrap_or_default() {
            if !is_meant(&block) {
                continue;
            }
            let implemented = self.implemented(block);
            if matches!(implemented, Ty::Param(_) | Ty::Unknown) || !self.may_be(&implemented, &of) {
                continue;
            }
            let Some(found) = block.associated_type(&name) else { continue };
            let scope = self.scope_of(block, of);
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
            Item::Trait(item) => &item.generics,
            Item::Type(alias) => {
                let mut scope = NameScope::new(self.tree.module(item));
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

    /// The types of the fields of a struct or enum, the first time that it is asked about: a type may hold itself.
    pub(super) fn declared_parts(&mut self, item: ItemRef) -> Vec<Ty> {
        if let Some(known) = self.held.get(&item) {
            return known.clone();
        }
        self.held.insert(item, Vec::new());
        let fields: Vec<&syn::Field> = match self.tree.item(item) {
            Item::Struct(found) => found.fields.iter().collect(),
            Item::Enum(found) => found.variants.iter().flat_map(|variant| &variant.fields).collect(),
            _ => Vec::new(),
        };
        let scope = NameScope::new(self.tree.module(item));
        let mut parts = Vec::new();
        for field in fields {
            // Replace nested types by their parts, so that a circle ends.
            match self.lower(&scope, &field.ty) {
                Ty::Item(inner, arguments) => {
                    parts.extend(self.declared_parts(inner));
                    parts.extend(arguments);
                }
                ty => parts.push(ty),
            }
        }
        self.held.insert(item, parts.clone());
        parts
    }

    /// Type parameters with their arguments, or else their defaults.
    pub(super) fn bind_generics(&mut self, scope: &NameScope, declared: &Declared, arguments: &[Ty]) -> Generics {
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
        let Some(name) = path.last().map(String::as_str) else { return Ty::Unknown };
        let found = ForeignType::at(path);
        let mut argument = |position: usize| arguments.get(position).cloned().unwrap_or_else(|| self.inferred.fresh());
        match (&found, name) {
            (ForeignType::Kube(_), "Api") => Ty::api(argument(0)),
            (ForeignType::Kube(_), "Result") => arguments.into_iter().next().unwrap_or(Ty::Unknown),
            // Wrappers are transparent.
            (
                ForeignType::Other(_),
                "Arc" | "ArcSwap" | "Box" | "BoxFuture" | "Cell" | "Cow" | "Data" | "Extension" | "Guard"
                | "Instrumented" | "JoinHandle" | "Json" | "Lazy" | "LazyLock" | "LocalBoxFuture" | "Mutex"
                | "MutexGuard" | "OnceCell" | "OnceLock" | "Option" | "Pin" | "Rc" | "Ref" | "RefCell" | "RefMut"
                | "Result" | "RwLock" | "RwLockReadGuard" | "RwLockWriteGuard" | "State" | "Weak",
            ) => argument(0),
            (ForeignType::Kube(_), "ObjectList")
            | (
                ForeignType::Other(_),
                "BTreeSet" | "BinaryHeap" | "BoxStream" | "FuturesOrdered" | "FuturesUnordered" | "HashSet"
                | "IndexSet" | "IntoIter" | "Iter" | "JoinSet" | "LinkedList" | "LocalBoxStream" | "Receiver"
                | "Sender" | "UnboundedReceiver" | "UnboundedSender" | "Vec" | "VecDeque",
            ) => Ty::many(argument(0)),
            (ForeignType::Other(_), "BTreeMap" | "DashMap" | "HashMap" | "IndexMap") => Ty::Map(Rc::new(argument(1))),
            _ => Ty::Foreign(found, arguments),
        }
    }

    /// The traits of the tree among bounds.
    pub(super) fn traits<P>(&mut self, scope: &NameScope, bounds: &Punctuated<TypeParamBound, P>) -> Vec<Ty> {
        let mut found = Vec::new();
        for bound in bounds {
            let TypeParamBound::Trait(bound) = bound else { continue };
            let Resolution::Local(item) = self.resolve(scope, &bound.path, Namespace::Types) else { continue };
            if matches!(self.tree.item(item), Item::Trait(_)) {
                let arguments = self.turbofish(scope, &bound.path);
                found.push(self.lower_item(item, arguments));
            }
        }
        found
    }

    /// The shape of a value by its bounds: a future is its output, an iterator is many.
    pub(super) fn bounds<P>(&mut self, scope: &NameScope, bounds: &Punctuated<TypeParamBound, P>) -> Option<Ty> {
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
                    let inputs: Vec<Ty> = call.inputs.iter().map(|input| self.lower(scope, &input.ty)).collect();
                    Some(Ty::function(inputs, self.lower_return(scope, &call.output)))
                }
                "Into" | "AsRef" | "Borrow" => self.arguments(scope, &last.arguments).into_iter().next(),
                "Deref" => Some(self.lower(scope, associated("Target")?)),
                _ => match self.resolve(scope, &bound.path, Namespace::Types) {
                    Resolution::Local(item) if matches!(self.tree.item(item), Item::Trait(_)) => {
                        let arguments = self.arguments(scope, &last.arguments);
                        Some(self.lower_item(item, arguments))
                    }
                    _ => None,
                },
            }
        })
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
