//! Block YAML by key and list entry, with the comments of both sides. Flow style and block scalars are leaves.

use serde_json::Value;

use super::super::merge::{self as lines, ConflictChoice};
use super::{Part, by_key, unique};

pub(super) fn merge(old: &str, new: &str, theirs: &str) -> Option<String> {
    let merged = by_key(&documents(old)?, &documents(new)?, &documents(theirs)?)?;
    let text: String = merged.iter().flat_map(|document| [document.start.as_str(), document.text.as_str()]).collect();
    serde_yaml::from_multiple::<Value>(&text).is_ok().then_some(text)
}

#[derive(Clone)]
struct YamlDocument {
    key: String,
    /// The line `---`, if there is one.
    start: String,
    text: String,
}

fn documents(text: &str) -> Option<Vec<YamlDocument>> {
    let mut documents = vec![(String::new(), String::new())];
    for line in text.split_inclusive('\n') {
        if line.trim_end() == "---" {
            documents.push((line.to_owned(), String::new()));
        } else if let Some((_, text)) = documents.last_mut() {
            text.push_str(line);
        }
    }
    documents.retain(|(start, text)| !start.is_empty() || !text.is_empty());
    let names = documents.iter().map(|(_, text)| {
        let value = serde_yaml::from_str::<Value>(text).ok()?;
        let field = |pointer| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        Some(format!("{} {}", field("/kind"), field("/metadata/name")))
    });
    let keys = unique(names.collect::<Option<Vec<_>>>()?.into_iter());
    let parts = keys.into_iter().zip(documents);
    Some(parts.map(|(key, (start, text))| YamlDocument { key, start, text }).collect())
}

impl Part for YamlDocument {
    fn key(&self) -> &str {
        &self.key
    }

    fn is_same(&self, other: &Self) -> bool {
        self.text == other.text
    }

    fn merged(&self, old: &Self, new: &Self) -> Option<Self> {
        let text = merge_levels(&old.text, &new.text, &self.text)?;
        Some(Self { text, ..self.clone() })
    }
}

/// An entry of a map or a list.
#[derive(Clone)]
struct YamlEntry {
    key: String,
    /// Blank lines and comments above it.
    lead: String,
    /// Its lines. Their common indentation is that of the level.
    text: String,
    indent: usize,
}

/// The entries of a level and the comments below them.
struct YamlLevel {
    entries: Vec<YamlEntry>,
    tail: String,
    indent: usize,
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn is_content(line: &str) -> bool {
    !line.trim().is_empty() && !line.trim_start().starts_with('#')
}

/// `None` if the text is not a map or list in block style.
fn level(text: &str) -> Option<YamlLevel> {
    let all: Vec<&str> = text.split_inclusive('\n').collect();
    let level = all.iter().filter(|line| is_content(line)).map(|line| indent(line)).min().unwrap_or_default();
    let is_list = |line: &str| line.trim() == "-" || line.trim_start().starts_with("- ");
    let list = all.iter().find(|line| is_content(line)).is_some_and(|line| is_list(line));
    let (mut entries, mut lead) = (Vec::<(String, Vec<&str>)>::new(), Vec::new());
    for line in &all {
        if !is_content(line) {
            lead.push(*line);
            continue;
        }
        // The entries of a list may be as far left as its key.
        if indent(line) == level && is_list(line) == list {
            entries.push((std::mem::take(&mut lead).concat(), vec![line]));
        } else {
            let (_, lines) = entries.last_mut()?;
            lines.append(&mut lead);
            lines.push(line);
        }
    }
    let keys =
        unique(entries.iter().map(|(_, lines)| key(lines, level, list)).collect::<Option<Vec<_>>>()?.into_iter());
    let entries = keys.into_iter().zip(entries);
    let entries = entries.map(|(key, (lead, lines))| YamlEntry { key, lead, text: lines.concat(), indent: level });
    Some(YamlLevel { entries: entries.collect(), tail: lead.concat(), indent: level })
}

/// The key in a map. An entry of a list is identified by a field, or by its value.
fn key(lines: &[&str], level: usize, list: bool) -> Option<String> {
    if !list {
        let (key, rest) = lines[0].trim_start().split_once(':')?;
        let plain =
            !key.contains(['"', '\'', '{', '[', ' ', '#']) && (rest.starts_with([' ', '\n', '\r']) || rest.is_empty());
        return plain.then(|| key.to_owned());
    }
    let value = value(&lines.concat(), level)?;
    let entry = value.get(0)?;
    let fields = ["name", "path", "target", "id"];
    match fields.iter().find_map(|field| Some((field, entry.get(field)?))) {
        Some((field, value)) => Some(format!("{field}={value}")),
        None => Some(entry.to_string()),
    }
}

fn value(text: &str, level: usize) -> Option<Value> {
    serde_yaml::from_str(&shifted(text, level, 0)).ok()
}

/// Moves lines from one level to another.
fn shifted(text: &str, from: usize, to: usize) -> String {
    text.split_inclusive('\n')
        .map(|line| {
            let (space, rest) = line.split_at(indent(line));
            if rest.trim().is_empty() {
                return line.to_owned();
            }
            " ".repeat((space.len() + to).saturating_sub(from)) + rest
        })
        .collect()
}

impl YamlEntry {
    fn value(&self) -> Option<Value> {
        value(&self.text, self.indent)
    }

    /// The first line and those below it, if these are a level of their own.
    fn split(&self) -> Option<(String, String)> {
        if let Some(rest) = self.text.trim_start().strip_prefix("- ") {
            // The first field of the entry is in the line of the dash.
            return Some((String::new(), " ".repeat(self.indent + 2) + rest));
        }
        let (head, below) = self.text.split_once('\n')?;
        let bare = head.split(" #").next().unwrap_or(head).trim_end().ends_with(':');
        (bare && below.lines().any(is_content)).then(|| (format!("{head}\n"), below.to_owned()))
    }
}

impl Part for YamlEntry {
    fn key(&self) -> &str {
        &self.key
    }

    fn is_same(&self, other: &Self) -> bool {
        let comments = |text: &str| -> Vec<String> {
            let comments = text.lines().filter_map(|line| Some(line[line.find('#')?..].trim().to_owned()));
            comments.collect()
        };
        comments(&self.lead) == comments(&other.lead)
            && comments(&self.text) == comments(&other.text)
            && self.value().is_some_and(|value| Some(value) == other.value())
    }

    fn merged(&self, old: &Self, new: &Self) -> Option<Self> {
        let lead = merge_comments([(&old.lead, old.indent), (&new.lead, new.indent), (&self.lead, self.indent)])?;
        let bare = |entry: &Self| Self { lead: String::new(), ..entry.clone() };
        let [was, now, here] = [old, new, self].map(bare);
        if here.is_same(&now) || was.is_same(&now) {
            return Some(Self { lead, ..here });
        }
        if let (Some((_, old)), Some((_, new)), Some((head, theirs))) = (was.split(), now.split(), here.split()) {
            let below = merge_levels(&old, &new, &theirs)?;
            let text = if head.is_empty() { dashed(&below, self.indent)? } else { head + &below };
            return Some(Self { lead, text, ..here });
        }
        here.is_same(&was).then(|| Self { lead, text: shifted(&new.text, new.indent, self.indent), ..here })
    }
}

/// Puts the dash of a list entry before its first field.
fn dashed(text: &str, indent: usize) -> Option<String> {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(ToOwned::to_owned).collect();
    // A comment cannot stand between the dash and the field.
    let first = lines.first_mut().filter(|line| is_content(line))?;
    first.replace_range(indent..=indent, "-");
    Some(lines.concat())
}

fn merge_comments([old, new, theirs]: [(&str, usize); 3]) -> Option<String> {
    let level = theirs.1;
    let [old, new, theirs] = [old, new, theirs].map(|(text, from)| shifted(text, from, level));
    let merged = lines::merge(&old, &new, &theirs, ConflictChoice::Refuse);
    merged.conflicts.is_empty().then_some(merged.text)
}

fn merge_levels(old: &str, new: &str, theirs: &str) -> Option<String> {
    let [old, new, theirs] = [level(old)?, level(new)?, level(theirs)?];
    let mut text = String::new();
    for entry in by_key(&old.entries, &new.entries, &theirs.entries)? {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text += &shifted(&(entry.lead + &entry.text), entry.indent, theirs.indent);
    }
    text += &merge_comments([(&old.tail, old.indent), (&new.tail, new.indent), (&theirs.tail, theirs.indent)])?;
    Some(text)
}
