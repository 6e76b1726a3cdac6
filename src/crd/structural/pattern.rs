//! Regular expressions that the API server cannot compile. Its syntax is Go's, <https://pkg.go.dev/regexp/syntax>. This
//! module parses Rust's syntax, and leaves to the server what only one of them accepts.

use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{Ast, ErrorKind, RepetitionKind, RepetitionRange, Visitor, visit};

/// Go's limit for a repetition count.
const MOST: u32 = 1000;

/// Rejects an expression that Go cannot compile.
pub(super) fn check(pattern: &str) -> Result<(), String> {
    let error = match Parser::new().parse(pattern) {
        Ok(ast) => return visit(&ast, Repetitions),
        Err(error) => error,
    };
    let (start, end) = (error.span().start.offset, error.span().end.offset);
    let behind = &pattern[end..];
    // The range excludes the quantifier itself.
    let at = if start == end { &behind[..behind.ceil_char_boundary(1)] } else { &pattern[start..end] };
    let wrong = match error.kind() {
        // In Go, braces without a number are text.
        ErrorKind::RepetitionMissing => at != "{" && !pattern[..start].ends_with(')'),
        // Several digits are a number.
        ErrorKind::UnsupportedBackreference => at != r"\0" && !behind.starts_with(|next: char| next.is_ascii_digit()),
        ErrorKind::EscapeUnrecognized => ![r"\Q", r"\E", r"\C"].contains(&at),
        // In Go, a `[` inside of a class is text.
        ErrorKind::ClassUnclosed => pattern.matches('[').count() == 1,
        kind => matches!(
            kind,
            ErrorKind::UnsupportedLookAround
                | ErrorKind::GroupUnclosed
                | ErrorKind::GroupUnopened
                | ErrorKind::GroupNameEmpty
                | ErrorKind::GroupNameInvalid
                | ErrorKind::GroupNameUnexpectedEof
                | ErrorKind::FlagUnrecognized
                | ErrorKind::EscapeUnexpectedEof
                | ErrorKind::ClassRangeInvalid
                | ErrorKind::ClassRangeLiteral
                | ErrorKind::RepetitionCountInvalid
        ),
    };
    if wrong { Err(format!("`{at}`: {}", error.kind())) } else { Ok(()) }
}

struct Repetitions;

impl Visitor for Repetitions {
    type Output = ();
    type Err = String;

    fn finish(self) -> Result<(), String> {
        Ok(())
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), String> {
        let Ast::Repetition(repetition) = ast else { return Ok(()) };
        if matches!(*repetition.ast, Ast::Repetition(_)) {
            return Err("a quantifier follows a quantifier".to_owned());
        }
        let RepetitionKind::Range(range) = &repetition.op.kind else { return Ok(()) };
        let (RepetitionRange::Exactly(most) | RepetitionRange::AtLeast(most) | RepetitionRange::Bounded(_, most)) =
            range;
        if *most > MOST { Err(format!("`{most}`: the limit of repetitions is {MOST}")) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn what_go_compiles() {
        for pattern in [
            "^[a-z]([-a-z0-9]*[a-z0-9])?$",
            "(?i)a|b|",
            "a{2,3}?",
            "a{,3}",
            "{",
            "^[^[]$",
            "[[:word:][:^alpha:]]",
            r"\Q(*\E+",
            r"\pL\p{Greek}",
            r"\A\b\B\z",
            r"\x41\x{10ffff}\012\0",
            r"\_\-\.\/",
            "(?P<n>a)(?<m>b)",
            "^*",
            "a(?i)*",
            "a{1000}b{5,1000}(c*)*",
        ] {
            assert_eq!(check(pattern), Ok(()), "{pattern}");
        }
    }

    #[test]
    fn what_go_refuses() {
        for (pattern, at) in [
            ("(?=a)", "(?="),
            ("(?<!a)b", "(?<!"),
            (r"(a)\1", r"\1"),
            ("*a", "*"),
            ("(|+)", "+"),
            ("a{3,2}", "{3,2}"),
            ("(?>a)", ">"),
            ("(a", "("),
            ("a)", ")"),
            ("[a", "["),
            (r"\Z", r"\Z"),
            ("[z-a]", "z-a"),
            ("a\\", "\\"),
            ("^.{0,1024}$", "1024"),
        ] {
            let found = check(pattern);
            assert!(found.as_ref().is_err_and(|why| why.starts_with(&format!("`{at}`: "))), "{pattern}: {found:?}");
        }
        for pattern in ["a*+", "a??*", "a{2}{3}"] {
            assert!(check(pattern).is_err(), "{pattern}");
        }
    }
}
