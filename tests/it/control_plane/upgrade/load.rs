//! Simulated users: up to a hundred requests per second. Measures the longest time without a success.

use std::fmt::{self, Display};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::json;

use super::OBJECTS;
use crate::http;

/// Longer than the API server's webhook timeout.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Upper bound per second over all workers; each pair of version and operation has one worker.
const RATE: u32 = 100;

const OPERATIONS: [&str; 3] = ["get", "list", "update"];

pub(crate) struct Load {
    ended: Arc<AtomicBool>,
    workers: Vec<JoinHandle<Outage>>,
}

struct Outage {
    what: String,
    requests: usize,
    failed: usize,
    /// Longest time without a success.
    longest: Duration,
    error: String,
}

pub(crate) struct Outages(Vec<Outage>);

impl Load {
    /// Starts requests for these versions through `kubectl proxy`.
    pub(crate) fn start(address: SocketAddr, versions: &[&'static str]) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let kinds: Vec<_> =
            versions.iter().flat_map(|version| OPERATIONS.map(|operation| (*version, operation))).collect();
        let pause = Duration::from_secs(1) * u32::try_from(kinds.len()).unwrap() / RATE;
        let change = Arc::new(AtomicUsize::new(0));
        let worker = |(version, operation)| {
            let (ended, change) = (ended.clone(), change.clone());
            std::thread::spawn(move || work(address, version, operation, pause, &ended, &change))
        };
        let workers = kinds.into_iter().map(worker).collect();
        Self { ended, workers }
    }

    pub(crate) fn end(self) -> Outages {
        self.ended.store(true, Ordering::SeqCst);
        Outages(self.workers.into_iter().map(|worker| worker.join().unwrap()).collect())
    }
}

impl Outages {
    pub(crate) fn longest(&self) -> Duration {
        self.0.iter().map(|outage| outage.longest).max().unwrap_or_default()
    }

    pub(super) fn failed(&self) -> usize {
        self.0.iter().map(|outage| outage.failed).sum()
    }
}

impl Display for Outages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requests: usize = self.0.iter().map(|outage| outage.requests).sum();
        write!(f, "{} of {requests} requests failed", self.failed())?;
        for Outage { what, requests, failed, longest, error } in &self.0 {
            write!(f, "\n  {what}: {failed} of {requests} failed, {longest:?} without a success")?;
            if *failed > 0 {
                write!(f, ", the last: {}", error.lines().last().unwrap_or_default())?;
            }
        }
        Ok(())
    }
}

fn work(
    address: SocketAddr,
    version: &str,
    operation: &str,
    pause: Duration,
    ended: &AtomicBool,
    change: &AtomicUsize,
) -> Outage {
    let mut outage = Outage {
        what: format!("{operation} {version}"),
        requests: 0,
        failed: 0,
        longest: Duration::ZERO,
        error: String::new(),
    };
    let mut success = Instant::now();
    while !ended.load(Ordering::SeqCst) {
        let started = Instant::now();
        outage.requests += 1;
        match request(address, version, operation, change.fetch_add(1, Ordering::SeqCst)) {
            Ok(()) => {
                outage.longest = outage.longest.max(success.elapsed());
                success = Instant::now();
            }
            // After a CRD change, the API server briefly rejects lists; clients retry.
            Err(error) if error.contains("\"retryAfterSeconds\"") && !error.contains("conversion webhook") => {}
            Err(error) => {
                outage.failed += 1;
                outage.error = error;
            }
        }
        std::thread::sleep(pause.saturating_sub(started.elapsed()));
    }
    outage.longest = outage.longest.max(success.elapsed());
    outage
}

fn request(address: SocketAddr, version: &str, operation: &str, number: usize) -> Result<(), String> {
    let all = format!("/apis/example.com/{version}/namespaces/default/things");
    let one = format!("{all}/thing-{}", number % OBJECTS);
    let patch = json!({ "metadata": { "annotations": { "change": number.to_string() } } }).to_string();
    let (method, path, document) = match operation {
        "get" => ("GET", &one, ""),
        "list" => ("GET", &all, ""),
        _ => ("PATCH", &one, patch.as_str()),
    };
    let (head, body) = http::send(address, TIMEOUT, method, path, document)?;
    if http::code(&head).starts_with('2') { Ok(()) } else { Err(format!("{head}\n{body}")) }
}
