//! What a project needs beside this program: looked for before it is made, so that nobody finds out at the first build.

use std::process::{Command, Stdio};

use crate::diagnostic::Problem;

/// The oldest Rust that the scaffolded code builds with, as in its `rust-version`.
const RUST: (u32, u32) = (1, 95);

/// Everything that is missing, in one problem.
pub(super) fn check() -> Result<(), Problem> {
    let (major, minor) = RUST;
    let mut missing = Vec::new();
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    match version(&rustc) {
        None => missing.push((
            format!("a Rust toolchain: `{rustc}` can't be run"),
            format!("install Rust {major}.{minor} or newer from https://rustup.rs"),
        )),
        Some(text) => match parse(&text) {
            Some(found) if found < RUST => missing.push((
                format!("a newer Rust: this is {}.{}, and {major}.{minor} is needed", found.0, found.1),
                "run `rustup update stable`".to_owned(),
            )),
            // A version that we can't read may be a fine one.
            Some(_) | None => {}
        },
    }
    if cfg!(unix) && version("cc").is_none() {
        missing.push((
            "a C compiler, which links Rust programs: `cc` can't be run".to_owned(),
            "install it: `apt install gcc`, `dnf install gcc`, or on macOS `xcode-select --install`".to_owned(),
        ));
    }
    if missing.is_empty() {
        return Ok(());
    }
    let (what, help): (Vec<_>, Vec<_>) = missing.into_iter().unzip();
    Err(Problem::new(format!("missing {}", what.join("; ")))
        .help(format!("{}; or pass `--skip-toolchain-check`", help.join("; "))))
}

fn version(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// `rustc 1.95.0 (…)` → (1, 95)
fn parse(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split_whitespace().nth(1)?.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        for (text, expected) in [
            ("rustc 1.95.0 (abc 2026-04-14)\n", Some((1, 95))),
            ("rustc 1.97.0-nightly (abc 2026-04-14)\n", Some((1, 97))),
            ("rustc 2.0", Some((2, 0))),
            ("gcc", None),
            ("", None),
        ] {
            assert_eq!(parse(text), expected, "{text:?}");
        }
    }
}
