//! Arguments of a marker, with controller-gen's grammar and its error texts.
//!
//! One difference: controller-gen cuts the last word off a bare string that is followed by a blank
//! (`verbs=get ,groups=apps` has the empty verb); here blanks round a bare string mean nothing.

use std::collections::BTreeMap;

use super::scan::{ScanError, Scanner, Token, Wrong};
use super::{Argument, ArgumentType, MarkerDefinition, Value};

/// What stands behind the name of an argument.
pub(super) const EQUALS: &str = "equals";

/// A marker text cut at its first `=`.
pub(super) struct Split<'a> {
    /// All before the `=`.
    pub(super) anonymous: &'a str,
    /// The same without its last `:`-part.
    pub(super) name: &'a str,
}

/// Cuts a marker text that begins after its `+`.
pub(super) fn split(text: &str) -> Split<'_> {
    let Some((anonymous, _)) = text.split_once('=') else { return Split { anonymous: text, name: text } };
    Split { anonymous, name: anonymous.rsplit_once(':').map_or(anonymous, |(name, _)| name) }
}

/// Reads the arguments of a marker text (after its `+`) as the definition wants them. Offsets are in `text`.
pub(super) fn arguments(definition: &MarkerDefinition, text: &str) -> (BTreeMap<&'static str, Value>, Vec<ScanError>) {
    let Split { anonymous, name } = split(text);
    let start = match text.split_once('=') {
        None => text.len(),
        Some(_) if anonymous.len() > name.len() => name.len() + 1,
        Some(_) => anonymous.len() + 1,
    };
    let mut scanner = Scanner::new(&text[start..]);
    let mut values = BTreeMap::new();
    if scanner.peek().is_some() {
        named(definition, &mut scanner, &mut values);
    }
    // After an error the rest was not read: what is missing or too much can't be told.
    if scanner.errors.is_empty() {
        if scanner.scan() != Token::End {
            let rest = scanner.from(scanner.offset);
            scanner.error(format!("extra arguments provided: {rest:?}"));
        }
        for argument in definition.arguments.iter().filter(|argument| !argument.optional) {
            if !values.contains_key(argument.name) {
                scanner.wrong(Wrong::MissingArgument(argument.name));
            }
        }
    }
    let mut errors = scanner.errors;
    for error in &mut errors {
        error.offset += start;
    }
    (values, errors)
}

fn named(definition: &MarkerDefinition, scanner: &mut Scanner<'_>, values: &mut BTreeMap<&'static str, Value>) {
    while scanner.expect(Token::Ident, "argument name") {
        let (name, offset) = (scanner.token_text(), scanner.offset);
        if !scanner.expect(Token::Char('='), EQUALS) {
            return;
        }
        let Some(Argument { name, kind, .. }) = definition.arguments.iter().find(|argument| argument.name == name)
        else {
            scanner.errors.push(ScanError { what: Wrong::UnknownArgument(name.to_owned()), offset });
            return;
        };
        // What can't be read counts as given: there is an error already.
        let value = value(kind, scanner, false);
        values.insert(name, value.unwrap_or_else(|| kind.zero()));
        if !scanner.errors.is_empty() || scanner.peek().is_none() || !scanner.expect(Token::Char(','), "comma") {
            return;
        }
    }
}

fn value(kind: &ArgumentType, scanner: &mut Scanner<'_>, in_list: bool) -> Option<Value> {
    match kind {
        ArgumentType::String => string(scanner, false).map(Value::String),
        ArgumentType::Bool => {
            if !scanner.expect(Token::Ident, "true or false") {
                return None;
            }
            match scanner.token_text() {
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                other => {
                    scanner.error(format!("expected true or false, got {other:?}"));
                    None
                }
            }
        }
        ArgumentType::Int => {
            let sign = sign(scanner);
            if !scanner.expect(Token::Int, "integer") {
                return None;
            }
            let text = format!("{sign}{}", scanner.token_text());
            let value = text.parse().ok();
            if value.is_none() {
                scanner.error(format!("unable to parse integer: {text:?}"));
            }
            value.map(Value::Int)
        }
        ArgumentType::Number => {
            let sign = sign(scanner);
            if !matches!(scanner.scan(), Token::Int | Token::Float) {
                let text = scanner.token_text();
                scanner.error(format!("expected integer or float, got {text:?}"));
                return None;
            }
            let text = format!("{sign}{}", scanner.token_text());
            let value = text.parse().ok();
            if value.is_none() {
                scanner.error(format!("unable to parse number: {text:?}"));
            }
            value.map(Value::Number)
        }
        ArgumentType::List(item) => list(scanner, |scanner| value(item, scanner, true)),
        ArgumentType::Map(item) => map(item, scanner),
        ArgumentType::Any => guessed(&guess(scanner, !in_list), scanner),
    }
}

fn guessed(guess: &Guess, scanner: &mut Scanner<'_>) -> Option<Value> {
    match guess {
        Guess::Kind(kind) => value(kind, scanner, false),
        Guess::List(item) => list(scanner, |scanner| guessed(item, scanner)),
    }
}

/// What a value that may be anything looks like.
enum Guess {
    Kind(ArgumentType),
    List(Box<Guess>),
}

fn sign(scanner: &mut Scanner<'_>) -> &'static str {
    if scanner.peek() == Some('-') {
        scanner.scan();
        return "-";
    }
    ""
}

/// A quoted, raw or bare string; a bare one ends at `,`, `;`, `}`, and as a key of a map at `:`.
fn string(scanner: &mut Scanner<'_>, key: bool) -> Option<String> {
    let numbers = std::mem::replace(&mut scanner.numbers, false);
    let token = scanner.scan();
    let value = if matches!(token, Token::String | Token::RawString) {
        let value = unquote(scanner.token_text());
        if value.is_none() {
            scanner.error("unable to parse string: invalid syntax");
        }
        value
    } else {
        let (start, mut end) = (scanner.offset, scanner.end());
        let delimits = |char| matches!(char, ',' | ';' | '}') || (key && char == ':');
        while scanner.peek_no_space().is_some_and(|char| !delimits(char)) {
            scanner.scan();
            end = scanner.end();
        }
        Some(scanner.slice(start, end).to_string())
    };
    scanner.numbers = numbers;
    value
}

/// `{a, b}` or `a;b`.
fn list(scanner: &mut Scanner<'_>, item: impl Fn(&mut Scanner<'_>) -> Option<Value>) -> Option<Value> {
    let mut values = Vec::new();
    if scanner.peek_no_space() == Some('{') {
        scanner.scan();
        while scanner.peek_no_space().is_some_and(|char| char != '}') {
            values.extend(item(scanner));
            if scanner.peek_no_space() == Some('}') {
                break;
            }
            if !scanner.expect(Token::Char(','), "comma") {
                return None;
            }
        }
        if !scanner.expect(Token::Char('}'), "close curly brace") {
            return None;
        }
        return Some(Value::List(values));
    }
    while scanner.peek_no_space().is_some_and(|char| !matches!(char, ',' | '}')) {
        values.extend(item(scanner));
        match scanner.peek_no_space() {
            None | Some(',' | '}') => break,
            Some(char) => {
                scanner.scan();
                if char != ';' {
                    let text = scanner.token_text();
                    scanner.error(format!("expected comma, got {text:?}"));
                    return None;
                }
            }
        }
    }
    Some(Value::List(values))
}

/// `{key: value, …}`.
fn map(item: &ArgumentType, scanner: &mut Scanner<'_>) -> Option<Value> {
    let mut values = BTreeMap::new();
    if !scanner.expect(Token::Char('{'), "open curly brace") {
        return None;
    }
    while scanner.peek_no_space().is_some_and(|char| char != '}') {
        let key = string(scanner, true);
        if !scanner.expect(Token::Char(':'), "colon") {
            return None;
        }
        if let (Some(key), Some(value)) = (key, value(item, scanner, false)) {
            values.insert(key, value);
        }
        if scanner.peek_no_space() == Some('}') {
            break;
        }
        if !scanner.expect(Token::Char(','), "comma") {
            return None;
        }
    }
    scanner.expect(Token::Char('}'), "close curly brace").then_some(Value::Map(values))
}

/// The type of a value that may be anything, from how it begins.
fn guess(scanner: &Scanner<'_>, lists: bool) -> Guess {
    let text = scanner.rest();
    let mut ahead = Scanner::new(text);
    if lists {
        let item = guess(scanner, false);
        let end = loop {
            let token = ahead.scan();
            if matches!(token, Token::Char(',' | ';') | Token::End) {
                break token;
            }
        };
        return if end == Token::Char(';') { Guess::List(Box::new(item)) } else { item };
    }
    match ahead.peek_no_space() {
        Some('"' | '\'' | '`') => return Guess::Kind(ArgumentType::String),
        Some('{') => {
            ahead.scan();
            let first = ahead.peek_no_space();
            let item = guess(&ahead, false);
            if matches!(item, Guess::Kind(ArgumentType::String)) {
                string(&mut ahead, true);
                if ahead.scan() == Token::Char(':') || first == Some('}') {
                    return Guess::Kind(ArgumentType::Map(&ArgumentType::Any));
                }
            }
            return Guess::List(Box::new(item));
        }
        Some('t' | 'f') => {
            ahead.scan();
            let bool = matches!(ahead.token_text(), "true" | "false");
            return Guess::Kind(if bool { ArgumentType::Bool } else { ArgumentType::String });
        }
        _ => {}
    }
    let mut token = ahead.scan();
    if token == Token::Char('-') {
        token = ahead.scan();
    }
    let delimited = matches!(ahead.peek_no_space(), None | Some(',' | ';' | '}'));
    Guess::Kind(match token {
        Token::Int if ahead.errors.is_empty() && delimited => ArgumentType::Int,
        Token::Float if ahead.errors.is_empty() && delimited => ArgumentType::Number,
        _ => ArgumentType::String,
    })
}

/// The value of a Go string literal.
fn unquote(text: &str) -> Option<String> {
    if let Some(raw) = text.strip_prefix('`') {
        return Some(raw.strip_suffix('`')?.replace('\r', ""));
    }
    let mut chars = text.strip_prefix('"')?.strip_suffix('"')?.chars();
    let mut bytes = Vec::new();
    let number = |chars: &mut std::str::Chars<'_>, count: usize, base: u32, first: u32| {
        (0..count).try_fold(first, |value, _| Some(value * base + chars.next()?.to_digit(base)?))
    };
    while let Some(char) = chars.next() {
        if char == '"' || char == '\n' {
            return None;
        }
        if char != '\\' {
            bytes.extend(char.encode_utf8(&mut [0; 4]).bytes());
            continue;
        }
        let simple = match chars.next()? {
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 11,
            '\\' => b'\\',
            '"' => b'"',
            'x' => u8::try_from(number(&mut chars, 2, 16, 0)?).ok()?,
            digit @ '0'..='7' => u8::try_from(number(&mut chars, 2, 8, digit.to_digit(8)?)?).ok()?,
            kind @ ('u' | 'U') => {
                let char = char::from_u32(number(&mut chars, if kind == 'u' { 4 } else { 8 }, 16, 0)?)?;
                bytes.extend(char.encode_utf8(&mut [0; 4]).bytes());
                continue;
            }
            _ => return None,
        };
        bytes.push(simple);
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
