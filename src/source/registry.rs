//! Locates the sources of fetched packages: a vendored folder, or the registry cache in `CARGO_HOME`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use semver::Version;
use toml_edit::Item;

use super::cfg::CfgSet;
use super::files::Pending;
use super::ident::crate_name;
use super::manifest::{CargoManifest, FeatureSelection, get, parse};
use super::sources::Sources;

/// The source folder of a package version. `workspace` is the folder where cargo looks for its configuration.
pub(super) fn locate(workspace: &Path, name: &str, version: &Version) -> Option<PathBuf> {
    let versioned = format!("{name}-{version}");
    if let Some(vendor) = vendored(workspace) {
        // Vendored sources replace the registry.
        let candidates = [vendor.join(&versioned), vendor.join(name)];
        return candidates.into_iter().find(|dir| is_version(dir, version));
    }
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))?;
    let registries = std::fs::read_dir(home.join("registry/src")).ok()?;
    let mut found: Vec<PathBuf> =
        registries.flatten().map(|registry| registry.path().join(&versioned)).filter(|dir| dir.is_dir()).collect();
    found.sort();
    // Two registries may have different packages of the same name.
    if found.len() == 1 { found.pop() } else { None }
}

fn vendored(workspace: &Path) -> Option<PathBuf> {
    let workspace = std::path::absolute(workspace).ok()?;
    workspace.ancestors().find_map(|folder| {
        let document = parse(&folder.join(".cargo/config.toml"), &Pending::default()).ok()?;
        let text = |source: &str, key: &str| get(document.as_item(), &["source", source, key]).and_then(Item::as_str);
        let replacement = text("crates-io", "replace-with")?;
        Some(folder.join(text(replacement, "directory")?))
    })
}

fn is_version(dir: &Path, version: &Version) -> bool {
    let Ok(document) = parse(&dir.join("Cargo.toml"), &Pending::default()) else { return false };
    let found = get(document.as_item(), &["package", "version"]).and_then(Item::as_str);
    found == Some(version.to_string().as_str())
}

impl CargoManifest {
    /// The manifest of a fetched package with its default features. `workspace` is where cargo looks for its
    /// configuration.
    pub fn fetched(workspace: &Path, name: &str, version: &Version) -> Option<Self> {
        let dir = locate(workspace, name, version)?;
        Self::read_unlocked(&dir, "Cargo.toml").ok()
    }
}

impl Sources {
    /// The manifest of a package in `dir` with the features that the packages of the tree request, and its cfg. Leaves
    /// open the features that other packages may request.
    pub(super) fn fetched_manifest(
        &self,
        dir: &Path,
        name: &str,
        version: &Version,
    ) -> Option<(CargoManifest, CfgSet)> {
        let mut selection = FeatureSelection { no_default: true, ..FeatureSelection::default() };
        let (mut read, mut sure) = (BTreeSet::new(), true);
        for manifest in self.packages.iter().map(|package| &package.manifest) {
            for (local, dependency) in &manifest.dependencies {
                if dependency.package == name && dependency.locked.as_ref() == Some(version) {
                    read.insert(manifest.name.as_str());
                    if manifest.is_active(local, dependency) {
                        selection.no_default &= !dependency.certain_default;
                        selection.features.extend(dependency.certain.iter().cloned());
                        sure &= dependency.certain == dependency.features;
                        sure &= dependency.certain_default == dependency.default_features;
                    }
                }
            }
        }
        let lock = self.packages.first()?.manifest.lock.as_ref()?;
        let shown = format!("{name}-{version}/Cargo.toml");
        let manifest = CargoManifest::read(dir, &shown, &selection, &Pending::default(), Some(lock)).ok()?;
        let features = manifest.active_features.clone();
        let all_read = sure && lock.dependents(name, version).all(|dependent| read.contains(dependent));
        let off = impossible(&manifest);
        let open = |feature: &&String| !all_read && !features.contains(*feature) && !off.contains(*feature);
        let maybe = manifest.features.keys().filter(open).cloned();
        let cfg = CfgSet { maybe: maybe.collect(), features };
        Some((manifest, cfg))
    }
}

/// Features that are certainly off: the lock file lacks a package that they enable.
fn impossible(manifest: &CargoManifest) -> BTreeSet<String> {
    let mut off = BTreeSet::new();
    loop {
        let before = off.len();
        for (feature, entries) in &manifest.features {
            let absent = entries.iter().any(|entry| match entry.strip_prefix("dep:") {
                Some(name) => manifest.dependencies.get(&crate_name(name)).is_some_and(|found| found.locked.is_none()),
                None => off.contains(entry),
            });
            if absent {
                off.insert(feature.clone());
            }
        }
        if off.len() == before {
            return off;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::source::lock::LockFile;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "tests write what they read")]
    fn a_feature_is_off_when_the_package_that_it_brings_is_not_locked() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = "[package]\nname = \"net\"\nversion = \"1.0.0\"\n[features]\nold = [\"dep:old\"]\n\
                        new = [\"dep:new\"]\nalias = [\"old\"]\nplain = []\n[dependencies]\n\
                        old = { package = \"schemars\", version = \"0.8\", optional = true }\n\
                        new = { package = \"schemars\", version = \"1\", optional = true }\n";
        std::fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
        let lock = LockFile::parse(
            "[[package]]\nname = \"net\"\nversion = \"1.0.0\"\nsource = \"registry+r\"\n\
             dependencies = [\n \"schemars\",\n]\n\n\
             [[package]]\nname = \"schemars\"\nversion = \"1.2.3\"\nsource = \"registry+r\"\n",
        )
        .map(Rc::new);
        let selection = FeatureSelection { no_default: true, ..FeatureSelection::default() };
        let manifest =
            CargoManifest::read(folder.path(), "Cargo.toml", &selection, &Pending::default(), lock.as_ref()).unwrap();
        assert_eq!(impossible(&manifest), BTreeSet::from(["alias", "old"].map(str::to_owned)));
    }
}
