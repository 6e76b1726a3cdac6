//! What runs have found out: requests, and what could not be followed.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::Origin;
use crate::rbac::{Permission, RequestScope, Target, Usage};
use crate::source::{ModuleId, SourceTree};

use super::doubt::{Cause, Doubt};
use super::kinds::Resource;
use super::lower::Lowering;
use super::place::{Place, Spot};
use super::runs::{Live, RunId, Weight};
use super::types::{Reach, Ty};

/// A place, and the run that something was found out in.
type Noted = (Place, Option<RunId>);

/// A request, while types are still being inferred.
#[derive(Debug)]
struct Request {
    at: Noted,
    kind: Ty,
    reach: BTreeSet<Reach>,
    verb: String,
    sub: Option<String>,
    call: String,
    role: Option<&'static str>,
}

/// `Api<K>::get` is shown with the kind, or without.
fn without_kind(call: &str) -> String {
    call.replace("::<K>", "").replace("<K>", "")
}

/// What is found out about one permission at one place.
#[derive(Debug)]
struct Answer {
    scopes: BTreeSet<RequestScope>,
    of_object: bool,
    distance: u8,
    call: String,
    role: Option<&'static str>,
    origin: Origin,
}

/// A call on a kind that is not known.
#[derive(Debug)]
struct OpenKind {
    origin: Origin,
    call: String,
    verbs: BTreeSet<String>,
    why: String,
}

#[derive(Debug, Default)]
pub(super) struct Findings {
    requests: Vec<Request>,
    doubts: Vec<(Noted, Cause)>,
    /// Calls that a run knows all about, so that no doubt is reported.
    clear: BTreeSet<(Spot, Option<RunId>)>,
}

impl Findings {
    /// Requests of an `Api`; of another type, the kind is not known.
    pub(super) fn request(
        &mut self,
        at: Noted,
        api: &Ty,
        verbs: &[&str],
        sub: Option<&str>,
        call: &str,
        role: Option<&'static str>,
    ) {
        let (kind, mut reach) = match api {
            Ty::Api(kind, reach) => ((**kind).clone(), reach.clone()),
            _ => (Ty::Unknown, BTreeSet::new()),
        };
        if reach.remove(&Reach::Elsewhere) {
            self.doubt(at, Cause::Cluster(without_kind(call)));
            if reach.is_empty() {
                return;
            }
        }
        for verb in verbs {
            self.requests.push(Request {
                at,
                kind: kind.clone(),
                reach: reach.clone(),
                verb: (*verb).to_owned(),
                sub: sub.map(str::to_owned),
                call: call.to_owned(),
                role,
            });
        }
    }

    pub(super) fn doubt(&mut self, at: Noted, cause: Cause) {
        self.doubts.push((at, cause));
    }

    /// A run knows what a call is.
    pub(super) fn clear(&mut self, (place, run): Noted) {
        self.clear.insert((place.spot(), run));
    }

    /// The answer, in the order of the source.
    pub(super) fn finish(mut self, types: &Lowering<'_>, live: &Live) -> (Vec<Usage>, Vec<Doubt>) {
        self.weigh(live);
        let doubt = |((place, _), cause): &(Noted, Cause)| Doubt {
            origin: types.tree.origin(place.module, place.span),
            cause: cause.clone(),
        };
        let mut doubts: Vec<Doubt> = self.doubts.iter().map(doubt).collect();
        let mut known: BTreeMap<(String, usize, usize, Permission), Answer> = BTreeMap::new();
        let mut answered = BTreeSet::new();
        let mut open: BTreeMap<_, OpenKind> = BTreeMap::new();
        for found in &self.requests {
            let origin = types.tree.origin(found.at.0.module, found.at.0.span);
            let place = (origin.path.to_string(), origin.range.start, origin.range.end);
            let kind = types.inferred.resolve(&found.kind);
            let Some(resources) = types.kinds.resources(&kind) else {
                let new = || OpenKind {
                    origin,
                    call: without_kind(&found.call),
                    verbs: BTreeSet::new(),
                    why: types.why(found.at.0.module, &kind),
                };
                let is_parameter = matches!(types.kinds.named(&kind), Ty::Param(_));
                open.entry((place, is_parameter)).or_insert_with(new).verbs.insert(found.verb.clone());
                continue;
            };
            answered.insert(place.clone());
            for resource in resources {
                let plural = match &found.sub {
                    Some(sub) => format!("{}/{sub}", resource.plural),
                    None => resource.plural.clone(),
                };
                let permission =
                    Permission { target: Target::resource(&resource.group, &plural), verb: found.verb.clone() };
                let key = (place.0.clone(), place.1, place.2, permission);
                let answer = known.entry(key).or_insert_with(|| Answer {
                    scopes: BTreeSet::new(),
                    of_object: false,
                    distance: distance(types.tree, found.at.0.module),
                    call: found.call.replace("<K>", &format!("<{}>", resource.name)),
                    role: found.role,
                    origin: origin.clone(),
                });
                answer.scopes.extend(scopes(&resource, &found.reach));
                answer.of_object |= found.reach.contains(&Reach::OfObject);
            }
        }
        // What a generic function does that nobody calls is no news where another call says what it does.
        let unanswered = open.into_iter().filter(|((place, parameter), _)| !parameter || !answered.contains(place));
        doubts.extend(unanswered.map(|(_, OpenKind { origin, call, verbs, why })| Doubt {
            origin,
            cause: Cause::Kind { call, verbs: verbs.into_iter().collect(), why },
        }));
        let mut usages = Vec::new();
        for ((_, _, _, permission), Answer { mut scopes, of_object, distance, call, role, origin }) in known {
            if scopes.is_empty() {
                scopes.insert(RequestScope::Namespaced);
            }
            for scope in scopes {
                let (permission, call, origin) = (permission.clone(), call.clone(), origin.clone());
                let of_object = of_object && scope == RequestScope::Namespaced;
                usages.push(Usage { permission, scope, of_object, call, origin, distance, role });
            }
        }
        usages.sort_by(|one, other| key(one).cmp(&key(other)));
        usages.dedup();
        doubts.sort_by(|one, other| order(one).cmp(&order(other)));
        doubts.dedup();
        (usages, doubts)
    }

    /// Leaves what counts: what a function does by itself is no news where its callers say it.
    fn weigh(&mut self, live: &Live) {
        let at = self.requests.iter().map(|found| found.at).chain(self.doubts.iter().map(|(at, _)| *at));
        let at = at.map(|(place, run)| (place.spot(), run));
        let settled = at.chain(self.clear.iter().copied());
        let settled: BTreeSet<Spot> =
            settled.filter(|(_, run)| live.weight(*run) == Weight::Counts).map(|(spot, _)| spot).collect();
        let counts = |(place, run): Noted| match live.weight(run) {
            Weight::Counts => true,
            Weight::Otherwise => !settled.contains(&place.spot()),
            Weight::Nothing => false,
        };
        self.requests.retain(|found| counts(found.at));
        self.doubts.retain(|(at, _)| counts(*at));
    }
}

/// How far code is from the program: in a binary, in the library of its package, in another package.
fn distance(tree: &SourceTree, module: ModuleId) -> u8 {
    match (tree.is_own(module), tree.is_lib(module)) {
        (true, false) => 0,
        (true, true) => 1,
        (false, _) => 2,
    }
}

/// Where the requests of an `Api` go.
fn scopes(resource: &Resource, reach: &BTreeSet<Reach>) -> Vec<RequestScope> {
    if resource.namespaced == Some(false) {
        return vec![RequestScope::Cluster];
    }
    let scope = |reach: &Reach| match reach {
        Reach::All | Reach::Elsewhere => RequestScope::Cluster,
        Reach::Own => RequestScope::Own,
        Reach::Named(name) => RequestScope::Namespace(name.to_string()),
        Reach::OfObject | Reach::Some => RequestScope::Namespaced,
    };
    reach.iter().map(scope).collect()
}

fn order(doubt: &Doubt) -> (&str, usize, usize, &Cause) {
    let range = &doubt.origin.range;
    (&doubt.origin.path, range.start, range.end, &doubt.cause)
}

fn key(usage: &Usage) -> (&str, usize, usize, &Permission, &RequestScope) {
    let range = &usage.origin.range;
    (&usage.origin.path, range.start, range.end, &usage.permission, &usage.scope)
}
