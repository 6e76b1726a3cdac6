//! Insertion points of the scaffold in the user's files: `+kubebuilder:scaffold:<name>` in a `//` or `#` comment.

use super::EditError;

/// The marker below the `mod` lines of a module.
pub(crate) const MODULES: &str = "modules";

/// Inserts `snippet` before the line of the marker `name`, with the marker's indentation. Unchanged if the lines exist,
/// at any indentation.
pub fn insert(text: &str, name: &str, snippet: &str) -> Result<String, EditError> {
    super::keeping_line_endings(text, |text| {
        if contains(text, snippet) {
            return Ok(text.to_owned());
        }
        let text = &open_list(text, name, snippet);
        let Some(marker) = find(text, name) else { return Err(missing(name, snippet)) };
        let mut inserted = String::new();
        for line in snippet.trim_matches('\n').lines() {
            if !line.trim().is_empty() {
                inserted.push_str(marker.indent);
                inserted.push_str(line.trim_end());
            }
            inserted.push('\n');
        }
        Ok(spliced(text, marker.start, &inserted))
    })
}

/// True if the text has the marker.
pub(crate) fn is_in(text: &str, name: &str) -> bool {
    find(text, name).is_some()
}

fn open_list(text: &str, name: &str, snippet: &str) -> String {
    let above = find(text, name).filter(|_| snippet.trim_start().starts_with("- ")).map(|marker| &text[..marker.start]);
    let is_content = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let last = above.and_then(|above| above.lines().rfind(is_content));
    match last.and_then(|line| Some((line, line.trim_end().strip_suffix(": []")?))) {
        Some((line, key)) => text.replacen(line, &format!("{key}:"), 1),
        None => text.to_owned(),
    }
}

/// Like [`insert`], but sorts snippets of the same length and first key by their text, so that the order of insertions
/// does not matter.
pub fn insert_sorted(text: &str, name: &str, snippet: &str) -> Result<String, EditError> {
    let lines: Vec<&str> = snippet.trim_matches('\n').lines().map(str::trim).collect();
    let inserted = insert(text, name, snippet)?;
    if inserted == text {
        return Ok(inserted);
    }
    let mut all: Vec<&str> = inserted.split_inclusive('\n').collect();
    let marker = format!("+kubebuilder:scaffold:{name}");
    let end = all.iter().position(|line| line.trim_end().ends_with(&marker)).unwrap_or(all.len());
    let mut at = end - lines.len();
    while let Some(before) = at.checked_sub(lines.len()) {
        let above: Vec<&str> = all[before..at].iter().map(|line| line.trim()).collect();
        if key(above[0]) != key(lines[0]) || above < lines {
            break;
        }
        all[before..at + lines.len()].rotate_right(lines.len());
        at = before;
    }
    Ok(all.concat())
}

/// `- name` of `- name: value`.
fn key(line: &str) -> &str {
    line.split(':').next().unwrap_or_default()
}

/// Inserts a line such as `pub mod foo;` among the `mod` lines above the marker [`MODULES`], in rustfmt's order: by
/// name, byte by byte (also in style edition 2024, which uses version sorting elsewhere). Unchanged if the module is
/// declared.
pub fn insert_module(text: &str, line: &str) -> Result<String, EditError> {
    let line = line.trim();
    let Some(name) = module_name(line) else {
        return Err(EditError::new(format!("`{line}` is not a module declaration")));
    };
    super::keeping_line_endings(text, |text| {
        if text.lines().any(|line| module_name(line) == Some(name)) {
            return Ok(text.to_owned());
        }
        let Some(marker) = find(text, MODULES) else { return Err(missing(MODULES, line)) };
        let mut at = marker.start;
        let mut item = marker.start;
        for above in text[..marker.start].split_inclusive('\n').rev() {
            item -= above.len();
            let trimmed = above.trim();
            match module_name(above) {
                Some(other) if name < other => at = item,
                // An attribute or a doc comment moves with the module below it.
                None if trimmed.starts_with("#[") || trimmed.starts_with("///") => {
                    if at == item + above.len() {
                        at = item;
                    }
                }
                Some(_) | None => break,
            }
        }
        Ok(spliced(text, at, &format!("{}{line}\n", marker.indent)))
    })
}

struct ScaffoldMarker<'a> {
    start: usize,
    indent: &'a str,
}

fn find<'a>(text: &'a str, name: &str) -> Option<ScaffoldMarker<'a>> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let comment = line.trim();
        let body = comment.strip_prefix("//").or_else(|| comment.strip_prefix('#'));
        let found = body.and_then(|body| body.trim_start().strip_prefix("+kubebuilder:scaffold:"));
        if found == Some(name) {
            return Some(ScaffoldMarker { start, indent: &line[..line.len() - line.trim_start().len()] });
        }
        start += line.len();
    }
    None
}

fn missing(name: &str, snippet: &str) -> EditError {
    let snippet = snippet.trim_matches('\n').trim_end();
    EditError::new(format!("scaffold marker `+kubebuilder:scaffold:{name}` not found"))
        .help(format!("restore the marker as a comment on a separate line, or add these lines:\n{snippet}"))
}

fn spliced(text: &str, at: usize, inserted: &str) -> String {
    format!("{}{inserted}{}", &text[..at], &text[at..])
}

fn contains(text: &str, snippet: &str) -> bool {
    let lines = |text: &'_ str| -> Vec<String> {
        text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
    };
    let (text, snippet) = (lines(text), lines(snippet));
    snippet.is_empty() || text.windows(snippet.len()).any(|window| window == snippet)
}

/// The module name in a `mod` line: `foo` in `pub(crate) mod foo; // why`.
fn module_name(line: &str) -> Option<&str> {
    let line = line.split("//").next()?.trim();
    let line = match line.strip_prefix("pub") {
        Some(rest) => match rest.trim_start().strip_prefix('(') {
            Some(rest) => rest.split_once(')')?.1,
            None => rest,
        },
        None => line,
    };
    let name = line.trim_start().strip_prefix("mod ")?.trim().strip_suffix(';')?.trim_end();
    let name = name.strip_prefix("r#").unwrap_or(name);
    (!name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_sorted_snippets_is_that_of_their_texts() {
        let start = "- x: 0\n  y: z\n\n- x: 1\n# +kubebuilder:scaffold:x\n- x: 9\n";
        let (a, b, c) = ("- x: 1\n  y: a", "- x: 1\n  y: b", "- x: 1\n  y: c");
        for order in [[a, b, c], [c, b, a], [b, c, a]] {
            let all = order.iter().fold(start.to_owned(), |text, snippet| insert_sorted(&text, "x", snippet).unwrap());
            assert_eq!(all, start.replace("# ", &format!("{a}\n{b}\n{c}\n# ")));
            assert_eq!(insert_sorted(&all, "x", b).unwrap(), all, "twice is the same as once");
        }
    }

    #[test]
    fn snippets_go_before_the_marker_with_its_indentation() {
        for (text, snippet, expected) in [
            ("a\n// +kubebuilder:scaffold:x\nb\n", "s", "a\ns\n// +kubebuilder:scaffold:x\nb\n"),
            (
                "    //+kubebuilder:scaffold:x",
                "s {\n    t\n\n}\n",
                "    s {\n        t\n\n    }\n    //+kubebuilder:scaffold:x",
            ),
            ("r: []\n\n# +kubebuilder:scaffold:x\n", "- s", "r:\n\n- s\n# +kubebuilder:scaffold:x\n"),
            ("r:\r\n# +kubebuilder:scaffold:x\r\n", "- s", "r:\r\n- s\r\n# +kubebuilder:scaffold:x\r\n"),
            // the lines exist, with another indentation
            (
                "  s {\n  t\n}\n// +kubebuilder:scaffold:x\n",
                "s {\n    t\n}",
                "  s {\n  t\n}\n// +kubebuilder:scaffold:x\n",
            ),
            // only a part of them exists
            ("t\n// +kubebuilder:scaffold:x\n", "s\nt", "t\ns\nt\n// +kubebuilder:scaffold:x\n"),
            // a marker with a longer name is a different one
            (
                "// +kubebuilder:scaffold:xy\n# +kubebuilder:scaffold:x\n",
                "s",
                "// +kubebuilder:scaffold:xy\ns\n# +kubebuilder:scaffold:x\n",
            ),
        ] {
            let once = insert(text, "x", snippet).unwrap();
            assert_eq!(once, expected);
            assert_eq!(insert(&once, "x", snippet).unwrap(), once, "twice is the same as once");
        }
    }

    #[test]
    fn a_missing_marker_is_an_error_that_prints_the_snippet() {
        let problem = insert("let a = \"+kubebuilder:scaffold:x\";\n", "x", "one\ntwo\n").unwrap_err();
        assert_eq!(problem.message, "scaffold marker `+kubebuilder:scaffold:x` not found");
        assert_eq!(
            problem.help.as_deref(),
            Some("restore the marker as a comment on a separate line, or add these lines:\none\ntwo")
        );
        let problem = insert_module("", "pub mod a;").unwrap_err();
        assert_eq!(problem.message, "scaffold marker `+kubebuilder:scaffold:modules` not found");
    }

    #[test]
    fn modules_are_inserted_in_order() {
        let marker = "// +kubebuilder:scaffold:modules\n";
        for (above, line, expected) in [
            ("", "pub mod b;", "pub mod b;\n"),
            ("//! Doc.\n\n", "pub mod b;", "//! Doc.\n\npub mod b;\n"),
            ("pub mod a;\npub mod c;\n", "pub mod b;", "pub mod a;\npub mod b;\npub mod c;\n"),
            ("pub mod a;\nmod c;\n", "pub mod d;", "pub mod a;\nmod c;\npub mod d;\n"),
            ("pub mod v1;\npub mod v10;\n", "pub mod v2;", "pub mod v1;\npub mod v10;\npub mod v2;\n"),
            ("pub mod v1;\n", "pub mod v1alpha1;", "pub mod v1;\npub mod v1alpha1;\n"),
            // the group above ends at an empty line
            ("mod x;\n\nmod z;\n", "mod y;", "mod x;\n\nmod y;\nmod z;\n"),
            ("use a;\nmod z;\n", "mod y;", "use a;\nmod y;\nmod z;\n"),
            // attributes and doc comments belong to the module below
            ("#[cfg(test)]\nmod b;\n", "mod a;", "mod a;\n#[cfg(test)]\nmod b;\n"),
            ("mod a;\n/// C.\n#[cfg(test)]\nmod c;\n", "mod b;", "mod a;\nmod b;\n/// C.\n#[cfg(test)]\nmod c;\n"),
            ("mod a;\n/// B.\nmod b;\n", "mod c;", "mod a;\n/// B.\nmod b;\nmod c;\n"),
            // declared elsewhere or with another visibility
            ("mod b;\n\nmod x;\n", "pub mod b;", "mod b;\n\nmod x;\n"),
            ("pub(crate) mod b; // why\n", "pub mod b;", "pub(crate) mod b; // why\n"),
        ] {
            for endings in ["\n", "\r\n"] {
                let text = format!("{above}{marker}").replace('\n', endings);
                let once = insert_module(&text, line).unwrap();
                assert_eq!(once, format!("{expected}{marker}").replace('\n', endings));
                assert_eq!(insert_module(&once, line).unwrap(), once);
            }
        }
        assert!(insert_module(marker, "pub mod a {").is_err());
    }
}
