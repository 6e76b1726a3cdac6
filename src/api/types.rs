//! The table of types that a custom resource reaches. Maps names to ids, and ids to types.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned as _;
use syn::{Fields, GenericParam, Item, Path, TypePath};

use crate::diagnostic::Code;
use crate::schema::known::{LinkedType, ValueKind};
use crate::schema::release::Releases;
use crate::schema::{Graph, Type, TypeId, known};
use crate::source::{ItemRef, ModuleId, Namespace, Resolution, SourceTree};

use super::items::{Derives, shortened, text};
use super::k8s_source::{K8sSource, K8sType};

/// The scope in which names are looked up.
#[derive(Debug, Clone)]
pub(super) struct TypeScope {
    pub(super) module: ModuleId,
    pub(super) generics: Rc<BTreeMap<String, TypeId>>,
    pub(super) this: Option<TypeId>,
    /// The code belongs to k8s-openapi, which is not a module of the tree.
    pub(super) k8s: Option<K8sSource>,
}

impl TypeScope {
    pub(super) fn module(module: ModuleId) -> Self {
        TypeScope { module, generics: Rc::default(), this: None, k8s: None }
    }

    /// Returns true if the type is a type parameter. Only its bounds are known.
    pub(super) fn is_parameter(&self, ty: &syn::Type) -> bool {
        let ident = if let syn::Type::Path(ty) = ty { ty.path.get_ident() } else { None };
        ident.is_some_and(|ident| self.generics.contains_key(&ident.to_string()))
    }

    /// Returns true if the path names an item of `Self` or of a type parameter.
    pub(super) fn has_owner(&self, path: &syn::Path) -> bool {
        let is_owner = |name: &syn::Ident| name == "Self" || self.generics.contains_key(&name.to_string());
        path.segments.len() > 1 && is_owner(&path.segments[0].ident)
    }
}

#[derive(Debug, Clone)]
pub(super) struct UserType {
    pub(super) item: ItemRef,
    pub(super) scope: TypeScope,
}

/// A construct that only the compiler can evaluate.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    pub(super) code: Code,
    pub(super) module: ModuleId,
    pub(super) span: Span,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

impl Refusal {
    pub(super) fn new(code: Code, scope: &TypeScope, span: Span, message: impl Into<String>) -> Self {
        // Errors point to the user's code, not to k8s-openapi.
        let span = scope.k8s.as_ref().map_or(span, |outside| outside.at);
        Refusal { code, module: scope.module, span, message: message.into(), help: None }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// The use of a type: the span to report at, in a module.
pub(super) type Use = (ModuleId, Span);

/// The meaning of a [`TypeId`] in the source.
#[derive(Debug)]
pub(super) enum Info {
    Known(&'static LinkedType, Vec<TypeId>),
    User(UserType),
    /// A type of k8s-openapi, read from its source.
    K8s(K8sType),
    /// The root of a custom resource, or what a function describes.
    Described,
    Refused(Refusal),
}

/// The types that one custom resource reaches.
pub(super) struct Types<'t> {
    pub(super) tree: &'t SourceTree,
    pub(super) graph: Graph,
    pub(super) infos: Vec<Info>,
    /// Types that are being described, outermost first.
    pub(super) active: Vec<TypeId>,
    pub(super) described: BTreeSet<TypeId>,
    users: BTreeMap<(ItemRef, Vec<TypeId>), TypeId>,
    knowns: BTreeMap<(&'static str, ValueKind, Vec<TypeId>), TypeId>,
    pub(super) from_k8s: BTreeMap<K8sType, TypeId>,
    /// The derives of items, computed on demand.
    pub(super) derived: RefCell<BTreeMap<ItemRef, Rc<Derives>>>,
}

impl<'t> Types<'t> {
    pub(super) fn new(tree: &'t SourceTree, releases: Releases) -> Self {
        Types {
            tree,
            graph: Graph::of(releases),
            infos: Vec::new(),
            active: Vec::new(),
            described: BTreeSet::new(),
            users: BTreeMap::new(),
            knowns: BTreeMap::new(),
            from_k8s: BTreeMap::new(),
            derived: RefCell::default(),
        }
    }

    pub(super) fn text(&self, scope: &TypeScope, tokens: &impl ToTokens) -> String {
        match &scope.k8s {
            // The tokens are not in a file of the tree.
            Some(_) => shortened(&tokens.to_token_stream().to_string()),
            None => text(self.tree, scope.module, tokens),
        }
    }

    pub(super) fn add(&mut self, info: Info) -> TypeId {
        let ty = match &info {
            Info::Known(known, arguments) => Type::Known(known, arguments.clone()),
            Info::User(_) | Info::K8s(_) | Info::Described | Info::Refused(_) => Type::Unknown,
        };
        self.infos.push(info);
        self.graph.add(ty)
    }

    pub(super) fn info(&self, id: TypeId) -> &Info {
        &self.infos[id.index()]
    }

    /// The user's type behind an id.
    pub(super) fn user(&self, id: TypeId) -> Option<&UserType> {
        if let Info::User(user) = self.info(id) { Some(user) } else { None }
    }

    /// Path and arguments of a known type.
    pub(super) fn known(&self, id: TypeId) -> Option<(&'static LinkedType, Vec<TypeId>)> {
        if let Info::Known(known, arguments) = self.info(id) { Some((known, arguments.clone())) } else { None }
    }

    /// Returns the kind of the values of a known type.
    pub(super) fn kind(&self, id: Option<TypeId>) -> Option<ValueKind> {
        if let Info::Known(known, _) = self.info(id?) { Some(known.kind) } else { None }
    }

    pub(super) fn known_type(&mut self, known: &'static LinkedType, arguments: Vec<TypeId>) -> TypeId {
        let key = (known.path, known.kind, arguments);
        if let Some(&id) = self.knowns.get(&key) {
            return id;
        }
        let id = self.add(Info::Known(known, key.2.clone()));
        self.knowns.insert(key, id);
        id
    }

    /// Adds a type that no source declares.
    pub(super) fn add_described(&mut self, container: crate::schema::Container) -> TypeId {
        self.infos.push(Info::Described);
        self.graph.add(Type::User(Arc::new(container)))
    }

    pub(super) fn user_type(
        &mut self,
        item: ItemRef,
        arguments: Vec<TypeId>,
        generics: BTreeMap<String, TypeId>,
    ) -> TypeId {
        if let Some(&id) = self.users.get(&(item, arguments.clone())) {
            return id;
        }
        let module = self.tree.module(item);
        let scope = TypeScope { module, generics: Rc::new(generics), this: None, k8s: None };
        let id = self.add(Info::User(UserType { item, scope }));
        let index = id.index();
        if let Info::User(user) = &mut self.infos[index] {
            user.scope.this = Some(id);
        }
        self.users.insert((item, arguments), id);
        id
    }

    pub(super) fn refused(&mut self, refusal: Refusal) -> TypeId {
        self.add(Info::Refused(refusal))
    }

    /// Resolves a path in a scope, in the namespace of types.
    pub(super) fn resolve(&self, scope: &TypeScope, path: &syn::Path) -> Resolution {
        self.resolve_in(scope, path, Namespace::Types)
    }

    /// Resolves a path in a scope.
    pub(super) fn resolve_in(&self, scope: &TypeScope, path: &syn::Path, namespace: Namespace) -> Resolution {
        match &scope.k8s {
            Some(_) => K8sSource::resolve(path),
            None => self.tree.resolve_in(scope.module, path, namespace),
        }
    }

    pub(super) fn primitive(&mut self, name: &str) -> Option<TypeId> {
        known::lookup(name).map(|known| self.known_type(known, Vec::new()))
    }

    /// `Vec<T>`
    pub(super) fn list_of(&mut self, element: TypeId) -> Option<TypeId> {
        known::lookup("std::vec::Vec").map(|list| self.known_type(list, vec![element]))
    }

    pub(super) fn string(&mut self) -> Option<TypeId> {
        self.primitive("std::string::String")
    }

    pub(super) fn json_type(&mut self) -> Option<TypeId> {
        self.primitive("serde_json::Value")
    }

    /// Returns true if `into()` converts a string to the type without a change.
    pub(super) fn is_text(&self, ty: Option<TypeId>) -> bool {
        match ty.and_then(|ty| self.known(ty)) {
            Some((LinkedType { kind: ValueKind::String, .. }, _)) => true,
            Some((LinkedType { kind: ValueKind::Cow | ValueKind::Box | ValueKind::Shared, .. }, arguments)) => {
                self.kind(Some(arguments[0])) == Some(ValueKind::Str)
            }
            _ => self.is_json(ty),
        }
    }

    /// Returns true if the type is a schema or any JSON.
    pub(super) fn is_json(&self, ty: Option<TypeId>) -> bool {
        matches!(self.kind(ty), Some(ValueKind::Schema | ValueKind::Json))
    }

    /// Returns true if an integer is in the range of the type; `None` if the type is not an integer type.
    pub(super) fn fits(&self, value: i128, ty: Option<TypeId>) -> Option<bool> {
        self.kind(ty)?.holds(value)
    }

    pub(super) fn unread_type(&mut self, scope: &TypeScope, ty: &impl ToTokens, what: &str) -> TypeId {
        let message = format!("{what} is not supported: `{}`", self.text(scope, ty));
        self.refused(
            Refusal::new(Code::UnsupportedType, scope, ty.to_token_stream().span(), message)
                .help("describe the value with `#[schemars(with = \"…\")]`"),
        )
    }

    pub(super) fn wrong_number(&mut self, scope: &TypeScope, ty: &TypePath, takes: usize, given: usize) -> TypeId {
        let name = ty.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        let (s, are) = (if takes == 1 { "" } else { "s" }, if given == 1 { "is" } else { "are" });
        let message = format!("`{name}` takes {takes} type argument{s}, but {given} {are} given");
        self.refused(Refusal::new(Code::UnsupportedType, scope, ty.path.span(), message))
    }

    /// Returns the first type argument of a known type whose kind matches `is`, also behind a reference.
    pub(super) fn argument(&self, ty: Option<TypeId>, is: impl Fn(ValueKind) -> bool) -> Option<TypeId> {
        let (known, arguments) = self.known(ty?)?;
        match known.kind {
            ValueKind::Reference => self.argument(Some(arguments[0]), is),
            kind => arguments.first().copied().filter(|_| is(kind)),
        }
    }

    pub(super) fn variant(&self, id: TypeId, name: &str) -> Option<(usize, &Fields)> {
        let Item::Enum(item) = self.tree.item(self.user(id)?.item) else { return None };
        let position = item.variants.iter().position(|variant| variant.ident == name)?;
        Some((position, &item.variants[position].fields))
    }

    pub(super) fn shape(&self, id: TypeId) -> Option<&Fields> {
        match self.tree.item(self.user(id)?.item) {
            Item::Struct(item) => Some(&item.fields),
            _ => None,
        }
    }

    pub(super) fn names(&self, scope: &TypeScope, path: &Path, this: TypeId) -> bool {
        let Resolution::Local(item) = self.resolve(scope, path) else { return false };
        self.user(this).is_some_and(|user| user.item == item)
    }

    /// Returns the type of an item that is named without arguments. Inside of its own impl that is `Self`.
    pub(super) fn item_type(&mut self, scope: &TypeScope, item: ItemRef) -> Option<TypeId> {
        if let Some(this) = scope.this
            && self.user(this).is_some_and(|user| user.item == item)
        {
            return Some(this);
        }
        let generics = match self.tree.item(item) {
            Item::Struct(item) => &item.generics,
            Item::Enum(item) => &item.generics,
            _ => return None,
        };
        let plain = generics.params.iter().all(|param| matches!(param, GenericParam::Lifetime(_)));
        plain.then(|| self.user_type(item, Vec::new(), BTreeMap::new()))
    }
}
