//! Calls: which function is meant, what it returns, and which requests it makes.

mod callee;
mod implementation;
mod kube;
mod macros;
mod manager;
mod standard;

use std::rc::Rc;

use syn::spanned::Spanned as _;
use syn::{Expr, ExprCall, ExprMethodCall, Fields, Item};

use crate::rbac::RequestScope;
use crate::source::ItemRef;

use super::doubt::Cause;
use super::foreign::{ForeignType, Kube};
use super::frame::{CallFrame, Location};
use super::index::{FunctionId, Owner};
use super::manager::ManagerType;
use super::read::{DEREFS, FunctionReader};
use super::signature::Signature;
use super::table::{self, Returns, returns};
use super::types::{Reach, Ty};

use self::standard::standard;

/// A call as it stands: what is called is found out apart.
struct CallSite<'e> {
    location: Location,
    /// The last part of the path, or the method.
    name: Rc<str>,
    /// The type arguments that are written behind the name.
    explicit: Vec<Ty>,
    /// The arguments, without the receiver of a method.
    arguments: Vec<&'e Expr>,
    /// The types of the first arguments, as far as they are known.
    types: Vec<Ty>,
    /// The expected type of the result.
    expected: Ty,
    receiver: Option<&'e Expr>,
    /// Its result is a future that is waited for.
    awaited: bool,
    /// The trait that the path of the function names: `<Cluster as Store<Pod>>::api`.
    named: Option<Ty>,
}

impl CallSite<'_> {
    fn get(&self, position: usize) -> Ty {
        self.types.get(position).cloned().unwrap_or(Ty::Unknown)
    }

    fn len(&self) -> usize {
        self.arguments.len()
    }
}

/// The meaning of a path in the place of a function.
enum Callee {
    Free(FunctionId),
    /// An associated function or variant of a type.
    Associated(Ty, String),
    Constructor(ItemRef, Option<String>),
    /// Something of another crate.
    Foreign(Vec<String>),
    Local(Ty),
    Unknown,
}

impl FunctionReader<'_> {
    /// A call of a path or of a value.
    pub(super) fn call(&mut self, frame: &mut CallFrame, call: &ExprCall, expected: &Ty) -> Ty {
        let function = peeled(&call.func);
        let path = match function {
            Expr::Path(path) => Some(path),
            _ => None,
        };
        let name = path.and_then(|path| path.path.segments.last()).map(|last| last.ident.to_string());
        let mut call = CallSite {
            location: frame.location(call.func.span()),
            name: name.unwrap_or_default().into(),
            explicit: path.map(|path| self.types.turbofish(&frame.scope, &path.path)).unwrap_or_default(),
            arguments: self.active(frame, &call.args),
            types: Vec::new(),
            expected: expected.clone(),
            receiver: None,
            awaited: false,
            named: path.and_then(|path| self.named_trait(frame, path)),
        };
        let Some(path) = path else {
            let called = self.expr(frame, function, &Ty::Unknown);
            return self.call_value(frame, &called, &mut call);
        };
        match self.callee(frame, path) {
            Callee::Free(id) => self.call_function(frame, id, None, &mut call),
            Callee::Associated(ty, name) => {
                call.name = name.into();
                self.associated(frame, &ty, &mut call)
            }
            Callee::Constructor(item, variant) => self.construct(frame, item, variant.as_deref(), &mut call),
            Callee::Foreign(path) => self.foreign_call(frame, &path, &mut call),
            Callee::Local(called) => self.call_value(frame, &called, &mut call),
            Callee::Unknown => {
                if let ("Some" | "Ok", Some(inner)) = (&*call.name, call.arguments.first().copied()) {
                    return self.expr(frame, inner, expected);
                }
                self.arguments_of(frame, &mut call);
                self.unfound(&call);
                Ty::Unknown
            }
        }
    }

    /// A function that is not found, or a value that is called and could not be followed.
    fn unfound(&mut self, call: &CallSite<'_>) {
        if self.given(call) && !matches!(&*call.name, "Some" | "Ok" | "Err" | "drop") {
            let message = format!("`{}` takes a client or an `Api`, but was not found", call.name);
            self.doubt(call.location, Cause::Unread(message));
        }
    }

    /// A call of a closure, or of a function that is a value.
    fn call_value(&mut self, frame: &mut CallFrame, called: &Ty, call: &mut CallSite<'_>) -> Ty {
        match self.resolve(called) {
            Ty::Path(path) => self.foreign_call(frame, &path, call),
            Ty::Function(parts) => {
                for (position, expr) in call.arguments.clone().into_iter().enumerate().skip(call.types.len()) {
                    let wanted = parts.get(position + 1).cloned().unwrap_or(Ty::Unknown);
                    let found = self.argument(frame, expr, &wanted, &[]);
                    self.unify(&wanted, &found);
                    call.types.push(self.resolve(&found));
                }
                self.resolve(&parts[0])
            }
            _ => {
                self.arguments_of(frame, call);
                self.unfound(call);
                Ty::Unknown
            }
        }
    }

    fn arguments_of(&mut self, frame: &mut CallFrame, call: &mut CallSite<'_>) {
        self.arguments_with(frame, call, &[]);
    }

    /// Like [`Self::arguments_of`], but calls functions among the arguments with `inputs`.
    fn arguments_with(&mut self, frame: &mut CallFrame, call: &mut CallSite<'_>, inputs: &[Ty]) {
        while let Some(expr) = call.arguments.get(call.types.len()).copied() {
            let ty = self.argument(frame, expr, &Ty::Unknown, inputs);
            call.types.push(self.resolve(&ty));
        }
    }

    /// One argument, which may be a closure that is called with `inputs`.
    fn argument(&mut self, frame: &mut CallFrame, expr: &Expr, wanted: &Ty, inputs: &[Ty]) -> Ty {
        match expr {
            Expr::Closure(closure) => self.closure(frame, closure, inputs, wanted),
            Expr::Path(path) if !inputs.is_empty() => match self.callee(frame, path) {
                Callee::Free(id) => {
                    let explicit = self.types.turbofish(&frame.scope, &path.path);
                    self.passed(id, &explicit, inputs)
                }
                _ => self.expr(frame, expr, wanted),
            },
            expr => self.expr(frame, expr, wanted),
        }
    }

    /// A function that will be called with `inputs`.
    fn passed(&mut self, id: FunctionId, explicit: &[Ty], inputs: &[Ty]) -> Ty {
        let mut signature = self.types.signature(id, None, Some(explicit));
        self.types.inferred.accept_each(&mut signature.parameters, inputs);
        let inputs = signature.parameters.clone();
        let output = self.enter(signature);
        Ty::function(inputs, output)
    }

    /// A call of a function of the tree, with its receiver if it has one.
    fn call_function(
        &mut self,
        frame: &mut CallFrame,
        id: FunctionId,
        receiver: Option<Ty>,
        call: &mut CallSite<'_>,
    ) -> Ty {
        let mut signature = self.types.signature(id, receiver.clone(), Some(&call.explicit));
        self.infer_trait(frame, receiver.as_ref(), call, &signature);
        self.unify(&signature.output, &call.expected);
        // The other arguments may decide the parameter types of closures.
        for closures in [false, true] {
            for (position, ty) in signature.parameters.iter_mut().enumerate() {
                let Some(expr) = call.arguments.get(position).copied() else { break };
                if has_closure(expr) != closures {
                    continue;
                }
                let found = if let Some(known) = call.types.get(position) {
                    known.clone()
                } else {
                    let wanted = self.resolve(ty);
                    self.argument(frame, expr, &wanted, &[])
                };
                *ty = self.types.inferred.accept(ty, &found);
            }
        }
        self.dispatch(receiver.as_ref(), &call.explicit, &signature);
        signature.scope.itself = receiver.or(signature.scope.itself);
        self.enter(signature)
    }

    /// A method that only a trait is known of: each implementation may be meant. What one of the package does without type
    /// arguments is known from running it by itself.
    fn dispatch(&mut self, receiver: Option<&Ty>, explicit: &[Ty], called: &Signature) {
        let function = self.types.index.get(called.id).clone();
        let Some(Owner::Trait(_, of)) = function.owner else { return };
        let generic = function.signature.generics.type_params().next().is_some();
        let of_any = matches!(receiver, Some(Ty::Param(_) | Ty::Item(..)) | None);
        if !of_any {
            return;
        }
        for other in self.types.index.methods(&function.name()).to_vec() {
            let implementation = self.types.index.get(other).clone();
            let Some(Owner::Impl(block, Some(implemented))) = implementation.owner else { continue };
            let known = !generic && self.tree.is_own(implementation.module);
            if implemented != of || known || self.runs.recursion(other) > 0 {
                continue;
            }
            let itself = self.types.implemented(block);
            let mut signature = self.types.signature(other, Some(itself.clone()), Some(explicit));
            self.types.inferred.accept_each(&mut signature.parameters, &called.parameters);
            self.unify(&signature.output, &called.output);
            signature.scope.itself = Some(itself);
            self.enter(signature);
        }
    }

    fn construct(
        &mut self,
        frame: &mut CallFrame,
        item: ItemRef,
        variant: Option<&str>,
        call: &mut CallSite<'_>,
    ) -> Ty {
        let owner = match (variant, &frame.scope.itself) {
            (None, Some(itself @ Ty::Item(of, _))) if *of == item => itself.clone(),
            _ => self.types.lower_item(item, Vec::new()),
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
            self.arguments_of(frame, call);
            return Ty::Unknown;
        }
        for (position, expr) in call.arguments.clone().into_iter().enumerate() {
            let name = position.to_string();
            let declared = self.declared_in(&owner, variant, &name);
            let found = self.expr(frame, expr, &declared);
            self.unify(&declared, &found);
            self.learn_field(item, variant, &name, &found);
        }
        self.resolve(&owner)
    }

    /// A function of the tree that belongs to a type, or a method that is called as one.
    fn associated_function(&mut self, frame: &mut CallFrame, ty: &Ty, id: FunctionId, call: &mut CallSite<'_>) -> Ty {
        if self.types.index.get(id).takes_self() && !call.arguments.is_empty() {
            let receiver = self.expr(frame, call.arguments.remove(0), &Ty::Unknown);
            let receiver = self.resolve(&receiver);
            let id = self.types.method(&receiver, &call.name).unwrap_or(id);
            let named = call.named.take().or_else(|| self.types.is_trait(ty).then(|| ty.clone()));
            call.named = named;
            let id = self.implementation(frame, id, &receiver, call);
            return self.call_function(frame, id, Some(receiver), call);
        }
        let id = self.implementation(frame, id, ty, call);
        self.call_function(frame, id, Some(ty.clone()), call)
    }

    /// `Type::function(…)`
    fn associated(&mut self, frame: &mut CallFrame, ty: &Ty, call: &mut CallSite<'_>) -> Ty {
        let name = call.name.clone();
        if let Ty::Api(kind, _) = ty {
            self.arguments_of(frame, call);
            if let Some(api) = self.api_constructor(kind, call) {
                self.unify(&api, &call.expected);
                return api;
            }
            if let Some(Ty::Api(..)) = call.types.first() {
                let receiver = call.types.remove(0);
                call.arguments.remove(0);
                return self.api_method(frame, &receiver, call).unwrap_or(Ty::Unknown);
            }
        }
        if let Ty::Item(item, _) = ty
            && let Some(of) = self.manager_of(*item)
        {
            self.arguments_of(frame, call);
            if let Some(Ty::Item(first, _)) = call.types.first()
                && first == item
            {
                let receiver = call.types.remove(0);
                call.arguments.remove(0);
                return self.method_of(frame, receiver, call);
            }
            self.unify(ty, &call.expected);
            return if of == ManagerType::Manager || &*name == "new" { ty.clone() } else { Ty::Unknown };
        }
        if let Some(id) = self.types.method(ty, &name) {
            return self.associated_function(frame, ty, id, call);
        }
        if let (Ty::Unknown | Ty::Infer(_) | Ty::Function(_), [inner]) = (ty, call.arguments.as_slice())
            && matches!(&*name, "from" | "new" | "pin")
        {
            // `Box::new(|x| …)`
            let found = self.argument(frame, inner, &call.expected.clone(), &[]);
            call.types.push(self.resolve(&found));
        }
        self.arguments_of(frame, call);
        match ty {
            Ty::Foreign(ForeignType::Kube(of), parts) => {
                self.kube_associated(of, parts, call).unwrap_or_else(|| self.constructed(ty, &name))
            }
            Ty::Root(_) | Ty::Foreign(..) if matches!(&*name, "api_resource" | "erase") => {
                self.types.dynamic(ty).unwrap_or(Ty::Unknown)
            }
            // Strings carry their origin.
            Ty::Foreign(ForeignType::String, _) if &*name == "from" && call.get(0).is_known_text() => call.get(0),
            Ty::Unknown | Ty::Many(_) | Ty::Map(_) | Ty::Api(..) | Ty::Infer(_) => self.wrapped(ty, call),
            Ty::Foreign(found, _) => {
                match table::election(&found.to_string(), &name, call.len()) {
                    Some(election) => self.elects(election, call),
                    None => self.handed(found.krate(), call),
                }
                self.constructed(ty, &name)
            }
            _ => {
                self.extended(call);
                self.constructed(ty, &name)
            }
        }
    }

    /// A method: what it is depends on what the receiver is.
    pub(super) fn method_call(
        &mut self,
        frame: &mut CallFrame,
        call: &ExprMethodCall,
        awaited: bool,
        expected: &Ty,
    ) -> Ty {
        let receiver = self.expr(frame, &call.receiver, &Ty::Unknown);
        let receiver = self.resolve(&receiver);
        let explicit = match &call.turbofish {
            Some(turbofish) => {
                let path = syn::PathSegment {
                    ident: call.method.clone(),
                    arguments: syn::PathArguments::AngleBracketed(turbofish.clone()),
                };
                self.types.turbofish(&frame.scope, &syn::Path::from(path))
            }
            None => Vec::new(),
        };
        let mut call = CallSite {
            location: frame.location(call.method.span()),
            name: call.method.to_string().into(),
            explicit,
            arguments: self.active(frame, &call.args),
            types: Vec::new(),
            expected: expected.clone(),
            receiver: Some(&call.receiver),
            awaited,
            named: None,
        };
        self.method_of(frame, receiver, &mut call)
    }

    fn method_of(&mut self, frame: &mut CallFrame, receiver: Ty, call: &mut CallSite<'_>) -> Ty {
        if let Ty::Api(..) = &receiver
            && let Some(answer) = self.api_call(frame, &receiver, call)
        {
            return answer;
        }
        if let Some(id) = self.types.method(&receiver, &call.name)
            && self.types.index.get(id).takes_self()
        {
            if let Ty::Item(item, _) = &receiver
                && let Some(of) = self.manager_of(*item)
                && self.types.index.get(id).block.is_none()
            {
                return self.manager_method(frame, of, id, receiver, call);
            }
            let id = self.implementation(frame, id, &receiver, call);
            return self.call_function(frame, id, Some(receiver), call);
        }
        if let Ty::Item(..) = &receiver
            && self.types.depth <= DEREFS
            && let Some(inner) = self.types.deref(&receiver)
            && inner != receiver
        {
            self.types.depth += 1;
            let found = self.method_of(frame, inner, call);
            self.types.depth -= 1;
            return found;
        }
        self.builtin_method(frame, &receiver, call)
    }

    /// A method of a type that is not of the tree.
    fn builtin_method(&mut self, frame: &mut CallFrame, receiver: &Ty, call: &mut CallSite<'_>) -> Ty {
        if let Ty::Elsewhere(of) = receiver
            && returns(&call.name) != Returns::Receiver
        {
            return self.elsewhere_method(frame, of, call);
        }
        if let Ty::Foreign(ForeignType::Kube(of), parts) = receiver
            && let Some(answer) = self.kube_method(frame, of, parts, call)
        {
            return answer;
        }
        if let Ty::Table(rows) = receiver {
            return self.table_method(frame, rows, call);
        }
        if let Some(many) = self.types.iterated(receiver) {
            return self.builtin_method(frame, &many, call);
        }
        let element = match receiver {
            Ty::Many(element) => (**element).clone(),
            Ty::Map(value) => Ty::Tuple(vec![Ty::Unknown, (**value).clone()]),
            other => other.clone(),
        };
        // The inputs of a closure: the value, or each element; two inputs for a fold.
        let inputs = match &*call.name {
            "map_err" | "unwrap_or_else" | "or_else" | "ok_or_else" | "inspect_err" | "get_or_init" => vec![],
            "fold" | "try_fold" | "scan" if call.len() == 2 => {
                let start = self.expr(frame, call.arguments[0], &call.expected.clone());
                call.types.push(self.resolve(&start));
                vec![call.get(0), element.clone()]
            }
            _ => vec![element.clone()],
        };
        self.arguments_with(frame, call, &inputs);
        if (&*call.name, call.len()) == ("object_ref", 1) {
            return Ty::k8s("api::core::v1::ObjectReference");
        }
        match standard(&mut self.types.inferred, receiver, &element, call) {
            Some(answer) => answer,
            None if returns(&call.name) == Returns::Receiver => {
                // A method of another crate may have such a name, too.
                if self.given(call)
                    && matches!(receiver, Ty::Unknown | Ty::Infer(_) | Ty::Foreign(ForeignType::Other(_), _))
                {
                    self.unknown_method(frame, receiver, call);
                }
                receiver.clone()
            }
            None => {
                self.unknown_method(frame, receiver, call);
                match receiver {
                    // A builder of kube returns itself.
                    Ty::Foreign(ForeignType::Kube(_), _) | Ty::Many(_) => receiver.clone(),
                    // An `Api` may come back that goes elsewhere.
                    Ty::Api(kind, reach) if !reach.contains(&Reach::Elsewhere) => {
                        Ty::reaching((**kind).clone(), RequestScope::Cluster)
                    }
                    _ => Ty::Unknown,
                }
            }
        }
    }

    /// A method of a table: closures are called with each of its rows.
    fn table_method(&mut self, frame: &mut CallFrame, rows: &[Ty], call: &mut CallSite<'_>) -> Ty {
        let table = Ty::Table(rows.into());
        if call.len() == 0 && returns(&call.name) == Returns::Receiver {
            return table;
        }
        let each = matches!(call.arguments.as_slice(), [Expr::Closure(_) | Expr::Path(_)]);
        if !each {
            return self.builtin_method(frame, &table.general(), call);
        }
        let mut value = Ty::Never;
        for row in rows {
            call.types.clear();
            let found = self.builtin_method(frame, &Ty::many(row.clone()), call);
            value = value.join(&self.resolve(&found));
        }
        value
    }

    /// A method that is not known: worth a word when it may be a request.
    fn unknown_method(&mut self, frame: &CallFrame, receiver: &Ty, call: &CallSite<'_>) {
        let name = &*call.name;
        let params = |ty: &Ty| match ty {
            Ty::Foreign(ForeignType::Kube(of), _) => of.is_params(),
            ty => matches!(ty, Ty::Patch { .. }),
        };
        let has_params = call.types.iter().any(params);
        match receiver {
            Ty::Api(..) if has_params || (call.awaited && call.len() > 0) => {
                let message = format!("`{name}` of an `Api` may make requests; its code is not analyzed");
                self.doubt(call.location, Cause::Unread(message));
            }
            Ty::Unknown | Ty::Infer(_) | Ty::Foreign(ForeignType::Unresolved(_), _) => {
                if self.given(call) && !table::is_plain(name) {
                    let message =
                        format!("`{name}` takes a client or an `Api`, but the type of its receiver is unknown");
                    return self.doubt(call.location, Cause::Unread(message));
                }
                if table::WATCHES.contains(&(name, call.len())) {
                    return self.doubt(call.location, Cause::Receiver(name.to_owned()));
                }
            }
            Ty::Foreign(found, _) => {
                let Some(krate) = found.krate().filter(|krate| self.tree.may_derive(krate)) else {
                    return match found {
                        ForeignType::K8s(_) => self.extended(call),
                        _ => self.clear(call.location),
                    };
                };
                if self.is_client(receiver) && (call.awaited || !call.explicit.is_empty()) {
                    return self.doubt(call.location, Cause::of_crate(name, krate));
                }
                self.handed(Some(krate), call);
            }
            _ => return self.extended(call),
        }
        if name == "publish" && publishes(call) {
            return self.doubt(call.location, Cause::Receiver(name.to_owned()));
        }
        let looks = table::METHODS.iter().any(|method| method.name == name && method.arguments == call.len());
        if looks && (table::is_telling(name) || has_params || self.is_plausible(frame, call)) {
            self.doubt(call.location, Cause::Receiver(name.to_owned()));
        }
    }

    /// A method that no package of the workspace declares, on a type that is known: a trait of another crate may add it.
    fn extended(&mut self, call: &CallSite<'_>) {
        if !self.given(call) || table::is_plain(&call.name) {
            return self.clear(call.location);
        }
        let message = format!("`{}` takes a client or an `Api`, but its trait is not in the source", call.name);
        self.doubt(call.location, Cause::Unread(message));
    }

    /// Returns true if a method with a plain name, such as `get`, may be one of `Api`: the call is awaited where
    /// requests can be made, and the name of the receiver says so, or the parameters are defaults.
    fn is_plausible(&self, frame: &CallFrame, call: &CallSite<'_>) -> bool {
        let named = call
            .receiver
            .and_then(name_of)
            .is_some_and(|name| name.split('_').any(|part| matches!(part, "api" | "apis") || part.ends_with("Api")));
        let defaults = call.arguments.iter().any(|expr| {
            let text = quote::ToTokens::to_token_stream(expr).to_string();
            matches!(text.as_str(), "& Default :: default ()" | "& Default :: default ( )")
        });
        call.awaited && (named || defaults) && self.has_client(frame)
    }

    /// A client or an `Api` is at hand.
    fn has_client(&self, frame: &CallFrame) -> bool {
        let client = |ty: &Ty| matches!(ty, Ty::Api(..)) || ty.is_kube(&Kube::Client);
        frame.locals.iter().flat_map(|names| names.values()).any(|ty| self.resolve(ty).any(&client))
    }
}

/// A closure is an argument, or in one: `Box::new(|x| …)`.
fn has_closure(expr: &Expr) -> bool {
    match peeled(expr) {
        Expr::Closure(_) => true,
        Expr::Call(call) => call.args.iter().any(has_closure),
        Expr::Cast(inner) => has_closure(&inner.expr),
        _ => false,
    }
}

/// A call of `publish` on a value of unknown type is that of a `Recorder`: it is given an event of kube or a reference to an
/// object, or the receiver is called so.
fn publishes(call: &CallSite<'_>) -> bool {
    let is_event = |ty: &Ty| ty.is_kube(&Kube::named("Event"));
    let is_reference =
        |ty: &Ty| matches!(ty, Ty::Foreign(ForeignType::K8s(path), _) if path.ends_with("::ObjectReference"));
    let refers = |expr: &&Expr| matches!(peeled(expr), Expr::MethodCall(call) if call.method == "object_ref");
    let given = call.types.iter().any(|ty| is_event(ty) || is_reference(ty)) || call.arguments.iter().any(refers);
    let named = || call.receiver.and_then(name_of).is_some_and(|name| name.to_lowercase().contains("recorder"));
    matches!(call.len(), 1 | 2) && (given || (call.awaited && named()))
}

/// The name of a value: a variable, a field, or the function that returns it.
fn name_of(expr: &Expr) -> Option<String> {
    match peeled(expr) {
        Expr::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
        Expr::Field(syn::ExprField { member: syn::Member::Named(name), .. }) => Some(name.to_string()),
        Expr::MethodCall(call) => Some(call.method.to_string()),
        Expr::Call(call) => name_of(&call.func),
        _ => None,
    }
}

/// An expression without references, parentheses, `?` and `.await`.
fn peeled(expr: &Expr) -> &Expr {
    match expr {
        Expr::Reference(inner) => peeled(&inner.expr),
        Expr::Paren(inner) => peeled(&inner.expr),
        Expr::Group(inner) => peeled(&inner.expr),
        Expr::Await(inner) => peeled(&inner.base),
        Expr::Try(inner) => peeled(&inner.expr),
        other => other,
    }
}
