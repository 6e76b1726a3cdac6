//! The state of the election, as controllers and tasks see it, and the replicas that run them.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;

/// The leadership of this process, and the number of reconciles that depend on it.
#[derive(Clone)]
pub(crate) struct Leadership {
    /// Start of the leadership, or `None` without it.
    leading: Arc<watch::Sender<Option<Instant>>>,
    running: Arc<watch::Sender<usize>>,
}

/// Counts as a running reconcile until it is dropped.
pub(crate) struct Term {
    running: Arc<watch::Sender<usize>>,
}

impl Leadership {
    /// `leading` holds until the election changes it. Without an election, it is true throughout.
    pub(crate) fn new(leading: bool) -> Self {
        Self {
            leading: Arc::new(watch::Sender::new(leading.then(Instant::now))),
            running: Arc::default(),
        }
    }

    /// Completes when this process leads. Returns the start of its leadership.
    pub(crate) async fn held(&self) -> Instant {
        let mut leading = self.leading.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        let since = leading.wait_for(Option::is_some).await;
        since
            .ok()
            .and_then(|since| *since)
            .unwrap_or_else(Instant::now)
    }

    /// Completes when this process no longer leads. The election does not set it again until all reconciles have ended,
    /// so this cannot be missed.
    pub(crate) async fn lost(&self) {
        let _ = self.leading.subscribe().wait_for(Option::is_none).await;
    }

    /// Returns the permission to start a reconcile, if this process leads.
    pub(crate) fn enter(&self) -> Option<Term> {
        self.running.send_modify(|running| *running += 1);
        let term = Term {
            running: self.running.clone(),
        };
        // Count first, then check: taking the leadership away waits for all that were counted.
        self.leading.borrow().map(|_| term)
    }

    pub(crate) fn set(&self, leading: bool) {
        self.leading.send_replace(leading.then(Instant::now));
    }

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

/// The replicas that run a controller or a task, if replicas elect a leader.
///
/// # Examples
///
/// ```
/// use manager::{Manager, Runs};
///
/// fn register(manager: &mut Manager) {
///     manager.task("report", Runs::Leader, async || {
///         tracing::info!("this replica leads");
///         Ok::<_, kube::Error>(())
///     });
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// The leader, from its election until it loses the leadership.
    Leader,
    /// Every replica, from start to shutdown. A replica that does not lead can read, but its writes are refused.
    Always,
}

impl Runs {
    /// Returns the leadership that must be held while it runs.
    pub(crate) fn under(self, leadership: &Leadership) -> Leadership {
        match self {
            Self::Leader => leadership.clone(),
            Self::Always => Leadership::new(true),
        }
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
