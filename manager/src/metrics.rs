//! Metrics with the names, labels and meanings of controller-runtime, so that its dashboards and alerts work.
//!
//! No label holds the name of an object or the text of an error, so that the number of series stays small.

#[cfg(target_os = "linux")]
mod process;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::encoding::text;
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// The media type of [`page`]: <https://prometheus.io/docs/specs/om/open_metrics_spec/>.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Histogram buckets of the reconcile time, in seconds.
const RECONCILE_SECONDS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
    1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0,
    25.0, 30.0, 40.0, 50.0, 60.0,
];

/// Histogram buckets of the queue and work times, in seconds.
const QUEUE_SECONDS: [f64; 12] = [
    1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0,
];

type Labels<const N: usize> = [(&'static str, String); N];
type Histograms<const N: usize> = Family<Labels<N>, Histogram, fn() -> Histogram>;

pub(crate) struct Metrics {
    active: Family<Labels<1>, Gauge>,
    workers: Family<Labels<1>, Gauge>,
    errors: Family<Labels<1>, Counter>,
    panics: Family<Labels<1>, Counter>,
    permanent_errors: Family<Labels<1>, Counter>,
    results: Family<Labels<2>, Counter>,
    took: Histograms<1>,
    adds: Family<Labels<2>, Counter>,
    retries: Family<Labels<2>, Counter>,
    waited: Histograms<2>,
    worked: Histograms<2>,
    asked: CallbackCollector,
    leaders: Family<Labels<1>, Gauge>,
    requests: Family<Labels<3>, Counter>,
}

pub(crate) struct ControllerMetrics {
    active: Gauge,
    errors: Counter,
    panics: Counter,
    permanent_errors: Counter,
    results: [Counter; ReconcileOutcome::ALL.len()],
    took: Histogram,
}

pub(crate) struct QueueMetrics {
    pub(crate) adds: Counter,
    pub(crate) retries: Counter,
    pub(crate) waited: Histogram,
    pub(crate) worked: Histogram,
}

pub(crate) struct Load {
    pub(crate) depth: usize,
    /// Sum of the time that all unfinished work has taken so far.
    pub(crate) unfinished: Duration,
    /// Time that the oldest unfinished work has taken so far.
    pub(crate) longest: Duration,
}

#[derive(Clone, Copy)]
pub(crate) enum ReconcileOutcome {
    Error,
    Requeue,
    RequeueAfter,
    Success,
    /// An error that is not retried until something changes.
    PermanentError,
    Panic,
}

impl ReconcileOutcome {
    /// The values of the label `result` in controller-runtime.
    const ALL: [&'static str; 4] = ["error", "requeue", "requeue_after", "success"];

    fn result(self) -> usize {
        match self {
            Self::Error | Self::PermanentError | Self::Panic => 0,
            Self::Requeue => 1,
            Self::RequeueAfter => 2,
            Self::Success => 3,
        }
    }
}

impl Metrics {
    pub(crate) fn new(registry: &mut Registry) -> Arc<Self> {
        let reconcile_seconds: fn() -> Histogram = || Histogram::new(RECONCILE_SECONDS);
        let queue_seconds: fn() -> Histogram = || Histogram::new(QUEUE_SECONDS);
        let metrics = Self {
            active: Family::default(),
            workers: Family::default(),
            errors: Family::default(),
            panics: Family::default(),
            permanent_errors: Family::default(),
            results: Family::default(),
            took: Family::new_with_constructor(reconcile_seconds),
            adds: Family::default(),
            retries: Family::default(),
            waited: Family::new_with_constructor(queue_seconds),
            worked: Family::new_with_constructor(queue_seconds),
            asked: CallbackCollector::default(),
            leaders: Family::default(),
            requests: Family::default(),
        };
        metrics.register(registry);
        Arc::new(metrics)
    }

    /// Registers all metrics. Names of counters omit `_total`, which the encoder appends.
    fn register(&self, registry: &mut Registry) {
        registry.register(
            "controller_runtime_active_workers",
            "Workers that are reconciling",
            self.active.clone(),
        );
        registry.register(
            "controller_runtime_max_concurrent_reconciles",
            "Most reconciles at the same time",
            self.workers.clone(),
        );
        registry.register(
            "controller_runtime_reconcile_errors",
            "Reconciles that failed",
            self.errors.clone(),
        );
        registry.register(
            "controller_runtime_reconcile_panics",
            "Reconciles that panicked",
            self.panics.clone(),
        );
        registry.register(
            "controller_runtime_terminal_reconcile_errors",
            "Reconciles that failed and wait for a change",
            self.permanent_errors.clone(),
        );
        registry.register(
            "controller_runtime_reconcile",
            "Reconciles by result",
            self.results.clone(),
        );
        registry.register(
            "controller_runtime_reconcile_time_seconds",
            "How long a reconcile takes",
            self.took.clone(),
        );
        registry.register(
            "workqueue_adds",
            "Objects that came into the queue",
            self.adds.clone(),
        );
        registry.register(
            "workqueue_retries",
            "Objects put back for later",
            self.retries.clone(),
        );
        registry.register(
            "workqueue_queue_duration_seconds",
            "How long an object stays in the queue",
            self.waited.clone(),
        );
        registry.register(
            "workqueue_work_duration_seconds",
            "How long the work on an object takes",
            self.worked.clone(),
        );
        registry.register_collector(Box::new(self.asked.clone()));
        registry.register(
            "leader_election_master_status",
            "Whether this replica leads: 1 if it does, 0 if it stands by",
            self.leaders.clone(),
        );
        registry.register(
            "rest_client_requests",
            "Requests to the API server",
            self.requests.clone(),
        );
        #[cfg(target_os = "linux")]
        registry.register_collector(Box::new(process::Own));
    }

    pub(crate) fn controller(&self, name: &str, workers: usize) -> ControllerMetrics {
        let labels = [("controller", name.to_owned())];
        let workers = i64::try_from(workers).unwrap_or(i64::MAX);
        self.workers.get_or_create(&labels).set(workers);
        let results = ReconcileOutcome::ALL.map(|result| {
            let [controller] = labels.clone();
            let labels = [controller, ("result", result.to_owned())];
            self.results.get_or_create_owned(&labels)
        });
        ControllerMetrics {
            active: self.active.get_or_create_owned(&labels),
            errors: self.errors.get_or_create_owned(&labels),
            panics: self.panics.get_or_create_owned(&labels),
            permanent_errors: self.permanent_errors.get_or_create_owned(&labels),
            results,
            took: self.took.get_or_create_owned(&labels),
        }
    }

    pub(crate) fn queue(&self, controller: &str) -> QueueMetrics {
        let labels = queue_labels(controller);
        QueueMetrics {
            adds: self.adds.get_or_create_owned(&labels),
            retries: self.retries.get_or_create_owned(&labels),
            waited: self.waited.get_or_create_owned(&labels),
            worked: self.worked.get_or_create_owned(&labels),
        }
    }

    /// Adds the callback that returns the load of a controller's queue.
    pub(crate) fn ask(&self, controller: &str, load: impl Fn() -> Load + Send + Sync + 'static) {
        let loads = &mut self.asked.lock().loads;
        loads.insert(controller.to_owned(), Box::new(load));
    }

    /// Adds a callback that returns the silence of a watch of this kind.
    pub(crate) fn listen(
        &self,
        kind: &str,
        silence: impl Fn() -> Duration + Send + Sync + 'static,
    ) {
        let silences = &mut self.asked.lock().silences;
        let of_kind = silences.entry(kind.to_owned()).or_default();
        of_kind.push(Box::new(silence));
    }

    /// Counts an answer of the API server. `code` is `<error>` if there was no answer.
    pub(crate) fn requested(&self, host: &str, method: &str, code: &str) {
        let labels = [("code", code), ("host", host), ("method", method)];
        let labels = labels.map(|(name, value)| (name, value.to_owned()));
        self.requests.get_or_create(&labels).inc();
    }

    /// Sets the gauge that tells if this replica holds the lock with that name.
    pub(crate) fn set_leader(&self, name: &str, leading: bool) {
        let labels = [("name", name.to_owned())];
        self.leaders.get_or_create(&labels).set(leading.into());
    }
}

impl ControllerMetrics {
    pub(crate) fn started(&self) {
        self.active.inc();
    }

    pub(crate) fn ended(&self, outcome: ReconcileOutcome, took: Duration) {
        self.active.dec();
        self.results[outcome.result()].inc();
        let failed = outcome.result() == ReconcileOutcome::Error.result();
        self.errors.inc_by(failed.into());
        let permanent = matches!(outcome, ReconcileOutcome::PermanentError);
        self.permanent_errors.inc_by(permanent.into());
        self.panics
            .inc_by(matches!(outcome, ReconcileOutcome::Panic).into());
        self.took.observe(took.as_secs_f64());
    }
}

impl Default for QueueMetrics {
    fn default() -> Self {
        Self {
            adds: Counter::default(),
            retries: Counter::default(),
            waited: Histogram::new(QUEUE_SECONDS),
            worked: Histogram::new(QUEUE_SECONDS),
        }
    }
}

/// Callbacks that are asked for their values whenever somebody reads the metrics.
#[derive(Default)]
struct Callbacks {
    /// The load of a queue, by controller.
    loads: BTreeMap<String, Box<dyn Fn() -> Load + Send + Sync>>,
    /// The silences of the watches of a kind.
    silences: BTreeMap<String, Vec<Box<dyn Fn() -> Duration + Send + Sync>>>,
}

#[derive(Clone, Default)]
struct CallbackCollector(Arc<Mutex<Callbacks>>);

impl CallbackCollector {
    fn lock(&self) -> MutexGuard<'_, Callbacks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for CallbackCollector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CallbackCollector")
    }
}

impl Collector for CallbackCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Callbacks { loads, silences } = &*self.lock();
        let loads = loads
            .iter()
            .map(|(name, load)| (queue_labels(name), load()));
        let loads = Vec::from_iter(loads);
        let (name, help) = ("workqueue_depth", "Objects in the queue.");
        let mut depth = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, load) in &loads {
            depth.encode_family(labels)?.encode_gauge(&load.depth)?;
        }
        let mut seconds = |name, help, value: fn(&Load) -> Duration| {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for (labels, load) in &loads {
                let seconds = value(load).as_secs_f64();
                family.encode_family(labels)?.encode_gauge(&seconds)?;
            }
            Ok(())
        };
        seconds(
            "workqueue_longest_running_processor_seconds",
            "For how long the oldest work has been going on.",
            |load| load.longest,
        )?;
        seconds(
            "workqueue_unfinished_work_seconds",
            "For how long the work that is going on has been going on, all of it added up.",
            |load| load.unfinished,
        )?;
        let (name, help) = (
            "watch_longest_silence_seconds",
            "For how long the quietest watch of a kind has brought nothing.",
        );
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (kind, silences) in silences {
            let longest = silences.iter().map(|silence| silence()).max();
            let labels = [("kind", kind.as_str())];
            let mut gauge = family.encode_family(&labels)?;
            gauge.encode_gauge(&longest.unwrap_or_default().as_secs_f64())?;
        }
        Ok(())
    }
}

fn queue_labels(controller: &str) -> Labels<2> {
    ["controller", "name"].map(|name| (name, controller.to_owned()))
}

pub(crate) fn page(registry: &Registry) -> String {
    let mut page = String::new();
    if let Err(error) = text::encode(&mut page, registry) {
        // The metric of an author failed; writing to a string cannot.
        tracing::error!(%error, "a metric can't be encoded");
    }
    page
}
