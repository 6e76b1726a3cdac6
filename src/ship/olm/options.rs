//! Options of `generate bundle`.

use std::collections::BTreeSet;

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
