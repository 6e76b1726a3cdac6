//! `//` comments in Rust text: syn drops them, so the text is read by hand.
//!
//! The lexer knows just enough of Rust to skip what only looks like a comment: string, byte string, raw string and
//! char literals, nested block comments; and to tell a lifetime from a char literal.

use std::ops::Range;

use super::file::SourceFile;
use crate::diagnostic::Origin;

/// What a `//` comment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentKind {
    /// `//` and `////…`
    Line,
    /// `///`
    Outer,
    /// `//!`
    Inner,
}

/// A `//` comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// What it is.
    pub kind: CommentKind,
    /// The text after `//`, `///` or `//!`, untrimmed, without the line end.
    pub text: String,
    /// From its first slash to the end of its text.
    pub origin: Origin,
}

impl Comment {
    pub(super) fn new(found: &Found, file: &SourceFile) -> Self {
        let text = file.text[found.range.start + found.kind.slashes()..found.range.end].to_string();
        Self { kind: found.kind, text, origin: file.origin(found.range.clone()) }
    }
}

impl CommentKind {
    fn slashes(self) -> usize {
        match self {
            Self::Line => 2,
            Self::Outer | Self::Inner => 3,
        }
    }
}

/// A comment as bytes of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) kind: CommentKind,
    pub(super) range: Range<usize>,
}

/// The `//` comments of a Rust text, in order.
pub(super) fn find(text: &str) -> Vec<Found> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        at += match rest[0] {
            b'/' if rest.starts_with(b"//") => {
                let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                let line = if rest[..end].ends_with(b"\r") { end - 1 } else { end };
                let kind = match &rest[2..line] {
                    [b'/', b'/', ..] => CommentKind::Line,
                    [b'/', ..] => CommentKind::Outer,
                    [b'!', ..] => CommentKind::Inner,
                    _ => CommentKind::Line,
                };
                found.push(Found { kind, range: at..at + line });
                end
            }
            b'/' if rest.starts_with(b"/*") => block_comment(rest),
            b'"' => 1 + string(&rest[1..]),
            b'\'' => quote(rest),
            byte if is_ident(byte) => word(rest),
            _ => 1,
        };
    }
    found
}

fn is_ident(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// Length of a block comment; an unclosed one takes the rest.
fn block_comment(text: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        if text[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at
}

/// Length of a string with escapes after its opening quote, closing quote included.
fn string(text: &[u8]) -> usize {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// Length of what a `'` begins: a char literal, or only the quote of a lifetime.
fn quote(text: &[u8]) -> usize {
    match text.get(1) {
        Some(b'\\') => {
            // The escaped character may be a quote itself.
            let end = text.iter().skip(3).position(|byte| *byte == b'\'' || *byte == b'\n');
            end.map_or(text.len(), |end| end + 4)
        }
        Some(first) => {
            let length = match first {
                0xf0.. => 4,
                0xe0.. => 3,
                0xc0.. => 2,
                _ => 1,
            };
            // `'a'` is a char, `'a` a lifetime.
            if text.get(1 + length) == Some(&b'\'') { length + 2 } else { 1 }
        }
        None => 1,
    }
}

/// Length of an identifier, keyword or number, together with the literal that it may be the prefix of.
fn word(text: &[u8]) -> usize {
    let length = text.iter().position(|byte| !is_ident(*byte)).unwrap_or(text.len());
    let rest = &text[length..];
    let raw = matches!(&text[..length], b"r" | b"br" | b"cr");
    if raw {
        let hashes = rest.iter().take_while(|byte| **byte == b'#').count();
        if rest.get(hashes) == Some(&b'"') {
            let body = &rest[hashes + 1..];
            let closes = |at: usize| {
                body[at] == b'"' && body[at + 1..].iter().take_while(|byte| **byte == b'#').count() >= hashes
            };
            let end = (0..body.len()).find(|at| closes(*at)).map_or(body.len(), |at| at + 1 + hashes);
            return length + hashes + 1 + end;
        }
    }
    if matches!(&text[..length], b"b" | b"c") && rest.first() == Some(&b'"') {
        return length + 1 + string(&rest[1..]);
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_found_outside_literals_only() {
        for (text, expected) in [
            ("// a", vec!["// a"]),
            ("x(); // a\r\ny(); /// b\n//! c", vec!["// a", "/// b", "//! c"]),
            ("\"// no\" // yes", vec!["// yes"]),
            (r#""\"// no" // yes"#, vec!["// yes"]),
            (r##"r#"" // no"# // yes"##, vec!["// yes"]),
            (r#"br"\" // yes"#, vec!["// yes"]),
            (r#"b"\"// no" // yes"#, vec!["// yes"]),
            (r#"c"// no" cr"// no" // yes"#, vec!["// yes"]),
            ("'\"' // yes", vec!["// yes"]),
            (r"'\'' // yes", vec!["// yes"]),
            (r"b'\'' // yes", vec!["// yes"]),
            (r"'\u{22}' // yes", vec!["// yes"]),
            ("'é' '/' // yes", vec!["// yes"]),
            ("fn f<'a>(x: &'a str) {} // yes", vec!["// yes"]),
            ("loop { break 'a } // yes", vec!["// yes"]),
            ("/* // no /* // no */ // no */ // yes", vec!["// yes"]),
            ("/** // no */ // yes", vec!["// yes"]),
            ("r#type // yes", vec!["// yes"]),
            ("bar\"// no\" // yes", vec!["// yes"]),
            ("1 / 2 // yes // one", vec!["// yes // one"]),
            ("\"unclosed // no", vec![]),
        ] {
            let found: Vec<_> = find(text).into_iter().map(|found| &text[found.range]).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn kinds() {
        for (text, expected) in [
            ("// a", CommentKind::Line),
            ("//", CommentKind::Line),
            ("/// a", CommentKind::Outer),
            ("///", CommentKind::Outer),
            ("//// a", CommentKind::Line),
            ("//! a", CommentKind::Inner),
        ] {
            assert_eq!(find(text)[0].kind, expected, "{text}");
        }
    }
}
