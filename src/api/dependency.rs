//! The version gate: the answers of this program are those of the crates it links.

use std::path::PathBuf;
use std::rc::Rc;

use crate::diagnostic::{Code, Diagnostic};
use crate::schema::k8s::{FEATURE, VERSION};
use crate::schema::known;
use crate::source::{CargoManifest, Dependency, DependencyKind, ModuleId, SourceTree, crate_name};

/// The release of schemars that the schemas are those of.
const SCHEMARS: &str = "1.2.3";
/// The release of kube whose derive is reproduced.
const KUBE: u64 = 5;

/// Where the types of k8s-openapi are.
pub(super) enum K8s {
    /// The linked ones are those of the project.
    Linked,
    /// The modules of the Kubernetes version that the project uses.
    Source(Rc<PathBuf>),
    /// They can't be known, and why.
    Unknown(String),
}

/// The k8s-openapi that code in a module uses: its version there, and the feature that the project chooses.
pub(super) fn k8s(tree: &SourceTree, module: ModuleId) -> K8s {
    let (first, feature) = match tree.k8s_openapi(module) {
        Ok((_, _, true)) => return K8s::Linked,
        Ok((first, feature, false)) => (first, feature),
        Err(why) => return K8s::Unknown(why),
    };
    let Some(locked) = &first.locked else {
        return K8s::Unknown(format!(
            "without a `Cargo.lock` only the feature `{FEATURE}` of k8s-openapi {VERSION} is known"
        ));
    };
    if !first.registry {
        return K8s::Unknown("k8s-openapi does not come from a registry".to_owned());
    }
    match tree.generated_modules("k8s-openapi", locked, feature) {
        Some(dir) => K8s::Source(Rc::new(dir)),
        None => K8s::Unknown(format!("the sources of k8s-openapi {locked} with the feature `{feature}` are not there")),
    }
}

/// Whether the types of a crate may be read from its source: the impls for those of others are in schemars or linked.
pub(super) fn is_readable(krate: &str) -> bool {
    let linked = ["std", "serde", "serde_json", "schemars", "k8s_openapi", "kube", "kube_core"];
    !linked.contains(&krate) && known::FEATURES.iter().all(|(package, _)| *package != krate)
}

/// Why schemars has no schema for the types of a package, or not for the version of it that code in a module uses.
///
/// The lock file lists the package below schemars exactly when a feature that somebody asks for brings it.
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
                    Some(format!("schemars knows {package} {}, the project uses {used}", below[0]))
                }
                _ => None,
            }
        }
        None if asked => None,
        None => Some(format!("the feature `{feature}` of schemars is not asked for, and there is no `Cargo.lock`")),
    }
}

/// Why the derives of a project may answer differently from those reproduced here.
pub(super) fn gate(tree: &SourceTree) -> Option<Diagnostic> {
    // Packages that types come from derive nothing with kube, unless the project has it from one of them.
    let own = tree.manifest();
    let has_kube = KUBES.iter().any(|package| own.dependency_on(package).next().is_some());
    tree.manifests()
        .enumerate()
        .find_map(|(position, manifest)| differs(manifest, position == 0, position == 0 || !has_kube))
        .or_else(|| differs_unnamed(tree))
}

/// The packages of kube that a derive depends on.
const KUBES: [&str; 3] = ["kube", "kube-core", "kube-derive"];

/// schemars is no dependency of code that was read: it comes from another package.
fn differs_unnamed(tree: &SourceTree) -> Option<Diagnostic> {
    let named = tree.manifests().any(|manifest| manifest.dependency_on("schemars").next().is_some());
    let mut locked = tree.locked("schemars").into_iter().filter(|version| version.major == 1);
    let other = locked.find(|version| version.to_string() != SCHEMARS).filter(|_| !named)?;
    let message = format!("schemars is locked at {other}, but the schemas made here are those of schemars {SCHEMARS}");
    let help = format!("depend on schemars {SCHEMARS}, in `Cargo.lock` too");
    Some(Diagnostic::new(Code::DependencyVersion, message).at(tree.manifest().origin.clone()).help(help))
}

fn differs(manifest: &CargoManifest, own: bool, kube_too: bool) -> Option<Diagnostic> {
    let kube = format!("{KUBE}.0.0");
    let packages = [("schemars", true)].into_iter().chain(KUBES.map(|package| (package, false)));
    for (package, exact) in packages.filter(|(_, exact)| kube_too || *exact) {
        let known = if exact { SCHEMARS } else { &kube };
        for dependency in manifest.dependency_on(package).filter(|found| own || is_built(manifest, found)) {
            let why = match (&dependency.locked, &dependency.requirement) {
                (Some(locked), _) if exact && locked.to_string() != known => format!("is locked at {locked}"),
                (Some(locked), _) if !exact && locked.major != KUBE => format!("is locked at {locked}"),
                (Some(_), _) if !dependency.registry => "does not come from a registry".to_owned(),
                (None, Some(requirement)) if !dependency.admits(known) => format!("is asked for as `{requirement}`"),
                (None, None) => "has no version".to_owned(),
                _ => continue,
            };
            let reproduced = if exact { SCHEMARS.to_owned() } else { KUBE.to_string() };
            let message = format!("{package} {why}, but the schemas made here are those of {package} {reproduced}");
            let help = format!("depend on {package} {reproduced}, in `Cargo.lock` too");
            return Some(Diagnostic::new(Code::DependencyVersion, message).at(dependency.origin.clone()).help(help));
        }
    }
    // `preserve_order` is no matter, since keys are sorted when they are written.
    let digits = |dependency: &&Dependency| dependency.features.contains("arbitrary_precision");
    let json = manifest.dependency_on("serde_json").filter(|found| own || is_built(manifest, found)).find(digits)?;
    let message = "the feature `arbitrary_precision` of serde_json writes the numbers of defaults in another way";
    let help = "switch it off, or describe the resources with `--engine compiled`";
    Some(Diagnostic::new(Code::DependencyVersion, message).at(json.origin.clone()).help(help))
}

/// A dependency of a package that is not the project's own is part of the build: the lock file has it.
fn is_built(manifest: &CargoManifest, dependency: &Dependency) -> bool {
    dependency.kind == DependencyKind::Normal && (!manifest.has_lock || dependency.locked.is_some())
}
