//! Calls of kube and of other crates: where requests are made.

use std::collections::BTreeSet;
use std::rc::Rc;

use syn::Expr;

use super::super::doubt::Cause;
use super::super::lower::is_kube;
use super::super::read::{Frame, Place, Reader};
use super::super::table::{self, Answer, Sub};
use super::super::types::{Gvk, Reach, Ty};
use super::Call;

impl Reader<'_> {
    /// `Api::all(client)` and its like.
    pub(super) fn api_constructor(&mut self, kind: &Rc<Ty>, call: &Call<'_>) -> Option<Ty> {
        let name = &*call.name;
        let reach = match (name, call.len()) {
            ("all", 1) | ("all_with", 2) | ("dynamic", 3) => Reach::All,
            ("namespaced", 2) | ("namespaced_with", 3) => reach_of(&call.get(1)),
            ("default_namespaced", 1) | ("default_namespaced_with", 2) => Reach::Own,
            _ => return None,
        };
        let reach = if matches!(call.get(0), Ty::Elsewhere(_)) { Reach::Elsewhere } else { reach };
        let dynamic = match name {
            "all_with" | "default_namespaced_with" | "dynamic" => call.get(1),
            "namespaced_with" => call.get(2),
            _ => Ty::Unknown,
        };
        let kind = match self.inferred.resolve(&dynamic) {
            spelled @ Ty::Dynamic(_) => {
                let declared = self.inferred.resolve(kind);
                match declared {
                    // Types whose kind is a value.
                    Ty::Foreign(path, _) if path.ends_with("DynamicObject") || &*path == "kube::Object" => spelled,
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
    pub(super) fn dynamic(&self, kind: &Ty) -> Option<Ty> {
        let resources = self.kinds.resources(&self.inferred.resolve(kind))?;
        let spelled = resources.into_iter().map(|found| Gvk {
            group: found.group.into(),
            kind: found.name.into(),
            plural: Some(found.plural.into()),
        });
        Some(Ty::Dynamic(spelled.collect()))
    }

    /// A function of a type of kube.
    pub(super) fn kube_associated(&mut self, of: &str, parts: &[Ty], call: &Call<'_>) -> Option<Ty> {
        let text = |position: usize| match call.get(position) {
            Ty::Text(text) => Some(text),
            _ => None,
        };
        match (of, &*call.name) {
            ("Patch", "Apply") => Some(Ty::Patch { apply: true }),
            ("Patch", "Merge" | "Json" | "Strategic") => Some(Ty::Patch { apply: false }),
            ("GroupVersionKind", "gvk") => {
                let kind = Gvk { group: text(0)?, kind: text(2)?, plural: None };
                Some(Ty::Dynamic(BTreeSet::from([kind])))
            }
            ("ApiResource", "from_gvk") => Some(call.get(0)),
            ("ApiResource", "from_gvk_with_plural") => match (call.get(0), text(1)) {
                (Ty::Dynamic(kinds), Some(plural)) => {
                    let with = |kind: Gvk| Gvk { plural: Some(plural.clone()), ..kind };
                    Some(Ty::Dynamic(kinds.into_iter().map(with).collect()))
                }
                _ => Some(Ty::Unknown),
            },
            ("ApiResource", "erase") => self.dynamic(call.explicit.first()?),
            ("Controller", "new" | "new_with") => {
                let kind = match call.get(0) {
                    Ty::Api(kind, _) => (*kind).clone(),
                    _ => Ty::Unknown,
                };
                self.spelled(&call.get(0), parts.first());
                self.watch(call, "Controller<{}>::new");
                Some(Ty::Foreign("kube::Controller".into(), vec![kind]))
            }
            ("Controller", _) => Some(Ty::Foreign("kube::Controller".into(), parts.to_vec())),
            ("Kubeconfig", name) if !table::OWN_KUBECONFIG.contains(&name) => Some(Ty::Elsewhere(of.into())),
            // What is made from something of another cluster is of that cluster.
            (_, _) if call.types.iter().any(|ty| matches!(ty, Ty::Elsewhere(_))) => Some(Ty::Elsewhere(of.into())),
            ("Config", "infer" | "incluster" | "incluster_dns" | "incluster_env") => Some(Ty::foreign("kube::Config")),
            ("Namespace", "from") => Some(Ty::Foreign("kube::Namespace".into(), vec![call.get(0)])),
            ("Request", "new") => None,
            (_, "default" | "new") => {
                let made = Ty::Foreign(format!("kube::{of}").into(), parts.to_vec());
                self.inferred.unify(&made, &call.expected);
                Some(made)
            }
            _ => None,
        }
    }

    /// The list and watch of an `Api` that is given first.
    fn watch(&mut self, call: &Call<'_>, shown: &str) {
        self.with_api(call.place, &call.get(0), watched(call), shown);
    }

    /// The kind of an `Api` is spelled as the type argument of the function that it is given to: `watcher::<Pod>(Api::all(client))`.
    fn spelled(&mut self, api: &Ty, kind: Option<&Ty>) {
        if let (Ty::Api(unknown, _), Some(kind)) = (api, kind) {
            self.inferred.unify(unknown, kind);
        }
    }

    pub(super) fn with_api(&mut self, place: Place, api: &Ty, verbs: &[&str], call: &str) {
        match self.inferred.resolve(api) {
            Ty::Api(kind, reach) => self.request(place, (&kind, &reach), verbs, None, call),
            _ => self.request(place, (&Ty::Unknown, &BTreeSet::new()), verbs, None, call),
        }
    }

    pub(super) fn election(&mut self, place: Place, namespace: &Ty, call: &str) {
        let reach = BTreeSet::from([match reach_of(namespace) {
            Reach::Some | Reach::OfObject => Reach::Own,
            reach => reach,
        }]);
        let verbs = &["create", "get", "patch"];
        self.request(place, (&Ty::foreign(table::LEASE), &reach), verbs, None, call);
    }

    /// A function of another crate.
    pub(super) fn foreign_call(&mut self, frame: &mut Frame, path: &[String], call: &mut Call<'_>) -> Ty {
        let name = call.name.clone();
        if path[0] == "std" && matches!(&*name, "Some" | "Ok") {
            return match call.arguments.first() {
                Some(inner) => self.expr(frame, inner, &call.expected),
                None => Ty::Unknown,
            };
        }
        if path[0] == "std" && &*name == "Err" {
            self.arguments_of(frame, call);
            return Ty::Never;
        }
        if is_kube(path) {
            return self.kube_call(frame, path, call);
        }
        self.arguments_of(frame, call);
        if let Some(known) = self.read_value(call.place, path, &call.get(0)) {
            return known;
        }
        if path[0] == "std" || path[0] == "tokio" || path[0] == "futures" || path[0] == "futures_util" {
            return match &*name {
                "join_all" | "try_join_all" | "iter" | "select_all" => call.get(0),
                "spawn" | "timeout" | "pin" | "take" | "replace" | "Owned" | "Borrowed" | "ready" | "block_on"
                | "block_in_place" => match call.get(usize::from(&*name == "timeout")) {
                    Ty::Function(output) => (*output).clone(),
                    ty => ty,
                },
                "join" | "try_join" | "zip" => Ty::Tuple(call.types.clone()),
                _ => Ty::Unknown,
            };
        }
        if path[0] == "serde_json" || path[0] == "serde_yaml" {
            let made = call.explicit.first().cloned().unwrap_or_else(|| self.inferred.resolve(&call.expected));
            return match made {
                made if made.is_kube("Kubeconfig") => Ty::Elsewhere("Kubeconfig".into()),
                Ty::Unknown => self.inferred.fresh(),
                made => made,
            };
        }
        self.handed(Some(&path[0]), call);
        Ty::Unknown
    }

    /// A function of kube, or of a type of it.
    fn kube_call(&mut self, frame: &mut Frame, path: &[String], call: &mut Call<'_>) -> Ty {
        let of = path.len().checked_sub(2).map(|at| path[at].as_str()).unwrap_or_default();
        if of.starts_with(char::is_uppercase) {
            let ty = self.lower_foreign(&path[..path.len() - 1], Vec::new());
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
                        self.inferred.unify(kind, &element);
                    }
                    call.get(1)
                }
                "applied_objects" | "touched_objects" => call.get(1),
                "store" | "store_shared" => {
                    let kind = call.explicit.first().cloned().unwrap_or_else(|| self.inferred.fresh());
                    let of = |name: &str| Ty::Foreign(format!("kube::{name}").into(), vec![kind.clone()]);
                    Ty::Tuple(vec![of("Store"), of("Writer")])
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
            call.types.push(self.inferred.resolve(&ty));
        }
        let api = call.get(known.api);
        self.spelled(&api, call.explicit.first());
        let verbs = if known.verbs == table::WATCH { watched(call) } else { known.verbs };
        self.with_api(call.place, &api, verbs, &format!("{name}::<{{}}>"));
        match (&*name, self.inferred.resolve(&api)) {
            ("watcher" | "metadata_watcher" | "watch_object", Ty::Api(kind, _)) => Ty::Many(kind),
            _ => Ty::Unknown,
        }
    }

    /// Says that a crate that knows kube is given an `Api` or a client: what it does with it is not read.
    pub(super) fn handed(&mut self, krate: Option<&str>, call: &Call<'_>) {
        let Some(krate) = krate else { return };
        if is_kube(&[krate.to_owned()]) || !self.tree.knows_kube(krate) {
            return;
        }
        let asks = |ty: &Ty| matches!(ty, Ty::Api(..)) || self.is_client(ty);
        if call.types.iter().any(|ty| ty.any(&asks)) {
            self.doubt(call.place, Cause::Crate { function: call.name.to_string(), krate: krate.to_owned() });
        }
    }

    /// A client of kube, or of a crate that is built on it.
    pub(super) fn is_client(&self, ty: &Ty) -> bool {
        let Ty::Foreign(path, _) = ty else { return false };
        let krate = path.split("::").next().unwrap_or_default();
        path.ends_with("::Client") && (krate == "kube" || self.tree.knows_kube(krate))
    }

    /// A method of `Api`, with its arguments still to be looked at.
    pub(super) fn api_call(&mut self, frame: &mut Frame, receiver: &Ty, call: &mut Call<'_>) -> Option<Ty> {
        let name = call.name.clone();
        if table::METHODS.iter().any(|method| method.name == &*name && method.arguments == call.len()) {
            self.arguments_of(frame, call);
            return self.api_method(frame, receiver, call);
        }
        let Ty::Api(kind, reach) = receiver else { return None };
        let elsewhere = reach.len() == 1 && reach.contains(&Reach::Elsewhere);
        let reach = match (&*name, call.len()) {
            ("into_client", 0) if elsewhere => return Some(Ty::Elsewhere("Client".into())),
            ("constrain" | "unconstrain" | "constrain_default", _) if elsewhere => reach.clone(),
            ("constrain", 1) => {
                self.arguments_of(frame, call);
                BTreeSet::from([reach_of(&call.get(0))])
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

    /// A method of a client of another cluster, or of what is made from one: its requests are none here.
    pub(super) fn elsewhere_method(&mut self, frame: &mut Frame, of: &Rc<str>, call: &mut Call<'_>) -> Ty {
        self.arguments_of(frame, call);
        let (place, name) = (call.place, call.name.clone());
        let by_type = table::CLIENT.iter().any(|known| known.0 == &*name && known.1 == call.len());
        let requests = match &**of {
            "Client" => by_type || table::SEND.contains(&&*name),
            "Recorder" => &*name == "publish",
            _ => false,
        };
        if requests {
            self.doubt(place, Cause::Cluster { call: format!("{of}::{name}") });
            return call.explicit.first().cloned().unwrap_or(Ty::Unknown);
        }
        match &*name {
            "default_namespace" => Ty::foreign("std::string::String"),
            _ => Ty::Elsewhere(of.clone()),
        }
    }

    /// A method of `Api`, and what it requests.
    pub(super) fn api_method(&mut self, frame: &mut Frame, receiver: &Ty, call: &mut Call<'_>) -> Option<Ty> {
        let (place, name) = (call.place, call.name.clone());
        let method = table::METHODS.iter().find(|method| method.name == &*name && method.arguments == call.len())?;
        self.arguments_of(frame, call);
        let Ty::Api(kind, reach) = receiver else { return None };
        if matches!(&*name, "create" | "replace") {
            let data = call.get(call.len() - 1);
            self.inferred.unify(kind, &data);
        }
        if method.verbs == ["get"] && method.answer == Answer::Object && method.sub == Sub::None {
            self.reads(place);
        }
        let sub = match method.sub {
            Sub::None => None,
            Sub::Named(sub) => Some(sub.to_owned()),
            Sub::First => {
                if let Ty::Text(sub) = self.inferred.resolve(&call.get(0)) {
                    self.clear(place);
                    Some(sub.to_string())
                } else {
                    self.doubt(place, Cause::Subresource { method: name.to_string() });
                    return Some((**kind).clone());
                }
            }
        };
        let mut verbs = method.verbs.to_vec();
        if table::CREATING.contains(&&*name) {
            if let Ty::Patch { apply } = self.inferred.resolve(&call.get(2)) {
                self.clear(place);
                let existing = match (call.receiver, call.arguments.as_slice()) {
                    (Some(api), [name, _, patch]) => self.applies_existing(frame, api, name, patch),
                    _ => false,
                };
                verbs.extend((apply && !existing).then_some("create"));
            } else {
                self.doubt(place, Cause::Patch { method: format!("Api::{name}") });
            }
        }
        self.request(place, (kind, reach), &verbs, sub.as_deref(), &format!("Api<{{}}>::{name}"));
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

    /// A method of a type of kube.
    pub(super) fn kube_method(
        &mut self,
        frame: &mut Frame,
        (of, parts): (&str, &[Ty]),
        call: &mut Call<'_>,
    ) -> Option<Ty> {
        let (place, name) = (call.place, call.name.clone());
        let ty = Ty::Foreign(format!("kube::{of}").into(), parts.to_vec());
        match (of, &*name) {
            ("Controller", _) if table::CONTROLLER.contains(&(&*name, call.len())) => {
                self.arguments_of(frame, call);
                self.spelled(&call.get(0), call.explicit.first());
                self.watch(call, &format!("Controller::{name}::<{{}}>"));
                Some(ty)
            }
            ("Controller", "run") => {
                let kind = parts.first().cloned().unwrap_or(Ty::Unknown);
                self.arguments_with(frame, call, &[kind]);
                Some(Ty::many(Ty::Unknown))
            }
            ("Recorder", "publish") => {
                self.arguments_of(frame, call);
                let reach = BTreeSet::from([Reach::Some]);
                let verbs = table::publish(call.len());
                self.request(place, (&Ty::foreign(table::EVENT), &reach), verbs, None, "Recorder::publish");
                Some(Ty::Tuple(Vec::new()))
            }
            ("Client", "default_namespace") => Some(Ty::OwnNamespace),
            ("Client", _) if table::SEND.contains(&&*name) => {
                self.arguments_of(frame, call);
                match call.get(0) {
                    Ty::Request { verb, path } if !path.is_empty() => {
                        self.clear(place);
                        self.sent(place, &verb, &path, &name);
                    }
                    _ => self.doubt(place, Cause::Path { method: name.to_string() }),
                }
                Some(call.explicit.first().cloned().unwrap_or(Ty::Unknown))
            }
            ("Client", _) => {
                let (_, _, verb) = table::CLIENT.iter().find(|known| known.0 == &*name && known.1 == call.len())?;
                self.arguments_of(frame, call);
                let kind = call.explicit.first().cloned().unwrap_or_else(|| self.inferred.fresh());
                let answer = if &*name == "list" { Ty::many(kind.clone()) } else { kind.clone() };
                self.inferred.unify(&answer, &call.expected);
                let reach = BTreeSet::from([match call.get(1) {
                    Ty::Foreign(path, _) if &*path == "kube::Cluster" => Reach::All,
                    Ty::Foreign(path, name) if &*path == "kube::Namespace" => {
                        name.first().map_or(Reach::Some, reach_of)
                    }
                    _ => Reach::Some,
                }]);
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
            ("Store", "state") => Some(Ty::many(parts.first().cloned().unwrap_or(Ty::Unknown))),
            ("Store", "get" | "find") => {
                let object = parts.first().cloned().unwrap_or(Ty::Unknown);
                self.arguments_with(frame, call, std::slice::from_ref(&object));
                Some(object)
            }
            ("Discovery" | "ApiGroup", _) => {
                self.arguments_of(frame, call);
                Some(if matches!(&*name, "run" | "run_aggregated" | "filter" | "exclude") { ty } else { Ty::Unknown })
            }
            _ => None,
        }
    }

    /// What is read from outside of the program: `std::env::var("POD_NAMESPACE")`, or the file that every pod has.
    fn read_value(&mut self, place: Place, path: &[String], argument: &Ty) -> Option<Ty> {
        let Ty::Text(text) = argument else { return None };
        match path.last()?.as_str() {
            "var" if path.iter().any(|part| part == "env") => self.variable_value(place, text),
            "read_to_string" => text.ends_with(table::NAMESPACE_FILE).then_some(Ty::OwnNamespace),
            _ => None,
        }
    }

    /// What an environment variable holds; that it only may be the namespace of the pod is said.
    pub(in crate::rbac::derive) fn variable_value(&mut self, place: Place, variable: &str) -> Option<Ty> {
        let environment = &self.question.environment;
        if variable == table::OWN_NAMESPACE || environment.is_own_namespace(variable) {
            return Some(Ty::OwnNamespace);
        }
        if let Some(value) = environment.value(variable) {
            return Some(Ty::text(value));
        }
        if table::may_be_own(variable) {
            self.doubt(place, Cause::Namespace { variable: variable.to_owned() });
        }
        None
    }

    /// What a flag is set to where the operator runs.
    pub(in crate::rbac::derive) fn flag_value(&self, flag: &str) -> Option<Ty> {
        let environment = &self.question.environment;
        let value = environment.flag(flag)?;
        Some(match value.strip_prefix("$(").and_then(|value| value.strip_suffix(')')) {
            Some(name) if name == table::OWN_NAMESPACE || environment.is_own_namespace(name) => Ty::OwnNamespace,
            Some(_) => return None,
            None => Ty::text(value),
        })
    }

    /// A request with a path: what the API server makes of it.
    pub(super) fn sent(&mut self, place: Place, method: &str, path: &str, call: &str) {
        let call = format!("Client::{call}");
        let Some((group, resource, named, namespace)) = resource_of(path) else {
            let path = path.split('?').next().unwrap_or_default();
            if !table::is_open(method, path) {
                self.request_url(place, path, method, &call);
            }
            return;
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
}

pub(super) fn request_builder(receiver: &Ty, call: &Call<'_>) -> Ty {
    let Ty::Request { verb, path } = receiver else { return Ty::Unknown };
    match (&*call.name, call.get(0)) {
        ("uri", Ty::Text(path)) => Ty::Request { verb: verb.clone(), path },
        ("method", Ty::Text(method)) => Ty::Request { verb: method.to_lowercase().into(), path: path.clone() },
        ("uri", _) => Ty::foreign("http::Request"),
        _ => receiver.clone(),
    }
}

/// Where the requests of `Api::namespaced` with this namespace go.
pub(super) fn reach_of(namespace: &Ty) -> Reach {
    match namespace {
        Ty::Text(name) => Reach::Named(name.clone()),
        Ty::OwnNamespace => Reach::Own,
        Ty::ObjectNamespace => Reach::OfObject,
        _ => Reach::Some,
    }
}

/// What a watch that is set up here requests.
pub(super) fn watched(call: &Call<'_>) -> &'static [&'static str] {
    let streaming = call.arguments.iter().any(|expr| says(expr, "streaming_lists"));
    if streaming { &["watch"] } else { table::WATCH }
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
pub(super) fn http(call: &Call<'_>) -> Option<Ty> {
    let path = match call.types.first() {
        Some(Ty::Text(path)) => path.clone(),
        None => "".into(),
        Some(_) => return None,
    };
    match &*call.name {
        name @ ("get" | "post" | "put" | "patch" | "delete") => Some(Ty::Request { verb: name.into(), path }),
        "builder" => Some(Ty::Request { verb: "get".into(), path }),
        _ => None,
    }
}

/// Group, resource with subresource, whether an object is named, and the namespace of a path of the API.
pub(super) fn resource_of(path: &str) -> Option<(String, String, bool, Option<String>)> {
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
