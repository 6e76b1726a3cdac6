//! Places in a value where Helm writes.

use std::fmt::Write as _;

use serde_json::Value;

use crate::yaml;

/// Placeholder in [`Holes::lines`] for the indentation of nested lines, in columns.
pub(super) const NESTED: &str = "@nested@";

/// Two braces that begin no expression.
const ESCAPED: &str = r#"{{ "{{" }}"#;

/// Template text for the holes of the objects of a chart. In a value, a hole is a word that no object has.
pub(super) struct Holes {
    word: String,
    all: Vec<Hole>,
}

enum Hole {
    /// An expression that is a string, or a part of one.
    Expression(String),
    /// Text of a line.
    Raw(String),
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

    /// A string, or a part of one, that is `expression` in the template; in YAML it is quoted.
    pub(super) fn inline(&mut self, expression: impl Into<String>) -> String {
        self.hole(Hole::Expression(expression.into()))
    }

    /// A value that is `text` in the template.
    pub(super) fn raw(&mut self, text: impl Into<String>) -> String {
        self.hole(Hole::Raw(text.into()))
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

    /// Returns true if a value has a hole.
    pub(super) fn are_in(&self, value: &Value) -> bool {
        value.to_string().contains(&self.word)
    }

    /// The template of an object.
    pub(super) fn text(&mut self, value: &Value) -> String {
        let text = self.nested(value);
        self.fill(&text)
    }

    /// A value as it is nested in the text of [`Holes::lines`].
    pub(super) fn nested(&mut self, value: &Value) -> String {
        let mut value = value.clone();
        self.quote(&mut value);
        // Braces of the manifests must not become expressions of the template.
        yaml::document(&value).replace("{{", ESCAPED)
    }

    /// Puts quotes around the strings of one line that have expressions, whatever these will be: a number, a keyword of YAML.
    fn quote(&mut self, value: &mut Value) {
        match value {
            Value::String(text) if !text.contains('\n') => {
                let (mut quoted, mut rest) = (String::new(), text.as_str());
                while let Some((word, Hole::Expression(expression))) = self.first(rest) {
                    let Some((before, after)) = rest.split_once(&word) else { break };
                    if before.is_empty() && after.is_empty() && quoted.is_empty() {
                        *text = self.raw(format!("{{{{ {expression} | quote }}}}"));
                        return;
                    }
                    quoted += &escaped(before);
                    let _ = write!(quoted, "{{{{ {expression} }}}}");
                    rest = after;
                }
                if !quoted.is_empty() {
                    *text = self.raw(format!("\"{quoted}{}\"", escaped(rest)));
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.quote(item)),
            Value::Object(map) => map.values_mut().for_each(|value| self.quote(value)),
            _ => {}
        }
    }

    /// Text with its holes filled.
    pub(super) fn fill(&self, text: &str) -> String {
        let mut filled = String::new();
        let mut left: Vec<String> = text.lines().rev().map(str::to_owned).collect();
        while let Some(line) = left.pop() {
            match self.first(&line) {
                None => _ = writeln!(filled, "{line}"),
                Some((word, Hole::Expression(expression))) => {
                    left.push(line.replacen(&word, &format!("{{{{ {expression} }}}}"), 1));
                }
                Some((word, Hole::Raw(text))) => left.push(line.replacen(&word, text, 1)),
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

/// A part of a string between quotes, in a template.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].replace("{{", ESCAPED)
}
