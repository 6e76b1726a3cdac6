//! Calls of kubert, the runtime of linkerd's controllers: <https://docs.rs/kubert>.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::super::read::{Frame, Reader};
use super::super::table;
use super::super::types::{Reach, Ty};
use super::Call;
use super::kube::{reach_of, watched};

impl Reader<'_> {
    /// A function of a type of kubert.
    pub(super) fn kubert_associated(&mut self, ty: &Ty, call: &Call<'_>) -> Ty {
        match (type_of(ty), &*call.name) {
            ("Runtime", "builder") => Ty::foreign("kubert::Builder"),
            ("Builder", "from_args") => ty.clone(),
            ("LeaseManager", "init") => {
                let api = call.get(0);
                if let Ty::Api(kind, _) = &api {
                    self.inferred.unify(kind, &Ty::foreign(table::LEASE));
                }
                self.with_api(call.place, &api, &["get"], "LeaseManager::init");
                Ty::Foreign("kubert::LeaseManager".into(), vec![api])
            }
            (_, name) => {
                self.handed(Some("kubert"), call);
                self.made(ty, name)
            }
        }
    }

    /// A method of a type of kubert; none if it is not known.
    pub(super) fn kubert_method(
        &mut self,
        frame: &mut Frame,
        (path, parts): (&Rc<str>, &[Ty]),
        call: &mut Call<'_>,
    ) -> Option<Ty> {
        let this = Ty::Foreign(path.clone(), parts.to_vec());
        let (place, name) = (call.place, call.name.clone());
        match (type_of(&this), &*name) {
            ("Builder", "build") => {
                let of_client = path.contains("::client::");
                Some(Ty::foreign(if of_client { "kube::Client" } else { "kubert::Runtime" }))
            }
            ("Builder", _) | ("Runtime", "spawn_server") => {
                self.arguments_of(frame, call);
                Some(this)
            }
            ("Runtime", "client") | ("ClientArgs", "try_client") => Some(Ty::foreign("kube::Client")),
            ("Runtime", "watch" | "watch_all" | "watch_namespaced" | "cache" | "cache_all" | "cache_namespaced") => {
                self.arguments_of(frame, call);
                let api = match (&*name, call.get(0)) {
                    ("watch" | "cache", api) => api,
                    (scoped, namespace) => {
                        let kind = call.explicit.first().cloned().unwrap_or_else(|| self.inferred.fresh());
                        let reach = if scoped.ends_with("_all") { Reach::All } else { reach_of(&namespace) };
                        Ty::Api(Rc::new(kind), BTreeSet::from([reach]))
                    }
                };
                self.with_api(place, &api, watched(call), &format!("Runtime::{name}::<{{}}>"));
                let stream = match api {
                    Ty::Api(kind, _) => Ty::Many(kind),
                    _ => Ty::many(Ty::Unknown),
                };
                Some(if name.starts_with("cache") { Ty::Tuple(vec![Ty::Unknown, stream]) } else { stream })
            }
            ("Runtime", "spawn_lease") => {
                self.arguments_of(frame, call);
                let own = BTreeSet::from([Reach::Own]);
                self.request(place, (&Ty::foreign(table::LEASE), &own), table::CLAIM, None, "Runtime::spawn_lease");
                Some(Ty::Unknown)
            }
            ("LeaseManager", "with_field_manager") => Some(this),
            ("LeaseManager", "sync" | "ensure_claimed" | "spawn" | "vacate") => {
                self.arguments_of(frame, call);
                let verbs = match &*name {
                    "sync" => &["get"],
                    "vacate" => &["patch"],
                    _ => table::CLAIM,
                };
                let api = parts.first().cloned().unwrap_or(Ty::Unknown);
                self.with_api(place, &api, verbs, &format!("LeaseManager::{name}"));
                Some(Ty::Unknown)
            }
            _ => None,
        }
    }
}

/// The name of a type, wherever kubert re-exports it.
fn type_of(ty: &Ty) -> &str {
    match ty {
        Ty::Foreign(path, _) => path.rsplit("::").next().unwrap_or_default(),
        _ => "",
    }
}
