//! Optional parts of a project.

use std::collections::BTreeSet;

use crate::diagnostic::Problem;

/// The enabled parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectParts {
    /// The mode of leader election.
    pub leader_election: LeaderElection,
    /// The enabled switches; empty by default.
    pub on: BTreeSet<ProjectSwitch>,
}

/// A part that is on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProjectSwitch {
    /// Dashboards for Grafana.
    Grafana,
    /// `make` targets for the Helm chart.
    Helm,
    /// Metrics with the certificate of a Secret.
    MetricsCert,
    /// Access to metrics from some namespaces only.
    NetworkPolicy,
    /// `make` targets for the bundle and the catalog of the Operator Lifecycle Manager.
    Olm,
    /// A `ServiceMonitor` for the Prometheus operator.
    Prometheus,
}

impl ProjectSwitch {
    /// All switches.
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

/// The mode of leader election.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LeaderElection {
    /// The leader renews a Lease.
    #[default]
    Lease,
    /// The leader stays until its pod is deleted.
    Life,
}

impl LeaderElection {
    /// All modes.
    pub const ALL: [Self; 2] = [Self::Lease, Self::Life];

    /// The value on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lease => "lease",
            Self::Life => "life",
        }
    }

    /// Parses the value of the command line.
    pub fn parse(name: &str) -> Result<Self, Problem> {
        let found = Self::ALL.into_iter().find(|mode| mode.as_str() == name);
        found.ok_or_else(|| Problem::new(format!("`{}` is neither `lease` nor `life`", name.escape_debug())))
    }
}
