//! Insertion points that the scaffold leaves in files of the user: `+kubebuilder:scaffold:<name>` comments.

use super::EditError;

/// Inserts `snippet` before the line of the marker `name`, indented as the marker is. Nothing changes when the lines
/// of the snippet are in the file already.
pub fn insert(text: &str, name: &str, snippet: &str) -> Result<String, EditError> {
    super::keeping_line_endings(text, |text| {
        let Some((at, indent)) = find(text, name) else {
            return Err(EditError::new(format!("no scaffold marker `+kubebuilder:scaffold:{name}`"))
                .help(format!("put the marker back as a comment, or add this by hand:\n{}", snippet.trim_end())));
        };
        if contains(text, snippet) {
            return Ok(text.to_owned());
        }
        let mut inserted = String::new();
        for line in snippet.trim_end().lines() {
            if !line.trim().is_empty() {
                inserted.push_str(indent);
                inserted.push_str(line.trim_end());
            }
            inserted.push('\n');
        }
        Ok(format!("{}{inserted}{}", &text[..at], &text[at..]))
    })
}

/// Start of the marker's line, and its indentation.
fn find<'a>(text: &'a str, name: &str) -> Option<(usize, &'a str)> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let comment = line.trim();
        let body = comment.strip_prefix("//").or_else(|| comment.strip_prefix('#'));
        let found = body.and_then(|body| body.trim_start().strip_prefix("+kubebuilder:scaffold:"));
        if found.is_some_and(|found| found.trim_end() == name) {
            return Some((at, &line[..line.len() - line.trim_start().len()]));
        }
        at += line.len();
    }
    None
}

/// Whether the lines of the snippet follow one another in `text`, whatever their indentation.
fn contains(text: &str, snippet: &str) -> bool {
    let lines = |text: &'_ str| -> Vec<String> {
        text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
    };
    let (text, snippet) = (lines(text), lines(snippet));
    snippet.is_empty() || text.windows(snippet.len()).any(|window| window == snippet)
}
