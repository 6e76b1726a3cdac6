//! The version gate: the answers of this program are those of the crates it links.

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
pub(super) fn gate(manifest: &CargoManifest) -> Option<String> {
    for dependency in manifest.dependency_on("schemars") {
        match (&dependency.locked, &dependency.requirement) {
            (Some(locked), _) if locked.to_string() != SCHEMARS => {
                return Some(format!("schemars is locked at {locked}, this program reproduces {SCHEMARS}"));
            }
            (None, Some(requirement)) if !admits(requirement, SCHEMARS) => {
                return Some(format!(
                    "the project asks for schemars {requirement}, this program reproduces {SCHEMARS}"
                ));
            }
            _ => {}
        }
    }
    for dependency in manifest.dependency_on("kube") {
        match (&dependency.locked, &dependency.requirement) {
            (Some(locked), _) if locked.major != KUBE => {
                return Some(format!("kube is locked at {locked}, this program reproduces kube {KUBE}"));
            }
            (None, Some(requirement)) if !admits(requirement, &format!("{KUBE}.0.0")) => {
                return Some(format!("the project asks for kube {requirement}, this program reproduces kube {KUBE}"));
            }
            _ => {}
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
