//! Type expressions and items of the source → a [`Graph`]: what a name stands for, and which impls a type has.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned as _;
use syn::{Attribute, DeriveInput, Expr, GenericArgument, GenericParam, Item, PathArguments, TypePath};

use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::schema::known::{self, Known};
use crate::schema::release::Releases;
use crate::schema::{Graph, Type, TypeId};
use crate::source::{ItemRef, ModuleId, Namespace, Resolution, SourceTree};

use super::dependency;
use super::maker::{rewrites, skip_none, skips_none};
use super::outside::{Outside, OutsideType};
use super::value::{self, Env, Val};

/// Where a name is looked up.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    pub(super) module: ModuleId,
    pub(super) generics: Rc<BTreeMap<String, TypeId>>,
    pub(super) this: Option<TypeId>,
    /// The code is of k8s-openapi, which is no module of the tree.
    pub(super) outside: Option<Outside>,
}

impl Scope {
    pub(super) fn module(module: ModuleId) -> Self {
        Scope { module, generics: Rc::default(), this: None, outside: None }
    }

    /// The type is a type parameter, of which only the bounds are known.
    pub(super) fn is_parameter(&self, ty: &syn::Type) -> bool {
        let ident = if let syn::Type::Path(ty) = ty { ty.path.get_ident() } else { None };
        ident.is_some_and(|ident| self.generics.contains_key(&ident.to_string()))
    }

    /// The path names a part of `Self` or of a type parameter.
    pub(super) fn has_owner(&self, path: &syn::Path) -> bool {
        let is_owner = |name: &syn::Ident| name == "Self" || self.generics.contains_key(&name.to_string());
        path.segments.len() > 1 && is_owner(&path.segments[0].ident)
    }
}

/// A user's type with its type arguments.
#[derive(Debug, Clone)]
pub(super) struct UserType {
    pub(super) item: ItemRef,
    pub(super) scope: Scope,
}

/// Why something is not decided here.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    pub(super) code: Code,
    pub(super) module: ModuleId,
    pub(super) span: Span,
    pub(super) message: String,
    pub(super) help: Option<String>,
    /// It is decided: `serde_json::to_value` returns an error.
    pub(super) fails: bool,
}

impl Refusal {
    pub(super) fn new(code: Code, scope: &Scope, span: Span, message: impl Into<String>) -> Self {
        // A person looks at the place in their own code.
        let span = scope.outside.as_ref().map_or(span, |outside| outside.at);
        Refusal { code, module: scope.module, span, message: message.into(), help: None, fails: false }
    }

    /// The refusal of code that is run before its value is written.
    pub(super) fn of_code(self) -> Self {
        Refusal { fails: false, ..self }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// What a [`TypeId`] stands for in the source.
#[derive(Debug)]
pub(super) enum Info {
    Known(&'static Known, Vec<TypeId>),
    User(UserType),
    /// A type of k8s-openapi, read from its source.
    Outside(OutsideType),
    /// The argument of a const generic.
    Const(Val),
    /// The root of a custom resource, or what a function describes.
    Described,
    Refused(Refusal),
}

/// The types that one custom resource reaches, while they are read.
pub(super) struct Types<'t> {
    pub(super) tree: &'t SourceTree,
    pub(super) graph: Graph,
    pub(super) infos: Vec<Info>,
    pub(super) diagnostics: Diagnostics,
    /// Kind of the resource and the schema path below it.
    pub(super) path: Vec<String>,
    /// Types that are being described, outermost first.
    pub(super) active: Vec<TypeId>,
    pub(super) described: BTreeSet<TypeId>,
    users: BTreeMap<(ItemRef, Vec<TypeId>), TypeId>,
    knowns: BTreeMap<(usize, Vec<TypeId>), TypeId>,
    pub(super) outsides: BTreeMap<OutsideType, TypeId>,
    /// Bounds that attributes add to the type that is described: `#[serde(bound = "…")]`.
    pub(super) bounds: Vec<syn::WherePredicate>,
    /// Generic types that were described.
    pub(super) instances: usize,
    /// Aliases that are being followed.
    aliases: Vec<ItemRef>,
    /// Nested calls of the evaluator.
    pub(super) depth: usize,
    /// Nested expressions of the evaluator.
    pub(super) nested: usize,
    /// What the evaluator may still do for this resource, see [`Types::spend`].
    pub(super) budget: usize,
    /// The derives of items, once they were asked for.
    derived: RefCell<BTreeMap<ItemRef, Rc<Derives>>>,
}

impl<'t> Types<'t> {
    pub(super) fn new(tree: &'t SourceTree, releases: Releases) -> Self {
        Types {
            tree,
            graph: Graph::of(releases),
            infos: Vec::new(),
            diagnostics: Diagnostics::default(),
            path: vec![String::new()],
            active: Vec::new(),
            described: BTreeSet::new(),
            users: BTreeMap::new(),
            knowns: BTreeMap::new(),
            outsides: BTreeMap::new(),
            bounds: Vec::new(),
            instances: 0,
            aliases: Vec::new(),
            depth: 0,
            nested: 0,
            budget: value::BUDGET,
            derived: RefCell::default(),
        }
    }

    /// Reports a refusal with the place in the schema that it is about.
    pub(super) fn refuse(&mut self, refusal: Refusal) {
        let Refusal { code, module, span, message, help, fails: _ } = refusal;
        let message = if self.path.len() > 1 { format!("{message}, in `{}`", self.path.join(".")) } else { message };
        let mut diagnostic = Diagnostic::new(code, message).at(self.tree.origin(module, span));
        diagnostic.help = help;
        self.diagnostics.push(diagnostic);
    }

    /// Reports every part of an error about `#[kube(…)]`; what is missing has no place but that of what has the attribute.
    pub(super) fn refuse_keys(&mut self, scope: &Scope, of: &impl ToTokens, errors: darling::Error) {
        for error in errors.flatten() {
            let (span, message) =
                (error.explicit_span().unwrap_or_else(|| of.to_token_stream().span()), error.to_string());
            let key = message.strip_prefix("Missing field `").and_then(|rest| rest.strip_suffix('`'));
            let help = key.map(|key| format!("add `{key} = \"…\"` to `#[kube(…)]`"));
            let refusal = Refusal::new(Code::KubeAttribute, scope, span, &message);
            self.refuse(Refusal { help, ..refusal });
        }
    }

    /// Reports every part of an error of syn.
    pub(super) fn refuse_syntax(&mut self, code: Code, module: ModuleId, error: syn::Error) {
        for error in error {
            let (span, message) = (error.span(), error.to_string());
            self.refuse(Refusal { code, module, span, message, help: None, fails: false });
        }
    }

    pub(super) fn text(&self, scope: &Scope, tokens: &impl ToTokens) -> String {
        match &scope.outside {
            // It is in no file of the tree.
            Some(_) => shortened(&tokens.to_token_stream().to_string()),
            None => text(self.tree, scope.module, tokens),
        }
    }

    pub(super) fn add(&mut self, info: Info) -> TypeId {
        let ty = match &info {
            Info::Known(known, arguments) => Type::Known(known, arguments.clone()),
            Info::User(_) | Info::Outside(_) | Info::Const(_) | Info::Described | Info::Refused(_) => Type::Unknown,
        };
        self.infos.push(info);
        self.graph.add(ty)
    }

    pub(super) fn info(&self, id: TypeId) -> &Info {
        &self.infos[self.graph.index(id)]
    }

    /// The user's type behind an id.
    pub(super) fn user(&self, id: TypeId) -> Option<&UserType> {
        match self.infos.get(self.graph.index(id))? {
            Info::User(user) => Some(user),
            Info::Known(..) | Info::Outside(_) | Info::Const(_) | Info::Described | Info::Refused(_) => None,
        }
    }

    /// Path and arguments of a known type.
    pub(super) fn known(&self, id: TypeId) -> Option<(&'static Known, Vec<TypeId>)> {
        match self.info(id) {
            Info::Known(known, arguments) => Some((known, arguments.clone())),
            Info::User(_) | Info::Outside(_) | Info::Const(_) | Info::Described | Info::Refused(_) => None,
        }
    }

    pub(super) fn known_type(&mut self, known: &'static Known, arguments: Vec<TypeId>) -> TypeId {
        let key = (std::ptr::from_ref(known).addr(), arguments);
        if let Some(&id) = self.knowns.get(&key) {
            return id;
        }
        let id = self.add(Info::Known(known, key.1.clone()));
        self.knowns.insert(key, id);
        id
    }

    /// Adds a type that no source declares.
    pub(super) fn add_described(&mut self, container: crate::schema::Container) -> TypeId {
        self.infos.push(Info::Described);
        self.graph.add(Type::User(Arc::new(container)))
    }

    /// The type that has no generic parameters of its own.
    pub(super) fn plain_user_type(&mut self, item: ItemRef) -> TypeId {
        self.user_type(item, Vec::new(), BTreeMap::new())
    }

    fn user_type(&mut self, item: ItemRef, arguments: Vec<TypeId>, generics: BTreeMap<String, TypeId>) -> TypeId {
        if let Some(&id) = self.users.get(&(item, arguments.clone())) {
            return id;
        }
        let module = self.tree.module(item);
        let scope = Scope { module, generics: Rc::new(generics), this: None, outside: None };
        let id = self.add(Info::User(UserType { item, scope }));
        let index = self.graph.index(id);
        if let Info::User(user) = &mut self.infos[index] {
            user.scope.this = Some(id);
        }
        self.users.insert((item, arguments), id);
        id
    }

    pub(super) fn refused(&mut self, refusal: Refusal) -> TypeId {
        self.add(Info::Refused(refusal))
    }

    /// What a path means in a scope, in the name space of types.
    pub(super) fn resolve(&self, scope: &Scope, path: &syn::Path) -> Resolution {
        self.resolve_in(scope, path, Namespace::Types)
    }

    /// What a path means in a scope.
    pub(super) fn resolve_in(&self, scope: &Scope, path: &syn::Path, namespace: Namespace) -> Resolution {
        match &scope.outside {
            Some(_) => Outside::resolve(path),
            None => self.tree.resolve_in(scope.module, path, namespace),
        }
    }

    /// The type that a type expression stands for. Nothing is reported before the type is used.
    pub(super) fn ty(&mut self, scope: &Scope, ty: &syn::Type) -> TypeId {
        match ty {
            syn::Type::Paren(inner) => self.ty(scope, &inner.elem),
            syn::Type::Group(inner) => self.ty(scope, &inner.elem),
            syn::Type::Reference(inner) => {
                let inner = self.ty(scope, &inner.elem);
                self.known_type(known::reference(), vec![inner])
            }
            syn::Type::Tuple(tuple) => {
                let arguments: Vec<TypeId> = tuple.elems.iter().map(|elem| self.ty(scope, elem)).collect();
                match known::tuple(arguments.len()) {
                    Some(known) => self.known_type(known, arguments),
                    None => self.unsupported(scope, ty, "a tuple of this many elements"),
                }
            }
            syn::Type::Array(array) => {
                let inner = self.ty(scope, &array.elem);
                let length = self.length(scope, &array.len).and_then(known::array);
                match length {
                    Some(known) => self.known_type(known, vec![inner]),
                    None => self.unsupported(scope, ty, "an array of this length"),
                }
            }
            syn::Type::Slice(slice) => {
                let inner = self.ty(scope, &slice.elem);
                self.known_type(known::slice(), vec![inner])
            }
            syn::Type::Path(path) => self.path_type(scope, path),
            _ => self.unsupported(scope, ty, "a type of this form"),
        }
    }

    fn length(&mut self, scope: &Scope, length: &Expr) -> Option<usize> {
        let usize_type = self.primitive("usize");
        self.integer(scope, length, usize_type)
    }

    pub(super) fn primitive(&mut self, name: &str) -> Option<TypeId> {
        known::lookup(name).map(|known| self.known_type(known, Vec::new()))
    }

    fn unsupported(&mut self, scope: &Scope, ty: &impl ToTokens, what: &str) -> TypeId {
        let message = format!("{what} is not read: `{}`", self.text(scope, ty));
        self.refused(
            Refusal::new(Code::UnsupportedType, scope, ty.to_token_stream().span(), message)
                .help("describe the value with `#[schemars(with = \"…\")]`"),
        )
    }

    fn wrong_number(&mut self, scope: &Scope, ty: &TypePath, takes: usize, given: usize) -> TypeId {
        let name = ty.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        let (s, are) = (if takes == 1 { "" } else { "s" }, if given == 1 { "is" } else { "are" });
        let message = format!("`{name}` takes {takes} type argument{s}, {given} {are} given");
        self.refused(Refusal::new(Code::UnsupportedType, scope, ty.path.span(), message))
    }

    fn path_type(&mut self, scope: &Scope, ty: &TypePath) -> TypeId {
        let path = &ty.path;
        if ty.qself.is_some() {
            return self.unsupported(scope, ty, "an associated type");
        }
        if let Some(ident) = path.get_ident() {
            if ident == "Self"
                && let Some(this) = scope.this
            {
                return this;
            }
            if let Some(&argument) = scope.generics.get(&ident.to_string()) {
                return argument;
            }
        }
        if scope.has_owner(path) {
            return self.unsupported(scope, ty, "an associated type");
        }
        if path.segments.iter().rev().skip(1).any(|segment| !segment.arguments.is_none()) {
            return self.unsupported(scope, ty, "a path with arguments in the middle");
        }
        let bare = path.segments.last().is_some_and(|last| last.arguments.is_none());
        let resolution = self.resolve(scope, path);
        match resolution {
            Resolution::Local(item) => self.local_type(scope, ty, item),
            Resolution::Primitive(name) => match self.primitive(&name) {
                Some(_) if !bare => self.unsupported(scope, ty, "a primitive type with arguments"),
                Some(id) => id,
                None => self.unsupported(scope, ty, "this primitive type"),
            },
            Resolution::Foreign(canonical) => self.foreign_type(scope, ty, &canonical),
            Resolution::Member(..) => self.unsupported(scope, ty, "an associated type"),
            Resolution::Unresolved(why) => {
                if scope.outside.is_none() {
                    // A glob import from a package that can be read may bring the name in.
                    for found in self.tree.through_foreign_globs(scope.module, path, Namespace::Types) {
                        if dependency::is_readable(&found[0]) {
                            let _ = self.tree.want_package(scope.module, &found[0]);
                        }
                    }
                }
                self.refused(
                    Refusal::new(Code::UnresolvedName, scope, path.span(), why)
                        .help("write the full path of the type, or a `use` that names it"),
                )
            }
        }
    }

    fn arguments(&mut self, scope: &Scope, ty: &TypePath) -> Result<Vec<TypeId>, TypeId> {
        let list = match ty.path.segments.last().map(|last| &last.arguments) {
            None | Some(PathArguments::None) => return Ok(Vec::new()),
            Some(PathArguments::AngleBracketed(list)) => list,
            Some(PathArguments::Parenthesized(_)) => {
                return Err(self.unsupported(scope, ty, "a type with arguments like those of a function"));
            }
        };
        let written = list.args.iter().filter(|argument| !matches!(argument, GenericArgument::Lifetime(_)));
        written.map(|argument| self.argument_type(scope, argument)).collect()
    }

    /// The type or constant that a generic argument stands for.
    pub(super) fn argument_type(&mut self, scope: &Scope, argument: &GenericArgument) -> Result<TypeId, TypeId> {
        Ok(match argument {
            GenericArgument::Type(syn::Type::Path(path)) if self.is_constant(scope, path) => {
                let expr = Expr::Path(syn::ExprPath { attrs: Vec::new(), qself: None, path: path.path.clone() });
                self.constant_argument(scope, &expr)
            }
            GenericArgument::Type(ty) => self.ty(scope, ty),
            GenericArgument::Const(expr) => self.constant_argument(scope, expr),
            _ => return Err(self.unsupported(scope, argument, "a generic argument of this form")),
        })
    }

    /// A path among type arguments that names a constant.
    fn is_constant(&self, scope: &Scope, ty: &TypePath) -> bool {
        let generic = ty.path.get_ident().is_some_and(|ident| scope.generics.contains_key(&ident.to_string()));
        let constant = |item| matches!(self.tree.item(item), Item::Const(_));
        !generic
            && ty.qself.is_none()
            && matches!(self.resolve(scope, &ty.path), Resolution::Unresolved(_))
            && matches!(self.resolve_in(scope, &ty.path, Namespace::Values), Resolution::Local(item) if constant(item))
    }

    /// The argument of a const generic.
    fn constant_argument(&mut self, scope: &Scope, expr: &Expr) -> TypeId {
        let usize_type = self.primitive("usize");
        let value = self.eval(scope, &Env::new(), expr, usize_type);
        let Ok(value @ (Val::Int(_) | Val::Bool(_) | Val::Char(_))) = value else {
            return self.unsupported(scope, expr, "a const argument of this form");
        };
        let found = self.infos.iter().position(|info| matches!(info, Info::Const(other) if *other == value));
        match found {
            Some(position) => self.graph.at(position),
            None => self.add(Info::Const(value)),
        }
    }

    fn foreign_type(&mut self, scope: &Scope, ty: &TypePath, canonical: &[String]) -> TypeId {
        let arguments = match self.arguments(scope, ty) {
            Ok(arguments) => arguments,
            Err(refused) => return refused,
        };
        let mut path = canonical.join("::");
        let span = ty.path.span();
        if path == "serde_json::Map" && (arguments.len() != 2 || !self.is_string_to_value(&arguments)) {
            return self.unsupported(scope, ty, "this map");
        }
        if canonical[0] == "k8s_openapi" {
            return match arguments.as_slice() {
                [] => self.k8s_type(scope, span, canonical),
                _ => self.unsupported(scope, ty, "a type of k8s-openapi with arguments"),
            };
        }
        if let ("arrayvec::ArrayVec", [item, capacity]) = (path.as_str(), arguments.as_slice())
            && let Info::Const(Val::Int(capacity)) = self.info(*capacity)
            && let Some(known) = usize::try_from(*capacity).ok().and_then(known::array_vec)
            && dependency::schemars_feature(self.tree, scope.module, "arrayvec").is_none()
        {
            return self.known_type(known, vec![*item]);
        }
        let mut arguments = arguments;
        if let ("std::num::NonZero", [number]) = (path.as_str(), arguments.as_slice())
            && let Some((number, _)) = self.known(*number)
        {
            path = format!("std::num::NonZero{}{}", number.path[..1].to_uppercase(), &number.path[1..]);
            arguments.clear();
        }
        let Some(known) = known::lookup(&path) else {
            let krate = canonical.first().map_or("", String::as_str);
            let why =
                dependency::is_readable(krate).then(|| self.tree.want_package(scope.module, krate).never()).flatten();
            let why = why.map_or(String::new(), |why| format!(": {why}"));
            let message = format!("type `{path}` of the crate `{krate}` is not known{why}");
            return self.refused(
                Refusal::new(Code::ForeignType, scope, span, message)
                    .help("describe the value with `#[schemars(with = \"…\")]`"),
            );
        };
        if let Some(why) = dependency::schemars_feature(self.tree, scope.module, &canonical[0]) {
            let message = format!("type `{path}` has no schema: {why}");
            return self.refused(
                Refusal::new(Code::ForeignType, scope, span, message)
                    .help("switch the feature on in the project's dependency on schemars, and update `Cargo.lock`"),
            );
        }
        let arguments = match known.path {
            // `SmallVec<[T; N]>` is described by `T`.
            "smallvec::SmallVec" => match arguments.first().and_then(|array| self.known(*array)) {
                Some((array, items)) if array.path == "[]" => items,
                _ => return self.unsupported(scope, ty, "this array"),
            },
            _ => arguments,
        };
        // Capacities and time zones have no influence; that of a vector is a bound.
        let known = match (known.path, arguments.as_slice()) {
            ("arrayvec::ArrayString" | "chrono::DateTime", [_]) => return self.known_type(known, Vec::new()),
            _ => known,
        };
        // A hasher has no influence.
        let most = known.arity + usize::from(HASHED.contains(&known.path));
        if arguments.len() < known.arity || arguments.len() > most {
            return self.wrong_number(scope, ty, known.arity, arguments.len());
        }
        if arguments.iter().any(|argument| matches!(self.info(*argument), Info::Const(_))) {
            return self.unsupported(scope, ty, "a constant in the place of a type");
        }
        let arguments = arguments.into_iter().take(known.arity).collect();
        self.known_type(known, arguments)
    }

    fn is_string_to_value(&self, arguments: &[TypeId]) -> bool {
        let path = |id: TypeId| self.known(id).map(|(known, _)| known.path);
        path(arguments[0]) == Some("std::string::String") && path(arguments[1]) == Some("serde_json::Value")
    }

    fn local_type(&mut self, scope: &Scope, ty: &TypePath, item: ItemRef) -> TypeId {
        let arguments = match self.arguments(scope, ty) {
            Ok(arguments) => arguments,
            Err(refused) => return refused,
        };
        let tree = self.tree;
        if let Some(cfg) = tree.unknown_cfg(item) {
            let message = format!(
                "`{}` exists only under `cfg({cfg})`, which only the compiler can decide",
                self.text(scope, &ty.path)
            );
            return self.refused(Refusal::new(Code::UnknownCfg, scope, ty.path.span(), message));
        }
        let generics = match tree.item(item) {
            Item::Struct(item) => &item.generics,
            Item::Enum(item) => &item.generics,
            Item::Type(alias) => {
                let bound = match self.bind(scope, ty, &alias.generics, &arguments, item) {
                    Ok(bound) => bound,
                    Err(refused) => return refused,
                };
                let scope = Scope { module: tree.module(item), generics: Rc::new(bound), this: None, outside: None };
                if self.aliases.contains(&item) {
                    return self.unsupported(&scope, ty, "an alias of itself");
                }
                self.aliases.push(item);
                let id = self.ty(&scope, &alias.ty);
                self.aliases.pop();
                return id;
            }
            _ => return self.unsupported(scope, ty, "something other than a struct, an enum or an alias"),
        };
        match self.bind(scope, ty, generics, &arguments, item) {
            // With the defaults of those that are left out it is the same type.
            Ok(bound) => {
                let all = generics.params.iter().filter_map(|param| match param {
                    GenericParam::Type(param) => bound.get(&param.ident.to_string()).copied(),
                    GenericParam::Const(param) => bound.get(&param.ident.to_string()).copied(),
                    GenericParam::Lifetime(_) => None,
                });
                self.user_type(item, all.collect(), bound)
            }
            Err(refused) => refused,
        }
    }

    fn bind(
        &mut self,
        scope: &Scope,
        ty: &TypePath,
        generics: &syn::Generics,
        arguments: &[TypeId],
        item: ItemRef,
    ) -> Result<BTreeMap<String, TypeId>, TypeId> {
        let mut bound = BTreeMap::new();
        let takes = generics.params.iter().filter(|param| !matches!(param, GenericParam::Lifetime(_))).count();
        let given = arguments.len();
        let mut arguments = arguments.iter();
        for param in &generics.params {
            match param {
                GenericParam::Lifetime(_) => {}
                GenericParam::Const(param) => {
                    let argument = match (arguments.next(), &param.default) {
                        (Some(&argument), _) => argument,
                        (None, Some((_, default))) => {
                            let scope = Scope::module(self.tree.module(item));
                            self.constant_argument(&scope, default)
                        }
                        (None, None) => return Err(self.wrong_number(scope, ty, takes, given)),
                    };
                    if !matches!(self.info(argument), Info::Const(_)) {
                        return Err(self.unsupported(scope, ty, "a const argument of this form"));
                    }
                    bound.insert(param.ident.to_string(), argument);
                }
                GenericParam::Type(param) => {
                    let argument = match (arguments.next(), &param.default) {
                        (Some(&argument), _) => argument,
                        (None, Some((_, default))) => {
                            let module = self.tree.module(item);
                            let scope = Scope { module, generics: Rc::new(bound.clone()), this: None, outside: None };
                            self.ty(&scope, default)
                        }
                        (None, None) => return Err(self.wrong_number(scope, ty, takes, given)),
                    };
                    if matches!(self.info(argument), Info::Const(_)) {
                        return Err(self.unsupported(scope, ty, "a constant in the place of a type"));
                    }
                    bound.insert(param.ident.to_string(), argument);
                }
            }
        }
        if arguments.next().is_some() {
            return Err(self.wrong_number(scope, ty, takes, given));
        }
        Ok(bound)
    }

    /// See [`Derives`].
    pub(super) fn derives(&self, item: ItemRef) -> Rc<Derives> {
        let read = || derives(self.tree, self.tree.module(item), attributes(self.tree.item(item))).into();
        Rc::clone(self.derived.borrow_mut().entry(item).or_insert_with(read))
    }

    /// Whether the item derives the trait of this canonical path, and no attribute macro rewrites it before.
    pub(super) fn derives_trait(&self, item: ItemRef, canonical: &str) -> bool {
        let all = attributes(self.tree.item(item));
        let understood = skips_none(self.tree, self.tree.module(item), all);
        let rewritten = |position: usize| match understood {
            Some(at) => rewrites(&all[..at]) || rewrites(&all[at + 1..position]),
            None => rewrites(&all[..position]),
        };
        self.derives(item).iter().any(|(position, derive)| {
            matches!(derive, Derive::Resolved(path) if path == canonical) && !rewritten(*position)
        })
    }

    /// The canonical path of the trait of an `impl` block.
    pub(super) fn trait_of(&self, block: ItemRef) -> Option<String> {
        let Item::Impl(item) = self.tree.item(block) else { return None };
        let (path, _) = item.trait_.as_ref()?;
        Some(match self.tree.resolve(self.tree.module(block), path) {
            Resolution::Foreign(path) => path.join("::"),
            Resolution::Local(_) | Resolution::Member(..) | Resolution::Primitive(_) => String::new(),
            Resolution::Unresolved(_) => text(self.tree, self.tree.module(block), path),
        })
    }

    /// A struct or enum as the input of a derive.
    pub(super) fn derive_input(&self, item: ItemRef) -> Option<DeriveInput> {
        let mut input: DeriveInput = match self.tree.item(item) {
            Item::Struct(item) => item.clone().into(),
            Item::Enum(item) => item.clone().into(),
            _ => return None,
        };
        if skips_none(self.tree, self.tree.module(item), &input.attrs).is_some() {
            skip_none(&mut input);
        }
        Some(input)
    }
}

/// Types whose last argument may be a hasher.
const HASHED: [&str; 4] =
    ["std::collections::HashMap", "std::collections::HashSet", "indexmap::IndexMap", "indexmap::IndexSet"];

/// One path of a `#[derive(…)]`.
#[derive(Debug, Clone)]
pub(super) enum Derive {
    /// A macro of another crate, by its canonical path.
    Resolved(String),
    /// A path that means nothing known.
    Unresolved(String, Span),
}

/// The derives of an item with the position of their attribute.
type Derives = [(usize, Derive)];

/// See [`Derives`].
pub(super) fn derives(tree: &SourceTree, module: ModuleId, attributes: &[Attribute]) -> Vec<(usize, Derive)> {
    let mut all = Vec::new();
    for (position, attribute) in attributes.iter().enumerate() {
        if !attribute.path().is_ident("derive") {
            continue;
        }
        // A derive that does not parse does not compile either.
        let _ = attribute.parse_nested_meta(|meta| {
            let derive = match tree.resolve_in(module, &meta.path, Namespace::Macros) {
                Resolution::Foreign(path) => Derive::Resolved(path.join("::")),
                _ => Derive::Unresolved(text(tree, module, &meta.path), meta.path.span()),
            };
            all.push((position, derive));
            Ok(())
        });
    }
    all
}

/// The attributes of a struct or enum.
pub(super) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Struct(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        _ => &[],
    }
}

/// Source text of a piece of syntax, on one line.
pub(super) fn text(tree: &SourceTree, module: ModuleId, tokens: &impl ToTokens) -> String {
    let origin = tree.origin(module, tokens.to_token_stream().span());
    shortened(origin.text.get(origin.range).unwrap_or_default())
}

fn shortened(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().count() > 60 { text.chars().take(59).chain(['…']).collect() } else { text }
}
