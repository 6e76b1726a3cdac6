//! A lexer for comments and tokens of Rust text, because syn drops comments.
//!
//! Knows just enough of Rust to skip what only looks like a comment (string, byte string, raw string and char literals,
//! nested block comments), and to tell a lifetime from a char literal.

use std::ops::Range;

/// Limit for nested brackets. The parser recurses: a level takes about 40 kB of stack in an unoptimised build. Real
/// code has fewer than 40 levels.
pub(super) const DEEPEST: usize = 400;

pub(super) fn comments(text: &str) -> impl Iterator<Item = Range<usize>> {
    let comments = pieces(text).filter(|(_, piece)| piece.starts_with("//"));
    comments.map(|(at, comment)| at..at + comment.trim_end_matches('\r').len())
}

pub(super) fn blocks(text: &str) -> impl Iterator<Item = Range<usize>> {
    pieces(text).filter(|(_, piece)| piece.starts_with("/*")).map(|(at, block)| at..at + block.len())
}

/// The words, literals and single characters of a Rust text with their offsets, without comments and white space.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = (usize, &str)> {
    pieces(text).filter(|(_, piece)| {
        !piece.starts_with("//") && !piece.starts_with("/*") && !piece.as_bytes()[0].is_ascii_whitespace()
    })
}

/// Splits a Rust text into comments, literals, words, white space and single bytes.
fn pieces(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at;
        at += length(text.as_bytes().get(start..).filter(|rest| !rest.is_empty())?);
        Some((start, &text[start..at.min(text.len())]))
    })
}

/// The offset where a parser would overflow its stack: brackets (including angle brackets of types) are nested deeper
/// than `limit`, or a statement has more than [`LONGEST`] tokens, each of which may be a level (`&&&…`, `|x| |x| …`).
/// Strings in attributes count too, because they are parsed.
pub(super) fn deeper_than(limit: usize, text: &str) -> Option<usize> {
    // Tokens of the current statement plus those of its outer statements, and the position where each began.
    let (mut tokens, mut outer, mut before_brace) = (0_usize, Vec::new(), 0);
    let (mut angles, mut last) = (0_usize, "");
    let mut attribute = None;
    for (at, token) in self::tokens(text) {
        tokens += 1;
        match token {
            "(" | "[" | "{" => {
                if token == "[" && matches!(last, "#" | "!") {
                    attribute.get_or_insert(outer.len());
                }
                outer.push(tokens);
                angles = 0;
            }
            ")" | "]" | "}" => {
                tokens = outer.pop().unwrap_or_default();
                angles = 0;
                if attribute.is_some_and(|depth| outer.len() <= depth) {
                    attribute = None;
                }
                if token == "}" {
                    before_brace = tokens;
                    tokens = outer.last().copied().unwrap_or_default();
                }
            }
            ";" | "," => tokens = outer.last().copied().unwrap_or_default(),
            "<" => angles += 1,
            ">" => angles = angles.saturating_sub(1),
            "else" => tokens = before_brace + 1,
            "doc" if last == "[" => attribute = None,
            text if attribute.is_some() && text.len() > limit && text.contains('"') => {
                let inside = text.trim_start_matches(['r', 'b', 'c', '#']).trim_matches(['"', '#']);
                if deeper_than(limit, inside).is_some() {
                    return Some(at);
                }
            }
            _ => {}
        }
        if token == ";" {
            angles = 0;
        }
        if outer.len() + angles > limit || tokens > LONGEST {
            return Some(at);
        }
        last = token;
    }
    None
}

/// Token limit for a statement. A token takes up to 5 kB of stack in an unoptimised build.
const LONGEST: usize = 20_000;

/// Length of the comment, literal, word, white space or single byte at the start of a non-empty text.
fn length(text: &[u8]) -> usize {
    match text[0] {
        b'/' if text.starts_with(b"//") => memchr::memchr(b'\n', text).unwrap_or(text.len()),
        b'/' if text.starts_with(b"/*") => block_comment(text),
        b'"' => suffixed(text, 1 + string(&text[1..])),
        b'\'' => quote(text),
        byte if is_ident(byte) => word(text),
        byte if byte.is_ascii_whitespace() => {
            text.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(text.len())
        }
        _ => 1,
    }
}

pub(super) fn is_ident(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// Length of a literal with its suffix, which is not a prefix of the next literal.
fn suffixed(text: &[u8], literal: usize) -> usize {
    let rest = &text[literal.min(text.len())..];
    literal + rest.iter().position(|byte| !is_ident(*byte)).unwrap_or(rest.len())
}

/// Length of a block comment; an unclosed one runs to the end.
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

/// Length of a string with escapes after its opening quote, including the closing quote.
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

/// Length of a char literal, or 1 for the quote of a lifetime.
fn quote(text: &[u8]) -> usize {
    match text.get(1) {
        Some(b'\\') => {
            // The escaped character may be a quote itself.
            let end = text.iter().skip(3).position(|byte| *byte == b'\'' || *byte == b'\n');
            suffixed(text, end.map_or(text.len(), |end| end + 4))
        }
        Some(first) => {
            let length = match first {
                0xf0.. => 4,
                0xe0.. => 3,
                0xc0.. => 2,
                _ => 1,
            };
            // `'a'` is a char, `'a` a lifetime.
            if text.get(1 + length) == Some(&b'\'') { suffixed(text, length + 2) } else { 1 }
        }
        None => 1,
    }
}

/// Length of an identifier, keyword or number. Includes the literal if the word is its prefix.
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
            return suffixed(text, length + hashes + 1 + end);
        }
    }
    if matches!(&text[..length], b"b" | b"c") && rest.first() == Some(&b'"') {
        return suffixed(text, length + 1 + string(&rest[1..]));
    }
    length
}

#[cfg(test)]
mod tests {
    use proc_macro2::{TokenStream, TokenTree};

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
            let found: Vec<_> = comments(text).map(|comment| &text[comment]).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn nesting() {
        for (text, expected) in [
            ("fn f() { g(1) }", None),
            ("(((", Some(2)),
            ("a < b; a < b; a < b; a < b", None),
            ("Vec<Vec<Vec<u8>>>", Some(11)),
            ("( \"(((\" /* ((( */ // (((", None),
            ("#[a = \"(((\"] struct S;", Some(6)),
            ("#[a(b = r#\"(((\"#)] struct S;", Some(8)),
            ("#[doc = \"(((\"] struct S;", None),
            ("#[a] struct S; f(\"(((\")", None),
        ] {
            assert_eq!(deeper_than(2, text), expected, "{text}");
        }
        for (piece, separator, deep) in [
            ("&", "", true),
            ("|x| ", "", true),
            ("if a { b } else ", "", true),
            ("a + ", "", true),
            ("a", ", ", false),
            ("f(b);", "\n", false),
            ("fn f() { a }", "\n", false),
            ("#[a] impl A for B {}", "\n", false),
        ] {
            let text = vec![piece; LONGEST + 1].join(separator);
            assert_eq!(deeper_than(2, &text).is_some(), deep, "{piece}");
        }
    }

    /// The leaves of a token stream as byte ranges, without doc comments.
    fn tokens(stream: TokenStream, text: &str, out: &mut Vec<Range<usize>>) {
        for token in stream {
            match token {
                TokenTree::Group(group) => {
                    let range = group.span().byte_range();
                    if !text[range.clone()].starts_with('/') {
                        // A group without delimiters has no source text.
                        out.extend([range.start..range.start + 1, range.end - 1..range.end]);
                        tokens(group.stream(), text, out);
                    }
                }
                token => {
                    let range = token.span().byte_range();
                    if !text[range.clone()].starts_with("//") && !text[range.clone()].starts_with("/*") {
                        out.push(range);
                    }
                }
            }
        }
    }

    /// Compares the found comments with proc-macro2: none overlaps a token, and none is missing.
    fn judge(text: &str) -> Option<Result<(), String>> {
        let mut ranges = Vec::new();
        tokens(text.parse().ok()?, text, &mut ranges);
        ranges.sort_by_key(|range| range.start);
        let found: Vec<_> = comments(text).collect();
        let mut next = found.iter().peekable();
        for range in &ranges {
            while next.peek().is_some_and(|comment| comment.end <= range.start) {
                next.next();
            }
            if let Some(comment) = next.peek().filter(|comment| comment.start < range.end) {
                let (comment, token) = (&text[(*comment).clone()], &text[range.clone()]);
                return Some(Err(format!("{comment:?} is in the token {token:?}")));
            }
        }
        let mut rest = text.as_bytes().to_vec();
        for range in ranges.iter().chain(&found) {
            rest[range.clone()].fill(b' ');
        }
        let mut at = 0;
        while at < rest.len() {
            match &rest[at..] {
                [b'/', b'*', ..] => at += block_comment(&rest[at..]),
                [b'/', b'/', ..] => return Some(Err(format!("a comment at {at} was missed"))),
                _ => at += 1,
            }
        }
        Some(Ok(()))
    }

    #[test]
    fn random_texts() {
        const PIECES: [&str; 46] = [
            "// a",
            "/// b",
            "//! c",
            "//// d",
            "//",
            "/* e */",
            "/* // f */",
            "/* /* // */ // */",
            "/** g */",
            "\"// s\"",
            "\"a\\\"// s\"",
            "\"\\\\\"",
            "\"two\n// lines\"",
            "r\"// r\"",
            "r#\"\"// r\"#",
            "r##\"\"#// r\"##",
            "br\"// \\\"",
            "b\"// \\\" \"",
            "c\"//\"",
            "cr#\"//\"#",
            "'a'",
            "'\"'",
            "'\\''",
            "'\\\\'",
            "b'\"'",
            "b'\\''",
            "'/'",
            "'é'",
            "'\\u{2f}'",
            "'a",
            "'static",
            "'_",
            "r#type",
            "ident",
            "é",
            "0x1f",
            "1.5e-3",
            "1u8",
            "a / b",
            "(",
            ")",
            "{ }",
            "[",
            "]",
            "\n",
            " ",
        ];
        let mut state = 7_u64;
        let mut below = |limit: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33).unwrap() % limit
        };
        let mut judged = 0;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..=below(8) {
                text.push_str(PIECES[below(PIECES.len())]);
                text.push_str(["", " ", "\n", "\r\n"][below(4)]);
            }
            // Offsets are at character boundaries.
            assert!(super::tokens(&text).all(|(_, token)| !token.is_empty()), "{text:?}");
            if let Some(verdict) = judge(&text) {
                assert_eq!(verdict, Ok(()), "{text:?}");
                judged += 1;
            }
        }
        assert!(judged > 5_000, "only {judged} texts are Rust");
    }
}
