//! Helm templates, as YAML without their values.

/// An action of a template that writes something.
pub(crate) struct Action<'a> {
    /// The text between the braces.
    pub(crate) text: &'a str,
    /// The template above the action, without actions.
    pub(crate) above: &'a str,
    /// The line has nothing else.
    pub(crate) is_line: bool,
}

/// Takes the actions of a Helm template out. An action that writes something becomes the result of `stand_in`. Lines keep their
/// numbers.
pub(crate) fn without_actions(template: &str, mut stand_in: impl FnMut(&Action<'_>) -> String) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(start) = rest.find("{{") {
        let (before, from) = rest.split_at(start);
        text.push_str(before);
        let (action, after) = from.split_at(action_end(from));
        let line = &text[text.rfind('\n').map_or(0, |at| at + 1)..];
        let ends_line = after.lines().next().is_none_or(|line| line.trim().is_empty() || line.starts_with("{{"));
        let is_line = line.trim().is_empty() && ends_line;
        let inner = inner(action);
        if !is_control(inner) {
            let written = stand_in(&Action { text: inner, above: &text, is_line });
            text.push_str(&written);
        }
        text.extend(action.chars().filter(|letter| *letter == '\n'));
        rest = after;
    }
    text.push_str(rest);
    text
}

/// The length of the action at the start of the text. Braces in its strings and comments are part of it.
fn action_end(text: &str) -> usize {
    let inner = text.trim_start_matches("{{").trim_start_matches('-').trim_start();
    let start = text.len() - inner.len();
    let close = |from: usize| text[from..].find("}}").map(|end| from + end + 2);
    if inner.starts_with("/*") {
        let comment = inner.find("*/").map_or(start, |end| start + end);
        return close(comment).unwrap_or(text.len());
    }
    let mut quote = None;
    let mut is_escaped = false;
    for (at, letter) in inner.char_indices() {
        match quote {
            Some('"') if is_escaped => is_escaped = false,
            Some('"') if letter == '\\' => is_escaped = true,
            Some(open) if letter == open => quote = None,
            None if matches!(letter, '"' | '`') => quote = Some(letter),
            None if inner[at..].starts_with("}}") => return start + at + 2,
            _ => {}
        }
    }
    // A quote that does not end is text of something else.
    close(start).unwrap_or(text.len())
}

/// The text that an action writes, if it is a string.
pub(crate) fn string_of(action: &str) -> Option<String> {
    if let Some(raw) = action.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')) {
        return (!raw.contains('`')).then(|| raw.to_owned());
    }
    serde_json::from_str(action).ok()
}

/// The texts of the actions.
pub(crate) fn actions(template: &str) -> Vec<&str> {
    let (mut all, mut rest) = (Vec::new(), template);
    while let Some(start) = rest.find("{{") {
        let from = &rest[start..];
        let (action, after) = from.split_at(action_end(from));
        all.push(inner(action));
        rest = after;
    }
    all
}

/// The levels that the actions of a template open and close. The second number is the lowest level on the way.
pub(crate) fn levels(template: &str) -> (isize, isize) {
    let (mut level, mut lowest) = (0, 0);
    for action in actions(template) {
        match action.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default() {
            "block" | "define" | "if" | "range" | "with" => level += 1,
            "end" => level -= 1,
            _ => {}
        }
        lowest = lowest.min(level);
    }
    (level, lowest)
}

/// The text between the braces of an action.
fn inner(action: &str) -> &str {
    let text = action.strip_prefix("{{").unwrap_or(action);
    text.strip_suffix("}}").unwrap_or(text).trim_matches(['-', ' ', '\n', '\t'])
}

/// The action writes nothing by itself.
fn is_control(action: &str) -> bool {
    const WORDS: [&str; 9] = ["block", "break", "continue", "define", "else", "end", "if", "range", "with"];
    let word = action.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
    action.starts_with("/*") || (action.starts_with('$') && action.contains('=')) || WORDS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_end_after_their_strings() {
        for (template, expected) in [
            (r#"a {{ "}}" }} b"#, "a <\"}}\"> b"),
            ("a {{ `{{ x }}` }} b", "a <`{{ x }}`> b"),
            (r#"{{ "\"}}" }}"#, r#"<"\"}}">"#),
            ("{{/* don't \"this */}}a", "a"),
            ("{{- if .a -}}\nb\n{{- end }}", "\nb\n"),
            ("{{ don't }} a", "<don't> a"),
            ("{{ \" }} a", "<\"> a"),
            ("{{ open", "<open>"),
        ] {
            assert_eq!(without_actions(template, |action| format!("<{}>", action.text)), expected, "{template}");
        }
    }

    #[test]
    fn strings_of_actions() {
        for (action, expected) in
            [(r#""{{""#, Some("{{")), ("`a\"b`", Some("a\"b")), (".Values.a", None), (r#""a" | quote"#, None)]
        {
            assert_eq!(string_of(action).as_deref(), expected, "{action}");
        }
    }

    #[test]
    fn levels_of_actions() {
        for (template, expected) in [
            ("", (0, 0)),
            ("{{- if .a }}b{{ else if .c }}{{ end }}", (0, 0)),
            ("{{ with .a }}{{ range .b }}", (2, 0)),
            ("{{ end }}{{ if .a }}", (0, -1)),
            ("{{ include \"if\" . }}", (0, 0)),
        ] {
            assert_eq!(levels(template), expected, "{template}");
        }
    }
}
