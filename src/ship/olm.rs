//! Rendered objects → a bundle for the Operator Lifecycle Manager (OLM), bundles → a catalog; and what is to be said of bundles.
//!
//! A bundle is a folder: `manifests/` with the `ClusterServiceVersion` (CSV) and the objects beside it, `metadata/` with its
//! annotations, `tests/`. The formats are those of <https://olm.operatorframework.io/docs/tasks/creating-operator-bundle/>.

pub(crate) mod base;
pub(crate) mod bundle;
pub(crate) mod catalog;
mod csv;
pub(crate) mod folder;
pub(crate) mod metadata;
mod namespaces;
mod owned;
mod permissions;
pub(crate) mod scorecard;
pub(crate) mod validate;
mod webhooks;

use std::collections::BTreeSet;

/// The API group of OLM.
const GROUP: &str = "operators.coreos.com";
/// The kind that says what an operator is.
const CSV: &str = "ClusterServiceVersion";
/// Mount path of the certificate of a webhook server, in every container of its Deployment.
const CERTIFICATES: &str = "/tmp/k8s-webhook-server/serving-certs";

/// Kinds that a bundle may have beside its CSV.
/// <https://olm.operatorframework.io/docs/tasks/creating-operator-manifests/#packaging-additional-objects-alongside-an-operator>
const SUPPORTED: [&str; 19] = [
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

/// Properties of a bundle besides its objects.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// The name of the operator in catalogs.
    pub(crate) package: String,
    /// Of the bundle; else what its base or the bundle that is there says.
    pub(crate) version: Option<String>,
    /// With commas between them; else those of the bundle that is there, else `alpha`.
    pub(crate) channels: Option<String>,
    /// The channel for who chooses none.
    pub(crate) default_channel: Option<String>,
    /// The CSV that this one is an upgrade of.
    pub(crate) replaces: Option<String>,
    /// When it was made; else what the same version says that is there.
    pub(crate) created_at: Option<String>,
    /// Accounts whose roles are permissions, besides those of the Deployments.
    pub(crate) accounts: BTreeSet<String>,
    /// The folder of the bundle, beside its Dockerfile.
    pub(crate) folder: String,
    /// The program that generates the bundle, with its version.
    pub(crate) builder: String,
    /// The layout of the project.
    pub(crate) layout: String,
}
