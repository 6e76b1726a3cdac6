//! Functions of std, `serde_json`, schemars, kube and k8s-openapi.

use std::time::Duration;

use serde_json::{Map, Value};
use syn::{Expr, ExprCall, Path};

use crate::schema::known::ValueKind;
use crate::schema::{TypeId, known};

use super::default_of::plain_default;
use super::evaluator::{Env, Eval, Evaluator};
use super::schema_code::is_json_function;
use super::serialize::integer;
use super::syntax::{has_arguments, owner_type, unwrap};
use crate::api::canonical::DEFAULT;
use crate::api::types::{Info, TypeScope};
use crate::api::value::Val;

impl Evaluator<'_, '_> {
    pub(super) fn foreign_call(
        &mut self,
        scope: &TypeScope,
        env: &Env,
        call: &ExprCall,
        path: &[String],
        written: &Path,
        ty: Option<TypeId>,
    ) -> Eval {
        let arguments: &[&Expr] = &call.args.iter().collect::<Vec<_>>();
        let path = path.join("::");
        let (of, function) = path.rsplit_once("::").unwrap_or(("", &path));
        let owner = known::lookup(of).map_or(ValueKind::Other, |owner| owner.kind);
        let ty = match (owner_type(written), function) {
            (Some(written_of), "new" | "from") if ty.is_none() && has_arguments(written) => {
                Some(self.ty(scope, &written_of))
            }
            _ => ty,
        };
        match (owner, function, arguments) {
            (ValueKind::Option, "Some", [value]) => {
                let inner = self.types.argument(ty, |kind| kind == ValueKind::Option);
                Ok(Val::Some(Box::new(self.eval(scope, env, value, inner)?)))
            }
            (_, "default", []) if of == DEFAULT => match ty {
                Some(ty) => self.default_of(scope, call, ty),
                None => self.unsupported(scope, call),
            },
            (_, _, [value]) if is_json_function(&path) => self.json_function(scope, env, call, &path, value, ty),
            (ValueKind::JsonMap | ValueKind::Schema, "new" | "default", []) => Ok(Val::Json(Value::Object(Map::new()))),
            (ValueKind::Cow, "Borrowed" | "Owned", [value]) => {
                let inner = self.types.argument(ty, |kind| kind == ValueKind::Cow);
                self.eval(scope, env, value, inner)
            }
            (ValueKind::String | ValueKind::Cow | ValueKind::Path, "from", [value]) => {
                match self.eval(scope, env, value, None)? {
                    // A path does not have the methods of a text.
                    Val::Str(path) if owner == ValueKind::Path => Ok(Val::Json(path.into())),
                    Val::Str(text) => Ok(Val::Str(text)),
                    _ => self.unsupported(scope, call),
                }
            }
            (ValueKind::Duration, "from_secs" | "from_millis", [value]) => {
                let ty = self.types.primitive("u64");
                let value = self.eval(scope, env, value, ty)?;
                let whole = if let Val::Int(number) = value { u64::try_from(number).ok() } else { None };
                let unit = if function == "from_secs" { Duration::from_secs } else { Duration::from_millis };
                self.or_unsupported(scope, call, whole.map(unit).map(Val::Duration))
            }
            (_, "new", [])
                if matches!(owner, ValueKind::String | ValueKind::Path)
                    || owner.is_list()
                    || owner.is_set()
                    || owner.is_map() =>
            {
                self.or_unsupported(scope, call, plain_default(owner))
            }
            (_, "new", [value]) if owner.is_pointer() => {
                let inner = self.types.argument(ty, ValueKind::is_pointer);
                self.eval(scope, env, value, inner)
            }
            (ValueKind::Vec | ValueKind::List, "from" | "from_iter", [value]) => {
                let element = self.types.argument(ty, ValueKind::is_list);
                match unwrap(value) {
                    Expr::Array(array) => self.list(scope, env, array.elems.iter(), element).map(Val::Seq),
                    _ => self.unsupported(scope, call),
                }
            }
            (ValueKind::TreeMap | ValueKind::HashMap, "from" | "from_iter", [value]) => {
                let Expr::Array(array) = unwrap(value) else { return self.unsupported(scope, call) };
                self.map_of(scope, env, array, ty)
            }
            (_, "Quantity" | "Int" | "String", [value]) if of == QUANTITY || of == INT_OR_STRING => {
                let inner = if function == "Int" { self.types.primitive("i32") } else { self.types.string() };
                match self.eval(scope, env, value, inner)? {
                    Val::Str(text) => Ok(Val::Json(text.into())),
                    Val::Int(number) if function == "Int" => Ok(Val::Json(integer(number))),
                    _ => self.unsupported(scope, call),
                }
            }
            (_, "default", []) => {
                let Some(written) = owner_type(written) else { return self.unsupported(scope, call) };
                let id = self.ty(scope, &written);
                match (self.types.known(id), ty) {
                    // The arguments of `Vec::default()` are inferred.
                    (None, Some(ty)) if self.types.known(ty).is_some_and(|(known, _)| known.path == of) => {
                        self.default_of(scope, call, ty)
                    }
                    (Some(_), _) => self.default_of(scope, call, id),
                    (None, _) if matches!(self.types.info(id), Info::K8s(_)) => self.default_of(scope, call, id),
                    (None, _) => self.unsupported(scope, call),
                }
            }
            _ => {
                // Report the innermost unknown code.
                self.list(scope, env, arguments.iter().copied(), None)?;
                self.unsupported(scope, call)
            }
        }
    }

    /// Evaluates `[(key, value)]` as a map, if a map is expected.
    pub(super) fn map_of(&mut self, scope: &TypeScope, env: &Env, array: &syn::ExprArray, ty: Option<TypeId>) -> Eval {
        let types = ty.and_then(|ty| self.types.known(ty)).filter(|(known, _)| known.kind.is_map());
        let types = types.map(|(_, arguments)| arguments).unwrap_or_default();
        let mut entries = Vec::new();
        for entry in &array.elems {
            let Expr::Tuple(pair) = unwrap(entry) else { return self.unsupported(scope, array) };
            let (Some(key), Some(value), 2) = (pair.elems.first(), pair.elems.last(), pair.elems.len()) else {
                return self.unsupported(scope, array);
            };
            let key = self.eval(scope, env, key, types.first().copied())?;
            let value = self.eval(scope, env, value, types.get(1).copied())?;
            entries.push((key, value));
        }
        Ok(Val::Map(entries))
    }
}

const QUANTITY: &str = "k8s_openapi::apimachinery::pkg::api::resource";

const INT_OR_STRING: &str = "k8s_openapi::apimachinery::pkg::util::intstr::IntOrString";
