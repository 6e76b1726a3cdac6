//! Leader election: one of several replicas works, the others stand by.
//!
//! [`lease`] and `life` hold the rules, [`gate`] stops writes that would leave too late, and [`candidate`] connects
//! them to the API server. A replica that has lost its leadership must not write. The flags have the names and defaults
//! of controller-runtime.

pub(crate) mod ability;
mod candidate;
mod contest;
pub(crate) mod gate;
pub(crate) mod leadership;
pub(crate) mod lease;
#[cfg(feature = "leader-for-life")]
pub(crate) mod life;
#[cfg(feature = "leader-for-life")]
mod lock;

use std::time::Duration;

pub(crate) use self::candidate::Candidate;
use self::lease::Timing;
use crate::time;

/// The settings of the mode `life`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LifeRules {
    pub(crate) pod: String,
    /// Time after which the leader's Pod on a node that is not ready is deleted by force; never if `None`.
    pub(crate) takeover_after: Option<Duration>,
}

/// The election mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ElectionMode {
    /// Use a Lease that the leader renews: another replica takes over when it expires
    Lease,
    /// Use a ConfigMap owned by the leader's pod: another replica takes over only when that pod is deleted
    Life,
}

/// Flags of the leader election, with the names and defaults of controller-runtime.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LeaderElection {
    /// Enable leader election; required with more than one replica
    #[arg(long)]
    pub(crate) leader_elect: bool,

    /// Leader election mode
    #[arg(long, value_name = "MODE", default_value = "lease", value_enum)]
    pub(crate) leader_election_mode: ElectionMode,

    /// Name of the Lease or ConfigMap of the leader election; default the name set in the code of the operator
    #[arg(long, value_name = "NAME")]
    pub(crate) leader_election_id: Option<String>,

    /// Namespace of the Lease or ConfigMap; default the namespace of the operator
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) leader_election_namespace: Option<String>,

    /// Pod of this process, for the mode life; default POD_NAME
    #[arg(long, value_name = "NAME")]
    pub(crate) leader_election_pod: Option<String>,

    /// UNSAFE, for the mode life: force-delete the leader's pod when its node is not ready for this long. The leader may
    /// still run there, so two replicas may work at the same time
    #[arg(long, value_name = "DURATION", value_parser = time::parse_duration)]
    pub(crate) leader_election_takeover_after: Option<Duration>,

    /// Time that the other replicas wait for a silent leader before they take over
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = time::parse_duration)]
    pub(crate) leader_election_lease_duration: Duration,

    /// Time limit of the leader to renew its Lease before it stops working
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = time::parse_duration)]
    pub(crate) leader_election_renew_deadline: Duration,

    /// Wait between two attempts
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = time::parse_duration)]
    pub(crate) leader_election_retry_period: Duration,
}

impl LeaderElection {
    pub(crate) fn timing(&self) -> Timing {
        Timing {
            lease_duration: self.leader_election_lease_duration,
            renew_deadline: self.leader_election_renew_deadline,
            retry_period: self.leader_election_retry_period,
        }
    }

    /// Returns the settings of the mode `life`; `None` in the mode `lease`.
    pub(crate) fn rules(&self) -> Result<Option<LifeRules>, &'static str> {
        let takeover_after = self.leader_election_takeover_after;
        if self.leader_election_mode == ElectionMode::Lease {
            return match takeover_after {
                Some(_) => {
                    Err("`--leader-election-takeover-after` requires `--leader-election-mode=life`")
                }
                None => Ok(None),
            };
        }
        if !cfg!(feature = "leader-for-life") {
            return Err(
                "`--leader-election-mode=life` is not enabled: add the feature `leader-for-life` \
                 to the dependency `manager` in Cargo.toml",
            );
        }
        let pod = self.leader_election_pod.clone();
        let pod = pod.or_else(|| std::env::var("POD_NAME").ok());
        match pod.filter(|name| !name.is_empty()) {
            Some(pod) => Ok(Some(LifeRules {
                pod,
                takeover_after,
            })),
            None => Err(
                "`POD_NAME` is not set, but the election mode `life` needs it: set it from the \
                 field `metadata.name` in the Deployment, or use `--leader-election-mode=lease`, \
                 which also works outside of a cluster",
            ),
        }
    }
}
