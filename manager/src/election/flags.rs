//! Flags of the leader election, with the names and defaults of controller-runtime.

use std::time::Duration;

use super::lease::Timing;
use crate::duration;

/// The settings of the mode `life`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    pub(crate) pod: String,
    /// Time after which the leader's Pod on a node that is not ready is deleted by force; never if `None`.
    pub(crate) takeover_after: Option<Duration>,
}

/// The election mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ElectionMode {
    /// With a Lease, which the leader renews: another one follows as soon as it is silent for too long
    Lease,
    /// With a ConfigMap of the leader's pod: another one follows only when that pod is gone
    Life,
}

/// Flags of the leader election, with the names and defaults of controller-runtime.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LeaderElection {
    /// Work only while this replica is the elected leader; needed with more than one replica
    #[arg(long)]
    pub(crate) leader_elect: bool,

    /// How the leader is found
    #[arg(long, value_name = "MODE", default_value = "lease", value_enum)]
    pub(crate) leader_election_mode: ElectionMode,

    /// The name of the Lease or ConfigMap that replicas contend for, instead of the one this operator was built with
    #[arg(long, value_name = "NAME")]
    pub(crate) leader_election_id: Option<String>,

    /// The namespace of the Lease or ConfigMap, instead of the operator's own
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) leader_election_namespace: Option<String>,

    /// The pod that this process runs in, for the mode life, instead of the one that POD_NAME names
    #[arg(long, value_name = "NAME")]
    pub(crate) leader_election_pod: Option<String>,

    /// UNSAFE, for the mode life: delete the leader's pod by force when its node is not ready for this long. It may
    /// still run there, so that two replicas work at the same time
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    pub(crate) leader_election_takeover_after: Option<Duration>,

    /// How long the others wait for a silent leader before one of them takes over
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration::parse)]
    pub(crate) leader_election_lease_duration: Duration,

    /// How long the leader works without being able to renew its lease
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration::parse)]
    pub(crate) leader_election_renew_deadline: Duration,

    /// How long to wait between two tries
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration::parse)]
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
    pub(crate) fn rules(&self) -> Result<Option<Rules>, &'static str> {
        let takeover_after = self.leader_election_takeover_after;
        if self.leader_election_mode == ElectionMode::Lease {
            return match takeover_after {
                Some(_) => {
                    Err("`--leader-election-takeover-after` needs `--leader-election-mode=life`")
                }
                None => Ok(None),
            };
        }
        if !cfg!(feature = "leader-for-life") {
            return Err(
                "`--leader-election-mode=life` is not part of this program: give the dependency `manager` in \
                 Cargo.toml the feature `leader-for-life`",
            );
        }
        let pod = self.leader_election_pod.clone();
        let pod = pod.or_else(|| std::env::var("POD_NAME").ok());
        match pod.filter(|name| !name.is_empty()) {
            Some(pod) => Ok(Some(Rules {
                pod,
                takeover_after,
            })),
            None => Err(
                "`POD_NAME` is not set, and a leader for life is a pod: set it from the field `metadata.name` in the \
                 Deployment, or use `--leader-election-mode=lease`, which works outside a cluster, too",
            ),
        }
    }
}
