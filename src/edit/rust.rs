//! Edits of Rust files of the user, line by line; `None` where the line is not as it was scaffolded.

/// Makes `manager`, which was a module, another name of the crate.
pub fn re_export_module(text: &str) -> Option<String> {
    replaced_line(text, "pub mod manager;", "pub use ::manager;")
}

/// Gives `Manager::new` the version of the operator between its name and the options.
pub fn name_version(text: &str) -> Option<String> {
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
}
