//! Findings of runs: requests, and calls that could not be followed.

use std::collections::{BTreeMap, BTreeSet};

use crate::rbac::{Permission, RbacTarget, RbacUsage, RequestScope};
use crate::source::{ModuleId, SourceTree};

use super::doubt::{Cause, Doubt};
use super::frame::{Location, LocationKey};
use super::lower::Lowering;
use super::runs::{Live, RunId, Weight};
use super::types::{Reach, Ty};

/// A place, and the run that something was found out in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site {
    pub(super) location: Location,
    pub(super) run: Option<RunId>,
}

/// A request, while types are still being inferred.
#[derive(Debug)]
struct ApiRequest {
    site: Site,
    kind: Ty,
    scopes: BTreeSet<RequestScope>,
    verb: String,
    sub: Option<String>,
    call: String,
    role: Option<&'static str>,
}

/// Kind, subresource and verb.
#[cfg(test)]
pub(super) type FoundRequest<'f> = (Ty, Option<&'f str>, &'f str);

/// `Api<K>::get` is shown with the kind, or without.
fn without_kind(call: &str) -> String {
    call.replace("::<K>", "").replace("<K>", "")
}

#[derive(Debug, Default)]
pub(super) struct UsageFindings {
    requests: Vec<ApiRequest>,
    doubts: Vec<(Site, Cause)>,
    /// Calls that a run knows all about, so that no doubt is reported.
    clear: BTreeSet<(LocationKey, Option<RunId>)>,
}

impl UsageFindings {
    /// Requests of an `Api`; of another type, the kind is not known.
    pub(super) fn request(
        &mut self,
        site: Site,
        api: &Ty,
        verbs: &[&str],
        sub: Option<&str>,
        call: &str,
        role: Option<&'static str>,
    ) {
        let mut scopes = BTreeSet::new();
        let kind = if let Ty::Api(kind, reach) = api {
            for reach in reach {
                match reach {
                    Reach::Here(scope) => _ = scopes.insert(scope.clone()),
                    Reach::Elsewhere => self.doubt(site, Cause::Cluster(without_kind(call))),
                }
            }
            if scopes.is_empty() && !reach.is_empty() {
                return;
            }
            (**kind).clone()
        } else {
            Ty::Unknown
        };
        for verb in verbs {
            self.requests.push(ApiRequest {
                site,
                kind: kind.clone(),
                scopes: scopes.clone(),
                verb: (*verb).to_owned(),
                sub: sub.map(str::to_owned),
                call: call.to_owned(),
                role,
            });
        }
    }

    pub(super) fn doubt(&mut self, site: Site, cause: Cause) {
        self.doubts.push((site, cause));
    }

    /// A run knows what a call is.
    pub(super) fn clear(&mut self, site: Site) {
        self.clear.insert((site.location.key(), site.run));
    }

    /// The findings of some runs.
    #[cfg(test)]
    pub(super) fn of_runs(&self, runs: &BTreeSet<RunId>, types: &Lowering<'_>) -> (Vec<FoundRequest<'_>>, Vec<Doubt>) {
        let is_in = |site: Site| site.run.is_some_and(|run| runs.contains(&run));
        let requests = self.requests.iter().filter(|found| is_in(found.site));
        let requests = requests.map(|found| (found.kind.clone(), found.sub.as_deref(), &*found.verb)).collect();
        let doubts = self.doubts.iter().filter(|(site, _)| is_in(*site)).map(|(site, cause)| Doubt {
            origin: types.tree.origin(site.location.module, site.location.span),
            cause: cause.clone(),
        });
        (requests, doubts.collect())
    }

    /// The answer, in the order of the source.
    pub(super) fn finish(mut self, types: &Lowering<'_>, live: &Live) -> (Vec<RbacUsage>, Vec<Doubt>) {
        self.weigh(live);
        let origin = |location: Location| types.tree.origin(location.module, location.span);
        let doubt = |(site, cause): &(Site, Cause)| Doubt { origin: origin(site.location), cause: cause.clone() };
        let mut doubts: Vec<Doubt> = self.doubts.iter().map(doubt).collect();
        let mut known = BTreeMap::new();
        let mut answered: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        let mut open = BTreeMap::new();
        for found in &self.requests {
            let module = found.site.location.module;
            let origin = origin(found.site.location);
            let location = (origin.path.to_string(), origin.range.start, origin.range.end);
            let kind = types.inferred.resolve(&found.kind);
            let Some(resources) = types.kinds.resources(&kind) else {
                let new =
                    || (origin, without_kind(&found.call), BTreeSet::new(), types.why(module, &kind), BTreeSet::new());
                let is_parameter = matches!(types.kinds.named(&kind), Ty::Param(_));
                let (.., verbs, _, runs) = open.entry((location, is_parameter)).or_insert_with(new);
                verbs.insert(found.verb.clone());
                runs.insert(found.site.run);
                continue;
            };
            if types.kinds.has_others(&kind) {
                let new = (
                    origin.clone(),
                    without_kind(&found.call),
                    BTreeSet::new(),
                    types.why(module, &kind),
                    BTreeSet::new(),
                );
                let (.., verbs, _, runs) = open.entry((location.clone(), false)).or_insert(new);
                verbs.insert(found.verb.clone());
                runs.insert(found.site.run);
            }
            answered.entry(location.clone()).or_default().insert(found.site.run);
            for resource in resources {
                let plural = match &found.sub {
                    Some(sub) => format!("{}/{sub}", resource.plural),
                    None => resource.plural.clone(),
                };
                let permission = Permission::new(RbacTarget::resource(&resource.group, &plural), &found.verb);
                let usage = RbacUsage {
                    permission: permission.clone(),
                    scope: RequestScope::Namespaced,
                    call: found.call.replace("<K>", &format!("<{}>", resource.name)),
                    origin: origin.clone(),
                    distance: distance(types.tree, module),
                    role: found.role,
                };
                let (_, scopes) = known.entry((location.clone(), permission)).or_insert((usage, BTreeSet::new()));
                if resource.namespaced == Some(false) {
                    scopes.insert(RequestScope::Cluster);
                } else {
                    scopes.extend(found.scopes.iter().cloned());
                }
            }
        }
        // The type parameter of an uncalled run does not matter where another run knows the kind. A macro may make several
        // requests at one place, all of them in one run.
        let unanswered = open.into_iter().filter(|((location, parameter), (.., runs))| {
            !parameter || answered.get(location).is_none_or(|known| known.is_subset(runs))
        });
        doubts.extend(unanswered.map(|(_, (origin, call, verbs, why, _))| Doubt {
            origin,
            cause: Cause::Kind { call, verbs: verbs.into_iter().collect(), why },
        }));
        let mut usages = Vec::new();
        for (usage, mut scopes) in known.into_values() {
            if scopes.is_empty() {
                scopes.insert(RequestScope::Namespaced);
            }
            if scopes.contains(&RequestScope::OfObject) {
                scopes.remove(&RequestScope::Namespaced);
            }
            usages.extend(scopes.into_iter().map(|scope| RbacUsage { scope, ..usage.clone() }));
        }
        doubts.sort_by(|one, other| order(one).cmp(&order(other)));
        doubts.dedup();
        (usages, doubts)
    }

    /// Keeps what counts: what a function does by itself only where no caller is known.
    fn weigh(&mut self, live: &Live) {
        let sites = self.requests.iter().map(|found| found.site).chain(self.doubts.iter().map(|(site, _)| *site));
        let settled = sites.map(|site| (site.location.key(), site.run)).chain(self.clear.iter().copied());
        let settled: BTreeSet<LocationKey> =
            settled.filter(|(_, run)| live.weight(*run) == Weight::Counts).map(|(key, _)| key).collect();
        let counts = |site: Site| match live.weight(site.run) {
            Weight::Counts => true,
            Weight::Otherwise => !settled.contains(&site.location.key()),
            Weight::Nothing => false,
        };
        self.requests.retain(|found| counts(found.site));
        self.doubts.retain(|(site, _)| counts(*site));
    }
}

/// The distance of code from the program: in a binary, in the library of its package, in another package.
fn distance(tree: &SourceTree, module: ModuleId) -> u8 {
    match (tree.is_own(module), tree.is_lib(module)) {
        (true, false) => 0,
        (true, true) => 1,
        (false, _) => 2,
    }
}

fn order(doubt: &Doubt) -> (&str, usize, usize, &Cause) {
    let range = &doubt.origin.range;
    (&doubt.origin.path, range.start, range.end, &doubt.cause)
}
