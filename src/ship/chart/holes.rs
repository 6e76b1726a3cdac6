//! Holes: the places in a value that Helm fills.

use std::fmt::Write as _;

use serde_json::Value;

use crate::yaml;

/// Placeholder in [`Holes::lines`] for the indentation of nested lines, in columns.
pub(super) const NESTED: &str = "@nested@";

/// The expression that renders two opening braces.
const ESCAPED: &str = r#"{{ "{{" }}"#;

/// The template text of the holes in a chart's objects. In a value, a hole is a placeholder word that no object contains.
pub(super) struct Holes {
    word: String,
    all: Vec<Hole>,
}

enum Hole {
    /// An expression for a string or a part of a string.
    Expression(String),
    /// Unquoted text within a line.
    Raw(String),
    /// Lines in place of a mapping entry or a list item.
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

    /// Returns a hole for a string or a part of a string. The template has the quoted `expression` in its place.
    pub(super) fn inline(&mut self, expression: impl Into<String>) -> String {
        self.hole(Hole::Expression(expression.into()))
    }

    /// Returns a hole for a value. The template has `text` in its place, without quotes.
    pub(super) fn raw(&mut self, text: impl Into<String>) -> String {
        self.hole(Hole::Raw(text.into()))
    }

    /// Returns a hole for a list item or for the end of a mapping key. The template has these lines in its place. The
    /// beginning of the key determines its order.
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

    /// Renders the template of an object.
    pub(super) fn text(&mut self, value: &Value) -> String {
        let text = self.nested(value);
        self.fill(&text)
    }

    /// Renders a value for nesting in the text of [`Holes::lines`].
    pub(super) fn nested(&mut self, value: &Value) -> String {
        let mut value = value.clone();
        self.quote(&mut value);
        // Braces of the manifests must not become expressions of the template.
        yaml::document(&value).replace("{{", ESCAPED)
    }

    /// Quotes single-line strings with expressions. An expression may expand to a number or a keyword of YAML.
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

    /// Fills the holes of a text.
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

    /// Returns the first hole of a line.
    fn first(&self, line: &str) -> Option<(String, &Hole)> {
        let (_, rest) = line.split_once(&self.word)?;
        let (index, _) = rest.split_once('x')?;
        Some((format!("{}{index}x", self.word), self.all.get(index.parse::<usize>().ok()?)?))
    }
}

/// Escapes a part of a quoted string in a template.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].replace("{{", ESCAPED)
}
