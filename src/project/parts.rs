//! What is switched on of what a project can have.

use std::collections::BTreeSet;

use crate::diagnostic::Problem;

/// The choices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts {
    /// How the leader is elected.
    pub leader_election: LeaderElection,
    /// What is on; nothing is at first.
    pub on: BTreeSet<Switch>,
}

/// A part that is on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Switch {
    /// There are dashboards for Grafana.
    Grafana,
    /// `make` has targets for the Helm chart.
    Helm,
    /// The metrics are served with the certificate of a Secret.
    MetricsCert,
    /// Only some namespaces reach the metrics.
    NetworkPolicy,
    /// `make` has targets for the bundle and the catalog of the Operator Lifecycle Manager.
    Olm,
    /// A Prometheus operator is told of the metrics.
    Prometheus,
}

impl Switch {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Grafana, Self::Helm, Self::MetricsCert, Self::NetworkPolicy, Self::Olm, Self::Prometheus];

    /// The key in PROJECT.
    pub fn key(self) -> &'static str {
        match self {
            Self::Grafana => "grafana",
            Self::Helm => "helm",
            Self::MetricsCert => "metricsCert",
            Self::NetworkPolicy => "networkPolicy",
            Self::Olm => "olm",
            Self::Prometheus => "prometheus",
        }
    }
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
