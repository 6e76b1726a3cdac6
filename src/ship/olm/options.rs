//! Options of `generate bundle`.

use std::collections::BTreeSet;

/// Properties of a bundle besides its objects.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// The name of the operator in catalogs.
    pub(crate) package: String,
    /// The version. The default comes from the base or the existing bundle.
    pub(crate) version: Option<String>,
    /// The channels, separated by commas. The default comes from the existing bundle, else it is `alpha`.
    pub(crate) channels: Option<String>,
    /// The default channel.
    pub(crate) default_channel: Option<String>,
    /// The CSV that this CSV replaces.
    pub(crate) replaces: Option<String>,
    /// The creation time. The default comes from the existing bundle of the same version.
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
