//! The helper crate: depends on the user's library and calls `crd()` of its public types.

use std::io;
use std::process::ExitStatus;

use super::cargo::{Cargo, Program};
use super::dump;
use super::kinds::CompiledType;
use super::manifest::{EngineManifests, JSON, SUBJECT, helper_name, identifier, lock};
use crate::diagnostic::Diagnostic;
use crate::source::{CargoManifest, FeatureSelection};

/// Returns true if the helper can name all kinds.
pub(super) fn will_do(manifest: &CargoManifest, features: &FeatureSelection, kinds: &[CompiledType]) -> bool {
    // A helper cannot enable a feature of a dependency.
    let features = features.features.iter().all(|name| !name.contains('/'));
    let named = |kind: &CompiledType| shared(&kind.core).is_none_or(|name| manifest.dependencies.contains_key(name));
    features && kinds.iter().all(|kind| kind.public && named(kind))
}

/// The dependency at the start of a path; `None` for the crate itself.
fn shared(path: &str) -> Option<&str> {
    let first = path.trim_start_matches("::").split("::").next().unwrap_or_default().trim();
    (first != "crate").then_some(first)
}

pub(super) fn ask(
    cargo: &Cargo<'_>,
    manifest: &CargoManifest,
    features: &FeatureSelection,
    kinds: &[CompiledType],
) -> Result<(String, ExitStatus), Diagnostic> {
    let scratch = cargo.scratch()?;
    let manifests = EngineManifests::read(manifest).map_err(|error| Diagnostic::from(&error))?;
    let mut dependencies: Vec<&str> = kinds.iter().filter_map(|kind| shared(&kind.core)).collect();
    dependencies.sort_unstable();
    dependencies.dedup();
    let known: Vec<String> = manifest.features.keys().cloned().collect();
    let write = || -> io::Result<()> {
        let member = scratch.member("crdgen");
        scratch.write("helper/Cargo.toml", &manifests.workspace(&member))?;
        if let Some(lock) = lock(manifest) {
            scratch.write("helper/Cargo.lock", &lock)?;
        }
        let helper = manifests.helper(&manifest.name, features, &known, &dependencies);
        scratch.write(&format!("helper/{member}/Cargo.toml"), &helper)?;
        scratch.write(&format!("helper/{member}/src/main.rs"), &main(kinds))
    };
    write().map_err(|error| cargo.unwritable(&error))?;
    let name = helper_name(&manifest.name);
    let workspace = scratch.path("helper");
    cargo.run(&Program {
        workspace: &workspace,
        package: &name,
        binary: &name,
        features: &FeatureSelection::default(),
        flags: &[],
    })
}

fn main(kinds: &[CompiledType]) -> String {
    let types: Vec<(&str, String)> = kinds.iter().map(|kind| (kind.path.as_str(), crd(kind))).collect();
    let json = format!("::{JSON}");
    dump::ask("", &json, &types, &[]) + &dump::main(dump::ASK, &json)
}

fn crd(kind: &CompiledType) -> String {
    let path: Vec<String> = kind.path.split("::").map(|name| identifier(name.trim())).collect();
    let core = match shared(&kind.core) {
        Some(_) => format!("::{}", kind.core.trim_start_matches("::")),
        None => format!("::{SUBJECT}{}", kind.core.trim_start_matches("crate")),
    };
    format!("<::{SUBJECT}::{} as {core}::CustomResourceExt>::crd()", path.join("::"))
}
