//! `Cargo.lock`: which exact version of a dependency a package is built with.

use semver::{Version, VersionReq};
use toml_edit::{Document, Item};

/// The packages of a lock file.
#[derive(Debug, Clone, Default)]
pub(super) struct Lock {
    packages: Vec<Locked>,
}

#[derive(Debug, Clone)]
struct Locked {
    name: String,
    version: Version,
    local: bool,
    /// `name`, `name version` or `name version (source)`.
    dependencies: Vec<String>,
}

impl Lock {
    /// Reads the text of a lock file; a broken entry is left out.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let document = Document::parse(text).ok()?;
        let tables = document.get("package").and_then(Item::as_array_of_tables)?;
        let string = |item: Option<&Item>| item.and_then(Item::as_str).map(str::to_string);
        let packages = tables
            .iter()
            .filter_map(|table| {
                let dependencies = table.get("dependencies").and_then(Item::as_array);
                Some(Locked {
                    name: string(table.get("name"))?,
                    version: Version::parse(&string(table.get("version"))?).ok()?,
                    local: table.get("source").is_none(),
                    dependencies: dependencies
                        .into_iter()
                        .flatten()
                        .filter_map(|value| value.as_str().map(str::to_string))
                        .collect(),
                })
            })
            .collect();
        Some(Self { packages })
    }

    /// The version of `dependency` that the local package `of` is built with; `requirement` chooses between several.
    pub(super) fn version(&self, of: &str, dependency: &str, requirement: Option<&str>) -> Option<Version> {
        let package = self.packages.iter().find(|package| package.local && package.name == of)?;
        let mut candidates = package.dependencies.iter().filter_map(|entry| {
            let mut words = entry.split(' ');
            if words.next() != Some(dependency) {
                return None;
            }
            match words.next() {
                Some(version) => Version::parse(version).ok(),
                None => Some(self.packages.iter().find(|package| package.name == dependency)?.version.clone()),
            }
        });
        match requirement.and_then(|requirement| VersionReq::parse(requirement).ok()) {
            Some(requirement) => candidates.find(|version| requirement.matches(version)),
            None => candidates.next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_of_a_dependency() {
        let lock = Lock::parse(
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
            let version = lock.version("op", dependency, requirement).map(|version| version.to_string());
            assert_eq!(version.as_deref(), expected, "{dependency} {requirement:?}");
        }
        assert!(Lock::parse("= broken").is_none());
    }
}
