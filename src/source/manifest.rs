//! `Cargo.toml`: the package, its targets, features and dependencies as cargo sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Context as _;
use toml_edit::{Document, Item, TableLike};

use super::file::clean;
use super::files::Pending;
use super::ident::crate_name;
use super::lock::LockFile;
use crate::diagnostic::{Origin, conflict};

/// The table of a dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DependencyKind {
    /// `[dependencies]`
    Normal,
    /// `[dev-dependencies]`
    Dev,
    /// `[build-dependencies]`
    Build,
}

/// A dependency of the package, merged over all tables of its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each field is a separate key of the manifest")]
pub struct Dependency {
    /// The table that declares it.
    pub kind: DependencyKind,
    /// Name of the package; a renamed dependency has another local name.
    pub package: String,
    /// Version requirement.
    pub requirement: Option<String>,
    /// Features requested here, in the workspace and by active features of the package.
    pub features: BTreeSet<String>,
    /// The default features are on.
    pub default_features: bool,
    /// The part of [`Self::features`] that is on for every platform with the dependency.
    pub(super) certain: BTreeSet<String>,
    /// The default features are on for every platform with the dependency.
    pub(super) certain_default: bool,
    everywhere: bool,
    /// Refers to different packages on different platforms.
    pub(super) several: bool,
    /// Present only if a feature requests it.
    pub optional: bool,
    /// Folder of a path dependency.
    pub path: Option<PathBuf>,
    /// Exact version in `Cargo.lock`.
    pub locked: Option<semver::Version>,
    /// The locked version comes from a registry.
    pub registry: bool,
    /// Place of the declaration.
    pub origin: Origin,
}

impl Dependency {
    /// Returns true if the requirement allows this version.
    pub fn admits(&self, version: &str) -> bool {
        let requirement = self.requirement.as_deref().map(semver::VersionReq::parse);
        matches!((requirement, semver::Version::parse(version)), (Some(Ok(allowed)), Ok(version)) if allowed.matches(&version))
    }
}

/// A library or a binary of the package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CargoTarget {
    pub(super) name: String,
    pub(super) lib: bool,
    pub(super) root: PathBuf,
    pub(super) required_features: Vec<String>,
}

/// The content of `Cargo.toml`, with versions from `Cargo.lock`.
#[derive(Debug, Clone)]
pub struct CargoManifest {
    /// Folder of `Cargo.toml`.
    pub dir: PathBuf,
    /// Folder of the workspace, or [`Self::dir`].
    pub workspace: PathBuf,
    /// Package name.
    pub name: String,
    /// `package.version`
    pub version: Option<String>,
    /// `package.edition`, "2015" when absent.
    pub edition: String,
    /// The first version of cargo's resolver: dependencies of tests and build scripts also decide the features.
    pub(super) old_resolver: bool,
    /// Features and the entries that they enable, including the implicit features of optional dependencies.
    pub features: BTreeMap<String, Vec<String>>,
    /// Active features.
    pub active_features: BTreeSet<String>,
    /// `[dependencies]` of all targets, by crate name.
    pub dependencies: BTreeMap<String, Dependency>,
    /// `[dev-dependencies]` and `[build-dependencies]`, by kind and crate name.
    pub other_dependencies: BTreeMap<(DependencyKind, String), Dependency>,
    /// A `Cargo.lock` exists.
    pub has_lock: bool,
    /// `verified` in `metadata.memcached-sdk` of the package and its workspace: `name version` of releases whose CRDs
    /// the compiler has confirmed.
    pub verified: BTreeSet<String>,
    /// `external` in `metadata.memcached-sdk` of the package and its workspace: custom resources of other projects that
    /// the code only reads. An entry is a group, `Kind.group` or a glob.
    pub external: Vec<String>,
    pub(super) lock: Option<Rc<LockFile>>,
    /// The text of `Cargo.toml`, for diagnostics.
    pub origin: Origin,
    pub(super) targets: Vec<CargoTarget>,
    /// The library is a proc-macro crate.
    pub(super) proc_macro: bool,
}

/// The feature flags of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeatureSelection {
    /// `--no-default-features`
    pub no_default: bool,
    /// `--all-features`
    pub all: bool,
    /// `--features`
    pub features: BTreeSet<String>,
}

pub(super) fn parse(path: &Path, files: &Pending) -> anyhow::Result<Document<String>> {
    let text = files.read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    if let Some(problem) = conflict::problem(&path.display().to_string(), &text) {
        return Err(problem.into());
    }
    Document::parse(text).with_context(|| format!("`{}` is not valid TOML", path.display()))
}

pub(crate) fn get<'a>(item: &'a Item, path: &[&str]) -> Option<&'a Item> {
    path.iter().try_fold(item, |item, key| item.as_table_like()?.get(key))
}

pub(super) fn strings(item: Option<&Item>) -> Vec<String> {
    let array = item.and_then(Item::as_array);
    array.into_iter().flatten().filter_map(|value| value.as_str().map(str::to_string)).collect()
}

fn inherits(item: &Item) -> bool {
    get(item, &["workspace"]).and_then(Item::as_bool) == Some(true)
}

impl CargoManifest {
    /// Reads the package in `dir`. `shown` is the displayed path of its `Cargo.toml`.
    ///
    /// `lock` is the lock file of the package that all others are built for. Without it, reads the one beside the
    /// manifest.
    pub(super) fn read(
        dir: &Path,
        shown: &str,
        selection: &FeatureSelection,
        files: &Pending,
        lock: Option<&Rc<LockFile>>,
    ) -> anyhow::Result<Self> {
        let path = dir.join("Cargo.toml");
        let document = parse(&path, files)?;
        let root = document.as_item();
        let Some(package) = get(root, &["package"]).or_else(|| get(root, &["project"])) else {
            let members = strings(get(root, &["workspace", "members"]));
            anyhow::bail!(
                "`{}` has no `[package]` table{}",
                path.display(),
                if members.is_empty() { String::new() } else { format!("; select a member: {}", members.join(", ")) }
            );
        };
        let workspace_dir = workspace_dir(dir, root);
        let inherited = match &workspace_dir {
            Some(found) if found != dir => Some(parse(&found.join("Cargo.toml"), files)?),
            _ => None,
        };
        let workspace = inherited.as_ref().map_or(root, |document| document.as_item());
        let field = |key: &str| {
            let item = get(package, &[key])?;
            let item = if inherits(item) { get(workspace, &["workspace", "package", key])? } else { item };
            item.as_str().map(str::to_string)
        };
        let name = field("name").with_context(|| format!("`{}` has no `package.name`", path.display()))?;
        let lock_dir = workspace_dir.unwrap_or_else(|| dir.to_path_buf());
        let lock = match lock {
            Some(lock) => Some(Rc::clone(lock)),
            None => read_lock(&lock_dir, files)?.map(Rc::new),
        };
        let targets = targets(dir, &name, root, files);

        let settings = |key: &str| -> Vec<String> {
            [(root, "package"), (workspace, "workspace")]
                .into_iter()
                .flat_map(|(item, table)| strings(get(item, &[table, "metadata", "memcached-sdk", key])))
                .collect()
        };

        let mut manifest = Self {
            verified: settings("verified").into_iter().collect(),
            external: settings("external"),
            dir: dir.to_path_buf(),
            workspace: lock_dir,
            edition: field("edition").unwrap_or_else(|| "2015".to_string()),
            old_resolver: resolver(workspace) == "1",
            features: BTreeMap::new(),
            active_features: BTreeSet::new(),
            dependencies: BTreeMap::new(),
            other_dependencies: BTreeMap::new(),
            has_lock: lock.is_some(),
            lock,
            version: field("version"),
            origin: Origin { path: shown.into(), text: document.raw().into(), range: 0..0 },
            targets,
            proc_macro: is_proc_macro(root),
            name,
        };
        let mut tables = vec![(true, root)];
        let platforms = get(root, &["target"]).and_then(Item::as_table_like);
        tables.extend(platforms.into_iter().flat_map(|table| table.iter().map(|(_, item)| (false, item))));
        for (everywhere, table) in tables {
            for (key, kind) in [
                ("dependencies", DependencyKind::Normal),
                ("dev-dependencies", DependencyKind::Dev),
                ("build-dependencies", DependencyKind::Build),
            ] {
                let Some(table) = get(table, &[key]).and_then(Item::as_table_like) else { continue };
                manifest.add_dependencies(kind, everywhere, table, workspace);
            }
        }
        manifest.activate(root, selection);
        Ok(manifest)
    }

    /// Reads the package with its default features, ignoring the lock file.
    pub(super) fn read_unlocked(dir: &Path, shown: &str) -> anyhow::Result<Self> {
        Self::read(dir, shown, &FeatureSelection::default(), &Pending::default(), Some(&Rc::default()))
    }

    pub(crate) fn of(dir: &Path) -> Option<Self> {
        Self::read(dir, "Cargo.toml", &FeatureSelection::default(), &Pending::default(), Some(&Rc::default())).ok()
    }

    /// Reads the package and its lock file; `None` if one of them cannot be read.
    pub(crate) fn of_locked(dir: &Path) -> Option<Self> {
        Self::read(dir, "Cargo.toml", &FeatureSelection::default(), &Pending::default(), None).ok()
    }

    /// The versions of a package in `Cargo.lock`, in ascending order.
    pub(crate) fn locked_versions(&self, package: &str) -> Vec<semver::Version> {
        let mut versions = self.lock.as_ref().map(|lock| lock.versions(package)).unwrap_or_default();
        versions.sort();
        versions
    }

    /// The program that `cargo run` starts, or else the first declared one. `None` if no target has a name of its own.
    pub(crate) fn default_program(&self) -> Option<String> {
        let document = Document::parse(self.origin.text.to_string()).ok()?;
        let root = document.as_item();
        let default = get(root, &["package", "default-run"]).and_then(Item::as_str);
        let mut declared = get(root, &["bin"]).and_then(Item::as_array_of_tables).into_iter().flatten();
        let first = || declared.next()?.get("name")?.as_str();
        default.or_else(first).map(str::to_owned)
    }

    /// Returns true if `Cargo.lock` exists and lacks a dependency of the package in `dir`. False if nothing can be
    /// read.
    pub fn is_ahead_of_its_lock(dir: &Path) -> bool {
        let read = Self::read(dir, "Cargo.toml", &FeatureSelection::default(), &Pending::default(), None);
        read.is_ok_and(|own| {
            let mut dependencies = own.dependencies.values().chain(own.other_dependencies.values());
            own.has_lock && dependencies.any(|dependency| dependency.locked.is_none())
        })
    }

    /// Dependencies on `package` from any table, under any local name.
    pub fn dependency_on<'a>(&'a self, package: &'a str) -> impl Iterator<Item = &'a Dependency> {
        let all = self.dependencies.values().chain(self.other_dependencies.values());
        all.filter(move |dependency| dependency.package == package)
    }

    pub(super) fn is_active(&self, name: &str, dependency: &Dependency) -> bool {
        let switches = |entry: &String| {
            let entry = entry.strip_prefix("dep:").unwrap_or(entry);
            crate_name(entry.split('/').next().unwrap_or_default()) == name && !entry.contains('?')
        };
        let mut active = self.active_features.iter();
        !dependency.optional
            || active.any(|feature| crate_name(feature) == name || self.features[feature].iter().any(switches))
    }

    fn add_dependencies(&mut self, kind: DependencyKind, everywhere: bool, table: &dyn TableLike, workspace: &Item) {
        for (key, item) in table.iter() {
            let (base, base_dir) = if inherits(item) {
                (get(workspace, &["workspace", "dependencies", key]), &self.workspace)
            } else {
                (None, &self.dir)
            };
            let find = |field: &str| get(item, &[field]).or_else(|| get(base?, &[field]));
            let text = |field: &str| find(field).and_then(Item::as_str).map(str::to_string);
            let plain = item.as_str().or_else(|| base.and_then(Item::as_str)).map(str::to_string);
            let mut features: BTreeSet<String> = strings(get(item, &["features"])).into_iter().collect();
            features.extend(strings(base.and_then(|base| get(base, &["features"]))));
            let package = text("package").unwrap_or_else(|| key.to_string());
            let requirement = plain.or_else(|| text("version"));
            let lock = self.lock.as_ref();
            let (locked, registry) = lock
                .and_then(|lock| lock.version(&self.name, self.version.as_deref(), &package, requirement.as_deref()))
                .unzip();
            let default_of = |item: &Item| {
                get(item, &["default-features"]).or_else(|| get(item, &["default_features"])).and_then(Item::as_bool)
            };
            // A member can enable the default features of a workspace dependency, but not disable them.
            let default_features = match base {
                Some(base) => default_of(base).unwrap_or(true) || default_of(item) == Some(true),
                None => default_of(item).unwrap_or(true),
            };
            let dependency = Dependency {
                kind,
                registry: registry.unwrap_or_default(),
                locked,
                package,
                requirement,
                certain: features.clone(),
                features,
                default_features,
                certain_default: default_features,
                everywhere,
                several: false,
                optional: find("optional").and_then(Item::as_bool).unwrap_or(false),
                path: text("path").map(|path| clean(&base_dir.join(path))),
                origin: Origin { range: span(table, key).unwrap_or_default(), ..self.origin.clone() },
            };
            let name = crate_name(key);
            let merge = |old: &mut Dependency| {
                old.features.extend(dependency.features.iter().cloned());
                old.default_features |= dependency.default_features;
                old.optional &= dependency.optional;
                old.several |= old.path != dependency.path || old.package != dependency.package;
                // The table for all platforms comes first.
                if everywhere {
                    old.certain.extend(dependency.certain.iter().cloned());
                    old.certain_default |= dependency.certain_default;
                } else if !old.everywhere {
                    old.certain.retain(|feature| dependency.certain.contains(feature));
                    old.certain_default &= dependency.certain_default;
                }
            };
            if dependency.optional && kind != DependencyKind::Dev {
                self.features.entry(key.to_string()).or_insert_with(|| vec![format!("dep:{key}")]);
            }
            if kind == DependencyKind::Normal {
                self.dependencies.entry(name).and_modify(merge).or_insert_with(|| dependency.clone());
            } else {
                self.other_dependencies.entry((kind, name)).and_modify(merge).or_insert_with(|| dependency.clone());
            }
        }
    }

    /// Expands the selected features and passes features of dependencies on to them.
    fn activate(&mut self, root: &Item, selection: &FeatureSelection) {
        let declared = get(root, &["features"]).and_then(Item::as_table_like);
        let declared: BTreeMap<String, Vec<String>> = declared
            .into_iter()
            .flat_map(TableLike::iter)
            .map(|(name, item)| (name.to_string(), strings(Some(item))))
            .collect();
        // An optional dependency named by `dep:` is not a feature.
        let named: BTreeSet<&str> =
            declared.values().flatten().filter_map(|entry| entry.strip_prefix("dep:")).collect();
        self.features.retain(|name, _| !named.contains(name.as_str()));
        self.features.extend(declared.clone());
        let mut queue: Vec<String> = selection.features.iter().cloned().collect();
        if selection.all {
            queue.extend(self.features.keys().cloned());
        }
        if !selection.no_default {
            queue.push("default".to_string());
        }
        let mut handed_on = Vec::new();
        while let Some(entry) = queue.pop() {
            if entry.starts_with("dep:") {
                continue;
            }
            if let Some((dependency, feature)) = entry.split_once('/') {
                handed_on.push((dependency.trim_end_matches('?').to_string(), feature.to_string()));
                if !dependency.ends_with('?') && self.features.contains_key(dependency) {
                    queue.push(dependency.to_string());
                }
                continue;
            }
            if self.features.contains_key(&entry) && self.active_features.insert(entry.clone()) {
                queue.extend(self.features[&entry].iter().cloned());
            }
        }
        for (dependency, feature) in handed_on {
            if let Some(dependency) = self.dependencies.get_mut(&crate_name(&dependency)) {
                dependency.certain.insert(feature.clone());
                dependency.features.insert(feature);
            }
        }
    }
}

fn span(table: &dyn TableLike, key: &str) -> Option<Range<usize>> {
    let (key, item) = table.get_key_value(key)?;
    let start = key.span()?.start;
    let end = item.span().map_or(start, |span| span.end);
    Some(start..end.max(key.span()?.end))
}

/// The feature resolver that cargo uses for a workspace root or a single package; the edition sets the default.
pub(crate) fn resolver(root: &Item) -> &str {
    let text = |path: &[&str]| get(root, path).and_then(Item::as_str);
    let edition = || {
        let edition = get(root, &["package", "edition"])?;
        if inherits(edition) { text(&["workspace", "package", "edition"]) } else { edition.as_str() }
    };
    text(&["workspace", "resolver"]).or_else(|| text(&["package", "resolver"])).unwrap_or_else(|| match edition() {
        None | Some("2015" | "2018") => "1",
        Some("2021") => "2",
        Some(_) => "3",
    })
}

pub(super) fn workspace_dir(dir: &Path, root: &Item) -> Option<PathBuf> {
    if get(root, &["workspace"]).is_some() {
        return Some(dir.to_path_buf());
    }
    if let Some(path) = get(root, &["package", "workspace"]).and_then(Item::as_str) {
        return Some(clean(&dir.join(path)));
    }
    let full = std::path::absolute(dir).ok()?;
    for (up, ancestor) in full.ancestors().enumerate().skip(1) {
        let Ok(document) = parse(&ancestor.join("Cargo.toml"), &Pending::default()) else { continue };
        let Some(workspace) = document.as_item().as_table_like().and_then(|table| table.get("workspace")) else {
            continue;
        };
        let inside = full.strip_prefix(ancestor).ok()?;
        let excluded =
            strings(get(workspace, &["exclude"])).iter().any(|path| inside.starts_with(clean(Path::new(path))));
        if excluded {
            return None;
        }
        // Keep a relative folder relative, so that no host path is displayed.
        let mut found = dir.to_path_buf();
        for _ in 0..up {
            found = if found.file_name().is_some() { found.parent()?.to_path_buf() } else { found.join("..") };
        }
        return Some(if std::path::absolute(&found).is_ok_and(|found| clean(&found) == ancestor) {
            found
        } else {
            ancestor.to_path_buf()
        });
    }
    None
}

fn read_lock(dir: &Path, files: &Pending) -> anyhow::Result<Option<LockFile>> {
    let path = dir.join("Cargo.lock");
    match files.read(&path) {
        Ok(text) => match conflict::problem(&path.display().to_string(), &text) {
            Some(problem) => Err(problem.into()),
            None => Ok(LockFile::parse(&text)),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read `{}`", path.display())),
    }
}

/// Returns true if the library is a proc-macro crate.
/// <https://doc.rust-lang.org/cargo/reference/cargo-targets.html#the-proc-macro-field>
fn is_proc_macro(root: &Item) -> bool {
    let says = |key: &str| get(root, &["lib", key]);
    let is_set = ["proc-macro", "proc_macro"].iter().any(|key| says(key).and_then(Item::as_bool) == Some(true));
    is_set || ["crate-type", "crate_type"].iter().any(|key| strings(says(key)).contains(&"proc-macro".to_owned()))
}

/// The library, then the binaries, both declared and discovered.
fn targets(dir: &Path, package: &str, root: &Item, files: &Pending) -> Vec<CargoTarget> {
    let mut targets = Vec::new();
    let lib = get(root, &["lib"]);
    let lib_path = lib.and_then(|lib| get(lib, &["path"])).and_then(Item::as_str);
    let lib_root = dir.join(lib_path.unwrap_or("src/lib.rs"));
    let autolib = get(root, &["package", "autolib"]).and_then(Item::as_bool).unwrap_or(true);
    if lib.is_some() || (autolib && files.is_file(&lib_root)) {
        let name = lib.and_then(|lib| get(lib, &["name"])).and_then(Item::as_str).unwrap_or(package);
        targets.push(CargoTarget { name: crate_name(name), lib: true, root: lib_root, required_features: Vec::new() });
    }
    let mut bins: BTreeMap<String, CargoTarget> = BTreeMap::new();
    let declared = get(root, &["bin"]).and_then(Item::as_array_of_tables);
    for table in declared.into_iter().flatten() {
        let Some(name) = table.get("name").and_then(Item::as_str) else { continue };
        let declared = table.get("path").and_then(Item::as_str).map(|path| dir.join(path));
        let path = declared.unwrap_or_else(|| {
            let candidates = [format!("src/bin/{name}.rs"), format!("src/bin/{name}/main.rs")];
            let found = candidates.iter().map(|path| dir.join(path)).find(|path| files.is_file(path));
            found.unwrap_or_else(|| dir.join("src/main.rs"))
        });
        let required_features = strings(table.get("required-features"));
        bins.insert(
            name.to_string(),
            CargoTarget { name: crate_name(name), lib: false, root: path, required_features },
        );
    }
    if get(root, &["package", "autobins"]).and_then(Item::as_bool).unwrap_or(true) {
        let mut found = vec![(package.to_string(), dir.join("src/main.rs"))];
        for entry in std::fs::read_dir(dir.join("src/bin")).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if path.extension().is_some_and(|extension| extension == "rs") {
                found.push((name, path));
            } else {
                found.push((name, path.join("main.rs")));
            }
        }
        for (name, path) in found {
            if files.is_file(&path) && !bins.values().any(|bin| bin.root == path) {
                let target =
                    CargoTarget { name: crate_name(&name), lib: false, root: path, required_features: Vec::new() };
                bins.entry(name).or_insert(target);
            }
        }
    }
    targets.extend(bins.into_values());
    targets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resolver_is_that_of_cargo() {
        for (workspace, expected) in [
            ("[package]\nedition = \"2024\"", "3"),
            ("[package]\nedition = \"2021\"", "2"),
            ("[package]\nname = \"x\"", "1"),
            ("[package]\nedition = \"2021\"\nresolver = \"1\"", "1"),
            ("[workspace]\nresolver = \"2\"", "2"),
            ("[workspace.package]\nedition = \"2024\"", "1"),
            ("[package]\nedition.workspace = true\n[workspace.package]\nedition = \"2024\"", "3"),
        ] {
            assert_eq!(resolver(Document::parse(workspace).unwrap().as_item()), expected, "{workspace}");
        }
    }
}
