//! Methods of the manager in generated projects: what they request is known, and its code is not read.

use super::super::doubt::Cause;
use super::super::foreign::Kube;
use super::super::frame::Frame;
use super::super::manager::ManagerType;
use super::super::place::Place;
use super::super::read::Reader;
use super::super::table;
use super::super::types::{Reach, Ty};
use super::Call;
use crate::source::ItemRef;

impl Reader<'_> {
    /// A method of our own manager.
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
        self.arguments_with(frame, call, &inputs);
        let (place, name) = (call.place, &*call.name);
        match (of, name) {
            (ManagerType::Manager, "objects" | "objects_with") => {
                let mut kind = call.explicit.first().cloned().unwrap_or_else(|| self.types.inferred.fresh());
                let declared = self.manager_type(item, ManagerType::Objects, vec![kind.clone()]);
                self.types.inferred.unify(&declared, &call.expected);
                if name == "objects_with" {
                    kind = self.with_dynamic(&kind, &call.get(0));
                }
                let (objects, events) =
                    (Ty::reaching(kind.clone(), Reach::All), Ty::reaching(Ty::k8s(table::EVENT), Reach::All));
                let shown = format!("Manager::{name}");
                self.request(place, &objects, table::manager::OBJECTS, None, &format!("{shown}::<K>"));
                self.request(place, &events, table::manager::EVENTS, None, &shown);
                self.manager_type(item, ManagerType::Objects, vec![kind])
            }
            (ManagerType::Manager, "controller") => {
                let kind = match call.get(1) {
                    Ty::Item(_, kinds) => kinds.first().cloned().unwrap_or(Ty::Unknown),
                    _ => Ty::Unknown,
                };
                self.manager_type(item, ManagerType::Controller, vec![kind])
            }
            (ManagerType::Manager, "client") => Ty::kube(Kube::Client),
            (ManagerType::Manager, "recorder") => Ty::kube(Kube::Recorder),
            (ManagerType::Manager, "leader_election_id") => {
                let leases = Ty::reaching(Ty::k8s(table::LEASE), Reach::Own);
                let (role, verbs) = table::manager::ELECTION;
                self.request_in(role, place, &leases, verbs, "Manager::leader_election_id");
                manager
            }
            (ManagerType::Manager, "run" | "run_until") => {
                let (role, reviews) = table::manager::REVIEWS;
                for review in reviews {
                    let reviews = Ty::reaching(Ty::k8s(review), Reach::All);
                    self.request_in(role, place, &reviews, &["create"], &format!("Manager::{name}"));
                }
                Ty::Tuple(Vec::new())
            }
            (ManagerType::Manager, "migrate_storage") => {
                self.migrate(place, call.explicit.first().cloned().unwrap_or(Ty::Unknown));
                Ty::Tuple(Vec::new())
            }
            (ManagerType::Controller, "run") => Ty::Tuple(Vec::new()),
            (ManagerType::Index, "list") => Ty::many(parts.first().cloned().unwrap_or(Ty::Unknown)),
            (ManagerType::Manager, "webhooks") => {
                let (role, kind, verbs) = table::manager::CERTIFICATES;
                let secrets = Ty::reaching(Ty::k8s(kind), Reach::Own);
                self.request_in(role, place, &secrets, verbs, "Manager::webhooks");
                self.manager_type(item, ManagerType::Webhooks, Vec::new())
            }
            (ManagerType::Webhooks, name) if let Some(kind) = table::manager::webhooks(name) => {
                self.publish(place, kind, name);
                manager
            }
            (ManagerType::Manager, "health_check" | "metrics" | "ready_check" | "task") => Ty::Unknown,
            (ManagerType::Manager, "in_namespaces" | "namespaced" | "with")
            | (ManagerType::Objects, "optional" | "status_at_most_every")
            | (ManagerType::Webhooks, "spoke") => manager,
            (ManagerType::Controller, name) if table::manager::CONTROLLER.contains(&name) => manager,
            (ManagerType::Objects, name) if let Some(requests) = table::manager::objects(name) => {
                let kind = parts.first().cloned().unwrap_or(Ty::Unknown);
                let objects = Ty::reaching(kind.clone(), Reach::All);
                let shown = format!("Objects<K>::{name}");
                for (verb, sub) in requests {
                    self.request(place, &objects, &[verb], *sub, &shown);
                }
                match (name, call.get(2)) {
                    ("patch", Ty::Patch { apply: false }) => self.clear(place),
                    ("patch", Ty::Patch { apply: true }) => {
                        self.clear(place);
                        self.request(place, &objects, &["create"], None, &shown);
                    }
                    ("patch", _) => self.doubt(place, Cause::Patch(format!("Objects::{name}"))),
                    _ => {}
                }
                match name {
                    "api" => objects,
                    "get" | "get_live" | "patch" => kind,
                    "list" | "list_matching" => Ty::many(kind),
                    "index" => self.manager_type(item, ManagerType::Index, vec![kind]),
                    _ => Ty::Unknown,
                }
            }
            (of, name) => {
                let function = format!("{of:?}::{name}");
                self.doubt(place, Cause::Crate { function, krate: "manager".to_owned() });
                Ty::Unknown
            }
        }
    }

    fn migrate(&mut self, place: Place, kind: Ty) {
        let [objects, definitions] =
            [kind, Ty::k8s(table::manager::DEFINITION)].map(|kind| Ty::reaching(kind, Reach::All));
        let shown = "Manager::migrate_storage";
        self.request(place, &objects, table::manager::MIGRATION, None, &format!("{shown}::<K>"));
        for (verb, sub) in table::manager::FORGETTING {
            self.request(place, &definitions, &[verb], sub, shown);
        }
    }

    /// What a kind of webhook asks for: the authority in objects of this kind.
    fn publish(&mut self, place: Place, kind: &str, method: &str) {
        let (role, verbs) = table::manager::PUBLISHING;
        let published = Ty::reaching(Ty::k8s(kind), Reach::All);
        self.request_in(role, place, &published, verbs, &format!("Webhooks::{method}"));
    }

    /// A type of the manager by its name.
    pub(super) fn manager_type(&mut self, near: ItemRef, wanted: ManagerType, arguments: Vec<Ty>) -> Ty {
        let tree = self.tree;
        let krate = |item: ItemRef| tree.module_path(tree.module(item)).swap_remove(0);
        let found = self.managers().find(|(item, known)| *known == wanted && krate(*item) == krate(near));
        found.map_or(Ty::Unknown, |(item, _)| Ty::Item(item, arguments))
    }
}
