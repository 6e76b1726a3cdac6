//! A three-way merge by structure, for files that a merge by line cannot merge.
//!
//! TOML merges by key, YAML by key and list entry, Rust by item and statement. So an author may reorder and reformat a file
//! that a later scaffold changes. Must stay true: a merge that would lose a word of the author or of the scaffold fails.

mod rust;
mod toml;
mod yaml;

use std::collections::BTreeMap;

/// Applies the changes from `old` to `new` to `theirs`, which was once `old`. `None` if both changed the same part, or if
/// the language of the path is not known.
pub(crate) fn merge(path: &str, old: &str, new: &str, theirs: &str) -> Option<String> {
    let merged = match path.rsplit_once('.')?.1 {
        "toml" => toml::merge(old, new, theirs),
        "yaml" | "yml" => yaml::merge(old, new, theirs),
        "rs" => rust::merge(old, new, theirs),
        _ => None,
    }?;
    is_complete([old, new, theirs], &merged).then_some(merged)
}

/// Returns true if a merged text has the words of both sides, except those that the other side has removed.
fn is_complete(texts: [&str; 3], merged: &str) -> bool {
    let [old, new, theirs] = texts.map(words);
    let merged = words(merged);
    let count = |words: &BTreeMap<&str, usize>, word: &str| words.get(word).copied().unwrap_or_default();
    let keeps = |side: &BTreeMap<&str, usize>, other: &BTreeMap<&str, usize>| {
        side.iter().all(|(word, wanted)| {
            let removed = count(&old, word).saturating_sub(count(other, word));
            count(&merged, word) + removed >= *wanted
        })
    };
    keeps(&new, &theirs) && keeps(&theirs, &new)
}

/// The words of a text, with their numbers.
fn words(text: &str) -> BTreeMap<&str, usize> {
    let mut words = BTreeMap::new();
    for word in text.split(|char: char| !char.is_alphanumeric() && char != '_').filter(|word| !word.is_empty()) {
        *words.entry(word).or_default() += 1;
    }
    words
}

/// A named part of a text, such as an item of Rust or an entry of a map.
trait Part: Clone {
    /// The name that identifies the part among its siblings.
    fn key(&self) -> &str;
    /// Returns true if only the layout differs.
    fn is_same(&self, other: &Self) -> bool;
    /// The changes from `old` to `new`, in this part of the author.
    fn merged(&self, old: &Self, new: &Self) -> Option<Self>;
}

/// Merges sequences of parts by key, in the order of the author. New parts follow the part before them in the scaffold.
fn by_key<P: Part>(old: &[P], new: &[P], theirs: &[P]) -> Option<Vec<P>> {
    let find = |parts: &[P], key: &str| parts.iter().position(|part| part.key() == key);
    let mut merged: Vec<P> = Vec::new();
    for part in theirs {
        let [old, new] = [old, new].map(|parts| find(parts, part.key()).map(|at| &parts[at]));
        match (old, new) {
            (None, None) => merged.push(part.clone()),
            (Some(old), None) if part.is_same(old) => {}
            (None, Some(new)) if part.is_same(new) => merged.push(part.clone()),
            (Some(old), Some(new)) if part.is_same(new) || old.is_same(new) => merged.push(part.clone()),
            (Some(old), Some(new)) => merged.push(part.merged(old, new)?),
            _ => return None,
        }
    }
    for (at, part) in new.iter().enumerate() {
        let scaffolded = find(old, part.key()).map(|at| &old[at]);
        match (scaffolded, find(theirs, part.key())) {
            (_, Some(_)) => {}
            // The author has removed it.
            (Some(old), None) if old.is_same(part) => {}
            (Some(_), None) => return None,
            (None, None) => {
                let above = new[..at].iter().rev().find_map(|part| find(&merged, part.key()));
                let below = || new[at + 1..].iter().find_map(|part| find(&merged, part.key()));
                let place = above.map(|above| above + 1).or_else(below).unwrap_or(merged.len());
                merged.insert(place, part.clone());
            }
        }
    }
    Some(merged)
}

/// Makes the keys of parts unique: later ones of the same key get a number.
fn unique(keys: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    keys.map(|key| {
        let count = seen.entry(key.clone()).or_default();
        *count += 1;
        if *count > 1 { format!("{key} #{count}") } else { key }
    })
    .collect()
}

#[cfg(test)]
mod tests;
