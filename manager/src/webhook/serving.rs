//! Serves one request: calls its webhook within the limits of time and memory, and counts it.
//!
//! The metrics have the names of controller-runtime.

use std::collections::BTreeMap;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes};
use hyper::header::{CONTENT_TYPE, HeaderMap};
use hyper::{Method, Request, StatusCode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tower::BoxError;

use super::CONVERT;
use super::review::Answered;
use crate::http::{Answer, TIME_LIMIT};
use crate::{error, time};

/// Maximum size of a body in bytes, as in controller-runtime: two objects of the maximum size in etcd, and more.
const SIZE_LIMIT: usize = 7 * 1024 * 1024;
/// Maximum size of a body in bytes for conversions. The API server sends the objects of a list together.
const CONVERSION_LIMIT: usize = 32 * 1024 * 1024;
/// Maximum size in bytes of all bodies that are being served.
pub(super) const BUDGET: usize = 64 * 1024 * 1024;

pub(super) type Answering = Pin<Box<dyn Future<Output = Answered> + Send>>;

pub(super) type Handler = Arc<dyn Fn(Bytes) -> Answering + Send + Sync>;

pub(super) struct Serving {
    pub(super) handlers: BTreeMap<String, Handler>,
    pub(super) metrics: WebhookMetrics,
    /// One permit per byte of [`BUDGET`].
    pub(super) budget: Arc<Semaphore>,
}

struct HeldBody {
    bytes: Vec<u8>,
    permits: Option<OwnedSemaphorePermit>,
}

impl Serving {
    /// Serves a request. Panics, invalid bodies and late answers are HTTP errors, which `failurePolicy` handles.
    pub(super) async fn answer<B>(&self, request: Request<B>) -> Answer
    where
        B: Body<Data = Bytes, Error: Into<BoxError>>,
    {
        let path = request.uri().path().to_owned();
        let Some(handler) = self.handlers.get(&path) else {
            return Answer::not_found();
        };
        let started = Instant::now();
        let in_flight = self.metrics.started(&path);
        let limit = time_limit(request.uri().query().unwrap_or_default());
        let answer = tokio::time::timeout(limit, self.asked(&path, handler, request)).await;
        let answer = answer.unwrap_or_else(|_| {
            tracing::warn!(webhook = path, ?limit, "a request took too long");
            Answer::new(StatusCode::GATEWAY_TIMEOUT, "out of time")
        });
        drop(in_flight);
        let code = answer.status.as_u16();
        self.metrics.answered(&path, code, started.elapsed());
        answer
    }

    async fn asked<B>(&self, path: &str, handler: &Handler, request: Request<B>) -> Answer
    where
        B: Body<Data = Bytes, Error: Into<BoxError>>,
    {
        if request.method() != Method::POST {
            return Answer::new(StatusCode::METHOD_NOT_ALLOWED, "a review is sent with POST");
        }
        if !is_json(request.headers()) {
            return Answer::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "a review is JSON");
        }
        let limit = match path {
            CONVERT => CONVERSION_LIMIT,
            _ => SIZE_LIMIT,
        };
        let HeldBody {
            bytes,
            permits: _held,
        } = match self.read(request.into_body(), limit).await {
            Ok(held) => held,
            Err(answer) => return answer,
        };
        match error::catch_running(async { handler(bytes.into()).await }).await {
            Ok(Ok(text)) => Answer::json(text),
            Ok(Err(text)) => {
                tracing::warn!(webhook = path, error = text, "a request is no review");
                Answer::new(StatusCode::BAD_REQUEST, text)
            }
            Err(panic) => {
                self.metrics.panics.inc();
                tracing::error!(webhook = path, panic, "a webhook panicked");
                Answer::new(StatusCode::INTERNAL_SERVER_ERROR, "the webhook panicked")
            }
        }
    }

    /// Reads a body. Received bytes count, not the announced length: a client that sends nothing does not block others.
    async fn read<B>(&self, body: B, limit: usize) -> Result<HeldBody, Answer>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>>,
    {
        let mut body = pin!(body);
        let mut held = HeldBody {
            bytes: Vec::new(),
            permits: None,
        };
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                let text = error.into().to_string();
                Answer::new(StatusCode::BAD_REQUEST, text)
            })?;
            let Ok(data) = frame.into_data() else {
                continue;
            };
            if held.bytes.len() + data.len() > limit {
                let text = format!("a review has at most {limit} bytes");
                return Err(Answer::new(StatusCode::PAYLOAD_TOO_LARGE, text));
            }
            let wanted = u32::try_from(data.len()).unwrap_or(u32::MAX);
            let permits = self.budget.clone().try_acquire_many_owned(wanted);
            let permits = permits.map_err(|_| {
                tracing::warn!("too many large reviews at the same time");
                let text = "too many large reviews at the same time";
                Answer::new(StatusCode::SERVICE_UNAVAILABLE, text)
            })?;
            match &mut held.permits {
                Some(before) => before.merge(permits),
                none => *none = Some(permits),
            }
            held.bytes.extend_from_slice(&data);
        }
        Ok(held)
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let media_type = value.and_then(|value| value.split(';').next());
    media_type.is_some_and(|media_type| media_type.trim().eq_ignore_ascii_case("application/json"))
}

/// Returns the time limit of the API server from the query.
fn time_limit(query: &str) -> Duration {
    let mut values = query
        .split('&')
        .filter_map(|pair| pair.strip_prefix("timeout="));
    let asked = values
        .next()
        .and_then(|value| time::parse_duration(value).ok());
    asked.map_or(TIME_LIMIT, |asked| asked.min(TIME_LIMIT))
}

/// Histogram buckets of the request time, in seconds: the default of Prometheus clients.
const SECONDS: [f64; 11] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

type WebhookLabels<const N: usize> = [(&'static str, String); N];

#[derive(Clone)]
pub(super) struct WebhookMetrics {
    requests: Family<WebhookLabels<2>, Counter>,
    took: Family<WebhookLabels<1>, Histogram, fn() -> Histogram>,
    in_flight: Family<WebhookLabels<1>, Gauge>,
    pub(super) panics: Counter,
    pub(super) certificate_ends: Gauge,
}

impl WebhookMetrics {
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
