//! Sources that trigger reconciles, and the replicas that run them.

use std::collections::BTreeSet;

use futures::{FutureExt, Stream, StreamExt};

use super::Controller;
use super::queue::Priority;
use crate::cache::Seen;
use crate::client::objects::Objects;
use crate::election::leadership::Runs;
use crate::error;
use crate::object::{Object, ObjectKey};

impl<K: Object> Controller<'_, K> {
    /// Like [`Controller::owns`], for changes that pass `predicate`.
    ///
    /// The predicate gets the state before, `None` for a new object, and the state now. Deletions always pass.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use kube::runtime::predicates;
    /// use manager::{Controller, Object, Objects};
    ///
    /// /// Not for each pod that comes or goes.
    /// fn owning<'m, K: Object>(of: Controller<'m, K>, owned: &Objects<Deployment>) -> Controller<'m, K> {
    ///     of.owns_when(owned, |before, now| {
    ///         before.is_none_or(|before| predicates::generation(before) != predicates::generation(now))
    ///     })
    /// }
    /// ```
    pub fn owns_when<C: Object>(
        self,
        objects: &Objects<C>,
        predicate: impl Fn(Option<&C>, &C) -> bool + Send + Sync + 'static,
    ) -> Self {
        let owners = self.objects.clone();
        self.watches_when(objects, predicate, move |owned| {
            owners.cache.kind.owner_of(owned)
        })
    }

    /// Like [`Controller::watches`], for changes that pass `predicate`.
    ///
    /// The predicate gets the state before, `None` for a new object, and the state now. Deletions always pass.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Secret;
    /// use manager::{Controller, Object, ObjectKey, Objects};
    ///
    /// /// A Secret concerns the object of the same name.
    /// fn watching<'m, K: Object>(by: Controller<'m, K>, secrets: &Objects<Secret>) -> Controller<'m, K> {
    ///     by.watches_when(
    ///         secrets,
    ///         |before, now| before.is_none_or(|before| before.data != now.data),
    ///         |secret| [ObjectKey::of(secret)],
    ///     )
    /// }
    /// ```
    pub fn watches_when<C: Object, Keys: IntoIterator<Item = ObjectKey>>(
        mut self,
        objects: &Objects<C>,
        predicate: impl Fn(Option<&C>, &C) -> bool + Send + Sync + 'static,
        map: impl Fn(&C) -> Keys + Send + Sync + 'static,
    ) -> Self {
        let queue = self.queue.clone();
        let kind = objects.cache.kind.name().into_owned();
        objects.cache.listen(move |key, seen| {
            let wanted = |now| error::catch(|| predicate(seen.before, now));
            // A predicate that panics passes the change.
            if seen.after.is_some_and(|now| matches!(wanted(now), Ok(false))) {
                return;
            }
            let both = [seen.before, seen.after].into_iter().flatten();
            let keys = both.map(|object| error::catch(|| Vec::from_iter(map(object))));
            // If `map` panics for one state, the keys of the other still count.
            let keys = keys.filter_map(|keys| {
                keys.inspect_err(|panic| {
                    tracing::error!(kind, %key, panic, "a map panicked: nobody looks at the change");
                })
                .ok()
            });
            let low = seen.known || is_progress(seen);
            let priority = if low { Priority::Low } else { Priority::Normal };
            for key in keys.flatten().collect::<BTreeSet<_>>() {
                queue.add(key, priority);
            }
        });
        self.synced.push(objects.cache.synced().boxed());
        self
    }

    /// Reconciles the objects whose keys a stream yields, such as the receiver of a channel. Use it for events outside
    /// of the cluster.
    ///
    /// # Examples
    ///
    /// ```
    /// use futures::stream::poll_fn;
    /// use manager::{Controller, Object, ObjectKey};
    /// use tokio::sync::mpsc::Receiver;
    ///
    /// fn told<K: Object>(by: Controller<'_, K>, mut keys: Receiver<ObjectKey>) -> Controller<'_, K> {
    ///     by.reconcile_on(poll_fn(move |context| keys.poll_recv(context)))
    /// }
    /// ```
    pub fn reconcile_on(mut self, keys: impl Stream<Item = ObjectKey> + Send + 'static) -> Self {
        let (queue, name) = (self.queue.clone(), self.name.clone());
        let source = async move {
            let told = keys.for_each(|key| {
                queue.add(key, Priority::Normal);
                std::future::ready(())
            });
            if let Err(panic) = error::catch_running(told).await {
                tracing::error!(
                    controller = name,
                    panic,
                    "a stream of keys panicked, and is no longer heard"
                );
            }
        };
        self.sources.push(source.boxed());
        self
    }

    /// Selects the replicas that run this controller; the default is [`Runs::Leader`]. Replicas that do not lead can
    /// read, but their writes are refused.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use k8s_openapi::api::core::v1::Secret;
    /// use manager::{Action, Manager, Objects, Runs};
    ///
    /// fn register(manager: &mut Manager, secrets: &Objects<Secret>) {
    ///     let controller = manager.controller("passwords", secrets).runs(Runs::Always);
    ///     controller.run(async |_, _| Ok::<_, kube::Error>(Action::Done), Arc::new(()));
    /// }
    /// ```
    pub fn runs(mut self, runs: Runs) -> Self {
        self.leadership = runs.under(&self.controllers.leadership);
        self
    }
}

/// Returns true if the object is new, or only its status or metadata changed. Controllers cause such changes to each
/// other's objects, step by step.
fn is_progress<K: Object>(seen: &Seen<'_, K>) -> bool {
    let (Some(before), Some(after)) = (seen.before, seen.after) else {
        return seen.before.is_none();
    };
    let (before, after) = (before.meta(), after.meta());
    after.generation.is_some()
        && before.generation == after.generation
        && before.deletion_timestamp == after.deletion_timestamp
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    fn progress<K: Object + DeserializeOwned>(before: Option<Value>, after: Option<Value>) -> bool {
        let [before, after] = [before, after].map(|metadata| {
            let object = json!({ "metadata": metadata? });
            Some(serde_json::from_value::<K>(object).expect("an object"))
        });
        is_progress(&Seen {
            before: before.as_ref(),
            after: after.as_ref(),
            known: false,
        })
    }

    #[test]
    fn progress_is_what_leaves_the_spec_as_it_is() {
        let before = json!({ "generation": 1, "resourceVersion": "1" });
        for (after, is) in [
            (json!({ "generation": 1, "resourceVersion": "2" }), true),
            (json!({ "generation": 2, "resourceVersion": "2" }), false),
            (
                json!({ "generation": 1, "deletionTimestamp": "2026-01-01T00:00:00Z" }),
                false,
            ),
        ] {
            let seen = progress::<Deployment>(Some(before.clone()), Some(after.clone()));
            assert_eq!(seen, is, "{after}");
        }
        assert!(progress::<Deployment>(None, Some(before.clone())));
        assert!(!progress::<Deployment>(Some(before), None));
        // The server does not count the generations of this kind.
        let [before, after] = ["1", "2"].map(|version| Some(json!({ "resourceVersion": version })));
        assert!(!progress::<ConfigMap>(before, after));
    }
}
