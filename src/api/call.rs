//! Calls: functions of the user and of other crates.

use std::rc::Rc;

use quote::ToTokens;
use serde_json::{Map, Value};
use syn::{Block, Expr, ExprCall, Fields, FnArg, GenericArgument, Item, Pat, Path, Signature};

use crate::schema::TypeId;
use crate::source::{CfgSet, Resolution};

use super::item_impl::parameter;
use super::json;
use super::maker::rewrites;
use super::schema_code::is_json_function;
use super::std_value;
use super::types::{Info, Refusal, Scope, Types};
use super::value::{Env, Target, Val, owner_type};

type Eval<T = Val> = Result<T, Refusal>;

impl Types<'_> {
    pub(super) fn call(&mut self, scope: &Scope, env: &Env, call: &ExprCall, ty: Option<TypeId>) -> Eval {
        let Expr::Path(function) = &*call.func else { return self.no(scope, call) };
        if let Some(name) = self.schema_name_call(scope, call) {
            return Ok(Val::Str(name));
        }
        if let Some(schema) = self.json_schema_call(scope, env, call)? {
            return Ok(schema);
        }
        if let Some(qself) = &function.qself {
            let id = self.ty(scope, &qself.ty);
            let is_default = call.args.is_empty() && self.is_default(scope, &function.path, qself.position, id);
            return if is_default { self.default_of(scope, call, id) } else { self.no(scope, call) };
        }
        let arguments: Vec<&Expr> = call.args.iter().collect();
        if let Some(id) = generic_default(scope, &function.path).filter(|_| arguments.is_empty()) {
            return self.default_of(scope, call, id);
        }
        // The arguments of a generic type are those of the type that is asked for.
        let asked = ty.filter(|id| self.shape(*id).is_some() && self.names(scope, &function.path, *id));
        let asked = asked.map(Target::Itself).or_else(|| self.asked_variant(scope, &function.path, ty));
        match asked.or_else(|| self.value_path(scope, &function.path)) {
            Some(Target::Foreign(path)) => self.foreign_call(scope, env, call, &path, &function.path, ty),
            Some(Target::Itself(id)) => match self.shape(id).cloned() {
                Some(fields @ Fields::Unnamed(_)) => {
                    Ok(Val::Struct(id, self.constructor(scope, env, call, id, &fields, &arguments)?))
                }
                _ => self.no(scope, call),
            },
            Some(Target::Member(id, name)) => {
                if let Some((index, fields)) = self.variant(id, &name) {
                    let fields = fields.clone();
                    return Ok(Val::Variant(id, index, self.constructor(scope, env, call, id, &fields, &arguments)?));
                }
                // The arguments that are left out are inferred, even inside of the type's own blocks.
                if ty != Some(id) && self.leaves_out_arguments(scope, &function.path, id) {
                    return self.no(scope, call);
                }
                match self.own_function(scope, id, &name) {
                    Some((sig, block, inner)) => {
                        let inner = self.turbofish(scope, &function.path, &sig, inner);
                        self.function(scope, env, call, (&sig, &block, &inner), &arguments)
                    }
                    None if name == "default" && arguments.is_empty() && !self.has_own(id, "default") => {
                        self.default_of(scope, call, id)
                    }
                    None => self.no(scope, call),
                }
            }
            Some(Target::Item(item)) => match self.tree.item(item) {
                Item::Fn(found) if self.tree.unknown_cfg(item).is_none() && !rewrites(&found.attrs) => {
                    let (sig, block) = (found.sig.clone(), found.block.clone());
                    let inner = Scope::module(self.tree.module(item));
                    let inner = self.turbofish(scope, &function.path, &sig, inner);
                    self.function(scope, env, call, (&sig, &block, &inner), &arguments)
                }
                _ => self.no(scope, call),
            },
            None => self.unknown(scope, call, &function.path),
        }
    }

    /// Whether a path names a generic type of the user without its arguments, and by no alias that may have them.
    fn leaves_out_arguments(&self, scope: &Scope, path: &Path, id: TypeId) -> bool {
        let is_generic = self.user(id).is_some_and(|user| !user.scope.generics.is_empty());
        let Some(syn::Type::Path(owner)) = owner_type(path).filter(|_| is_generic && !has_arguments(path)) else {
            return false;
        };
        self.names(scope, &owner.path, id)
    }

    /// `<T>::default` or `<T as Default>::default`, without the type before its end; `position` is how much of the path is
    /// the trait.
    fn is_default(&self, scope: &Scope, path: &Path, position: usize, id: TypeId) -> bool {
        let named = path.segments.last().is_some_and(|last| last.ident == "default" && last.arguments.is_none());
        let segments = path.segments.iter().take(position).cloned().collect();
        let is_trait = match position {
            0 => !self.has_own(id, "default"),
            _ => match self.resolve(scope, &Path { leading_colon: path.leading_colon, segments }) {
                Resolution::Foreign(path) => path.join("::") == "std::default::Default",
                _ => false,
            },
        };
        named && is_trait && path.segments.len() == position + 1
    }

    /// The scope of a generic function with the types and constants that `path::<A, 3>` gives it.
    fn turbofish(&mut self, scope: &Scope, path: &Path, sig: &syn::Signature, inner: Scope) -> Scope {
        let Some(syn::PathArguments::AngleBracketed(list)) = path.segments.last().map(|last| &last.arguments) else {
            return inner;
        };
        let given: Vec<&GenericArgument> = list
            .args
            .iter()
            .filter(|argument| !matches!(argument, GenericArgument::Lifetime(_)))
            .filter(|argument| !matches!(argument, GenericArgument::Type(syn::Type::Infer(_))))
            .collect();
        let parameters: Vec<String> = sig.generics.params.iter().filter_map(parameter).collect();
        if given.len() != parameters.len() {
            return inner;
        }
        let mut generics = (*inner.generics).clone();
        for (name, argument) in parameters.into_iter().zip(given) {
            let Ok(argument) = self.argument_type(scope, argument) else { return inner };
            generics.insert(name, argument);
        }
        Scope { generics: Rc::new(generics), ..inner }
    }

    fn constructor(
        &mut self,
        scope: &Scope,
        env: &Env,
        call: &ExprCall,
        id: TypeId,
        fields: &Fields,
        arguments: &[&Expr],
    ) -> Eval<Vec<Val>> {
        let types = self.field_types(id, fields);
        if types.len() != arguments.len() {
            return self.no(scope, call);
        }
        arguments.iter().zip(types).map(|(argument, ty)| self.eval(scope, env, argument, Some(ty))).collect()
    }

    fn function(
        &mut self,
        scope: &Scope,
        env: &Env,
        call: &impl ToTokens,
        (sig, block, inner): (&Signature, &Block, &Scope),
        arguments: &[&Expr],
    ) -> Eval {
        if !self.is_bound(sig, inner) || sig.inputs.len() != arguments.len() {
            return self.no(scope, call);
        }
        let mut values = Vec::new();
        for (input, argument) in sig.inputs.iter().zip(arguments) {
            let FnArg::Typed(input) = input else { return self.no(scope, call) };
            let ty = self.ty(inner, &input.ty);
            values.push(self.eval(scope, env, argument, Some(ty))?);
        }
        self.invoke(scope, call, (sig, block, inner), values)
    }

    /// Runs a function on values.
    pub(super) fn invoke(
        &mut self,
        scope: &Scope,
        call: &impl ToTokens,
        (sig, block, inner): (&Signature, &Block, &Scope),
        values: Vec<Val>,
    ) -> Eval {
        if !self.is_bound(sig, inner) || sig.inputs.len() != values.len() {
            return self.no(scope, call);
        }
        let mut env = Env::new();
        for (input, value) in sig.inputs.iter().zip(values) {
            let FnArg::Typed(input) = input else { return self.no(scope, call) };
            if !self.is_of(inner, &input.ty, &value) {
                return self.no(scope, call);
            }
            match &*input.pat {
                Pat::Wild(_) => {}
                Pat::Ident(name) if name.mutability.is_none() && name.subpat.is_none() => {
                    env.insert(name.ident.to_string(), value);
                }
                _ => return self.no(scope, call),
            }
        }
        let Some(block) = self.of_build(inner, block, CfgSet::apply_to_block) else { return self.no(scope, call) };
        let output = match &sig.output {
            syn::ReturnType::Default => None,
            syn::ReturnType::Type(_, ty) if matches!(**ty, syn::Type::ImplTrait(_)) => return self.no(scope, call),
            syn::ReturnType::Type(_, ty) => Some(self.ty(inner, ty)),
        };
        self.deeper(scope, call, |types| types.block(inner, &env, &block, output))
    }

    /// The parameters of a function stand for known types and constants, whose bounds bring no methods of the user's.
    pub(super) fn is_bound(&self, sig: &Signature, inner: &Scope) -> bool {
        sig.asyncness.is_none()
            && sig.generics.params.iter().filter_map(parameter).all(|name| inner.generics.contains_key(&name))
            && self.has_plain_bounds(inner, sig)
    }

    pub(super) fn is_of(&mut self, scope: &Scope, ty: &syn::Type, value: &Val) -> bool {
        let ty = self.ty(scope, ty);
        self.conforms(value, ty)
    }

    fn foreign_call(
        &mut self,
        scope: &Scope,
        env: &Env,
        call: &ExprCall,
        path: &[String],
        written: &Path,
        ty: Option<TypeId>,
    ) -> Eval {
        let arguments: &[&Expr] = &call.args.iter().collect::<Vec<_>>();
        let path = path.join("::");
        let (owner, function) = path.rsplit_once("::").unwrap_or(("", &path));
        let ty = match (owner_type(written), function) {
            (Some(of), "new" | "from") if ty.is_none() && has_arguments(written) => Some(self.ty(scope, &of)),
            _ => ty,
        };
        match (owner, function, arguments) {
            ("std::option::Option", "Some", [value]) => {
                let inner = self.argument(ty, &["std::option::Option"]);
                Ok(Val::Some(Box::new(self.eval(scope, env, value, inner)?)))
            }
            ("kube_core::Rule", "new", [text]) => {
                let text = self.rule_text(scope, env, text)?;
                Ok(Val::from(kube::core::Rule::new(text)))
            }
            ("std::default::Default", "default", []) => match ty {
                Some(ty) => self.default_of(scope, call, ty),
                None => self.no(scope, call),
            },
            (_, _, [value]) if is_json_function(&path) => self.json_function(scope, env, call, &path, value, ty),
            ("serde_json::Map" | "schemars::Schema", "new" | "default", []) => Ok(Val::Json(Value::Object(Map::new()))),
            ("std::borrow::Cow", "Borrowed" | "Owned", [value]) => {
                let inner = self.argument(ty, &["std::borrow::Cow"]);
                self.eval(scope, env, value, inner)
            }
            ("std::string::String", "new", []) => Ok(Val::Str(String::new())),
            ("std::string::String" | "std::borrow::Cow", "from", [value]) => {
                match self.eval(scope, env, value, None)? {
                    Val::Str(text) => Ok(Val::Str(text)),
                    _ => self.no(scope, call),
                }
            }
            (_, "new", []) if LISTS.contains(&owner) || SETS.contains(&owner) => Ok(Val::Seq(Vec::new())),
            (_, "new", []) if MAPS.contains(&owner) => Ok(Val::Map(Vec::new())),
            (_, "new", [value]) if POINTERS.contains(&owner) => {
                let inner = self.argument(ty, &POINTERS);
                self.eval(scope, env, value, inner)
            }
            (_, "from" | "from_iter", [value]) if LISTS[..3].contains(&owner) => {
                let element = self.argument(ty, &LISTS);
                match unwrap(value) {
                    Expr::Array(array) => self.list(scope, env, array.elems.iter(), element).map(Val::Seq),
                    _ => self.no(scope, call),
                }
            }
            (_, "from" | "from_iter", [value]) if SETS[..2].contains(&owner) => {
                let element = self.argument(ty, &SETS);
                match unwrap(value) {
                    Expr::Array(array) => {
                        let values = self.list(scope, env, array.elems.iter(), element)?;
                        // A hash set of several elements has no order to write down.
                        let one = owner == SETS[0] || values.len() < 2;
                        sorted(values)
                            .filter(|_| one)
                            .map_or_else(|| self.no(scope, call), |values| Ok(Val::Seq(values)))
                    }
                    _ => self.no(scope, call),
                }
            }
            (_, "from" | "from_iter", [value]) if MAPS[..2].contains(&owner) => {
                let Expr::Array(array) = unwrap(value) else { return self.no(scope, call) };
                self.map_of(scope, env, array, ty)
            }
            ("k8s_openapi::apimachinery::pkg::api::resource", "Quantity", [value])
            | ("k8s_openapi::apimachinery::pkg::util::intstr::IntOrString", "Int" | "String", [value]) => {
                let inner = self.primitive(if function == "Int" { "i32" } else { "std::string::String" });
                match self.eval(scope, env, value, inner)? {
                    Val::Str(text) => Ok(Val::Json(text.into())),
                    Val::Int(number) if function == "Int" => Ok(Val::Json(json::integer(number))),
                    _ => self.no(scope, call),
                }
            }
            (_, "default", []) => {
                let Some(of) = owner_type(written) else { return self.no(scope, call) };
                let id = self.ty(scope, &of);
                match (self.known(id), ty) {
                    // `Vec::default()` leaves the arguments to inference.
                    (None, Some(ty)) if self.known(ty).is_some_and(|(known, _)| known.path == owner) => {
                        self.default_of(scope, call, ty)
                    }
                    (Some(_), _) => self.default_of(scope, call, id),
                    (None, _) if matches!(self.info(id), Info::Outside(_)) => self.default_of(scope, call, id),
                    (None, _) => self.no(scope, call),
                }
            }
            _ => {
                let given = self.list(scope, env, arguments.iter().copied(), None)?;
                std_value::called(&path, &given).map_or_else(|| self.no(scope, call), Ok)
            }
        }
    }

    /// `[(key, value)]` where a map is asked for.
    pub(super) fn map_of(&mut self, scope: &Scope, env: &Env, array: &syn::ExprArray, ty: Option<TypeId>) -> Eval {
        let types = ty.and_then(|ty| self.known(ty)).filter(|(known, _)| MAPS.contains(&known.path));
        let types = types.map(|(_, arguments)| arguments).unwrap_or_default();
        let mut entries = Vec::new();
        for entry in &array.elems {
            let Expr::Tuple(pair) = unwrap(entry) else { return self.no(scope, array) };
            let (Some(key), Some(value), 2) = (pair.elems.first(), pair.elems.last(), pair.elems.len()) else {
                return self.no(scope, array);
            };
            let key = self.eval(scope, env, key, types.first().copied())?;
            let value = self.eval(scope, env, value, types.get(1).copied())?;
            entries.push((key, value));
        }
        Ok(Val::Map(entries))
    }

    pub(super) fn list<'e>(
        &mut self,
        scope: &Scope,
        env: &Env,
        items: impl Iterator<Item = &'e Expr>,
        element: Option<TypeId>,
    ) -> Eval<Vec<Val>> {
        items.map(|item| self.eval(scope, env, item, element)).collect()
    }

    /// The value that a function without parameters returns, as `#[serde(default = "path")]` calls it.
    pub(super) fn call_path(&mut self, scope: &Scope, path: &syn::ExprPath, ty: TypeId) -> Eval {
        self.call(scope, &Env::new(), &call_of(path.clone(), None), Some(ty))
    }
}

/// `path(argument)`, also of a path that is none in an expression: `Vec<T>::f`.
pub(super) fn call_of(path: syn::ExprPath, argument: Option<Expr>) -> ExprCall {
    ExprCall {
        attrs: Vec::new(),
        func: Box::new(Expr::Path(path)),
        paren_token: syn::token::Paren::default(),
        args: argument.into_iter().collect(),
    }
}

pub(super) const LISTS: [&str; 5] = [
    "std::vec::Vec",
    "std::collections::VecDeque",
    "std::collections::LinkedList",
    "std::collections::BinaryHeap",
    "smallvec::SmallVec",
];

pub(super) const SETS: [&str; 3] = ["std::collections::BTreeSet", "std::collections::HashSet", "indexmap::IndexSet"];

pub(super) const MAPS: [&str; 3] = ["std::collections::BTreeMap", "std::collections::HashMap", "indexmap::IndexMap"];

pub(super) const POINTERS: [&str; 3] = ["std::boxed::Box", "std::rc::Rc", "std::sync::Arc"];

/// The type that a path names before its last segment has its arguments written down.
fn has_arguments(path: &Path) -> bool {
    path.segments.iter().rev().nth(1).is_some_and(|owner| !owner.arguments.is_none() || owner.ident == "Self")
}

/// The type argument of which `T::default` is the default.
fn generic_default(scope: &Scope, path: &Path) -> Option<TypeId> {
    let mut segments = path.segments.iter();
    match (segments.next(), segments.next(), segments.next()) {
        (Some(of), Some(function), None) if function.ident == "default" => {
            scope.generics.get(&of.ident.to_string()).copied()
        }
        _ => None,
    }
}

pub(super) fn sorted(values: Vec<Val>) -> Option<Vec<Val>> {
    if values.len() < 2 {
        return Some(values);
    }
    let texts: Option<std::collections::BTreeSet<String>> =
        values.iter().map(|value| if let Val::Str(text) = value { Some(text.clone()) } else { None }).collect();
    if let Some(texts) = texts {
        return Some(texts.into_iter().map(Val::Str).collect());
    }
    let numbers: Option<std::collections::BTreeSet<i128>> =
        values.iter().map(|value| if let Val::Int(number) = value { Some(*number) } else { None }).collect();
    numbers.map(|numbers| numbers.into_iter().map(Val::Int).collect())
}

pub(super) fn unwrap(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(inner) => unwrap(&inner.expr),
        Expr::Group(inner) => unwrap(&inner.expr),
        expr => expr,
    }
}
