//! Downloads missing sources of dependencies, as after a fresh clone. cargo needs seconds, and often the source then
//! decides without the compiler.

use std::collections::BTreeSet;

use super::EngineRequest;
use super::cargo::Cargo;
use super::reason::listed;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::source::SourceTree;

/// Downloads what the answers about `tree` need. Returns true if the queries must run again.
pub(super) fn missing(tree: &mut SourceTree, request: &EngineRequest, say: &mut dyn FnMut(&str)) -> bool {
    let missing = tree.lacking();
    if missing.is_empty() {
        return false;
    }
    // cargo reports a failure on the terminal. The compiler then decides, if the request allows it.
    say(&format!("running `cargo fetch`: {}", are_not_there(&missing)));
    let fetched = Cargo::new(tree.manifest(), request.quiet).is_ok_and(|cargo| cargo.fetch());
    if fetched {
        tree.look_again();
    }
    fetched
}

/// Merges the errors of all fields with missing types into one, because they have the same cause.
pub(super) fn as_one(found: Diagnostics, tree: &SourceTree) -> Diagnostics {
    let is_missing = |found: &&Diagnostic| found.code == Code::NotDownloaded;
    let missing: Vec<&Diagnostic> = found.iter().filter(is_missing).collect();
    let Some(first) = missing.first() else { return found };
    let kinds: BTreeSet<String> = missing.iter().flat_map(|found| &found.kinds).cloned().collect();
    let message = format!("{}: missing dependencies of `{}`", are_not_there(&tree.lacking()), tree.manifest().name);
    let mut one = Diagnostic::new(Code::NotDownloaded, message).at(first.origin.clone());
    one.kinds = kinds.into_iter().collect();
    let others = found.iter().filter(|found| !is_missing(found)).cloned();
    others.chain([one.help("run `cargo fetch`")]).collect()
}

fn are_not_there(packages: &[String]) -> String {
    format!("the sources of {} are not downloaded", listed(&packages.iter().map(String::as_str).collect()))
}
