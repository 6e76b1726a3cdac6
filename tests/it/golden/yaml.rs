//! The YAML emitter, compared with controller-gen's YAML library and with a YAML 1.2 reader.
//!
//! Two outputs differ from the peer, because other readers fail on its bytes: a string with U+2028 or U+2029 (escaped
//! here, raw there) and a number beyond a double (quoted here, plain there). Only the reader judges values that the
//! peer cannot print or reads back changed (U+0085, U+007F, the key `<<`, …).

use std::path::Path;
use std::process::Command;

use memcached_sdk::yaml::{document, file};
use serde_json::{Map, Value, json};

use super::peer;
use crate::random::Random;

#[test]
fn documents_look_like_the_peer() {
    let table = [
        (json!({}), "{}\n"),
        (json!([]), "[]\n"),
        (json!(null), "null\n"),
        (json!("text"), "text\n"),
        (json!({"b": 1, "a": true}), "a: true\nb: 1\n"),
        (json!({"list": ["x", {"b": [], "a": {}}, ["y"]]}), "list:\n- x\n- a: {}\n  b: []\n- - \"y\"\n"),
        (json!([[{"a": [[1]]}]]), "- - a:\n    - - 1\n"),
        (json!({"v10": 0, "v9": 0, "v-1": 0, "vB": 0, "va": 0}), "v-1: 0\nv9: 0\nv10: 0\nvB: 0\nva: 0\n"),
        (json!({"x01": 0, "x1": 0, "x001": 0, "x": 0}), "x: 0\nx1: 0\nx01: 0\nx001: 0\n"),
        (json!({"a\nb": 1}), "? |-\n  a\n  b\n: 1\n"),
        (json!({"yes": 1, "": 2, " ": 3}), "\"\": 2\n' ': 3\n\"yes\": 1\n"),
        (json!({"x-kubernetes-int-or-string": true, "$ref": "#"}), "$ref: '#'\nx-kubernetes-int-or-string: true\n"),
    ];
    check(&table);
}

#[test]
fn strings_are_quoted_when_they_would_be_read_as_something_else() {
    let double = [
        "",
        "~",
        "null",
        "Null",
        "y",
        "N",
        "yes",
        "No",
        "ON",
        "Off",
        "true",
        "FALSE",
        "1",
        "-1",
        "+1",
        "0x1F",
        "0o17",
        "017",
        "08",
        "0b101",
        "1_000",
        "1.5",
        ".5",
        "1.",
        "1e3",
        "-1.5E-3",
        ".inf",
        "-.INF",
        ".NaN",
        "12:30",
        "1:00:00.5",
        "2024-01-31",
        "2024-1-1T1:2:3Z",
        "2024-01-31 10:20:30",
        "0b-1",
        "70e2024",
    ];
    let single = [
        "*", "&a", "!x", "#", "a: b", "a #b", "- a", "? a", ":", "@a", "`a", "%a", "{a}", "[a]", "'a'", "\"a\"", " a",
        "a ", "---", "...",
    ];
    let plain = [
        "yEs",
        "nULL",
        "a:b",
        "a#b",
        "-a",
        "?a",
        ":a",
        "1.2.3",
        "v1",
        "0x",
        "2024-02-30",
        "24:60:60",
        "a'b",
        "a\"b",
        "a\\b",
        "é",
        "a,b",
        "=",
        "10Gi",
        "100m",
        "_",
        ".",
        "..",
        "/metrics",
    ];
    for text in double {
        assert_eq!(document(&json!(text)), format!("\"{text}\"\n"));
    }
    for text in single {
        assert_eq!(document(&json!(text)), format!("'{}'\n", text.replace('\'', "''")));
    }
    for text in plain {
        assert_eq!(document(&json!(text)), format!("{text}\n"));
    }
}

#[test]
fn characters_that_cannot_stand_alone_are_escaped() {
    check(&[
        (json!("a\tb"), "\"a\\tb\"\n"),
        (json!("\u{1}\u{7}\u{1b}\r"), "\"\\x01\\a\\e\\r\"\n"),
        (json!("🦀"), "\"\\U0001F980\"\n"),
        (json!("a\u{a0}b"), "a\u{a0}b\n"),
        (json!("\u{7f}"), "\"\\x7F\"\n"),
        (json!("\u{85}"), "\"\\N\"\n"),
        (json!("a\u{2028}b"), "\"a\\Lb\"\n"),
        (json!({"<<": "<<"}), "\"<<\": <<\n"),
    ]);
}

#[test]
fn text_of_several_lines_is_a_literal_block() {
    check(&[
        (json!({"a": "x\ny"}), "a: |-\n  x\n  y\n"),
        (json!({"a": "x\n"}), "a: |\n  x\n"),
        (json!({"a": "x\n\n"}), "a: |+\n  x\n\n"),
        (json!({"a": " x\ny"}), "a: |2-\n   x\n  y\n"),
        (json!({"a": "\nx"}), "a: |2-\n\n  x\n"),
        (json!({"a": "x\n  y\n\nz"}), "a: |-\n  x\n    y\n\n  z\n"),
        (json!(["x\ny", {"b": "x\ny"}]), "- |-\n  x\n  y\n- b: |-\n    x\n    y\n"),
        (json!({"a": "x \ny"}), "a: \"x \\ny\"\n"),
        (json!({"a": "x\ny "}), "a: \"x\\ny \"\n"),
    ]);
}

#[test]
fn long_text_is_folded_after_column_80() {
    let words = "word ".repeat(20);
    let line = "word ".repeat(15);
    check(&[
        (json!({"a": words.trim()}), &format!("a: {line}word\n  word word word word\n")),
        (json!({"a": format!("{words}#")}), &format!("a: '{line}word\n  word word word word #'\n")),
        (json!({"a": format!("{words}\t")}), &format!("a: \"{line}word\n  word word word word \\t\"\n")),
        (json!({"a": format!("{} y", "x".repeat(77))}), &format!("a: {} y\n", "x".repeat(77))),
        (json!({"a": format!("{} y", "x".repeat(78))}), &format!("a: {}\n  y\n", "x".repeat(78))),
        (json!({"a": "x".repeat(100)}), &format!("a: {}\n", "x".repeat(100))),
        (json!({"k".repeat(129): 1}), &format!("? {}\n: 1\n", "k".repeat(129))),
    ]);
}

#[test]
fn whole_numbers_have_no_fraction() {
    check(&[
        (json!([0, -1, u64::MAX, i64::MIN]), "- 0\n- -1\n- 18446744073709551615\n- -9223372036854775808\n"),
        (json!([1.0, -0.0, 1_000_000.0, 0.5]), "- 1\n- 0\n- 1000000\n- 0.5\n"),
        (json!([1e21, 1_234_567.5, 0.0001, 0.000_01]), "- 1e+21\n- 1.2345675e+06\n- 0.0001\n- 1e-05\n"),
    ]);
}

#[test]
fn a_file_is_its_header_and_a_line_of_dashes_before_each_document() {
    assert_eq!(file(None, &[]), "");
    assert_eq!(file(Some("# header\n"), &[json!({"a": 1}), json!({})]), "# header\n---\na: 1\n---\n{}\n");
}

/// A YAML 1.2 reader returns every random value unchanged.
#[test]
fn every_value_reads_back() {
    let mut random = Random(1);
    for number in 0..10_000 {
        let value = random.value(number % 4, &any_char);
        let text = document(&value);
        let back: Value = serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{value}\n{text}"));
        assert_eq!(numbers_as_floats(&back), numbers_as_floats(&value), "{text}");
    }
}

/// Bytes equal those of controller-gen's library, for every value that it can print.
#[test]
fn the_peer_prints_the_same_bytes() {
    let Some(peer) = peer::program("yaml-differential", "the_peer_prints_the_same_bytes") else { return };
    let mut random = Random(2);
    let mut values: Vec<Value> = (0..5_000).map(|_| json!({ "a": random.text(&any_char) })).collect();
    values.extend((0..5_000).map(|_| json!([random.number_like()])));
    values.extend((0..2_000).map(|_| json!({ random.text(&any_char): 1, random.text(&any_char): 2 })));
    values.extend((0..2_000).map(|_| json!({ random.number_like(): 1, random.number_like(): [2] })));
    values.extend((0..3_000).map(|number| random.value(1 + number % 4, &no_digit)));
    values.retain(|value| !known_to_differ(value));

    let answers = ask(&peer, &values);
    assert_eq!(answers.len(), values.len());
    let mut compared = 0;
    for (value, answer) in values.iter().zip(&answers) {
        let Some(expected) = answer else { continue };
        assert_eq!(&document(value), expected, "{value}");
        compared += 1;
    }
    assert!(compared > 10_000, "the peer refused too many values: {compared} of {} compared", values.len());

    let differing = [json!("a\u{2028}b"), json!({"a\u{2029}b": 1}), json!("70e2024")];
    for (value, answer) in differing.iter().zip(ask(&peer, &differing)) {
        assert!(known_to_differ(value));
        assert_ne!(answer, Some(document(value)), "no longer a difference: {value}");
    }
}

fn check(table: &[(Value, &str)]) {
    for (value, expected) in table {
        assert_eq!(document(value), *expected, "{value}");
        assert_eq!(document(value), *expected, "again: {value}");
    }
}

fn ask(peer: &Path, values: &[Value]) -> Vec<Option<String>> {
    let input = values.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    peer::run(&mut Command::new(peer), &input).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn known_to_differ(value: &Value) -> bool {
    let differs = |text: &str| {
        let beyond_a_double = text.ends_with(|c: char| c.is_ascii_digit() || "_.".contains(c))
            && text.replace('_', "").parse::<f64>().is_ok_and(f64::is_infinite);
        text.contains(['\u{2028}', '\u{2029}']) || beyond_a_double
    };
    match value {
        Value::String(text) => differs(text),
        Value::Array(items) => items.iter().any(known_to_differ),
        Value::Object(map) => map.iter().any(|(key, value)| differs(key) || known_to_differ(value)),
        _ => false,
    }
}

fn numbers_as_floats(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.iter().map(numbers_as_floats).collect(),
        Value::Object(map) => {
            map.iter().map(|(key, value)| (key.clone(), numbers_as_floats(value))).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

impl Random {
    /// Keys of larger maps have no digits: the peer's comparison is cyclic there, so its order is random.
    fn value(&mut self, depth: usize, key_char: &dyn Fn(&mut Random) -> char) -> Value {
        match self.below(if depth == 0 { 4 } else { 8 }) {
            0 => self.text(&any_char).into(),
            1 => self.number_like().into(),
            2 => self.number(),
            3 => self.pick(&[json!(null), json!(true), json!(false), json!([]), json!({})].each_ref()).clone(),
            4 | 5 => (0..self.below(4)).map(|_| self.value(depth - 1, key_char)).collect(),
            _ => (0..self.below(5))
                .map(|_| (self.text(key_char), self.value(depth - 1, key_char)))
                .collect::<Map<_, _>>()
                .into(),
        }
    }

    fn number(&mut self) -> Value {
        let digits = self.below(1_i64 << 30);
        let exponent = self.below(60) - 30;
        let scaled = f64::from(i32::try_from(digits).unwrap()) * 10f64.powi(exponent);
        self.pick(&[json!(digits), json!(-digits), json!(scaled), json!(-scaled), json!(digits * digits)].each_ref())
            .clone()
    }

    fn text(&mut self, char: &dyn Fn(&mut Random) -> char) -> String {
        let length = match self.below(20) {
            0 => 150,
            1..4 => 60,
            _ => 8,
        };
        let length = self.below(length);
        // Long texts are mostly words; otherwise no line would be folded.
        let wordy = length > 10 && self.below(3) > 0;
        (0..length)
            .map(|_| if wordy && self.below(40) > 0 { self.pick(&['a', 'b', 'z', ' ']) } else { char(self) })
            .collect()
    }

    /// Text close to numbers, dates and reserved words.
    fn number_like(&mut self) -> String {
        const PIECES: [&str; 46] = [
            "0",
            "1",
            "7",
            "8",
            "9",
            "12",
            "31",
            "59",
            "60",
            "2024",
            "18446744073709551615",
            "9223372036854775808",
            "-",
            "+",
            ".",
            "_",
            ":",
            "e",
            "E",
            "x",
            "o",
            "b",
            "0x",
            "0X",
            "0o",
            "0b",
            "0B",
            "F",
            "T",
            "t",
            "Z",
            " ",
            "-01-01",
            "-02-29",
            "10:20:30",
            "+01:00",
            ",5",
            "inf",
            "NaN",
            "Inf",
            "~",
            "null",
            "yes",
            "Off",
            "y",
            "<<",
        ];
        (0..=self.below(5)).map(|_| self.pick(&PIECES)).collect()
    }
}

fn any_char(random: &mut Random) -> char {
    const NASTY: &[char] = &[
        ' ',
        ' ',
        ' ',
        '\n',
        '\n',
        '\t',
        '\r',
        '\0',
        '\u{1}',
        '\u{7}',
        '\u{1b}',
        '\u{7f}',
        '\u{85}',
        '\u{a0}',
        '\u{2028}',
        '\u{2029}',
        '\u{feff}',
        '\u{fffd}',
        '\u{ffff}',
        '\u{10ffff}',
        '🦀',
        'é',
        '語',
        '\'',
        '"',
        '\\',
        '#',
        ':',
        '-',
        '?',
        ',',
        '[',
        ']',
        '{',
        '}',
        '&',
        '*',
        '!',
        '|',
        '>',
        '%',
        '@',
        '`',
        '<',
        '=',
        '~',
        '.',
        '/',
        '$',
        '0',
        '1',
        '9',
        'a',
        'b',
        'y',
        'n',
        'Z',
    ];
    random.pick(NASTY)
}

fn no_digit(random: &mut Random) -> char {
    loop {
        let c = any_char(random);
        if !c.is_ascii_digit() {
            return c;
        }
    }
}
