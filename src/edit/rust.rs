//! Line edits of the user's Rust files.

use std::collections::BTreeSet;

use super::EditError;

/// Declares a module after the last `mod` line.
///
/// # Errors
///
/// Fails if there is no `mod` line.
pub fn add_module(text: &str, name: &str) -> Result<String, EditError> {
    super::keeping_line_endings(text, |text| {
        let item = format!("pub mod {name};");
        let is_module = |line: &str| {
            let line = line.strip_prefix("pub ").unwrap_or(line);
            line.starts_with("mod ") && line.trim_end().ends_with(';')
        };
        if text.lines().any(|line| is_module(line) && line.trim_end().ends_with(&format!("mod {name};"))) {
            return Ok(text.to_owned());
        }
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let Some(last) = lines.iter().rposition(|line| is_module(line)) else {
            return Err(EditError::new("module declarations not found").help(format!("add this item:\n{item}")));
        };
        let (above, below) = lines.split_at(last + 1);
        let end = if above[last].ends_with('\n') { "" } else { "\n" };
        Ok(format!("{}{end}{item}\n{}", above.concat(), below.concat()))
    })
}

/// Replaces the lines that `is_meant` accepts.
pub(crate) fn replace_lines(text: &str, is_meant: impl Fn(&str) -> bool, new: &str) -> Result<String, EditError> {
    super::keeping_line_endings(text, |text| {
        let line = |line: &str| if is_meant(line.trim_end()) { format!("{new}\n") } else { line.to_owned() };
        Ok(text.split_inclusive('\n').map(line).collect())
    })
}

/// Adds comment lines below the last comment that contains `name`, or else at the end. Existing lines are not added again.
pub(crate) fn add_comments(text: &str, name: &str, comments: &[&String]) -> Result<String, EditError> {
    super::keeping_line_endings(text, |text| {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let is_new = |comment: &&str| !text.lines().any(|line| line == *comment);
        let new: String =
            comments.iter().map(|comment| comment.as_str()).filter(is_new).flat_map(|new| [new, "\n"]).collect();
        let last = lines.iter().rposition(|line| line.starts_with("//") && line.contains(name));
        let (above, below) = lines.split_at(last.map_or(lines.len(), |last| last + 1));
        let gap = if last.is_some() || new.is_empty() { "" } else { "\n" };
        Ok(format!("{}{gap}{new}{}", above.concat(), below.concat()))
    })
}

/// Declares a module after the last `mod` line, or else before the first item. Unchanged if it is declared, with any visibility.
///
/// # Errors
///
/// Fails if the file contains the module itself.
pub(crate) fn declare_module(text: &str, name: &str) -> Result<String, EditError> {
    super::keeping_line_endings(text, |text| {
        let is_declared = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.windows(2).any(|pair| pair[0] == "mod" && pair[1].trim_end_matches(';') == name)
                && !line.trim_start().starts_with("//")
        };
        if let Some(line) = text.lines().find(|line| is_declared(line)) {
            if line.trim_end().ends_with(';') {
                return Ok(text.to_owned());
            }
            let problem = EditError::new(format!("the module `{name}` is written in this file"));
            return Err(problem.help(format!("move it to a file of its own, `src/{name}.rs`")));
        }
        add_module(text, name).or_else(|_| {
            let is_head = |line: &&str| {
                let line = line.trim_start();
                line.is_empty() || line.starts_with("//") || line.starts_with("#!")
            };
            let at: usize = text.split_inclusive('\n').take_while(is_head).map(str::len).sum();
            Ok(format!("{}pub mod {name};\n\n{}", &text[..at], &text[at..]))
        })
    })
}

/// Removes the declaration that [`declare_module`] writes. Unchanged if the author has changed it.
pub(crate) fn retract_module(text: &str, name: &str) -> Result<String, EditError> {
    super::keeping_line_endings(text, |text| {
        let item = format!("pub mod {name};");
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut places = (0..lines.len()).filter(|at| lines[*at].trim_end() == item);
        let (Some(at), None) = (places.next(), places.next()) else { return Ok(text.to_owned()) };
        let is_of_item = |line: &str| line.starts_with("#[") || line.starts_with("///");
        if lines[..at].last().is_some_and(|above| is_of_item(above)) {
            return Ok(text.to_owned());
        }
        let without = |count: usize| [&lines[..at], lines.get(at + count..).unwrap_or_default()].concat().concat();
        // The declaration before the first item has a blank line below.
        let both = without(2);
        let has_blank = lines.get(at + 1).is_some_and(|below| below.trim().is_empty());
        Ok(if has_blank && declare_module(&both, name)? == text { both } else { without(1) })
    })
}

/// Appends a call to the chain that contains the call `after`, such as `.webhooks(`. Unchanged if the call exists.
///
/// # Errors
///
/// Fails unless `after` occurs exactly once.
pub(crate) fn add_call(text: &str, after: &str, call: &str) -> Result<String, EditError> {
    super::keeping_line_endings(text, |text| {
        if text.lines().any(|line| line.trim().trim_end_matches(';').ends_with(call)) {
            return Ok(text.to_owned());
        }
        let help = || format!("add this call:\n{call}");
        let places: Vec<usize> = text.match_indices(after).map(|(at, _)| at + after.len()).collect();
        let [start] = places[..] else {
            return Err(EditError::new(format!("expected exactly one call `{after}…)`")).help(help()));
        };
        // The chain ends at the next `;`, or at the end of the block.
        let mut depth = 1_i32;
        let end = text[start..].char_indices().find(|(_, char)| {
            match char {
                '(' | '{' | '[' => depth += 1,
                ')' | '}' | ']' => depth -= 1,
                _ => {}
            }
            depth < 0 || (depth == 0 && *char == ';')
        });
        let Some((end, _)) = end else {
            return Err(EditError::new(format!("the call `{after}…)` is not closed")).help(help()));
        };
        let (before, rest) = text.split_at(text[..start + end].trim_end().len());
        Ok(format!("{before}\n        {call}{rest}"))
    })
}

/// Imports names from `path`, in an existing `use` or a new one.
///
/// # Errors
///
/// Fails if the file has no `use`.
pub(crate) fn add_names(text: &str, path: &str, names: &[&str]) -> Result<String, EditError> {
    super::keeping_line_endings(text, |text| {
        let item = |names: &BTreeSet<&str>| {
            let list = names.iter().copied().collect::<Vec<_>>().join(", ");
            if names.len() == 1 { format!("use {path}::{list};") } else { format!("use {path}::{{{list}}};") }
        };
        let mut all: BTreeSet<&str> = names.iter().copied().collect();
        let begin = format!("use {path}::");
        let found = text.match_indices(&begin).find(|(at, _)| *at == 0 || text[..*at].ends_with('\n'));
        if let Some((at, _)) = found
            && let Some(length) = text[at..].find(';')
        {
            let list = text[at + begin.len()..at + length].trim_matches(['{', '}', ' ', '\n', ',']);
            if !list.contains(['{', ':', '*']) && !list.contains(" as ") {
                all.extend(list.split(',').map(str::trim).filter(|name| !name.is_empty()));
                return Ok(format!("{}{}{}", &text[..at], item(&all), &text[at + length + 1..]));
            }
        }
        let first = text.match_indices("use ").find(|(at, _)| *at == 0 || text[..*at].ends_with('\n'));
        let Some((at, _)) = first else {
            return Err(EditError::new("imports not found").help(format!("add these lines:\n{}", item(&all))));
        };
        let end = text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
        Ok(format!("{}{}\n{}", &text[..end], item(&all), &text[end..]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_calls_and_names_are_added_once() {
        for (text, expected) in [
            ("pub mod api;\npub mod controller;\n", "pub mod api;\npub mod controller;\npub mod webhook;\n"),
            ("mod a;\nfn f() {}\n", "mod a;\npub mod webhook;\nfn f() {}\n"),
            ("mod webhook;\r\n", "mod webhook;\r\n"),
        ] {
            assert_eq!(add_module(text, "webhook").unwrap(), expected);
            assert_eq!(add_module(expected, "webhook").unwrap(), expected);
        }
        assert!(add_module("fn f() {}\n", "webhook").is_err());
        for (text, expected) in [
            ("mod a;\nfn f() {}\n", "mod a;\npub mod api;\nfn f() {}\n"),
            ("//! D.\n#![deny(x)]\n\nuse a::b;\n", "//! D.\n#![deny(x)]\n\npub mod api;\n\nuse a::b;\n"),
            ("pub(crate) mod api;\r\n", "pub(crate) mod api;\r\n"),
            ("", "pub mod api;\n\n"),
        ] {
            assert_eq!(declare_module(text, "api").unwrap(), expected);
            assert_eq!(declare_module(expected, "api").unwrap(), expected);
            assert_eq!(retract_module(expected, "api").unwrap(), text);
        }
        assert!(declare_module("mod api {\n}\n", "api").is_err());
        for (text, expected) in [
            ("pub mod api;\nmod birds;\n", "mod birds;\n"),
            ("/// Types.\npub mod api;\n", "/// Types.\npub mod api;\n"),
            ("mod api;\nmod b;\n", "mod api;\nmod b;\n"),
        ] {
            assert_eq!(retract_module(text, "api").unwrap(), expected);
        }
        let call = ".b::<T>(\"/b\")";
        for (text, expected) in [
            ("m.a(C {});\n", "m.a(C {})\n        .b::<T>(\"/b\");\n"),
            ("m.a(f(x, (y)))\n    .c();\n", "m.a(f(x, (y)))\n    .c()\n        .b::<T>(\"/b\");\n"),
            ("{ m.a(C { x: 1 })\n}\n", "{ m.a(C { x: 1 })\n        .b::<T>(\"/b\")\n}\n"),
        ] {
            assert_eq!(add_call(text, ".a(", call).unwrap(), expected);
            assert_eq!(add_call(expected, ".a(", call).unwrap(), expected);
        }
        for text in ["m.c();", "m.a(x).a(y);", "m.a("] {
            assert!(add_call(text, ".a(", call).is_err(), "{text}");
        }
        for (text, expected) in [
            ("use a::b::{D, B};\n", "use a::b::{B, C, D};\n"),
            ("use a::b::{\n    B,\n    D,\n};\n", "use a::b::{B, C, D};\n"),
            ("use a::b::C;\n", "use a::b::C;\n"),
            ("use a::b::{self, x::Y};\n", "use a::b::{self, x::Y};\nuse a::b::C;\n"),
            ("//! D.\n\nuse x;\nuse y;\n", "//! D.\n\nuse x;\nuse a::b::C;\nuse y;\n"),
        ] {
            assert_eq!(add_names(text, "a::b", &["C"]).unwrap(), expected);
        }
        assert!(add_names("fn f() {}\n", "a::b", &["C"]).is_err());
    }
}
