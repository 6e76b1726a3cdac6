//! The ability of a replica to work: its caches are full, and its reconciles end.
//!
//! A replica that is unable to work must not lead, because it would keep able ones from leading. It contends only when
//! its caches are full, and a leader that has been unable for [`LIMIT`] gives up.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::error::Error;

/// Maximum time that a leader may be unable to work. It equals the default `CacheSyncTimeout` of controller-runtime,
/// which ends a process whose caches do not fill in time.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

pub(crate) const POLL: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub(crate) struct Ability {
    /// Describes the caches that are not full.
    pub(crate) unsynced: Arc<dyn Fn() -> BTreeSet<String> + Send + Sync>,
    /// Describes the controllers with a reconcile that exceeds its time limit.
    pub(crate) hung: Arc<dyn Fn() -> BTreeSet<String> + Send + Sync>,
}

impl Ability {
    /// Describes the caches that are not full, for people. Returns `None` if all are full.
    pub(crate) fn unsynced(&self) -> Option<String> {
        joined((self.unsynced)())
    }

    /// Adds a requirement for contending. `missing` describes it until it is met.
    pub(crate) fn also(&mut self, missing: impl Fn() -> Option<String> + Send + Sync + 'static) {
        let unsynced = self.unsynced.clone();
        self.unsynced = Arc::new(move || unsynced().into_iter().chain(missing()).collect());
    }

    /// Describes the controllers that hang, for people. Returns `None` if none does.
    pub(crate) fn hung(&self) -> Option<String> {
        joined((self.hung)())
    }

    pub(crate) fn error(&self) -> Option<Error> {
        let hung = self.hung().map(Error::Hung);
        hung.or_else(|| self.unsynced().map(Error::Caches))
    }
}

fn joined(reasons: BTreeSet<String>) -> Option<String> {
    let reasons = Vec::from_iter(reasons);
    (!reasons.is_empty()).then(|| reasons.join("; "))
}
