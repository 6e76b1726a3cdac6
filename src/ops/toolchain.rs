//! Programs that a project is built with.

use std::process::{Command, Stdio};

use crate::diagnostic::Problem;

/// The oldest Rust version that builds the scaffolded code, as in its `rust-version`.
const RUST: (u32, u32) = (1, 95);

/// Reports all missing programs in one problem, before `init` writes a project that does not build.
pub(crate) fn check() -> Result<(), Problem> {
    let missing: Vec<Problem> = rust().err().into_iter().chain(c_compiler().err()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let what: Vec<&str> = missing.iter().map(|problem| problem.message.as_str()).collect();
    let help: Vec<&str> = missing.iter().filter_map(|problem| problem.help.as_deref()).collect();
    Err(Problem::new(format!("missing {}", what.join("; ")))
        .help(format!("{}; or pass `--skip-toolchain-check`", help.join("; "))))
}

/// Returns the version of the Rust compiler, such as `rustc 1.95.0`.
pub(crate) fn rust() -> Result<String, Problem> {
    let (major, minor) = RUST;
    let rustc = rustc();
    let Some(text) = version(&rustc) else {
        return Err(Problem::new(format!("a Rust toolchain: cannot run `{rustc}`"))
            .help(format!("install Rust {major}.{minor} or newer from https://rustup.rs")));
    };
    match parse(&text) {
        Some(found) if found < RUST => {
            let what = format!("a newer Rust: found {}.{}, expected {major}.{minor} or newer", found.0, found.1);
            Err(Problem::new(what).help("run `rustup update stable`"))
        }
        // An unknown form of version may be a new one.
        Some(_) | None => Ok(first_words(&text)),
    }
}

/// Returns the name of the C compiler.
pub(crate) fn c_compiler() -> Result<&'static str, Problem> {
    find_c_compiler(&host(&rustc()), &is_there)
}

/// Returns the first line of `PROGRAM ARGUMENTS`, or `None` if it fails.
pub(crate) fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.lines().next().unwrap_or_default().trim().to_owned())
}

/// `rustc 1.95.0 (abc 2026-04-14)` → `rustc 1.95.0`
pub(crate) fn first_words(version: &str) -> String {
    version.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

fn rustc() -> String {
    std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned())
}

/// Finds the C compiler, which links Rust programs and builds the part of `ring` that is C.
fn find_c_compiler(host: &str, is_there: &dyn Fn(&str) -> bool) -> Result<&'static str, Problem> {
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
    let found = programs.iter().find(|program| is_there(program));
    found.copied().ok_or_else(|| {
        let name = programs[0];
        Problem::new(format!("a C compiler, which links Rust programs and builds `ring` for TLS: cannot run `{name}`"))
            .help(help)
    })
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
    first_line(program, &["--version"])
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
            let found = find_c_compiler(host, &|program| there.contains(&program));
            match (&found, expected) {
                (Ok(_), None) => {}
                (Err(Problem { message, help: Some(help) }), Some(part)) => {
                    assert!(message.contains("`ring`") && help.contains(part), "{host}: {message}; {help}");
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
