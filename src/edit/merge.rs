//! A three-way merge of texts.
//!
//! Adjacent changes do not conflict here, unlike in `similar::TextMerge` and git: the scaffold and the user often add
//! entries to the same list, and their order is known.

use std::collections::VecDeque;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The text; unchanged at conflicts.
    pub text: String,
    /// The changes that were not made.
    pub conflicts: Vec<MergeConflict>,
    /// True if some changes existed already.
    pub was_there: bool,
}

/// Removes from `theirs` the lines that `new` lacks of `old`, wherever they are. `None` if `new` has other lines, or if
/// the lines are not there together, once.
pub fn without(old: &str, new: &str, theirs: &str) -> Option<String> {
    let [old, new] = [old, new].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let mut left: Vec<&str> = theirs.split_inclusive('\n').collect();
    for edit in edits(&old, &new) {
        let removed = &old[edit.old.clone()];
        if removed.is_empty() || !edit.lines.is_empty() {
            return None;
        }
        let mut places = (0..left.len()).filter(|at| left[*at..].starts_with(removed));
        let (Some(at), None) = (places.next(), places.next()) else { return None };
        left.drain(at..at + removed.len());
    }
    Some(left.concat())
}

/// The text of a place that both sides changed differently.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ConflictChoice {
    /// The author's, and the conflict is an error.
    #[default]
    Refuse,
    /// The author's.
    Author,
    /// The scaffold's.
    Scaffold,
    /// Both, between the conflict markers of git.
    Markers,
}

/// A place that both sides changed differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeConflict {
    /// The byte range in the user's text.
    pub range: Range<usize>,
    /// The intended text.
    pub wanted: String,
}

/// Applies the changes from `old` to `new` to `theirs`, which was once `old`. Conflicts are reported with every choice.
pub fn merge(old: &str, new: &str, theirs: &str, choice: ConflictChoice) -> Merged {
    let [old, new, theirs] = [old, new, theirs].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let (mut ours, mut others) = (edits(&old, &new), edits(&old, &theirs));
    let mut merged = Merged { text: String::new(), conflicts: Vec::new(), was_there: false };
    let mut at = 0;
    while let Some(step) = next(&old, &mut ours, &mut others) {
        let (until, lines, go_on) = match step {
            MergeStep::Make(edit) => (edit.old.start, edit.lines, edit.old.end),
            MergeStep::Keep(edit) => {
                merged.was_there = true;
                (edit.old.start, edit.lines, edit.old.end)
            }
            MergeStep::Done => {
                merged.was_there = true;
                continue;
            }
            MergeStep::Share(edit) => (edit.old.start, edit.lines, edit.old.start),
            MergeStep::Refuse(our, other) => {
                let bytes = |count: usize| theirs[..count].iter().map(|line| line.len()).sum();
                let range = bytes(other.at)..bytes(other.at + other.lines.len());
                merged.conflicts.push(MergeConflict { range, wanted: our.lines.concat() });
                if let ConflictChoice::Scaffold | ConflictChoice::Markers = choice {
                    let (place, [scaffold, author]) = conflict(&old, our, &mut ours, &mut others);
                    merged.text.extend(old[at..place.start].iter().copied());
                    merged.text.push_str(&match choice {
                        ConflictChoice::Markers => marked(&author, &scaffold),
                        _ => scaffold,
                    });
                    at = place.end;
                }
                continue;
            }
        };
        merged.text.extend(old[at..until].iter().chain(lines).copied());
        at = go_on;
    }
    merged.text.extend(old[at..].iter().copied());
    merged
}

const YOURS: &str = "<<<<<<< yours";
const BETWEEN: &str = "=======";
const SCAFFOLD: &str = ">>>>>>> scaffold";

/// Both texts between the conflict markers of git. Each must be empty or end in a line feed.
pub fn marked(author: &str, scaffold: &str) -> String {
    format!("{YOURS}\n{author}{BETWEEN}\n{scaffold}{SCAFFOLD}\n")
}

/// The lines of `old` around a conflict, and what both sides made of them. Takes the edits that overlap from the queues.
fn conflict<'a>(
    old: &[&str],
    our: MergeEdit<'a>,
    ours: &mut VecDeque<MergeEdit<'a>>,
    others: &mut VecDeque<MergeEdit<'a>>,
) -> (Range<usize>, [String; 2]) {
    let mut place = our.old.clone();
    let mut sides = [vec![our], Vec::from_iter(others.pop_front())];
    loop {
        for edit in sides.iter().flatten() {
            place = place.start.min(edit.old.start)..place.end.max(edit.old.end);
        }
        let overlaps = |edit: &mut MergeEdit| edit.old.start < place.end;
        let (more, further) = (ours.pop_front_if(overlaps), others.pop_front_if(overlaps));
        if more.is_none() && further.is_none() {
            break;
        }
        sides[0].extend(more);
        sides[1].extend(further);
    }
    let made = sides.map(|edits| {
        let (mut text, mut at) = (String::new(), place.start);
        for edit in edits {
            text.extend(old[at..edit.old.start].iter().chain(edit.lines).copied());
            at = edit.old.end;
        }
        text.extend(old[at..place.end].iter().copied());
        if text.is_empty() || text.ends_with('\n') { text } else { text + "\n" }
    });
    (place, made)
}

#[derive(Debug, Clone)]
struct MergeEdit<'a> {
    old: Range<usize>,
    /// The first replaced line in the text that contains it.
    at: usize,
    lines: &'a [&'a str],
    /// The key of a removed list stays, because the user has entries in it.
    keeps_key: bool,
}

impl MergeEdit<'_> {
    fn inserts(&self) -> bool {
        self.old.is_empty()
    }
}

fn edits<'a>(old: &[&str], new: &'a [&'a str]) -> VecDeque<MergeEdit<'a>> {
    let mut edits: VecDeque<MergeEdit<'a>> = VecDeque::new();
    for op in capture_diff_slices(Algorithm::Myers, old, new) {
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        let (old, now) = (op.old_range(), op.new_range());
        match edits.back_mut().filter(|last| last.old.end == old.start && last.at + last.lines.len() == now.start) {
            Some(last) => (last.old.end, last.lines) = (old.end, &new[last.at..now.end]),
            None => edits.push_back(MergeEdit { old, at: now.start, lines: &new[now], keeps_key: false }),
        }
    }
    edits
}

enum MergeStep<'a> {
    Make(MergeEdit<'a>),
    /// Made by both sides.
    Keep(MergeEdit<'a>),
    /// Contained in the other side's change.
    Done,
    /// Lines of both sides; the rest of both follows.
    Share(MergeEdit<'a>),
    /// Ours conflicts with theirs, which follows.
    Refuse(MergeEdit<'a>, MergeEdit<'a>),
}

fn next<'a>(
    old: &'a [&'a str],
    ours: &mut VecDeque<MergeEdit<'a>>,
    others: &mut VecDeque<MergeEdit<'a>>,
) -> Option<MergeStep<'a>> {
    let (Some(our), Some(other)) = (ours.front().cloned(), others.front().cloned()) else {
        return ours.pop_front().or_else(|| others.pop_front()).map(MergeStep::Make);
    };
    if our.old == other.old && our.lines == other.lines {
        ours.pop_front();
        return others.pop_front().map(MergeStep::Keep);
    }
    if our.inserts() && other.inserts() && our.old == other.old {
        // Both added the same list.
        if let ([first, rest @ ..], [same, more @ ..]) = (our.lines, other.lines)
            && first == same
            && is_key(first)
        {
            ours[0] = MergeEdit { at: our.at + 1, lines: rest, ..our.clone() };
            others[0] = MergeEdit { at: other.at + 1, lines: more, ..other };
            return Some(MergeStep::Share(MergeEdit { lines: &our.lines[..1], ..our }));
        }
        ours.pop_front();
        let refused = shares_entry(our.lines, other.lines);
        return Some(if refused { MergeStep::Refuse(our, other) } else { MergeStep::Make(our) });
    }
    // Entries in a removed list.
    let key = our.keeps_key || is_list(&old[our.old.clone()]);
    let inside = our.old.start < other.old.start + usize::from(our.keeps_key) && other.old.start <= our.old.end;
    if key && inside && other.inserts() && is_entry(other.lines) {
        if !our.lines.is_empty() {
            ours.pop_front();
            return Some(MergeStep::Refuse(our, other));
        }
        if !our.keeps_key {
            let start = our.old.start;
            ours[0] = MergeEdit { old: start + 1..our.old.end, keeps_key: true, ..our.clone() };
            return Some(MergeStep::Make(MergeEdit { old: start..start + 1, lines: &old[start..=start], ..our }));
        }
        // Lines before the entries come first.
        if our.old.start < other.old.start {
            ours[0].old.start = other.old.start;
            return Some(MergeStep::Make(MergeEdit { old: our.old.start..other.old.start, ..our }));
        }
        return others.pop_front().map(MergeStep::Make);
    }
    if our.old.end <= other.old.start {
        return ours.pop_front().map(MergeStep::Make);
    }
    if other.old.end <= our.old.start {
        return others.pop_front().map(MergeStep::Make);
    }
    ours.pop_front();
    // Theirs contains it, and more.
    let begins = our.old.start == other.old.start && other.lines.starts_with(our.lines);
    let ends = our.old.end == other.old.end && other.lines.ends_with(our.lines);
    let within = other.old.start <= our.old.start && our.old.end <= other.old.end;
    Some(if !our.lines.is_empty() && within && (begins || ends) {
        MergeStep::Done
    } else {
        MergeStep::Refuse(our, other)
    })
}

/// Matches a line such as `env:`.
fn is_key(line: &str) -> bool {
    let line = line.trim();
    line.strip_suffix(':').is_some_and(|key| !key.is_empty() && !key.contains([' ', ':', '#']))
}

/// Returns true for a key without other keys at its level.
fn is_list(lines: &[&str]) -> bool {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let Some((key, rest)) = lines.split_first() else { return false };
    is_key(key) && rest.iter().all(|line| indent(line) > indent(key) || !is_key(line))
}

fn is_entry(lines: &[&str]) -> bool {
    let content = |line: &&&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    lines.iter().find(content).is_some_and(|line| line.trim_start().starts_with("- "))
}

fn shares_entry(ours: &[&str], others: &[&str]) -> bool {
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let content = |line: &&&str| !line.trim().is_empty();
    let outermost = ours.iter().filter(content).map(indent).min().unwrap_or_default();
    ours.iter().filter(content).any(|line| indent(line) == outermost && others.contains(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_both_are_in_the_result() {
        for (old, new, theirs, expected) in [
            ("a\nb\n", "a\nb\n", "a\nc\n", "a\nc\n"),
            ("a\nb\n", "a\nc\n", "a\nb\n", "a\nc\n"),
            ("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n"),
            // adjacent
            ("a\nb\n", "A\nb\n", "a\nB\n", "A\nB\n"),
            ("a\nb\n", "a\nx\nb\n", "a\nB\n", "a\nx\nB\n"),
            ("a\nb\n", "a\nx\nb\n", "a\nu\nb\n", "a\nx\nu\nb\n"),
            ("a\nx\nb\n", "a\nb\n", "a\nx\nu\nb\n", "a\nu\nb\n"),
            // both made it
            ("a\nb\nc\n", "a\nB\nc\n", "a\nB\nC\n", "a\nB\nC\n"),
            ("a\nb\nc\n", "a\nB\nc\nd\n", "a\nB\nc\n", "a\nB\nc\nd\n"),
            // a list of both
            ("a\nb\n", "a\nk:\n- x\nb\n", "a\nk:\n- u\nb\n", "a\nk:\n- x\n- u\nb\n"),
            ("a\nk:\n- x\nb\n", "a\nb\n", "a\nk:\n- x\n- u\nb\n", "a\nk:\n- u\nb\n"),
            ("a\nk:\n- x\nb\n", "a\nb\n", "a\nk:\n- u\n- x\n- v\nb\n", "a\nk:\n- u\n- v\nb\n"),
            ("a\nk:\n- x\nb\n", "a\nb\n", "a\nk:\n- x\nb\nu\n", "a\nb\nu\n"),
            // no line feed at the end
            ("a\nb", "a\nx\nb", "A\nb", "A\nx\nb"),
        ] {
            let merged = merge(old, new, theirs, ConflictChoice::Refuse);
            assert_eq!((merged.text.as_str(), merged.conflicts), (expected, vec![]), "{old:?} {new:?} {theirs:?}");
        }
    }

    #[test]
    fn what_both_have_changed_is_told_and_stays() {
        for (old, new, theirs, place, wanted) in [
            ("a\nb\nc\n", "a\nx\nc\n", "a\nu\nc\n", "u\n", "x\n"),
            ("a\nb\nc\n", "a\nc\n", "a\nu\nc\n", "u\n", ""),
            ("a\nb\nc\n", "a\nx\nc\n", "a\nc\n", "", "x\n"),
            ("a\nb\n", "a\n- x\n- y\nb\n", "a\n- y\nb\n", "- y\n", "- x\n- y\n"),
            ("a\nk:\n- x\nb\n", "a\n#k:\n#- x\nb\n", "a\nk:\n- x\n- u\nb\n", "- u\n", "#k:\n#- x\n"),
        ] {
            let Merged { text, conflicts, .. } = merge(old, new, theirs, ConflictChoice::Author);
            assert_eq!(text, theirs);
            let [MergeConflict { range, wanted: told }] = &conflicts[..] else { panic!("{conflicts:?}") };
            assert_eq!((&theirs[range.clone()], told.as_str()), (place, wanted));
        }
    }

    #[test]
    fn a_conflict_gets_the_text_of_the_choice() {
        for (old, new, theirs, scaffold, markers) in [
            (
                "a\nb\nc\n",
                "a\nx\nc\n",
                "a\nu\nc\n",
                "a\nx\nc\n",
                "a\n<<<<<<< yours\nu\n=======\nx\n>>>>>>> scaffold\nc\n",
            ),
            // One change of the scaffold over two of the author.
            (
                "a\nb\nc\nd\ne\n",
                "a\nx\ne\n",
                "a\nu\nc\nv\ne\n",
                "a\nx\ne\n",
                "a\n<<<<<<< yours\nu\nc\nv\n=======\nx\n>>>>>>> scaffold\ne\n",
            ),
            // No line feed at the end.
            ("a\nb", "a\nx", "a\nu", "a\nx\n", "a\n<<<<<<< yours\nu\n=======\nx\n>>>>>>> scaffold\n"),
        ] {
            for (choice, expected) in [
                (ConflictChoice::Author, theirs),
                (ConflictChoice::Scaffold, scaffold),
                (ConflictChoice::Markers, markers),
            ] {
                let merged = merge(old, new, theirs, choice);
                assert_eq!((merged.text.as_str(), merged.conflicts.len()), (expected, 1), "{old:?} {choice:?}");
            }
        }
    }
}
