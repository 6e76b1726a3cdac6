//! Type expressions → types.

use std::collections::BTreeMap;
use std::rc::Rc;

use syn::spanned::Spanned as _;
use syn::{GenericArgument, Item, PathArguments, TypePath};

use crate::diagnostic::Code;
use crate::schema::known::ValueKind;
use crate::schema::{TypeId, known};
use crate::source::{ItemRef, Namespace, Resolution, Unread};

use super::evaluator::{Env, Evaluator};
use crate::api::dependency;
use crate::api::types::{Refusal, TypeScope};
use crate::api::value::Val;

impl Evaluator<'_, '_> {
    /// Resolves a type expression. Errors are only reported when the type is used.
    pub(in crate::api) fn ty(&mut self, scope: &TypeScope, ty: &syn::Type) -> TypeId {
        match ty {
            syn::Type::Paren(inner) => self.ty(scope, &inner.elem),
            syn::Type::Group(inner) => self.ty(scope, &inner.elem),
            syn::Type::Reference(inner) => {
                let inner = self.ty(scope, &inner.elem);
                self.types.known_type(known::reference(), vec![inner])
            }
            syn::Type::Tuple(tuple) => {
                let arguments: Vec<TypeId> = tuple.elems.iter().map(|elem| self.ty(scope, elem)).collect();
                match known::tuple(arguments.len()) {
                    Some(known) => self.types.known_type(known, arguments),
                    None => self.types.unread_type(scope, ty, "a tuple of this many elements"),
                }
            }
            syn::Type::Array(array) => {
                let inner = self.ty(scope, &array.elem);
                let usize_type = self.types.primitive("usize");
                let length = match self.eval(scope, &Env::new(), &array.len, usize_type) {
                    Ok(Val::Int(length)) => usize::try_from(length).ok().and_then(known::array),
                    _ => None,
                };
                match length {
                    Some(known) => self.types.known_type(known, vec![inner]),
                    None => self.types.unread_type(scope, ty, "an array of this length"),
                }
            }
            syn::Type::Slice(slice) => {
                let inner = self.ty(scope, &slice.elem);
                self.types.known_type(known::slice(), vec![inner])
            }
            syn::Type::Path(path) => self.path_type(scope, path),
            _ => self.types.unread_type(scope, ty, "a type of this form"),
        }
    }

    fn path_type(&mut self, scope: &TypeScope, ty: &TypePath) -> TypeId {
        let path = &ty.path;
        if ty.qself.is_some() {
            return self.types.unread_type(scope, ty, "an associated type");
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
            return self.types.unread_type(scope, ty, "an associated type");
        }
        if path.segments.iter().rev().skip(1).any(|segment| !segment.arguments.is_none()) {
            return self.types.unread_type(scope, ty, "a path with arguments in the middle");
        }
        let bare = path.segments.last().is_some_and(|last| last.arguments.is_none());
        let resolution = self.types.resolve(scope, path);
        match resolution {
            Resolution::Local(item) => self.local_type(scope, ty, item).unwrap_or_else(|refused| refused),
            Resolution::Primitive(name) => match self.types.primitive(&name) {
                Some(_) if !bare => self.types.unread_type(scope, ty, "a primitive type with arguments"),
                Some(id) => id,
                None => self.types.unread_type(scope, ty, "this primitive type"),
            },
            Resolution::Foreign(canonical) => {
                self.foreign_type(scope, ty, &canonical).unwrap_or_else(|refused| refused)
            }
            Resolution::Member(..) => self.types.unread_type(scope, ty, "an associated type"),
            Resolution::Unresolved(why) => {
                if scope.k8s.is_none() {
                    // A glob import from a readable package may provide the name.
                    for found in self.tree.through_foreign_globs(scope.module, path, Namespace::Types) {
                        if dependency::is_readable(&found[0]) {
                            let _ = self.tree.request_package(scope.module, &found[0]);
                        }
                    }
                }
                self.types.refused(
                    Refusal::new(Code::UnresolvedName, scope, path.span(), why)
                        .help("write the full path of the type, or add a `use` for it"),
                )
            }
        }
    }

    pub(in crate::api) fn arguments(&mut self, scope: &TypeScope, ty: &TypePath) -> Result<Vec<TypeId>, TypeId> {
        let list = match ty.path.segments.last().map(|last| &last.arguments) {
            None | Some(PathArguments::None) => return Ok(Vec::new()),
            Some(PathArguments::AngleBracketed(list)) => list,
            Some(PathArguments::Parenthesized(_)) => {
                return Err(self.types.unread_type(scope, ty, "a type with arguments like those of a function"));
            }
        };
        let written = list.args.iter().filter(|argument| !matches!(argument, GenericArgument::Lifetime(_)));
        let ty = |argument: &GenericArgument| match argument {
            GenericArgument::Type(ty) => Ok(self.ty(scope, ty)),
            _ => Err(self.types.unread_type(scope, argument, "a generic argument of this form")),
        };
        written.map(ty).collect()
    }

    fn foreign_type(&mut self, scope: &TypeScope, ty: &TypePath, canonical: &[String]) -> Result<TypeId, TypeId> {
        let mut arguments = self.arguments(scope, ty)?;
        let mut path = canonical.join("::");
        let span = ty.path.span();
        let mut known = known::lookup(&path);
        if known.is_some_and(|known| known.kind == ValueKind::JsonMap) && !self.is_string_to_value(&arguments) {
            return Err(self.types.unread_type(scope, ty, "this map"));
        }
        if canonical[0] == "k8s_openapi" {
            return match arguments.as_slice() {
                [] => Ok(self.types.k8s_type(scope, span, canonical)),
                _ => Err(self.types.unread_type(scope, ty, "a type of k8s-openapi with arguments")),
            };
        }
        if let ("std::num::NonZero", [number]) = (path.as_str(), arguments.as_slice())
            && let Some((number, _)) = self.types.known(*number)
        {
            path = format!("std::num::NonZero{}{}", number.path[..1].to_uppercase(), &number.path[1..]);
            known = known::lookup(&path);
            arguments.clear();
        }
        let Some(known) = known else {
            let krate = canonical.first().map_or("", String::as_str);
            let why = dependency::is_readable(krate).then(|| self.tree.request_package(scope.module, krate)).flatten();
            let code = match &why {
                Some(Unread::NotDownloaded(_)) => Code::NotDownloaded,
                _ => Code::ForeignType,
            };
            let why = why.map_or(String::new(), |why| format!(": {why}"));
            let message = format!("type `{path}` of the crate `{krate}` is unknown{why}");
            let refusal = Refusal::new(code, scope, span, message);
            return Err(self.types.refused(refusal.help("describe the value with `#[schemars(with = \"…\")]`")));
        };
        if let Some(why) = dependency::schemars_feature(self.tree, scope.module, &canonical[0]) {
            let message = format!("type `{path}` has no schema: {why}");
            return Err(self.types.refused(
                Refusal::new(Code::ForeignType, scope, span, message)
                    .help("enable the feature in the project's dependency on schemars, and update `Cargo.lock`"),
            ));
        }
        // A hasher and a time zone do not affect the schema.
        let most = known.arity + usize::from(known.kind.is_hashed() || known.path == "chrono::DateTime");
        if arguments.len() < known.arity || arguments.len() > most {
            return Err(self.types.wrong_number(scope, ty, known.arity, arguments.len()));
        }
        arguments.truncate(known.arity);
        Ok(self.types.known_type(known, arguments))
    }

    fn is_string_to_value(&self, arguments: &[TypeId]) -> bool {
        let kinds: Vec<Option<ValueKind>> = arguments.iter().map(|id| self.types.kind(Some(*id))).collect();
        kinds == [Some(ValueKind::String), Some(ValueKind::Json)]
    }

    fn local_type(&mut self, scope: &TypeScope, ty: &TypePath, item: ItemRef) -> Result<TypeId, TypeId> {
        let arguments = self.arguments(scope, ty)?;
        let tree = self.tree;
        if let Some(cfg) = tree.unknown_cfg(item) {
            let message = format!(
                "`{}` exists only under `cfg({cfg})`, which only the compiler can decide",
                self.types.text(scope, &ty.path)
            );
            return Err(self.types.refused(Refusal::new(Code::UnknownCfg, scope, ty.path.span(), message)));
        }
        let generics = match tree.item(item) {
            Item::Struct(item) => &item.generics,
            Item::Enum(item) => &item.generics,
            Item::Type(alias) => {
                let bound = self.bind(scope, ty, &alias.generics, &arguments, item)?;
                let scope = TypeScope { module: tree.module(item), generics: Rc::new(bound), this: None, k8s: None };
                if self.aliases.contains(&item) {
                    return Err(self.types.unread_type(&scope, ty, "an alias of itself"));
                }
                self.aliases.push(item);
                let id = self.ty(&scope, &alias.ty);
                self.aliases.pop();
                return Ok(id);
            }
            _ => return Err(self.types.unread_type(scope, ty, "something other than a struct, an enum or an alias")),
        };
        let bound = self.bind(scope, ty, generics, &arguments, item)?;
        // Omitted arguments have their defaults, so this is the same type.
        let all = generics.type_params().filter_map(|param| bound.get(&param.ident.to_string()).copied());
        Ok(self.types.user_type(item, all.collect(), bound))
    }

    fn bind(
        &mut self,
        scope: &TypeScope,
        ty: &TypePath,
        generics: &syn::Generics,
        arguments: &[TypeId],
        item: ItemRef,
    ) -> Result<BTreeMap<String, TypeId>, TypeId> {
        let mut bound = BTreeMap::new();
        let (takes, given) = (generics.type_params().count(), arguments.len());
        if generics.const_params().next().is_some() {
            return Err(self.types.unread_type(scope, ty, "a type with a constant as its parameter"));
        }
        let mut arguments = arguments.iter();
        for param in generics.type_params() {
            let argument = match (arguments.next(), &param.default) {
                (Some(&argument), _) => argument,
                (None, Some((_, default))) => {
                    let module = self.tree.module(item);
                    let scope = TypeScope { module, generics: Rc::new(bound.clone()), this: None, k8s: None };
                    self.ty(&scope, default)
                }
                (None, None) => return Err(self.types.wrong_number(scope, ty, takes, given)),
            };
            bound.insert(param.ident.to_string(), argument);
        }
        if arguments.next().is_some() {
            return Err(self.types.wrong_number(scope, ty, takes, given));
        }
        Ok(bound)
    }

    /// Resolves a path of the root of a custom resource, which refers to the user's types by path.
    pub(in crate::api) fn path_ty(&mut self, scope: &TypeScope, path: &syn::Path) -> TypeId {
        self.ty(scope, &syn::Type::Path(syn::TypePath { attrs: Vec::new(), qself: None, path: path.clone() }))
    }
}
