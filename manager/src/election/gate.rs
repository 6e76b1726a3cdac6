//! Time limits of a leader: the gate that every write passes, and the patience with a leader that is unable to work.
//!
//! The gate shuts when the last renewal is too old, even if the process hangs elsewhere. Time comes in as the time
//! since boot, so that a simulation can run both.

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

/// The time for which a replica has been unable to work.
#[derive(Debug)]
pub(crate) struct Patience {
    limit: Duration,
    /// The maximum time between two checks that counts. A process that was paused had no chance to recover.
    gap: Duration,
    seen: Option<Duration>,
    unable: Duration,
}

impl Patience {
    pub(crate) fn new(limit: Duration, poll: Duration) -> Self {
        Self {
            limit,
            gap: poll * 2,
            seen: None,
            unable: Duration::ZERO,
        }
    }

    /// Checks at `now` since boot. Returns true if the replica was unable at each check for longer than the limit.
    pub(crate) fn ends(&mut self, now: Duration, able: bool) -> bool {
        let before = self.seen.replace(now).unwrap_or(now);
        if able {
            self.unable = Duration::ZERO;
            self.seen = None;
            return false;
        }
        self.unable += now.saturating_sub(before).min(self.gap);
        self.unable >= self.limit
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

    #[test]
    fn patience_ends_after_the_limit_without_a_break() {
        let second = Duration::from_secs;
        for (what, looks, ended) in [
            ("able", &[(0, true), (1, true), (9, true)][..], false),
            ("too short", &[(0, false), (1, false), (2, false)], false),
            (
                "a break",
                &[(0, false), (2, false), (3, true), (4, false), (5, false)],
                false,
            ),
            (
                "long enough",
                &[(0, false), (1, false), (2, false), (3, false)],
                true,
            ),
            (
                "after a break",
                &[(0, false), (1, true), (2, false), (4, false), (5, false)],
                true,
            ),
            // A pause counts as at most two checks.
            ("a pause", &[(0, false), (900, false)], false),
            (
                "able for a long time",
                &[(0, true), (900, false), (901, false)],
                false,
            ),
        ] {
            let mut patience = Patience::new(second(3), second(1));
            let ends = looks
                .iter()
                .map(|(now, able)| patience.ends(second(*now), *able));
            assert_eq!(ends.last(), Some(ended), "{what}");
        }
    }
}
