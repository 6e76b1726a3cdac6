//! What is switched on of what every project has in `config/`.

use crate::diagnostic::Problem;

/// The switches; all are off at first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parts {
    /// `make` has targets for the Helm chart.
    pub helm: bool,
    /// How the leader is elected.
    pub leader_election: LeaderElection,
    /// The metrics are served with the certificate of a Secret.
    pub metrics_cert: bool,
    /// Only some namespaces reach the metrics.
    pub network_policy: bool,
    /// A Prometheus operator is told of the metrics.
    pub prometheus: bool,
}

/// How the leader is elected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LeaderElection {
    /// It renews a Lease.
    #[default]
    Lease,
    /// It stays until its pod is gone.
    Life,
}

impl LeaderElection {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Lease, Self::Life];

    /// As on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lease => "lease",
            Self::Life => "life",
        }
    }

    /// That of a name.
    pub fn parse(name: &str) -> Result<Self, Problem> {
        let found = Self::ALL.into_iter().find(|mode| mode.as_str() == name);
        found.ok_or_else(|| Problem::new(format!("`{}` is neither `lease` nor `life`", name.escape_debug())))
    }
}
