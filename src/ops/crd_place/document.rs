//! Edits of a CRD in the text of a file, with or without Helm actions: the generated values change, all other lines stay.

use std::ops::Range;

use serde_json::{Map, Value, json};

use super::lines::{self, PlainLine};
use crate::ops::compare;
use crate::yaml::{self, template};

/// The reason why a document cannot be edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unmatched {
    /// From 0.
    pub(super) line: usize,
    pub(super) message: String,
    pub(super) help: String,
}

impl Unmatched {
    fn new(line: usize, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { line, message: message.into(), help: help.into() }
    }
}

/// The text of a file with CRDs.
#[derive(Debug)]
pub(super) struct CrdText {
    is_template: bool,
    lines: Vec<PlainLine>,
}

/// A CRD in a [`CrdText`].
#[derive(Debug)]
pub(super) struct CrdDocument {
    /// The lines, without `---`.
    lines: Range<usize>,
    pub(super) value: Value,
}

/// The keys of `metadata` that a generated CRD may have beside its name.
const SECTIONS: [&str; 2] = ["annotations", "labels"];

impl CrdText {
    pub(super) fn new(text: &str, is_template: bool) -> Self {
        let plain = if is_template { compare::rendered(text) } else { text.to_owned() };
        Self { is_template, lines: lines::split(text, &plain) }
    }

    pub(super) fn text(&self) -> String {
        self.lines.iter().map(|line| line.text.as_str()).collect()
    }

    /// Returns true if Helm actions are in the text.
    pub(super) fn has_actions(&self) -> bool {
        self.is_template && self.lines.iter().any(|line| line.text.contains("{{"))
    }

    /// The line ranges of documents that are not empty.
    pub(super) fn documents(&self) -> Vec<Range<usize>> {
        let (mut all, mut start) = (Vec::new(), 0);
        for (at, line) in self.lines.iter().enumerate() {
            if line.is_separator() {
                all.push(start..at);
                start = at + 1;
            }
        }
        all.push(start..self.lines.len());
        all.retain(|range| self.lines[range.clone()].iter().any(PlainLine::is_content));
        all
    }

    /// The CRDs.
    pub(super) fn crds(&self) -> Result<Vec<CrdDocument>, Unmatched> {
        let mut crds = Vec::new();
        for range in self.documents() {
            let plain: String = self.lines[range.clone()].iter().map(|line| line.plain.as_str()).collect();
            if !plain.contains("CustomResourceDefinition") {
                continue;
            }
            match serde_yaml::from_str::<Value>(&plain) {
                Ok(value) if value["kind"] == "CustomResourceDefinition" => {
                    crds.push(CrdDocument { lines: range, value });
                }
                Ok(_) => {}
                Err(error) => {
                    let line = range.start
                        + error
                            .location()
                            .and_then(|place| usize::try_from(place.line()).ok())
                            .map_or(0, |line| line.saturating_sub(1));
                    let message = format!(
                        "the CRD is not valid YAML without its Helm actions: {}",
                        yaml::reason(&error.to_string())
                    );
                    let help = "write actions in lines of their own, outside of `spec`";
                    return Err(Unmatched::new(line.min(self.lines.len().saturating_sub(1)), message, help));
                }
            }
        }
        Ok(crds)
    }

    /// The CRD with this name. A name that a template computes is that of the group and the plural.
    pub(super) fn find(&self, name: &str) -> Result<Option<CrdDocument>, Unmatched> {
        Ok(self.crds()?.into_iter().find(|crd| crd.name() == name))
    }

    /// Sets the generated values of a CRD. `before` is what was generated last: its labels and annotations go, if `wanted` no
    /// longer has them.
    pub(super) fn set(&mut self, name: &str, wanted: &Value, before: &Value) -> Result<(), Unmatched> {
        let Some(crd) = self.find(name)? else { return Ok(()) };
        // The text of a number may be read as one of another type.
        let wanted: &Value = &serde_yaml::from_str(&yaml::document(wanted)).unwrap_or_default();
        for section in SECTIONS {
            self.set_section(name, section, &wanted["metadata"][section], &before["metadata"][section])?;
        }
        self.set_spec(name, &wanted["spec"])?;
        let there = self.find(name)?.map(|crd| crd.value).unwrap_or_default();
        let kept = |value: &Value| {
            let mut value = value.clone();
            if let Some(fields) = value.as_object_mut() {
                fields.retain(|key, _| key != "metadata" && key != "spec");
            }
            value
        };
        let is_set = compare::is_same_spec(&there["spec"], &wanted["spec"])
            && kept(&there) == kept(&crd.value)
            && there["apiVersion"] == wanted["apiVersion"]
            && SECTIONS.iter().all(|section| {
                let entries = wanted["metadata"][section].as_object();
                entries.into_iter().flatten().all(|(key, value)| there["metadata"][section][key] == *value)
            });
        if is_set {
            return Ok(());
        }
        let message = format!("`{name}` is not in a form that can be edited");
        let help = "write it in block style with `apiVersion: apiextensions.k8s.io/v1`, each key in a line of its own, or delete \
                    the file: the next run writes a new one";
        Err(Unmatched::new(crd.lines.start, message, help))
    }

    /// Renames a CRD. A name that a template computes stays.
    pub(super) fn rename(&mut self, name: &str, to: &str) -> Result<(), Unmatched> {
        let Some(crd) = self.find(name)? else { return Ok(()) };
        let Some(metadata) = self.block(&crd.lines, "metadata") else { return Ok(()) };
        let Some(at) = self.children(&metadata).into_iter().find(|at| self.lines[*at].key() == Some("name")) else {
            return Ok(());
        };
        let line = &self.lines[at];
        if !line.text.contains("{{") {
            let text = format!("{}name: {to}\n", " ".repeat(line.indent()));
            self.lines[at] = PlainLine { plain: text.clone(), text };
        }
        Ok(())
    }

    /// Removes a CRD. Returns false if no other document is left.
    pub(super) fn remove(&mut self, name: &str) -> Result<bool, Unmatched> {
        let Some(crd) = self.find(name)? else { return Ok(true) };
        if self.documents().len() < 2 {
            return Ok(false);
        }
        // The document goes with the separator above it, or with the one below it.
        let range = match crd.lines.start.checked_sub(1) {
            Some(separator) => separator..crd.lines.end,
            None => 0..(crd.lines.end + 1).min(self.lines.len()),
        };
        if self.levels(range.clone()) != (0, 0) {
            let message = format!("`{name}` cannot be removed: its document has a part of a Helm condition");
            return Err(Unmatched::new(crd.lines.start, message, "remove the document, and keep the actions paired"));
        }
        self.lines.drain(range);
        Ok(true)
    }

    /// Adds a CRD to a file without actions.
    pub(super) fn append(&mut self, wanted: &Value) {
        if let Some(last) = self.lines.last_mut()
            && !last.text.ends_with('\n')
        {
            last.text.push('\n');
            last.plain.push('\n');
        }
        let text = self.printed(&yaml::file(None, &[placed(wanted)]), 0);
        self.lines.extend(text);
    }

    /// The lines of a YAML text, indented, and without actions of its own.
    fn printed(&self, text: &str, indent: usize) -> Vec<PlainLine> {
        let line = |plain: &str| {
            let plain = if plain.trim().is_empty() { plain.to_owned() } else { " ".repeat(indent) + plain };
            let text = if self.is_template { escaped(&plain) } else { plain.clone() };
            PlainLine { text, plain }
        };
        text.split_inclusive('\n').map(line).collect()
    }

    /// The levels that Helm actions in these lines open and close.
    fn levels(&self, lines: Range<usize>) -> (isize, isize) {
        if !self.is_template {
            return (0, 0);
        }
        template::levels(&self.lines[lines].iter().map(|line| line.text.as_str()).collect::<String>())
    }

    /// The lines of a top-level key, without blank lines and actions that follow.
    fn block(&self, document: &Range<usize>, key: &str) -> Option<Range<usize>> {
        let content = |at: &usize| self.lines[*at].is_content();
        let base = self.lines[document.clone().find(content)?].indent();
        let start = document.clone().find(|at| {
            let line = &self.lines[*at];
            line.is_content() && line.indent() == base && line.key() == Some(key)
        })?;
        let next = |at: &usize| content(at) && self.lines[*at].indent() <= base;
        let limit = (start + 1..document.end).find(next).unwrap_or(document.end);
        let inside = |at: &usize| !self.lines[*at].plain.trim().is_empty() && self.lines[*at].indent() > base;
        let mut end = (start + 1..limit).rev().find(inside).map_or(start + 1, |last| last + 1);
        while end < limit && self.levels(start..end).0 > 0 {
            end += 1;
        }
        Some(start..end)
    }

    /// The lines of the keys directly in a block.
    fn children(&self, block: &Range<usize>) -> Vec<usize> {
        let mut inside = (block.start + 1..block.end).filter(|at| self.lines[*at].is_content());
        let Some(first) = inside.next() else { return Vec::new() };
        let indent = self.lines[first].indent();
        let is_child = |at: &usize| self.lines[*at].indent() == indent && self.lines[*at].key().is_some();
        (first..block.end).filter(|at| self.lines[*at].is_content()).filter(is_child).collect()
    }

    fn set_spec(&mut self, name: &str, wanted: &Value) -> Result<(), Unmatched> {
        let Some(crd) = self.find(name)? else { return Ok(()) };
        let Some(block) = self.block(&crd.lines, "spec") else {
            let message = format!("`{name}` has no `spec` in a line of its own");
            return Err(Unmatched::new(crd.lines.start, message, "write `spec:` in block style"));
        };
        let conversion = self.conversion(&block);
        for at in block.clone().filter(|at| !conversion.contains(at)) {
            if self.is_template && has_action(&self.lines[at].text) {
                let message = format!("`{name}` has a Helm action in its `spec`, which is generated");
                let help = "move it to the metadata, above or below the CRD; only `spec.conversion` may have actions";
                return Err(Unmatched::new(at, message, help));
            }
        }
        if compare::is_same_spec(&crd.value["spec"], wanted) {
            return Ok(());
        }
        let wanted = without_conversion(wanted);
        let base = self.lines[block.start].indent();
        let mut new = self.printed(&yaml::document(&json!({ "spec": wanted })), base);
        let kept: Vec<PlainLine> = self.lines[conversion].to_vec();
        let indent = kept.iter().find(|line| line.is_content()).map_or(base + 2, PlainLine::indent);
        if indent != base + 2 && !kept.is_empty() {
            let text = format!("the `conversion` of `{name}` is indented by {} columns", indent.saturating_sub(base));
            return Err(Unmatched::new(block.start, text, "indent it by 2 columns, as generated lines are"));
        }
        new.splice(1..1, kept);
        self.lines.splice(block, new);
        Ok(())
    }

    /// The lines of `conversion` in a `spec`, with the actions around it: the author's, because types do not decide it.
    fn conversion(&self, spec: &Range<usize>) -> Range<usize> {
        let children = self.children(spec);
        let Some(at) = children.iter().position(|at| self.lines[*at].key() == Some("conversion")) else {
            return spec.start..spec.start;
        };
        let mut from = children[at];
        let end = children.get(at + 1).copied().unwrap_or(spec.end);
        let is_free = |at: &usize| !self.lines[*at].is_content();
        while self.levels(from..end) != (0, 0) && from > spec.start + 1 && is_free(&(from - 1)) {
            from -= 1;
        }
        from..end
    }

    /// Sets entries of `labels` or `annotations`, and removes those of `before` that are no longer wanted.
    fn set_section(&mut self, name: &str, section: &str, wanted: &Value, before: &Value) -> Result<(), Unmatched> {
        let Some(crd) = self.find(name)? else { return Ok(()) };
        let there = &crd.value["metadata"][section];
        let empty = Map::new();
        let (wanted, before) = (wanted.as_object().unwrap_or(&empty), before.as_object().unwrap_or(&empty));
        let new: Vec<(&String, &Value)> = wanted.iter().filter(|(key, value)| there[key.as_str()] != **value).collect();
        let gone = before.keys().filter(|key| !wanted.contains_key(*key) && there.get(key.as_str()).is_some());
        let gone: Vec<&String> = gone.collect();
        if new.is_empty() && gone.is_empty() {
            return Ok(());
        }
        let Some(metadata) = self.block(&crd.lines, "metadata") else {
            let message = format!("`{name}` has no `metadata` in a line of its own");
            return Err(Unmatched::new(crd.lines.start, message, "write `metadata:` in block style"));
        };
        let children = self.children(&metadata);
        let indent = children.first().map_or(self.lines[metadata.start].indent() + 2, |at| self.lines[*at].indent());
        let heads: Vec<usize> = children.iter().copied().filter(|at| self.lines[*at].key() == Some(section)).collect();
        let head = match heads[..] {
            [] => {
                let head = self.printed(&format!("{section}:\n"), indent);
                let at = metadata.start + 1;
                self.lines.splice(at..at, head);
                at
            }
            [head] if self.is_static(&metadata, head) => head,
            [head, ..] => {
                let message = format!("`{name}` has generated {section}, but its `{section}` depend on Helm actions");
                let help = format!("write `{section}:` in a line of its own, outside of conditions");
                return Err(Unmatched::new(head, message, help));
            }
        };
        for key in new.iter().map(|(key, _)| *key).chain(gone) {
            if let Some(entry) = self.entry(head, key) {
                self.lines.drain(entry);
            }
        }
        // Without an entry of the author, the first action is indented as its result.
        let mut section = self.section(head).map(|at| &self.lines[at]).filter(|line| !line.text.trim().is_empty());
        let entry_indent = section.clone().find(|line| line.is_content()).or_else(|| section.next());
        let entry_indent = entry_indent.map_or(indent + 2, PlainLine::text_indent);
        for (key, value) in new.into_iter().rev() {
            let mut entry = Map::new();
            entry.insert(key.clone(), value.clone());
            let text = self.printed(&yaml::document(&Value::Object(entry)), entry_indent);
            let at = head + 1;
            self.lines.splice(at..at, text);
        }
        if self.section(head).is_empty() {
            self.lines.remove(head);
        }
        Ok(())
    }

    /// The key is the only text of its line, and not in a condition of its own.
    fn is_static(&self, metadata: &Range<usize>, head: usize) -> bool {
        self.levels(metadata.start..head) == (0, 0) && self.lines[head].text.trim_end().ends_with(':')
    }

    /// The lines below a key in `metadata`, with the actions among them.
    fn section(&self, head: usize) -> Range<usize> {
        let indent = self.lines[head].indent();
        let next = |at: &usize| {
            let line = &self.lines[*at];
            line.is_separator() || (line.is_content() && line.indent() <= indent)
        };
        let limit = (head + 1..self.lines.len()).find(next).unwrap_or(self.lines.len());
        let is_inside = |at: &usize| {
            let line = &self.lines[*at];
            !line.text.trim().is_empty() && line.text_indent() > indent
        };
        let end = (head + 1..limit).rev().find(is_inside).map_or(head + 1, |last| last + 1);
        head + 1..end
    }

    /// The lines of an entry below a key in `metadata`.
    fn entry(&self, head: usize, key: &str) -> Option<Range<usize>> {
        let section = self.section(head);
        let at = section.clone().find(|at| self.lines[*at].key() == Some(key))?;
        let indent = self.lines[at].indent();
        let is_next = |next: &usize| {
            let line = &self.lines[*next];
            line.plain.trim().is_empty() || line.indent() <= indent
        };
        let end = (at + 1..section.end).find(is_next).unwrap_or(section.end);
        Some(at..end)
    }
}

impl CrdDocument {
    /// The name of the CRD.
    pub(super) fn name(&self) -> String {
        let name = self.value["metadata"]["name"].as_str().unwrap_or_default();
        if !compare::is_computed(name) {
            return name.to_owned();
        }
        let spec = &self.value["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        format!("{}.{}", text(&spec["names"]["plural"]), text(&spec["group"]))
    }
}

/// A generated CRD as it is written at a place outside of `config/`.
pub(super) fn placed(crd: &Value) -> Value {
    let mut crd = crd.clone();
    if let Some(spec) = crd.get_mut("spec") {
        *spec = without_conversion(spec);
    }
    crd
}

/// Text as it stands in a Helm template.
pub(super) fn escaped(text: &str) -> String {
    text.replace("{{", "{{ \"{{\" }}")
}

/// The spec without the conversion, which belongs to the deployment.
fn without_conversion(spec: &Value) -> Value {
    let mut spec = spec.clone();
    if let Some(spec) = spec.as_object_mut() {
        spec.remove("conversion");
    }
    spec
}

/// Returns true for an action that is not a string.
fn has_action(text: &str) -> bool {
    template::actions(text).into_iter().any(|action| template::string_of(action).is_none())
}
