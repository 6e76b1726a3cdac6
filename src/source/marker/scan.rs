//! Tokens of marker arguments: Go's `text/scanner` as controller-gen sets it up, quirks included.

/// What a token is. `Char` is any other single character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    Ident,
    Int,
    Float,
    String,
    RawString,
    Char(char),
    End,
}

/// What is wrong, and the offset of the token that it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScanError {
    pub(super) what: Wrong,
    pub(super) offset: usize,
}

/// What is wrong, in controller-gen's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Wrong {
    #[error("expected {wanted}, got {found:?}")]
    Expected { wanted: &'static str, found: String },
    #[error("unknown argument {0:?}")]
    UnknownArgument(String),
    #[error("missing argument {0:?}")]
    MissingArgument(&'static str),
    #[error("{0}")]
    Other(String),
}

pub(super) struct Scanner<'a> {
    text: &'a str,
    /// Offset of the next character.
    at: usize,
    /// Offset of the last token.
    pub(super) offset: usize,
    end: usize,
    /// Bare strings are read without looking at numbers.
    pub(super) numbers: bool,
    pub(super) errors: Vec<ScanError>,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, offset: 0, end: 0, numbers: true, errors: Vec::new() }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// The next character that is no blank.
    pub(super) fn peek_no_space(&mut self) -> Option<char> {
        while self.peek().is_some_and(is_blank) {
            self.next();
        }
        self.peek()
    }

    /// What has not been read yet.
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The text from an offset on.
    pub(super) fn from(&self, offset: usize) -> &'a str {
        &self.text[offset..]
    }

    pub(super) fn token_text(&self) -> &'a str {
        &self.text[self.offset..self.end]
    }

    /// End of the last token.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> &'a str {
        &self.text[start..end]
    }

    pub(super) fn error(&mut self, message: impl Into<String>) {
        self.wrong(Wrong::Other(message.into()));
    }

    pub(super) fn wrong(&mut self, what: Wrong) {
        self.errors.push(ScanError { what, offset: self.offset });
    }

    /// Reads a token of this kind, or says what was wanted.
    pub(super) fn expect(&mut self, wanted: Token, name: &'static str) -> bool {
        let token = self.scan();
        if token != wanted {
            let found = self.token_text().to_owned();
            self.wrong(Wrong::Expected { wanted: name, found });
        }
        token == wanted
    }

    fn next(&mut self) -> Option<char> {
        if let Some(char) = self.peek() {
            self.at += char.len_utf8();
        }
        self.peek()
    }

    pub(super) fn scan(&mut self) -> Token {
        while self.peek().is_some_and(is_blank) {
            self.next();
        }
        self.offset = self.at;
        let token = match self.peek() {
            None => Token::End,
            Some(char) if char == '_' || char.is_alphabetic() => {
                while self.next().is_some_and(|char| char == '_' || char.is_alphabetic() || is_digit(char)) {}
                Token::Ident
            }
            Some('0'..='9') if self.numbers => self.number(false),
            Some('"') => {
                self.string();
                self.next();
                Token::String
            }
            Some('`') => {
                loop {
                    match self.next() {
                        Some('`') => break,
                        Some(_) => {}
                        None => {
                            self.error("literal not terminated");
                            break;
                        }
                    }
                }
                self.next();
                Token::RawString
            }
            Some('.') => {
                if matches!(self.next(), Some('0'..='9')) && self.numbers {
                    self.number(true)
                } else {
                    Token::Char('.')
                }
            }
            Some(char) => {
                self.next();
                Token::Char(char)
            }
        };
        self.end = self.at;
        token
    }

    /// A quoted string up to its closing quote.
    fn string(&mut self) {
        let mut char = self.next();
        loop {
            char = match char {
                Some('"') => return,
                None | Some('\n') => {
                    self.error("literal not terminated");
                    return;
                }
                Some('\\') => self.escape(),
                Some(_) => self.next(),
            };
        }
    }

    fn escape(&mut self) -> Option<char> {
        match self.next() {
            Some('a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '\\' | '"') => self.next(),
            Some('0'..='7') => self.digits_of_escape(8, 3),
            Some(kind @ ('x' | 'u' | 'U')) => {
                self.next();
                let count = match kind {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                self.digits_of_escape(16, count)
            }
            char => {
                self.error("invalid char escape");
                char
            }
        }
    }

    fn digits_of_escape(&mut self, base: u32, count: usize) -> Option<char> {
        let mut left = count;
        while left > 0 && self.peek().is_some_and(|char| char.is_digit(base)) {
            self.next();
            left -= 1;
        }
        if left > 0 {
            self.error("invalid char escape");
        }
        self.peek()
    }

    fn number(&mut self, mut dot: bool) -> Token {
        let start = self.at;
        let (mut base, mut prefix) = (10, None);
        let (mut digits, mut separators, mut invalid) = (false, false, None);
        let mut token = Token::Int;
        if !dot {
            if self.peek() == Some('0') {
                let after = self.next().map(|char| char.to_ascii_lowercase());
                (base, prefix) = match after {
                    Some('x') => (16, after),
                    Some('o') => (8, after),
                    Some('b') => (2, after),
                    _ => (8, Some('0')),
                };
                digits = prefix == Some('0');
                if !digits {
                    self.next();
                }
            }
            let found = self.digits(base, &mut invalid);
            (digits, separators) = (digits | found.0, separators | found.1);
            if self.peek() == Some('.') {
                self.next();
                dot = true;
            }
        }
        let name = match prefix {
            Some('x') => "hexadecimal literal",
            Some('o' | '0') => "octal literal",
            Some('b') => "binary literal",
            _ => "decimal literal",
        };
        if dot {
            token = Token::Float;
            if matches!(prefix, Some('o' | 'b')) {
                self.error(format!("invalid radix point in {name}"));
            }
            let found = self.digits(base, &mut invalid);
            (digits, separators) = (digits | found.0, separators | found.1);
        }
        if !digits {
            self.error(format!("{name} has no digits"));
        }
        match self.peek() {
            Some(char @ ('e' | 'E' | 'p' | 'P')) => {
                let hexadecimal = char.eq_ignore_ascii_case(&'p');
                if !hexadecimal && !matches!(prefix, None | Some('0')) {
                    self.error(format!("{char:?} exponent requires decimal mantissa"));
                } else if hexadecimal && prefix != Some('x') {
                    self.error(format!("{char:?} exponent requires hexadecimal mantissa"));
                }
                token = Token::Float;
                if matches!(self.next(), Some('+' | '-')) {
                    self.next();
                }
                let found = self.digits(10, &mut None);
                separators |= found.1;
                if !found.0 {
                    self.error("exponent has no digits");
                }
            }
            _ if prefix == Some('x') && token == Token::Float => {
                self.error("hexadecimal mantissa requires a 'p' exponent");
            }
            _ => {}
        }
        if let Some(char) = invalid.filter(|_| token == Token::Int) {
            self.error(format!("invalid digit {char:?} in {name}"));
        }
        if separators && misplaced_separator(&self.text[start..self.at]) {
            self.error("'_' must separate successive digits");
        }
        token
    }

    /// Digits and `_`: whether there were some of each.
    fn digits(&mut self, base: u32, invalid: &mut Option<char>) -> (bool, bool) {
        let (mut digits, mut separators) = (false, false);
        let accepted = base.max(10);
        while let Some(char) = self.peek().filter(|char| *char == '_' || char.is_digit(accepted)) {
            if char == '_' {
                separators = true;
            } else {
                digits = true;
                if !char.is_digit(base) && invalid.is_none() {
                    *invalid = Some(char);
                }
            }
            self.next();
        }
        (digits, separators)
    }
}

fn is_blank(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\n' | '\r')
}

/// Unicode's decimal digits, which Go allows in identifiers; the ASCII ones are what occurs.
fn is_digit(char: char) -> bool {
    char.is_numeric()
}

/// An `_` that does not stand between digits (or after a base prefix).
fn misplaced_separator(text: &str) -> bool {
    let mut before = '.';
    let mut chars = text.chars().peekable();
    let mut hexadecimal = false;
    if text.starts_with('0') {
        chars.next();
        before = '0';
        if let Some(prefix) = chars.next_if(|char| matches!(char.to_ascii_lowercase(), 'x' | 'o' | 'b')) {
            hexadecimal = prefix.eq_ignore_ascii_case(&'x');
        }
    }
    for char in chars {
        let now = match char {
            '_' if before != '0' => return true,
            '_' => '_',
            _ if char.is_ascii_digit() || (hexadecimal && char.is_ascii_hexdigit()) => '0',
            _ if before == '_' => return true,
            _ => '.',
        };
        before = now;
    }
    before == '_'
}
