//! Methods of std, and of types that are not read: only what becomes of the values in them.

use std::rc::Rc;

use super::super::foreign::ForeignType;
use super::super::read::FunctionReader;
use super::super::table::{Returns, returns};
use super::super::types::{Inferred, Ty};
use super::CallSite;

impl FunctionReader<'_> {
    /// `Arc::new(x)` is `x`, and so is `String::from(x)`.
    pub(super) fn wrapped(&mut self, ty: &Ty, call: &CallSite<'_>) -> Ty {
        match (&*call.name, call.types.first()) {
            ("from" | "from_iter", Some(entries)) if matches!(ty, Ty::Map(_)) => {
                let value = self.types.element(entries).part(1);
                self.unify(ty, &Ty::Map(Rc::new(value)));
                self.resolve(ty)
            }
            (
                "new" | "from" | "pin" | "clone" | "Borrowed" | "Owned" | "Some" | "Ok" | "from_ref" | "new_with"
                | "unwrap_or_clone" | "try_unwrap" | "into_inner" | "make_mut" | "get_mut",
                Some(inner),
            ) => {
                self.unify(ty, inner);
                ty.refine(inner)
            }
            _ => self.resolve(ty),
        }
    }

    /// The result of an associated function that is not read: the type itself, if the name of the function says so.
    pub(super) fn constructed(&self, ty: &Ty, name: &str) -> Ty {
        let makes = ["new", "default", "from", "try_from", "try_default", "try_new", "build"];
        let known =
            makes.contains(&name) || ["with_", "from_", "new_", "try_"].iter().any(|start| name.starts_with(start));
        if known { self.resolve(ty) } else { Ty::Unknown }
    }
}

/// The results of methods of the standard library, iterators and streams.
pub(super) fn standard(inferred: &mut Inferred, receiver: &Ty, element: &Ty, call: &CallSite<'_>) -> Option<Ty> {
    let (name, arguments) = (&*call.name, &call.types);
    let first = || arguments.first().cloned().unwrap_or(Ty::Unknown);
    let called = |ty: Option<&Ty>| match ty {
        Some(Ty::Function(parts)) => parts[0].clone(),
        Some(value) => value.clone(),
        None => Ty::Unknown,
    };
    let returned = || match arguments.last() {
        Some(Ty::Function(parts)) => parts[0].clone(),
        _ => Ty::Unknown,
    };
    let is_many = matches!(receiver, Ty::Many(_) | Ty::Map(_));
    Some(match (name, receiver) {
        ("iter" | "into_iter" | "iter_mut" | "drain" | "by_ref", Ty::Map(_)) => Ty::many(element.clone()),
        ("values" | "values_mut" | "into_values", Ty::Map(value)) => Ty::Many(value.clone()),
        ("keys" | "into_keys", Ty::Map(_)) => Ty::many(Ty::Unknown),
        ("get" | "get_mut" | "remove" | "insert" | "entry" | "or_insert_with" | "or_default", Ty::Map(value)) => {
            if name == "insert" {
                inferred.unify(value, arguments.get(1).unwrap_or(&Ty::Unknown));
            }
            (**value).clone()
        }
        (_, Ty::Many(element)) if name == "get_mut" || returns(name) == Returns::Element => (**element).clone(),
        ("push" | "insert" | "push_back" | "send" | "spawn", Ty::Many(element)) => {
            inferred.unify(element, &called(arguments.first()));
            Ty::Unknown
        }
        ("flatten" | "concat", Ty::Many(element)) if matches!(**element, Ty::Many(_)) => (**element).clone(),
        ("then_some", _) => first(),
        ("enumerate", Ty::Many(element)) => {
            Ty::many(Ty::Tuple(vec![Ty::foreign(ForeignType::Literal), (**element).clone()]))
        }
        ("zip", Ty::Many(element)) => match first() {
            Ty::Many(other) => Ty::many(Ty::Tuple(vec![(**element).clone(), (*other).clone()])),
            _ => Ty::many(Ty::Tuple(vec![(**element).clone(), Ty::Unknown])),
        },
        ("map" | "filter_map" | "then" | "map_while" | "flat_map" | "map_ok" | "and_then" | "try_filter_map", _)
            if is_many =>
        {
            match returned() {
                Ty::Many(element) if name == "flat_map" => Ty::Many(element),
                returned => Ty::many(returned),
            }
        }
        ("fold" | "try_fold", _) => first().join(&returned()),
        ("retry", Ty::Function(parts)) => parts[0].clone(),
        ("block_on" | "run_until", _) if arguments.len() == 1 => called(arguments.first()),
        (
            "map" | "and_then" | "then" | "map_ok" | "is_some_and" | "map_or" | "map_or_else" | "pipe" | "pipe_as_mut"
            | "pipe_as_ref" | "pipe_borrow" | "pipe_deref" | "pipe_ref",
            _,
        ) => returned(),
        ("unwrap_or" | "unwrap_or_default" | "unwrap_or_else" | "or_else" | "or" | "get_or_init", other) => {
            // Without an argument another value of the type.
            let value = arguments.first().map_or(Ty::Unknown, |value| called(Some(value)));
            match (name, other, &value) {
                ("get_or_init", _, _) => value,
                // Like kube, treat a default name as the namespace outside of a cluster.
                (_, Ty::OwnNamespace, Ty::Text(_)) | ("unwrap_or_default", Ty::OwnNamespace, _) => Ty::OwnNamespace,
                // An object without a namespace is in none.
                (_, Ty::ObjectNamespace, Ty::Text(_)) | ("unwrap_or_default", Ty::ObjectNamespace, _) => {
                    Ty::ObjectNamespace
                }
                _ => other.join(&value),
            }
        }
        ("set", other) => {
            inferred.unify(other, &first());
            other.clone()
        }
        ("data" | "name" | "kind", _) => Ty::Unknown,
        // `ResourceExt::namespace`
        ("namespace", _) if arguments.is_empty() => Ty::ObjectNamespace,
        ("to_lowercase" | "to_ascii_lowercase", Ty::Text(text)) => Ty::text(&text.to_lowercase()),
        ("to_string" | "to_owned" | "into" | "clone" | "as_str" | "as_ref" | "trim", text) if text.is_known_text() => {
            receiver.clone()
        }
        (name, text) if text.is_known_text() && !arguments.is_empty() && returns(name) != Returns::Receiver => {
            Ty::Unknown
        }
        _ => return None,
    })
}
