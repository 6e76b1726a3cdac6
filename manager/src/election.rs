//! Leader election: of several replicas one works, and the others are ready to take over.
//!
//! [`lease`] and `life` decide, [`gate`] keeps writes from leaving too late; [`candidate`] connects them to the API
//! server.

pub(crate) mod ability;
mod candidate;
pub(crate) mod clock;
mod contest;
mod flags;
pub(crate) mod gate;
pub(crate) mod leadership;
pub(crate) mod lease;
#[cfg(feature = "leader-for-life")]
pub(crate) mod life;
#[cfg(feature = "leader-for-life")]
mod lock;
mod patience;
mod server;
pub(crate) mod watchdog;

pub(crate) use self::candidate::Candidate;
pub(crate) use self::flags::LeaderElection;
