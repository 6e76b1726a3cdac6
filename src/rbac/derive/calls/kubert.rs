//! Calls of kubert's runtime: <https://docs.rs/kubert>. Everything else of kubert is a doubt.

use super::super::doubt::Cause;
use super::super::foreign::{Foreign, Kube};
use super::super::frame::Frame;
use super::super::read::Reader;
use super::super::table;
use super::super::types::Ty;
use super::Call;
use super::kube::watched;
use crate::rbac::RequestScope;

impl Reader<'_> {
    /// A method of a runtime or its builder.
    pub(super) fn kubert_method(&mut self, frame: &mut Frame, receiver: &Ty, call: &mut Call<'_>) -> Option<Ty> {
        let (location, name) = (call.location, call.name.clone());
        let is_builder = matches!(receiver, Ty::Foreign(Foreign::KubertBuilder, _));
        if is_builder || ["cache", "spawn", "watch"].iter().any(|start| name.starts_with(start)) {
            self.arguments_of(frame, call);
        }
        match (is_builder, &*name) {
            (true, "build") => Some(Ty::foreign(Foreign::KubertRuntime)),
            (true, _) | (false, "spawn_server") => Some(receiver.clone()),
            (false, "client") => Some(Ty::kube(Kube::Client)),
            // kubert/src/runtime.rs: by its type argument, in all namespaces.
            (false, "cache_all" | "watch_all") => {
                let kind = call.explicit.first().cloned().unwrap_or_else(|| self.types.inferred.fresh());
                let api = Ty::reaching(kind.clone(), RequestScope::Cluster);
                self.request(location, &api, watched(call), None, &format!("Runtime::{name}::<K>"));
                let stream = Ty::many(kind);
                Some(if &*name == "cache_all" { Ty::Tuple(vec![Ty::Unknown, stream]) } else { stream })
            }
            // The Lease has to exist: kubert/src/lease.rs.
            (false, "spawn_lease") => {
                let leases = Ty::reaching(Ty::k8s(table::LEASE), RequestScope::Own);
                self.request(location, &leases, &["get", "patch"], None, "Runtime::spawn_lease");
                Some(Ty::Unknown)
            }
            (false, _) if name.starts_with("cache") || name.starts_with("watch") => {
                self.doubt(location, Cause::Crate { function: name.to_string(), krate: "kubert".to_owned() });
                Some(Ty::Unknown)
            }
            (false, _) => None,
        }
    }
}
