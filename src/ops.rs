//! The work behind commands, without clap and without a terminal. An operation takes a struct of options, and returns a value
//! with findings. The command in [`crate::command`] maps its arguments, calls the operation and reports.

pub(crate) mod adopt;
pub(crate) mod bundle;
pub(crate) mod catalog;
pub(crate) mod choice;
pub(crate) mod compare;
mod copied;
pub(crate) mod crd_place;
pub(crate) mod create_api;
pub(crate) mod create_webhook;
pub(crate) mod delete;
pub(crate) mod doctor;
pub(crate) mod edit;
pub(crate) mod elsewhere;
pub(crate) mod envtest;
pub(crate) mod existing;
pub(crate) mod explore;
pub(crate) mod external;
pub(crate) mod fetch;
pub(crate) mod from_crd;
pub(crate) mod from_go;
pub(crate) mod generate;
pub(crate) mod git;
pub(crate) mod helm;
pub(crate) mod init;
pub(crate) mod installer;
mod kind_source;
mod known;
pub(crate) mod manifests;
pub(crate) mod migrate;
mod moves;
pub(crate) mod rbac;
pub(crate) mod rename;
pub(crate) mod render;
mod rendered;
mod replay;
mod toolchain;
pub(crate) mod undo;
pub(crate) mod update;

use std::path::Path;

use anyhow::Result;

use crate::diagnostic::{Diagnostics, Problem};
use crate::plan::RelPath;
use crate::source::SourceTree;

/// The version of this program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Returns the text of a folder for messages. The folder `.` has no name.
pub(crate) fn shown_folder(path: &Path) -> String {
    if path.as_os_str().is_empty() { ".".to_owned() } else { path.display().to_string() }
}

/// The files at or below places of a project. A missing place has no files.
fn files_in<'a>(root: &'a Path, places: &'a [&str]) -> impl Iterator<Item = Result<RelPath>> + 'a {
    let entries = places.iter().map(|place| root.join(place)).filter(|place| place.exists());
    let entries = entries.flat_map(|place| walkdir::WalkDir::new(place).sort_by_file_name());
    let files = entries.filter(|entry| entry.as_ref().map_or(true, |entry| entry.file_type().is_file()));
    files.map(move |entry| {
        let entry = entry?;
        let parts: Vec<_> = entry.path().strip_prefix(root)?.iter().map(|part| part.to_string_lossy()).collect();
        Ok(RelPath::new(parts.join("/"))?)
    })
}

/// Finds a word that is not a part of another one. `is_part` decides which characters words have.
fn whole_word(text: &str, word: &str, is_part: impl Fn(char) -> bool + Copy) -> Option<usize> {
    text.match_indices(word)
        .map(|(at, _)| at)
        .find(|at| !text[..*at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part))
}

/// A value, and the findings that belong to it.
#[must_use]
pub(crate) struct Findings<T> {
    pub(crate) value: T,
    pub(crate) diagnostics: Diagnostics,
}

impl<T> Findings<T> {
    /// Repeats a query until the tree has read every file that the answer depends on.
    pub(crate) fn settled(tree: &mut SourceTree, ask: impl FnMut(&SourceTree) -> (T, Diagnostics)) -> Self {
        let ((value, mut diagnostics), read) = tree.settle(ask);
        diagnostics.extend(read);
        Self { value, diagnostics }
    }

    /// Moves the findings to `found` and returns the value.
    pub(crate) fn report(self, found: &mut Diagnostics) -> T {
        found.extend(self.diagnostics);
        self.value
    }
}

impl<T> From<(T, Diagnostics)> for Findings<T> {
    fn from((value, diagnostics): (T, Diagnostics)) -> Self {
        Self { value, diagnostics }
    }
}

/// The options contradict each other or the source, in a way that clap can't see.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct UsageError(#[from] pub(crate) Problem);

#[cfg(test)]
mod tests {
    use super::whole_word;

    #[test]
    fn a_word_is_found_whole() {
        let is_part = |char: char| char == '_' || char.is_alphanumeric();
        for (text, expected) in [
            ("use crate::api::v1::Site;", Some(20)),
            ("struct SiteSpec; struct MySite; Site", Some(32)),
            ("Sites", None),
        ] {
            assert_eq!(whole_word(text, "Site", is_part), expected, "{text}");
        }
    }
}
