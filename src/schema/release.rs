//! Releases of kube and schemars, and the changes of each to the CRD from `crd()`.
//!
//! The linked crates are the newest of the table. The behaviour of older ones is modelled at its place, under `if
//! releases.has(Change::…)`.

use semver::Version;

/// A package whose release affects CRDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReleasedPackage {
    /// `kube-core`: transforms schemas.
    KubeCore,
    /// `kube-derive`: builds the CRD.
    KubeDerive,
    /// `schemars`, and its derive of the same version.
    Schemars,
}

impl ReleasedPackage {
    /// The name in the registry.
    pub fn name(self) -> &'static str {
        match self {
            ReleasedPackage::KubeCore => "kube-core",
            ReleasedPackage::KubeDerive => "kube-derive",
            ReleasedPackage::Schemars => "schemars",
        }
    }
}

/// A change of CRDs by a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReleaseChange {
    /// `prefixItems` and `minItems` of a tuple without elements are absent.
    EmptyTuple,
    /// Flattened enums: unit variants are properties, and an `Option` adds an empty alternative.
    FlattenedEnum,
    /// Maps whose keys are enums, or have several forms.
    EnumKeys,
    /// `extend(…)` is applied after everything else.
    ExtendLast,
    /// `Option` of an enum with unit variants is `nullable` without `anyOf`.
    OptionalEnum,
    /// Optional int-or-string values are `nullable`.
    OptionalIntOrString,
    /// Like [`ReleaseChange::OptionalEnum`], also beside a description.
    DescribedOptionalEnum,
    /// `additionalProperties: false` beside properties is absent.
    ClosedObject,
    /// `Option` of any other `anyOf` is also `nullable` without `anyOf`.
    OptionalData,
    /// Scalar alternatives lose their type and description; those of `anyOf` do not describe their only property.
    BareAlternatives,
    /// `printcolumn = "…"` is a JSON object with the required keys, not a part of a list.
    OneColumn,
    /// With `KubeSchema`, the root has the title of the type itself.
    RootTitle,
    /// Empty lists and subresources are absent.
    AbsentLists,
}

impl ReleaseChange {
    /// The first release with the change.
    pub(crate) fn since(self) -> Version {
        TABLE.into_iter().find(|row| row.change == self).map(|row| row.since).expect("each change is in the table")
    }
}

/// A row of the table.
#[derive(Debug)]
pub struct Row {
    /// The change.
    pub change: ReleaseChange,
    /// The package.
    pub package: ReleasedPackage,
    /// The first release with the change.
    pub since: Version,
    /// A description for users of CRDs since then.
    pub what: &'static str,
}

const fn row(change: ReleaseChange, package: ReleasedPackage, since: [u64; 3], what: &'static str) -> Row {
    let since = Version::new(since[0], since[1], since[2]);
    Row { change, package, since, what }
}

/// All changes that a CRD can show, between the [`OLDEST`] and the [`NEWEST`] releases.
///
/// Sources: the histories of <https://github.com/kube-rs/kube> (`kube-core/src/schema.rs`, `kube-derive/src`) and
/// <https://github.com/GREsau/schemars>, and their compiled answers in `tests/fixtures/releases`.
pub const TABLE: [Row; 13] = [
    row(
        ReleaseChange::EmptyTuple,
        ReleasedPackage::Schemars,
        [1, 0, 4],
        "a tuple without elements has no `items` and `minItems`",
    ),
    row(
        ReleaseChange::FlattenedEnum,
        ReleasedPackage::Schemars,
        [1, 1, 0],
        "unit variants of a flattened enum are properties; a flattened `Option` of an enum may be absent",
    ),
    row(
        ReleaseChange::EnumKeys,
        ReleasedPackage::Schemars,
        [1, 2, 0],
        "maps whose keys are enums list them as `properties`",
    ),
    row(
        ReleaseChange::ExtendLast,
        ReleasedPackage::Schemars,
        [1, 2, 1],
        "`extend(…)` overrides constraints and `default`",
    ),
    row(
        ReleaseChange::OptionalEnum,
        ReleasedPackage::KubeCore,
        [3, 0, 0],
        "`Option` of a unit enum is `nullable`, not `anyOf`",
    ),
    row(
        ReleaseChange::OptionalIntOrString,
        ReleasedPackage::KubeCore,
        [3, 0, 0],
        "optional int-or-string values are `nullable`",
    ),
    row(
        ReleaseChange::DescribedOptionalEnum,
        ReleasedPackage::KubeCore,
        [3, 0, 1],
        "`Option` of a unit enum is `nullable` also beside a description or a default",
    ),
    row(
        ReleaseChange::ClosedObject,
        ReleasedPackage::KubeCore,
        [3, 0, 1],
        "`additionalProperties: false` beside `properties` is left out",
    ),
    row(
        ReleaseChange::OptionalData,
        ReleasedPackage::KubeCore,
        [3, 1, 0],
        "`Option` of other enums is `nullable`, not `anyOf`",
    ),
    row(
        ReleaseChange::BareAlternatives,
        ReleasedPackage::KubeCore,
        [3, 1, 0],
        "scalar alternatives have no type and description; variants of an untagged enum do not describe their field",
    ),
    row(
        ReleaseChange::OneColumn,
        ReleasedPackage::KubeDerive,
        [3, 1, 0],
        "`printcolumn = \"…\"` is one complete JSON object",
    ),
    row(
        ReleaseChange::RootTitle,
        ReleasedPackage::KubeDerive,
        [4, 0, 0],
        "the title of a kind with `validation` is its name, without `Validated`",
    ),
    row(
        ReleaseChange::AbsentLists,
        ReleasedPackage::KubeDerive,
        [4, 2, 0],
        "empty lists of names and columns, and no subresources, are absent",
    ),
];

/// The first releases that the table covers.
pub const OLDEST: [(ReleasedPackage, Version); 3] = [
    (ReleasedPackage::KubeCore, Version::new(2, 0, 0)),
    (ReleasedPackage::KubeDerive, Version::new(2, 0, 0)),
    (ReleasedPackage::Schemars, Version::new(1, 0, 0)),
];

/// The linked releases, the last that the table covers.
pub const NEWEST: [(ReleasedPackage, Version); 3] = [
    (ReleasedPackage::KubeCore, Version::new(5, 0, 0)),
    (ReleasedPackage::KubeDerive, Version::new(5, 0, 0)),
    (ReleasedPackage::Schemars, Version::new(1, 2, 3)),
];

/// A set of changes: those in the releases of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Releases(u16);

impl Default for Releases {
    /// All changes.
    fn default() -> Self {
        Releases(TABLE.iter().fold(0, |set, row| set | bit(row.change)))
    }
}

impl Releases {
    /// The changes of a project. An unknown version counts as the newest.
    pub fn of(version: impl Fn(ReleasedPackage) -> Option<Version>) -> Self {
        let has = |row: &&Row| version(row.package).is_none_or(|version| version >= row.since);
        Releases(TABLE.iter().filter(has).fold(0, |set, row| set | bit(row.change)))
    }

    /// Returns true if CRDs show the change.
    pub fn has(self, change: ReleaseChange) -> bool {
        self.0 & bit(change) != 0
    }
}

fn bit(change: ReleaseChange) -> u16 {
    1 << change as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_has_the_changes_up_to_it() {
        let core = |text: &str| {
            let version = Version::parse(text).unwrap();
            Releases::of(|package| (package == ReleasedPackage::KubeCore).then(|| version.clone()))
        };
        for (version, change, expected) in [
            ("2.0.1", ReleaseChange::OptionalEnum, false),
            ("3.0.0", ReleaseChange::OptionalEnum, true),
            ("3.0.0", ReleaseChange::ClosedObject, false),
            ("3.0.1", ReleaseChange::ClosedObject, true),
            ("3.0.1", ReleaseChange::OptionalData, false),
            ("4.2.0", ReleaseChange::OptionalData, true),
            ("2.0.1", ReleaseChange::ExtendLast, true),
        ] {
            assert_eq!(core(version).has(change), expected, "{version} {change:?}");
        }
        assert_eq!(core("5.0.0"), Releases::default());
    }

    #[test]
    fn the_newest_releases_are_those_that_are_linked() {
        let lock = include_str!("../../Cargo.lock");
        for (package, newest) in NEWEST {
            assert!(lock.contains(&format!("name = \"{}\"\nversion = \"{newest}\"\n", package.name())), "{package:?}");
        }
        for row in TABLE {
            let since = |table: &[(ReleasedPackage, Version); 3]| {
                table.iter().find(|(package, _)| *package == row.package).map(|(_, version)| version.clone())
            };
            assert!(since(&OLDEST).unwrap() < row.since && row.since <= since(&NEWEST).unwrap(), "{row:?}");
        }
    }
}
