//! Writes Cargo.lock and downloads the dependencies of a project with `cargo fetch`.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::source::CargoManifest;

/// Like [`dependencies`], but only if Cargo.lock lacks a dependency. Such a file fails every `--locked` build, including the
/// container build.
pub(crate) fn missing(root: &Path, say: &mut dyn FnMut(&str)) -> Diagnostics {
    if CargoManifest::is_ahead_of_its_lock(root) { dependencies(root, say) } else { Diagnostics::default() }
}

/// Writes Cargo.lock and downloads the dependencies. A failure is a warning, because the user can repeat the step later.
pub(crate) fn dependencies(root: &Path, say: &mut dyn FnMut(&str)) -> Diagnostics {
    let mut found = Diagnostics::default();
    say("fetching the dependencies with cargo");
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(&cargo).arg("fetch").current_dir(root).stdin(Stdio::null()).output();
    let why = match output {
        Ok(output) if output.status.success() => return found,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => format!("`{cargo}`: {error}"),
    };
    found.push(
        Diagnostic::new(Code::NotFetched, format!("the dependencies could not be fetched: {why}"))
            .help("the project is complete; `cargo build` fetches them when it can"),
    );
    found
}
