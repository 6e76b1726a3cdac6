//! The two ways to find the leader behind one face.

use std::time::Duration;

use super::clock;
use super::lease::{Elector, Step};
use super::server::Server;
#[cfg(feature = "leader-for-life")]
use super::{life, lock};

/// Both ways to find the leader: who decides, and who asks.
#[cfg_attr(
    feature = "leader-for-life",
    expect(clippy::large_enum_variant, reason = "a process has one of it")
)]
pub(super) enum Contest<'name> {
    Lease(Elector, Server<'name>),
    #[cfg(feature = "leader-for-life")]
    Life(life::Elector, lock::Server<'name>),
}

/// What came of a turn.
pub(super) enum Turn {
    /// A request was answered, or was not.
    Asked,
    /// There is nothing to do for this time.
    Wait(Duration),
    /// The election has ended for this process.
    Over,
    /// The Pod that this process should run in is not there.
    #[cfg_attr(not(feature = "leader-for-life"), expect(dead_code))]
    Homeless,
}

impl Contest<'_> {
    /// Does what comes next.
    pub(super) async fn turn(&mut self) -> Turn {
        match self {
            Self::Lease(elector, server) => match elector.next(clock::now()) {
                Step::Wait(pause) => return Turn::Wait(pause),
                Step::Released => return Turn::Over,
                step => {
                    let answer = server.ask(step).await;
                    elector.answer(clock::now(), answer);
                }
            },
            #[cfg(feature = "leader-for-life")]
            Self::Life(elector, server) => match elector.next(clock::boot()) {
                life::Step::Wait(pause) => {
                    server.tell(elector.reason());
                    return Turn::Wait(pause);
                }
                life::Step::Over => return Turn::Over,
                life::Step::Homeless => return Turn::Homeless,
                step => {
                    let answer = server.ask(step).await;
                    elector.answer(clock::boot(), answer);
                }
            },
        }
        Turn::Asked
    }

    /// The identity of the leader, or the name of its Pod; empty if there is none.
    pub(super) fn holder(&self) -> &str {
        match self {
            Self::Lease(elector, _) => elector.holder(),
            #[cfg(feature = "leader-for-life")]
            Self::Life(elector, _) => elector.holder(),
        }
    }

    /// Ends the part of this process in the election.
    pub(super) fn release(&mut self) {
        match self {
            Self::Lease(elector, _) => elector.release(),
            #[cfg(feature = "leader-for-life")]
            Self::Life(elector, _) => elector.release(),
        }
    }

    /// Makes the Pod of this process go if it owns the lock of a leader for life: nothing else lets another one lead. A
    /// Lease needs nothing.
    pub(super) async fn resign(&mut self) -> bool {
        match self {
            Self::Lease(..) => false,
            #[cfg(feature = "leader-for-life")]
            Self::Life(elector, server) => server.resign(elector.pod()).await,
        }
    }
}
