//! The only printer: data to stdout, messages to stderr, questions only to people.
//!
//! Takes texts and [`Diagnostics`]. Must stay true: stdout has only the requested data, and a pipe gets neither colours
//! nor questions.

use std::io::{self, BufRead, IsTerminal as _, Write};

use crate::diagnostic::{Diagnostic, Diagnostics};

/// The verbosity of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Verbosity {
    /// Only requested data, warnings and errors: `-q`.
    Quiet,
    /// Also progress.
    #[default]
    Normal,
    /// Also reasons: `-v`.
    Verbose,
}

/// The reader of stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StdoutReader {
    /// A file or a pipe.
    Program,
    /// A terminal without colours.
    Person,
    /// A terminal with colours.
    PersonWithColors,
}

/// The terminal, or a substitute in tests.
pub struct Term {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    input: Box<dyn BufRead>,
    verbosity: Verbosity,
    color: bool,
    reader: StdoutReader,
    interactive: bool,
}

impl Term {
    /// The terminal of the process. Colours need a terminal without `NO_COLOR`; questions need a terminal on both
    /// sides.
    pub(crate) fn stdio(verbosity: Verbosity) -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        let colors = !no_color && !dumb;
        Self {
            out: Box::new(io::stdout()),
            err: Box::new(io::stderr()),
            // Not locked: a command may read its input from stdin.
            input: Box::new(io::BufReader::new(io::stdin())),
            verbosity,
            color: io::stderr().is_terminal() && colors,
            reader: match io::stdout().is_terminal() {
                true if colors => StdoutReader::PersonWithColors,
                true => StdoutReader::Person,
                false => StdoutReader::Program,
            },
            interactive: io::stdin().is_terminal() && io::stderr().is_terminal(),
        }
    }

    /// A terminal for tests: writes to `out` and `err`, reads answers from `input`.
    #[cfg(test)]
    fn with(
        out: impl Write + 'static,
        err: impl Write + 'static,
        input: impl BufRead + 'static,
        verbosity: Verbosity,
        interactive: bool,
    ) -> Self {
        Self {
            out: Box::new(out),
            err: Box::new(err),
            input: Box::new(input),
            verbosity,
            color: false,
            reader: StdoutReader::Program,
            interactive,
        }
    }

    /// The verbosity.
    pub fn verbosity(&self) -> Verbosity {
        self.verbosity
    }

    /// Writes the requested data to stdout. A closed pipe (`| head`) is not an error.
    pub fn data(&mut self, text: &str) -> io::Result<()> {
        match self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result,
        }
    }

    pub(crate) fn is_for_people(&self) -> bool {
        self.reader != StdoutReader::Program
    }

    /// Like [`Term::data`], for change lines that start with the kind of change.
    pub fn changes(&mut self, text: &str) -> io::Result<()> {
        self.lines(text, |line| match line.split_whitespace().next() {
            Some("create") => Some("32"),
            Some("update") => Some("33"),
            Some("remove") => Some("31"),
            _ => None,
        })
    }

    /// Like [`Term::data`], for a unified diff.
    pub fn diff(&mut self, text: &str) -> io::Result<()> {
        self.lines(text, |line| match line.as_bytes() {
            [b'd', b'i', b'f', b'f', ..] | [b'-', b'-', b'-', ..] | [b'+', b'+', b'+', ..] => Some("1"),
            [b'@', ..] => Some("36"),
            [b'+', ..] => Some("32"),
            [b'-', ..] => Some("31"),
            _ => None,
        })
    }

    fn lines(&mut self, text: &str, style: impl Fn(&str) -> Option<&'static str>) -> io::Result<()> {
        if self.reader != StdoutReader::PersonWithColors {
            return self.data(text);
        }
        let painted = text
            .lines()
            .flat_map(|line| [style(line).map_or(line.to_owned(), |style| styled(style, line)), "\n".to_owned()]);
        self.data(&painted.collect::<String>())
    }

    /// Prints the next step after an error.
    pub fn help(&mut self, text: &str) {
        let label = self.paint("1;36", "help");
        self.message(&format!("{label}: {text}"));
    }

    /// Prints progress, except with `-q`.
    pub fn status(&mut self, text: &str) {
        if self.verbosity >= Verbosity::Normal {
            self.message(text);
        }
    }

    /// Prints several progress messages.
    pub fn statuses(&mut self, texts: impl IntoIterator<Item = String>) {
        texts.into_iter().for_each(|text| self.status(&text));
    }

    /// Prints a reason, only with `-v`.
    pub(crate) fn detail(&mut self, text: &str) {
        if self.verbosity >= Verbosity::Verbose {
            self.message(text);
        }
    }

    /// Prints a warning that did not stop the command.
    pub fn warning(&mut self, text: &str) {
        let label = self.paint("1;33", "warning");
        self.message(&format!("{label}: {text}"));
    }

    /// Prints the error of a command, with its help in a separate line.
    pub fn error(&mut self, error: &anyhow::Error) {
        let Diagnostic { message, help, .. } = Diagnostic::from(error);
        let label = self.paint("1;31", "error");
        self.message(&format!("{label}: {message}"));
        if let Some(help) = help {
            self.help(&help);
        }
    }

    /// Prints findings with place and source line. Notes, and more than a few frequent warnings, need `-v`.
    pub fn diagnostics(&mut self, diagnostics: &Diagnostics) {
        let brief = (self.verbosity < Verbosity::Verbose).then(|| diagnostics.brief());
        let (diagnostics, more) = match &brief {
            Some((brief, more)) => (brief, Some(more)),
            None => (diagnostics, None),
        };
        if !diagnostics.is_empty() {
            self.message(diagnostics.render(self.color).trim_end());
        }
        for (code, count) in more.into_iter().flatten() {
            self.warning(&format!("{count} more of [{code}]: `-v` shows all"));
        }
    }

    pub(crate) fn is_interactive(&self) -> bool {
        self.interactive
    }

    /// Asks for yes or no. Without a terminal, or at the end of input, the answer is `default`.
    pub(crate) fn confirm(&mut self, question: &str, default: bool) -> io::Result<bool> {
        if !self.interactive {
            return Ok(default);
        }
        loop {
            write!(self.err, "{question} [{}] ", if default { "Y/n" } else { "y/N" })?;
            self.err.flush()?;
            let mut answer = String::new();
            if self.input.read_line(&mut answer)? == 0 {
                writeln!(self.err)?;
                return Ok(default);
            }
            match answer.trim().to_ascii_lowercase().as_str() {
                "" => return Ok(default),
                "y" | "yes" => return Ok(true),
                "n" | "no" => return Ok(false),
                _ => writeln!(self.err, "please answer `y` or `n`")?,
            }
        }
    }

    /// Ignores write errors, because stderr is the last channel.
    fn message(&mut self, text: &str) {
        let _ = writeln!(self.err, "{text}");
    }

    fn paint(&self, style: &str, text: &str) -> String {
        if self.color { styled(style, text) } else { text.to_owned() }
    }
}

fn styled(style: &str, text: &str) -> String {
    format!("\u{1b}[{style}m{text}\u{1b}[0m")
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::io::Cursor;
    use std::rc::Rc;

    use super::*;
    use crate::diagnostic::{Code, Problem};

    #[derive(Clone, Default)]
    struct Sink(Rc<RefCell<Vec<u8>>>);

    impl Sink {
        fn text(&self) -> String {
            String::from_utf8(self.0.borrow().clone()).unwrap()
        }
    }

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn term(input: &'static str, verbosity: Verbosity, interactive: bool) -> (Term, Sink, Sink) {
        let (out, err) = (Sink::default(), Sink::default());
        (Term::with(out.clone(), err.clone(), Cursor::new(input), verbosity, interactive), out, err)
    }

    #[test]
    fn questions_are_asked_of_people_only() {
        for (input, interactive, default, expected, asked) in [
            ("y\n", false, false, false, ""),
            ("n\n", false, true, true, ""),
            ("y\n", true, false, true, "go on? [y/N] "),
            ("NO\n", true, true, false, "go on? [Y/n] "),
            ("\n", true, true, true, "go on? [Y/n] "),
            ("", true, true, true, "go on? [Y/n] \n"),
            ("what\nyes\n", true, false, true, "go on? [y/N] please answer `y` or `n`\ngo on? [y/N] "),
        ] {
            let (mut term, out, err) = term(input, Verbosity::Normal, interactive);
            assert_eq!(term.confirm("go on?", default).unwrap(), expected, "{input:?}");
            assert_eq!((err.text().as_str(), out.text().as_str()), (asked, ""));
        }
    }

    #[test]
    fn each_level_says_its_part_and_data_is_alone_on_stdout() {
        for (verbosity, expected) in [
            (Verbosity::Quiet, "warning: careful\n"),
            (Verbosity::Normal, "doing\nwarning: careful\n"),
            (Verbosity::Verbose, "doing\nbecause\nwarning: careful\n"),
        ] {
            let (mut term, out, err) = term("", verbosity, false);
            term.data("data\n").unwrap();
            term.status("doing");
            term.detail("because");
            term.warning("careful");
            assert_eq!((out.text().as_str(), err.text().as_str()), ("data\n", expected));
        }
    }

    #[test]
    fn warnings_that_come_in_numbers_are_counted() {
        let format = |number: u8| Diagnostic::new(Code::UnknownFormat, format!("format {number}"));
        let found: Diagnostics = (1..=5).map(format).chain([Diagnostic::new(Code::CrdSize, "big")]).collect();
        for (verbosity, shown, more) in [(Verbosity::Normal, 3, true), (Verbosity::Verbose, 5, false)] {
            let (mut term, _, err) = term("", verbosity, false);
            term.diagnostics(&found);
            let text = err.text();
            assert_eq!(text.matches("[unknown-format]: format").count(), shown, "{text}");
            assert_eq!(text.ends_with("warning: 2 more of [unknown-format]: `-v` shows all\n"), more, "{text}");
            assert!(text.contains("[crd-size]: big"), "{text}");
        }
    }

    #[test]
    fn changes_and_diffs_have_colours_on_a_terminal() {
        let diff = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+two\n three\n";
        let colored = "\u{1b}[1mdiff --git a/a b/a\u{1b}[0m\n\u{1b}[1m--- a/a\u{1b}[0m\n\u{1b}[1m+++ b/a\u{1b}[0m\n\
                       \u{1b}[36m@@ -1 +1 @@\u{1b}[0m\n\u{1b}[31m-one\u{1b}[0m\n\u{1b}[32m+two\u{1b}[0m\n three\n";
        let (changes, colored_changes) =
            ("create    a\nskip      b\n", "\u{1b}[32mcreate    a\u{1b}[0m\nskip      b\n");
        for (reader, expected) in
            [(StdoutReader::Person, [changes, diff]), (StdoutReader::PersonWithColors, [colored_changes, colored])]
        {
            let (mut term, out, _) = term("", Verbosity::Normal, false);
            term.reader = reader;
            term.changes(changes).unwrap();
            term.diff(diff).unwrap();
            assert_eq!(out.text(), expected.concat());
        }
    }

    #[test]
    fn errors_end_with_the_help() {
        let (mut term, _, err) = term("", Verbosity::Quiet, false);
        term.error(&anyhow::Error::new(Problem::new("no marker").help("add it")).context("cannot edit `a`"));
        assert_eq!(err.text(), "error: cannot edit `a`: no marker\nhelp: add it\n");
    }
}
