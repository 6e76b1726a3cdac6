//! New Rust files go through `rustfmt`, because its line breaks depend on the length of names.

use std::io::Write;
use std::process::{Command, Stdio};

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
    run(text).map_or(Formatted::No, Formatted::Yes)
}

fn run(text: &str) -> Option<String> {
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout", "--quiet", "--config-path"])
        // A folder without rustfmt.toml would send rustfmt to its parents; the null device is an empty configuration.
        .arg(if cfg!(windows) { "NUL" } else { "/dev/null" })
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let written = child.stdin.take()?.write_all(text.as_bytes());
    let output = child.wait_with_output().ok()?;
    (written.is_ok() && output.status.success()).then(|| String::from_utf8(output.stdout).ok()).flatten()
}
