//! A controller: which changes trigger a reconcile, and what follows from its result.
//!
//! Only one reconcile of an object runs at a time. When a reconcile ends or is stopped, nothing of it goes on. Panics
//! of user code end one reconcile, not the controller.

mod failure;
mod finalizer;
mod queue;
mod sources;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt::Display;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tracing::Instrument;

use self::failure::Terminating;
use self::queue::{Priority, Queue};
use crate::cache::Seen;
use crate::client::objects::Objects;
use crate::client::visit;
use crate::election::leadership::Leadership;
use crate::error;
use crate::metrics::{ControllerMetrics, Metrics, ReconcileOutcome};
use crate::object::{Object, ObjectKey};
use crate::signal::Shutdown;
use crate::time;

/// Default time limit of a reconcile.
const TIMEOUT: Duration = Duration::from_secs(300);

/// The result of a successful reconcile.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use manager::Action;
///
/// fn next(certificate_ends_in: Duration) -> Action {
///     match certificate_ends_in.checked_sub(Duration::from_secs(86_400)) {
///         Some(later) => Action::RequeueAfter(later),
///         None => Action::Requeue,
///     }
/// }
///
/// assert_eq!(next(Duration::from_secs(60)), Action::Requeue);
/// ```
///
/// At a time, such as one from a status:
///
/// ```
/// use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
/// use k8s_openapi::jiff::ToSpan;
/// use manager::Action;
///
/// fn next(last_backup: &Time) -> Action {
///     Action::RequeueAt(last_backup.0 + 24.hours())
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Waits for the next change.
    Done,
    /// Requeues the object with a backoff that doubles each time, from 5 ms to 1000 s.
    Requeue,
    /// Requeues the object after this time, unless it changes earlier. A time below 5 ms acts like [`Action::Requeue`].
    RequeueAfter(Duration),
    /// Requeues the object at this time, unless it changes earlier. A time in the past acts like [`Action::Requeue`].
    ///
    /// The time is compared with the local clock once, when the reconcile ends. Times from other hosts, such as
    /// `metadata.creationTimestamp`, may be off by seconds. Setting the clock later does not move the reconcile. So a
    /// reconcile should compare the time itself, and requeue again if it is too early.
    RequeueAt(Timestamp),
}

/// The error type of a reconcile or a task. [`kube::Error`] implements it, and so does `anyhow::Error` with the feature
/// `anyhow`.
///
/// # Examples
///
/// ```
/// use manager::Failure;
///
/// #[derive(Debug, thiserror::Error)]
/// enum Error {
///     #[error("the spec names no size")]
///     NoSize,
///     #[error("{0}")]
///     Api(#[from] kube::Error),
/// }
///
/// impl Failure for Error {
///     fn reason(&self) -> &'static str {
///         match self {
///             Self::NoSize => "NoSize",
///             Self::Api(_) => "RequestFailed",
///         }
///     }
///
///     fn is_permanent(&self) -> bool {
///         matches!(self, Self::NoSize)
///     }
/// }
///
/// assert!(Error::NoSize.is_permanent());
/// ```
pub trait Failure: Display + Send + 'static {
    /// Returns the reason in one CamelCase word, for conditions, events and logs.
    ///
    /// # Examples
    ///
    /// ```
    /// # struct Refused;
    /// # impl std::fmt::Display for Refused {
    /// #     fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    /// #         formatter.write_str("refused")
    /// #     }
    /// # }
    /// impl manager::Failure for Refused {
    ///     fn reason(&self) -> &'static str {
    ///         "Refused"
    ///     }
    /// }
    /// ```
    fn reason(&self) -> &'static str;

    /// Returns true if a retry is pointless until something changes. The default is false.
    ///
    /// # Examples
    ///
    /// ```
    /// # struct Refused;
    /// # impl std::fmt::Display for Refused {
    /// #     fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    /// #         formatter.write_str("refused")
    /// #     }
    /// # }
    /// # impl manager::Failure for Refused {
    /// #     fn reason(&self) -> &'static str {
    /// #         "Refused"
    /// #     }
    /// # }
    /// use manager::Failure;
    ///
    /// assert!(!Refused.is_permanent());
    /// ```
    fn is_permanent(&self) -> bool {
        false
    }
}

pub(crate) struct Controllers {
    /// Maximum concurrent reconciles per controller.
    pub(crate) workers: NonZeroUsize,
    /// Time that running reconciles have to end after the shutdown.
    pub(crate) grace: Duration,
    pub(crate) leadership: Leadership,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) shutdown: Shutdown,
    pub(crate) running: Vec<BoxFuture<'static, ()>>,
    /// One entry per controller that runs on the leader; returns the reconcile that exceeds its time limit.
    pub(crate) hung: Vec<Hung>,
    pub(crate) names: BTreeSet<String>,
    /// A name that two controllers have.
    pub(crate) twice: Option<String>,
}

/// Describes a controller that hangs, for people. Returns `None` if it does not hang.
pub(crate) type Hung = Arc<dyn Fn() -> Option<String> + Send + Sync>;

type Filter<K> = Box<dyn Fn(&Seen<'_, K>) -> bool + Send + Sync>;

/// A builder for a controller. [`Controller::run`] completes it.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use kube::runtime::watcher;
/// use manager::Action;
/// # fn example(manager: &mut manager::Manager) {
/// let everything = watcher::Config::default();
/// let maps = manager.objects::<ConfigMap>(&everything);
/// let secrets = manager.objects::<Secret>(&everything);
/// manager
///     .controller("config-map", &maps)
///     .ignore_status()
///     .owns(&secrets)
///     .run(|_, _| async { Ok::<_, kube::Error>(Action::Done) }, Arc::new(()));
/// # }
/// ```
#[must_use = "a controller does nothing without `run`"]
pub struct Controller<'manager, K: Object> {
    controllers: &'manager mut Controllers,
    name: String,
    objects: Objects<K>,
    queue: Arc<Queue>,
    filter: Filter<K>,
    synced: Vec<BoxFuture<'static, ()>>,
    sources: Vec<BoxFuture<'static, ()>>,
    leadership: Leadership,
    workers: NonZeroUsize,
    timeout: Duration,
}

impl<'manager, K: Object> Controller<'manager, K> {
    pub(crate) fn new(
        controllers: &'manager mut Controllers,
        name: &str,
        objects: &Objects<K>,
    ) -> Self {
        if !controllers.names.insert(name.to_owned()) {
            controllers.twice = Some(name.to_owned());
        }
        Self {
            workers: controllers.workers,
            leadership: controllers.leadership.clone(),
            sources: Vec::new(),
            queue: Arc::new(Queue::new(controllers.metrics.queue(name))),
            controllers,
            name: name.to_owned(),
            objects: objects.clone(),
            filter: Box::new(|_| true),
            synced: vec![objects.cache.synced().boxed()],
            timeout: TIMEOUT,
        }
    }

    /// Ignores changes of the status alone.
    ///
    /// The generation, labels, annotations, finalizers and the deletion timestamp are compared. So for a kind without
    /// generations, such as ConfigMap, changes of its data are ignored, too.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use manager::Controller;
    ///
    /// fn by_spec(maps: Controller<'_, ConfigMap>) -> Controller<'_, ConfigMap> {
    ///     maps.ignore_status()
    /// }
    /// ```
    pub fn ignore_status(self) -> Self {
        self.when(|before, after| {
            let Some(before) = before else { return true };
            let (before, after) = (before.meta(), after.meta());
            before.generation != after.generation
                || before.deletion_timestamp != after.deletion_timestamp
                || before.finalizers != after.finalizers
                || before.labels != after.labels
                || before.annotations != after.annotations
        })
    }

    /// Reconciles an object only if the predicate is true.
    ///
    /// The predicate gets the state before, `None` for a new object, and the state now. If there are several
    /// predicates, all must be true.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use manager::Controller;
    ///
    /// fn by_data(maps: Controller<'_, ConfigMap>) -> Controller<'_, ConfigMap> {
    ///     maps.when(|before, now| before.is_none_or(|before| before.data != now.data))
    /// }
    /// ```
    pub fn when(
        mut self,
        predicate: impl Fn(Option<&K>, &K) -> bool + Send + Sync + 'static,
    ) -> Self {
        let others = self.filter;
        self.filter = Box::new(move |seen| {
            others(seen) && seen.after.is_none_or(|after| predicate(seen.before, after))
        });
        self
    }

    /// Sets the maximum number of concurrent reconciles, instead of `--max-concurrent-reconciles`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::num::NonZeroUsize;
    ///
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use manager::Controller;
    ///
    /// fn one_by_one(maps: Controller<'_, ConfigMap>) -> Controller<'_, ConfigMap> {
    ///     maps.max_concurrent_reconciles(NonZeroUsize::MIN)
    /// }
    /// ```
    pub fn max_concurrent_reconciles(mut self, workers: NonZeroUsize) -> Self {
        self.workers = workers;
        self
    }

    /// Sets the time limit of a reconcile; the default is five minutes. A reconcile that exceeds it is stopped at its
    /// next `.await` and counts as failed.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use manager::Controller;
    ///
    /// fn impatient(maps: Controller<'_, ConfigMap>) -> Controller<'_, ConfigMap> {
    ///     maps.reconcile_timeout(Duration::from_secs(30))
    /// }
    /// ```
    pub fn reconcile_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Reconciles an object when an object that it controls changes.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use manager::{Controller, Objects};
    ///
    /// fn owning<'m>(maps: Controller<'m, ConfigMap>, secrets: &Objects<Secret>) -> Controller<'m, ConfigMap> {
    ///     maps.owns(secrets)
    /// }
    /// ```
    pub fn owns<C: Object>(self, objects: &Objects<C>) -> Self {
        self.owns_when(objects, |_, _| true)
    }

    /// Reconciles the objects that `map` returns when one of `objects` changes.
    ///
    /// `map` gets the states before and after the change, and the keys of both count.
    ///
    /// # Examples
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use manager::{Controller, ObjectKey, Objects};
    ///
    /// /// A Secret concerns the ConfigMap of the same name.
    /// fn watching<'m>(maps: Controller<'m, ConfigMap>, secrets: &Objects<Secret>) -> Controller<'m, ConfigMap> {
    ///     maps.watches(secrets, |secret| [ObjectKey::of(secret)])
    /// }
    /// ```
    pub fn watches<C: Object, Keys: IntoIterator<Item = ObjectKey>>(
        self,
        objects: &Objects<C>,
        map: impl Fn(&C) -> Keys + Send + Sync + 'static,
    ) -> Self {
        self.watches_when(objects, |_, _| true, map)
    }

    /// Registers the controller with its reconcile function. [`Manager::run`](crate::Manager::run) starts it once the caches are filled.
    ///
    /// A failure is logged, counted, and retried with backoff, unless it is [permanent](Failure::is_permanent).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::runtime::watcher;
    /// use manager::Action;
    /// # fn example(manager: &mut manager::Manager) {
    /// let everything = watcher::Config::default();
    /// let maps = manager.objects::<ConfigMap>(&everything);
    /// manager
    ///     .controller("config-map", &maps)
    ///     .run(reconcile, Arc::new("hello"));
    /// # }
    ///
    /// async fn reconcile(map: Arc<ConfigMap>, greeting: Arc<&str>) -> kube::Result<Action> {
    ///     tracing::info!(name = map.metadata.name, "{greeting}");
    ///     Ok(Action::Done)
    /// }
    /// ```
    pub fn run<Context, Running, Error>(
        self,
        reconcile: impl Fn(Arc<K>, Arc<Context>) -> Running + Send + Sync + 'static,
        context: Arc<Context>,
    ) where
        Context: Send + Sync + 'static,
        Running: Future<Output = Result<Action, Error>> + Send + 'static,
        Error: Failure,
    {
        let (queue, filter) = (self.queue.clone(), self.filter);
        let kind = self.objects.cache.kind.name().into_owned();
        self.objects.cache.listen(move |key, seen| {
            if seen.after.is_none() {
                return queue.forget(key);
            }
            let wanted = error::catch(|| filter(seen)).unwrap_or_else(|panic| {
                tracing::error!(kind, %key, panic, "a predicate panicked: the change is looked at");
                true
            });
            if wanted {
                let priority = if seen.known {
                    Priority::Low
                } else {
                    Priority::Normal
                };
                queue.add(key.clone(), priority);
            }
        });
        let workers = self.workers.get();
        let controllers = self.controllers;
        let queue = self.queue.clone();
        let metrics = controllers.metrics.controller(&self.name, workers);
        controllers.metrics.ask(&self.name, move || queue.load());
        let (queue, limit) = (self.queue.clone(), self.timeout);
        let hung = format!("controller `{}`, time limit {limit:?}", self.name);
        let is_hung = move || queue.load().longest > limit;
        controllers
            .hung
            .push(Arc::new(move || is_hung().then(|| hung.clone())));
        let work = Work {
            name: self.name,
            objects: self.objects,
            queue: self.queue,
            metrics,
            reconcile: move |object| reconcile(object, context.clone()),
            workers,
            timeout: self.timeout,
            grace: controllers.grace,
            leadership: self.leadership,
            count: AtomicU64::new(0),
            terminating: Terminating::default(),
        };
        let shutdown = controllers.shutdown.clone();
        let (running, sources) = (work.until(shutdown, self.synced), self.sources);
        let running = async move {
            // Keys that arrive before the caches are filled wait in the queue.
            let sources = join_all(sources).then(|_| std::future::pending::<()>());
            tokio::select! {
                () = running => {}
                () = sources => {}
            }
        };
        controllers.running.push(running.boxed());
    }
}

struct Work<K: Object, Reconcile> {
    name: String,
    objects: Objects<K>,
    queue: Arc<Queue>,
    metrics: ControllerMetrics,
    reconcile: Reconcile,
    workers: usize,
    timeout: Duration,
    grace: Duration,
    leadership: Leadership,
    count: AtomicU64,
    terminating: Terminating,
}

impl<K, Reconcile, Running, Error> Work<K, Reconcile>
where
    K: Object,
    Reconcile: Fn(Arc<K>) -> Running + Send + Sync + 'static,
    Running: Future<Output = Result<Action, Error>> + Send + 'static,
    Error: Failure,
{
    /// Works from when the caches are filled until the shutdown, which waits for the running reconciles.
    async fn until(self, shutdown: Shutdown, synced: Vec<BoxFuture<'static, ()>>) {
        tokio::select! {
            _ = join_all(synced) => {}
            () = shutdown.requested() => return,
        }
        let filled = tokio::time::Instant::now();
        let work = Arc::new(self);
        let free = Arc::new(Semaphore::new(work.workers));
        let mut running = JoinSet::new();
        tracing::info!(
            controller = work.name,
            workers = work.workers,
            "starting workers"
        );
        loop {
            let next = async {
                let worker = free.clone().acquire_owned().await;
                let leading = work.leadership.held().await;
                work.queue.opened(leading.max(filled));
                (worker, work.queue.next().await)
            };
            tokio::select! {
                biased;
                () = shutdown.requested() => break,
                Some(ended) = running.join_next() => {
                    if let Err(error) = ended {
                        tracing::error!(%error, "a visit failed");
                    }
                }
                (worker, key) = next => {
                    let work = work.clone();
                    running.spawn(async move {
                        work.visit(key).await;
                        drop(worker);
                    });
                }
            }
        }
        let drained = tokio::time::timeout(work.grace, async {
            while running.join_next().await.is_some() {}
        });
        if drained.await.is_err() {
            tracing::warn!(
                controller = work.name,
                reconciles = running.len(),
                "reconciles were cut off by the shutdown"
            );
            running.shutdown().await;
        }
    }

    async fn visit(&self, key: ObjectKey) {
        let _work = Working(&self.queue, &key);
        let Some(_term) = self.leadership.enter() else {
            // The leadership was lost in between. The key waits for the next term.
            self.queue.add(key.clone(), Priority::Normal);
            return;
        };
        let Some(object) = self.objects.cache.get(&key) else {
            // A retry that was planned after the deletion. Its failures do not count for a successor.
            self.queue.forget(&key);
            return;
        };
        let id = self.count.fetch_add(1, Ordering::Relaxed);
        let span = tracing::info_span!(
            "reconcile",
            controller = self.name,
            namespace = key.namespace,
            name = key.name,
            id
        );
        let started = Instant::now();
        self.metrics.started();
        let reconcile = async {
            // Panics of user code end here.
            let outcome = error::catch_running(self.reconcile(object, &key)).await;
            outcome.unwrap_or_else(|panic| {
                let retry = self.queue.retry(key.clone());
                tracing::error!(panic, ?retry, "reconcile panicked");
                ReconcileOutcome::Panic
            })
        };
        let outcome = reconcile.instrument(span).await;
        self.metrics.ended(outcome, started.elapsed());
    }

    async fn reconcile(&self, object: Arc<K>, key: &ObjectKey) -> ReconcileOutcome {
        tracing::debug!(resource_version = object.resource_version(), "reconciling");
        let (queue, again) = (self.queue.clone(), key.clone());
        let again = move |after| queue.add_after(again.clone(), after);
        let (seen, uid) = (object.clone(), object.uid());
        let reconcile = visit::during(&self.objects.cache.kind, &*seen, again, async {
            (self.reconcile)(object).await
        });
        let ended = tokio::select! {
            biased;
            // The future is dropped here, so that the next reconcile of the object runs alone.
            ended = tokio::time::timeout(self.timeout, reconcile) => ended,
            () = self.leadership.lost() => {
                tracing::warn!("reconcile was stopped: this replica does not lead any more");
                self.queue.add(key.clone(), Priority::Normal);
                return ReconcileOutcome::Requeue;
            }
        };
        let delay = match ended {
            Ok(Ok(Action::RequeueAfter(delay))) => delay,
            Ok(Ok(Action::RequeueAt(time))) => time::until(time),
            _ => Duration::ZERO,
        };
        match ended {
            Ok(Ok(Action::Done)) => {
                self.queue.succeeded(key);
                self.terminating.forget(key);
                ReconcileOutcome::Success
            }
            Ok(Ok(_)) if delay >= queue::FIRST_DELAY => {
                self.queue.succeeded(key);
                self.queue.add_after(key.clone(), delay);
                ReconcileOutcome::RequeueAfter
            }
            Ok(Ok(_)) => {
                self.queue.retry(key.clone());
                ReconcileOutcome::Requeue
            }
            Ok(Err(error)) => {
                // User code first: it may panic.
                let (reason, permanent) = (error.reason(), error.is_permanent());
                let error = error.to_string();
                let now = self.objects.cache.get(key);
                if now.is_none_or(|now| now.uid() != uid) {
                    // A successor with the same name was queued when it appeared.
                    tracing::debug!(reason, error, "reconcile failed, and its object is gone");
                    self.queue.succeeded(key);
                    return ReconcileOutcome::Success;
                }
                if self.terminating.explains(reason, key) {
                    self.queue.succeeded(key);
                    return ReconcileOutcome::Success;
                }
                if permanent {
                    tracing::error!(reason, error, "reconcile failed, waiting for a change");
                    self.queue.succeeded(key);
                    return ReconcileOutcome::PermanentError;
                }
                let retry = self.queue.retry(key.clone());
                tracing::error!(reason, error, ?retry, "reconcile failed");
                ReconcileOutcome::Error
            }
            Err(_) => {
                let retry = self.queue.retry(key.clone());
                tracing::error!(timeout = ?self.timeout, ?retry, "reconcile took too long and was stopped");
                ReconcileOutcome::Error
            }
        }
    }
}

/// Marks a key as being worked on until it is dropped.
struct Working<'a>(&'a Queue, &'a ObjectKey);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.done(self.1);
    }
}
