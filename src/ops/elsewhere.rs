//! Workspace members that an operation has not read. They may contain the item that it did not find.

use crate::diagnostic::{Code, Diagnostic};
use crate::source::{CargoManifest, Packages};

/// Names of members that use kube and were not read.
pub(crate) struct Elsewhere(Vec<String>);

impl Elsewhere {
    /// Returns a note. `missing` is its beginning: the item that was not found.
    pub(crate) fn note(&self, missing: &str) -> Diagnostic {
        let (verb, were) = if self.0.len() == 1 { ("uses", "was") } else { ("use", "were") };
        let names = self.0.join("`, `");
        let message = format!("{missing}; in this workspace `{names}` {verb} kube and {were} not read");
        let help = format!("pass `-p {}`, or `--workspace` for all packages", self.0[0]);
        Diagnostic::new(Code::Elsewhere, message).help(help)
    }
}

/// Finds the members that use kube and were not read. Returns `None` if every one was read.
pub(crate) fn elsewhere(packages: &Packages) -> Option<Elsewhere> {
    let mut others = packages.unread().ok()?;
    others.retain(|member| CargoManifest::of(&member.dir).is_some_and(|manifest| uses_kube(&manifest)));
    let names: Vec<String> = others.into_iter().map(|member| member.name).collect();
    (!names.is_empty()).then_some(Elsewhere(names))
}

/// Returns true if the package depends on kube.
pub(crate) fn uses_kube(manifest: &CargoManifest) -> bool {
    ["kube", "kube-runtime", "kube-client"].iter().any(|name| manifest.dependency_on(name).next().is_some())
}
