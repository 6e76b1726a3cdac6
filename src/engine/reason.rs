//! The reason to run the compiler, or not to run it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::api;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Severity};
use crate::source::SourceTree;

const SHOWN: usize = 5;

/// Returns true if the source does not decide and the compiler may. False for errors that the compiler also reports.
pub(crate) fn is_for_the_compiler(found: &Diagnostics) -> bool {
    surely_wrong(found).next().is_none() && errors(found).any(|error| !is_contradiction(error))
}

/// Returns true for findings that may be caused by a rejected version.
pub(super) fn is_contradiction(diagnostic: &Diagnostic) -> bool {
    matches!(diagnostic.code, Code::StorageVersion | Code::VersionConflict)
}

/// Findings that the compiler also reports.
fn surely_wrong(found: &Diagnostics) -> impl Iterator<Item = &Diagnostic> {
    found.iter().filter(|diagnostic| match diagnostic.code {
        Code::Syntax | Code::MissingModule | Code::DuplicateResource | Code::SchemaSize => true,
        Code::NotStructural | Code::RecursiveType | Code::SerdeAttribute => knows_the_derives(found, diagnostic),
        _ => false,
    })
}

/// Returns false for kinds of an unknown release, whose derives may behave differently.
fn knows_the_derives(found: &Diagnostics, of: &Diagnostic) -> bool {
    let mut releases = found
        .iter()
        .filter(|diagnostic| matches!(diagnostic.code, Code::DependencyVersion | Code::NewRelease | Code::NoLock));
    !releases.any(|release| release.kinds.is_empty() || release.kinds.iter().any(|kind| of.kinds.contains(kind)))
}

/// Returns true if the package uses unknown releases, so that nothing read from it is certain.
pub(super) fn is_of_another_release(found: &Diagnostics) -> bool {
    let codes = [Code::DependencyVersion, Code::NoLock];
    found.iter().any(|diagnostic| codes.contains(&diagnostic.code) && diagnostic.kinds.is_empty())
}

pub(super) fn errors(found: &Diagnostics) -> impl Iterator<Item = &Diagnostic> {
    found.iter().filter(|diagnostic| diagnostic.code.severity() == Severity::Error)
}

/// The fix that is required before the compiler can check the rest.
pub(super) fn why_nothing_is_compiled(refused: &Diagnostics, package: &str) -> Option<String> {
    let wrong = surely_wrong(refused).next()?;
    let more = surely_wrong(refused).count() < errors(refused).count();
    let text = || format!("`{package}` is not compiled until this is fixed: {}", line(wrong));
    more.then(text)
}

pub(super) fn first_time(tree: &SourceTree) -> String {
    format!("compiling `{}`; the first time may take minutes", tree.manifest().name)
}

pub(super) fn explain(refused: &Diagnostics, tree: &SourceTree) -> String {
    let all: BTreeSet<String> = api::names(tree).into_keys().filter(|name| tree.choice().takes(name)).collect();
    reasons(refused, &tree.manifest().name, all.len())
}

fn reasons(refused: &Diagnostics, package: &str, all: usize) -> String {
    let count = errors(refused).count();
    let kinds: BTreeSet<&str> = errors(refused).flat_map(|error| &error.kinds).map(String::as_str).collect();
    let what = if kinds.len() < all && errors(refused).all(|error| !error.kinds.is_empty()) {
        let need = if kinds.len() == 1 { "needs" } else { "need" };
        format!("{} of {all} kinds {need} the compiler, {}", kinds.len(), listed(&kinds))
    } else if count == 1 {
        "1 finding needs the compiler".to_owned()
    } else {
        format!("{count} findings need the compiler")
    };
    let mut text = format!("compiling `{package}`: {what}:\n");
    for error in errors(refused).take(SHOWN) {
        let _ = writeln!(text, "  {}", line(error));
    }
    if count > SHOWN {
        let _ = writeln!(text, "  and {} more", count - SHOWN);
    }
    let lock = errors(refused).find(|error| error.code == Code::NoLock).and_then(|error| error.help.as_ref());
    if let Some(help) = lock.filter(|_| count == 1) {
        let _ = writeln!(text, "  {help}, and the source may be sufficient");
    }
    text + "the first time may take minutes; `--engine static` fails instead"
}

/// Names in a sentence; truncates a long list.
pub(crate) fn listed(names: &BTreeSet<&str>) -> String {
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    let more = names.len() - shown.len();
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}

fn line(diagnostic: &Diagnostic) -> String {
    let place = diagnostic.origin.as_ref().map_or_else(String::new, |origin| {
        let (line, column) = origin.line_column();
        format!("{}:{line}:{column}: ", origin.path)
    });
    format!("{place}{} [{}]", diagnostic.message, diagnostic.code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_is_asked_only_for_what_it_may_know() {
        for (codes, expected) in [
            (vec![], false),
            (vec![Code::ForeignType], true),
            (vec![Code::UnusualVersion], false),
            (vec![Code::ForeignType, Code::Syntax], false),
            (vec![Code::ForeignType, Code::NotStructural], false),
            (vec![Code::DependencyVersion, Code::NotStructural], true),
            (vec![Code::DependencyVersion, Code::MissingModule], false),
            (vec![Code::StorageVersion], false),
            (vec![Code::StorageVersion, Code::DefaultValue], true),
        ] {
            let found: Diagnostics = codes.iter().map(|code| Diagnostic::new(*code, "m")).collect();
            assert_eq!(is_for_the_compiler(&found), expected, "{codes:?}");
        }
    }

    #[test]
    fn the_release_of_one_kind_says_nothing_of_others() {
        let about = |code, kind: &str| Diagnostic::new(code, "m").about(kind.to_owned());
        for (kind, expected) in [("A.x", true), ("B.x", false)] {
            let found = [about(Code::DependencyVersion, "A.x"), about(Code::NotStructural, kind)];
            assert_eq!(is_for_the_compiler(&found.into_iter().collect()), expected, "{kind}");
        }
    }

    #[test]
    fn many_reasons_are_not_all_told() {
        let reason = |number: u8| Diagnostic::new(Code::ForeignType, format!("reason {number}"));
        let text = reasons(&(1..=7).map(reason).collect(), "demo", 7);
        assert!(text.starts_with("compiling `demo`: 7 findings need the compiler:\n  reason 1 [foreign-type]\n"));
        assert!(text.contains("\n  reason 5 [foreign-type]\n  and 2 more\nthe first time"), "{text}");
    }

    #[test]
    fn a_few_kinds_of_many_are_named() {
        let reason = |number: u8| Diagnostic::new(Code::ForeignType, "m").about(format!("K{}.x", number % 6));
        let begin = |count: u8, all| {
            let text = reasons(&(1..=count).map(reason).collect(), "demo", all);
            text.lines().next().unwrap_or_default().to_owned()
        };
        assert_eq!(begin(1, 2), "compiling `demo`: 1 of 2 kinds needs the compiler, `K1.x`:");
        assert_eq!(begin(1, 1), "compiling `demo`: 1 finding needs the compiler:");
        let six = "`K0.x`, `K1.x`, `K2.x`, `K3.x`, `K4.x` and 1 more";
        assert_eq!(begin(7, 9), format!("compiling `demo`: 6 of 9 kinds need the compiler, {six}:"));
    }
}
