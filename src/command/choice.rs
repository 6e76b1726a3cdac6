//! The choices of the scaffold that PROJECT records.

use crate::cli::{PartArgs, Plugin};
use crate::project::Project;
use crate::project::name::Namespace;
use crate::project::parts::LeaderElection;
use crate::project::webhook::CertMode;

/// One choice of the scaffold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    Scope(Scope),
    Owner(Option<String>),
    License(Option<String>),
    CertMode(CertMode),
    LeaderElection(LeaderElection),
    Prometheus(bool),
    NetworkPolicy(bool),
    MetricsCert(bool),
    Helm(bool),
}

/// Where the operator works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Scope {
    Cluster,
    Own,
    Listed(Vec<Namespace>),
}

impl Choice {
    /// Those of the flags that `init` has, too.
    pub(super) fn of_parts(args: &PartArgs) -> Vec<Self> {
        let PartArgs { webhook_cert_mode, leader_election, prometheus, network_policy, metrics_cert, plugins } = args;
        [
            webhook_cert_mode.map(Self::CertMode),
            leader_election.map(Self::LeaderElection),
            prometheus.map(Self::Prometheus),
            network_policy.map(Self::NetworkPolicy),
            metrics_cert.map(Self::MetricsCert),
        ]
        .into_iter()
        .flatten()
        .chain(plugins.iter().map(|(Plugin::Helm, on)| Self::Helm(*on)))
        .collect()
    }

    /// Records it in a project.
    pub(super) fn apply_to(&self, project: &mut Project) {
        match self {
            Self::Scope(scope) => {
                project.namespaced = *scope != Scope::Cluster;
                project.namespaces = if let Scope::Listed(names) = scope { names.clone() } else { Vec::new() };
            }
            Self::Owner(owner) => project.owner.clone_from(owner),
            Self::License(license) => project.license.clone_from(license),
            Self::CertMode(mode) => mode.record(project),
            Self::LeaderElection(mode) => project.parts.leader_election = *mode,
            Self::Prometheus(on) => project.parts.prometheus = *on,
            Self::NetworkPolicy(on) => project.parts.network_policy = *on,
            Self::MetricsCert(on) => project.parts.metrics_cert = *on,
            Self::Helm(on) => project.parts.helm = *on,
        }
    }

    pub(super) fn applied_to(&self, project: &Project) -> Project {
        let mut project = project.clone();
        self.apply_to(&mut project);
        project
    }

    /// Whether the project has made it.
    pub(super) fn is_of(&self, project: &Project) -> bool {
        self.applied_to(project) == *project
    }

    /// The other answers to its question; none where it is about words only.
    pub(super) fn others(&self, project: &Project) -> Vec<Self> {
        match self {
            Self::Scope(scope) => {
                // Which namespaces does not matter.
                let listed = if project.namespaces.is_empty() {
                    Namespace::parse("default").into_iter().collect()
                } else {
                    project.namespaces.clone()
                };
                let all = [Scope::Cluster, Scope::Own, Scope::Listed(listed)];
                let same = std::mem::discriminant(scope);
                all.into_iter().filter(|other| std::mem::discriminant(other) != same).map(Self::Scope).collect()
            }
            Self::Owner(_) | Self::License(_) => Vec::new(),
            Self::CertMode(mode) => {
                CertMode::ALL.into_iter().filter(|other| other != mode).map(Self::CertMode).collect()
            }
            Self::LeaderElection(mode) => {
                LeaderElection::ALL.into_iter().filter(|other| other != mode).map(Self::LeaderElection).collect()
            }
            Self::Prometheus(on) => vec![Self::Prometheus(!on)],
            Self::NetworkPolicy(on) => vec![Self::NetworkPolicy(!on)],
            Self::MetricsCert(on) => vec![Self::MetricsCert(!on)],
            Self::Helm(on) => vec![Self::Helm(!on)],
        }
    }

    /// Those of a project that files may contradict: what is switched on by hand is none of PROJECT's business.
    pub(super) fn recorded(project: &Project) -> Vec<Self> {
        let scope = match (project.namespaced, project.namespaces.is_empty()) {
            (false, _) => Scope::Cluster,
            (true, true) => Scope::Own,
            (true, false) => Scope::Listed(project.namespaces.clone()),
        };
        let has_webhooks = project.resources.iter().any(|resource| resource.webhooks.is_some());
        let parts = project.parts;
        let life = parts.leader_election == LeaderElection::Life;
        [
            Some(Self::Scope(scope)),
            has_webhooks.then(|| Self::CertMode(CertMode::of(project).unwrap_or_default())),
            life.then_some(Self::LeaderElection(LeaderElection::Life)),
            parts.prometheus.then_some(Self::Prometheus(true)),
            parts.network_policy.then_some(Self::NetworkPolicy(true)),
            parts.metrics_cert.then_some(Self::MetricsCert(true)),
            parts.helm.then_some(Self::Helm(true)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// As it is typed.
    pub(super) fn flag(&self) -> String {
        let switch = |name: &str, on: bool| if on { name.to_owned() } else { format!("{name}=false") };
        match self {
            Self::Scope(Scope::Cluster) => "--namespaced=false".to_owned(),
            Self::Scope(Scope::Own) => "--namespaced".to_owned(),
            Self::Scope(Scope::Listed(names)) => {
                let names: Vec<&str> = names.iter().map(Namespace::as_str).collect();
                format!("--namespaces={}", names.join(","))
            }
            Self::Owner(owner) => format!("--owner={}", owner.as_deref().unwrap_or_default()),
            Self::License(license) => format!("--license={}", license.as_deref().unwrap_or("none")),
            Self::CertMode(mode) => format!("--webhook-cert-mode={}", mode.as_str()),
            Self::LeaderElection(mode) => format!("--leader-election={}", mode.as_str()),
            Self::Prometheus(on) => switch("--prometheus", *on),
            Self::NetworkPolicy(on) => switch("--network-policy", *on),
            Self::MetricsCert(on) => switch("--metrics-cert", *on),
            Self::Helm(on) => switch("--plugins=helm", *on),
        }
    }
}
