//! Renders diagnostics for people: `error[code]: message`, `path:line:col`, the source line, `help:`.

use annotate_snippets::{AnnotationKind, Group, Level, Origin as Place, Renderer, Snippet};

use super::{Diagnostic, Diagnostics, Severity};

impl Diagnostic {
    /// The text for a terminal, without a final newline. `color` adds ANSI escapes.
    pub fn render(&self, color: bool) -> String {
        let level = match self.code.severity() {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let mut group = level.primary_title(self.message.as_str()).id(self.code.as_str()).elements(Vec::<Place>::new());
        if let Some(origin) = &self.origin {
            if origin.text.is_empty() {
                group = group.element(Place::path(&*origin.path));
            } else {
                let annotation = AnnotationKind::Primary.span(origin.clamped());
                group = group.element(Snippet::source(&*origin.text).path(&*origin.path).annotation(annotation));
            }
        }
        let Some(help) = &self.help else { return renderer.render(&[group]) };
        if self.origin.is_some() {
            return renderer.render(&[group.element(Level::HELP.message(help.as_str()))]);
        }
        // The help is part of the snippet; without a place, the snippet would be empty.
        let help = Group::with_title(Level::HELP.secondary_title(help.as_str()));
        format!("{}\n{}", renderer.render(&[group]), renderer.render(&[help]))
    }
}

impl Diagnostics {
    /// All findings, each with an empty line after it.
    pub fn render(&self, color: bool) -> String {
        self.iter().map(|diagnostic| diagnostic.render(color) + "\n\n").collect()
    }
}

#[cfg(test)]
mod tests {
    use snapbox::{assert_data_eq, str};

    use crate::diagnostic::{Code, Diagnostic, Origin};

    fn origin(text: &str, range: std::ops::Range<usize>) -> Origin {
        Origin { path: "src/api.rs".into(), text: text.into(), range }
    }

    #[test]
    fn with_a_source_line() {
        let text = "struct A {\n    b: c d,\n}\n";
        let diagnostic =
            Diagnostic::new(Code::Syntax, "expected `,`").at(origin(text, 20..21)).help("put a `,` after `c`");
        assert_data_eq!(
            diagnostic.render(false),
            str![[r#"
error[rust-syntax]: expected `,`
 --> src/api.rs:2:10
  |
2 |     b: c d,
  |          ^
  |
  = help: put a `,` after `c`
"#]]
        );
    }

    #[test]
    fn of_a_whole_file() {
        let diagnostic = Diagnostic::new(Code::FileConflict, "`Makefile` exists")
            .at(Origin::file("Makefile"))
            .help("use --force\nor move it away");
        assert_data_eq!(
            diagnostic.render(false),
            str![[r#"
error[file-conflict]: `Makefile` exists
--> Makefile
 = help: use --force
         or move it away
"#]]
        );
    }

    #[test]
    fn without_a_place() {
        assert_data_eq!(
            Diagnostic::new(Code::UnusualVersion, "`1`").render(false),
            str!["warning[unusual-version]: `1`"]
        );
        assert_data_eq!(
            Diagnostic::new(Code::UnusualVersion, "`1`").help("use `v1`\nor `v2`").render(false),
            str![[r#"
warning[unusual-version]: `1`
help: use `v1`
      or `v2`
"#]]
        );
    }

    #[test]
    fn odd_ranges_and_texts_are_shown_and_do_not_panic() {
        for (text, range) in [("ab\r\ncé\t\u{0}x", 6..7), ("ab", 9..12), ("ab\n", 3..3), ("é", 1..1)] {
            let shown = Diagnostic::new(Code::Syntax, "m").at(origin(text, range.clone())).render(false);
            assert!(shown.contains("--> src/api.rs:"), "{text:?} {range:?}\n{shown}");
        }
    }
}
