//! A common interface for both election modes.

use std::time::Duration;

use super::clock;
use super::lease::{Elector, Step};
use super::server::Server;
#[cfg(feature = "leader-for-life")]
use super::{life, lock};

#[cfg_attr(
    feature = "leader-for-life",
    expect(clippy::large_enum_variant, reason = "a process has one of it")
)]
pub(super) enum Contest<'name> {
    Lease(Elector, Server<'name>),
    #[cfg(feature = "leader-for-life")]
    Life(life::Elector, lock::Server<'name>),
}

pub(super) enum Turn {
    /// A request was sent, with or without an answer.
    Asked,
    /// Nothing to do for this time.
    Wait(Duration),
    Over,
    /// The Pod that this process should run in does not exist.
    #[cfg_attr(not(feature = "leader-for-life"), expect(dead_code))]
    Homeless,
}

impl Contest<'_> {
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

    /// Returns the identity of the leader or the name of its Pod; empty if there is no leader.
    pub(super) fn holder(&self) -> &str {
        match self {
            Self::Lease(elector, _) => elector.holder(),
            #[cfg(feature = "leader-for-life")]
            Self::Life(elector, _) => elector.holder(),
        }
    }

    pub(super) fn release(&mut self) {
        match self {
            Self::Lease(elector, _) => elector.release(),
            #[cfg(feature = "leader-for-life")]
            Self::Life(elector, _) => elector.release(),
        }
    }

    /// Deletes the Pod of this process if it owns the lock of a leader for life; otherwise nobody else could lead. A
    /// Lease expires, so nothing is done.
    pub(super) async fn resign(&mut self) -> bool {
        match self {
            Self::Lease(..) => false,
            #[cfg(feature = "leader-for-life")]
            Self::Life(elector, server) => server.resign(elector.pod()).await,
        }
    }
}
