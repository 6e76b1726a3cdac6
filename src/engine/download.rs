//! Sources of dependencies that are not on this machine, as after a fresh clone: cargo downloads them in seconds, after which
//! there is often nothing left to ask the compiler.

use std::collections::BTreeSet;

use super::Request;
use super::cargo::Cargo;
use super::reason::listed;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::source::SourceTree;

/// Downloads what answers about `tree` depend on; true if it is to be asked again.
pub(super) fn missing(tree: &mut SourceTree, request: &Request, say: &mut dyn FnMut(&str)) -> bool {
    let missing = tree.lacking();
    if missing.is_empty() {
        return false;
    }
    say(&format!("running `cargo fetch`: {}", are_not_there(&missing)));
    // What cargo says when that fails is on the terminal, and the compiler is asked, or nobody.
    let fetched = Cargo::new(tree.manifest(), request.quiet).is_ok_and(|cargo| cargo.fetch());
    if fetched {
        tree.look_again();
    }
    fetched
}

/// One error in the place of one for each field that has such a type: they have one reason.
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
