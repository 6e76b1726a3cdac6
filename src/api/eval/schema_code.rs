//! Handwritten functions that build a schema (`schema_with`, an `impl JsonSchema`), evaluated to a [`Recipe`].
//!
//! Supported functions have no control flow: locals, JSON with schemas inside, `insert` and `remove`.

use std::collections::BTreeSet;

use syn::spanned::Spanned as _;
use syn::{Expr, ExprCall, ExprMethodCall, GenericArgument, ImplItem, Item};

use crate::schema::known::ValueKind;
use crate::schema::{Recipe, SchemaChange, SchemaEdit, TypeId, known};
use crate::source::{ItemRef, Resolution};

use super::evaluator::{Env, Eval, EvalFunction, EvalTarget, Evaluator};
use super::syntax::{call_of, owner_type, parameter, parameters_match, unwrap};
use crate::api::canonical::JSON_SCHEMA;
use crate::api::items::generics;
use crate::api::types::TypeScope;
use crate::api::value::Val;

impl Evaluator<'_, '_> {
    /// The result of a function that returns a schema.
    fn recipe_of(&mut self, scope: &TypeScope, at: &impl quote::ToTokens, value: Val) -> Eval<Recipe> {
        match self.recipe(scope, at, value)? {
            Recipe::Json(value) if !value.is_object() && !value.is_boolean() => self.unsupported(scope, at),
            Recipe::Array(_) => self.unsupported(scope, at),
            recipe => Ok(recipe),
        }
    }

    /// The `impl JsonSchema` of a type, if it has one. `Err` means that the impl cannot be used.
    pub(in crate::api) fn by_hand(&mut self, id: TypeId, item: ItemRef) -> Option<Eval<(ByHand, ItemRef)>> {
        let scope = self.types.user(id)?.scope.clone();
        let blocks = self.types.schemas_by_hand(self.tree.impls(item));
        let (block, others) = blocks.split_first()?;
        Some(self.read_impl(&scope, *block, !others.is_empty()))
    }

    /// Reads the names of an `impl JsonSchema`. `several` is true if the type has another impl.
    pub(in crate::api) fn read_impl(
        &mut self,
        of: &TypeScope,
        block: ItemRef,
        several: bool,
    ) -> Eval<(ByHand, ItemRef)> {
        let tree = self.tree;
        let Item::Impl(item) = tree.item(block) else { return self.unsupported(of, &tree.item(block)) };
        let scope = TypeScope { module: tree.module(block), ..of.clone() };
        let user = of.this.and_then(|this| self.types.user(this));
        let generics = user.and_then(|user| generics(tree.item(user.item)));
        let declared: Vec<String> =
            generics.into_iter().flat_map(|generics| &generics.params).filter_map(parameter).collect();
        // An alias may have its arguments in another order.
        let named = matches!((&*item.self_ty, of.this), (syn::Type::Path(path), Some(this))
            if self.types.names(&TypeScope::module(tree.module(block)), &path.path, this));
        let for_all = (declared.is_empty() || named) && parameters_match(item, &declared);
        if several || tree.unknown_cfg(block).is_some() || !for_all {
            return self.unsupported(&scope, &item.self_ty);
        }
        Ok((self.names_by_hand(&scope, item)?, block))
    }

    /// Reads the names; `scope` is that of the impl.
    pub(in crate::api) fn names_by_hand(&mut self, scope: &TypeScope, item: &syn::ItemImpl) -> Eval<ByHand> {
        let (mut name, mut id, mut inline) = (None, None, false);
        for part in &item.items {
            let ImplItem::Fn(function) = part else { return self.unsupported(scope, part) };
            let method = function.sig.ident.to_string();
            match method.as_str() {
                "json_schema" => continue,
                "schema_name" | "schema_id" | "inline_schema" => {}
                // Hidden methods of the trait change the use of the type.
                _ => return self.unsupported(scope, &function.sig.ident),
            }
            let value = self.invoke(scope, &function.sig.ident, &EvalFunction::of(function, scope), Vec::new())?;
            match (method.as_str(), value) {
                ("schema_name", Val::Str(text)) => name = Some(text),
                ("schema_id", Val::Str(text)) => id = Some(text),
                ("inline_schema", Val::Bool(value)) => inline = value,
                _ => return self.unsupported(scope, &function.block),
            }
        }
        let Some(name) = name else { return self.unsupported(scope, &item.self_ty) };
        Ok(ByHand { id: id.unwrap_or_else(|| name.clone()), name, inline, scope: scope.clone() })
    }

    /// Evaluates the `json_schema` of a handwritten impl; `None` if it has no such function.
    pub(in crate::api) fn schema_by_hand(&mut self, by_hand: &ByHand, item: &syn::ItemImpl) -> Eval<Option<Recipe>> {
        let function = item.items.iter().find_map(|item| match item {
            ImplItem::Fn(function) if function.sig.ident == "json_schema" => Some(function),
            _ => None,
        });
        let Some(function) = function else { return Ok(None) };
        let (scope, name) = (&by_hand.scope, &function.sig.ident);
        let value = self.invoke(scope, name, &EvalFunction::of(function, scope), vec![Val::Generator])?;
        self.recipe_of(scope, name, value).map(Some)
    }

    /// Evaluates the function of a `schema_with = "path"`.
    pub(in crate::api) fn schema_with(&mut self, scope: &TypeScope, path: &syn::Path) -> Eval<Recipe> {
        let path_of = |path| syn::ExprPath { attrs: Vec::new(), qself: None, path };
        let generator = path_of(syn::Ident::new("generator", path.span()).into());
        let call = call_of(path_of(path.clone()), Some(Expr::Path(generator)));
        let env = Env::from([("generator".to_owned(), Val::Generator)]);
        let value = self.call(scope, &env, &call, None)?;
        self.recipe_of(scope, path, value)
    }

    /// Evaluates `T::schema_name()` of a known type.
    pub(super) fn schema_name_call(&mut self, scope: &TypeScope, call: &ExprCall) -> Option<String> {
        let Expr::Path(function) = &*call.func else { return None };
        if !call.args.is_empty() || function.path.segments.last()?.ident != "schema_name" {
            return None;
        }
        let id = self.owner_of_schema(scope, function)?;
        self.types.known(id)?.0.name()
    }

    /// Evaluates `T::json_schema(generator)` in any form. Returns `None` for another call.
    pub(super) fn json_schema_call(&mut self, scope: &TypeScope, env: &Env, call: &ExprCall) -> Eval<Option<Val>> {
        let Expr::Path(function) = &*call.func else { return Ok(None) };
        let (Some(last), 1) = (function.path.segments.last(), call.args.len()) else { return Ok(None) };
        if last.ident != "json_schema" || !matches!(self.eval(scope, env, &call.args[0], None)?, Val::Generator) {
            return Ok(None);
        }
        let Some(id) = self.owner_of_schema(scope, function) else { return Ok(None) };
        self.needed.push((id, (scope.module, function.span())));
        Ok(Some(Val::Recipe(Recipe::Schema(id))))
    }

    /// Returns the type whose `JsonSchema` function a path names. Returns `None` if the path may name another function.
    fn owner_of_schema(&mut self, scope: &TypeScope, function: &syn::ExprPath) -> Option<TypeId> {
        let path = &function.path;
        let name = path.segments.last()?.ident.to_string();
        let ty = match &function.qself {
            Some(qself) if qself.position > 0 => {
                let segments = path.segments.iter().take(qself.position).cloned().collect();
                let of = syn::Path { leading_colon: path.leading_colon, segments };
                return match self.types.resolve(scope, &of) {
                    Resolution::Foreign(of) if of.join("::") == JSON_SCHEMA => Some(self.ty(scope, &qself.ty)),
                    _ => None,
                };
            }
            Some(qself) => (*qself.ty).clone(),
            None => match self.value_path(scope, path) {
                Some(EvalTarget::Item(_)) => return None,
                _ => owner_type(path)?,
            },
        };
        let id = self.ty(scope, &ty);
        // An inherent item takes precedence, unless only the bounds of the type are known. The item may also be of another trait.
        let other = !scope.is_parameter(&ty) && self.types.has_own(id, &name)
            || scope.k8s.is_none() && self.tree.may_be_of_trait(scope.module, &name);
        (!other).then_some(id)
    }

    pub(super) fn json_function(
        &mut self,
        scope: &TypeScope,
        env: &Env,
        call: &ExprCall,
        path: &str,
        value: &Expr,
        ty: Option<TypeId>,
    ) -> Eval {
        let (owner, function) = path.rsplit_once("::").unwrap_or(("", path));
        let argument = match function {
            "String" => self.types.string(),
            "Array" => self.types.json_type().and_then(|json| self.types.list_of(json)),
            _ => None,
        };
        let value = self.eval(scope, env, value, argument)?;
        if matches!(function, "from" | "try_from") && value.is_of_user() {
            return self.unsupported(scope, call);
        }
        let recipe = self.recipe(scope, call, value)?;
        let owner = known::lookup(owner).map(|owner| owner.kind);
        let schema = owner == Some(ValueKind::Schema) || self.types.kind(ty) == Some(ValueKind::Schema);
        match &recipe {
            // Other JSON is not a schema, and the conversion of JSON to other types is not known.
            Recipe::Json(value) if schema && !value.is_object() && !value.is_boolean() => self.unsupported(scope, call),
            Recipe::Array(_) if schema => self.unsupported(scope, call),
            _ if schema || owner.is_some() || function == "to_value" => Ok(Val::from(recipe)),
            _ => self.unsupported(scope, call),
        }
    }

    /// Evaluates methods of the generator, of schemas and of JSON that change nothing. Returns `None` for other methods.
    pub(super) fn schema_method(
        &mut self,
        scope: &TypeScope,
        env: &Env,
        call: &ExprMethodCall,
        receiver: &Val,
    ) -> Eval<Option<Val>> {
        let arguments: Vec<&Expr> = call.args.iter().collect();
        Ok(match (receiver, call.method.to_string().as_str(), arguments.as_slice()) {
            (Val::Generator, "subschema_for", []) => {
                let Some(turbofish) = &call.turbofish else { return self.unsupported(scope, call) };
                let (Some(GenericArgument::Type(ty)), 1) = (turbofish.args.first(), turbofish.args.len()) else {
                    return self.unsupported(scope, call);
                };
                let id = self.ty(scope, ty);
                self.needed.push((id, (scope.module, ty.span())));
                Some(Val::Recipe(Recipe::Subschema(id)))
            }
            (Val::Generator, _, _) => return self.unsupported(scope, call),
            (Val::Json(_) | Val::Recipe(_), "unwrap" | "to_value" | "clone", []) => Some(receiver.clone()),
            (Val::Json(_) | Val::Recipe(_), "expect", [why]) => {
                self.eval(scope, env, why, None)?;
                Some(receiver.clone())
            }
            _ => None,
        })
    }

    /// Returns the variable of `schema.ensure_object()`.
    pub(super) fn ensured_object(&self, env: &Env, expr: &Expr) -> Option<String> {
        let Expr::MethodCall(call) = unwrap(expr) else { return None };
        if call.method != "ensure_object" || !call.args.is_empty() {
            return None;
        }
        self.object(env, &call.receiver)
    }

    /// Returns the variable that holds a schema or the object of a schema.
    pub(super) fn object(&self, env: &Env, expr: &Expr) -> Option<String> {
        let Expr::Path(path) = unwrap(expr) else { return self.ensured_object(env, expr) };
        let name = path.path.get_ident()?.to_string();
        match env.get(&name)? {
            Val::Json(_) | Val::Recipe(_) => Some(name),
            Val::ObjectOf(variable) => Some(variable.clone()),
            _ => None,
        }
    }

    /// Evaluates a statement that changes a schema or object in a variable of the block.
    pub(super) fn edit(&mut self, scope: &TypeScope, env: &mut Env, own: &Locals, call: &ExprMethodCall) -> Eval<()> {
        let Some(variable) = self.object(env, &call.receiver).filter(|variable| own.contains(variable)) else {
            return self.unsupported(scope, call);
        };
        let method = call.method.to_string();
        if self.tree.may_be_of_trait(scope.module, &method) {
            return self.unsupported(scope, call);
        }
        let string = self.types.string();
        let change = match (method.as_str(), call.args.iter().collect::<Vec<_>>().as_slice()) {
            ("insert", [key, value]) => {
                let Val::Str(key) = self.eval(scope, env, key, string)? else { return self.unsupported(scope, key) };
                let json = self.types.json_type();
                let inserted = self.eval(scope, env, value, json)?;
                SchemaChange::Insert(key, self.recipe(scope, value, inserted)?)
            }
            ("remove", [key]) => match self.eval(scope, env, key, None)? {
                Val::Str(key) => SchemaChange::Remove(key),
                _ => return self.unsupported(scope, key),
            },
            _ => return self.unsupported(scope, call),
        };
        // `Schema::remove` leaves a boolean as it is.
        let of_schema = matches!(unwrap(&call.receiver), Expr::Path(path) if path.path.is_ident(&variable));
        let ensure = !(of_schema && matches!(change, SchemaChange::Remove(_)));
        let base = match env.remove(&variable) {
            Some(Val::Json(value)) => Recipe::Json(value),
            Some(Val::Recipe(recipe)) => recipe,
            _ => return self.unsupported(scope, call),
        };
        env.insert(variable, Val::Recipe(base.edited(SchemaEdit { ensure, change })));
        Ok(())
    }
}

/// The variables that a block declares. A change of any other variable would be lost at the end of the block.
pub(super) type Locals = BTreeSet<String>;

/// The names of a type in its handwritten `impl JsonSchema`.
pub(in crate::api) struct ByHand {
    pub(in crate::api) name: String,
    pub(in crate::api) id: String,
    pub(in crate::api) inline: bool,
    scope: TypeScope,
}

/// Returns true if a function of another crate converts JSON or a schema without changing its content.
pub(super) fn is_json_function(path: &str) -> bool {
    let (owner, function) = path.rsplit_once("::").unwrap_or(("", path));
    match known::lookup(owner).map(|owner| owner.kind) {
        Some(ValueKind::Schema) => matches!(function, "from" | "try_from"),
        Some(ValueKind::Json) => matches!(function, "from" | "String" | "Bool" | "Number" | "Array" | "Object"),
        Some(_) => false,
        None => matches!(owner, "serde_json" | "serde_json::value") && matches!(function, "from_value" | "to_value"),
    }
}
