//! The version gate: the releases of kube and schemars that a project uses, and a check that their answers are known here.

use std::path::PathBuf;
use std::rc::Rc;

use semver::Version;

use crate::diagnostic::{Code, Diagnostic};
use crate::k8s;
use crate::schema::k8s::{FEATURE, VERSION};
use crate::schema::known;
use crate::schema::release::{NEWEST, OLDEST, ReleasedPackage, Releases};
use crate::source::{CargoManifest, Dependency, DependencyKind, ModuleId, SourceTree, Unread, crate_name};

/// The source of the types of k8s-openapi.
pub(super) enum K8s {
    /// The project uses the version that is linked here.
    Linked,
    /// The modules of the Kubernetes version that the project uses.
    Source(Rc<PathBuf>),
    /// Unknown, and why.
    Unknown(String),
    /// The sources of the types are not read.
    Unread(Unread),
}

/// The k8s-openapi that code in a module uses: its version there, and the feature that the project chooses.
pub(super) fn k8s(tree: &SourceTree, module: ModuleId) -> K8s {
    let (first, feature) = match k8s::openapi(tree, module) {
        Ok((_, _, true)) => return K8s::Linked,
        Ok((first, feature, false)) => (first, feature),
        Err(why) => return K8s::Unknown(why),
    };
    let Some(locked) = &first.locked else {
        let why =
            if tree.manifest().has_lock { "`Cargo.lock` has no k8s-openapi, so" } else { "without a `Cargo.lock`" };
        return K8s::Unknown(format!("{why} only the feature `{FEATURE}` of k8s-openapi {VERSION} is known"));
    };
    if !first.registry {
        return K8s::Unknown("k8s-openapi does not come from a registry".to_owned());
    }
    match k8s::modules(tree, locked, feature) {
        Ok(dir) => K8s::Source(Rc::new(dir)),
        Err(why) => K8s::Unread(why),
    }
}

/// Returns true if the types of a crate may be read from its source. The impls for types of the other crates are in
/// schemars or linked.
pub(super) fn is_readable(krate: &str) -> bool {
    let linked = ["std", "serde", "serde_json", "schemars", "k8s_openapi", "kube", "kube_core"];
    !linked.contains(&krate) && known::FEATURES.iter().all(|(package, _)| *package != krate)
}

/// Returns the reason why schemars has no schema for the types of a package, or for the version of it that a module uses.
///
/// The lock file lists the package as a dependency of schemars if and only if an enabled feature adds it.
pub(super) fn schemars_feature(tree: &SourceTree, module: ModuleId, package: &str) -> Option<String> {
    let (_, feature) = known::FEATURES.iter().find(|(of, _)| *of == package)?;
    let named = |manifest: &CargoManifest| {
        let all = manifest.dependencies.values();
        all.filter(|dependency| crate_name(&dependency.package) == package).find_map(|found| found.locked.clone())
    };
    let schemars = || tree.manifests().flat_map(|manifest| manifest.dependency_on("schemars"));
    let asked = schemars().any(|schemars| schemars.features.iter().any(|name| name == feature));
    match schemars().find_map(|schemars| schemars.locked.clone()) {
        Some(schemars) => {
            let below = tree.locked_below("schemars", &schemars, package);
            match (below.as_slice(), named(tree.manifest_of(module))) {
                ([], _) => Some(format!("the feature `{feature}` of schemars is off")),
                (below, Some(used)) if !below.contains(&used) => {
                    Some(format!("schemars supports {package} {}, but the project uses {used}", below[0]))
                }
                _ => None,
            }
        }
        None if asked => None,
        None => {
            let lock = if tree.manifest().has_lock { "`Cargo.lock` has no schemars" } else { "`Cargo.lock` not found" };
            Some(format!("the feature `{feature}` of schemars is not enabled, and {lock}"))
        }
    }
}

/// The packages of kube that a derive depends on.
const KUBES: [&str; 3] = ["kube", "kube-core", "kube-derive"];

/// The oldest and the newest known release of a package; `kube` has the releases of `kube-core`.
fn known_releases(package: &str) -> (Version, Version) {
    let package = if package == "kube" { "kube-core" } else { package };
    let find = |table: &[(ReleasedPackage, Version)]| {
        let row = table.iter().find(|(of, _)| of.name() == package);
        row.map_or(Version::new(0, 0, 0), |(_, version)| version.clone())
    };
    (find(&OLDEST), find(&NEWEST))
}

/// The release of a package that the derives of a project come from, if the lock file has it.
fn locked(tree: &SourceTree, package: &str) -> Option<Version> {
    let named = |package: &str| {
        let mut all = tree.manifests().flat_map(|manifest| manifest.dependency_on(package));
        all.find_map(|dependency| dependency.locked.clone())
    };
    let below_kube = || tree.locked_below("kube", &named("kube")?, &crate_name(package)).into_iter().next();
    // Code may have schemars from another package; there is one of each major.
    let any = || tree.locked(package).into_iter().find(|version| version.major == 1);
    named(package).or_else(below_kube).or_else(|| (package == "schemars").then(any).flatten())
}

/// The releases in the lock file of a project, or the newest ones without a lock file.
pub(super) fn releases(tree: &SourceTree) -> Releases {
    let [core, derive, schemars] = [ReleasedPackage::KubeCore, ReleasedPackage::KubeDerive, ReleasedPackage::Schemars]
        .map(|package| locked(tree, package.name()));
    Releases::of(|package| match package {
        ReleasedPackage::KubeCore => core.clone(),
        ReleasedPackage::KubeDerive => derive.clone(),
        ReleasedPackage::Schemars => schemars.clone(),
    })
}

/// Returns an error if the derives of a project may produce other results than the derives reproduced here.
pub(super) fn gate(tree: &SourceTree) -> Option<Diagnostic> {
    // Packages that only provide types do not derive with kube, unless the project gets kube from one of them.
    let own = tree.manifest();
    if !own.has_lock {
        let message = "without a `Cargo.lock` the releases of kube and schemars are unknown";
        let help = "run `cargo generate-lockfile`";
        return Some(Diagnostic::new(Code::NoLock, message).at(own.origin.clone()).help(help));
    }
    let has_kube = KUBES.iter().any(|package| own.dependency_on(package).next().is_some());
    tree.manifests()
        .enumerate()
        .find_map(|(position, manifest)| differs(manifest, position == 0, position == 0 || !has_kube))
        .or_else(|| new_releases(tree).first().map(|(package, version)| unknown(tree, package, version)))
}

/// The releases of a project that are newer than the known ones and not listed as verified.
pub fn new_releases(tree: &SourceTree) -> Vec<(&'static str, Version)> {
    let kubernetes = Version::parse(VERSION).map_or(0, |version| version.minor);
    let all = ["schemars", "kube", "kube-core", "kube-derive", "k8s-openapi"].into_iter().filter_map(|package| {
        let version = locked(tree, package)?;
        let new = match package {
            // The types of k8s-openapi are read from its source, so the patch release does not matter.
            "k8s-openapi" => version.major > 0 || version.minor > kubernetes,
            _ => version > known_releases(package).1,
        };
        (new && !tree.manifest().verified.contains(&format!("{package} {version}"))).then_some((package, version))
    });
    all.collect()
}

fn unknown(tree: &SourceTree, package: &str, version: &Version) -> Diagnostic {
    let message = format!("{package} {version} is newer than this program and may generate other CRDs");
    let help = "run `memcached-sdk generate --verify`, which compiles once, compares, and records that they are equal";
    Diagnostic::new(Code::NewRelease, message).at(tree.manifest().origin.clone()).help(help)
}

fn differs(manifest: &CargoManifest, own: bool, kube_too: bool) -> Option<Diagnostic> {
    let packages = ["schemars"].into_iter().chain(KUBES.into_iter().filter(|_| kube_too));
    let mut absent = None;
    for package in packages {
        let oldest = known_releases(package).0;
        for dependency in manifest.dependency_on(package).filter(|found| own || is_built(manifest, found)) {
            let (message, help) = match &dependency.locked {
                Some(locked) if *locked < oldest => (
                    format!("{package} is locked at {locked}, whose CRDs only the compiler can generate"),
                    format!("move to {package} {oldest} or newer, or describe the resources with `--engine compiled`"),
                ),
                Some(_) if !dependency.registry => (
                    format!("{package} does not come from a registry, so its code is unknown"),
                    "describe the resources with `--engine compiled`".to_owned(),
                ),
                // Another table of dependencies is not part of a build.
                None if dependency.kind == DependencyKind::Normal && !dependency.optional => {
                    let message = format!("`Cargo.lock` has no {package}, which `Cargo.toml` asks for");
                    let help = "run `cargo update --workspace`, which brings it up to date";
                    let diagnostic = Diagnostic::new(Code::NoLock, message).at(dependency.origin.clone());
                    absent.get_or_insert(diagnostic.help(help));
                    continue;
                }
                _ => continue,
            };
            let diagnostic = Diagnostic::new(Code::DependencyVersion, message).at(dependency.origin.clone());
            return Some(diagnostic.help(help));
        }
    }
    if absent.is_some() {
        return absent;
    }
    // `preserve_order` does not matter, because keys are sorted when they are written.
    let digits = |dependency: &&Dependency| dependency.features.contains("arbitrary_precision");
    let json = manifest.dependency_on("serde_json").filter(|found| own || is_built(manifest, found)).find(digits)?;
    let message = "the feature `arbitrary_precision` of serde_json changes how numbers of defaults are written";
    let help = "disable it, or describe the resources with `--engine compiled`";
    Some(Diagnostic::new(Code::DependencyVersion, message).at(json.origin.clone()).help(help))
}

/// Returns true if a dependency of a foreign package is part of the build: the lock file has it.
fn is_built(manifest: &CargoManifest, dependency: &Dependency) -> bool {
    dependency.kind == DependencyKind::Normal && (!manifest.has_lock || dependency.locked.is_some())
}
