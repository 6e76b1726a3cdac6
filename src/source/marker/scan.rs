//! Tokens of marker arguments, like Go's `text/scanner` in controller-gen's setup, including its quirks. Supports only
//! decimal and octal integers, because no argument takes other numbers.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Ident,
    Int,
    /// The value of a quoted or raw string.
    String(String),
    /// Any other single character.
    Char(char),
    End,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScanError {
    pub(super) what: Wrong,
    pub(super) offset: usize,
}

/// The kind of an error, in controller-gen's words where these exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Wrong {
    #[error("expected {wanted}, got {found:?}")]
    Expected { wanted: &'static str, found: String },
    #[error("unknown argument {0:?}")]
    UnknownArgument(String),
    #[error("missing argument {0:?}")]
    MissingArgument(&'static str),
    #[error("{0}")]
    Literal(&'static str),
    /// A number that begins with 0 is octal.
    #[error("invalid digit {0:?} in octal literal")]
    OctalDigit(char),
    /// controller-gen accepts it as a part of the value.
    #[error("the value {0:?} contains an argument: add a comma before the argument, or quote the value")]
    ArgumentInside(String),
}

pub(super) struct Scanner<'a> {
    pub(super) text: &'a str,
    at: usize,
    /// Offset of the last token.
    pub(super) offset: usize,
    /// End of the last token.
    pub(super) end: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, offset: 0, end: 0 }
    }

    /// The remaining text.
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn peek(&mut self) -> Option<char> {
        self.at = self.text.len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r']).len();
        self.rest().chars().next()
    }

    pub(super) fn token_text(&self) -> &'a str {
        &self.text[self.offset..self.end]
    }

    pub(super) fn wrong(&self, what: Wrong) -> ScanError {
        ScanError { what, offset: self.offset }
    }

    /// Scans a token of this kind.
    pub(super) fn expect(&mut self, wanted: &Token, name: &'static str) -> Result<(), ScanError> {
        if self.scan()? == *wanted { Ok(()) } else { Err(self.unexpected(name)) }
    }

    /// Creates an error about the last token, with the expected one.
    pub(super) fn unexpected(&self, wanted: &'static str) -> ScanError {
        self.wrong(Wrong::Expected { wanted, found: self.token_text().to_owned() })
    }

    pub(super) fn scan(&mut self) -> Result<Token, ScanError> {
        let first = self.peek();
        self.offset = self.at;
        let rest = self.rest();
        let length = |is_part: fn(char) -> bool| rest.find(|char| !is_part(char)).unwrap_or(rest.len());
        let (token, length) = match first {
            None => (Token::End, 0),
            Some(char) if char == '_' || char.is_alphabetic() => {
                (Token::Ident, length(|char| char == '_' || char.is_alphabetic() || char.is_numeric()))
            }
            Some('0'..='9') => (Token::Int, length(|char| char == '.' || char.is_ascii_digit())),
            Some('"' | '`') => {
                let (value, length) = literal(rest).map_err(|why| self.wrong(Wrong::Literal(why)))?;
                (Token::String(value), length)
            }
            Some(char) => (Token::Char(char), char.len_utf8()),
        };
        self.at += length;
        self.end = self.at;
        Ok(token)
    }
}

/// The value of the Go string literal at the start of a text, and its length.
fn literal(text: &str) -> Result<(String, usize), &'static str> {
    const UNTERMINATED: &str = "literal not terminated";
    if let Some(raw) = text.strip_prefix('`') {
        let (raw, _) = raw.split_once('`').ok_or(UNTERMINATED)?;
        return Ok((raw.replace('\r', ""), raw.len() + 2));
    }
    let mut rest = text[1..].chars();
    let mut bytes = Vec::new();
    loop {
        match rest.next().ok_or(UNTERMINATED)? {
            '"' => break,
            '\\' => escape(&mut rest, &mut bytes).ok_or("invalid char escape")?,
            char => bytes.extend(char.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    Ok((String::from_utf8_lossy(&bytes).into_owned(), text.len() - rest.as_str().len()))
}

fn escape(rest: &mut std::str::Chars<'_>, bytes: &mut Vec<u8>) -> Option<()> {
    let kind = rest.next()?;
    let mut number = |count: usize, base: u32, first: u32| {
        (0..count).try_fold(first, |value, _| Some(value * base + rest.next()?.to_digit(base)?))
    };
    bytes.push(match kind {
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        '\\' => b'\\',
        '"' => b'"',
        'x' => u8::try_from(number(2, 16, 0)?).ok()?,
        '0'..='7' => u8::try_from(number(2, 8, kind.to_digit(8)?)?).ok()?,
        'u' | 'U' => {
            let char = char::from_u32(number(if kind == 'u' { 4 } else { 8 }, 16, 0)?)?;
            bytes.extend(char.encode_utf8(&mut [0; 4]).bytes());
            return Some(());
        }
        _ => return None,
    });
    Some(())
}
