//! Functions that say whether a field is written: `#[serde(skip_serializing_if = "path")]`.

use std::collections::BTreeMap;
use std::rc::Rc;

use syn::{FnArg, Item};

use crate::schema::TypeId;
use crate::source::{ModuleId, Resolution};

use super::maker::rewrites;
use super::types::{Refusal, Scope, Types};
use super::value::{Target, Val};

type Eval<T = Val> = Result<T, Refusal>;

/// Crates whose `is_empty`, `is_none` and the like are those of std.
const PLAIN: [&str; 4] = ["std", "serde_json", "indexmap", "smallvec"];

impl Types<'_> {
    /// Whether `path(&value)` is true, as `#[serde(skip_serializing_if = "path")]` calls it with a field of type `ty`.
    pub(super) fn test_path(&mut self, scope: &Scope, path: &syn::ExprPath, value: &Val, ty: TypeId) -> Eval<bool> {
        if let Some(qself) = &path.qself {
            // `<[_]>::is_empty`, `<str>::is_empty`
            let plain = match &*qself.ty {
                syn::Type::Slice(_) => matches!(value, Val::Seq(_)),
                syn::Type::Path(of) => of.path.is_ident("str") && matches!(value, Val::Str(_)),
                _ => false,
            };
            let answer = match path.path.segments.last() {
                Some(last) if plain && qself.position == 0 => test(&last.ident.to_string(), value),
                _ => None,
            };
            return answer.map_or_else(|| self.no(scope, path), Ok);
        }
        let result = match self.value_path(scope, &path.path) {
            Some(Target::Foreign(path)) => {
                let known = path.first().is_some_and(|krate| PLAIN.contains(&krate.as_str()));
                match (path.join("::").as_str(), value) {
                    ("std::ops::Not::not", Val::Bool(value)) => return Ok(!value),
                    _ => path.last().filter(|_| known).and_then(|name| test(name, value)),
                }
            }
            Some(Target::Item(item)) => {
                let tree = self.tree;
                let Item::Fn(function) = tree.item(item) else { return self.no(scope, path) };
                let inner = Scope::module(tree.module(item));
                let generics = self.inferred(tree.module(item), &function.sig, ty);
                let usable = tree.unknown_cfg(item).is_none() && !rewrites(&function.attrs);
                let Some(generics) = generics.filter(|_| usable) else {
                    return self.no(scope, path);
                };
                let inner = Scope { generics: Rc::new(generics), ..inner };
                match self.invoke(scope, path, (&function.sig, &function.block, &inner), vec![value.clone()])? {
                    Val::Bool(answer) => Some(answer),
                    _ => None,
                }
            }
            Some(Target::Member(id, name)) => {
                let Some((sig, block, inner)) = self.own_function(scope, id, &name) else {
                    return self.no(scope, path);
                };
                match self.invoke(scope, path, (&sig, &block, &inner), vec![value.clone()])? {
                    Val::Bool(answer) => Some(answer),
                    _ => None,
                }
            }
            _ => None,
        };
        result.map_or_else(|| self.no(scope, path), Ok)
    }

    /// The type parameters of `fn(&T) -> …` when it is called with a value of type `ty`.
    fn inferred(&mut self, module: ModuleId, sig: &syn::Signature, ty: TypeId) -> Option<BTreeMap<String, TypeId>> {
        let mut bound = BTreeMap::new();
        let names: Vec<String> = sig.generics.type_params().map(|param| param.ident.to_string()).collect();
        if names.is_empty() {
            return Some(bound);
        }
        let Some(FnArg::Typed(input)) = sig.inputs.first() else { return None };
        let syn::Type::Reference(input) = &*input.ty else { return None };
        self.infer(&Scope::module(module), &input.elem, ty, &names, &mut bound);
        (bound.len() == names.len()).then_some(bound)
    }

    fn infer(
        &mut self,
        scope: &Scope,
        written: &syn::Type,
        ty: TypeId,
        names: &[String],
        bound: &mut BTreeMap<String, TypeId>,
    ) {
        let syn::Type::Path(written) = written else { return };
        if let Some(name) = written.path.get_ident().map(ToString::to_string).filter(|name| names.contains(name)) {
            bound.insert(name, ty);
            return;
        }
        let Some((known, arguments)) = self.known(ty) else { return };
        let Resolution::Foreign(path) = self.resolve(scope, &written.path) else { return };
        let Some(syn::PathArguments::AngleBracketed(list)) = written.path.segments.last().map(|last| &last.arguments)
        else {
            return;
        };
        if path.join("::") == known.path {
            for (argument, ty) in list.args.iter().zip(arguments) {
                if let syn::GenericArgument::Type(argument) = argument {
                    self.infer(scope, argument, ty, names, bound);
                }
            }
        }
    }
}

/// `is_empty`, `is_none` and `is_some` of std types.
pub(super) fn test(name: &str, value: &Val) -> Option<bool> {
    match (name, value) {
        ("is_none", Val::None) | ("is_some", Val::Some(_)) => Some(true),
        ("is_none", Val::Some(_)) | ("is_some", Val::None) => Some(false),
        ("is_empty", Val::Str(text)) => Some(text.is_empty()),
        ("is_empty", Val::Seq(values)) => Some(values.is_empty()),
        ("is_empty", Val::Map(entries)) => Some(entries.is_empty()),
        ("is_null", Val::Json(value)) => Some(value.is_null()),
        ("is_zero", Val::Duration(value)) => Some(value.is_zero()),
        _ => None,
    }
}
