//! Decides when a replica has been unable to work for too long. Does no I/O, so that a simulation can run it.

use std::time::Duration;

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
