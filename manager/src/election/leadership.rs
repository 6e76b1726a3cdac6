//! What the controllers hear of the election.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;

/// Whether this process leads; and how many reconciles run because it does.
#[derive(Clone)]
pub(crate) struct Leadership {
    /// Since when, if it does.
    leading: Arc<watch::Sender<Option<Instant>>>,
    running: Arc<watch::Sender<usize>>,
}

/// A reconcile that runs.
pub(crate) struct Term {
    running: Arc<watch::Sender<usize>>,
}

impl Leadership {
    /// `leading` is what holds until the election says otherwise; without an election it is true for good.
    pub(crate) fn new(leading: bool) -> Self {
        Self {
            leading: Arc::new(watch::Sender::new(leading.then(Instant::now))),
            running: Arc::default(),
        }
    }

    /// Returns when this process leads: since when it does.
    pub(crate) async fn held(&self) -> Instant {
        let mut leading = self.leading.subscribe();
        // The sender lives as long as `self`, so that waiting can't fail.
        let since = leading.wait_for(Option::is_some).await;
        since
            .ok()
            .and_then(|since| *since)
            .unwrap_or_else(Instant::now)
    }

    /// Returns when this process does not lead any more. Whoever takes the leadership away leaves it so until nothing runs
    /// any more, so that this can't be missed.
    pub(crate) async fn lost(&self) {
        let _ = self.leading.subscribe().wait_for(Option::is_none).await;
    }

    /// The permission to begin a reconcile.
    pub(crate) fn enter(&self) -> Option<Term> {
        self.running.send_modify(|running| *running += 1);
        let term = Term {
            running: self.running.clone(),
        };
        // Counted before asked: who takes the leadership away waits for everybody who was counted.
        self.leading.borrow().map(|_| term)
    }

    pub(crate) fn set(&self, leading: bool) {
        self.leading.send_replace(leading.then(Instant::now));
    }

    /// Returns when no reconcile runs any more.
    pub(super) async fn idle(&self) {
        let _ = self
            .running
            .subscribe()
            .wait_for(|running| *running == 0)
            .await;
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        self.running.send_modify(|running| *running -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nothing_begins_without_leadership_and_its_end_waits_for_what_began() {
        let leadership = Leadership::new(false);
        assert!(leadership.enter().is_none());
        leadership.set(true);
        leadership.held().await;
        let term = leadership.enter().expect("leads");
        leadership.set(false);
        assert!(leadership.enter().is_none());
        let mut idle = std::pin::pin!(leadership.idle());
        assert!(futures::poll!(&mut idle).is_pending());
        drop(term);
        idle.await;
    }
}
