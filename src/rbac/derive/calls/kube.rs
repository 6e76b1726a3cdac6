//! Calls of kube and of other crates: where requests are made.

use std::collections::BTreeSet;
use std::rc::Rc;

use quote::ToTokens as _;

use super::super::doubt::Cause;
use super::super::foreign::{ForeignType, Kube, is_kube};
use super::super::frame::{CallFrame, Location};
use super::super::read::FunctionReader;
use super::super::resource::DerivedResource;
use super::super::table::{self, CallAnswer, KubeCall, Sub};
use super::super::types::{Reach, Ty};
use super::CallSite;
use crate::rbac::RequestScope;
use crate::source::ItemRef;
use crate::source::macros::words;

impl FunctionReader<'_> {
    /// `Api::all(client)` and its like.
    pub(super) fn api_constructor(&mut self, kind: &Rc<Ty>, call: &CallSite<'_>) -> Option<Ty> {
        let name = &*call.name;
        let scope = match (name, call.len()) {
            ("all", 1) | ("all_with", 2) | ("dynamic", 3) => RequestScope::Cluster,
            ("namespaced", 2) | ("namespaced_with", 3) => scope_of(&call.get(1)),
            ("default_namespaced", 1) | ("default_namespaced_with", 2) => RequestScope::Own,
            _ => return None,
        };
        let reach = if matches!(call.get(0), Ty::Elsewhere(_)) { Reach::Elsewhere } else { Reach::Here(scope) };
        let dynamic = match name {
            "all_with" | "default_namespaced_with" | "dynamic" => call.get(1),
            "namespaced_with" => call.get(2),
            _ => Ty::Unknown,
        };
        Some(Ty::Api(Rc::new(self.with_dynamic(kind, &dynamic)), BTreeSet::from([reach])))
    }

    /// The kind of a type, which may be that of a value beside it.
    pub(super) fn with_dynamic(&mut self, kind: &Ty, dynamic: &Ty) -> Ty {
        let spelled @ Ty::Dynamic(_) = self.resolve(dynamic) else {
            return kind.clone();
        };
        match self.resolve(kind) {
            // Types whose kind is a value.
            Ty::Foreign(ForeignType::Kube(Kube::DynamicObject | Kube::Object), _) => spelled,
            Ty::Foreign(ForeignType::Kube(Kube::DeserializeGuard | Kube::PartialObjectMeta), parts)
                if !parts.is_empty() =>
            {
                self.with_dynamic(&parts[0], dynamic)
            }
            Ty::Infer(_) | Ty::Unknown => {
                self.unify(kind, &Ty::kube(Kube::DynamicObject));
                spelled
            }
            other => other,
        }
    }

    pub(super) fn kube_associated(&mut self, of: &Kube, parts: &[Ty], call: &CallSite<'_>) -> Option<Ty> {
        let text = |position: usize| match call.get(position) {
            Ty::Text(text) => Some(text),
            _ => None,
        };
        match (of, &*call.name) {
            (Kube::Patch, "Apply") => Some(Ty::Patch { apply: true }),
            (Kube::Patch, "Merge" | "Json" | "Strategic") => Some(Ty::Patch { apply: false }),
            (Kube::GroupVersionKind, "gvk") => {
                Some(Ty::dynamic([DerivedResource::spelled(&text(0)?, &text(2)?, None)]))
            }
            (Kube::ApiResource, "from_gvk") => Some(call.get(0)),
            (Kube::ApiResource, "from_gvk_with_plural") => match (call.get(0), text(1)) {
                (Ty::Dynamic(kinds), Some(plural)) => {
                    let with = |kind: DerivedResource| DerivedResource { plural: plural.to_string(), ..kind };
                    Some(Ty::Dynamic(kinds.into_iter().map(|kind| kind.map(with)).collect()))
                }
                _ => Some(Ty::Unknown),
            },
            (Kube::ApiResource, "erase") => self.types.dynamic(call.explicit.first()?),
            (Kube::Controller, "new" | "new_with") => {
                let kind = match call.get(0) {
                    Ty::Api(kind, _) => (*kind).clone(),
                    _ => Ty::Unknown,
                };
                self.spelled(&call.get(0), parts.first());
                self.request(call.location, &call.get(0), watched(call), None, "Controller<K>::new");
                Some(Ty::Foreign(ForeignType::Kube(Kube::Controller), vec![kind]))
            }
            (Kube::Controller, _) => Some(Ty::Foreign(ForeignType::Kube(Kube::Controller), parts.to_vec())),
            (Kube::Kubeconfig, name) if !table::OWN_KUBECONFIG.contains(&name) => Some(Ty::Elsewhere(of.clone())),
            // A value that is made from parts of another cluster belongs to that cluster.
            (_, _) if call.types.iter().any(|ty| matches!(ty, Ty::Elsewhere(_))) => Some(Ty::Elsewhere(of.clone())),
            (Kube::Config, "infer" | "incluster" | "incluster_dns" | "incluster_env") => Some(Ty::kube(Kube::Config)),
            (Kube::Namespace, "from") => Some(Ty::Foreign(ForeignType::Kube(Kube::Namespace), vec![call.get(0)])),
            (_, "builder" | "default" | "new") => {
                let made = Ty::Foreign(ForeignType::Kube(of.clone()), parts.to_vec());
                self.unify(&made, &call.expected);
                Some(made)
            }
            _ => None,
        }
    }

    /// The kind of an `Api` is spelled as the type argument of the function that it is given to: `watcher::<Pod>(Api::all(client))`.
    fn spelled(&mut self, api: &Ty, kind: Option<&Ty>) {
        if let (Ty::Api(unknown, _), Some(kind)) = (api, kind) {
            self.unify(unknown, kind);
        }
    }

    /// A function of another crate.
    pub(super) fn foreign_call(&mut self, frame: &mut CallFrame, path: &[String], call: &mut CallSite<'_>) -> Ty {
        if let Some(last) = path.last() {
            call.name = last.as_str().into();
        }
        let known = table::foreign(path);
        if let (table::ForeignEffect::Wraps, Some(inner)) = (known, call.arguments.first().copied()) {
            return self.expr(frame, inner, &call.expected);
        }
        if is_kube(path) {
            return self.kube_call(frame, path, call);
        }
        self.arguments_of(frame, call);
        match known {
            table::ForeignEffect::Fails => Ty::Never,
            table::ForeignEffect::Argument(at) => match call.get(at) {
                Ty::Function(parts) => parts[0].clone(),
                ty => ty,
            },
            table::ForeignEffect::All => Ty::Tuple(call.types.clone()),
            table::ForeignEffect::Variable => match call.get(0) {
                Ty::Text(name) => self.variable_value(call.location, &name).unwrap_or(Ty::Unknown),
                _ => Ty::Unknown,
            },
            table::ForeignEffect::File => match call.get(0) {
                Ty::Text(path) if path.ends_with(table::NAMESPACE_FILE) => Ty::OwnNamespace,
                _ => Ty::Unknown,
            },
            table::ForeignEffect::Parsed => {
                match call.explicit.first().cloned().unwrap_or_else(|| self.resolve(&call.expected)) {
                    made if made.is_kube(&Kube::Kubeconfig) => Ty::Elsewhere(Kube::Kubeconfig),
                    Ty::Unknown => self.types.inferred.fresh(),
                    made => made,
                }
            }
            table::ForeignEffect::Wraps | table::ForeignEffect::Nothing => Ty::Unknown,
            table::ForeignEffect::Unknown => {
                self.handed(path.first().map(String::as_str), call);
                Ty::Unknown
            }
        }
    }

    /// A function of kube, or of a type of it.
    fn kube_call(&mut self, frame: &mut CallFrame, path: &[String], call: &mut CallSite<'_>) -> Ty {
        let of = path.len().checked_sub(2).map(|at| path[at].as_str()).unwrap_or_default();
        if of.starts_with(char::is_uppercase) {
            let ty = self.types.lower_foreign(&path[..path.len() - 1], Vec::new());
            return self.associated(frame, &ty, call);
        }
        let name = call.name.clone();
        let known = table::FUNCTIONS.iter().find(|known| known.name == &*name && known.arguments == call.len());
        let Some(known) = known else {
            self.arguments_of(frame, call);
            return match &*name {
                "reflector" => {
                    if let (Ty::Foreign(_, kinds), Ty::Many(element)) = (call.get(0), call.get(1))
                        && let Some(kind) = kinds.first()
                    {
                        self.unify(kind, &element);
                    }
                    call.get(1)
                }
                "applied_objects" | "touched_objects" => call.get(1),
                "store" | "store_shared" => {
                    let kind = call.explicit.first().cloned().unwrap_or_else(|| self.types.inferred.fresh());
                    let of = |found: Kube| Ty::Foreign(ForeignType::Kube(found), vec![kind.clone()]);
                    Ty::Tuple(vec![of(Kube::Store), of(Kube::Writer)])
                }
                _ => Ty::Unknown,
            };
        };
        for expr in call.arguments.clone() {
            // The closure of `finalizer` is given an event with the object.
            let kind = match call.types.first() {
                Some(Ty::Api(kind, _)) => (**kind).clone(),
                _ => Ty::Unknown,
            };
            let ty = self.argument(frame, expr, &Ty::Unknown, &[kind]);
            call.types.push(self.resolve(&ty));
        }
        let api = call.get(0);
        self.spelled(&api, call.explicit.first());
        let verbs = if known.verbs == table::WATCH { watched(call) } else { known.verbs };
        self.request(call.location, &api, verbs, None, &format!("{name}::<K>"));
        match (known.answer, self.resolve(&api)) {
            (CallAnswer::Objects, Ty::Api(kind, _)) => Ty::Many(kind),
            _ => Ty::Unknown,
        }
    }

    /// Notes the requests of a leader election.
    pub(super) fn elects(&mut self, election: &table::Election, call: &CallSite<'_>) {
        let api = match call.get(election.client) {
            Ty::Api(kind, reach) => {
                self.unify(&kind, &Ty::k8s(table::LEASE));
                Ty::Api(kind, reach)
            }
            client => {
                let scope = election.namespace.map_or(RequestScope::Namespaced, |at| scope_of(&call.get(at)));
                let reach = if matches!(client, Ty::Elsewhere(_)) { Reach::Elsewhere } else { Reach::Here(scope) };
                Ty::Api(Rc::new(Ty::k8s(table::LEASE)), BTreeSet::from([reach]))
            }
        };
        let shown = format!("{}::{}", election.name(), call.name);
        self.request(call.location, &api, election.verbs, None, &shown);
    }

    /// Says that a crate that knows kube is given an `Api` or a client: what it does with it is not read.
    pub(super) fn handed(&mut self, krate: Option<&str>, call: &CallSite<'_>) {
        let Some(krate) = krate else { return };
        if is_kube(&[krate.to_owned()]) || !self.tree.may_derive(krate) {
            return;
        }
        if self.given(call) {
            self.doubt(call.location, Cause::of_crate(&call.name, krate));
        }
    }

    /// Returns true if an argument of a call is or holds something that makes requests.
    pub(super) fn given(&mut self, call: &CallSite<'_>) -> bool {
        call.types.iter().any(|ty| self.holds_client(ty))
    }

    /// Returns true if a value is or holds a client, an `Api` or what is made from one, in its own fields as well.
    pub(super) fn holds_client(&mut self, ty: &Ty) -> bool {
        self.holds_client_beside(ty, &mut BTreeSet::new())
    }

    /// Like [`Self::holds_client`]. A type may hold itself, so the fields of each type in `seen` are left out.
    fn holds_client_beside(&mut self, ty: &Ty, seen: &mut BTreeSet<ItemRef>) -> bool {
        match self.resolve(ty) {
            Ty::Api(_, reach) => !(reach.len() == 1 && reach.contains(&Reach::Elsewhere)),
            Ty::Foreign(ForeignType::Kube(Kube::Controller | Kube::Entry | Kube::Recorder), _) => true,
            client if self.is_client(&client) => true,
            Ty::Item(item, parts) => {
                let fields = if seen.insert(item) { self.types.declared_parts(item) } else { Vec::new() };
                fields.iter().chain(&parts).any(|part| self.holds_client_beside(part, seen))
            }
            Ty::Foreign(_, parts) | Ty::Tuple(parts) => parts.iter().any(|part| self.holds_client_beside(part, seen)),
            Ty::Many(part) | Ty::Map(part) => self.holds_client_beside(&part, seen),
            _ => false,
        }
    }

    /// A client of kube, or of a crate that is built on it.
    pub(super) fn is_client(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Foreign(ForeignType::Kube(of), _) => *of == Kube::Client,
            Ty::Foreign(found @ ForeignType::Other(path), _) => {
                path.ends_with("::Client") && found.krate().is_some_and(|krate| self.tree.may_derive(krate))
            }
            _ => false,
        }
    }

    /// A method of `Api`, with its arguments still to be looked at.
    pub(super) fn api_call(&mut self, frame: &mut CallFrame, receiver: &Ty, call: &mut CallSite<'_>) -> Option<Ty> {
        let name = call.name.clone();
        if table::METHODS.iter().any(|method| method.name == &*name && method.arguments == call.len()) {
            self.arguments_of(frame, call);
            return self.api_method(frame, receiver, call);
        }
        let Ty::Api(_, reach) = receiver else { return None };
        match (&*name, call.len()) {
            ("into_client", 0) if reach.len() == 1 && reach.contains(&Reach::Elsewhere) => {
                Some(Ty::Elsewhere(Kube::Client))
            }
            ("into_client", 0) => Some(Ty::kube(Kube::Client)),
            ("namespace", 0) => Some(Ty::Unknown),
            _ => None,
        }
    }

    /// A method of a client of another cluster, or of what is made from one: its requests are none here.
    pub(super) fn elsewhere_method(&mut self, frame: &mut CallFrame, of: &Kube, call: &mut CallSite<'_>) -> Ty {
        self.arguments_of(frame, call);
        let (location, name) = (call.location, call.name.clone());
        if let Some(KubeCall::Sends | KubeCall::Reads | KubeCall::Lists | KubeCall::Requests(..)) =
            table::kube_method(of, &name, call.len())
        {
            self.doubt(location, Cause::Cluster(format!("{}::{name}", of.name())));
            return call.explicit.first().cloned().unwrap_or(Ty::Unknown);
        }
        if &*name == "default_namespace" { Ty::foreign(ForeignType::String) } else { Ty::Elsewhere(of.clone()) }
    }

    /// A method of `Api`, and what it requests.
    pub(super) fn api_method(&mut self, frame: &mut CallFrame, receiver: &Ty, call: &mut CallSite<'_>) -> Option<Ty> {
        let (location, name) = (call.location, call.name.clone());
        let method = table::METHODS.iter().find(|method| method.name == &*name && method.arguments == call.len())?;
        self.arguments_of(frame, call);
        let Ty::Api(kind, _) = receiver else { return None };
        if matches!(&*name, "create" | "replace") {
            let data = call.get(call.len() - 1);
            self.unify(kind, &data);
        }
        let sub = match method.sub {
            Sub::None => None,
            Sub::Named(sub) => Some(sub.to_owned()),
            Sub::First => {
                if let Ty::Text(sub) = self.resolve(&call.get(0)) {
                    self.clear(location);
                    Some(sub.to_string())
                } else {
                    let of = self.resource_names(kind);
                    self.doubt(location, Cause::Subresource { method: name.to_string(), of });
                    return Some((**kind).clone());
                }
            }
        };
        let mut verbs = method.verbs.to_vec();
        if table::CREATING.contains(&&*name) {
            verbs.extend(self.creates(location, kind, &call.get(2), format!("Api::{name}")));
        }
        self.request(location, receiver, &verbs, sub.as_deref(), &format!("Api<K>::{name}"));
        Some(match method.answer {
            CallAnswer::Object => match &**kind {
                Ty::Dynamic(_) => Ty::kube(Kube::DynamicObject),
                kind => kind.clone(),
            },
            CallAnswer::Objects => Ty::Many(kind.clone()),
            CallAnswer::Entry => Ty::Foreign(ForeignType::Kube(Kube::Entry), vec![receiver.clone()]),
            CallAnswer::Other => Ty::Unknown,
        })
    }

    pub(super) fn kube_method(
        &mut self,
        frame: &mut CallFrame,
        of: &Kube,
        parts: &[Ty],
        call: &mut CallSite<'_>,
    ) -> Option<Ty> {
        let (location, name) = (call.location, call.name.clone());
        let kind = || parts.first().cloned().unwrap_or(Ty::Unknown);
        let means = table::kube_method(of, &name, call.len())?;
        let shown = format!("{}::{name}", of.name());
        match means {
            KubeCall::OwnNamespace | KubeCall::Commits | KubeCall::Objects => {}
            KubeCall::Runs | KubeCall::Object => self.arguments_with(frame, call, &[kind()]),
            _ => self.arguments_of(frame, call),
        }
        match means {
            KubeCall::Watches => {
                self.spelled(&call.get(0), call.explicit.first());
                self.request(location, &call.get(0), watched(call), None, &format!("{shown}::<K>"));
                Some(Ty::Foreign(ForeignType::Kube(of.clone()), parts.to_vec()))
            }
            KubeCall::Runs => {
                if let Ty::Function(parts) = call.get(0)
                    && let Some(object) = parts.get(1)
                {
                    self.unify(object, &kind());
                }
                Some(Ty::many(Ty::Unknown))
            }
            KubeCall::WatchesAll => {
                let kind = call.explicit.first().cloned().unwrap_or_else(|| self.types.inferred.fresh());
                let api = Ty::reaching(kind.clone(), RequestScope::Cluster);
                self.request(location, &api, watched(call), None, &format!("{shown}::<K>"));
                Some(Ty::many(kind))
            }
            KubeCall::Requests(of, scope, verbs) => {
                self.request(location, &Ty::reaching(Ty::k8s(of), scope), verbs, None, &shown);
                Some(Ty::Unknown)
            }
            KubeCall::OwnNamespace => Some(Ty::OwnNamespace),
            KubeCall::Client => Some(Ty::kube(Kube::Client)),
            KubeCall::Sends => {
                let message = format!("`{shown}`: requests by path are not analyzed");
                self.doubt(location, Cause::Unread(message));
                Some(call.explicit.first().cloned().unwrap_or(Ty::Unknown))
            }
            KubeCall::Unread(krate) => {
                self.doubt(location, Cause::of_crate(&shown, krate));
                Some(Ty::Unknown)
            }
            KubeCall::Reads => Some(self.client_request(call, "get", |kind| kind)),
            KubeCall::Lists => Some(self.client_request(call, "list", Ty::many)),
            KubeCall::Commits => {
                if let Some(api @ Ty::Api(..)) = parts.first() {
                    self.request(location, api, table::COMMIT, None, "Api<K>::entry.commit");
                }
                None
            }
            KubeCall::Objects => Some(Ty::many(kind())),
            KubeCall::Object => Some(kind()),
        }
    }

    /// A request of `Client` by its type argument.
    fn client_request(&mut self, call: &CallSite<'_>, verb: &str, answer: fn(Ty) -> Ty) -> Ty {
        let kind = call.explicit.first().cloned().unwrap_or_else(|| self.types.inferred.fresh());
        let answer = answer(kind.clone());
        self.unify(&answer, &call.expected);
        let scope = match call.get(1) {
            Ty::Foreign(ForeignType::Kube(Kube::Cluster), _) => RequestScope::Cluster,
            Ty::Foreign(ForeignType::Kube(Kube::Namespace), name) => {
                name.first().map_or(RequestScope::Namespaced, scope_of)
            }
            _ => RequestScope::Namespaced,
        };
        let shown = format!("Client::{}::<K>", call.name);
        self.request(call.location, &Ty::reaching(kind, scope), &[verb], None, &shown);
        answer
    }

    /// The verb that a patch needs besides `patch`: a server-side apply creates missing objects.
    pub(super) fn creates(
        &mut self,
        location: Location,
        kind: &Ty,
        patch: &Ty,
        method: String,
    ) -> Option<&'static str> {
        if let Ty::Patch { apply } = self.resolve(patch) {
            self.clear(location);
            return apply.then_some("create");
        }
        let of = self.resource_names(kind);
        self.doubt(location, Cause::Patch { method, of });
        None
    }

    /// Group and plural of the resources that a kind stands for; none while it is not known.
    fn resource_names(&self, kind: &Ty) -> Option<Vec<(String, String)>> {
        let resources = self.types.kinds.resources(&self.resolve(kind))?;
        Some(resources.into_iter().map(|resource| (resource.group, resource.plural)).collect())
    }

    /// The value of an environment variable. Adds a doubt if it is only probably the namespace of the pod.
    pub(in crate::rbac::derive) fn variable_value(&mut self, location: Location, variable: &str) -> Option<Ty> {
        let environment = &self.question.environment;
        if variable == table::OWN_NAMESPACE || environment.is_own_namespace(variable) {
            return Some(Ty::OwnNamespace);
        }
        if let Some(value) = environment.value(variable) {
            return Some(Ty::text(value));
        }
        if table::may_be_own(variable) {
            self.doubt(location, Cause::Namespace(variable.to_owned()));
        }
        None
    }

    /// The value of a flag in the manifests of the operator.
    pub(in crate::rbac::derive) fn flag_value(&self, flag: &str) -> Option<Ty> {
        let environment = &self.question.environment;
        let value = environment.flag(flag)?;
        Some(match value.strip_prefix("$(").and_then(|value| value.strip_suffix(')')) {
            Some(name) if name == table::OWN_NAMESPACE || environment.is_own_namespace(name) => Ty::OwnNamespace,
            Some(_) => return None,
            None => Ty::text(value),
        })
    }
}

/// The scope of the requests of `Api::namespaced` with this namespace.
fn scope_of(namespace: &Ty) -> RequestScope {
    match namespace {
        Ty::Text(name) => RequestScope::Namespace(name.to_string()),
        Ty::OwnNamespace => RequestScope::Own,
        Ty::ObjectNamespace => RequestScope::OfObject,
        _ => RequestScope::Namespaced,
    }
}

/// The verbs of a watch that is set up here.
fn watched(call: &CallSite<'_>) -> &'static [&'static str] {
    let streaming =
        call.arguments.iter().any(|expr| words(expr.to_token_stream()).iter().any(|word| word == "streaming_lists"));
    if streaming { &["watch"] } else { table::WATCH }
}
