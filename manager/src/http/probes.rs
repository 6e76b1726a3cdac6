//! Named checks behind `/healthz` and `/readyz`, and the readiness of a replica with webhooks.
//!
//! `/readyz` runs all checks, `/readyz/caches` runs one. `?verbose` lists them, and `?exclude=caches` leaves one out.
//! Anybody may call them, so the error of a check appears only in the log, unless the check is open. A pending check
//! fails when called alone. Among others, it is listed and does not count.
//!
//! A replica with webhooks is ready when it serves them. Its Service routes to ready replicas only, so readiness must
//! never wait for a request that the API server answers through these webhooks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use tokio::sync::watch;

use super::Answer;
use crate::cache::Unsynced;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CheckOutcome {
    Passed,
    /// Not done yet, for this reason. The process can work without it.
    Pending(String),
    Failed(String),
}

impl From<Result<(), String>> for CheckOutcome {
    fn from(result: Result<(), String>) -> Self {
        match result {
            Ok(()) => Self::Passed,
            Err(error) => Self::Failed(error),
        }
    }
}

type Run = Box<dyn Fn() -> CheckOutcome + Send + Sync>;

struct Check {
    run: Run,
    /// True if everybody may read its errors.
    open: bool,
}

#[derive(Default)]
pub(crate) struct Checks {
    checks: BTreeMap<String, Check>,
}

impl Checks {
    pub(crate) fn add(
        &mut self,
        name: &str,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) {
        self.insert(name, false, Box::new(move || check().into()));
    }

    /// Adds a check whose errors contain no secrets.
    pub(crate) fn add_open<Checked: Into<CheckOutcome>>(
        &mut self,
        name: &str,
        check: impl Fn() -> Checked + Send + Sync + 'static,
    ) {
        self.insert(name, true, Box::new(move || check().into()));
    }

    fn insert(&mut self, name: &str, open: bool, run: Run) {
        self.checks.insert(name.to_owned(), Check { run, open });
    }

    /// Runs checks. `kind` is for people, `name` is the rest of the path.
    fn answer(&self, kind: &str, name: Option<&str>, query: &str) -> Answer {
        let parameters = || {
            query
                .split('&')
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        };
        let excluded = |check: &str| parameters().any(|pair| pair == ("exclude", check));
        let selected: Vec<_> = self
            .checks
            .iter()
            .filter(|(check, _)| match name {
                Some(name) => *check == name,
                None => !excluded(check),
            })
            .collect();
        if name.is_some() && selected.is_empty() {
            return Answer::not_found();
        }
        let mut lines = String::new();
        let mut passed = true;
        for (check, Check { run, open }) in selected {
            match run() {
                CheckOutcome::Passed => lines += &format!("[+]{check} ok\n"),
                CheckOutcome::Pending(reason) if name.is_none() => {
                    lines += &format!("[ ]{check} pending: {reason}\n");
                }
                CheckOutcome::Failed(error) | CheckOutcome::Pending(error) => {
                    tracing::debug!(kind, check, error, "check failed");
                    passed = false;
                    let reason = if *open { &error } else { "reason withheld" };
                    lines += &format!("[-]{check} failed: {reason}\n");
                }
            }
        }
        match (passed, parameters().any(|(name, _)| name == "verbose")) {
            (true, false) => Answer::ok("ok"),
            (true, true) => Answer::ok(format!("{lines}{kind} check passed\n")),
            (false, _) => Answer::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                format!("{lines}{kind} check failed\n"),
            ),
        }
    }
}

#[derive(Default)]
pub(crate) struct Probes {
    pub(crate) health: Checks,
    pub(crate) ready: Checks,
    /// Becomes true with the first successful `/readyz`.
    pub(crate) seen_ready: watch::Sender<bool>,
}

impl Probes {
    pub(crate) fn answer(&self, path: &str, query: &str) -> Answer {
        let (kind, name) = match path.trim_start_matches('/').split_once('/') {
            Some((kind, name)) => (kind, Some(name).filter(|name| !name.is_empty())),
            None => (path.trim_start_matches('/'), None),
        };
        match kind {
            "healthz" => self.health.answer(kind, name, query),
            "readyz" => {
                let answer = self.ready.answer(kind, name, query);
                if name.is_none() && answer.status == StatusCode::OK {
                    self.seen_ready.send_replace(true);
                }
                answer
            }
            _ => Answer::not_found(),
        }
    }
}

/// Maximum time that reconciles wait for the first successful `/readyz`. The kubelet probes every 10 seconds.
const READY_LIMIT: Duration = Duration::from_secs(30);
/// Time that kube-proxy needs to route to a replica that became ready.
const ROUTE_TIME: Duration = Duration::from_secs(2);

/// Returns the outcome of the check `caches`.
///
/// A replica with webhooks must be ready before the API server can list kinds that they convert, see [`Unsynced`].
pub(crate) fn caches(unsynced: &[Unsynced], serves_webhooks: bool) -> CheckOutcome {
    let reasons = unsynced.iter().map(|watch| watch.why.clone()).collect();
    let counts = !serves_webhooks || unsynced.iter().any(|watch| watch.delays_webhooks);
    outcome(reasons, counts)
}

/// Returns the outcome of the check `watches`; `silent` describes the silent watches.
///
/// The check does not count for a replica with webhooks. A watch of a kind that they convert is also silent when the
/// API server cannot reach them, and it cannot reach an unready replica.
pub(crate) fn watches(silent: BTreeSet<String>, serves_webhooks: bool) -> CheckOutcome {
    outcome(silent, !serves_webhooks)
}

fn outcome(reasons: BTreeSet<String>, counts: bool) -> CheckOutcome {
    let text = Vec::from_iter(reasons).join("; ");
    match (&*text, counts) {
        ("", _) => CheckOutcome::Passed,
        (_, true) => CheckOutcome::Failed(text),
        (_, false) => CheckOutcome::Pending(text),
    }
}

/// Sets `reachable` when the API server can reach the webhooks of this replica, judging by the probes. Before that,
/// writing an object that these webhooks admit would fail.
pub(crate) async fn route(mut ready: watch::Receiver<bool>, reachable: Arc<watch::Sender<bool>>) {
    let probed = async {
        if ready.wait_for(|ready| *ready).await.is_ok() {
            tokio::time::sleep(ROUTE_TIME).await;
        }
    };
    if tokio::time::timeout(READY_LIMIT, probed).await.is_err() {
        tracing::warn!(limit = ?READY_LIMIT, "no probe has found this replica ready: reconciles begin all the same");
    }
    reachable.send_replace(true);
    std::future::pending().await
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[test]
    fn a_pending_check_counts_only_when_it_is_asked_alone() {
        let mut probes = Probes::default();
        let pending = || CheckOutcome::Pending("Thing is not listed yet".to_owned());
        probes.ready.add_open("caches", pending);
        for (path, query, status, text) in [
            (
                "/readyz/caches",
                "",
                500,
                "[-]caches failed: Thing is not listed yet\nreadyz check failed\n",
            ),
            ("/readyz", "", 200, "ok"),
            (
                "/readyz",
                "verbose",
                200,
                "[ ]caches pending: Thing is not listed yet\nreadyz check passed\n",
            ),
        ] {
            assert!(!*probes.seen_ready.borrow() || status == 200, "{path}");
            let answer = probes.answer(path, query);
            let actual = (answer.status.as_u16(), answer.text.as_str());
            assert_eq!(actual, (status, text), "{path}?{query}");
        }
        assert!(*probes.seen_ready.borrow());
    }

    #[test]
    fn checks_have_names_and_every_one_counts() {
        let mut probes = Probes::default();
        probes.ready.add("caches", || Ok(()));
        probes
            .ready
            .add("database", || Err("password wrong".into()));
        probes
            .health
            .add_open("kinds", || Err("Thing is missing".into()));
        let cases = [
            (
                "/healthz/kinds",
                "",
                500,
                "[-]kinds failed: Thing is missing\nhealthz check failed\n",
            ),
            ("/healthz", "exclude=kinds", 200, "ok"),
            (
                "/healthz/",
                "verbose&exclude=kinds",
                200,
                "healthz check passed\n",
            ),
            (
                "/readyz",
                "",
                500,
                "[+]caches ok\n[-]database failed: reason withheld\nreadyz check failed\n",
            ),
            ("/readyz", "exclude=database", 200, "ok"),
            (
                "/readyz",
                "verbose=1&exclude=database",
                200,
                "[+]caches ok\nreadyz check passed\n",
            ),
            ("/readyz/caches", "", 200, "ok"),
            (
                "/readyz/database",
                "",
                500,
                "[-]database failed: reason withheld\nreadyz check failed\n",
            ),
            ("/readyz/other", "", 404, "not found"),
            ("/", "", 404, "not found"),
            ("/metrics", "", 404, "not found"),
        ];
        for (path, query, status, text) in cases {
            let answer = probes.answer(path, query);
            let actual = (answer.status.as_u16(), answer.text.as_str());
            assert_eq!(actual, (status, text), "{path}?{query}");
        }
    }

    fn unsynced(why: &str, delays_webhooks: bool) -> Unsynced {
        let why = why.to_owned();
        Unsynced {
            why,
            delays_webhooks,
        }
    }

    #[test]
    fn an_operator_with_webhooks_is_ready_before_what_they_convert_is_listed() {
        let listing = || unsynced("Thing is not listed yet", false);
        let forbidden = || unsynced("Other is forbidden", true);
        let failed = |text: &str| CheckOutcome::Failed(text.to_owned());
        let pending = |text: &str| CheckOutcome::Pending(text.to_owned());
        let both = "Other is forbidden; Thing is not listed yet";
        for (found, alone, with_webhooks) in [
            (vec![], CheckOutcome::Passed, CheckOutcome::Passed),
            (
                vec![listing(), listing()],
                failed("Thing is not listed yet"),
                pending("Thing is not listed yet"),
            ),
            (vec![listing(), forbidden()], failed(both), failed(both)),
        ] {
            assert_eq!(caches(&found, false), alone);
            assert_eq!(caches(&found, true), with_webhooks);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_route_is_there_soon_after_the_first_probe_or_at_the_limit() {
        for (probed_after, routed_after) in [(0, 2), (10, 12), (100, 30)] {
            let started = Instant::now();
            let (ready, reachable) = (
                watch::Sender::new(false),
                Arc::new(watch::Sender::new(false)),
            );
            let mut routed = reachable.subscribe();
            let probe = async {
                tokio::time::sleep(Duration::from_secs(probed_after)).await;
                ready.send_replace(true);
                std::future::pending::<()>().await
            };
            tokio::select! {
                () = probe => {}
                () = route(ready.subscribe(), reachable) => {}
                reached = routed.wait_for(|routed| *routed) => assert!(reached.is_ok()),
            }
            assert_eq!(started.elapsed().as_secs(), routed_after);
        }
    }
}
