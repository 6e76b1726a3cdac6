//! Metrics of webhooks, with the names of controller-runtime.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Histogram buckets of the request time, in seconds: the default of Prometheus clients.
const SECONDS: [f64; 11] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

type Labels<const N: usize> = [(&'static str, String); N];

#[derive(Clone)]
pub(super) struct Metrics {
    requests: Family<Labels<2>, Counter>,
    took: Family<Labels<1>, Histogram, fn() -> Histogram>,
    in_flight: Family<Labels<1>, Gauge>,
    pub(super) panics: Counter,
    pub(super) certificate_ends: Gauge,
}

impl Metrics {
    /// Registers the metrics. Names of counters omit `_total`, which the encoder appends.
    pub(super) fn new(registry: &mut Registry) -> Self {
        let seconds: fn() -> Histogram = || Histogram::new(SECONDS);
        let metrics = Self {
            requests: Family::default(),
            took: Family::new_with_constructor(seconds),
            in_flight: Family::default(),
            panics: Counter::default(),
            certificate_ends: Gauge::default(),
        };
        registry.register(
            "controller_runtime_webhook_requests",
            "Requests by path and code of the answer",
            metrics.requests.clone(),
        );
        registry.register(
            "controller_runtime_webhook_latency_seconds",
            "How long a request takes",
            metrics.took.clone(),
        );
        registry.register(
            "controller_runtime_webhook_requests_in_flight",
            "Requests that are being answered",
            metrics.in_flight.clone(),
        );
        registry.register(
            "controller_runtime_webhook_panics",
            "Requests whose handler panicked",
            metrics.panics.clone(),
        );
        registry.register(
            "webhook_certificate_expiration_timestamp_seconds",
            "When the certificate of the webhooks ends, in seconds since 1970",
            metrics.certificate_ends.clone(),
        );
        metrics
    }

    pub(super) fn started(&self, path: &str) -> InFlight {
        let in_flight = self
            .in_flight
            .get_or_create_owned(&[("webhook", path.to_owned())]);
        in_flight.inc();
        InFlight(in_flight)
    }

    pub(super) fn answered(&self, path: &str, code: u16, took: Duration) {
        let webhook = ("webhook", path.to_owned());
        let labels = [webhook.clone(), ("code", code.to_string())];
        self.requests.get_or_create(&labels).inc();
        self.took
            .get_or_create(&[webhook])
            .observe(took.as_secs_f64());
    }
}

/// A running request. Dropping it also covers clients that disconnect.
pub(super) struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}
