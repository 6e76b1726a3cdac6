//! Calls: which function is meant, what it returns, and which requests it makes.

use std::collections::BTreeSet;
use std::rc::Rc;

use syn::spanned::Spanned as _;
use syn::{Expr, ExprCall, ExprMethodCall, ExprPath, Fields, Item};

use crate::source::{ItemRef, Namespace, Resolution};

use super::index::{FunctionId, Owner};
use super::lower::{Scope, is_kube};
use super::read::{DEREFS, Frame, HELP, Place, Reader};
use super::table::{self, Answer, Sub};
use super::types::{Gvk, Inferred, Reach, Ty};

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
    /// A path as a value.
    pub(super) fn path(&mut self, frame: &mut Frame, path: &ExprPath, expected: &Ty) -> Ty {
        match self.callee(frame, path) {
            Callee::Local(ty) => ty,
            Callee::Free(id) => {
                let explicit = self.turbofish(&frame.scope.clone(), &path.path);
                self.function_value(id, None, &explicit, expected)
            }
            Callee::Associated(ty, name) => match self.constant(&ty, &name) {
                Some(known) => known,
                None => match self.method(&ty, &name) {
                    Some(id) => {
                        let explicit = self.turbofish(&frame.scope.clone(), &path.path);
                        self.function_value(id, Some(ty), &explicit, expected)
                    }
                    None => Ty::Unknown,
                },
            },
            Callee::Constructor(item, Some(_)) => self.lower_item(item, Vec::new()),
            Callee::Constructor(item, None) => {
                let tree = self.tree;
                match tree.item(item) {
                    Item::Const(found) => self.const_value(item, &found.ty, Some(&found.expr)),
                    Item::Static(found) => self.const_value(item, &found.ty, Some(&found.expr)),
                    Item::Struct(_) => self.lower_item(item, Vec::new()),
                    _ => Ty::Unknown,
                }
            }
            Callee::Foreign(path) if path.last().is_some_and(|last| last == "None") => Ty::Never,
            Callee::Foreign(_) | Callee::Unknown => Ty::Unknown,
        }
    }

    /// A function that is not called here: with type arguments, it is as good as called.
    fn function_value(&mut self, id: FunctionId, itself: Option<Ty>, explicit: &[Ty], expected: &Ty) -> Ty {
        let mut signature = self.signature(id, itself, true);
        self.explicit(&mut signature.scope, id, explicit);
        let output = signature.output.clone();
        if let Ty::Function(wanted) = self.inferred.resolve(expected) {
            self.inferred.unify(&output, &wanted);
        }
        if !explicit.is_empty() {
            let types: Vec<Ty> = signature.parameters.iter().map(|(ty, _)| ty.clone()).collect();
            let receiver = signature.scope.itself.clone();
            return Ty::Function(Rc::new(self.enter(signature, receiver, types)));
        }
        if signature.scope.generics.is_empty() {
            let types: Vec<Ty> = signature.parameters.iter().map(|(ty, _)| ty.clone()).collect();
            let receiver = signature.scope.itself.clone();
            return Ty::Function(Rc::new(self.run(signature, receiver, &types)));
        }
        Ty::Function(Rc::new(self.inferred.resolve(&output)))
    }

    fn const_value(&mut self, item: ItemRef, ty: &syn::Type, value: Option<&Expr>) -> Ty {
        let scope = Scope::new(self.tree.module(item));
        let declared = self.lower(&scope, ty);
        if self.depth > 16 {
            return declared;
        }
        let Some(value) = value else { return declared };
        self.depth += 1;
        let mut frame = Frame::of(scope);
        let found = self.expr(&mut frame, value, &declared);
        self.depth -= 1;
        declared.refine(&self.inferred.resolve(&found))
    }

    /// The value of an associated constant.
    fn constant(&mut self, ty: &Ty, name: &str) -> Option<Ty> {
        let (Ty::Item(of, _) | Ty::Root(of)) = ty else { return None };
        for (module, block) in self.index.constants.get(name).cloned().unwrap_or_default() {
            let found = block.items.iter().find_map(|found| match found {
                syn::ImplItem::Const(found) if found.ident == name => Some(found),
                _ => None,
            });
            let Some(found) = found else { continue };
            match self.implemented(module, block) {
                Ty::Item(other, _) | Ty::Root(other) if other == *of => {}
                _ => continue,
            }
            let mut scope = Scope::new(module);
            scope.generics = self.bind_generics(&scope, &block.generics, &[]);
            scope.itself = Some(ty.clone());
            let declared = self.lower(&scope, &found.ty);
            let mut frame = Frame::of(scope);
            let value = self.expr(&mut frame, &found.expr, &declared);
            return Some(declared.refine(&self.inferred.resolve(&value)));
        }
        None
    }

    fn callee(&mut self, frame: &Frame, path: &ExprPath) -> Callee {
        let scope = &frame.scope;
        if let Some(itself) = &path.qself {
            let ty = self.lower(&scope.clone(), &itself.ty);
            let last = path.path.segments.last().map(|last| last.ident.to_string());
            return Callee::Associated(ty, last.unwrap_or_default());
        }
        let path = &path.path;
        let Some(last) = path.segments.last() else { return Callee::Unknown };
        let name = last.ident.to_string();
        if path.segments.len() == 1 && path.leading_colon.is_none() {
            if let Some(local) = frame.local(&name) {
                return Callee::Local(local.clone());
            }
            if let Some(id) = frame.nested.get(&name) {
                return Callee::Free(*id);
            }
            if name == "Self" {
                return match &scope.itself {
                    Some(Ty::Item(item, _)) => Callee::Constructor(*item, None),
                    _ => Callee::Unknown,
                };
            }
        }
        if path.segments.len() > 1 {
            let mut prefix = path.clone();
            prefix.segments.pop();
            prefix.segments.pop_punct();
            if let Some(ty) = self.type_prefix(scope, &prefix) {
                return match (&ty, self.tree_variant(&ty, &name)) {
                    (Ty::Item(item, _), true) => Callee::Constructor(*item, Some(name)),
                    _ => Callee::Associated(ty, name),
                };
            }
        }
        match self.resolve(scope, path, Namespace::Values) {
            Resolution::Local(item) => match self.index.free(item) {
                Some(id) => Callee::Free(id),
                None => Callee::Constructor(item, None),
            },
            Resolution::Member(item, name) => {
                let ty = self.lower_item(item, Vec::new());
                if self.tree_variant(&ty, &name) {
                    Callee::Constructor(item, Some(name))
                } else {
                    Callee::Associated(ty, name)
                }
            }
            Resolution::Foreign(path) => Callee::Foreign(path),
            Resolution::Primitive(_) | Resolution::Unresolved(_) => Callee::Unknown,
        }
    }

    fn tree_variant(&self, ty: &Ty, name: &str) -> bool {
        match ty {
            Ty::Item(item, _) => match self.tree.item(*item) {
                Item::Enum(found) => found.variants.iter().any(|variant| variant.ident == name),
                _ => false,
            },
            _ => false,
        }
    }

    /// The type that the front of a path names, if it names a type.
    fn type_prefix(&mut self, scope: &Scope, prefix: &syn::Path) -> Option<Ty> {
        let first = prefix.segments.first()?.ident.to_string();
        let last = prefix.segments.last()?.ident.to_string();
        let own = prefix.segments.len() == 1 && (first == "Self" || scope.generics.contains_key(&first));
        let is_type = own
            || match self.resolve(scope, prefix, Namespace::Types) {
                Resolution::Local(item) => !matches!(self.tree.item(item), Item::Mod(_)),
                Resolution::Member(..) | Resolution::Primitive(_) => true,
                Resolution::Foreign(_) => last.starts_with(char::is_uppercase),
                Resolution::Unresolved(_) => false,
            };
        is_type.then(|| self.lower_path(&scope.clone(), prefix))
    }

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

    /// `Arc::new(x)` is `x`, and so is `String::from(x)`.
    fn wrapped(&mut self, ty: &Ty, name: &str, arguments: &Arguments<'_>) -> Ty {
        match (name, arguments.types.first()) {
            (
                "new" | "from" | "pin" | "clone" | "Borrowed" | "Owned" | "Some" | "Ok" | "from_ref" | "new_with",
                Some(inner),
            ) => {
                self.inferred.unify(ty, inner);
                ty.refine(inner)
            }
            _ => self.inferred.resolve(ty),
        }
    }

    /// What a function of a type that is not read returns: the type itself, if its name says so.
    fn made(&self, ty: &Ty, name: &str) -> Ty {
        let makes = ["new", "default", "from", "try_from", "try_default", "try_new", "build"];
        let known =
            makes.contains(&name) || ["with_", "from_", "new_", "try_"].iter().any(|start| name.starts_with(start));
        if known { self.inferred.resolve(ty) } else { Ty::Unknown }
    }

    /// `Api::all(client)` and its like.
    fn api_constructor(&mut self, kind: &Rc<Ty>, name: &str, arguments: &Arguments<'_>) -> Option<Ty> {
        let reach = match (name, arguments.len()) {
            ("all", 1) | ("all_with", 2) | ("dynamic", 3) => Reach::All,
            ("namespaced", 2) | ("namespaced_with", 3) => reach_of(&arguments.get(1)),
            ("default_namespaced", 1) | ("default_namespaced_with", 2) => Reach::Own,
            _ => return None,
        };
        let dynamic = match name {
            "all_with" | "default_namespaced_with" | "dynamic" => arguments.get(1),
            "namespaced_with" => arguments.get(2),
            _ => Ty::Unknown,
        };
        let kind = match self.inferred.resolve(&dynamic) {
            spelled @ Ty::Dynamic(_) => {
                let declared = self.inferred.resolve(kind);
                match declared {
                    Ty::Foreign(path, _) if path.ends_with("DynamicObject") => spelled,
                    Ty::Infer(_) | Ty::Unknown => {
                        self.inferred.unify(kind, &Ty::foreign("kube::DynamicObject"));
                        spelled
                    }
                    other => other,
                }
            }
            _ => (**kind).clone(),
        };
        Some(Ty::Api(Rc::new(kind), BTreeSet::from([reach])))
    }

    /// A kind as a value.
    fn dynamic(&self, kind: &Ty) -> Option<Ty> {
        let resources = self.kinds.resources(&self.inferred.resolve(kind))?;
        let spelled = resources.into_iter().map(|found| Gvk {
            group: found.group.into(),
            kind: found.name.into(),
            plural: Some(found.plural.into()),
        });
        Some(Ty::Dynamic(spelled.collect()))
    }

    #[expect(clippy::too_many_arguments, reason = "a call is all of this")]
    fn kube_associated(
        &mut self,
        place: Place,
        of: &str,
        parts: &[Ty],
        name: &str,
        explicit: &[Ty],
        arguments: &Arguments<'_>,
        expected: &Ty,
    ) -> Option<Ty> {
        let text = |position: usize| match arguments.get(position) {
            Ty::Text(text) => Some(text),
            _ => None,
        };
        match (of, name) {
            ("Patch", "Apply") => Some(Ty::Patch { apply: true }),
            ("Patch", "Merge" | "Json" | "Strategic") => Some(Ty::Patch { apply: false }),
            ("GroupVersionKind", "gvk") => {
                let kind = Gvk { group: text(0)?, kind: text(2)?, plural: None };
                Some(Ty::Dynamic(BTreeSet::from([kind])))
            }
            ("ApiResource", "from_gvk") => Some(arguments.get(0)),
            ("ApiResource", "from_gvk_with_plural") => match (arguments.get(0), text(1)) {
                (Ty::Dynamic(kinds), Some(plural)) => {
                    let with = |kind: Gvk| Gvk { plural: Some(plural.clone()), ..kind };
                    Some(Ty::Dynamic(kinds.into_iter().map(with).collect()))
                }
                _ => Some(Ty::Unknown),
            },
            ("ApiResource", "erase") => self.dynamic(explicit.first()?),
            ("Controller", "new" | "new_with") => {
                let kind = match arguments.get(0) {
                    Ty::Api(kind, _) => (*kind).clone(),
                    _ => Ty::Unknown,
                };
                self.watch(place, arguments, "Controller<{}>::new");
                Some(Ty::Foreign("kube::Controller".into(), vec![kind]))
            }
            ("Controller", _) => Some(Ty::Foreign("kube::Controller".into(), parts.to_vec())),
            ("Request", "new") => None,
            (_, "default" | "new") => {
                let made = Ty::Foreign(format!("kube::{of}").into(), parts.to_vec());
                self.inferred.unify(&made, expected);
                Some(made)
            }
            _ => None,
        }
    }

    /// The list and watch of an `Api` that is given first.
    fn watch(&mut self, place: Place, arguments: &Arguments<'_>, call: &str) {
        let streaming = arguments.exprs.iter().any(|expr| says(expr, "streaming_lists"));
        let verbs = if streaming { &["watch"][..] } else { table::WATCH };
        self.with_api(place, &arguments.get(0), verbs, call);
    }

    fn with_api(&mut self, place: Place, api: &Ty, verbs: &[&str], call: &str) {
        match self.inferred.resolve(api) {
            Ty::Api(kind, reach) => self.request(place, (&kind, &reach), verbs, None, call),
            _ => self.request(place, (&Ty::Unknown, &BTreeSet::new()), verbs, None, call),
        }
    }

    fn election(&mut self, place: Place, namespace: &Ty, call: &str) {
        let reach = BTreeSet::from([match reach_of(namespace) {
            Reach::Some => Reach::Own,
            reach => reach,
        }]);
        let verbs = &["create", "get", "patch"];
        self.request(place, (&Ty::foreign(table::LEASE), &reach), verbs, None, call);
    }

    /// A function of another crate.
    fn foreign_call(
        &mut self,
        frame: &mut Frame,
        place: Place,
        path: &[String],
        explicit: &[Ty],
        arguments: &mut Arguments<'_>,
        expected: &Ty,
    ) -> Ty {
        let name = path.last().map(String::as_str).unwrap_or_default();
        if path[0] == "std" && matches!(name, "Some" | "Ok") {
            return match arguments.exprs.first() {
                Some(inner) => self.expr(frame, inner, expected),
                None => Ty::Unknown,
            };
        }
        if path[0] == "std" && name == "Err" {
            self.arguments_of(frame, arguments);
            return Ty::Never;
        }
        if is_kube(path) {
            let of = path.len().checked_sub(2).map(|at| path[at].as_str()).unwrap_or_default();
            if of.starts_with(char::is_uppercase) {
                let ty = self.lower_foreign(&path[..path.len() - 1], Vec::new());
                return self.associated(frame, place, &ty, name, explicit, arguments, expected);
            }
            let known = table::FUNCTIONS.iter().find(|known| known.name == name && known.arguments == arguments.len());
            if let Some(known) = known {
                for expr in arguments.exprs.clone() {
                    // The closure of `finalizer` is given an event with the object.
                    let kind = match arguments.types.first() {
                        Some(Ty::Api(kind, _)) => (**kind).clone(),
                        _ => Ty::Unknown,
                    };
                    let ty = self.argument(frame, expr, &Ty::Unknown, &[kind]);
                    arguments.types.push(self.inferred.resolve(&ty));
                }
                let api = arguments.get(known.api);
                let streaming = arguments.exprs.iter().any(|expr| says(expr, "streaming_lists"));
                let verbs = if streaming && known.verbs == table::WATCH { &["watch"][..] } else { known.verbs };
                self.with_api(place, &api, verbs, &format!("{name}::<{{}}>"));
                return match (name, self.inferred.resolve(&api)) {
                    ("watcher" | "metadata_watcher" | "watch_object", Ty::Api(kind, _)) => Ty::Many(kind),
                    _ => Ty::Unknown,
                };
            }
            self.arguments_of(frame, arguments);
            return match name {
                "reflector" | "applied_objects" | "touched_objects" => arguments.get(1),
                _ => Ty::Unknown,
            };
        }
        self.arguments_of(frame, arguments);
        if path[0] == "std" || path[0] == "tokio" || path[0] == "futures" || path[0] == "futures_util" {
            return match name {
                "join_all" | "try_join_all" | "iter" | "select_all" => arguments.get(0),
                "spawn" | "timeout" | "pin" | "take" | "replace" | "Owned" | "Borrowed" | "ready" | "block_on"
                | "block_in_place" => {
                    let position = usize::from(name == "timeout");
                    match arguments.get(position) {
                        Ty::Function(output) => (*output).clone(),
                        ty => ty,
                    }
                }
                "join" | "try_join" | "zip" => Ty::Tuple(arguments.types.clone()),
                _ => Ty::Unknown,
            };
        }
        if path[0] == "serde_json" || path[0] == "serde_yaml" {
            return explicit.first().cloned().unwrap_or_else(|| self.inferred.fresh());
        }
        self.handed(place, name, Some(&path[0]), arguments);
        Ty::Unknown
    }

    /// Says that a crate that knows kube is given an `Api` or a client: what it does with it is not read.
    fn handed(&mut self, place: Place, name: &str, krate: Option<&str>, arguments: &Arguments<'_>) {
        let Some(krate) = krate else { return };
        if is_kube(&[krate.to_owned()]) || !self.tree.knows_kube(krate) {
            return;
        }
        let given = |test: &dyn Fn(&Ty) -> bool| arguments.types.iter().any(|ty| ty.any(&|part| test(part)));
        if given(&|ty| matches!(ty, Ty::Api(..)) || ty.is_kube("Client")) {
            let message = format!("`{name}` of the crate `{krate}` may make requests, and is not read");
            self.doubt(place, message, HELP);
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

    /// A method of `Api`, with its arguments still to be looked at.
    fn api_call(
        &mut self,
        frame: &mut Frame,
        place: Place,
        receiver: &Ty,
        name: &str,
        arguments: &mut Arguments<'_>,
    ) -> Option<Ty> {
        let known = table::METHODS.iter().any(|method| method.name == name && method.arguments == arguments.len());
        if known {
            self.arguments_of(frame, arguments);
            return self.api_method(frame, place, receiver, name, arguments);
        }
        let Ty::Api(kind, reach) = receiver else { return None };
        let reach = match (name, arguments.len()) {
            ("constrain", 1) => {
                self.arguments_of(frame, arguments);
                BTreeSet::from([reach_of(&arguments.get(0))])
            }
            ("unconstrain", 0) => BTreeSet::from([Reach::All]),
            ("constrain_default", 0) => BTreeSet::from([Reach::Own]),
            ("into_client", 0) => return Some(Ty::foreign("kube::Client")),
            ("namespace" | "resource_url", 0) => return Some(Ty::Unknown),
            ("clone", 0) => reach.clone(),
            _ => return None,
        };
        Some(Ty::Api(kind.clone(), reach))
    }

    /// A method of `Api`, and what it requests.
    fn api_method(
        &mut self,
        frame: &mut Frame,
        place: Place,
        receiver: &Ty,
        name: &str,
        arguments: &mut Arguments<'_>,
    ) -> Option<Ty> {
        let method = table::METHODS.iter().find(|method| method.name == name && method.arguments == arguments.len())?;
        self.arguments_of(frame, arguments);
        let Ty::Api(kind, reach) = receiver else { return None };
        if matches!(name, "create" | "replace") {
            let data = arguments.get(arguments.len() - 1);
            self.inferred.unify(kind, &data);
        }
        let call = format!("Api<{{}}>::{name}");
        let sub = match method.sub {
            Sub::None => None,
            Sub::Named(sub) => Some(sub.to_owned()),
            Sub::First => {
                if let Ty::Text(sub) = self.inferred.resolve(&arguments.get(0)) {
                    self.clear(place);
                    Some(sub.to_string())
                } else {
                    let message =
                        format!("`Api::{name}`: the name of the subresource is not spelled out in the source");
                    self.doubt(place, message, HELP);
                    return Some((**kind).clone());
                }
            }
        };
        let mut verbs = method.verbs.to_vec();
        if table::CREATING.contains(&name) {
            if let Ty::Patch { apply } = self.inferred.resolve(&arguments.get(2)) {
                self.clear(place);
                verbs.extend(apply.then_some("create"));
            } else {
                let message = format!("`Api::{name}`: whether this is a server-side apply could not be followed");
                self.doubt(place, message, "for a server-side apply name the verb `create` in a marker");
            }
        }
        self.request(place, (kind, reach), &verbs, sub.as_deref(), &call);
        Some(match method.answer {
            Answer::Object => match &**kind {
                Ty::Dynamic(_) => Ty::foreign("kube::DynamicObject"),
                kind => kind.clone(),
            },
            Answer::Objects => Ty::Many(kind.clone()),
            Answer::Entry => Ty::Foreign("kube::Entry".into(), vec![receiver.clone()]),
            Answer::Other => Ty::Unknown,
        })
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

    /// A method of a type of kube.
    #[expect(clippy::too_many_arguments, reason = "a call is all of this")]
    fn kube_method(
        &mut self,
        frame: &mut Frame,
        place: Place,
        (of, parts): (&str, &[Ty]),
        name: &str,
        explicit: &[Ty],
        arguments: &mut Arguments<'_>,
        expected: &Ty,
    ) -> Option<Ty> {
        let ty = Ty::Foreign(format!("kube::{of}").into(), parts.to_vec());
        match (of, name) {
            ("Controller", _) if table::CONTROLLER.contains(&(name, arguments.len())) => {
                self.arguments_of(frame, arguments);
                self.watch(place, arguments, &format!("Controller::{name}::<{{}}>"));
                Some(ty)
            }
            ("Controller", "run") => {
                let kind = parts.first().cloned().unwrap_or(Ty::Unknown);
                for expr in arguments.exprs.clone() {
                    let ty = self.argument(frame, expr, &Ty::Unknown, std::slice::from_ref(&kind));
                    arguments.types.push(self.inferred.resolve(&ty));
                }
                Some(Ty::many(Ty::Unknown))
            }
            ("Recorder", "publish") => {
                self.arguments_of(frame, arguments);
                let reach = BTreeSet::from([Reach::Some]);
                let verbs = table::publish(arguments.len());
                self.request(place, (&Ty::foreign(table::EVENT), &reach), verbs, None, "Recorder::publish");
                Some(Ty::Tuple(Vec::new()))
            }
            ("Client", "default_namespace") => Some(Ty::OwnNamespace),
            ("Client", _) if table::SEND.contains(&name) => {
                self.arguments_of(frame, arguments);
                match arguments.get(0) {
                    Ty::Request { verb, path } if !path.is_empty() => {
                        self.clear(place);
                        self.sent(place, &verb, &path, name);
                    }
                    _ => {
                        let message =
                            format!("`Client::{name}`: the path of the request is not spelled out in the source");
                        self.doubt(place, message, HELP);
                    }
                }
                Some(explicit.first().cloned().unwrap_or(Ty::Unknown))
            }
            ("Client", _) => {
                let (_, _, verb) = table::CLIENT.iter().find(|known| known.0 == name && known.1 == arguments.len())?;
                self.arguments_of(frame, arguments);
                let kind = explicit.first().cloned().unwrap_or_else(|| self.inferred.fresh());
                let answer = if name == "list" { Ty::many(kind.clone()) } else { kind.clone() };
                self.inferred.unify(&answer, expected);
                let cluster = matches!(arguments.get(1), Ty::Foreign(path, _) if &*path == "kube::Cluster");
                let reach = BTreeSet::from([if cluster { Reach::All } else { Reach::Some }]);
                self.request(place, (&kind, &reach), &[verb], None, &format!("Client::{name}::<{{}}>"));
                Some(answer)
            }
            ("Entry", "commit") => {
                if let Some(Ty::Api(kind, reach)) = parts.first() {
                    let (kind, reach) = (kind.clone(), reach.clone());
                    self.request(place, (&kind, &reach), table::COMMIT, None, "Api<{}>::entry.commit");
                }
                None
            }
            ("Discovery" | "ApiGroup", _) => {
                self.arguments_of(frame, arguments);
                Some(if matches!(name, "run" | "run_aggregated" | "filter" | "exclude") { ty } else { Ty::Unknown })
            }
            _ => None,
        }
    }

    /// A request with a path: what the API server makes of it.
    fn sent(&mut self, place: Place, method: &str, path: &str, call: &str) {
        let call = format!("Client::{call}");
        let Some((group, resource, named, namespace)) = resource_of(path) else {
            let path = path.split('?').next().unwrap_or_default();
            return self.request_url(place, path, method, &call);
        };
        let verb = match (method, named) {
            ("get", false) if path.contains("watch=true") || path.contains("watch=1") => "watch",
            ("get", false) => "list",
            ("get", true) => "get",
            ("post", _) => "create",
            ("put", _) => "update",
            ("delete", false) => "deletecollection",
            (method, _) => method,
        };
        let (plural, sub) = resource.split_once('/').map_or((&*resource, None), |(plural, sub)| (plural, Some(sub)));
        let kind = Gvk { group: group.as_str().into(), kind: plural.into(), plural: Some(plural.into()) };
        let reach = match namespace {
            None => Reach::All,
            Some(name) => reach_of(&Ty::text(&name)),
        };
        let kind = Ty::Dynamic(BTreeSet::from([kind]));
        self.request(place, (&kind, &BTreeSet::from([reach])), &[verb], sub, &call);
    }

    /// A method of our own manager.
    #[expect(clippy::too_many_arguments, reason = "a call is all of this")]
    fn manager_method(
        &mut self,
        frame: &mut Frame,
        place: Place,
        (of, item, parts): (&str, ItemRef, &[Ty]),
        name: &str,
        explicit: &[Ty],
        arguments: &mut Arguments<'_>,
        expected: &Ty,
    ) -> Ty {
        let manager = Ty::Item(item, parts.to_vec());
        let inputs = if of == "Manager" { vec![manager.clone()] } else { parts.to_vec() };
        while arguments.types.len() < arguments.exprs.len() {
            let expr = arguments.exprs[arguments.types.len()];
            let ty = self.argument(frame, expr, &Ty::Unknown, &inputs);
            arguments.types.push(self.inferred.resolve(&ty));
        }
        let all = BTreeSet::from([Reach::All]);
        let own = BTreeSet::from([Reach::Own]);
        let events = Ty::foreign(table::EVENT);
        match (of, name) {
            ("Manager", "objects") => {
                let kind = explicit.first().cloned().unwrap_or_else(|| self.inferred.fresh());
                self.request(place, (&kind, &all), table::manager::OBJECTS, None, "Manager::objects::<{}>");
                self.request(place, (&events, &all), table::manager::EVENTS, None, "Manager::objects");
                let objects = self.manager_type(item, "Objects", vec![kind]);
                self.inferred.unify(&objects, expected);
                objects
            }
            ("Manager", "controller") => {
                let kind = match arguments.get(1) {
                    Ty::Item(_, kinds) => kinds.first().cloned().unwrap_or(Ty::Unknown),
                    _ => Ty::Unknown,
                };
                self.manager_type(item, "Controller", vec![kind])
            }
            ("Manager", "recorder") => Ty::foreign("kube::Recorder"),
            ("Manager", "leader_election_id") => {
                let lease = Ty::foreign(table::LEASE);
                self.request(place, (&lease, &own), table::manager::ELECTION, None, "Manager::leader_election_id");
                manager
            }
            ("Manager", "run" | "run_until") => {
                for review in table::manager::REVIEWS {
                    let review = Ty::foreign(review);
                    self.request(place, (&review, &all), &["create"], None, &format!("Manager::{name}"));
                }
                Ty::Tuple(Vec::new())
            }
            ("Controller", "run") => Ty::Tuple(Vec::new()),
            ("Manager" | "Controller", _) | ("Objects", "clone") => manager,
            ("Objects", _) => {
                let kind = parts.first().cloned().unwrap_or(Ty::Unknown);
                for (verb, sub) in table::manager::objects(name) {
                    self.request(place, (&kind, &all), &[verb], *sub, &format!("Objects<{{}}>::{name}"));
                }
                match name {
                    "get" => kind,
                    "list" => Ty::many(kind),
                    _ => Ty::Unknown,
                }
            }
            _ => Ty::Unknown,
        }
    }

    /// A type of the manager by its name.
    fn manager_type(&mut self, near: ItemRef, name: &str, arguments: Vec<Ty>) -> Ty {
        let tree = self.tree;
        let krate = |item: ItemRef| tree.module_path(tree.module(item)).swap_remove(0);
        let found = self.managers().find(|(item, known)| *known == name && krate(*item) == krate(near));
        found.map_or(Ty::Unknown, |(item, _)| Ty::Item(item, arguments))
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

/// What methods of the standard library and of iterators and streams return.
fn standard(inferred: &mut Inferred, receiver: &Ty, element: &Ty, name: &str, arguments: &[Ty]) -> Option<Ty> {
    let first = || arguments.first().cloned().unwrap_or(Ty::Unknown);
    let called = |ty: Option<&Ty>| match ty {
        Some(Ty::Function(output)) => (**output).clone(),
        Some(value) => value.clone(),
        None => Ty::Unknown,
    };
    let returned = || match arguments.last() {
        Some(Ty::Function(output)) => (**output).clone(),
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
        (_, Ty::Many(element)) if ONE.contains(&name) => (**element).clone(),
        ("push" | "insert" | "push_back" | "send" | "spawn", Ty::Many(element)) => {
            inferred.unify(element, &called(arguments.first()));
            Ty::Unknown
        }
        ("enumerate", Ty::Many(element)) => Ty::many(Ty::Tuple(vec![Ty::foreign("usize"), (**element).clone()])),
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
        ("fold" | "try_fold", _) if is_many => first().join(&returned()),
        ("map" | "and_then" | "then" | "map_ok" | "is_some_and" | "map_or" | "map_or_else", _) => returned(),
        ("unwrap_or" | "unwrap_or_default" | "unwrap_or_else" | "or_else" | "or" | "get_or_init", other) => {
            // Without an argument another value of the type.
            let value = arguments.first().map_or(Ty::Unknown, |value| called(Some(value)));
            if matches!(name, "get_or_init") { value } else { other.join(&value) }
        }
        ("set", other) => {
            inferred.unify(other, &first());
            other.clone()
        }
        ("data" | "name" | "kind", _) => Ty::Unknown,
        ("to_string" | "to_owned" | "into" | "clone" | "as_str" | "as_ref" | "trim" | "to_lowercase", Ty::Text(_)) => {
            receiver.clone()
        }
        (_, Ty::Text(_) | Ty::OwnNamespace) if !arguments.is_empty() => Ty::Unknown,
        _ => return None,
    })
}

/// Methods that take one out of many.
const ONE: &[&str] = &[
    "find",
    "first",
    "first_mut",
    "get",
    "get_mut",
    "join_next",
    "last",
    "last_mut",
    "max_by_key",
    "min_by_key",
    "next",
    "nth",
    "peek",
    "pop",
    "pop_back",
    "pop_front",
    "recv",
    "reduce",
    "remove",
    "select_next_some",
    "swap_remove",
    "try_next",
    "try_recv",
];

fn request_builder(receiver: &Ty, name: &str, arguments: &Arguments<'_>) -> Ty {
    let Ty::Request { verb, path } = receiver else { return Ty::Unknown };
    match (name, arguments.get(0)) {
        ("uri", Ty::Text(path)) => Ty::Request { verb: verb.clone(), path },
        ("method", Ty::Text(method)) => Ty::Request { verb: method.to_lowercase().into(), path: path.clone() },
        ("uri", _) => Ty::foreign("http::Request"),
        _ => receiver.clone(),
    }
}

/// Methods that return what they are called on, as far as it matters.
const IDENTITY: &[&str] = &[
    "abortable",
    "as_deref",
    "as_mut",
    "as_ref",
    "as_slice",
    "backoff",
    "borrow",
    "borrow_mut",
    "boxed",
    "buffer_unordered",
    "by_ref",
    "chain",
    "cloned",
    "clone",
    "collect",
    "context",
    "copied",
    "default_backoff",
    "deref",
    "expect",
    "filter",
    "get_mut",
    "in_current_span",
    "inspect",
    "inspect_err",
    "instrument",
    "into",
    "into_inner",
    "into_iter",
    "into_stream",
    "iter",
    "iter_mut",
    "load",
    "load_full",
    "lock",
    "map_err",
    "ok",
    "ok_or",
    "ok_or_else",
    "peekable",
    "read",
    "rev",
    "shared",
    "skip",
    "stream",
    "take",
    "timeout",
    "to_owned",
    "to_vec",
    "try_collect",
    "try_filter",
    "try_into",
    "unwrap",
    "with_context",
    "wrap_err",
    "wrap_err_with",
    "write",
    "into_future",
    "get_ref",
    "unwrap_unchecked",
    "try_lock",
    "subscribe",
    "retain",
    "concat",
    "flatten",
    "applied_objects",
    "touched_objects",
    "reflect",
    "modify",
    "predicate_filter",
];

/// Where the requests of `Api::namespaced` with this namespace go.
fn reach_of(namespace: &Ty) -> Reach {
    match namespace {
        Ty::Text(name) => Reach::Named(name.clone()),
        Ty::OwnNamespace => Reach::Own,
        _ => Reach::Some,
    }
}

/// The expression speaks of a name.
fn says(expr: &Expr, name: &str) -> bool {
    fn tokens(stream: proc_macro2::TokenStream, name: &str) -> bool {
        stream.into_iter().any(|token| match token {
            proc_macro2::TokenTree::Group(group) => tokens(group.stream(), name),
            proc_macro2::TokenTree::Ident(ident) => ident == name,
            _ => false,
        })
    }
    tokens(quote::ToTokens::to_token_stream(expr), name)
}

/// `http::Request::get("/path")` and its like.
fn http(name: &str, arguments: &Arguments<'_>) -> Option<Ty> {
    let path = match arguments.types.first() {
        Some(Ty::Text(path)) => path.clone(),
        None => "".into(),
        Some(_) => return None,
    };
    match name {
        "get" | "post" | "put" | "patch" | "delete" => Some(Ty::Request { verb: name.into(), path }),
        "builder" => Some(Ty::Request { verb: "get".into(), path }),
        _ => None,
    }
}

/// Group, resource with subresource, whether an object is named, and the namespace of a path of the API.
fn resource_of(path: &str) -> Option<(String, String, bool, Option<String>)> {
    let path = path.split('?').next().unwrap_or_default().trim_matches('/');
    let parts: Vec<&str> = path.split('/').collect();
    let (group, rest) = match parts.as_slice() {
        ["api", _, rest @ ..] => ("", rest),
        ["apis", group, _, rest @ ..] => (*group, rest),
        _ => return None,
    };
    let (namespace, rest) = match rest {
        ["namespaces", name, rest @ ..] if !rest.is_empty() && !matches!(rest, ["status" | "finalize"]) => {
            (Some((*name).to_owned()), rest)
        }
        rest => (None, rest),
    };
    let (resource, named) = match rest {
        [resource] => ((*resource).to_owned(), false),
        [resource, _] => ((*resource).to_owned(), true),
        [resource, _, sub, ..] => (format!("{resource}/{sub}"), true),
        [] => return None,
    };
    Some((group.to_owned(), resource, named, namespace))
}
