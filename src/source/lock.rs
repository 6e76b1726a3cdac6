//! `Cargo.lock`: which exact version of a dependency a package is built with.

use std::collections::BTreeSet;

use semver::{Version, VersionReq};
use toml_edit::{Document, Item};

/// The packages of a lock file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Lock {
    packages: Vec<Locked>,
}

#[derive(Debug, Clone, PartialEq)]
struct Locked {
    name: String,
    version: Version,
    local: bool,
    /// It comes from a registry, not from git or a folder.
    registry: bool,
    /// `name`, `name version` or `name version (source)`.
    dependencies: Vec<String>,
}

impl Lock {
    /// Reads the text of a lock file; a broken entry is left out.
    pub(super) fn parse(text: &str) -> Option<Self> {
        Self::by_line(text).or_else(|| Self::as_toml(text))
    }

    /// Reads a file as cargo writes it, where each line says what it is; `None` when anything is written otherwise.
    fn by_line(text: &str) -> Option<Self> {
        #[derive(Default)]
        struct Entry<'a> {
            name: Option<&'a str>,
            version: Option<&'a str>,
            source: Option<&'a str>,
            dependencies: Vec<String>,
        }
        let plain = |text: &'_ str| !text.contains(['"', '\\']);
        let (mut entries, mut in_list): (Vec<Entry<'_>>, _) = (Vec::new(), false);
        for line in text.lines() {
            if in_list {
                match line.strip_prefix(" \"").and_then(|line| line.strip_suffix("\",")).filter(|text| plain(text)) {
                    Some(dependency) => entries.last_mut()?.dependencies.push(dependency.to_owned()),
                    None if line == "]" => in_list = false,
                    None => return None,
                }
                continue;
            }
            match line {
                "[[package]]" => entries.push(Entry::default()),
                "dependencies = [" if entries.last()?.dependencies.is_empty() => in_list = true,
                "" => {}
                _ if line.starts_with('#') || (entries.is_empty() && line.starts_with("version = ")) => {}
                _ => {
                    let (key, value) = line.split_once(" = ")?;
                    let value = value.strip_prefix('"')?.strip_suffix('"').filter(|text| plain(text))?;
                    let entry = entries.last_mut()?;
                    let field = match key {
                        "name" => &mut entry.name,
                        "version" => &mut entry.version,
                        "source" => &mut entry.source,
                        "checksum" => continue,
                        _ => return None,
                    };
                    if field.replace(value).is_some() {
                        return None;
                    }
                }
            }
        }
        let packages = entries.into_iter().filter_map(|entry| {
            Some(Locked {
                name: entry.name?.to_owned(),
                version: Version::parse(entry.version?).ok()?,
                local: entry.source.is_none(),
                registry: entry.source.is_some_and(is_registry),
                dependencies: entry.dependencies,
            })
        });
        (!in_list).then(|| Self { packages: packages.collect() })
    }

    fn as_toml(text: &str) -> Option<Self> {
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
                    registry: table.get("source").and_then(Item::as_str).is_some_and(is_registry),
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

    /// All versions of a package.
    pub(super) fn versions(&self, name: &str) -> Vec<Version> {
        self.packages.iter().filter(|package| package.name == name).map(|package| package.version.clone()).collect()
    }

    /// Whether this version of a package comes from a registry.
    pub(super) fn is_registry(&self, name: &str, version: &Version) -> bool {
        self.packages.iter().any(|package| package.registry && package.name == name && package.version == *version)
    }

    /// The versions of `dependency`, by its name in Rust code, that a package is built with.
    pub(super) fn below(&self, name: &str, version: &Version, dependency: &str) -> Vec<Version> {
        let package = self.packages.iter().find(|package| package.name == name && package.version == *version);
        let entries = package.into_iter().flat_map(|package| &package.dependencies);
        let named = entries.filter(|entry| {
            let name = entry.split(' ').next().unwrap_or_default();
            name.replace('-', "_") == dependency
        });
        named.filter_map(|entry| self.entry(entry)).map(|package| package.version.clone()).collect()
    }

    /// The package that an entry of a list of dependencies names.
    fn entry(&self, entry: &str) -> Option<&Locked> {
        let mut words = entry.split(' ');
        let name = words.next()?;
        let version = words.next().map(Version::parse);
        self.packages.iter().find(|package| {
            package.name == name
                && version.as_ref().is_none_or(|version| version.as_ref().ok() == Some(&package.version))
        })
    }

    /// The packages other than `name` itself that are built with a version of it.
    pub(super) fn dependents<'a>(&'a self, name: &'a str, version: &'a Version) -> impl Iterator<Item = &'a str> {
        let uses = move |package: &&Locked| {
            let mut entries = package.dependencies.iter().filter_map(|entry| self.entry(entry));
            entries.any(|found| found.name == name && found.version == *version)
        };
        self.packages.iter().filter(uses).map(|package| package.name.as_str())
    }

    /// The packages, by their names in Rust code, of which some version is built with one of `dependencies`.
    pub(super) fn built_with(&self, dependencies: &[&str]) -> BTreeSet<String> {
        let is_one = |entry: &String| dependencies.contains(&entry.split(' ').next().unwrap_or_default());
        let found = self.packages.iter().filter(|package| package.dependencies.iter().any(is_one));
        found.map(|package| package.name.replace('-', "_")).collect()
    }

    /// The version of `dependency` that the package `of` is built with, a local one or one from a registry;
    /// `requirement` chooses between several.
    pub(super) fn version(
        &self,
        (of, of_version): (&str, Option<&str>),
        dependency: &str,
        requirement: Option<&str>,
    ) -> Option<Version> {
        let package = self.packages.iter().find(|package| {
            package.name == of && (package.local || of_version.is_some_and(|v| package.version.to_string() == v))
        })?;
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

fn is_registry(source: &str) -> bool {
    source.starts_with("registry+") || source.starts_with("sparse+")
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
            let version = lock.version(("op", None), dependency, requirement).map(|version| version.to_string());
            assert_eq!(version.as_deref(), expected, "{dependency} {requirement:?}");
        }
        assert!(Lock::parse("= broken").is_none());
    }

    #[test]
    fn lines_say_the_same_as_toml() {
        for text in
            [include_str!("../../Cargo.lock"), include_str!("../../tests/samples/memcached-operator/Cargo.lock")]
        {
            let lock = Lock::by_line(text).unwrap();
            assert!(lock.packages.len() > 100);
            assert_eq!(lock, Lock::as_toml(text).unwrap());
        }
        for text in [
            "[[package]]\nname = \"a\\u0062\"\nversion = \"1.0.0\"\n",
            "[[package]]\nname = 'a'\nversion = \"1.0.0\"\n",
            "package = [{ name = \"a\", version = \"1.0.0\" }]\n",
            "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\ndependencies = [\"b\"]\n",
            "[[package]]\nname = \"a\"\ndependencies = [\n",
            "[[package]]\nname = \"a\"\nname = \"a\"\n",
            "[[package]]\nname = \"a\"\n[metadata]\nx = \"y\"\n",
        ] {
            assert_eq!(Lock::by_line(text), None, "{text}");
        }
    }
}
