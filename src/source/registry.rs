//! The sources of packages that cargo has fetched: a vendored folder, or the registry cache in `CARGO_HOME`.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use semver::Version;
use syn::{ItemImpl, ItemStruct};
use toml_edit::{Document, Item};

use super::cfg::CfgSet;
use super::files::Pending;
use super::manifest::{CargoManifest, FeatureSelection, crate_name, get};
use super::module::Sources;

/// The folder with the sources of one version of a package; `workspace` is where cargo looks for its configuration.
pub(super) fn locate(workspace: &Path, name: &str, version: &Version) -> Option<PathBuf> {
    let versioned = format!("{name}-{version}");
    if let Some(vendor) = vendored(workspace) {
        // What is vendored replaces the registry.
        let candidates = [vendor.join(&versioned), vendor.join(name)];
        return candidates.into_iter().find(|dir| is_version(dir, version));
    }
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))?;
    let registries = std::fs::read_dir(home.join("registry/src")).ok()?;
    let mut found: Vec<PathBuf> =
        registries.flatten().map(|registry| registry.path().join(&versioned)).filter(|dir| dir.is_dir()).collect();
    found.sort();
    // Two registries may have different packages of one name.
    if found.len() == 1 { found.pop() } else { None }
}

/// The folder that `.cargo/config.toml` replaces crates.io with.
fn vendored(workspace: &Path) -> Option<PathBuf> {
    let workspace = std::path::absolute(workspace).ok()?;
    workspace.ancestors().find_map(|folder| {
        let text = std::fs::read_to_string(folder.join(".cargo/config.toml")).ok()?;
        let document = Document::parse(text).ok()?;
        let text = |source: &str, key: &str| get(document.as_item(), &["source", source, key]).and_then(Item::as_str);
        let replacement = text("crates-io", "replace-with")?;
        Some(folder.join(text(replacement, "directory")?))
    })
}

fn is_version(dir: &Path, version: &Version) -> bool {
    let Ok(text) = std::fs::read_to_string(dir.join("Cargo.toml")) else { return false };
    let Ok(document) = Document::parse(text) else { return false };
    let found = get(document.as_item(), &["package", "version"]).and_then(Item::as_str);
    found == Some(version.to_string().as_str())
}

impl Sources {
    /// The manifest of a package in `dir` with the features that those ask for who were read, and what decides its
    /// `cfg`: features that somebody else may ask for are left open.
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
                        selection.no_default &= !dependency.sure_default;
                        selection.features.extend(dependency.sure.iter().cloned());
                        sure &= dependency.sure == dependency.features;
                        sure &= dependency.sure_default == dependency.default_features;
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

/// The features that nobody has switched on: the lock file lacks a package that they bring.
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

/// One type of k8s-openapi, as far as a schema and a default value depend on it.
#[derive(Debug)]
pub struct GeneratedType {
    /// `impl JsonSchema`
    pub schema: ItemImpl,
    /// The type, when it is a struct that derives `Default`.
    pub item: Option<ItemStruct>,
    /// The keys that `impl Serialize` writes, by field.
    pub keys: BTreeMap<String, String>,
    /// The texts of `impl Resource`, such as `KIND`.
    pub constants: BTreeMap<String, String>,
}

/// The names that `impl Resource` gives a type of k8s-openapi in the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedResource {
    /// API group, empty for the core group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// The name in URLs.
    pub plural: String,
    /// Objects live in namespaces.
    pub namespaced: bool,
}

/// Types of k8s-openapi by folder and path, once they were read.
#[derive(Debug, Default)]
pub(super) struct Generated {
    types: RefCell<BTreeMap<Key, Option<Rc<GeneratedType>>>>,
    resources: RefCell<BTreeMap<Key, Option<Rc<GeneratedResource>>>>,
    /// The folders of modules by package, version and feature.
    folders: RefCell<BTreeMap<(String, Version, String), Option<PathBuf>>>,
}

type Key = (PathBuf, Vec<String>);

impl Generated {
    /// The folder of the modules that a feature switches on: `latest` stands for the newest.
    pub(super) fn folder(&self, workspace: &Path, package: &str, version: &Version, feature: &str) -> Option<PathBuf> {
        let key = (package.to_owned(), version.clone(), feature.to_owned());
        let find = || modules(workspace, package, version, feature);
        self.folders.borrow_mut().entry(key).or_insert_with(find).clone()
    }

    /// The type of a path below a folder of modules, such as `api::core::v1::Pod`.
    pub(super) fn get(&self, dir: &Path, path: &[String]) -> Option<Rc<GeneratedType>> {
        let key = (dir.to_path_buf(), path.to_vec());
        if let Some(found) = self.types.borrow().get(&key) {
            return found.clone();
        }
        let found = read_generated(dir, path).map(Rc::new);
        self.types.borrow_mut().insert(key, found.clone());
        found
    }

    /// The resource of a path below a folder of modules.
    pub(super) fn resource(&self, dir: &Path, path: &[String]) -> Option<Rc<GeneratedResource>> {
        let key = (dir.to_path_buf(), path.to_vec());
        if let Some(found) = self.resources.borrow().get(&key) {
            return found.clone();
        }
        let found = read_resource(dir, path).map(Rc::new);
        self.resources.borrow_mut().insert(key, found.clone());
        found
    }
}

fn modules(workspace: &Path, package: &str, version: &Version, feature: &str) -> Option<PathBuf> {
    let dir = locate(workspace, package, version)?;
    let own = CargoManifest::read(&dir, "Cargo.toml", &FeatureSelection::default(), &Pending::default(), None).ok()?;
    let feature = match own.features.get(feature)?.as_slice() {
        [other] => other,
        _ => feature,
    };
    Some(dir.join("src").join(feature)).filter(|dir| dir.is_dir())
}

/// The private module and the types of a line that re-exports them.
pub(super) fn re_exported(line: &str) -> Option<(&str, impl Iterator<Item = &str>)> {
    let (module, names) = line.trim_start().strip_prefix("pub use self::")?.strip_suffix(';')?.split_once("::")?;
    Some((module, names.trim_start_matches('{').trim_end_matches('}').split(',').map(str::trim)))
}

/// The text of the file that declares a type: k8s-openapi has a module for each type, re-exported.
fn generated_text(dir: &Path, path: &[String]) -> Option<String> {
    let (name, modules) = path.split_last()?;
    let mut folder = dir.to_path_buf();
    folder.extend(modules);
    let declarations = std::fs::read_to_string(folder.join("mod.rs")).ok()?;
    let module = declarations.lines().find_map(|line| {
        let (module, mut names) = re_exported(line)?;
        names.any(|other| other == name).then_some(module)
    })?;
    std::fs::read_to_string(folder.join(format!("{module}.rs"))).ok()
}

/// The text of an item that starts so, and where it is.
fn generated_item<'a>(text: &'a str, start: &str) -> Option<(usize, &'a str)> {
    let at = text.find(start)?;
    let end = text[at..].find("\n}\n").map_or(text.len(), |end| at + end + 2);
    Some((at, &text[at..end]))
}

fn read_resource(dir: &Path, path: &[String]) -> Option<GeneratedResource> {
    let text = generated_text(dir, path)?;
    let (_, block) = generated_item(&text, &format!("impl crate::Resource for {} {{", path.last()?))?;
    let constant = |name: &str| {
        let rest = block.split_once(&format!("const {name}: &'static str = \""))?.1;
        Some(rest.split_once('"')?.0.to_owned())
    };
    Some(GeneratedResource {
        group: constant("GROUP")?,
        kind: constant("KIND")?,
        plural: constant("URL_PATH_SEGMENT")?,
        namespaced: block.contains("type Scope = crate::NamespaceResourceScope;"),
    })
}

/// Reads a type from files of the form that k8s-openapi's generator writes.
fn read_generated(dir: &Path, path: &[String]) -> Option<GeneratedType> {
    let name = path.last()?;
    let text = generated_text(dir, path)?;
    let item = |start: &str| generated_item(&text, start);
    let (_, schema) = item(&format!("impl crate::schemars::JsonSchema for {name} {{"))?;
    let derives_default = |at: usize| {
        let attribute = text[..at].lines().next_back().unwrap_or_default();
        attribute.starts_with("#[derive(") && attribute.contains("Default")
    };
    let declared = item(&format!("pub struct {name} {{")).filter(|(at, _)| derives_default(*at));
    let serialize = item(&format!("impl crate::serde::Serialize for {name} {{")).map_or("", |(_, text)| text);
    let mut optional = None;
    let keys = serialize.lines().filter_map(|line| {
        let line = line.trim();
        if let Some(field) = line.strip_prefix("if let Some(value) = &self.") {
            optional = field.strip_suffix(" {");
        }
        let call = line.strip_prefix("crate::serde::ser::SerializeStruct::serialize_field(&mut state, \"")?;
        let (key, value) = call.split_once("\", ")?;
        let field = match value.strip_suffix(")?;")? {
            "value" => optional.take()?,
            value => value.strip_prefix("&self.")?,
        };
        Some((field.to_owned(), key.to_owned()))
    });
    let resource = item(&format!("impl crate::Resource for {name} {{")).map_or("", |(_, text)| text);
    let constants = resource.lines().filter_map(|line| {
        let (name, value) = line.trim().strip_prefix("const ")?.split_once(": &'static str = ")?;
        Some((name.to_owned(), syn::parse_str::<syn::LitStr>(value.strip_suffix(';')?).ok()?.value()))
    });
    Some(GeneratedType {
        schema: syn::parse_str(schema).ok()?,
        item: declared.and_then(|(_, text)| syn::parse_str(text).ok()),
        keys: keys.collect(),
        constants: constants.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::lock::Lock;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "tests write what they read")]
    fn a_feature_is_off_when_the_package_that_it_brings_is_not_locked() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = "[package]\nname = \"net\"\nversion = \"1.0.0\"\n[features]\nold = [\"dep:old\"]\n\
                        new = [\"dep:new\"]\nalias = [\"old\"]\nplain = []\n[dependencies]\n\
                        old = { package = \"schemars\", version = \"0.8\", optional = true }\n\
                        new = { package = \"schemars\", version = \"1\", optional = true }\n";
        std::fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
        let lock = Lock::parse(
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
