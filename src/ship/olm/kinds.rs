//! The kinds that OLM supports.

/// The API group of OLM.
pub(super) const GROUP: &str = "operators.coreos.com";
/// The kind that describes an operator.
pub(super) const CSV: &str = "ClusterServiceVersion";
/// Kinds that a bundle may have beside its CSV.
/// <https://olm.operatorframework.io/docs/tasks/creating-operator-manifests/#packaging-additional-objects-alongside-an-operator>
pub(super) const SUPPORTED: [&str; 19] = [
    "ClusterRole",
    "ClusterRoleBinding",
    "ConfigMap",
    "ConsoleCLIDownload",
    "ConsoleLink",
    "ConsoleQuickStart",
    "ConsoleYAMLSample",
    "CustomResourceDefinition",
    "NetworkPolicy",
    "PodDisruptionBudget",
    "PriorityClass",
    "PrometheusRule",
    "Role",
    "RoleBinding",
    "Secret",
    "Service",
    "ServiceAccount",
    "ServiceMonitor",
    "VerticalPodAutoscaler",
];
