//! The parts of the operator, and the values that enable them.

use serde_json::Value;

use super::names::ReleaseNames;
use crate::ship::objects::{group, kind, name};

/// The purpose of an object. The folders have the names of kubebuilder's charts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChartPart {
    Manager,
    Crd,
    Rbac,
    ServiceAccount,
    /// Roles for users, which the operator does not need.
    UserRole,
    MetricsRbac,
    WebhookRbac,
    Metrics,
    Webhook,
    CertManager,
    Prometheus,
    NetworkPolicy,
    WebhookNetworkPolicy,
    Extra,
}

/// A value that is true or false.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChartSwitch {
    Crd,
    UserRoles,
    Metrics,
    Webhook,
    CertManager,
    Prometheus,
    NetworkPolicy,
    ServiceAccount,
}

impl ChartPart {
    /// Returns the part of an object, or `None` for an object that Helm creates.
    pub(super) fn of(object: &Value, names: &ReleaseNames) -> Option<Self> {
        if names.is_own_namespace(object) {
            return None;
        }
        let suffix = names.suffix(name(object));
        let (metrics, webhook) = (suffix.contains("metrics"), suffix.contains("webhook"));
        Some(match (group(object), kind(object)) {
            ("apps", "Deployment") if names.is_manager(name(object)) => Self::Manager,
            ("apiextensions.k8s.io", "CustomResourceDefinition") => Self::Crd,
            ("rbac.authorization.k8s.io", _) if metrics => Self::MetricsRbac,
            ("rbac.authorization.k8s.io", _) if webhook => Self::WebhookRbac,
            ("rbac.authorization.k8s.io", "ClusterRole")
                if ["-admin-role", "-editor-role", "-viewer-role"].iter().any(|end| suffix.ends_with(end)) =>
            {
                Self::UserRole
            }
            ("rbac.authorization.k8s.io", _) => Self::Rbac,
            ("", "ServiceAccount") if names.is_account(name(object)) => Self::ServiceAccount,
            ("", "Service") if metrics => Self::Metrics,
            ("", "Service") if webhook => Self::Webhook,
            ("admissionregistration.k8s.io", _) => Self::Webhook,
            ("cert-manager.io", _) => Self::CertManager,
            ("monitoring.coreos.com", _) => Self::Prometheus,
            ("networking.k8s.io", "NetworkPolicy") if webhook => Self::WebhookNetworkPolicy,
            ("networking.k8s.io", "NetworkPolicy") => Self::NetworkPolicy,
            _ => Self::Extra,
        })
    }

    /// The switches of a part. The object is only created if all of them are on.
    pub(super) fn switches(self) -> &'static [ChartSwitch] {
        match self {
            Self::Manager | Self::Rbac | Self::Extra => &[],
            Self::Crd => &[ChartSwitch::Crd],
            Self::ServiceAccount => &[ChartSwitch::ServiceAccount],
            Self::UserRole => &[ChartSwitch::UserRoles],
            Self::MetricsRbac | Self::Metrics => &[ChartSwitch::Metrics],
            Self::WebhookRbac | Self::Webhook => &[ChartSwitch::Webhook],
            Self::CertManager => &[ChartSwitch::CertManager],
            Self::Prometheus => &[ChartSwitch::Prometheus, ChartSwitch::Metrics],
            Self::NetworkPolicy => &[ChartSwitch::NetworkPolicy],
            Self::WebhookNetworkPolicy => &[ChartSwitch::NetworkPolicy, ChartSwitch::Webhook],
        }
    }

    /// Returns the file of an object, below `templates/`.
    pub(super) fn path(self, object: &Value, names: &ReleaseNames) -> String {
        let suffix = names.suffix(name(object)).trim_start_matches('-');
        let name = match self {
            Self::Crd => name(object).to_owned(),
            _ if suffix.is_empty() => kind(object).to_lowercase(),
            _ => suffix.replace(':', "-"),
        };
        let folder = match self {
            Self::Manager => return "manager/manager.yaml".to_owned(),
            Self::Crd => "crd",
            Self::Rbac | Self::ServiceAccount | Self::UserRole | Self::MetricsRbac | Self::WebhookRbac => "rbac",
            Self::Metrics => "metrics",
            Self::Webhook => "webhook",
            Self::CertManager => "cert-manager",
            Self::Prometheus => "prometheus",
            Self::NetworkPolicy | Self::WebhookNetworkPolicy => "network-policy",
            Self::Extra => "extras",
        };
        format!("{folder}/{name}.yaml")
    }
}

impl ChartSwitch {
    /// Returns the path of the part in the values.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Crd => "crd.enabled",
            Self::UserRoles => "rbac.helpers.enabled",
            Self::Metrics => "metrics.enabled",
            Self::Webhook => "webhook.enabled",
            Self::CertManager => "certManager.enabled",
            Self::Prometheus => "prometheus.enabled",
            Self::NetworkPolicy => "networkPolicy.enabled",
            Self::ServiceAccount => "serviceAccount.enabled",
        }
    }
}

/// Wraps lines in the condition that all switches are on.
pub(super) fn when(switches: &[ChartSwitch], lines: &str) -> String {
    let values: Vec<String> = switches.iter().map(|switch| format!(".Values.{}", switch.path())).collect();
    match &*values {
        [] => lines.to_owned(),
        [value] => format!("{{{{- if {value} }}}}\n{lines}{{{{- end }}}}\n"),
        values => format!("{{{{- if and {} }}}}\n{lines}{{{{- end }}}}\n", values.join(" ")),
    }
}
