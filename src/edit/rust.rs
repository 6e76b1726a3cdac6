//! Edits of Rust files of the user, line by line; `None` where the line is not as it was scaffolded.

use std::collections::BTreeSet;

use super::EditError;

/// Makes `manager`, which was a module, another name of the crate.
pub(crate) fn re_export_module(text: &str) -> Option<String> {
    replaced_line(text, "pub mod manager;", "pub use ::manager;")
}

/// Gives `Manager::new` the version of the operator between its name and the options.
pub(crate) fn name_version(text: &str) -> Option<String> {
    const CALL: &str = "Manager::new(\"";
    const VERSION: &str = "env!(\"CARGO_PKG_VERSION\")";
    let mut calls = text.match_indices(CALL);
    let (start, _) = calls.next()?;
    let name = start + CALL.len();
    let options = name + text[name..].find("\", ")? + "\", ".len();
    if calls.next().is_some() || text[name..options].contains('\n') {
        return None;
    }
    if text[options..].starts_with("version, ") || text[options..].starts_with(VERSION) {
        return Some(text.to_owned());
    }
    let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
    let before = &text[line..start];
    if !before.trim().is_empty() {
        return None;
    }
    let (above, call, rest) = (&text[..line], &text[line..options], &text[options..]);
    Some(format!("{above}{before}let version = {VERSION};\n{call}version, {rest}"))
}

/// Declares a module among the others, behind the last one.
///
/// # Errors
///
/// There is no other one.
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
            return Err(EditError::new("no module is declared here").help(format!("add by hand:\n{item}")));
        };
        let (above, below) = lines.split_at(last + 1);
        let end = if above[last].ends_with('\n') { "" } else { "\n" };
        Ok(format!("{}{end}{item}\n{}", above.concat(), below.concat()))
    })
}

/// Adds a call at the end of the chain that the call `after`, such as `.webhooks(`, is in. Nothing changes when it is there.
///
/// # Errors
///
/// There is not exactly one such call.
pub(crate) fn add_call(text: &str, after: &str, call: &str) -> Result<String, EditError> {
    super::keeping_line_endings(text, |text| {
        if text.lines().any(|line| line.trim().trim_end_matches(';').ends_with(call)) {
            return Ok(text.to_owned());
        }
        let help = || format!("add by hand:\n{call}");
        let places: Vec<usize> = text.match_indices(after).map(|(at, _)| at + after.len()).collect();
        let [start] = places[..] else {
            return Err(EditError::new(format!("there is not exactly one call `{after}…)`")).help(help()));
        };
        // The chain ends at the `;` behind the call, or at the end of the block around it.
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
            return Err(EditError::new(format!("the call `{after}…)` does not end")).help(help()));
        };
        let (before, rest) = text.split_at(text[..start + end].trim_end().len());
        Ok(format!("{before}\n        {call}{rest}"))
    })
}

/// Imports names from `path`, by the `use` that is there or a new one.
///
/// # Errors
///
/// There is no `use` at all.
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
            return Err(EditError::new("nothing is imported here").help(format!("add by hand:\n{}", item(&all))));
        };
        let end = text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
        Ok(format!("{}{}\n{}", &text[..end], item(&all), &text[end..]))
    })
}

fn replaced_line(text: &str, old: &str, new: &str) -> Option<String> {
    let lines = || text.lines().map(str::trim_end);
    if lines().any(|line| line == new) {
        return Some(text.to_owned());
    }
    if lines().filter(|line| *line == old).count() != 1 {
        return None;
    }
    let line = |line: &str| if line.trim_end() == old { line.replacen(old, new, 1) } else { line.to_owned() };
    Some(text.split_inclusive('\n').map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_becomes_a_name_of_the_crate() {
        for (text, expected) in [
            ("pub mod api;\npub mod manager;\n", Some("pub mod api;\npub use ::manager;\n")),
            ("pub mod manager;\r\n", Some("pub use ::manager;\r\n")),
            ("pub use ::manager;\n", Some("pub use ::manager;\n")),
            ("mod manager;\n", None),
            ("", None),
        ] {
            assert_eq!(re_export_module(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn the_version_comes_behind_the_name() {
        let with =
            "{\n    let version = env!(\"CARGO_PKG_VERSION\");\n    Manager::new(\"a\", version, args.manager)\n";
        for (text, expected) in [
            ("{\n    Manager::new(\"a\", args.manager)\n", Some(with)),
            (with, Some(with)),
            ("    Manager::new(NAME, args.manager)\n", None),
            ("let manager = Manager::new(\"a\", args.manager);", None),
            ("Manager::new(\"a\", x); Manager::new(\"a\", y)", None),
            ("", None),
        ] {
            assert_eq!(name_version(text).as_deref(), expected, "{text}");
        }
    }

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
