//! Leader election: one of several replicas works, the others stand by.
//!
//! [`lease`] and `life` hold the rules, [`gate`] stops writes that would leave too late, and [`candidate`] connects
//! them to the API server. A replica that has lost its leadership must not write.

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
