//! The gate that every write passes. It shuts when the last renewal is too old, even if the process hangs elsewhere.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The time until which this process may write, measured since boot.
///
/// Every write checks it, so that a process that was stopped, suspended or starved refuses writes once it runs again.
#[derive(Debug)]
pub(crate) struct Gate {
    /// In nanoseconds; `OPEN` has no end.
    until: AtomicU64,
}

const SHUT: u64 = 0;
const OPEN: u64 = u64::MAX;

impl Gate {
    /// Makes a gate for a process without an election.
    pub(crate) fn open() -> Self {
        Self {
            until: AtomicU64::new(OPEN),
        }
    }

    /// Makes a gate for a process that is not elected yet.
    pub(crate) fn shut() -> Self {
        Self {
            until: AtomicU64::new(SHUT),
        }
    }

    /// Lets writes pass until `deadline`.
    pub(crate) fn renew(&self, deadline: Duration) {
        let nanoseconds = u64::try_from(deadline.as_nanos()).unwrap_or(OPEN);
        self.until.store(nanoseconds, Ordering::SeqCst);
    }

    pub(crate) fn close(&self) {
        self.until.store(SHUT, Ordering::SeqCst);
    }

    /// Returns true if a write that starts `now` may pass.
    pub(crate) fn lets_pass(&self, now: Duration) -> bool {
        now < self.until()
    }

    pub(crate) fn until(&self) -> Duration {
        match self.until.load(Ordering::SeqCst) {
            OPEN => Duration::MAX,
            nanoseconds => Duration::from_nanos(nanoseconds),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuts_by_itself_at_the_deadline() {
        let second = Duration::from_secs;
        let gate = Gate::shut();
        let passes = |gate: &Gate| [9, 10].map(|now| gate.lets_pass(second(now)));
        assert_eq!(passes(&gate), [false, false]);
        gate.renew(second(10));
        assert_eq!(passes(&gate), [true, false]);
        gate.close();
        assert_eq!(passes(&gate), [false, false]);
        assert_eq!(passes(&Gate::open()), [true, true]);
    }
}
