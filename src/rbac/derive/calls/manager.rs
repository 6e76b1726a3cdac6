//! Calls of the methods of the manager.

use super::super::doubt::Cause;
use super::super::foreign::Kube;
use super::super::frame::CallFrame;
use super::super::index::FunctionId;
use super::super::manager::{self, ManagerType, Requested};
use super::super::read::FunctionReader;
use super::super::types::Ty;
use super::CallSite;
use crate::rbac::RequestScope;

impl FunctionReader<'_> {
    /// A call of a method of a manager's type: its markers declare the requests, its signature the result.
    pub(super) fn manager_method(
        &mut self,
        frame: &mut CallFrame,
        of: ManagerType,
        id: FunctionId,
        receiver: Ty,
        call: &mut CallSite<'_>,
    ) -> Ty {
        let inputs = if of == ManagerType::Manager { vec![receiver.clone()] } else { receiver.parts().to_vec() };
        if (of, &*call.name) == (ManagerType::Controller, "run") {
            self.reconciles(frame, call, inputs);
        } else {
            self.arguments_with(frame, call, &inputs);
        }
        let Some(requests) = manager::requests(of, &call.name) else {
            self.doubt(call.location, Cause::of_crate(&format!("{of:?}::{}", call.name), "manager"));
            return Ty::Unknown;
        };
        let mut signature = self.types.signature(id, Some(receiver), Some(&call.explicit));
        self.unify(&signature.output, &call.expected);
        let patch = signature.parameters.iter().position(|parameter| parameter.is_kube(&Kube::Patch));
        self.types.inferred.accept_each(&mut signature.parameters, &call.types);
        // A value of kube's `ApiResource` names the kind of dynamic objects.
        let dynamic = call.types.iter().find(|ty| matches!(ty, Ty::Dynamic(_))).cloned().unwrap_or(Ty::Unknown);
        let (location, name) = (call.location, &*call.name);
        let (shown, of_kind) = match of {
            ManagerType::Manager => (format!("Manager::{name}"), format!("Manager::{name}::<K>")),
            of => (format!("{of:?}::{name}"), format!("{of:?}<K>::{name}")),
        };
        let mut output = signature.output;
        for request in requests {
            let Requested::Parameter(parameter) = request.of else {
                self.manager_request(location, request, &Ty::Unknown, &shown);
                continue;
            };
            let declared = signature.scope.generics.get(parameter).cloned().unwrap_or(Ty::Unknown);
            let kind = self.with_dynamic(&declared, &dynamic);
            output = output.map(&|part| (*part == declared).then(|| kind.clone()));
            self.manager_request(location, request, &kind, &of_kind);
            if let Some(patch) = patch {
                let created = self.creates(location, &kind, &call.get(patch), shown.clone());
                let api = Ty::reaching(kind, RequestScope::Cluster);
                self.request(location, &api, created.as_slice(), None, &of_kind);
            }
        }
        match self.resolve(&output) {
            Ty::Api(kind, reach) if reach.is_empty() => Ty::reaching((*kind).clone(), RequestScope::Cluster),
            output => output,
        }
    }

    /// The arguments of `Controller::run`: a function of an object and the context, and the context.
    fn reconciles(&mut self, frame: &mut CallFrame, call: &mut CallSite<'_>, mut inputs: Vec<Ty>) {
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
}
