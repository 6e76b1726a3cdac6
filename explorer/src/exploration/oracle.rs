//! Oracles: properties that runs of an operator must have.

use std::fmt::{Display, Formatter};

/// A property that runs of an operator must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Oracle {
    /// The state settles, and nothing is written after that, even by a new process.
    Quiet,
    /// The end is the same after a crash before or after each write.
    Crash,
    /// After a deletion at any time, nothing of the operator stays. After a new creation, the end is the same.
    Deletion,
    /// Each owned field and object is repaired.
    Drift,
    /// The end is the same after a fault of each request.
    Faults,
    /// The end is the same after all histories of a spec, and for a new object.
    History,
    /// The end is the same after watches with late events, watches that miss events, and lists from an old cache.
    Stale,
    /// A second object changes nothing of the first one, and the deletion of one changes nothing of the other. Neither do
    /// controllers of [`crate::Explorer::beside`].
    Neighbours,
    /// The end is the same after two processes at once.
    Overlap,
    /// The roles of [`crate::Explorer::role`] permit all requests.
    Permission,
    /// The properties of [`crate::Explorer::invariant`] and [`crate::Explorer::always`] hold in all runs.
    Invariant,
    /// Webhooks and conversions agree with the operator, with deletions and with each other.
    Webhooks,
    /// The end is the same for the objects of another release.
    Release,
    /// The status of the samples follows the conventions of `observedGeneration` and of conditions.
    Status,
}

impl Oracle {
    /// The word for the oracle.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Crash => "crash",
            Self::Deletion => "deletion",
            Self::Drift => "drift",
            Self::Faults => "faults",
            Self::History => "history",
            Self::Stale => "stale",
            Self::Neighbours => "neighbours",
            Self::Overlap => "overlap",
            Self::Permission => "permission",
            Self::Invariant => "invariant",
            Self::Webhooks => "webhooks",
            Self::Release => "release",
            Self::Status => "status",
        }
    }

    /// The sentence for a violation.
    pub fn claim(self) -> &'static str {
        match self {
            Self::Quiet => "the state does not settle",
            Self::Crash => "a crash leaves another state",
            Self::Deletion => "the deletion of the samples leaves another state",
            Self::Drift => "a change by another client is not repaired",
            Self::Faults => "a failed request leaves another state",
            Self::History => "changes of the spec leave another state than a new object with the spec",
            Self::Stale => "a late or missed event leaves another state",
            Self::Neighbours => "another object changes the state",
            Self::Overlap => "two processes leave another state",
            Self::Permission => "a request is forbidden",
            Self::Invariant => "an invariant does not hold",
            Self::Webhooks => "a webhook or a conversion is wrong",
            Self::Release => "a change of the release leaves another state than a new object",
            Self::Status => "the status does not follow the conventions",
        }
    }
}

impl Display for Oracle {
    fn fmt(&self, out: &mut Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name())
    }
}
