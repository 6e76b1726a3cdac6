//! The `impl` blocks of a type with its arguments, and what they declare.
//!
//! A block is for one type (`impl Size<u8>`), or for all that its parameters allow (`impl<T> Size<T>`). Of several
//! that may be meant none is taken.

use std::collections::BTreeMap;
use std::rc::Rc;

use syn::punctuated::Punctuated;
use syn::{GenericArgument, GenericParam, ImplItem, Item, ItemImpl, PathArguments, Visibility};

use crate::schema::TypeId;
use crate::source::{CfgSet, ItemRef, ModuleId, Resolution};

use super::bound::PLAIN_TRAITS;
use super::container::generics;
use super::maker::rewrites;
use super::types::{Derive, Info, Refusal, Scope, Types};
use super::value::{Env, Target, Val};

/// What a block says of a type.
enum For {
    /// It is for the type; its code is read in this scope.
    This(Scope),
    /// It is for other arguments.
    Other,
    /// Only the compiler can tell.
    Unknown,
}

impl Types<'_> {
    /// The function of this name that a type has itself, outside of traits.
    pub(super) fn own_function(
        &mut self,
        scope: &Scope,
        id: TypeId,
        name: &str,
    ) -> Option<(syn::Signature, syn::Block, Scope)> {
        let (function, scope) = self.inherent(scope, id, |item| match item {
            ImplItem::Fn(item) if item.sig.ident == name => Some(item.clone()),
            _ => None,
        })?;
        Some((function.sig, function.block, scope))
    }

    /// The value of a constant that a type has itself.
    pub(super) fn associated_const(&mut self, scope: &Scope, id: TypeId, name: &str) -> Option<Result<Val, Refusal>> {
        let (item, scope) = self.inherent(scope, id, |item| match item {
            ImplItem::Const(item) if item.ident == name => Some(item.clone()),
            _ => None,
        })?;
        let expr = self.of_build(&scope, &item.expr, CfgSet::apply_to_expr)?;
        let ty = self.ty(&scope, &item.ty);
        Some(self.deeper(&scope, &expr, |types| types.eval(&scope, &Env::new(), &expr, Some(ty))))
    }

    /// An associated item of a type outside of trait impls, and the scope of its block. What code in `from` can't see
    /// does not hide that of a trait.
    fn inherent<T>(&mut self, from: &Scope, id: TypeId, find: impl Fn(&ImplItem) -> Option<T>) -> Option<(T, Scope)> {
        let tree = self.tree;
        let mut found = None;
        for block in tree.impls(self.user(id)?.item).iter().copied() {
            let Item::Impl(item) = tree.item(block) else { continue };
            let Some((part, hit)) = item.items.iter().find_map(|part| Some((part, find(part)?))) else { continue };
            if item.trait_.is_some() {
                continue;
            }
            let scope = match self.block_for(id, block, item) {
                For::This(scope) => scope,
                For::Other => continue,
                For::Unknown => return None,
            };
            let (attributes, vis) = declared(part)?;
            let hidden = !self.is_visible(from, vis, tree.module(block));
            if found.is_some() || hidden || rewrites(&item.attrs) || rewrites(attributes) {
                return None;
            }
            found = Some((hit, scope));
        }
        found
    }

    /// Whether a type has an associated item of this name outside of traits, for whatever arguments.
    pub(super) fn has_own(&self, id: TypeId, name: &str) -> bool {
        let tree = self.tree;
        let named = |block: &ItemRef| match tree.item(*block) {
            Item::Impl(item) if item.trait_.is_none() => item.items.iter().any(|item| match item {
                ImplItem::Fn(item) => item.sig.ident == name,
                ImplItem::Const(item) => item.ident == name,
                ImplItem::Macro(_) => true,
                _ => false,
            }),
            _ => false,
        };
        self.user(id).is_some_and(|user| tree.impls(user.item).iter().any(named))
    }

    /// A trait that a type implements has a method of this name, too.
    pub(super) fn in_trait(&self, id: TypeId, name: &str) -> bool {
        let tree = self.tree;
        let named = |block: &ItemRef| match tree.item(*block) {
            Item::Impl(item) if item.trait_.is_some() => {
                item.items.iter().any(|item| matches!(item, ImplItem::Fn(item) if item.sig.ident == name))
            }
            _ => false,
        };
        self.user(id).is_some_and(|user| tree.impls(user.item).iter().any(named))
    }

    /// The function of this name in the `impl` of the trait of this canonical path, with this type argument, for a type.
    pub(super) fn trait_function(
        &mut self,
        id: TypeId,
        (canonical, argument): (&str, Option<TypeId>),
        name: &str,
    ) -> Option<(syn::ImplItemFn, Scope)> {
        let tree = self.tree;
        let mut found = None;
        for block in tree.impls(self.user(id)?.item).iter().copied() {
            let Item::Impl(item) = tree.item(block) else { continue };
            if self.trait_of(block).as_deref() != Some(canonical) || self.trait_argument(block) != argument {
                continue;
            }
            let scope = match self.block_for(id, block, item) {
                For::This(scope) => scope,
                For::Other => continue,
                For::Unknown => return None,
            };
            let function = item.items.iter().find_map(|item| match item {
                ImplItem::Fn(function) if function.sig.ident == name => Some(function.clone()),
                _ => None,
            })?;
            if found.is_some() || rewrites(&item.attrs) || rewrites(&function.attrs) {
                return None;
            }
            found = Some((function, scope));
        }
        found
    }

    /// The one type argument of the trait of a block.
    fn trait_argument(&mut self, block: ItemRef) -> Option<TypeId> {
        let Item::Impl(item) = self.tree.item(block) else { return None };
        let PathArguments::AngleBracketed(list) = &item.trait_.as_ref()?.0.segments.last()?.arguments else {
            return None;
        };
        let GenericArgument::Type(argument) = list.args.first()? else { return None };
        Some(self.ty(&Scope::module(self.tree.module(block)), argument))
    }

    /// Whether a type of the user has an `impl` of the trait of this canonical path, for whatever arguments.
    pub(super) fn implements(&self, id: TypeId, canonical: &str) -> bool {
        let Some(user) = self.user(id) else { return false };
        self.tree.impls(user.item).iter().any(|block| self.trait_of(*block).as_deref() == Some(canonical))
    }

    /// Whether a type of the user may implement `Deref`: by an `impl`, or by a derive of which that is not known.
    pub(super) fn may_deref(&self, id: TypeId) -> bool {
        let Some(user) = self.user(id) else { return true };
        let named = |path: &str| path.rsplit("::").next().is_some_and(|name| name == "Deref");
        self.tree.impls(user.item).iter().any(|block| self.trait_of(*block).is_some_and(|path| named(&path)))
            || self.derives(user.item).iter().any(|(_, derive)| match derive {
                Derive::Resolved(path) => {
                    let krate = path.split("::").next().unwrap_or_default();
                    named(path) || !(PLAIN_TRAITS.contains(&krate) || PLAIN_DERIVES.contains(&krate))
                }
                Derive::Unresolved(..) => true,
            })
    }

    /// Whether a type of the user implements a trait that may give it methods which take the value itself, and so come
    /// before those of the type that take a reference.
    pub(super) fn has_provided_methods(&self, id: TypeId) -> bool {
        let Some(user) = self.user(id) else { return true };
        self.tree.impls(user.item).iter().filter_map(|block| self.trait_of(*block)).any(|path| {
            let krate = path.split("::").next().unwrap_or_default();
            let plain = path.is_empty() || PLAIN_TRAITS.contains(&krate);
            !plain || path.starts_with("std::iter::") || path.starts_with("std::io::")
        })
    }

    /// Whether code in a scope may use what is declared in a module with this visibility.
    pub(super) fn is_visible(&self, scope: &Scope, vis: &Visibility, module: ModuleId) -> bool {
        let around = |module| std::iter::successors(Some(module), |module| self.tree.parent(*module));
        let inside = |of: Option<ModuleId>| of.is_some_and(|of| around(scope.module).any(|module| module == of));
        match vis {
            Visibility::Public(_) => true,
            Visibility::Restricted(vis) if vis.path.is_ident("crate") => inside(around(module).last()),
            Visibility::Restricted(vis) if vis.path.is_ident("super") => inside(self.tree.parent(module)),
            Visibility::Restricted(_) | Visibility::Inherited => inside(Some(module)),
        }
    }

    /// Whether a block is for a type of the user, whose item it names.
    fn block_for(&mut self, id: TypeId, block: ItemRef, item: &ItemImpl) -> For {
        if self.tree.unknown_cfg(block).is_some() {
            return For::Unknown;
        }
        let module = Scope::module(self.tree.module(block));
        let own = item.generics.params.iter().any(|param| !matches!(param, GenericParam::Lifetime(_)));
        if own {
            return match self.unified(id, &module, item) {
                Some(Some(generics)) => For::This(Scope { generics: Rc::new(generics), this: Some(id), ..module }),
                Some(None) => For::Other,
                None => For::Unknown,
            };
        }
        let named = self.ty(&module, &item.self_ty);
        match self.info(named) {
            _ if named == id => For::This(Scope { this: Some(id), ..module }),
            Info::User(_) => For::Other,
            _ => For::Unknown,
        }
    }

    /// The parameters of a block by the arguments of a type: `Some(None)` when the block is for others, `None` when
    /// that is not decided.
    #[allow(clippy::option_option, reason = "for others, or not decided")]
    fn unified(&mut self, id: TypeId, module: &Scope, item: &ItemImpl) -> Option<Option<BTreeMap<String, TypeId>>> {
        let user = self.user(id)?.clone();
        let syn::Type::Path(path) = &*item.self_ty else { return None };
        let PathArguments::AngleBracketed(list) = &path.path.segments.last()?.arguments else { return None };
        // An alias may have its arguments in another order.
        if !self.names(module, &path.path, id)
            || !self.has_plain_bounds(module, &item.generics, &Punctuated::new(), item)
        {
            return None;
        }
        let written = list.args.iter().filter(|argument| !matches!(argument, GenericArgument::Lifetime(_)));
        let written: Vec<&GenericArgument> = written.collect();
        let declared: Vec<String> = generics(self.tree.item(user.item))?.params.iter().filter_map(parameter).collect();
        let own: Vec<String> = item.generics.params.iter().filter_map(parameter).collect();
        // An argument that is left out is the default, which may be what the parameters are not.
        if written.len() != declared.len() {
            return None;
        }
        let mut bound: BTreeMap<String, TypeId> = BTreeMap::new();
        for (argument, name) in written.into_iter().zip(&declared) {
            let actual = *user.scope.generics.get(name)?;
            let variable = match argument {
                GenericArgument::Type(syn::Type::Path(path)) if path.qself.is_none() => path.path.get_ident(),
                _ => None,
            };
            let asked = match variable.map(ToString::to_string).filter(|name| own.contains(name)) {
                Some(name) => *bound.entry(name).or_insert(actual),
                None if own
                    .iter()
                    .any(|name| super::bound::mentions(quote::ToTokens::to_token_stream(argument), name)) =>
                {
                    return None;
                }
                None => self.argument_type(module, argument).ok()?,
            };
            if asked != actual {
                let known = |id| !matches!(self.info(id), Info::Refused(_));
                return (known(asked) && known(actual)).then_some(None);
            }
        }
        (bound.len() == own.len()).then_some(Some(bound))
    }
}

impl Types<'_> {
    /// `Root::item` of the type that a custom resource's derive makes.
    pub(super) fn of_root(&self, scope: &Scope, path: &syn::Path) -> Option<Target> {
        let mut owner = path.clone();
        let name = owner.segments.pop()?.ident.to_string();
        owner.segments.pop_punct();
        if owner.segments.is_empty() {
            return None;
        }
        match self.resolve(scope, &owner) {
            Resolution::Member(spec, root) => {
                let made = self.tree.custom_resource(spec).filter(|resource| resource.root == root);
                made.map(|_| Target::Generated(spec, name))
            }
            _ => None,
        }
    }

    /// The function of this name that blocks of the user give to the type that the derive makes of a spec.
    pub(super) fn root_function(&self, spec: ItemRef, name: &str) -> Option<(syn::Signature, syn::Block, Scope)> {
        let tree = self.tree;
        let mut found = None;
        for block in tree.impls_of_root(spec).iter().copied() {
            let Item::Impl(item) = tree.item(block) else { continue };
            let function = item.items.iter().find_map(|item| match item {
                ImplItem::Fn(function) if function.sig.ident == name => Some(function),
                _ => None,
            });
            let Some(function) = function.filter(|_| item.trait_.is_none()) else { continue };
            let plain = tree.unknown_cfg(block).is_none() && item.generics.params.is_empty();
            if found.is_some() || !plain || rewrites(&item.attrs) || rewrites(&function.attrs) {
                return None;
            }
            found = Some((function.sig.clone(), function.block.clone(), Scope::module(tree.module(block))));
        }
        found
    }
}

/// The name of a parameter that stands for a type or a constant.
pub(super) fn parameter(param: &GenericParam) -> Option<String> {
    match param {
        GenericParam::Type(param) => Some(param.ident.to_string()),
        GenericParam::Const(param) => Some(param.ident.to_string()),
        GenericParam::Lifetime(_) => None,
    }
}

/// Attributes and visibility of an associated item.
fn declared(item: &ImplItem) -> Option<(&[syn::Attribute], &Visibility)> {
    match item {
        ImplItem::Const(item) => Some((&item.attrs, &item.vis)),
        ImplItem::Fn(item) => Some((&item.attrs, &item.vis)),
        _ => None,
    }
}

/// Crates with derives of which none makes a `Deref`.
const PLAIN_DERIVES: [&str; 6] = ["clap", "derive_more", "garde", "strum_macros", "thiserror", "validator"];
