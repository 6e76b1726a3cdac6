//! A source file: its text, and the ranges that cfg switches off.

use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use icu_normalizer::ComposingNormalizerBorrowed;
use proc_macro2::Span;

use super::lexer::tokens;
use crate::diagnostic::Origin;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileId(pub(super) u32);

/// A source file as rustc reads it: `\r\n` becomes `\n`, and identifiers are in normalization form C.
#[derive(Debug)]
pub(crate) struct SourceFile {
    pub(super) disk: PathBuf,
    /// Displayed path, relative to the folder that the tree was loaded from.
    pub(super) path: Arc<str>,
    pub(super) text: Arc<str>,
    /// Bytes before what syn parses: a byte order mark and a `#!` line.
    pub(super) base: usize,
    pub(super) inactive: Vec<Range<usize>>,
    /// Like `inactive`, for a file of which only the outline was read.
    pub(super) switched_off: OnceLock<Vec<Range<usize>>>,
    /// Belongs to the package itself, not to a path dependency.
    pub(super) own: bool,
}

impl SourceFile {
    pub(super) fn new(disk: PathBuf, shown: &Path, text: String, own: bool) -> Self {
        let text = if text.contains("\r\n") { text.replace("\r\n", "\n") } else { text };
        let text = composed(text);
        let base = prologue(&text);
        let path = shown.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/");
        let (inactive, switched_off) = (Vec::new(), OnceLock::new());
        Self { disk, path: path.into(), text: text.into(), base, inactive, switched_off, own }
    }

    /// The text without a byte order mark and a `#!` line.
    pub(super) fn rust(&self) -> &str {
        &self.text[self.base..]
    }

    /// The byte range of `span`, which must come from parsing [`Self::rust`].
    pub(super) fn range(&self, span: Span) -> Range<usize> {
        let range = span.byte_range();
        (range.start + self.base).min(self.text.len())..(range.end + self.base).min(self.text.len())
    }

    pub(super) fn origin(&self, range: Range<usize>) -> Origin {
        Origin { path: self.path.clone(), text: self.text.clone(), range }
    }

    pub(super) fn is_active(&self, offset: usize) -> bool {
        !self.inactive.iter().chain(self.switched_off.get().into_iter().flatten()).any(|range| range.contains(&offset))
    }
}

/// Converts identifiers to normalization form C, as rustc does.
fn composed(text: String) -> String {
    const NFC: ComposingNormalizerBorrowed<'static> = ComposingNormalizerBorrowed::new_nfc();
    if text.is_ascii() || NFC.is_normalized(&text) {
        return text;
    }
    let (mut out, mut rest) = (String::with_capacity(text.len()), 0);
    // A token without quotes that is not normalized is an identifier.
    for (at, token) in tokens(&text).filter(|(_, token)| !token.contains(['"', '\'']) && !NFC.is_normalized(token)) {
        out.push_str(&text[rest..at]);
        out.push_str(&NFC.normalize(token));
        rest = at + token.len();
    }
    out.push_str(&text[rest..]);
    out
}

/// The length of a byte order mark and a `#!` line that is not an inner attribute.
fn prologue(text: &str) -> usize {
    let bom = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let rest = &text[bom..];
    if rest.starts_with("#!") && !rest[2..].trim_start().starts_with('[') {
        return bom + rest.find('\n').unwrap_or(rest.len());
    }
    bom
}

/// Removes `.` from `path`, and `..` after a normal component. Does not touch the disk.
pub(crate) fn clean(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(out.components().next_back(), Some(Component::Normal(_))) => {
                out.pop();
            }
            _ => out.push(part),
        }
    }
    out
}

/// `path` relative to `root`; both must be clean.
pub(crate) fn relative(path: &Path, root: &Path) -> PathBuf {
    let (mut path_parts, mut root_parts) = (path.components().peekable(), root.components().peekable());
    while let (Some(left), Some(right)) = (path_parts.peek(), root_parts.peek()) {
        if left != right {
            break;
        }
        path_parts.next();
        root_parts.next();
    }
    let mut out: PathBuf = root_parts.map(|_| Component::ParentDir).collect();
    out.extend(path_parts);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_as_rustc_has_them_end() {
        for (disk, read) in
            [("a\r\nb\r\n", "a\nb\n"), ("a\r\r\nb\rc\n\r", "a\r\nb\rc\n\r"), ("\u{feff}\r\n", "\u{feff}\n")]
        {
            let file = SourceFile::new(PathBuf::from("a.rs"), Path::new("a.rs"), disk.to_owned(), true);
            assert_eq!(&*file.text, read, "{disk:?}");
        }
    }

    #[test]
    fn names_are_composed_and_literals_are_not() {
        let read = "caf\u{e9} \"cafe\u{301}\" // cafe\u{301}";
        let disk = "cafe\u{301} \"cafe\u{301}\" // cafe\u{301}";
        let file = SourceFile::new(PathBuf::from("a.rs"), Path::new("a.rs"), disk.to_owned(), true);
        assert_eq!(&*file.text, read);
    }

    #[test]
    fn prologue_is_mark_and_shebang() {
        for (text, expected) in [
            ("fn a() {}", 0),
            ("\u{feff}fn a() {}", 3),
            ("#!/usr/bin/env rust\nfn a() {}", 19),
            ("#![allow(unused)]\n", 0),
            ("#! [allow(unused)]\n", 0),
        ] {
            assert_eq!(prologue(text), expected, "{text:?}");
        }
    }

    #[test]
    fn paths() {
        for (path, root, expected) in [
            ("/a/b/src/lib.rs", "/a/b", "src/lib.rs"),
            ("/a/c/src/lib.rs", "/a/b", "../c/src/lib.rs"),
            ("x/src/lib.rs", "x", "src/lib.rs"),
        ] {
            assert_eq!(relative(Path::new(path), Path::new(root)), Path::new(expected));
        }
        assert_eq!(clean(Path::new("/a/./b/../c")), Path::new("/a/c"));
        assert_eq!(clean(Path::new("../a")), Path::new("../a"));
    }
}
