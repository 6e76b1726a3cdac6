//! The version gate: the answers of this program are those of the crates it links.

use crate::diagnostic::{Code, Diagnostic};
use crate::schema::k8s::{CRATE_VERSION, FEATURE};
use crate::source::CargoManifest;

pub(super) use crate::schema::k8s::{CRATE_VERSION as K8S_VERSION, FEATURE as K8S_FEATURE};

/// The release of schemars that the schemas are those of.
const SCHEMARS: &str = "1.2.3";
/// The release of kube whose derive is reproduced.
const KUBE: u64 = 5;

/// Whether the linked types of k8s-openapi are those of a project.
pub(super) enum K8s {
    Same,
    Differs(String),
}

/// Compares the k8s-openapi of a project with the linked one.
pub(super) fn k8s(manifest: &CargoManifest) -> K8s {
    let mut features = Vec::new();
    for dependency in manifest.dependency_on("k8s-openapi") {
        if let Some(locked) = &dependency.locked {
            let release = format!("{}.{}", locked.major, locked.minor);
            if release != CRATE_VERSION {
                return K8s::Differs(format!("k8s-openapi is locked at {locked}, this program knows {CRATE_VERSION}"));
            }
        } else if let Some(requirement) = &dependency.requirement
            && !admits(requirement, &format!("{CRATE_VERSION}.0"))
        {
            return K8s::Differs(format!(
                "the project asks for k8s-openapi {requirement}, this program knows {CRATE_VERSION}"
            ));
        }
        features.extend(dependency.features.iter().filter(|name| name.starts_with("v1_") || *name == "latest"));
    }
    match features.as_slice() {
        [] => K8s::Differs("no feature of k8s-openapi says which version of Kubernetes".to_owned()),
        names if names.iter().all(|name| *name == FEATURE) => K8s::Same,
        names => K8s::Differs(format!("the project uses the feature `{}`, this program knows `{FEATURE}`", names[0])),
    }
}

/// Why the derives of a project may answer differently from those reproduced here.
pub(super) fn gate(manifest: &CargoManifest) -> Option<Diagnostic> {
    let kube = format!("{KUBE}.0.0");
    let packages = [("schemars", true), ("kube", false), ("kube-core", false), ("kube-derive", false)];
    for (package, exact) in packages {
        let known = if exact { SCHEMARS } else { &kube };
        for dependency in manifest.dependency_on(package) {
            let why = match (&dependency.locked, &dependency.requirement) {
                (Some(locked), _) if exact && locked.to_string() != known => format!("is locked at {locked}"),
                (Some(locked), _) if !exact && locked.major != KUBE => format!("is locked at {locked}"),
                (None, Some(requirement)) if !admits(requirement, known) => format!("is asked for as `{requirement}`"),
                (None, None) => "has no version".to_owned(),
                _ => continue,
            };
            let reproduced = if exact { SCHEMARS.to_owned() } else { KUBE.to_string() };
            let message = format!("{package} {why}, but the schemas made here are those of {package} {reproduced}");
            let help = format!("depend on {package} {reproduced}, in `Cargo.lock` too");
            return Some(Diagnostic::new(Code::DependencyVersion, message).at(dependency.origin.clone()).help(help));
        }
    }
    None
}

fn admits(requirement: &str, version: &str) -> bool {
    match (semver::VersionReq::parse(requirement), semver::Version::parse(version)) {
        (Ok(requirement), Ok(version)) => requirement.matches(&version),
        _ => false,
    }
}
