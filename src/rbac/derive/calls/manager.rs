//! Calls of the methods of the manager.

use super::super::doubt::Cause;
use super::super::foreign::Kube;
use super::super::frame::Frame;
use super::super::manager::ManagerType;
use super::super::read::Reader;
use super::super::table::{self, ManagerRequest, ManagerReturns, Requested};
use super::super::types::Ty;
use super::Call;
use crate::rbac::RequestScope;
use crate::source::ItemRef;

impl Reader<'_> {
    pub(super) fn manager_method(
        &mut self,
        frame: &mut Frame,
        of: ManagerType,
        item: ItemRef,
        parts: &[Ty],
        call: &mut Call<'_>,
    ) -> Ty {
        let manager = Ty::Item(item, parts.to_vec());
        let inputs = if of == ManagerType::Manager { vec![manager.clone()] } else { parts.to_vec() };
        if (of, &*call.name) == (ManagerType::Controller, "run") {
            self.reconciles(frame, call, inputs);
        } else {
            self.arguments_with(frame, call, &inputs);
        }
        let Some((requests, returns)) = table::manager_method(of, &call.name) else {
            self.doubt(call.location, Cause::of_crate(&format!("{of:?}::{}", call.name), "manager"));
            return Ty::Unknown;
        };
        let kind = match (of, returns) {
            (ManagerType::Manager, ManagerReturns::Type(ManagerType::Controller)) => match call.get(1) {
                Ty::Item(_, kinds) => kinds.first().cloned().unwrap_or(Ty::Unknown),
                _ => Ty::Unknown,
            },
            (ManagerType::Manager, ManagerReturns::Type(ManagerType::Objects)) => {
                let kind = call.explicit.first().cloned().unwrap_or_else(|| self.types.inferred.fresh());
                let declared = self.manager_type(item, ManagerType::Objects, vec![kind.clone()]);
                self.unify(&declared, &call.expected);
                if &*call.name == "objects_with" { self.with_dynamic(&kind, &call.get(0)) } else { kind }
            }
            (ManagerType::Manager, _) => call.explicit.first().cloned().unwrap_or(Ty::Unknown),
            _ => parts.first().cloned().unwrap_or(Ty::Unknown),
        };
        self.manager_requests(of, requests, &kind, call);
        match returns {
            ManagerReturns::Receiver => manager,
            ManagerReturns::Type(of) => self.manager_type(item, of, vec![kind]),
            ManagerReturns::Client => Ty::kube(Kube::Client),
            ManagerReturns::Recorder => Ty::kube(Kube::Recorder),
            ManagerReturns::Api => Ty::reaching(kind, RequestScope::Cluster),
            ManagerReturns::Object => kind,
            ManagerReturns::List => Ty::many(kind),
            ManagerReturns::Nothing => Ty::Unknown,
        }
    }

    /// The arguments of `Controller::run`: a function of an object and the context, and the context.
    fn reconciles(&mut self, frame: &mut Frame, call: &mut Call<'_>, mut inputs: Vec<Ty>) {
        let [reconcile, context] = call.arguments[..] else { return self.arguments_of(frame, call) };
        let context = self.argument(frame, context, &Ty::Unknown, &[]);
        inputs.push(self.resolve(&context));
        let reconcile = self.argument(frame, reconcile, &Ty::Unknown, &inputs);
        if let Ty::Function(parts) = self.resolve(&reconcile) {
            for (parameter, input) in parts.iter().skip(1).zip(&inputs) {
                self.unify(parameter, input);
            }
        }
    }

    fn manager_requests(&mut self, of: ManagerType, requests: &[ManagerRequest], kind: &Ty, call: &Call<'_>) {
        let (location, name) = (call.location, &*call.name);
        let (shown, of_kind) = match of {
            ManagerType::Manager => (format!("Manager::{name}"), format!("Manager::{name}::<K>")),
            of => (format!("{of:?}::{name}"), format!("{of:?}<K>::{name}")),
        };
        for (requested, verbs, sub) in requests {
            match requested {
                Requested::Kind => {
                    let api = Ty::reaching(kind.clone(), RequestScope::Cluster);
                    self.request(location, &api, verbs, *sub, &of_kind);
                    if of == ManagerType::Objects && table::CREATING.contains(&name) {
                        let created = self.creates(location, kind, &call.get(2), format!("Objects::{name}"));
                        self.request(location, &api, created.as_slice(), None, &of_kind);
                    }
                }
                Requested::Own { of, role } => {
                    let api = Ty::reaching(Ty::k8s(of), RequestScope::Own);
                    self.request_in(role, location, &api, verbs, &shown);
                }
                Requested::All { of, role } => {
                    for path in *of {
                        let api = Ty::reaching(Ty::k8s(path), RequestScope::Cluster);
                        match role {
                            Some(role) => self.request_in(role, location, &api, verbs, &shown),
                            None => self.request(location, &api, verbs, *sub, &shown),
                        }
                    }
                }
            }
        }
    }

    /// A type of the manager by its name.
    pub(super) fn manager_type(&mut self, near: ItemRef, wanted: ManagerType, arguments: Vec<Ty>) -> Ty {
        let tree = self.tree;
        let krate = |item: ItemRef| tree.module_path(tree.module(item)).swap_remove(0);
        let found = self.managers.iter().find(|(item, known)| **known == wanted && krate(**item) == krate(near));
        found.map_or(Ty::Unknown, |(item, _)| Ty::Item(*item, arguments))
    }
}
