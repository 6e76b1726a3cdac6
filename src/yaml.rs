//! The YAML emitter. For the same JSON, it prints the same bytes as controller-gen.
//!
//! controller-gen uses go-yaml 2, so this follows that emitter: block lists without indentation below their key,
//! natural key order, line breaks after column 80, literal blocks for text with line feeds, and double quotes around
//! every string that YAML 1.1 would read as another type.
//!
//! Must stay true: every YAML reader gets the same value back. Where the peer's bytes do not allow that (U+0085, U+2028
//! and U+2029, the key `<<`, `70e2024`), the string is quoted and escaped; `tests/it/golden/yaml.rs` has the whole
//! list.

mod number;
mod plain;
pub(crate) mod template;

use std::cmp::Ordering;
use std::fmt::{Display, Write as _};
use std::ops::Range;

use serde_json::{Map, Value};

/// A line is broken at the first single blank beyond this column.
const BEST_WIDTH: usize = 80;
/// A longer key is written as `? key`.
const MAX_SIMPLE_KEY: usize = 128;
const INDENT: usize = 2;

/// A parser's error message without the leading place and the trailing advice for programmers.
pub(crate) fn reason(message: &str) -> &str {
    let line = message.lines().next().unwrap_or_default().trim_start_matches("error: ");
    let reason = line.split_once(": ").filter(|(place, _)| place.starts_with("line ")).map_or(line, |(_, why)| why);
    reason.split(", set ").next().unwrap_or(reason)
}

/// The message about the text of a file that is not YAML, where `above` lines stand before the text.
pub(crate) fn invalid(path: impl Display, above: usize, error: &serde_yaml::Error) -> String {
    let line = error.location().map(|place| format!(":{}", above as u64 + place.line().max(1))).unwrap_or_default();
    format!("`{path}{line}` is not valid YAML: {}", reason(&error.to_string()))
}

/// A whole file: `header` unchanged, then each document after a `---` line.
pub fn file(header: Option<&str>, documents: &[Value]) -> String {
    let mut out = header.unwrap_or_default().to_owned();
    for value in documents {
        out.push_str("---\n");
        out.push_str(&document(value));
    }
    out
}

/// The ranges of non-empty documents in a YAML file.
pub(crate) fn documents(text: &str) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        if line.trim_end() == "---" || line.starts_with("--- ") {
            all.push(start..at);
            start = at + line.len();
        }
        at += line.len();
    }
    all.push(start..at);
    let says = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    all.retain(|range| text[range.clone()].lines().any(says));
    all
}

/// A YAML document without a leading `---`, with a trailing line feed.
pub fn document(value: &Value) -> String {
    let mut emitter = Emitter::default();
    emitter.node(value, Position::Root);
    emitter.start_line();
    emitter.out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Root,
    Item,
    /// A key or a value of a mapping.
    Entry,
    SimpleKey,
}

/// The output and the state of the current line.
struct Emitter {
    out: String,
    /// In characters.
    column: usize,
    /// `None` above the root.
    indent: Option<usize>,
    /// The last token was a separator.
    whitespace: bool,
    /// The line has only blanks, `-`, `?` and `:`.
    indention: bool,
}

impl Default for Emitter {
    fn default() -> Self {
        Self { out: String::new(), column: 0, indent: None, whitespace: true, indention: true }
    }
}

impl Emitter {
    fn node(&mut self, value: &Value, position: Position) {
        match value {
            Value::Null => self.plain("null"),
            Value::Bool(flag) => self.plain(if *flag { "true" } else { "false" }),
            Value::Number(number) => self.plain(&number::text(number)),
            Value::String(text) => self.string(text, position),
            Value::Array(items) if items.is_empty() => self.empty("[", "]"),
            Value::Array(items) => self.sequence(items, position),
            Value::Object(map) if map.is_empty() => self.empty("{", "}"),
            Value::Object(map) => self.mapping(map),
        }
    }

    fn empty(&mut self, open: &str, close: &str) {
        self.indicator(open, true, true, false);
        self.indicator(close, false, false, false);
    }

    fn sequence(&mut self, items: &[Value], position: Position) {
        let outer = self.indent;
        if outer.is_none() || position != Position::Entry || self.indention {
            self.indent = Some(outer.map_or(0, |indent| indent + INDENT));
        }
        for item in items {
            self.start_line();
            self.indicator("-", true, false, true);
            self.node(item, Position::Item);
        }
        self.indent = outer;
    }

    fn mapping(&mut self, map: &Map<String, Value>) {
        let outer = self.indent;
        self.indent = Some(outer.map_or(0, |indent| indent + INDENT));
        for key in sorted_keys(map) {
            self.start_line();
            if key.len() <= MAX_SIMPLE_KEY && !key.contains(is_break) {
                self.string(key, Position::SimpleKey);
                self.indicator(":", false, false, false);
            } else {
                self.indicator("?", true, false, true);
                self.string(key, Position::Entry);
                self.start_line();
                self.indicator(":", true, false, true);
            }
            self.node(&map[key], Position::Entry);
        }
        self.indent = outer;
    }

    fn string(&mut self, text: &str, position: Position) {
        let outer = self.indent;
        self.indent = Some(outer.map_or(INDENT, |indent| indent + INDENT));
        let shape = YamlShape::of(text);
        let simple_key = position == Position::SimpleKey;
        if text.contains('\n') && shape.block && !simple_key {
            self.literal(text);
        } else if text.contains('\n') || plain::is_special(text) || simple_key && text == "<<" {
            self.double_quoted(text, !simple_key);
        } else if shape.plain {
            self.folded(text, !simple_key, 0..text.len());
        } else if shape.single_quoted {
            self.single_quoted(text, !simple_key);
        } else {
            self.double_quoted(text, !simple_key);
        }
        self.indent = outer;
    }

    /// A scalar that is not a string.
    fn plain(&mut self, text: &str) {
        self.separate();
        self.write(text);
        self.end_token();
    }

    /// Plain text; a single blank beyond the best width becomes a line break.
    fn folded(&mut self, text: &str, may_break: bool, breakable: std::ops::Range<usize>) {
        self.separate();
        let mut after_blank = false;
        for (at, c) in text.char_indices() {
            let next_is_blank = text[at + c.len_utf8()..].starts_with(' ');
            let blank = c == ' ';
            if blank
                && may_break
                && !after_blank
                && self.column > BEST_WIDTH
                && breakable.contains(&at)
                && !next_is_blank
            {
                self.start_line();
            } else {
                if c == '\'' && breakable.start > 0 {
                    self.put('\'');
                }
                self.put(c);
            }
            if !blank {
                self.indention = false;
            }
            after_blank = blank;
        }
        self.end_token();
    }

    fn single_quoted(&mut self, text: &str, may_break: bool) {
        self.indicator("'", true, true, false);
        // The first and the last character stay beside their quote.
        self.folded(text, may_break, 1..text.len().saturating_sub(1));
        self.indicator("'", false, false, false);
        self.end_token();
    }

    fn double_quoted(&mut self, text: &str, may_break: bool) {
        self.indicator("\"", true, false, false);
        // The peer escapes every character of a text with a byte order mark.
        let escape_all = text.starts_with('\u{feff}');
        let mut after_blank = false;
        for (at, c) in text.char_indices() {
            let rest = &text[at + c.len_utf8()..];
            let blank = c == ' ';
            if escape_all || !is_printable(c) || is_break(c) || matches!(c, '"' | '\\') {
                self.write(&escape(c));
                after_blank = false;
                continue;
            }
            if blank && may_break && !after_blank && self.column > BEST_WIDTH && at > 0 && !rest.is_empty() {
                self.start_line();
                if rest.starts_with(' ') {
                    self.put('\\');
                }
            } else {
                self.put(c);
            }
            after_blank = blank;
        }
        self.indicator("\"", false, false, false);
        self.end_token();
    }

    fn literal(&mut self, text: &str) {
        self.indicator("|", true, false, false);
        if text.starts_with([' ', '\n']) {
            self.indicator("2", false, false, false);
        }
        let body = text.trim_end_matches('\n');
        match text.len() - body.len() {
            0 => self.indicator("-", false, false, false),
            1 if !body.is_empty() => {}
            _ => self.indicator("+", false, false, false),
        }
        self.line_feed();
        self.indention = true;
        self.whitespace = true;
        for line in text.split_inclusive('\n') {
            if let Some(c) = line.chars().next()
                && c != '\n'
            {
                self.start_line();
                self.indention = false;
            }
            let content = line.trim_end_matches('\n');
            self.write(content);
            if content.len() < line.len() {
                self.line_feed();
                self.indention = true;
            }
        }
    }

    fn start_line(&mut self) {
        let indent = self.indent.unwrap_or(0);
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.line_feed();
        }
        while self.column < indent {
            self.put(' ');
        }
        self.whitespace = true;
        self.indention = true;
    }

    fn indicator(&mut self, text: &str, needs_whitespace: bool, is_whitespace: bool, is_indention: bool) {
        if needs_whitespace {
            self.separate();
        }
        self.write(text);
        self.whitespace = is_whitespace;
        self.indention &= is_indention;
    }

    fn separate(&mut self) {
        if !self.whitespace {
            self.put(' ');
        }
    }

    fn end_token(&mut self) {
        self.whitespace = false;
        self.indention = false;
    }

    fn line_feed(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    fn write(&mut self, text: &str) {
        text.chars().for_each(|c| self.put(c));
    }
}

struct YamlShape {
    plain: bool,
    single_quoted: bool,
    block: bool,
}

impl YamlShape {
    fn of(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let (Some(&first), Some(&last)) = (chars.first(), chars.last()) else {
            return Self { plain: true, single_quoted: true, block: false };
        };
        let followed_by = |at: usize, test: fn(char) -> bool| chars.get(at + 1).is_none_or(|&c| test(c));
        let mut indicator = text.starts_with("---") || text.starts_with("...");
        indicator |= match first {
            '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => true,
            '?' | ':' | '-' => followed_by(0, is_blank),
            _ => false,
        };
        let (mut line_break, mut special, mut break_blank, mut blank_break) = (false, false, false, false);
        let mut before = None;
        for (at, &c) in chars.iter().enumerate() {
            if at > 0 {
                indicator |= c == ':' && followed_by(at, is_blank);
                indicator |= c == '#' && before.is_some_and(|c| is_blank(c) || is_break(c) || c == '\0');
            }
            special |= !is_printable(c);
            line_break |= is_break(c);
            break_blank |= c == ' ' && before.is_some_and(is_break);
            blank_break |= is_break(c) && before == Some(' ');
            before = Some(c);
        }
        let edge = [first, last].into_iter().any(|c| c == ' ' || is_break(c));
        Self {
            plain: !(edge || break_blank || blank_break || special || line_break || indicator),
            single_quoted: !(break_blank || blank_break || special),
            block: !(blank_break || special || last == ' '),
        }
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// U+2028 and U+2029 are line breaks in YAML 1.1 but not in 1.2: unescaped, the two would read different texts.
fn is_printable(c: char) -> bool {
    match c {
        '\u{feff}' | '\u{2028}' | '\u{2029}' => false,
        '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' => true,
        _ => false,
    }
}

fn escape(c: char) -> String {
    let short = match c {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            let code = u32::from(c);
            let mut out = String::new();
            let _ = match code {
                0..=0xff => write!(out, "\\x{code:02X}"),
                0x100..=0xffff => write!(out, "\\u{code:04X}"),
                _ => write!(out, "\\U{code:08X}"),
            };
            return out;
        }
    };
    format!("\\{short}")
}

/// The keys in natural order. That order has cycles (`a1b` < `a2` < `a12` < `a1b`), for which the peer's output varies
/// from run to run; insertion in byte order makes them deterministic.
fn sorted_keys(map: &Map<String, Value>) -> Vec<&String> {
    let mut keys: Vec<&String> = map.keys().collect();
    keys.sort();
    for end in 1..keys.len() {
        let mut at = end;
        while at > 0 && natural_order(keys[at], keys[at - 1]) == Ordering::Less {
            keys.swap(at, at - 1);
            at -= 1;
        }
    }
    keys
}

/// Compares at the first difference: symbols before digits before letters, digits by the value of their number.
fn natural_order(a: &str, b: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let Some(at) = a.iter().zip(&b).position(|(x, y)| x != y) else {
        return a.len().cmp(&b.len());
    };
    let (x, y) = (a[at], b[at]);
    match (x.is_alphabetic(), y.is_alphabetic()) {
        (true, true) => return x.cmp(&y),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // A zero counts only inside of a number.
    let inside = (x == '0' || y == '0') && a[..at].iter().rev().take_while(|c| c.is_ascii_digit()).any(|&c| c != '0');
    let number = |chars: &[char]| {
        chars[at..].iter().map_while(|c| c.to_digit(10)).fold((i64::from(inside), 0), |(value, len), digit| {
            (value.wrapping_mul(10).wrapping_add(i64::from(digit)), len + 1)
        })
    };
    number(&a).cmp(&number(&b)).then(x.cmp(&y))
}
