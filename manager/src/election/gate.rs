//! The gate that every write passes: shut once the last renewal is too old, whatever the rest of the process believes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Until when this process may write, in its own time since boot.
///
/// It is read for every request, so that a process that was stopped, suspended or starved refuses to write as soon as
/// it runs again.
#[derive(Debug)]
pub(crate) struct Gate {
    /// Nanoseconds; `OPEN` for ever.
    until: AtomicU64,
}

const SHUT: u64 = 0;
const OPEN: u64 = u64::MAX;

impl Gate {
    /// For a process that takes part in no election.
    pub(crate) fn open() -> Self {
        Self {
            until: AtomicU64::new(OPEN),
        }
    }

    /// For a process that has yet to be elected.
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

    /// Lets nothing pass from now on.
    pub(crate) fn close(&self) {
        self.until.store(SHUT, Ordering::SeqCst);
    }

    /// May a write that starts `now` pass?
    pub(crate) fn lets_pass(&self, now: Duration) -> bool {
        now < self.until()
    }

    /// When the gate shuts by itself.
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
