//! Carries the comments of a PROJECT file over to its new text. The YAML is written from scratch, so each comment moves
//! with the line below or before it.

use std::collections::BTreeMap;

use serde_json::Value;

/// A line by its content and the number of equal lines before it.
type Anchor = (String, usize);

/// Returns `after` with the comments and empty lines of `before`. Comments of removed lines go to the end.
pub(super) fn carry_over(before: &str, after: &str) -> String {
    let mut above: BTreeMap<Anchor, Vec<&str>> = BTreeMap::new();
    let mut behind: BTreeMap<Anchor, &str> = BTreeMap::new();
    let mut run: Vec<&str> = Vec::new();
    let mut top: Option<Vec<&str>> = None;
    for (line, anchor) in anchored(before) {
        let Some(anchor) = anchor else {
            run.push(line);
            continue;
        };
        if let (_, Some(comment)) = split_comment(line) {
            behind.insert(anchor.clone(), comment);
        }
        if top.is_none() {
            top = Some(std::mem::take(&mut run));
        } else if !run.is_empty() {
            above.insert(anchor, std::mem::take(&mut run));
        }
    }

    let mut lines: Vec<String> = top.unwrap_or_default().into_iter().map(str::to_owned).collect();
    for (line, anchor) in anchored(after) {
        let anchor = anchor.unwrap_or_default();
        lines.extend(above.remove(&anchor).unwrap_or_default().into_iter().map(str::to_owned));
        lines.push(behind.remove(&anchor).map_or_else(|| line.to_owned(), |comment| format!("{line}{comment}")));
    }
    lines.extend(above.into_values().flatten().chain(run).map(str::to_owned));
    lines.extend(behind.into_values().map(|comment| comment.trim_start().to_owned()));
    let text = lines.join("\n") + "\n";
    // An apparent comment may be a line of a multi-line text in a foreign field.
    let value = |text: &str| serde_yaml::from_str::<Value>(text).ok();
    if value(&text) == value(after) { text } else { after.to_owned() }
}

/// Every line; `None` for a comment or an empty line.
fn anchored(text: &str) -> impl Iterator<Item = (&str, Option<Anchor>)> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    text.lines().map(move |line| {
        let content = split_comment(line).0.trim();
        if content.is_empty() {
            return (line, None);
        }
        let count = seen.entry(content.to_owned()).or_default();
        *count += 1;
        (line, Some((content.to_owned(), *count)))
    })
}

fn split_comment(line: &str) -> (&str, Option<&str>) {
    if line.trim_start().starts_with('#') {
        return ("", Some(line));
    }
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, '#') if line[..at].ends_with([' ', '\t']) => {
                let content = line[..at].trim_end();
                return (content, Some(&line[content.len()..]));
            }
            _ => {}
        }
    }
    (line, None)
}

#[cfg(test)]
mod tests {
    use super::carry_over;

    #[test]
    fn comments_move_with_their_lines() {
        for (before, after, expected) in [
            ("a: 1\n", "a: 1\n", "a: 1\n"),
            ("# top\n\na: 1\n", "0: 0\na: 1\n", "# top\n\n0: 0\na: 1\n"),
            ("a: 1\n# b\nb: 2 # why\n# end\n", "a: 1\nb: 2\nc: 3\n", "a: 1\n# b\nb: 2 # why\nc: 3\n# end\n"),
            // sorted again, and one line is removed
            ("# top\nb: 1\n# a\na: 2\n# c\nc: 3 # c too\n", "a: 2\nb: 1\n", "# top\n# a\na: 2\nb: 1\n# c\n# c too\n"),
            // the second of equal lines
            ("x:\n- v: 1\n# two\n- v: 1\n", "x:\n- v: 1\n- v: 1\n- v: 1\n", "x:\n- v: 1\n# two\n- v: 1\n- v: 1\n"),
            ("a: \"x # y\" # z\nb: x#y\n", "a: \"x # y\"\nb: x#y\n", "a: \"x # y\" # z\nb: x#y\n"),
            // not a comment: the value stays correct, if necessary without comments
            ("a: 1\nb: |\n  # text\n  more\n", "a: 1\nb: |\n  # text\n  more\n", "a: 1\nb: |\n  # text\n  more\n"),
            ("b: |\n  # text\n  more\n# c\n", "b: \"# text\\nmore\\n\"\n", "b: \"# text\\nmore\\n\"\n  # text\n# c\n"),
        ] {
            assert_eq!(carry_over(before, after), expected, "{before}");
            assert_eq!(carry_over(expected, after), expected, "again: {before}");
        }
    }
}
