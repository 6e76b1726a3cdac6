//! The tools that a project needs besides this program. `init` checks them first, so that the first build does not fail.

use std::process::{Command, Stdio};

use crate::diagnostic::Problem;

/// The oldest Rust version that builds the scaffolded code, as in its `rust-version`.
const RUST: (u32, u32) = (1, 95);

/// Reports all missing tools in one problem.
pub(crate) fn check() -> Result<(), Problem> {
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
            // An unreadable version may be new enough.
            Some(_) | None => {}
        },
    }
    missing.extend(c_compiler(&host(&rustc), &|program| is_there(program)));
    if missing.is_empty() {
        return Ok(());
    }
    let (what, help): (Vec<_>, Vec<_>) = missing.into_iter().unzip();
    Err(Problem::new(format!("missing {}", what.join("; ")))
        .help(format!("{}; or pass `--skip-toolchain-check`", help.join("; "))))
}

/// Returns the missing C compiler and how to install it. The compiler links Rust programs and builds the C code of `ring`.
fn c_compiler(host: &str, is_there: &dyn Fn(&str) -> bool) -> Option<(String, String)> {
    let (programs, help): (&[&str], _) = match host {
        // Cargo finds the compiler of Visual Studio through its installer, also outside of a developer prompt.
        host if host.ends_with("-windows-msvc") => (
            &["cl", r"C:\Program Files (x86)\Microsoft Visual Studio\Installer\vswhere.exe"],
            "install the workload \"Desktop development with C++\" of the Visual Studio Build Tools: \
             `winget install Microsoft.VisualStudio.2022.BuildTools`",
        ),
        host if host.ends_with("-windows-gnu") => (&["gcc"], "install MinGW-w64: `winget install MSYS2.MSYS2`"),
        host if host.contains("-apple-") => (&["cc"], "install it: `xcode-select --install`"),
        _ => (&["cc"], "install it: `apt install gcc`, `dnf install gcc` or `apk add gcc musl-dev`"),
    };
    let name = programs.first().filter(|_| !programs.iter().any(|program| is_there(program)))?;
    let what = format!("a C compiler, which links Rust programs and builds `ring` for TLS: `{name}` can't be run");
    Some((what, help.to_owned()))
}

/// The host platform. Without a compiler it is the platform of this program.
fn host(rustc: &str) -> String {
    let output = Command::new(rustc).arg("-vV").stdin(Stdio::null()).output().ok();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let host = text.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned);
    host.unwrap_or_else(|| match (cfg!(windows), cfg!(target_vendor = "apple")) {
        (true, _) => "x86_64-pc-windows-msvc".to_owned(),
        (_, true) => "x86_64-apple-darwin".to_owned(),
        _ => "x86_64-unknown-linux-gnu".to_owned(),
    })
}

/// Returns true if the program starts, with any exit code and output.
fn is_there(program: &str) -> bool {
    let status = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    status.is_ok()
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
    fn a_missing_c_compiler_is_named() {
        for (host, there, expected) in [
            ("x86_64-unknown-linux-gnu", &[] as &[&str], Some("`apt install gcc`")),
            ("x86_64-unknown-linux-gnu", &["gcc"], Some("`apt install gcc`")),
            ("x86_64-unknown-linux-musl", &["cc"], None),
            ("aarch64-apple-darwin", &[], Some("`xcode-select --install`")),
            ("x86_64-pc-windows-msvc", &["gcc"], Some("Visual Studio Build Tools")),
            ("x86_64-pc-windows-msvc", &["cl"], None),
            (
                "x86_64-pc-windows-msvc",
                &[r"C:\Program Files (x86)\Microsoft Visual Studio\Installer\vswhere.exe"],
                None,
            ),
            ("x86_64-pc-windows-gnu", &["cl"], Some("MinGW-w64")),
            ("x86_64-pc-windows-gnu", &["gcc"], None),
        ] {
            let found = c_compiler(host, &|program| there.contains(&program));
            match (&found, expected) {
                (None, None) => {}
                (Some((what, help)), Some(part)) => {
                    assert!(what.contains("`ring`") && help.contains(part), "{host}: {what}; {help}");
                }
                _ => panic!("{host} with {there:?}: {found:?}"),
            }
        }
    }

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
