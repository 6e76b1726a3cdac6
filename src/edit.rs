//! Text edits of files that the user owns.
//!
//! Every edit is a pure function from text to text that returns the whole new text, or an [`EditError`] whose help has
//! the snippet to insert manually. Must stay true: everything else stays byte for byte, and an edit is idempotent.

use std::borrow::Cow;

use crate::diagnostic::Problem;

pub(crate) mod cargo_lock;
pub mod cargo_toml;
pub mod container;
pub mod kustomization;
pub mod merge;
pub mod rust;
pub mod scaffold_marker;
pub(crate) mod structure;

/// The reason why a file cannot be edited; the help contains the manual edit.
pub type EditError = Problem;

/// Runs `change` on the text with `\n` line endings and without a byte order mark, then restores both. A file with
/// mixed line endings is passed unchanged.
pub(crate) fn keeping_line_endings(
    text: &str,
    change: impl FnOnce(&str) -> Result<String, EditError>,
) -> Result<String, EditError> {
    let (bom, body) = match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    };
    let changed = if has_windows_line_endings(body) {
        change(&body.replace("\r\n", "\n"))?.replace('\n', "\r\n")
    } else {
        change(body)?
    };
    Ok(format!("{bom}{changed}"))
}

/// Returns `text` with the line endings of `disk`: git's `core.autocrlf` checks files out with `\r\n`.
pub(crate) fn with_line_endings_of<'a>(text: &'a str, disk: &str) -> Cow<'a, str> {
    if has_windows_line_endings(disk) { text.replace("\r\n", "\n").replace('\n', "\r\n").into() } else { text.into() }
}

fn has_windows_line_endings(text: &str) -> bool {
    let newlines = text.matches('\n').count();
    newlines > 0 && text.matches("\r\n").count() == newlines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_endings_survive() {
        for (input, seen, output) in [
            ("", "", "+"),
            ("a", "a", "a+"),
            ("a\nb\n", "a\nb\n", "a\nb\n+"),
            ("a\r\nb\r\n", "a\nb\n", "a\r\nb\r\n+"),
            ("a\r\nb\n", "a\r\nb\n", "a\r\nb\n+"),
            ("\u{feff}a\r\n", "a\n", "\u{feff}a\r\n+"),
        ] {
            let result = keeping_line_endings(input, |text| {
                assert_eq!(text, seen);
                Ok(format!("{text}+"))
            });
            assert_eq!(result.as_deref(), Ok(output));
        }
    }
}
