//! The ability of a replica to work: its caches are full, and its reconciles end.
//!
//! A replica that is not able must not lead: it would keep those that are from leading. It contends only when its
//! caches are full, and a leader that has been unable for [`LIMIT`] lets go.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::error::Error;

/// How long a leader may be unable to work. controller-runtime ends a process whose caches do not fill within its
/// `CacheSyncTimeout`, which is two minutes.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// How often the ability is looked at.
pub(crate) const POLL: Duration = Duration::from_secs(1);

/// Reports what keeps this replica from working.
#[derive(Clone)]
pub(crate) struct Ability {
    /// The caches that are not full, and why.
    pub(crate) unsynced: Arc<dyn Fn() -> BTreeSet<String> + Send + Sync>,
    /// The controllers with a reconcile that goes on beyond its time limit.
    pub(crate) hung: Arc<dyn Fn() -> BTreeSet<String> + Send + Sync>,
}

impl Ability {
    /// Returns the caches that are not full, for people; `None` if all are.
    pub(crate) fn unsynced(&self) -> Option<String> {
        joined((self.unsynced)())
    }

    /// Adds something that a replica needs before it contends; `missing` says what, until it is there.
    pub(crate) fn also(&mut self, missing: impl Fn() -> Option<String> + Send + Sync + 'static) {
        let unsynced = self.unsynced.clone();
        self.unsynced = Arc::new(move || unsynced().into_iter().chain(missing()).collect());
    }

    /// Returns the controllers that hang, for people; `None` if none does.
    pub(crate) fn hung(&self) -> Option<String> {
        joined((self.hung)())
    }

    /// The error of a leader that lets go.
    pub(crate) fn error(&self) -> Option<Error> {
        let hung = self.hung().map(Error::Hung);
        hung.or_else(|| self.unsynced().map(Error::Caches))
    }
}

fn joined(reasons: BTreeSet<String>) -> Option<String> {
    let reasons = Vec::from_iter(reasons);
    (!reasons.is_empty()).then(|| reasons.join("; "))
}
