//! Selects packages like cargo: the one around a folder, or members of its workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use toml_edit::Document;

use super::file::{clean, relative};
use super::files::Pending;
use super::manifest::{self, CargoManifest, FeatureSelection, get, strings, workspace_dir};
use crate::diagnostic::Problem;
use crate::runtime;

/// The flags `--manifest-path`, `--package` and `--workspace`.
#[derive(Debug, Clone, Default)]
pub struct PackageSelection {
    /// The `Cargo.toml` to start from, instead of the nearest one upwards.
    pub manifest_path: Option<PathBuf>,
    /// Names of packages of the workspace.
    pub packages: Vec<String>,
    /// All packages of the workspace.
    pub workspace: bool,
}

/// The selected packages.
#[derive(Debug, Clone)]
pub struct Packages {
    /// The absolute folder of the `Cargo.toml`, of a package or of a workspace.
    pub root: PathBuf,
    /// The packages, by folder.
    pub members: Vec<Member>,
    /// True if `--package` leaves out none of the root's packages.
    pub all: bool,
}

/// A package of [`Packages`].
#[derive(Debug, Clone)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its absolute folder.
    pub dir: PathBuf,
    /// Its declared features.
    pub features: BTreeSet<String>,
}

impl Packages {
    /// Finds the packages from `start`. Like cargo, the default is the package of the `Cargo.toml`; for a virtual
    /// workspace its `default-members`, or else all members.
    pub fn find(start: &Path, selection: &PackageSelection) -> Result<Self> {
        let manifest = match &selection.manifest_path {
            Some(path) => named(&start.join(path))?,
            None => nearest(start)?,
        };
        let root = manifest.parent().unwrap_or(&manifest).to_path_buf();
        let document = parse(&manifest)?;
        let has_package = get(document.as_item(), &["package"]).is_some();
        if has_package && selection.packages.is_empty() && !selection.workspace {
            let member = Member::of(&CargoManifest::read_unlocked(&root, "Cargo.toml")?);
            return Ok(Self { members: vec![member], root, all: true });
        }
        let workspace = workspace_dir(&root, document.as_item()).unwrap_or_else(|| root.clone());
        let mut members = members(&workspace, None)?;
        let mut all = true;
        if !selection.packages.is_empty() {
            all = false;
            choose(&mut members, &selection.packages)?;
        } else if !selection.workspace {
            let default = strings(get(document.as_item(), &["workspace", "default-members"]));
            let chosen = expand(&workspace, &default)?;
            members.retain(|member| default.is_empty() || chosen.contains(&member.dir));
        }
        if members.is_empty() {
            let problem = Problem::new(format!("`{}` has neither a package nor workspace members", manifest.display()));
            return Err(problem.help("pass another one with `--manifest-path`").into());
        }
        Ok(Self { root, members, all })
    }

    /// The workspace members that were not selected, except the generated libraries.
    pub fn unread(&self) -> Result<Vec<Member>> {
        let mut others = members(&self.workspace(), None)?;
        others.retain(|other| !self.members.iter().any(|member| member.dir == other.dir));
        others.retain(|other| !runtime::is_library(&other.name));
        Ok(others)
    }

    /// The folder of the root's workspace, or else the root.
    pub fn workspace(&self) -> PathBuf {
        let document = parse(&self.root.join("Cargo.toml")).ok();
        let workspace = document.and_then(|document| workspace_dir(&self.root, document.as_item()));
        workspace.unwrap_or_else(|| self.root.clone())
    }

    /// The features to enable in each member. A feature that fits no member is an error.
    pub fn features(&self, selection: &FeatureSelection) -> Result<Vec<FeatureSelection>, Problem> {
        let mut each = vec![FeatureSelection { features: BTreeSet::new(), ..selection.clone() }; self.members.len()];
        for feature in &selection.features {
            let mut known = false;
            for (member, selection) in self.members.iter().zip(&mut each) {
                if let Some(own) = member.feature(feature) {
                    selection.features.insert(own.to_owned());
                    known = true;
                }
            }
            if !known {
                return Err(self.unknown(feature));
            }
        }
        Ok(each)
    }

    fn unknown(&self, feature: &str) -> Problem {
        let (subject, has) = match self.members.as_slice() {
            [member] => (format!("`{}` has", member.name), "it has"),
            _ => ("the packages have".to_owned(), "they have"),
        };
        let names: BTreeSet<&str> =
            self.members.iter().flat_map(|member| member.features.iter().map(String::as_str)).collect();
        let problem = Problem::new(format!("{subject} no feature `{feature}`"));
        if names.is_empty() {
            return problem;
        }
        problem.help(format!("{has} `{}`", names.into_iter().collect::<Vec<_>>().join("`, `")))
    }
}

/// The `Cargo.toml` of the workspace above `folder` that includes it by `members` and does not `exclude` it, and the
/// folder relative to it, with `/`. The folder may not exist.
///
/// See <https://doc.rust-lang.org/cargo/reference/workspaces.html#the-members-and-exclude-fields>.
pub fn workspace_of(folder: &Path) -> Option<(PathBuf, String)> {
    let folder = clean(&std::path::absolute(folder).ok()?);
    folder.ancestors().skip(1).find_map(|above| {
        let manifest = above.join("Cargo.toml");
        let document = parse(&manifest).ok()?;
        let workspace = get(document.as_item(), &["workspace"])?;
        let inside = folder.strip_prefix(above).ok()?;
        let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::new() };
        let names = |pattern: &String| {
            let pattern = clean(Path::new(pattern));
            let pattern = glob::Pattern::new(&pattern.to_string_lossy());
            pattern.is_ok_and(|pattern| pattern.matches_path_with(inside, options))
        };
        let excludes = |path: &String| inside.starts_with(clean(Path::new(path)));
        let is_member = strings(get(workspace, &["members"])).iter().any(names)
            && !strings(get(workspace, &["exclude"])).iter().any(excludes);
        let shown = inside.display().to_string().replace('\\', "/");
        is_member.then_some((manifest, shown))
    })
}

impl Member {
    fn of(manifest: &CargoManifest) -> Self {
        let features = manifest.features.keys().cloned().collect();
        Self { name: manifest.name.clone(), dir: manifest.dir.clone(), features }
    }

    /// The name of a command-line feature in this package: `feature`, `package/feature`, or `dependency/feature`, which
    /// cargo checks. `None` if it is for another package.
    fn feature<'a>(&self, name: &'a str) -> Option<&'a str> {
        match name.split_once('/') {
            Some((package, feature)) if package == self.name => self.features.contains(feature).then_some(feature),
            Some(_) => Some(name),
            None => (name == "default" || self.features.contains(name)).then_some(name),
        }
    }
}

fn named(path: &Path) -> Result<PathBuf> {
    let path = clean(&std::path::absolute(path)?);
    if path.file_name().is_some_and(|name| name == "Cargo.toml") && path.is_file() {
        return Ok(path);
    }
    let problem = Problem::new(format!("`{}` is not the path of a `Cargo.toml`", path.display()));
    Err(if path.join("Cargo.toml").is_file() {
        problem.help(format!("write `{}`", path.join("Cargo.toml").display()))
    } else {
        problem
    }
    .into())
}

/// The nearest `Cargo.toml` upwards, as cargo finds it. Skips the vendored libraries, which belong to the project around
/// them and have no manifests of their own.
fn nearest(start: &Path) -> Result<PathBuf> {
    let start = clean(&std::path::absolute(start).unwrap_or_else(|_| start.to_path_buf()));
    let mut manifests = start.ancestors().map(|folder| folder.join("Cargo.toml")).filter(|manifest| manifest.is_file());
    let found = manifests.find(|manifest| !is_library(manifest));
    Ok(found.ok_or_else(|| {
        Problem::new("could not find `Cargo.toml` in this folder or any parent folder")
            .help("change to the folder of a crate, or pass `--manifest-path`")
    })?)
}

fn is_library(manifest: &Path) -> bool {
    let name = |document: Document<String>| get(document.as_item(), &["package", "name"])?.as_str().map(str::to_owned);
    parse(manifest).ok().and_then(name).is_some_and(|name| runtime::is_library(&name))
}

fn parse(manifest: &Path) -> Result<Document<String>> {
    manifest::parse(manifest, &Pending::default())
}

/// Returns the packages of a workspace, sorted by folder: the listed ones, its own, and path dependencies inside it.
///
/// While the package of `except` is being created, other listed members may not exist yet either; they are left out.
pub fn members(workspace: &Path, except: Option<&Path>) -> Result<Vec<Member>> {
    let document = parse(&workspace.join("Cargo.toml"))?;
    let root = document.as_item();
    let excluded = strings(get(root, &["workspace", "exclude"]));
    let mut excluded: Vec<PathBuf> = excluded.iter().map(|path| clean(&workspace.join(path))).collect();
    excluded.extend(except.map(Path::to_path_buf));
    let mut queue = expand(workspace, &strings(get(root, &["workspace", "members"])))?;
    if get(root, &["package"]).is_some() {
        queue.push(workspace.to_path_buf());
    }
    let mut found: BTreeMap<PathBuf, Member> = BTreeMap::new();
    while let Some(dir) = queue.pop() {
        if found.contains_key(&dir) || excluded.iter().any(|excluded| dir.starts_with(excluded)) {
            continue;
        }
        if except.is_some() && !dir.join("Cargo.toml").is_file() {
            continue;
        }
        let shown = relative(&dir.join("Cargo.toml"), workspace);
        let manifest = CargoManifest::read_unlocked(&dir, &shown.to_string_lossy())?;
        let dependencies = manifest.dependencies.values().chain(manifest.other_dependencies.values());
        queue.extend(
            dependencies
                .filter_map(|dependency| dependency.path.clone())
                .filter(|path| path.starts_with(workspace) && path.join("Cargo.toml").is_file()),
        );
        found.insert(dir, Member::of(&manifest));
    }
    Ok(found.into_values().collect())
}

fn expand(workspace: &Path, patterns: &[String]) -> Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for pattern in patterns {
        let prefix = glob::Pattern::escape(&workspace.to_string_lossy());
        let paths = glob::glob(&format!("{prefix}/{pattern}"))
            .with_context(|| format!("`{pattern}` in `workspace.members` is not a valid glob pattern"))?;
        let before = folders.len();
        for path in paths {
            let path = clean(&path?);
            // Like cargo, ignore files that a pattern matches.
            if path.is_dir() && (path.join("Cargo.toml").is_file() || !pattern.contains(['*', '?', '['])) {
                folders.push(path);
            }
        }
        if folders.len() == before && !pattern.contains(['*', '?', '[']) {
            folders.push(clean(&workspace.join(pattern)));
        }
    }
    Ok(folders)
}

fn choose(members: &mut Vec<Member>, names: &[String]) -> Result<(), Problem> {
    if let Some(unknown) = names.iter().find(|name| !members.iter().any(|member| member.name == **name)) {
        let known: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
        let problem = Problem::new(format!("package `{unknown}` not found in the workspace"));
        return Err(problem.help(format!("the packages are `{}`", known.join("`, `"))));
    }
    members.retain(|member| names.contains(&member.name));
    Ok(())
}
