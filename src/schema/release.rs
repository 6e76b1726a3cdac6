//! The releases of kube and schemars, and what each changed in the CRD that `crd()` returns.
//!
//! The crates that are linked here are the newest of the table. What an older one does otherwise is modelled where it
//! happens, under `if releases.has(Change::…)`.

use semver::Version;

/// The package whose release counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Package {
    /// `kube-core`, which has the transforms of schemas.
    KubeCore,
    /// `kube-derive`, which puts the CRD together.
    KubeDerive,
    /// `schemars` with its derive, of the same version.
    Schemars,
}

impl Package {
    /// Its name in a registry.
    pub fn name(self) -> &'static str {
        match self {
            Package::KubeCore => "kube-core",
            Package::KubeDerive => "kube-derive",
            Package::Schemars => "schemars",
        }
    }
}

/// Something that a release changed in CRDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// `prefixItems` and `minItems` of a tuple without elements are absent.
    EmptyTuple,
    /// What flattened enums are: unit variants are properties, and an `Option` adds an empty alternative.
    FlattenedEnum,
    /// Maps whose keys are enums, or of several forms.
    EnumKeys,
    /// `extend(…)` is applied after everything else.
    ExtendLast,
    /// `Option` of an enum with unit variants is `nullable` without `anyOf`.
    OptionalEnum,
    /// Optional values that are int-or-string are `nullable`.
    OptionalIntOrString,
    /// The same, also beside a description.
    DescribedOptionalEnum,
    /// `additionalProperties: false` beside properties is left out.
    ClosedObject,
    /// `Option` of everything else that schemars writes as `anyOf` is `nullable` without it, too.
    OptionalData,
    /// Scalar alternatives lose their type and description; those of `anyOf` do not describe their one property.
    BareAlternatives,
    /// `printcolumn = "…"` is one JSON object with the required keys, not a part of a list.
    OneColumn,
    /// The root that `KubeSchema` describes has the title of the type itself.
    RootTitle,
    /// Empty lists and subresources are absent.
    AbsentLists,
}

impl Change {
    /// The first release that has it.
    pub(crate) fn since(self) -> Version {
        TABLE.into_iter().find(|row| row.change == self).map(|row| row.since).expect("each change is in the table")
    }
}

/// A row of the table.
#[derive(Debug)]
pub struct Row {
    /// What changed.
    pub change: Change,
    /// In which package.
    pub package: Package,
    /// The first release that has it.
    pub since: Version,
    /// For people: what a CRD says since then.
    pub what: &'static str,
}

const fn row(change: Change, package: Package, since: [u64; 3], what: &'static str) -> Row {
    let since = Version::new(since[0], since[1], since[2]);
    Row { change, package, since, what }
}

/// Every change that a CRD can show, between the [`OLDEST`] and the newest release.
///
/// Sources: the histories of <https://github.com/kube-rs/kube> (`kube-core/src/schema.rs`, `kube-derive/src`) and
/// <https://github.com/GREsau/schemars>, and their compiled answers in `tests/fixtures/releases`.
pub const TABLE: [Row; 13] = [
    row(Change::EmptyTuple, Package::Schemars, [1, 0, 4], "a tuple without elements has no `items` and `minItems`"),
    row(
        Change::FlattenedEnum,
        Package::Schemars,
        [1, 1, 0],
        "unit variants of a flattened enum are properties; a flattened `Option` of an enum may be absent",
    ),
    row(Change::EnumKeys, Package::Schemars, [1, 2, 0], "maps whose keys are enums list them as `properties`"),
    row(Change::ExtendLast, Package::Schemars, [1, 2, 1], "`extend(…)` overrides constraints and `default`"),
    row(Change::OptionalEnum, Package::KubeCore, [3, 0, 0], "`Option` of a unit enum is `nullable`, not `anyOf`"),
    row(Change::OptionalIntOrString, Package::KubeCore, [3, 0, 0], "optional int-or-string values are `nullable`"),
    row(
        Change::DescribedOptionalEnum,
        Package::KubeCore,
        [3, 0, 1],
        "`Option` of a unit enum is `nullable` also beside a description or a default",
    ),
    row(
        Change::ClosedObject,
        Package::KubeCore,
        [3, 0, 1],
        "`additionalProperties: false` beside `properties` is left out",
    ),
    row(Change::OptionalData, Package::KubeCore, [3, 1, 0], "`Option` of other enums is `nullable`, not `anyOf`"),
    row(
        Change::BareAlternatives,
        Package::KubeCore,
        [3, 1, 0],
        "scalar alternatives have no type and description; variants of an untagged enum do not describe their field",
    ),
    row(Change::OneColumn, Package::KubeDerive, [3, 1, 0], "`printcolumn = \"…\"` is one complete JSON object"),
    row(
        Change::RootTitle,
        Package::KubeDerive,
        [4, 0, 0],
        "the title of a kind with `validation` is its name, without `Validated`",
    ),
    row(
        Change::AbsentLists,
        Package::KubeDerive,
        [4, 2, 0],
        "empty lists of names and columns, and no subresources, are absent",
    ),
];

/// The releases from which on every change is known.
pub const OLDEST: [(Package, Version); 3] = [
    (Package::KubeCore, Version::new(2, 0, 0)),
    (Package::KubeDerive, Version::new(2, 0, 0)),
    (Package::Schemars, Version::new(1, 0, 0)),
];

/// The releases that are linked, up to which every change is known.
pub const NEWEST: [(Package, Version); 3] = [
    (Package::KubeCore, Version::new(5, 0, 0)),
    (Package::KubeDerive, Version::new(5, 0, 0)),
    (Package::Schemars, Version::new(1, 2, 3)),
];

/// The changes that the releases of a project have, as a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Releases(u16);

impl Default for Releases {
    /// The newest: every change.
    fn default() -> Self {
        Releases(TABLE.iter().fold(0, |set, row| set | bit(row.change)))
    }
}

impl Releases {
    /// Those of a project; of a package whose version is not known the newest.
    pub fn of(version: impl Fn(Package) -> Option<Version>) -> Self {
        let has = |row: &&Row| version(row.package).is_none_or(|version| version >= row.since);
        Releases(TABLE.iter().filter(has).fold(0, |set, row| set | bit(row.change)))
    }

    /// Whether CRDs show a change.
    pub fn has(self, change: Change) -> bool {
        self.0 & bit(change) != 0
    }
}

fn bit(change: Change) -> u16 {
    1 << change as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_has_the_changes_up_to_it() {
        let core = |text: &str| {
            let version = Version::parse(text).unwrap();
            Releases::of(|package| (package == Package::KubeCore).then(|| version.clone()))
        };
        for (version, change, expected) in [
            ("2.0.1", Change::OptionalEnum, false),
            ("3.0.0", Change::OptionalEnum, true),
            ("3.0.0", Change::ClosedObject, false),
            ("3.0.1", Change::ClosedObject, true),
            ("3.0.1", Change::OptionalData, false),
            ("4.2.0", Change::OptionalData, true),
            ("2.0.1", Change::ExtendLast, true),
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
            let since = |table: &[(Package, Version); 3]| {
                table.iter().find(|(package, _)| *package == row.package).map(|(_, version)| version.clone())
            };
            assert!(since(&OLDEST).unwrap() < row.since && row.since <= since(&NEWEST).unwrap(), "{row:?}");
        }
    }
}
