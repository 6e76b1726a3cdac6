//! What is wrong in the user's code: a stable code, a place, a message and what to do next.
//!
//! Analysis never fails on user code: it returns its best value together with [`Diagnostics`].

use std::ops::Range;
use std::sync::Arc;

/// A place in a source file, with the text that is needed to show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Path relative to the folder that the command works on, `/`-separated.
    pub path: Arc<str>,
    /// The whole text of the file.
    pub text: Arc<str>,
    /// Byte range in `text`.
    pub range: Range<usize>,
}

/// How bad it is. An error means that no file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is written.
    Error,
    /// Worth a look; the command goes on.
    Warning,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable identifier, see [`Code`].
    pub code: Code,
    /// Lower case, names in backticks, no full stop.
    pub message: String,
    /// Where, when it is about a file.
    pub origin: Option<Origin>,
    /// What to do next.
    pub help: Option<String>,
}

/// The stable identifiers of diagnostics; renaming one is a breaking change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Code {
    /// A source file is not valid Rust.
    Syntax,
}

/// Findings in the order of the source. They must be shown: dropping them silently is a bug.
#[must_use]
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// Adds one finding.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Adds all findings of `other`.
    pub fn extend(&mut self, other: Diagnostics) {
        self.0.extend(other.0);
    }

    /// The findings.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }
}
