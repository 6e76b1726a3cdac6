//! The faults of a round.

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

    /// Returns true if no replica can lead during the fault.
    pub(super) fn is_outage(self) -> bool {
        matches!(self, Self::RestartApiServer | Self::PauseEtcd)
    }

    /// Range of the duration in milliseconds. `Pause`, `Refuse` and `Stall` outlast the lease of 3 s; the others may be
    /// shorter.
    fn length(self) -> (u64, u64) {
        match self {
            Self::Pause | Self::Refuse | Self::Stall => (3_200, 6_500),
            Self::Kill | Self::Terminate | Self::RestartApiServer => (0, 4_000),
            Self::PauseEtcd => (500, 6_500),
        }
    }
}

/// A round. The seed determines all of it.
#[derive(Debug)]
pub(super) struct Round {
    pub(super) fault: Fault,
    /// Delay of the fault, to hit any phase of a renewal.
    pub(super) delay: Duration,
    pub(super) length: Duration,
    /// Also affects a replica that does not lead.
    pub(super) two: bool,
}

impl Round {
    /// Draws rounds; seven in a row have seven different faults.
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
