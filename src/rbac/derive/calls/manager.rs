//! Methods of the manager in generated projects: what they request is known, and its code is not read.

use std::collections::BTreeSet;

use super::super::read::{Frame, Reader};
use super::super::table;
use super::super::types::{Reach, Ty};
use super::Call;
use crate::source::ItemRef;

impl Reader<'_> {
    /// A method of our own manager.
    pub(super) fn manager_method(
        &mut self,
        frame: &mut Frame,
        (of, item, parts): (&str, ItemRef, &[Ty]),
        call: &mut Call<'_>,
    ) -> Ty {
        let manager = Ty::Item(item, parts.to_vec());
        let inputs = if of == "Manager" { vec![manager.clone()] } else { parts.to_vec() };
        self.arguments_with(frame, call, &inputs);
        let (place, name) = (call.place, &*call.name);
        let all = BTreeSet::from([Reach::All]);
        let own = BTreeSet::from([Reach::Own]);
        let events = Ty::foreign(table::EVENT);
        match (of, name) {
            ("Manager", "objects") => {
                let kind = call.explicit.first().cloned().unwrap_or_else(|| self.inferred.fresh());
                self.request(place, (&kind, &all), table::manager::OBJECTS, None, "Manager::objects::<{}>");
                self.request(place, (&events, &all), table::manager::EVENTS, None, "Manager::objects");
                let objects = self.manager_type(item, "Objects", vec![kind]);
                self.inferred.unify(&objects, &call.expected);
                objects
            }
            ("Manager", "controller") => {
                let kind = match call.get(1) {
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
            ("Manager" | "Controller", _) | ("Objects", "clone" | "optional" | "status_at_most_every") => manager,
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
    pub(super) fn manager_type(&mut self, near: ItemRef, name: &str, arguments: Vec<Ty>) -> Ty {
        let tree = self.tree;
        let krate = |item: ItemRef| tree.module_path(tree.module(item)).swap_remove(0);
        let found = self.managers().find(|(item, known)| *known == name && krate(*item) == krate(near));
        found.map_or(Ty::Unknown, |(item, _)| Ty::Item(item, arguments))
    }
}
