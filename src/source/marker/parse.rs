//! Parses marker arguments with controller-gen's grammar and error texts.
//!
//! One difference: controller-gen drops the last word of a bare string before a blank (`verbs=get ,groups=apps` has the
//! empty verb); here blanks around a bare string mean nothing.

use std::collections::BTreeMap;

use super::scan::{ScanError, Scanner, Token, Wrong};
use super::{ArgumentType, MarkerDefinition, MarkerValue};

/// Expected after the name of an argument.
pub(super) const EQUALS: &str = "equals";

/// The part of a marker text (after its `+`) before the first `=`, and the same without its last `:`-part.
pub(super) fn split(text: &str) -> (&str, &str) {
    let Some((anonymous, _)) = text.split_once('=') else { return (text, text) };
    (anonymous, anonymous.rsplit_once(':').map_or(anonymous, |(name, _)| name))
}

/// Parses the arguments of a marker text (after its `+`). Error offsets are relative to `text`.
pub(super) fn arguments(
    definition: &MarkerDefinition,
    text: &str,
) -> Result<BTreeMap<&'static str, MarkerValue>, ScanError> {
    let start = if text.contains('=') { split(text).1.len() + 1 } else { text.len() };
    let read = named(definition, &mut Scanner::new(&text[start..]));
    read.map_err(|error| ScanError { offset: error.offset + start, ..error })
}

fn named(
    definition: &MarkerDefinition,
    scanner: &mut Scanner<'_>,
) -> Result<BTreeMap<&'static str, MarkerValue>, ScanError> {
    let mut values = BTreeMap::new();
    let mut more = scanner.peek().is_some();
    while more {
        scanner.expect(&Token::Ident, "argument name")?;
        let (name, offset) = (scanner.token_text(), scanner.offset);
        scanner.expect(&Token::Char('='), EQUALS)?;
        let Some(argument) = definition.arguments.iter().find(|argument| argument.name == name) else {
            return Err(ScanError { what: Wrong::UnknownArgument(name.to_owned()), offset });
        };
        values.insert(argument.name, value(argument.kind, scanner)?);
        more = scanner.peek().is_some();
        if more {
            scanner.expect(&Token::Char(','), "comma")?;
        }
    }
    let mut missing = definition.arguments.iter().filter(|argument| !argument.optional);
    match missing.find(|argument| !values.contains_key(argument.name)) {
        Some(argument) => Err(scanner.wrong(Wrong::MissingArgument(argument.name))),
        None => Ok(values),
    }
}

fn value(kind: ArgumentType, scanner: &mut Scanner<'_>) -> Result<MarkerValue, ScanError> {
    match kind {
        ArgumentType::Text => string(scanner).map(MarkerValue::Text),
        ArgumentType::Texts => strings(scanner).map(MarkerValue::Texts),
        ArgumentType::Bool => {
            scanner.expect(&Token::Ident, "true or false")?;
            scanner.token_text().parse().map(MarkerValue::Bool).map_err(|_| scanner.unexpected("true or false"))
        }
        ArgumentType::Int => {
            let sign = if scanner.peek() == Some('-') { "-" } else { "" };
            if !sign.is_empty() {
                scanner.scan()?;
            }
            scanner.expect(&Token::Int, "integer")?;
            let digits = scanner.token_text();
            if let Some(digit) = digits.chars().find(|digit| digits.starts_with('0') && "89".contains(*digit)) {
                return Err(scanner.wrong(Wrong::OctalDigit(digit)));
            }
            let text = format!("{sign}{digits}");
            text.parse().map(MarkerValue::Int).map_err(|_| scanner.unexpected("integer"))
        }
    }
}

/// A quoted, raw or bare string; a bare one ends at `,`, `;` and `}`.
fn string(scanner: &mut Scanner<'_>) -> Result<String, ScanError> {
    if let Token::String(text) = scanner.scan()? {
        return Ok(text);
    }
    let start = scanner.offset;
    let mut end = scanner.end;
    while scanner.peek().is_some_and(|char| !matches!(char, ',' | ';' | '}')) {
        scanner.scan()?;
        end = scanner.end;
    }
    let text = scanner.text[start..end].to_owned();
    if has_argument(&text) {
        return Err(ScanError { what: Wrong::ArgumentInside(text), offset: start });
    }
    Ok(text)
}

/// Returns true if a bare value contains what looks like an argument: a blank, a word and `=`.
fn has_argument(text: &str) -> bool {
    text.match_indices('=').any(|(equals, _)| {
        let before = text[..equals].trim_end();
        let value = before.trim_end_matches(|char: char| char.is_alphanumeric() || char == '_');
        value.len() < before.len() && value.ends_with(char::is_whitespace)
    })
}

fn strings(scanner: &mut Scanner<'_>) -> Result<Vec<String>, ScanError> {
    let mut texts = Vec::new();
    if scanner.peek() == Some('{') {
        scanner.scan()?;
        while scanner.peek().is_some_and(|char| char != '}') {
            texts.push(string(scanner)?);
            if scanner.peek() == Some('}') {
                break;
            }
            scanner.expect(&Token::Char(','), "comma")?;
        }
        scanner.expect(&Token::Char('}'), "close curly brace")?;
        return Ok(texts);
    }
    while scanner.peek().is_some_and(|char| !matches!(char, ',' | '}')) {
        texts.push(string(scanner)?);
        if matches!(scanner.peek(), None | Some(',' | '}')) {
            break;
        }
        scanner.expect(&Token::Char(';'), "comma")?;
    }
    Ok(texts)
}
