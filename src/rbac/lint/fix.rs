//! Missing markers → edits of the files with the calls.

use std::ops::Range;

use syn::spanned::Spanned;

use super::Missing;
use crate::edit::EditError;
use crate::rbac::RbacTarget;

const MARKER: &str = "+kubebuilder:rbac:";

/// The file with markers for what its calls lack. A marker of the nearest block that is about the same gets the verbs; else
/// a new one goes into that block, or above the item with the call.
pub(crate) fn insert(text: &str, missing: &[&Missing]) -> Result<String, EditError> {
    let mut file = Lines(text.split('\n').map(str::to_owned).enumerate().collect());
    for missing in missing {
        let call = file.position(missing.origin.line_column().0 - 1);
        match file.nearest_block(call) {
            Some(block) => file.add_to_block(block, missing),
            None => file.above_item(text, call, missing)?,
        }
    }
    Ok(file.0.into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n"))
}

/// Each line with its number in the file as it was, from 0; a new one has that of the line before.
struct Lines(Vec<(usize, String)>);

impl Lines {
    fn position(&self, number: usize) -> usize {
        self.0.iter().position(|(old, _)| *old == number).unwrap_or(self.0.len() - 1)
    }

    /// The comment lines around the marker that is nearest to a line.
    fn nearest_block(&self, call: usize) -> Option<Range<usize>> {
        let markers = (0..self.0.len()).filter(|line| is_marker(&self.0[*line].1));
        let nearest = markers.min_by_key(|line| line.abs_diff(call))?;
        let is_comment = |line: &usize| self.0[*line].1.trim_start().starts_with("//");
        let start = (0..nearest).rev().take_while(is_comment).last().unwrap_or(nearest);
        let end = (nearest..self.0.len()).take_while(is_comment).last().unwrap_or(nearest);
        Some(start..end + 1)
    }

    fn add_to_block(&mut self, block: Range<usize>, missing: &Missing) {
        for (_, line) in &mut self.0[block.clone()] {
            if let Some(merged) = merge(line, missing) {
                *line = merged;
                return;
            }
        }
        let new = missing.marker();
        let group = argument(&new, "groups").map(str::to_owned);
        let markers = || block.clone().rev().filter(|line| is_marker(&self.0[*line].1));
        let of_group = markers().find(|line| argument(&self.0[*line].1, "groups") == group.as_deref());
        let Some(last) = of_group.or_else(|| markers().next()) else { return };
        let (number, line) = &self.0[last];
        let indent = &line[..line.len() - line.trim_start().len()];
        self.0.insert(last + 1, (*number, format!("{indent}// {new}")));
    }

    /// Above the documentation of the item that the call is in.
    fn above_item(&mut self, text: &str, call: usize, missing: &Missing) -> Result<(), EditError> {
        let line = format!("// {}", missing.marker());
        let unreadable = || EditError::new("it cannot be read").help(format!("add it manually:\n{line}"));
        let file = syn::parse_file(text).map_err(|_| unreadable())?;
        let number = self.0[call].0;
        let places = file.items.iter().map(Spanned::span).map(|span| span.start().line - 1..span.end().line);
        let start = places.into_iter().find(|place| place.contains(&number)).ok_or_else(unreadable)?.start;
        let at = self.position(start);
        self.0.splice(at..at, [(start, line), (start, String::new())]);
        // The item keeps its number; the new lines must not be taken for it.
        self.0[at].0 = usize::MAX;
        self.0[at + 1].0 = usize::MAX;
        Ok(())
    }
}

fn is_marker(line: &str) -> bool {
    let comment = line.trim_start().strip_prefix("//").map(|rest| rest.trim_start_matches(['/', '!']).trim_start());
    comment.is_some_and(|comment| comment.starts_with(MARKER))
}

/// The marker in a line with the missing verbs, if it is about the same and nothing else.
fn merge(line: &str, missing: &Missing) -> Option<String> {
    if !is_marker(line) {
        return None;
    }
    let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '*' | ';');
    let verbs = argument(line, "verbs").filter(|verbs| verbs.chars().all(plain))?;
    let mut all: Vec<&str> = verbs.split(';').chain(missing.verbs.iter().map(String::as_str)).collect();
    all.sort_unstable();
    all.dedup();
    let value = |name: &str| argument(line, name).map(|value| value.trim_matches('"'));
    let same = |name: &str, wanted: &str| value(name).unwrap_or_default() == wanted;
    let RbacTarget::Resource { group, resource, .. } = &missing.target else { return None };
    let groups = value("groups").map(|groups| if groups == "core" { "" } else { groups });
    let about = groups == Some(group.as_str()) && same("resources", resource) && same("urls", "");
    let others = same("namespace", &missing.namespace) && same("resourceNames", "") && same("roleName", "");
    (about && others).then(|| line.replacen(&format!("verbs={verbs}"), &format!("verbs={}", all.join(";")), 1))
}

/// The value of an argument of a marker as it is written.
fn argument<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let arguments = line.split_once(MARKER)?.1.trim_end();
    let mut found = arguments.split(',').filter_map(|argument| argument.split_once('='));
    found.find(|(key, _)| *key == name).map(|(_, value)| value)
}
