//! Places in a value where Helm writes.

use std::fmt::Write as _;

use serde_json::Value;

use crate::yaml;

/// What in the text of [`Holes::lines`] is the indentation of what is nested in it, in columns.
pub(super) const NESTED: &str = "@nested@";

/// What stands in the holes of the objects of a chart. In a value a hole is a word that no object has.
pub(super) struct Holes {
    word: String,
    all: Vec<Hole>,
}

enum Hole {
    /// Inside of a line.
    Inline(String),
    /// In place of an entry of a mapping or an item of a list.
    Lines(String),
}

impl Holes {
    pub(super) fn new(objects: &[Value]) -> Self {
        let text: String = objects.iter().map(Value::to_string).collect();
        let mut word = "helmhole".to_owned();
        while text.contains(&word) {
            word.push('e');
        }
        Self { word, all: Vec::new() }
    }

    /// A string, or a part of one, that is `expression` in the template.
    pub(super) fn inline(&mut self, expression: impl Into<String>) -> String {
        self.hole(Hole::Inline(expression.into()))
    }

    /// An item of a list, or the end of a key of a mapping, in place of which there are these lines; the key begins with
    /// what it is sorted by.
    pub(super) fn lines(&mut self, text: impl Into<String>) -> String {
        self.hole(Hole::Lines(text.into()))
    }

    fn hole(&mut self, hole: Hole) -> String {
        self.all.push(hole);
        format!("{}{}x", self.word, self.all.len() - 1)
    }

    /// Whether a value has a hole.
    pub(super) fn are_in(&self, value: &Value) -> bool {
        value.to_string().contains(&self.word)
    }

    /// The template of an object.
    pub(super) fn text(&self, value: &Value) -> String {
        self.fill(&nested(value))
    }

    /// Text with its holes filled.
    pub(super) fn fill(&self, text: &str) -> String {
        let mut filled = String::new();
        let mut left: Vec<String> = text.lines().rev().map(str::to_owned).collect();
        while let Some(line) = left.pop() {
            match self.first(&line) {
                None => _ = writeln!(filled, "{line}"),
                Some((word, Hole::Inline(expression))) => left.push(line.replacen(&word, expression, 1)),
                Some((_, Hole::Lines(text))) => {
                    let indent = line.len() - line.trim_start().len();
                    let text = text.replace(NESTED, &(indent + 2).to_string());
                    left.extend(text.lines().rev().map(|line| format!("{:indent$}{line}", "")));
                }
            }
        }
        filled
    }

    /// The first hole of a line.
    fn first(&self, line: &str) -> Option<(String, &Hole)> {
        let (_, rest) = line.split_once(&self.word)?;
        let (index, _) = rest.split_once('x')?;
        Some((format!("{}{index}x", self.word), self.all.get(index.parse::<usize>().ok()?)?))
    }
}

/// A value as it is nested in the text of [`Holes::lines`].
pub(super) fn nested(value: &Value) -> String {
    // What is no expression of ours is none in the template.
    yaml::document(value).replace("{{", r#"{{ "{{" }}"#)
}
