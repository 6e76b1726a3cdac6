//! Members of a workspace that a command has not read, and that may have what it did not find.

use crate::source::{CargoManifest, Packages};

/// Those that use kube, in a sentence.
pub(super) fn elsewhere(packages: &Packages) -> Option<String> {
    let mut others = packages.unread().ok()?;
    others.retain(|member| CargoManifest::of(&member.dir).is_some_and(|manifest| uses_kube(&manifest)));
    let names: Vec<&str> = others.iter().map(|member| member.name.as_str()).collect();
    let [first, ..] = names.as_slice() else { return None };
    let (verb, were) = if names.len() == 1 { ("uses", "was") } else { ("use", "were") };
    Some(format!(
        "in this workspace `{}` {verb} kube and {were} not read: pass `-p {first}`, or `--workspace` for all",
        names.join("`, `")
    ))
}

/// Whether a package is built on kube.
pub(super) fn uses_kube(manifest: &CargoManifest) -> bool {
    ["kube", "kube-runtime", "kube-client"].iter().any(|name| manifest.dependency_on(name).next().is_some())
}
