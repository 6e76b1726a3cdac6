//! Functions that build a schema by hand (`schema_with`, an `impl JsonSchema`), evaluated to a [`Recipe`].
//!
//! They are straight lines: locals, JSON with schemas inside, `insert` and `remove`.

use std::collections::BTreeSet;

use syn::spanned::Spanned as _;
use syn::{Expr, ExprCall, ExprMethodCall, GenericArgument, ImplItem, Item, Lit};

use crate::diagnostic::Code;
use crate::schema::{Change, Container, Edit, Meta, Recipe, Shape, Type, TypeId};
use crate::source::{ItemRef, Resolution};

use super::call::{call_of, unwrap};
use super::types::{Refusal, Scope, Types};
use super::value::{Env, Target, Val, owner_type};

type Eval<T = Val> = Result<T, Refusal>;

/// The variables that a block declares itself; a change of any other variable would be lost at its end.
pub(super) type Own = BTreeSet<String>;

/// The object that is the schema which a variable holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Place {
    variable: String,
}

impl Place {
    /// It is inside the schema that this variable holds.
    pub(super) fn is_in(&self, variable: &str) -> bool {
        self.variable == variable
    }
}

impl From<Recipe> for Val {
    fn from(recipe: Recipe) -> Self {
        match recipe {
            Recipe::Json(value) => Val::Json(value),
            recipe => Val::Recipe(recipe),
        }
    }
}

impl Val {
    /// Its `Into<serde_json::Value>` is what serde writes.
    pub(super) fn is_simple(&self) -> bool {
        matches!(self, Val::Bool(_) | Val::Int(_) | Val::Str(_) | Val::Json(_) | Val::Recipe(_))
    }

    /// A value of a type of the user, whose conversions may be anything, is in it.
    pub(super) fn is_of_user(&self) -> bool {
        match self {
            Val::Struct(..) | Val::Variant(..) => true,
            Val::Some(inner) => inner.is_of_user(),
            Val::Seq(values) => values.iter().any(Val::is_of_user),
            Val::Map(entries) => entries.iter().any(|(key, value)| key.is_of_user() || value.is_of_user()),
            _ => false,
        }
    }
}

const SCHEMA: &str = "schemars::Schema";
const VALUES: [&str; 2] = ["serde_json::Value", "serde_json::value::Value"];

/// The names that a hand-written `impl JsonSchema` gives its type.
pub(super) struct ByHand {
    pub(super) name: String,
    id: String,
    inline: bool,
    scope: Scope,
}

impl ByHand {
    /// Reads the names; `scope` is that of the impl.
    pub(super) fn read(types: &mut Types<'_>, scope: &Scope, item: &syn::ItemImpl) -> Eval<Self> {
        let (mut found, mut inline) = ([None, None], false);
        for part in &item.items {
            let ImplItem::Fn(function) = part else { return types.no(scope, part) };
            let name = function.sig.ident.to_string();
            match name.as_str() {
                "json_schema" => continue,
                "schema_name" | "schema_id" | "inline_schema" => {}
                // Hidden methods of the trait, which change how the type is used.
                _ => return types.no(scope, &function.sig.ident),
            }
            let value =
                types.invoke(scope, &function.sig.ident, (&function.sig, &function.block, scope), Vec::new())?;
            match (name.as_str(), value) {
                ("schema_name", Val::Str(text)) => found[0] = Some(text),
                ("schema_id", Val::Str(text)) => found[1] = Some(text),
                ("inline_schema", Val::Bool(value)) => inline = value,
                _ => return types.no(scope, &function.block),
            }
        }
        let [name, id] = found;
        let Some(name) = name else { return types.no(scope, &item.self_ty) };
        Ok(ByHand { id: id.unwrap_or_else(|| name.clone()), name, inline, scope: scope.clone() })
    }
}

impl Types<'_> {
    /// `schema_with = "path"`: a type whose schema the function makes.
    pub(super) fn schema_with(&mut self, scope: &Scope, path: &syn::Path) -> Option<TypeId> {
        let path_of = |path| syn::ExprPath { attrs: Vec::new(), qself: None, path };
        let generator = path_of(syn::Ident::new("generator", path.span()).into());
        let call = call_of(path_of(path.clone()), Some(Expr::Path(generator)));
        let env = Env::from([("generator".to_owned(), Val::Generator)]);
        let made = self.call(scope, &env, &call, None).and_then(|value| self.made(scope, path, value));
        let what = format!("`schema_with = {}`", self.text(scope, path));
        let recipe = made.map_err(|refusal| self.refuse_schema(&refusal, &what)).ok()?;
        let name = path.segments.last()?.ident.to_string();
        let id = format!("schema_with/{}/{}", self.tree.module_path(scope.module).join("::"), self.text(scope, path));
        let (shape, meta) = (Shape::Recipe(recipe), Meta::default());
        Some(self.add_described(Container { name, id: id.into(), inline: true, shape, meta, validated: None }))
    }

    fn refuse_schema(&mut self, refusal: &Refusal, what: &str) {
        let message = format!("{what}: {}", refusal.message);
        let help = "build the schema with `json_schema!`, `subschema_for` and `insert`, or say it with `with = \"Type\"` \
                    and `extend(…)`";
        self.refuse(Refusal { code: Code::SchemaCode, message, help: Some(help.to_owned()), ..refusal.clone() });
    }

    /// The result of a function that returns a schema.
    fn made(&mut self, scope: &Scope, at: &impl quote::ToTokens, value: Val) -> Eval<Recipe> {
        match self.recipe(scope, at, value)? {
            Recipe::Json(value) if !value.is_object() && !value.is_boolean() => self.no(scope, at),
            Recipe::Array(_) => self.no(scope, at),
            recipe => Ok(recipe),
        }
    }

    /// The `impl JsonSchema` of a type, when there is one: `Err` says that it can't be used.
    pub(super) fn by_hand(&mut self, id: TypeId, item: ItemRef) -> Option<Eval<(ByHand, ItemRef)>> {
        let scope = self.user(id)?.scope.clone();
        let blocks: Vec<ItemRef> = self
            .tree
            .impls(item)
            .iter()
            .copied()
            .filter(|block| self.trait_of(*block).as_deref() == Some("schemars::JsonSchema"))
            .collect();
        let (block, others) = blocks.split_first()?;
        Some(self.read_impl(&scope, *block, !others.is_empty()))
    }

    /// Reads the names of an `impl JsonSchema`; `several` says that there is another one for the same type.
    fn read_impl(&mut self, of: &Scope, block: ItemRef, several: bool) -> Eval<(ByHand, ItemRef)> {
        let tree = self.tree;
        let Item::Impl(item) = tree.item(block) else { return self.no(of, &tree.item(block)) };
        let scope = Scope { module: tree.module(block), ..of.clone() };
        let user = of.this.and_then(|this| self.user(this));
        let generics = user.and_then(|user| super::container::generics(tree.item(user.item)));
        let declared = generics.into_iter().flat_map(|generics| &generics.params).filter_map(|param| match param {
            syn::GenericParam::Type(param) => Some(param.ident.to_string()),
            syn::GenericParam::Const(param) => Some(param.ident.to_string()),
            syn::GenericParam::Lifetime(_) => None,
        });
        let declared: Vec<String> = declared.collect();
        // An alias may have its arguments in another order.
        let named = matches!((&*item.self_ty, of.this), (syn::Type::Path(path), Some(this))
            if self.names(&Scope::module(tree.module(block)), &path.path, this));
        let for_all = (declared.is_empty() || named) && parameters_match(item, &declared);
        if several || tree.unknown_cfg(block).is_some() || !for_all {
            return self.no(&scope, &item.self_ty);
        }
        Ok((ByHand::read(self, &scope, item)?, block))
    }

    /// The container of a type that has a hand-written impl.
    pub(super) fn describe_by_hand(&mut self, by_hand: &ByHand, item: &syn::ItemImpl) -> Option<Container> {
        let ByHand { name, id, inline, scope } = by_hand;
        let function = item.items.iter().find_map(|item| match item {
            ImplItem::Fn(function) if function.sig.ident == "json_schema" => Some(function),
            _ => None,
        })?;
        let parts = (&function.sig, &function.block, scope);
        let value = self.invoke(scope, &function.sig.ident, parts, vec![Val::Generator]);
        let made = value.and_then(|value| self.made(scope, &function.sig.ident, value));
        let what = format!("the hand-written `JsonSchema` of `{}`", quote::ToTokens::to_token_stream(&item.self_ty));
        let recipe = made.map_err(|refusal| self.refuse_schema(&refusal, &what)).ok()?;
        let (name, id) = (name.clone(), id.clone().into());
        let (shape, meta) = (Shape::Recipe(recipe), Meta::default());
        Some(Container { name, id, inline: *inline, shape, meta, validated: None })
    }

    /// Refuses a hand-written impl of which not even the names are read.
    pub(super) fn refuse_by_hand(&mut self, refusal: &Refusal, name: &str) {
        self.refuse_schema(refusal, &format!("the hand-written `JsonSchema` of `{name}`"));
    }

    /// The root type of `schema = "manual"`: its impl stands in the module of the spec, where the derive puts the type.
    pub(super) fn manual_root(&mut self, scope: &Scope, spec: &syn::Ident, root: &str) -> Option<TypeId> {
        let tree = self.tree;
        let blocks: Vec<ItemRef> = tree
            .module_items(scope.module)
            .iter()
            .copied()
            .filter(|item| {
                matches!(tree.item(*item), Item::Impl(block)
                    if matches!(&*block.self_ty, syn::Type::Path(path) if path.path.is_ident(root)))
                    && self.trait_of(*item).as_deref() == Some("schemars::JsonSchema")
            })
            .collect();
        let Some((block, others)) = blocks.split_first() else {
            let message = format!("`schema = \"manual\"`, but no `impl JsonSchema for {root}` is beside it");
            let help = "write the impl in the same module, as a list of `json_schema!`, `subschema_for` and `insert`";
            self.refuse(Refusal::new(Code::SchemaCode, scope, spec.span(), message).help(help));
            return None;
        };
        let read = self.read_impl(scope, *block, !others.is_empty());
        let (by_hand, block) = read.map_err(|refusal| self.refuse_by_hand(&refusal, root)).ok()?;
        let Item::Impl(item) = tree.item(block) else { return None };
        let container = self.describe_by_hand(&by_hand, item)?;
        Some(self.add_described(container))
    }

    /// A string becomes it by `into()` without a change.
    pub(super) fn is_text(&self, ty: Option<TypeId>) -> bool {
        let Some((known, arguments)) = ty.and_then(|ty| self.known(ty)) else { return false };
        let of_str = || self.primitive_name(arguments.first().copied()) == Some("str");
        match known.path {
            "std::string::String" => true,
            "std::borrow::Cow" | "std::boxed::Box" | "std::sync::Arc" | "std::rc::Rc" => of_str(),
            _ => self.is_json(ty),
        }
    }

    /// A schema or any JSON.
    pub(super) fn is_json(&self, ty: Option<TypeId>) -> bool {
        self.primitive_name(ty).is_some_and(|name| name == SCHEMA || VALUES.contains(&name))
    }

    /// `T::schema_name()` or `T::schema_id()` of a type that another one is named after.
    pub(super) fn schema_name_call(&mut self, scope: &Scope, call: &ExprCall) -> Option<String> {
        let Expr::Path(function) = &*call.func else { return None };
        let last = &function.path.segments.last()?.ident;
        if !(last == "schema_name" || last == "schema_id") || !call.args.is_empty() {
            return None;
        }
        let mut id = self.owner_of_schema(scope, function)?;
        if self.user(id).is_some_and(|user| !user.scope.generics.is_empty()) {
            return None;
        }
        if self.active.contains(&id) {
            // Inside its own impl.
            let item = self.user(id).map(|user| user.item)?;
            let (by_hand, _) = self.by_hand(id, item)?.ok()?;
            return Some(if last == "schema_name" { by_hand.name } else { by_hand.id });
        }
        self.use_type(id, (scope.module, call.span()));
        loop {
            return match self.graph.get(id) {
                Type::Known(known, _) if last == "schema_name" => known.name(),
                Type::Known(known, _) => known.id(),
                Type::User(container) => match container.shape {
                    Shape::Transparent(inner) if container.validated.is_none() => {
                        id = inner;
                        continue;
                    }
                    _ if last == "schema_name" => Some(container.name.clone()),
                    _ if self.user(id).is_some_and(|user| !user.scope.generics.is_empty()) => None,
                    _ => Some(container.id.text.clone()),
                },
                Type::Unknown => None,
            };
        }
    }

    /// `T::json_schema(generator)` in any form; `None` when the call is something else.
    pub(super) fn json_schema_call(&mut self, scope: &Scope, env: &Env, call: &ExprCall) -> Eval<Option<Val>> {
        let Expr::Path(function) = &*call.func else { return Ok(None) };
        let (Some(last), 1) = (function.path.segments.last(), call.args.len()) else { return Ok(None) };
        if last.ident != "json_schema" || !matches!(self.eval(scope, env, &call.args[0], None)?, Val::Generator) {
            return Ok(None);
        }
        let Some(id) = self.owner_of_schema(scope, function) else { return Ok(None) };
        self.use_type(id, (scope.module, function.span()));
        Ok(Some(Val::Recipe(Recipe::Schema(id))))
    }

    /// The type of which a path names a function that `JsonSchema` has; `None` when it may mean another function.
    fn owner_of_schema(&mut self, scope: &Scope, function: &syn::ExprPath) -> Option<TypeId> {
        let path = &function.path;
        let name = path.segments.last()?.ident.to_string();
        let ty = match &function.qself {
            Some(qself) if qself.position > 0 => {
                let segments = path.segments.iter().take(qself.position).cloned().collect();
                let of = syn::Path { leading_colon: path.leading_colon, segments };
                return match self.resolve(scope, &of) {
                    Resolution::Foreign(of) if of.join("::") == "schemars::JsonSchema" => {
                        Some(self.ty(scope, &qself.ty))
                    }
                    _ => None,
                };
            }
            Some(qself) => (*qself.ty).clone(),
            None => match self.value_path(scope, path) {
                Some(Target::Item(_)) => return None,
                _ => owner_type(path)?,
            },
        };
        let id = self.ty(scope, &ty);
        // What a type has itself comes first, unless only its bounds are known; one of another trait may be meant, too.
        let other = !scope.is_parameter(&ty) && self.has_own(id, &name)
            || scope.outside.is_none() && self.tree.may_be_of_trait(scope.module, &name);
        (!other).then_some(id)
    }

    pub(super) fn json_function(
        &mut self,
        scope: &Scope,
        env: &Env,
        call: &ExprCall,
        path: &str,
        value: &Expr,
        ty: Option<TypeId>,
    ) -> Eval {
        let (owner, function) = path.rsplit_once("::").unwrap_or(("", path));
        let argument = match function {
            "String" => self.primitive("std::string::String"),
            "Array" => self.json_list(),
            _ => None,
        };
        let value = self.eval(scope, env, value, argument)?;
        if matches!(function, "from" | "try_from") && value.is_of_user() {
            return self.no(scope, call);
        }
        let recipe = self.recipe(scope, call, value)?;
        let schema = owner == SCHEMA || self.primitive_name(ty) == Some(SCHEMA);
        let is_value = owner != "serde_json" && owner != "serde_json::value";
        match &recipe {
            // Anything else fails, and what other types are read from JSON is not known.
            Recipe::Json(value) if schema && !value.is_object() && !value.is_boolean() => self.no(scope, call),
            Recipe::Array(_) if schema => self.no(scope, call),
            _ if schema || is_value || function == "to_value" => Ok(Val::from(recipe)),
            _ => self.no(scope, call),
        }
    }

    /// `Vec<serde_json::Value>`
    fn json_list(&mut self) -> Option<TypeId> {
        let value = self.primitive(VALUES[0])?;
        crate::schema::known::lookup("std::vec::Vec").map(|list| self.known_type(list, vec![value]))
    }

    /// Methods of the generator, of schemas and of JSON that change nothing; `None` when it is none of them.
    pub(super) fn schema_method(
        &mut self,
        scope: &Scope,
        env: &Env,
        call: &ExprMethodCall,
        receiver: &Val,
    ) -> Eval<Option<Val>> {
        let arguments: Vec<&Expr> = call.args.iter().collect();
        Ok(match (receiver, call.method.to_string().as_str(), arguments.as_slice()) {
            (Val::Generator, "subschema_for", []) => {
                let Some(turbofish) = &call.turbofish else { return self.no(scope, call) };
                let (Some(GenericArgument::Type(ty)), 1) = (turbofish.args.first(), turbofish.args.len()) else {
                    return self.no(scope, call);
                };
                let id = self.ty(scope, ty);
                self.use_type(id, (scope.module, ty.span()));
                Some(Val::Recipe(Recipe::Subschema(id)))
            }
            (Val::Generator, _, _) => return self.no(scope, call),
            (Val::Json(_) | Val::Recipe(_), "unwrap" | "to_value" | "clone", []) => Some(receiver.clone()),
            (Val::Json(_) | Val::Recipe(_), "expect", [why]) => {
                self.eval(scope, env, why, None)?;
                Some(receiver.clone())
            }
            _ => None,
        })
    }

    /// `schema.ensure_object()` of a schema that a variable holds.
    pub(super) fn place(&self, env: &Env, expr: &Expr) -> Option<Place> {
        let Expr::MethodCall(call) = unwrap(expr) else { return None };
        if call.method != "ensure_object" || !call.args.is_empty() {
            return None;
        }
        self.object(env, &call.receiver)
    }

    /// A variable that holds a schema, or the object of one.
    fn object(&self, env: &Env, expr: &Expr) -> Option<Place> {
        let Expr::Path(path) = unwrap(expr) else { return self.place(env, expr) };
        let name = path.path.get_ident()?.to_string();
        match env.get(&name)? {
            Val::Json(_) | Val::Recipe(_) => Some(Place { variable: name }),
            Val::Place(place) => Some(place.clone()),
            _ => None,
        }
    }

    /// A statement that changes a schema or an object which a variable of the block holds.
    pub(super) fn edit(&mut self, scope: &Scope, env: &mut Env, own: &Own, call: &ExprMethodCall) -> Eval<()> {
        let Some(Place { variable }) = self.object(env, &call.receiver).filter(|place| own.contains(&place.variable))
        else {
            return self.no(scope, call);
        };
        let method = call.method.to_string();
        if self.tree.may_be_of_trait(scope.module, &method) {
            return self.no(scope, call);
        }
        let string = self.primitive("std::string::String");
        let change = match (method.as_str(), call.args.iter().collect::<Vec<_>>().as_slice()) {
            ("insert", [key, value]) => {
                let Val::Str(key) = self.eval(scope, env, key, string)? else { return self.no(scope, key) };
                let json = self.primitive(VALUES[0]);
                let inserted = self.eval(scope, env, value, json)?;
                Change::Insert(key, self.recipe(scope, value, inserted)?)
            }
            ("remove", [key]) => match self.eval(scope, env, key, None)? {
                Val::Str(key) => Change::Remove(key),
                _ => return self.no(scope, key),
            },
            _ => return self.no(scope, call),
        };
        // `Schema::remove` leaves a boolean as it is.
        let of_schema = matches!(unwrap(&call.receiver), Expr::Path(path) if path.path.is_ident(&variable));
        let ensure = !(of_schema && matches!(change, Change::Remove(_)));
        let base = match env.remove(&variable) {
            Some(Val::Json(value)) => Recipe::Json(value),
            Some(Val::Recipe(recipe)) => recipe,
            _ => return self.no(scope, call),
        };
        env.insert(variable, Val::Recipe(base.edited(Edit { ensure, change })));
        Ok(())
    }
}

/// Whether a function of another crate turns JSON or a schema into the same as another type.
pub(super) fn is_json_function(path: &str) -> bool {
    let (owner, function) = path.rsplit_once("::").unwrap_or(("", path));
    match owner {
        "serde_json" | "serde_json::value" => matches!(function, "from_value" | "to_value"),
        SCHEMA => matches!(function, "from" | "try_from"),
        owner if VALUES.contains(&owner) => {
            matches!(function, "from" | "String" | "Bool" | "Number" | "Array" | "Object")
        }
        _ => false,
    }
}

/// The impl is for every type that the item makes: `impl<A, B> … for T<A, B>`, with the names of the declaration.
fn parameters_match(item: &syn::ItemImpl, declared: &[String]) -> bool {
    let syn::Type::Path(path) = &*item.self_ty else { return false };
    let Some(segment) = path.path.segments.last() else { return false };
    let arguments: Vec<String> = match &segment.arguments {
        syn::PathArguments::None => Vec::new(),
        syn::PathArguments::AngleBracketed(list) => list
            .args
            .iter()
            .filter(|argument| !matches!(argument, GenericArgument::Lifetime(_)))
            .map(|argument| match argument {
                GenericArgument::Type(syn::Type::Path(ty)) => {
                    ty.path.get_ident().map(ToString::to_string).unwrap_or_default()
                }
                _ => String::new(),
            })
            .collect(),
        syn::PathArguments::Parenthesized(_) => return false,
    };
    let bound: BTreeSet<String> = item.generics.type_params().map(|param| param.ident.to_string()).collect();
    arguments == declared && bound.len() == arguments.len() && arguments.iter().all(|name| bound.contains(name))
}

pub(super) fn text_literal(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Lit(lit) => match &lit.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}
