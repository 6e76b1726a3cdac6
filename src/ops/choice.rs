//! The choices of the scaffold that PROJECT records.

use crate::project::Project;
use crate::project::manager::ManagerSource;
use crate::project::name::Namespace;
use crate::project::parts::{LeaderElection, ProjectSwitch};
use crate::project::webhook::CertMode;

/// One choice of the scaffold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    Scope(NamespaceScope),
    Owner(Option<String>),
    License(Option<String>),
    CertMode(CertMode),
    LeaderElection(LeaderElection),
    Manager(ManagerSource),
    Switch(ProjectSwitch, bool),
}

/// The namespaces in which the operator works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NamespaceScope {
    Cluster,
    Own,
    Listed(Vec<Namespace>),
}

impl Choice {
    /// Records the choice in a project.
    pub(crate) fn apply_to(&self, project: &mut Project) {
        match self {
            Self::Scope(scope) => {
                project.namespaced = *scope != NamespaceScope::Cluster;
                project.namespaces = if let NamespaceScope::Listed(names) = scope { names.clone() } else { Vec::new() };
            }
            Self::Owner(owner) => project.owner.clone_from(owner),
            Self::License(license) => project.license.clone_from(license),
            Self::CertMode(mode) => mode.record(project),
            Self::LeaderElection(mode) => project.parts.leader_election = *mode,
            Self::Manager(source) => project.manager.clone_from(source),
            Self::Switch(switch, true) => _ = project.parts.on.insert(*switch),
            Self::Switch(switch, false) => _ = project.parts.on.remove(switch),
        }
    }

    pub(crate) fn applied_to(&self, project: &Project) -> Project {
        let mut project = project.clone();
        self.apply_to(&mut project);
        project
    }

    /// Returns true if the project has made this choice.
    pub(crate) fn is_of(&self, project: &Project) -> bool {
        self.applied_to(project) == *project
    }

    /// The alternatives to this choice. A choice that only changes texts has no alternatives.
    pub(crate) fn others(&self, project: &Project) -> Vec<Self> {
        match self {
            Self::Scope(scope) => {
                // Any namespaces do: the scaffold has the same lines for each.
                let listed = if project.namespaces.is_empty() {
                    Namespace::parse("default").into_iter().collect()
                } else {
                    project.namespaces.clone()
                };
                let all = [NamespaceScope::Cluster, NamespaceScope::Own, NamespaceScope::Listed(listed)];
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
            Self::Manager(source) => [ManagerSource::Vendored, ManagerSource::Registry]
                .into_iter()
                .filter(|other| other != source)
                .map(Self::Manager)
                .collect(),
            Self::Switch(switch, on) => vec![Self::Switch(*switch, !on)],
        }
    }

    /// The choices of a project that files must match. A switch that is off in PROJECT is not among them: users may enable it
    /// manually.
    pub(crate) fn recorded(project: &Project) -> Vec<Self> {
        let scope = match (project.namespaced, project.namespaces.is_empty()) {
            (false, _) => NamespaceScope::Cluster,
            (true, true) => NamespaceScope::Own,
            (true, false) => NamespaceScope::Listed(project.namespaces.clone()),
        };
        let has_webhooks = project.resources.iter().any(|resource| resource.webhooks.is_some());
        let parts = &project.parts;
        let life = parts.leader_election == LeaderElection::Life;
        [
            Some(Self::Scope(scope)),
            has_webhooks.then(|| Self::CertMode(CertMode::of(project).unwrap_or_default())),
            life.then_some(Self::LeaderElection(LeaderElection::Life)),
            (project.manager != ManagerSource::Vendored).then(|| Self::Manager(project.manager.clone())),
        ]
        .into_iter()
        .flatten()
        .chain(parts.on.iter().map(|switch| Self::Switch(*switch, true)))
        .collect()
    }

    /// The command-line flag for this choice.
    pub(crate) fn flag(&self) -> String {
        match self {
            Self::Scope(NamespaceScope::Cluster) => "--namespaced=false".to_owned(),
            Self::Scope(NamespaceScope::Own) => "--namespaced".to_owned(),
            Self::Scope(NamespaceScope::Listed(names)) => {
                let names: Vec<&str> = names.iter().map(Namespace::as_str).collect();
                format!("--namespaces={}", names.join(","))
            }
            Self::Owner(owner) => format!("--owner={}", owner.as_deref().unwrap_or_default()),
            Self::License(license) => format!("--license={}", license.as_deref().unwrap_or("none")),
            Self::CertMode(mode) => format!("--webhook-cert-mode={}", mode.as_str()),
            Self::LeaderElection(mode) => format!("--leader-election={}", mode.as_str()),
            Self::Manager(source) => format!("--manager={source}"),
            Self::Switch(switch, on) => {
                let flag = match switch {
                    ProjectSwitch::Grafana => "--plugins=grafana",
                    ProjectSwitch::Helm => "--plugins=helm",
                    ProjectSwitch::MetricsCert => "--metrics-cert",
                    ProjectSwitch::NetworkPolicy => "--network-policy",
                    ProjectSwitch::Olm => "--plugins=olm",
                    ProjectSwitch::Prometheus => "--prometheus",
                };
                format!("{flag}{}", if *on { "" } else { "=false" })
            }
        }
    }
}
