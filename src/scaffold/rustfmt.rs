//! Formats new Rust files with `rustfmt`, because line breaks depend on the length of names.

use std::io::Write;
use std::process::{Child, Command, Stdio};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Formatted {
    Yes(String),
    /// rustfmt is missing or rejected the text.
    No,
}

/// Formats a Rust file with the standard style, independent of any `rustfmt.toml`.
pub(crate) fn format(text: &str) -> Formatted {
    finish(start(text))
}

/// Formats several files in parallel.
pub(crate) fn format_all<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<Formatted> {
    let started: Vec<Option<Child>> = texts.map(start).collect();
    started.into_iter().map(finish).collect()
}

fn start(text: &str) -> Option<Child> {
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout", "--quiet", "--config-path"])
        // Without a configuration, rustfmt would search the parent folders; the null device is an empty configuration.
        .arg(if cfg!(windows) { "NUL" } else { "/dev/null" })
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    // rustfmt reads all input before it writes.
    child.stdin.take()?.write_all(text.as_bytes()).ok()?;
    Some(child)
}

fn finish(child: Option<Child>) -> Formatted {
    let output = child.and_then(|child| child.wait_with_output().ok()).filter(|output| output.status.success());
    output.and_then(|output| String::from_utf8(output.stdout).ok()).map_or(Formatted::No, Formatted::Yes)
}
