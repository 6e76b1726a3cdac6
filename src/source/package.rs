//! A package of the tree.

use super::cfg::CfgSet;
use super::manifest::CargoManifest;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CrateId(pub(super) u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PackageId(pub(super) u32);

#[derive(Debug)]
pub(super) struct Package {
    pub(super) manifest: CargoManifest,
    pub(super) cfg: CfgSet,
    pub(super) lib: Option<CrateId>,
    pub(super) own: bool,
    pub(super) fetched: bool,
}
