//! Manifests for build folders, derived from the user's so that cargo resolves and compiles the same.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value};

use crate::source::{CargoManifest, FeatureSelection, resolver};

pub(super) struct EngineManifests {
    package: DocumentMut,
    workspace: DocumentMut,
    dir: PathBuf,
    workspace_dir: PathBuf,
}

impl EngineManifests {
    pub(super) fn read(manifest: &CargoManifest) -> Result<Self> {
        let package: DocumentMut = manifest.origin.text.parse().context("cannot read `Cargo.toml`")?;
        let workspace = if manifest.workspace == manifest.dir {
            package.clone()
        } else {
            let path = manifest.workspace.join("Cargo.toml");
            let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
            text.parse().with_context(|| format!("cannot read `{}`", path.display()))?
        };
        Ok(Self { package, workspace, dir: manifest.dir.clone(), workspace_dir: manifest.workspace.clone() })
    }

    /// A workspace with a single package in the folder `member`. Inherited keys, patches, profiles and the resolver are
    /// the user's.
    pub(super) fn workspace(&self, member: &str) -> String {
        let root = self.workspace.as_table();
        let mut table = Table::new();
        let inherited = root.get("workspace").and_then(Item::as_table_like);
        for key in ["package", "dependencies"] {
            if let Some(item) = inherited.and_then(|workspace| workspace.get(key)) {
                table.insert(key, item.clone());
            }
        }
        if let Some(dependencies) = table.get_mut("dependencies") {
            absolute(dependencies, &self.workspace_dir);
        }
        table.insert("members", Array::from_iter([member]).into());
        table.insert("resolver", resolver(self.workspace.as_item()).into());
        let mut document = DocumentMut::new();
        document.insert("workspace", Item::Table(table));
        for key in ["profile", "patch", "replace"] {
            if let Some(item) = root.get(key) {
                document.insert(key, item.clone());
            }
        }
        if let Some(replaced) = document.get_mut("replace") {
            absolute(replaced, &self.workspace_dir);
        }
        let registries = document.get_mut("patch").and_then(Item::as_table_like_mut);
        for (_, patches) in registries.into_iter().flat_map(|table| table.iter_mut()) {
            absolute(patches, &self.workspace_dir);
        }
        document.to_string()
    }

    /// A crate beside the package that depends on it as [`SUBJECT`], and on some of its dependencies.
    pub(super) fn helper(
        &self,
        package: &str,
        features: &FeatureSelection,
        known: &[String],
        shared: &[&str],
    ) -> String {
        let mut subject = InlineTable::new();
        subject.insert("package", package.into());
        subject.insert("path", self.dir.to_string_lossy().as_ref().into());
        subject.insert("default-features", (!features.no_default).into());
        let on = features.features.iter().chain(known.iter().filter(|_| features.all));
        subject.insert("features", on.map(String::as_str).collect::<Array>().into());
        let mut dependencies = Table::new();
        for name in shared {
            if let Some((key, mut item)) = self.dependency(name) {
                if let Some(table) = item.as_table_like_mut() {
                    table.remove("optional");
                }
                absolute_path(&mut item, &self.dir);
                dependencies.insert(&key, item);
            }
        }
        dependencies.insert(SUBJECT, subject.into());
        dependencies.insert(JSON, json().into());
        let mut own = Table::new();
        own.insert("name", helper_name(package).into());
        own.insert("version", "0.0.0".into());
        own.insert("edition", "2021".into());
        let mut document = DocumentMut::new();
        document.insert("package", Item::Table(own));
        document.insert("dependencies", Item::Table(dependencies));
        document.to_string()
    }

    /// The entry of a dependency by its name in code, from the table of any platform.
    fn dependency(&self, name: &str) -> Option<(String, Item)> {
        let platforms = self.package.get("target").and_then(Item::as_table_like);
        let tables = std::iter::once(self.package.as_item())
            .chain(platforms.into_iter().flat_map(|table| table.iter().map(|(_, item)| item)));
        tables.filter_map(|table| table.as_table_like()?.get("dependencies")?.as_table_like()).find_map(|table| {
            let (key, item) = table.iter().find(|(key, _)| key.replace('-', "_") == name)?;
            Some((key.to_owned(), item.clone()))
        })
    }

    /// The package in another folder with only these binaries, each a name and a path. Omits tests and lints.
    pub(super) fn shadow(&self, binaries: &[(String, String)]) -> String {
        let mut document = self.package.clone();
        for key in
            ["workspace", "profile", "patch", "replace", "lints", "dev-dependencies", "bin", "test", "bench", "example"]
        {
            document.remove(key);
        }
        if let Some(package) = document.get_mut("package").and_then(Item::as_table_like_mut) {
            for key in ["workspace", "default-run", "metadata", "resolver"] {
                package.remove(key);
            }
            for key in ["autobins", "autotests", "autobenches", "autoexamples"] {
                package.insert(key, false.into());
            }
        }
        let platforms = document.get_mut("target").and_then(Item::as_table_like_mut);
        for (_, platform) in platforms.into_iter().flat_map(|table| table.iter_mut()) {
            self.relocate(platform);
        }
        self.relocate(document.as_item_mut());
        let mut tables = ArrayOfTables::new();
        for (name, path) in binaries {
            let mut table = Table::new();
            table.insert("name", name.into());
            table.insert("path", path.into());
            tables.push(table);
        }
        document.insert("bin", Item::ArrayOfTables(tables));
        document.to_string()
    }

    /// Makes dependencies of one platform or all valid in another folder.
    fn relocate(&self, item: &mut Item) {
        let Some(table) = item.as_table_like_mut() else { return };
        table.remove("dev-dependencies");
        for key in ["dependencies", "build-dependencies"] {
            if let Some(dependencies) = table.get_mut(key) {
                absolute(dependencies, &self.dir);
            }
        }
    }
}

/// The helper's name for the user's package.
pub(super) const SUBJECT: &str = "memcached_sdk_subject";

/// The helper's name for `serde_json`, which avoids collisions.
pub(super) const JSON: &str = "memcached_sdk_json";

/// The name of the helper crate and its program. Includes the package name, because packages may share a target folder.
pub(super) fn helper_name(package: &str) -> String {
    format!("{package}-memcached-sdk-crdgen")
}

/// kube also depends on it, so the lock file contains it.
fn json() -> InlineTable {
    InlineTable::from_iter([("package", Value::from("serde_json")), ("version", Value::from("1"))])
}

fn absolute(dependencies: &mut Item, base: &Path) {
    let table = dependencies.as_table_like_mut();
    table.into_iter().flat_map(|table| table.iter_mut()).for_each(|(_, item)| absolute_path(item, base));
}

fn absolute_path(dependency: &mut Item, base: &Path) {
    if let Some(path) = dependency.as_table_like_mut().and_then(|table| table.get_mut("path"))
        && let Some(text) = path.as_str()
    {
        let full = base.join(text);
        *path = full.to_string_lossy().as_ref().into();
    }
}

pub(super) fn lock(manifest: &CargoManifest) -> Option<String> {
    std::fs::read_to_string(manifest.workspace.join("Cargo.lock")).ok()
}

pub(super) fn identifier(name: &str) -> String {
    if syn::parse_str::<syn::Ident>(name).is_ok() { name.to_owned() } else { format!("r#{name}") }
}

#[cfg(test)]
mod tests {
    use snapbox::{assert_data_eq, str};

    use super::*;

    fn manifests(package: &str, workspace: &str) -> EngineManifests {
        EngineManifests {
            package: package.parse().unwrap(),
            workspace: workspace.parse().unwrap(),
            dir: "/w/op".into(),
            workspace_dir: "/w".into(),
        }
    }

    const WORKSPACE: &str = r#"
[workspace]
members = ["op", "common"]
[workspace.package]
edition = "2021"
[workspace.dependencies]
common = { path = "common" }
kube = "5"
[profile.dev]
debug = 1
[patch.crates-io]
kube = { path = "../kube" }
"#;

    const PACKAGE: &str = r#"
[package]
name = "op"
edition.workspace = true
default-run = "op"
[[bin]]
name = "op"
[dependencies]
common.workspace = true
other = { path = "../other", features = ["x"] }
[target.'cfg(unix)'.dependencies]
kube = { workspace = true, optional = true }
[dev-dependencies]
tempfile = "3"
[lints]
workspace = true
"#;

    #[test]
    fn a_workspace_of_one() {
        assert_data_eq!(
            manifests(PACKAGE, WORKSPACE).workspace("tree/op"),
            str![[r#"
[workspace]
members = ["tree/op"]
resolver = "1"
[workspace.package]
edition = "2021"
[workspace.dependencies]
common = { path = "/w/common" }
kube = "5"
[profile.dev]
debug = 1
[patch.crates-io]
kube = { path = "/w/../kube" }

"#]]
        );
    }

    #[test]
    fn a_helper() {
        let features = FeatureSelection { all: true, ..FeatureSelection::default() };
        let known = ["a".to_owned(), "b".to_owned()];
        assert_data_eq!(
            manifests(PACKAGE, WORKSPACE).helper("op", &features, &known, &["kube"]),
            str![[r#"
[package]
name = "op-memcached-sdk-crdgen"
version = "0.0.0"
edition = "2021"

[dependencies]
kube = { workspace = true}
memcached_sdk_subject = { package = "op", path = "/w/op", default-features = true, features = ["a", "b"] }
memcached_sdk_json = { package = "serde_json", version = "1" }

"#]]
        );
    }

    #[test]
    fn a_shadow() {
        let binaries = [("op-x".to_owned(), "src/main.rs".to_owned())];
        assert_data_eq!(
            manifests(PACKAGE, WORKSPACE).shadow(&binaries),
            str![[r#"

[package]
name = "op"
edition.workspace = true
autobins = false
autotests = false
autobenches = false
autoexamples = false
[dependencies]
common.workspace = true
other = { path = "/w/op/../other", features = ["x"] }
[target.'cfg(unix)'.dependencies]
kube = { workspace = true, optional = true }

[[bin]]
name = "op-x"
path = "src/main.rs"

"#]]
        );
    }
}
