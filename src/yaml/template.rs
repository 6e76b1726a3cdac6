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
        let end = from.find("}}").map_or(from.len(), |end| end + 2);
        let (action, after) = from.split_at(end);
        let line = &text[text.rfind('\n').map_or(0, |at| at + 1)..];
        let ends_line = after.lines().next().is_none_or(|line| line.trim().is_empty() || line.starts_with("{{"));
        let is_line = line.trim().is_empty() && ends_line;
        let inner = action.trim_start_matches("{{").trim_end_matches("}}").trim_matches(['-', ' ', '\n', '\t']);
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

/// The action writes nothing by itself.
fn is_control(action: &str) -> bool {
    const WORDS: [&str; 9] = ["block", "break", "continue", "define", "else", "end", "if", "range", "with"];
    let word = action.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
    action.starts_with("/*") || (action.starts_with('$') && action.contains('=')) || WORDS.contains(&word)
}
