//! Loads a package and its path dependencies, as far as they are needed at first.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::cfg::CfgSet;
use super::choice::SourceChoice;
use super::ecosystem::Ecosystem;
use super::files::Pending;
use super::ident::crate_name;
use super::loader::Loader;
use super::lock::LockFile;
use super::manifest::{CargoManifest, Dependency, FeatureSelection};
use super::package::{Package, PackageId};
use super::resolve::Scopes;
use super::sources::{Sources, index};
use super::tree::SourceTree;
use super::{file, outline};
use crate::diagnostic::Diagnostics;

impl SourceTree {
    /// Loads all files of the package in `dir` with its default features.
    ///
    /// # Errors
    ///
    /// Fails if `dir` has no `Cargo.toml`, or no package in it.
    pub fn load(ecosystem: &'static Ecosystem, dir: &Path) -> anyhow::Result<(Self, Diagnostics)> {
        Self::read(ecosystem, dir, dir, &FeatureSelection::default(), &Pending::default(), false)
    }

    /// Loads the package in `dir` with a feature selection and with files that are not written yet. Shows paths
    /// relative to `root`.
    ///
    /// Reads only the outline of files that can't use the derive of the ecosystem. [`Self::settle`] reads the rest on
    /// demand.
    pub fn load_below(
        ecosystem: &'static Ecosystem,
        root: &Path,
        dir: &Path,
        selection: &FeatureSelection,
        pending: &Pending,
    ) -> anyhow::Result<(Self, Diagnostics)> {
        Self::read(ecosystem, root, dir, selection, pending, true)
    }

    fn read(
        ecosystem: &'static Ecosystem,
        root: &Path,
        dir: &Path,
        selection: &FeatureSelection,
        pending: &Pending,
        outlines: bool,
    ) -> anyhow::Result<(Self, Diagnostics)> {
        let mut sources = Sources::new(ecosystem);
        let mut loader = Loader::new(&mut sources, root, pending, outlines);
        let manifests = manifests_of(root, dir, selection, pending, Features::Certain, None)?;
        let possible = match manifests.as_slice() {
            [own, _, ..] => manifests_of(root, dir, selection, pending, Features::Possible, own.lock.as_ref())?,
            _ => Vec::new(),
        };
        for (position, manifest) in manifests.into_iter().enumerate() {
            let package = PackageId(index(loader.sources.packages.len()));
            let features = manifest.active_features.clone();
            let possible = possible.iter().find(|possible| possible.dir == manifest.dir);
            let maybe = possible.into_iter().flat_map(|possible| possible.active_features.difference(&features));
            let cfg = CfgSet { maybe: maybe.cloned().collect(), features };
            let targets = manifest.targets.clone();
            let own = position == 0;
            loader.sources.packages.push(Package { manifest, cfg, lib: None, own, fetched: false });
            for target in targets {
                let features = &loader.sources[package].manifest.active_features;
                let wanted = target.required_features.iter().all(|feature| features.contains(feature));
                if (target.lib || own) && wanted {
                    loader.target(package, target.name, target.lib, &target.root);
                }
            }
        }
        let mut diagnostics = loader.diagnostics;
        let (derive, manifest) = (&ecosystem.derive, &sources.packages[0].manifest);
        let deriving = manifest.lock.as_ref().map(|lock| lock.built_with(derive.packages)).unwrap_or_default();
        let expands = |found: &Dependency| {
            !found.package.starts_with(derive.family) && deriving.contains(&crate_name(&found.package))
        };
        let mut names = sources.word_index().names(derive.name);
        let others = || sources.packages.iter().filter(|package| !package.own);
        let mut registry = others().flat_map(|package| package.manifest.dependencies.values());
        let hides = registry.any(|found| found.path.is_none() && expands(found))
            || sources.files_of_others().any(|file| outline::may_define(&file.text, derive, &names));
        // A macro of a dependency may expand to the derive. For a path dependency, its text decides.
        let dependencies = manifest.dependencies.iter();
        let expanding = dependencies.filter(|(_, found)| expands(found) && (hides || found.path.is_none()));
        names.extend(expanding.map(|(name, _)| name.clone()));
        sources
            .request_files(|file| outline::may_derive(&file.text, derive, &names) || outline::may_include(&file.text));
        let mut tree = Self {
            sources,
            scopes: Scopes::default(),
            impls: OnceCell::new(),
            only: Vec::new(),
            choice: SourceChoice::default(),
            deriving,
        };
        diagnostics.extend(tree.read_requested());
        Ok((tree, diagnostics))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Features {
    /// Features that are on for every platform and in every build.
    Certain,
    /// Features that are on for one platform or in a test build. Some versions of cargo's resolver switch them on
    /// everywhere.
    Possible,
}

/// The package in `dir` and its transitive path dependencies, with the features that cargo would unify.
fn manifests_of(
    root: &Path,
    dir: &Path,
    selection: &FeatureSelection,
    pending: &Pending,
    which: Features,
    lock: Option<&Rc<LockFile>>,
) -> anyhow::Result<Vec<CargoManifest>> {
    let shown = |dir: &Path| {
        file::relative(&file::clean(&dir.join("Cargo.toml")), &file::clean(root)).to_string_lossy().into_owned()
    };
    let provide = |mut manifest: CargoManifest| {
        for dependency in manifest.dependencies.values_mut().filter(|dependency| dependency.path.is_none()) {
            dependency.path = pending.provided(&dependency.package).cloned();
        }
        manifest
    };
    let own = provide(CargoManifest::read(dir, &shown(dir), selection, pending, lock)?);
    let mut wanted: BTreeMap<PathBuf, FeatureSelection> = BTreeMap::new();
    let mut read: BTreeMap<PathBuf, CargoManifest> = BTreeMap::new();
    let mut order = Vec::new();
    let mut queue = vec![own.clone()];
    while let Some(manifest) = queue.pop() {
        let normal = manifest.dependencies.iter().filter(|(name, found)| manifest.is_active(name, found));
        let other = manifest.other_dependencies.values().filter(|_| which == Features::Possible && own.old_resolver);
        for dependency in normal.map(|(_, dependency)| dependency).chain(other) {
            let Some(path) = dependency.path.as_ref().filter(|path| path.as_path() != dir) else { continue };
            let default = FeatureSelection { no_default: true, ..FeatureSelection::default() };
            let mut selection = wanted.get(path).cloned().unwrap_or(default);
            let (default_features, features) = match which {
                Features::Certain => (dependency.certain_default, &dependency.certain),
                Features::Possible => (dependency.default_features, &dependency.features),
            };
            selection.no_default &= !default_features;
            selection.features.extend(features.iter().cloned());
            if wanted.get(path) == Some(&selection) {
                continue;
            }
            if let Ok(manifest) =
                CargoManifest::read(path, &shown(path), &selection, pending, own.lock.as_ref()).map(provide)
            {
                if read.insert(path.clone(), manifest.clone()).is_none() {
                    order.push(path.clone());
                }
                queue.push(manifest);
            }
            wanted.insert(path.clone(), selection);
        }
    }
    Ok(std::iter::once(own).chain(order.iter().filter_map(|path| read.remove(path))).collect())
}
