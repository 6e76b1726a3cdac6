//! New Rust files go through `rustfmt`, because its line breaks depend on the length of names.

use std::io::Write;
use std::process::{Child, Command, Stdio};

/// What became of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Formatted {
    /// As rustfmt writes it.
    Yes(String),
    /// There is no rustfmt, or it refused the text.
    No,
}

/// Formats a whole Rust file with the standard style, whatever `rustfmt.toml` lies around.
pub(crate) fn format(text: &str) -> Formatted {
    finish(start(text))
}

/// The same with several files, which are formatted at the same time.
pub(crate) fn format_all<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<Formatted> {
    let started: Vec<Option<Child>> = texts.map(start).collect();
    started.into_iter().map(finish).collect()
}

fn start(text: &str) -> Option<Child> {
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout", "--quiet", "--config-path"])
        // A folder without rustfmt.toml would send rustfmt to its parents; the null device is an empty configuration.
        .arg(if cfg!(windows) { "NUL" } else { "/dev/null" })
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    // It reads all before it writes.
    child.stdin.take()?.write_all(text.as_bytes()).ok()?;
    Some(child)
}

fn finish(child: Option<Child>) -> Formatted {
    let output = child.and_then(|child| child.wait_with_output().ok()).filter(|output| output.status.success());
    output.and_then(|output| String::from_utf8(output.stdout).ok()).map_or(Formatted::No, Formatted::Yes)
}
