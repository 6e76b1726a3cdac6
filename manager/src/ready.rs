//! Readiness: which caches `/readyz` waits for, and when the API server reaches the webhooks of this replica.
//!
//! A replica with webhooks is ready when it serves them. Its Service routes to ready replicas only, so readiness must
//! never wait for a request that the API server answers through these webhooks.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::cache::Unsynced;
use crate::http::probes::Outcome;

/// Maximum time that reconciles wait for the first successful `/readyz`. The kubelet probes every 10 seconds.
const READY_LIMIT: Duration = Duration::from_secs(30);
/// Time that kube-proxy needs to route to a replica that became ready.
const ROUTE_TIME: Duration = Duration::from_secs(2);

/// Returns the outcome of the check `caches`.
///
/// A replica with webhooks must be ready before the API server can list kinds that they convert, see [`Unsynced`].
pub(crate) fn caches(unsynced: &[Unsynced], serves_webhooks: bool) -> Outcome {
    let reasons = unsynced.iter().map(|watch| watch.why.clone()).collect();
    let counts = !serves_webhooks || unsynced.iter().any(|watch| watch.delays_webhooks);
    outcome(reasons, counts)
}

/// Returns the outcome of the check `watches`; `silent` describes the silent watches.
///
/// The check does not count for a replica with webhooks. A watch of a kind that they convert is also silent when the
/// API server cannot reach them, and it cannot reach an unready replica.
pub(crate) fn watches(silent: BTreeSet<String>, serves_webhooks: bool) -> Outcome {
    outcome(silent, !serves_webhooks)
}

fn outcome(reasons: BTreeSet<String>, counts: bool) -> Outcome {
    let text = Vec::from_iter(reasons).join("; ");
    match (&*text, counts) {
        ("", _) => Outcome::Passed,
        (_, true) => Outcome::Failed(text),
        (_, false) => Outcome::Pending(text),
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
        let failed = |text: &str| Outcome::Failed(text.to_owned());
        let pending = |text: &str| Outcome::Pending(text.to_owned());
        let both = "Other is forbidden; Thing is not listed yet";
        for (found, alone, with_webhooks) in [
            (vec![], Outcome::Passed, Outcome::Passed),
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
