//! The work behind commands, without clap and without a terminal. An operation takes a struct of options, and returns a value
//! with findings. The command in [`crate::command`] maps its arguments, calls the operation and reports.

pub(crate) mod bundle;
pub(crate) mod catalog;
pub(crate) mod choice;
pub(crate) mod compare;
mod copied;
pub(crate) mod create_api;
pub(crate) mod create_webhook;
pub(crate) mod delete;
pub(crate) mod doctor;
pub(crate) mod edit;
pub(crate) mod elsewhere;
pub(crate) mod envtest;
pub(crate) mod existing;
pub(crate) mod external;
pub(crate) mod fetch;
pub(crate) mod from_crd;
pub(crate) mod generate;
pub(crate) mod git;
pub(crate) mod helm;
pub(crate) mod init;
pub(crate) mod installer;
mod known;
pub(crate) mod manifests;
pub(crate) mod migrate;
mod moves;
pub(crate) mod rbac;
pub(crate) mod rename;
mod rendered;
mod replay;
mod toolchain;
pub(crate) mod undo;
pub(crate) mod update;

use std::path::Path;

use crate::diagnostic::{Diagnostics, Problem};
use crate::source::SourceTree;

/// The version of this program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Returns the text of a folder for messages. The folder `.` has no name.
pub(crate) fn shown_folder(path: &Path) -> String {
    if path.as_os_str().is_empty() { ".".to_owned() } else { path.display().to_string() }
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
