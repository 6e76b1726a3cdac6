//! Rendered objects → a bundle for the Operator Lifecycle Manager (OLM); bundles → a catalog; bundles → findings.
//!
//! A bundle is a folder: `manifests/` with the `ClusterServiceVersion` (CSV) and the objects beside it, `metadata/` with its
//! annotations, `tests/`. The formats are those of <https://olm.operatorframework.io/docs/tasks/creating-operator-bundle/>.

pub(crate) mod base;
pub(crate) mod bundle;
pub(crate) mod catalog;
mod csv;
pub(crate) mod folder;
mod kinds;
pub(crate) mod metadata;
mod namespaces;
mod options;
mod owned;
mod permissions;
pub(crate) mod scorecard;
pub(crate) mod validate;
mod webhooks;

pub(crate) use options::Options;
