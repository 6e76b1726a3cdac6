//! The lines of a text, each beside its form without Helm actions.

/// A line with its line feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlainLine {
    pub(super) text: String,
    /// Without Helm actions.
    pub(super) plain: String,
}

/// Pairs the lines of both texts. An action in the last line leaves nothing of it.
pub(super) fn split(text: &str, plain: &str) -> Vec<PlainLine> {
    let pair = |(text, plain): (&str, &str)| PlainLine { text: text.to_owned(), plain: plain.to_owned() };
    text.split_inclusive('\n').zip(plain.split_inclusive('\n').chain([""])).map(pair).collect()
}

impl PlainLine {
    /// Returns true for a line that is not blank, a comment or an action.
    pub(super) fn is_content(&self) -> bool {
        let plain = self.plain.trim();
        !plain.is_empty() && !plain.starts_with('#') && !self.is_separator()
    }

    pub(super) fn is_separator(&self) -> bool {
        self.plain.trim_end() == "---" || self.plain.starts_with("--- ")
    }

    /// The column of the first character without actions.
    pub(super) fn indent(&self) -> usize {
        self.plain.len() - self.plain.trim_start_matches(' ').len()
    }

    /// The column of the first character.
    pub(super) fn text_indent(&self) -> usize {
        self.text.len() - self.text.trim_start_matches(' ').len()
    }

    /// The key of a mapping at the start of the line.
    pub(super) fn key(&self) -> Option<&str> {
        let line = self.plain.trim();
        let quote = line.chars().next().filter(|quote| matches!(quote, '"' | '\''));
        if let Some(quote) = quote {
            let (key, rest) = line[1..].split_once(quote)?;
            return rest.trim_start().starts_with(':').then_some(key);
        }
        let end = line.find(": ").or_else(|| line.ends_with(':').then(|| line.len() - 1))?;
        Some(&line[..end])
    }
}
