//! Calls: which function is meant, what it returns, and which requests it makes.

mod callee;
mod kube;
mod manager;
mod standard;

use std::rc::Rc;

use syn::spanned::Spanned as _;
use syn::{Expr, ExprCall, ExprMethodCall, Fields, Item};

use crate::source::ItemRef;

use super::index::{FunctionId, Owner};
use super::lower::Scope;
use super::read::{DEREFS, Frame, HELP, Place, Reader};
use super::table;
use super::types::Ty;

use self::kube::{http, request_builder};
use self::standard::{IDENTITY, standard};

/// Arguments as they stand, with their types once they are known.
struct Arguments<'e> {
    exprs: Vec<&'e Expr>,
    types: Vec<Ty>,
}

impl Arguments<'_> {
    fn get(&self, position: usize) -> Ty {
        self.types.get(position).cloned().unwrap_or(Ty::Unknown)
    }

    fn len(&self) -> usize {
        self.exprs.len()
    }
}

/// What a path in the place of a function means.
enum Callee {
    Free(FunctionId),
    /// An associated function or variant of a type.
    Associated(Ty, String),
    /// A tuple struct, or a variant of an enum.
    Constructor(ItemRef, Option<String>),
    /// Something of another crate.
    Foreign(Vec<String>),
    Local(Ty),
    Unknown,
}

impl Reader<'_> {
    /// A call of a path or of a value.
    pub(super) fn call(&mut self, frame: &mut Frame, call: &ExprCall, expected: &Ty) -> Ty {
        let mut function = &*call.func;
        while let Expr::Paren(inner) = function {
            function = &inner.expr;
        }
        let mut arguments = Arguments { exprs: call.args.iter().collect(), types: Vec::new() };
        let place = Self::place(frame, call.func.span());
        let Expr::Path(path) = function else {
            let called = self.expr(frame, function, &Ty::Unknown);
            self.arguments_of(frame, &mut arguments);
            return match self.inferred.resolve(&called) {
                Ty::Function(output) => (*output).clone(),
                _ => Ty::Unknown,
            };
        };
        match self.callee(frame, path) {
            Callee::Free(id) => {
                let explicit = self.turbofish(&frame.scope.clone(), &path.path);
                self.call_function(frame, id, None, &explicit, &mut arguments, expected)
            }
            Callee::Associated(ty, name) => {
                let explicit = self.turbofish(&frame.scope.clone(), &path.path);
                self.associated(frame, place, &ty, &name, &explicit, &mut arguments, expected)
            }
            Callee::Constructor(item, variant) => self.construct(frame, item, variant.as_deref(), &mut arguments),
            Callee::Foreign(path_) => {
                let explicit = self.turbofish(&frame.scope.clone(), &path.path);
                self.foreign_call(frame, place, &path_, &explicit, &mut arguments, expected)
            }
            Callee::Local(ty) => {
                self.arguments_of(frame, &mut arguments);
                match self.inferred.resolve(&ty) {
                    Ty::Function(output) => (*output).clone(),
                    _ => Ty::Unknown,
                }
            }
            Callee::Unknown => {
                let name = path.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
                let inner = arguments.exprs.first().copied();
                if let ("Some" | "Ok", Some(inner)) = (name.as_str(), inner) {
                    return self.expr(frame, inner, expected);
                }
                self.arguments_of(frame, &mut arguments);
                Ty::Unknown
            }
        }
    }

    fn arguments_of(&mut self, frame: &mut Frame, arguments: &mut Arguments<'_>) {
        while arguments.types.len() < arguments.exprs.len() {
            let expr = arguments.exprs[arguments.types.len()];
            let ty = self.expr(frame, expr, &Ty::Unknown);
            arguments.types.push(self.inferred.resolve(&ty));
        }
    }

    /// One argument, which may be a closure that is called with `inputs`.
    fn argument(&mut self, frame: &mut Frame, expr: &Expr, wanted: &Ty, inputs: &[Ty]) -> Ty {
        match expr {
            Expr::Closure(closure) => self.closure(frame, closure, inputs, wanted),
            Expr::Path(path) if !inputs.is_empty() => match self.callee(frame, path) {
                Callee::Free(id) => {
                    let explicit = self.turbofish(&frame.scope.clone(), &path.path);
                    self.passed(id, &explicit, inputs)
                }
                _ => self.expr(frame, expr, wanted),
            },
            expr => self.expr(frame, expr, wanted),
        }
    }

    /// A function that will be called with `inputs`.
    fn passed(&mut self, id: FunctionId, explicit: &[Ty], inputs: &[Ty]) -> Ty {
        let mut signature = self.signature(id, None, true);
        self.explicit(&mut signature.scope, id, explicit);
        let mut types = Vec::new();
        for (position, (ty, _)) in signature.parameters.iter().enumerate() {
            let given = inputs.get(position).unwrap_or(&Ty::Unknown);
            self.inferred.unify(ty, given);
            types.push(self.inferred.resolve(ty).refine(&self.inferred.resolve(given)));
        }
        Ty::Function(Rc::new(self.enter(signature, None, types)))
    }

    fn explicit(&mut self, scope: &mut Scope, id: FunctionId, explicit: &[Ty]) {
        let declared = &self.index.get(id).signature.generics;
        let names: Vec<String> = declared.type_params().map(|found| found.ident.to_string()).collect();
        for (name, ty) in names.iter().zip(explicit) {
            if let Some(open) = scope.generics.get(name).cloned() {
                self.inferred.unify(&open, ty);
            }
        }
    }

    /// A call of a function of the tree, with its receiver if it has one.
    fn call_function(
        &mut self,
        frame: &mut Frame,
        id: FunctionId,
        receiver: Option<Ty>,
        explicit: &[Ty],
        arguments: &mut Arguments<'_>,
        expected: &Ty,
    ) -> Ty {
        let mut signature = self.signature(id, receiver.clone(), true);
        self.explicit(&mut signature.scope, id, explicit);
        let output = signature.output.clone();
        let mut types = Vec::new();
        for (position, (ty, inputs)) in signature.parameters.clone().into_iter().enumerate() {
            let Some(expr) = arguments.exprs.get(position).copied() else {
                types.push(ty);
                continue;
            };
            let found = if let Some(known) = arguments.types.get(position) {
                known.clone()
            } else {
                let wanted = self.inferred.resolve(&ty);
                let inputs: Vec<Ty> = inputs.iter().map(|input| self.inferred.resolve(input)).collect();
                self.argument(frame, expr, &wanted, &inputs)
            };
            self.inferred.unify(&ty, &found);
            types.push(self.inferred.resolve(&ty).refine(&self.inferred.resolve(&found)));
        }
        self.inferred.unify(&output, expected);
        self.dispatch(id, receiver.as_ref(), explicit, &types, &output);
        let types: Vec<Ty> = types.iter().map(|ty| self.inferred.resolve(ty)).collect();
        let receiver = receiver.or_else(|| signature.scope.itself.clone());
        self.enter(signature, receiver, types)
    }

    /// A method that only a trait is known of: each implementation may be meant. What it does without type arguments
    /// is known from running it by itself.
    fn dispatch(&mut self, id: FunctionId, receiver: Option<&Ty>, explicit: &[Ty], arguments: &[Ty], output: &Ty) {
        let function = self.index.get(id).clone();
        let Some(Owner::Trait(_, of)) = function.owner else { return };
        let generic = function.signature.generics.type_params().next().is_some();
        let of_any = matches!(receiver, Some(Ty::Param(_) | Ty::Item(..)) | None);
        if !generic || !of_any {
            return;
        }
        for other in self.index.methods(&function.name()).to_vec() {
            let implementation = self.index.get(other).clone();
            let Some(Owner::Impl(block, Some(implemented))) = implementation.owner else { continue };
            if implemented != of || self.is_running(other) {
                continue;
            }
            let itself = self.implemented(implementation.module, block);
            let mut signature = self.signature(other, Some(itself.clone()), true);
            self.explicit(&mut signature.scope, other, explicit);
            let mut types = Vec::new();
            for ((ty, _), given) in signature.parameters.iter().zip(arguments) {
                self.inferred.unify(ty, given);
                types.push(self.inferred.resolve(ty).refine(&self.inferred.resolve(given)));
            }
            self.inferred.unify(&signature.output, output);
            self.enter(signature, Some(itself), types);
        }
    }

    fn construct(
        &mut self,
        frame: &mut Frame,
        item: ItemRef,
        variant: Option<&str>,
        arguments: &mut Arguments<'_>,
    ) -> Ty {
        let owner = match (variant, &frame.scope.itself) {
            (None, Some(itself @ Ty::Item(of, _))) if *of == item => itself.clone(),
            _ => self.lower_item(item, Vec::new()),
        };
        let tree = self.tree;
        let fields = match (tree.item(item), variant) {
            (Item::Struct(found), None) => Some(&found.fields),
            (Item::Enum(found), Some(name)) => {
                found.variants.iter().find(|found| found.ident == name).map(|found| &found.fields)
            }
            _ => None,
        };
        if !matches!(fields, Some(Fields::Unnamed(_))) {
            self.arguments_of(frame, arguments);
            return Ty::Unknown;
        }
        for (position, expr) in arguments.exprs.clone().into_iter().enumerate() {
            let name = position.to_string();
            let declared = match variant {
                Some(variant) => self.variant_field(&owner, variant, &name),
                None => self.field(&owner, &name),
            };
            let found = self.expr(frame, expr, &declared);
            self.inferred.unify(&declared, &found);
            let key = variant.map_or(name.clone(), |variant| format!("{variant}.{name}"));
            self.learn_field(item, &key, &found);
        }
        self.inferred.resolve(&owner)
    }

    /// `Type::function(…)`
    #[expect(clippy::too_many_arguments, reason = "a call is all of this")]
    fn associated(
        &mut self,
        frame: &mut Frame,
        place: Place,
        ty: &Ty,
        name: &str,
        explicit: &[Ty],
        arguments: &mut Arguments<'_>,
        expected: &Ty,
    ) -> Ty {
        if let Ty::Api(kind, _) = ty {
            self.arguments_of(frame, arguments);
            if let Some(api) = self.api_constructor(kind, name, arguments) {
                self.inferred.unify(&api, expected);
                return api;
            }
            if let Some(Ty::Api(..)) = arguments.types.first() {
                let receiver = arguments.types.remove(0);
                arguments.exprs.remove(0);
                return self.api_method(frame, place, &receiver, name, arguments).unwrap_or(Ty::Unknown);
            }
        }
        if let Ty::Item(item, _) = ty
            && let Some(of) = self.manager_type_name(*item)
        {
            self.arguments_of(frame, arguments);
            self.inferred.unify(ty, expected);
            return if of == "Manager" || name == "new" { ty.clone() } else { Ty::Unknown };
        }
        if let Some(id) = self.method(ty, name) {
            if self.index.get(id).takes_self() && !arguments.exprs.is_empty() {
                let receiver = self.expr(frame, arguments.exprs[0], &Ty::Unknown);
                let receiver = self.inferred.resolve(&receiver);
                arguments.exprs.remove(0);
                let id = self.method(&receiver, name).unwrap_or(id);
                return self.call_function(frame, id, Some(receiver), explicit, arguments, expected);
            }
            return self.call_function(frame, id, Some(ty.clone()), explicit, arguments, expected);
        }
        self.arguments_of(frame, arguments);
        match ty {
            Ty::Foreign(path, parts) if path.starts_with("kube::") => {
                let path = path.clone();
                self.kube_associated(place, &path["kube::".len()..], parts, name, explicit, arguments, expected)
                    .unwrap_or_else(|| self.made(ty, name))
            }
            Ty::Root(_) | Ty::Foreign(..) if matches!(name, "api_resource" | "erase") => {
                self.dynamic(ty).unwrap_or(Ty::Unknown)
            }
            Ty::Foreign(path, _) if path.ends_with("::LeaseLock") && path.starts_with("kube_leader_election") => {
                self.election(place, &arguments.get(1), "LeaseLock::new");
                ty.clone()
            }
            Ty::Foreign(path, _) if path.starts_with("http::") && &**path == "http::Request" => {
                http(name, arguments).unwrap_or_else(|| ty.clone())
            }
            Ty::Unknown | Ty::Many(_) | Ty::Map(_) | Ty::Api(..) | Ty::Infer(_) => self.wrapped(ty, name, arguments),
            Ty::Foreign(path, _) => {
                self.handed(place, name, path.split("::").next(), arguments);
                self.made(ty, name)
            }
            _ => self.made(ty, name),
        }
    }

    /// A method: what it is depends on what the receiver is.
    pub(super) fn method_call(&mut self, frame: &mut Frame, call: &ExprMethodCall, expected: &Ty) -> Ty {
        let receiver = self.expr(frame, &call.receiver, &Ty::Unknown);
        let receiver = self.inferred.resolve(&receiver);
        let name = call.method.to_string();
        let place = Self::place(frame, call.method.span());
        let explicit = match &call.turbofish {
            Some(turbofish) => {
                let path = syn::PathSegment {
                    ident: call.method.clone(),
                    arguments: syn::PathArguments::AngleBracketed(turbofish.clone()),
                };
                self.turbofish(&frame.scope.clone(), &syn::Path::from(path))
            }
            None => Vec::new(),
        };
        let mut arguments = Arguments { exprs: call.args.iter().collect(), types: Vec::new() };
        self.method_of(frame, place, receiver, &name, &explicit, &mut arguments, expected)
    }

    #[expect(clippy::too_many_arguments, reason = "a call is all of this")]
    fn method_of(
        &mut self,
        frame: &mut Frame,
        place: Place,
        receiver: Ty,
        name: &str,
        explicit: &[Ty],
        arguments: &mut Arguments<'_>,
        expected: &Ty,
    ) -> Ty {
        if let Ty::Api(..) = &receiver
            && let Some(answer) = self.api_call(frame, place, &receiver, name, arguments)
        {
            return answer;
        }
        if let Ty::Item(item, parts) = &receiver
            && let Some(of) = self.manager_type_name(*item)
        {
            let (item, parts) = (*item, parts.clone());
            return self.manager_method(frame, place, (&of, item, &parts), name, explicit, arguments, expected);
        }
        if let Some(id) = self.method(&receiver, name)
            && self.index.get(id).takes_self()
        {
            return self.call_function(frame, id, Some(receiver), explicit, arguments, expected);
        }
        if let Ty::Item(..) = &receiver
            && self.depth <= DEREFS
            && let Some(inner) = self.deref(&receiver)
            && inner != receiver
        {
            self.depth += 1;
            let found = self.method_of(frame, place, inner, name, explicit, arguments, expected);
            self.depth -= 1;
            return found;
        }
        self.builtin_method(frame, place, &receiver, name, explicit, arguments, expected)
    }

    /// A method of a type that is not of the tree.
    #[expect(clippy::too_many_arguments, reason = "a call is all of this")]
    fn builtin_method(
        &mut self,
        frame: &mut Frame,
        place: Place,
        receiver: &Ty,
        name: &str,
        explicit: &[Ty],
        arguments: &mut Arguments<'_>,
        expected: &Ty,
    ) -> Ty {
        if let Ty::Foreign(path, parts) = receiver
            && let Some(of) = path.strip_prefix("kube::")
        {
            let (of, parts) = (of.to_owned(), parts.clone());
            if let Some(answer) = self.kube_method(frame, place, (&of, &parts), name, explicit, arguments, expected) {
                return answer;
            }
        }
        let element = match receiver {
            Ty::Many(element) => (**element).clone(),
            Ty::Map(value) => Ty::Tuple(vec![Ty::Unknown, (**value).clone()]),
            other => other.clone(),
        };
        // What a closure is given: the value, or each element; twice where it folds.
        let inputs = match name {
            "map_err" | "unwrap_or_else" | "or_else" | "ok_or_else" | "inspect_err" | "get_or_init" => vec![],
            "fold" | "try_fold" | "scan" => vec![arguments.get(0), element.clone()],
            _ => vec![element.clone()],
        };
        while arguments.types.len() < arguments.exprs.len() {
            let expr = arguments.exprs[arguments.types.len()];
            let ty = self.argument(frame, expr, &Ty::Unknown, &inputs);
            arguments.types.push(self.inferred.resolve(&ty));
        }
        match standard(&mut self.inferred, receiver, &element, name, &arguments.types) {
            Some(answer) => answer,
            None if matches!(receiver, Ty::Request { .. }) => request_builder(receiver, name, arguments),
            None if IDENTITY.contains(&name) => receiver.clone(),
            None => {
                self.unknown_method(place, receiver, name, arguments);
                match receiver {
                    // A builder of kube returns itself.
                    Ty::Foreign(path, _) if path.starts_with("kube::") => receiver.clone(),
                    Ty::Many(_) => receiver.clone(),
                    _ => Ty::Unknown,
                }
            }
        }
    }

    /// The function that a method of a type is.
    fn method(&mut self, ty: &Ty, name: &str) -> Option<FunctionId> {
        let ids = self.index.methods(name).to_vec();
        let mut default = None;
        let mut blanket = None;
        for id in ids {
            let function = self.index.get(id).clone();
            match function.owner {
                Some(Owner::Impl(..)) if matches!(ty, Ty::Param(_) | Ty::Unknown | Ty::Infer(_)) => {}
                Some(Owner::Impl(block, of)) => {
                    let lowered = self.implemented(function.module, block);
                    match (&lowered, ty) {
                        (Ty::Param(_), _) if of.is_some() => blanket = blanket.or(Some(id)),
                        (Ty::Param(_) | Ty::Unknown, _) => {}
                        _ if self.may_be(&lowered, ty) => return Some(id),
                        _ => {}
                    }
                }
                Some(Owner::Trait(_, item)) => {
                    let fits = match ty {
                        Ty::Item(of, _) if *of == item => true,
                        Ty::Param(_) => true,
                        Ty::Unknown | Ty::Infer(_) => false,
                        ty => self.implements(ty, item),
                    };
                    if fits {
                        default = default.or(Some(id));
                    }
                }
                None => {}
            }
        }
        default.or(blanket)
    }

    fn implements(&mut self, ty: &Ty, of: ItemRef) -> bool {
        let blocks = self.index.implementations.get(&of).cloned().unwrap_or_default();
        blocks.into_iter().any(|(module, block)| {
            let lowered = self.implemented(module, block);
            self.may_be(&lowered, ty)
        })
    }

    /// A type of an `impl` block, whose parameters are still open, may be this one.
    pub(super) fn may_be(&self, of: &Ty, ty: &Ty) -> bool {
        let each = |one: &[Ty], other: &[Ty]| one.iter().zip(other).all(|(one, other)| self.may_be(one, other));
        match (&self.inferred.resolve(of), &self.inferred.resolve(ty)) {
            (Ty::Infer(_) | Ty::Param(_), _) | (_, Ty::Infer(_) | Ty::Param(_)) => true,
            (Ty::Item(a, one), Ty::Item(b, other)) => a == b && each(one, other),
            (Ty::Root(a), Ty::Root(b)) => a == b,
            (Ty::Foreign(a, one), Ty::Foreign(b, other)) => a == b && each(one, other),
            (Ty::Api(one, _), Ty::Api(other, _))
            | (Ty::Many(one), Ty::Many(other))
            | (Ty::Map(one), Ty::Map(other)) => self.may_be(one, other),
            (Ty::Tuple(one), Ty::Tuple(other)) => one.len() == other.len() && each(one, other),
            (Ty::Foreign(path, _), Ty::Text(_)) => matches!(&**path, "str" | "std::string::String"),
            _ => false,
        }
    }

    /// A method that is not known: worth a word when it looks like one of `Api`.
    fn unknown_method(&mut self, place: Place, receiver: &Ty, name: &str, arguments: &Arguments<'_>) {
        let known = match receiver {
            Ty::Unknown | Ty::Infer(_) => false,
            Ty::Foreign(path, _) => {
                let krate = path.split("::").next().unwrap_or_default();
                krate == "k8s_openapi" || krate == "kube" || !self.tree.knows_kube(krate)
            }
            _ => true,
        };
        if known {
            return;
        }
        let params = |ty: &Ty| table::PARAMS.iter().any(|name| ty.is_kube(name)) || matches!(ty, Ty::Patch { .. });
        let looks = table::METHODS.iter().any(|method| method.name == name && method.arguments == arguments.len());
        if looks && (table::is_telling(name) || arguments.types.iter().any(params)) {
            let message = format!("`{name}` looks like a request, but its receiver could not be followed");
            self.doubt(place, message, HELP);
        }
    }
}
