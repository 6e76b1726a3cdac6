//! `Cargo.lock`: the exact versions of dependencies.

use std::collections::BTreeSet;

use semver::{Version, VersionReq};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::ident::crate_name;

#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct LockFile {
    #[serde(default, rename = "package")]
    packages: Vec<Locked>,
}

#[derive(Debug, Clone, Deserialize)]
struct Locked {
    name: String,
    #[serde(deserialize_with = "version")]
    version: Version,
    source: Option<String>,
    /// `name`, `name version` or `name version (source)`.
    #[serde(default)]
    dependencies: Vec<String>,
}

fn version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Version, D::Error> {
    Version::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

impl Locked {
    fn is_of_registry(&self) -> bool {
        self.source.as_ref().is_some_and(|source| source.starts_with("registry+") || source.starts_with("sparse+"))
    }
}

impl LockFile {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        toml::from_str(text).ok()
    }

    pub(super) fn versions(&self, name: &str) -> Vec<Version> {
        self.packages.iter().filter(|package| package.name == name).map(|package| package.version.clone()).collect()
    }

    /// The versions of `dependency` (a crate name) that a package is built with.
    pub(super) fn below(&self, name: &str, version: &Version, dependency: &str) -> Vec<Version> {
        let package = self.packages.iter().find(|package| package.name == name && package.version == *version);
        let found = package.into_iter().flat_map(|of| self.dependencies(of, |name| crate_name(name) == dependency));
        found.map(|found| found.version.clone()).collect()
    }

    fn dependencies(&self, of: &Locked, test: impl Fn(&str) -> bool) -> impl Iterator<Item = &Locked> {
        of.dependencies.iter().filter_map(move |entry| {
            let mut words = entry.split(' ');
            let name = words.next().filter(|name| test(name))?;
            let version = words.next().map(Version::parse);
            self.packages.iter().find(|package| {
                package.name == name
                    && version.as_ref().is_none_or(|version| version.as_ref().ok() == Some(&package.version))
            })
        })
    }

    /// The packages that depend on this version of `name`.
    pub(super) fn dependents<'a>(&'a self, name: &'a str, version: &'a Version) -> impl Iterator<Item = &'a str> {
        let uses = move |package: &&Locked| {
            self.dependencies(package, |found| found == name).any(|found| found.version == *version)
        };
        self.packages.iter().filter(uses).map(|package| package.name.as_str())
    }

    /// The packages with a source and a direct dependency that passes the test: name, version, and the first such dependency.
    pub(crate) fn users(&self, test: impl Fn(&str, &Version) -> bool) -> Vec<(&str, &Version, &str)> {
        let published = self.packages.iter().filter(|package| package.source.is_some());
        let found = published.filter_map(|package| {
            let used = self.dependencies(package, |_| true).find(|found| test(&found.name, &found.version))?;
            Some((package.name.as_str(), &package.version, used.name.as_str()))
        });
        found.collect()
    }

    /// Crate names of the packages that depend, in any version, on one of `dependencies`.
    pub(super) fn built_with(&self, dependencies: &[&str]) -> BTreeSet<String> {
        let is_one = |entry: &String| dependencies.contains(&entry.split(' ').next().unwrap_or_default());
        let found = self.packages.iter().filter(|package| package.dependencies.iter().any(is_one));
        found.map(|package| crate_name(&package.name)).collect()
    }

    /// The locked version of `dependency` below the package `of`, and true if it comes from a registry. `of` is a local
    /// package, or has the version `of_version`. `requirement` selects between several dependencies.
    pub(super) fn version(
        &self,
        of: &str,
        of_version: Option<&str>,
        dependency: &str,
        requirement: Option<&str>,
    ) -> Option<(Version, bool)> {
        let package = self.packages.iter().find(|package| {
            package.name == of
                && (package.source.is_none() || of_version.is_some_and(|v| package.version.to_string() == v))
        })?;
        let requirement = requirement.and_then(|requirement| VersionReq::parse(requirement).ok());
        let found = self
            .dependencies(package, |name| name == dependency)
            .find(|found| requirement.as_ref().is_none_or(|requirement| requirement.matches(&found.version)))?;
        Some((found.version.clone(), found.is_of_registry()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_of_a_dependency() {
        let lock = LockFile::parse(
            r#"
version = 4
[[package]]
name = "op"
version = "0.1.0"
dependencies = ["kube 4.2.0", "kube 5.0.0", "schemars"]
[[package]]
name = "kube"
version = "4.2.0"
source = "r"
[[package]]
name = "kube"
version = "5.0.0"
source = "r"
[[package]]
name = "schemars"
version = "1.2.3"
source = "r"
[[package]]
name = "serde"
version = "1.0.1"
source = "r"
"#,
        )
        .unwrap();
        for (dependency, requirement, expected) in [
            ("kube", Some("5"), Some("5.0.0")),
            ("kube", Some("4"), Some("4.2.0")),
            ("kube", Some("3"), None),
            ("schemars", Some("1"), Some("1.2.3")),
            ("schemars", None, Some("1.2.3")),
            ("serde", None, None),
        ] {
            let version = lock.version("op", None, dependency, requirement).map(|(version, _)| version.to_string());
            assert_eq!(version.as_deref(), expected, "{dependency} {requirement:?}");
        }
        assert!(LockFile::parse("= broken").is_none());
    }
}
