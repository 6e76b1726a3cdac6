//! The ability of a replica to work: its caches are full, and its reconciles end.
//!
//! A replica that is unable to work must not lead, because it would keep able ones from leading. It contends only when
//! its caches are full, and a leader that has been unable for [`LIMIT`] gives up. The watchdog ends a process whose
//! threads are blocked: tokio cannot stop such threads, and dropping a runtime waits for them without a limit.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use super::gate::Patience;
use crate::error::Error;
use crate::time;

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

/// Time that the process has to end by itself.
const ENDING: Duration = Duration::from_secs(5);

/// Extra time before the watchdog acts, so that the leader can release the Lease first.
const LATER: Duration = Duration::from_secs(60);

/// A thread that no reconcile can block.
pub(crate) struct Watchdog {
    end: Sender<()>,
}

impl Watchdog {
    /// Watches until it is dropped.
    pub(crate) fn start(ability: Ability) -> std::io::Result<Self> {
        let (end, ending) = mpsc::channel();
        let watch = move || {
            let mut patience = Patience::new(LIMIT + LATER, POLL);
            loop {
                let hung = ability.hung();
                let ends = patience.ends(time::boot(), hung.is_none());
                match ending.recv_timeout(POLL) {
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) if !ends => {}
                    Err(RecvTimeoutError::Timeout) => break,
                    Ok(()) => {
                        std::thread::sleep(ENDING);
                        break;
                    }
                }
            }
            tracing::error!(
                hung = ability.hung(),
                "a reconcile blocks its thread: ending the process"
            );
            std::process::exit(1);
        };
        std::thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(watch)?;
        Ok(Self { end })
    }

    /// Gives the process a moment to end, and then ends it.
    pub(crate) fn end(self) {
        let _ = self.end.send(());
    }
}
