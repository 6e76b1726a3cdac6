//! What goes wrong in a round.

use std::time::Duration;

use crate::random::Random;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Kill,
    Terminate,
    Pause,
    Refuse,
    Stall,
    RestartApiServer,
    PauseEtcd,
}

impl Fault {
    pub(super) const ALL: [Self; 7] =
        [Self::Kill, Self::Terminate, Self::Pause, Self::Refuse, Self::Stall, Self::RestartApiServer, Self::PauseEtcd];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Kill => "SIGKILL",
            Self::Terminate => "SIGTERM",
            Self::Pause => "SIGSTOP",
            Self::Refuse => "network refused",
            Self::Stall => "network stalled",
            Self::RestartApiServer => "API server restarted",
            Self::PauseEtcd => "etcd paused",
        }
    }

    /// Whether nobody can lead meanwhile.
    pub(super) fn is_outage(self) -> bool {
        matches!(self, Self::RestartApiServer | Self::PauseEtcd)
    }

    /// How long it lasts, in milliseconds: a leader is out of action for longer than a lease of 3 s, anything else is
    /// over sooner or later than that.
    fn length(self) -> (u64, u64) {
        match self {
            Self::Pause | Self::Refuse | Self::Stall => (3_200, 6_500),
            Self::Kill | Self::Terminate | Self::RestartApiServer => (0, 4_000),
            Self::PauseEtcd => (500, 6_500),
        }
    }
}

/// A round: all of it follows from the seed.
#[derive(Debug)]
pub(super) struct Round {
    pub(super) fault: Fault,
    /// When it begins, so that it meets any part of a renewal.
    pub(super) delay: Duration,
    pub(super) length: Duration,
    /// Whether a replica that does not lead suffers it, too.
    pub(super) two: bool,
}

impl Round {
    /// That many rounds; of seven in a row each has another fault.
    pub(super) fn plan(rounds: usize, random: &mut Random) -> Vec<Self> {
        let mut faults = Vec::new();
        while faults.len() < rounds {
            let mut left = Fault::ALL.to_vec();
            while !left.is_empty() {
                faults.push(left.swap_remove(random.below(left.len() as u64) as usize));
            }
        }
        let round = |fault: Fault| {
            let (from, to) = fault.length();
            Self {
                fault,
                delay: random.milliseconds(0, 1_000),
                length: random.milliseconds(from, to),
                two: random.percent(25),
            }
        };
        faults.into_iter().take(rounds).map(round).collect()
    }
}
