//! Cargo.lock and the dependencies of a project, by `cargo fetch`.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::source::CargoManifest;

/// Like [`dependencies`], if Cargo.lock lacks a dependency: such a file fails every build that is `--locked`, that of the
/// container among them.
pub(crate) fn missing(root: &Path, say: &mut dyn FnMut(&str)) -> Diagnostics {
    if CargoManifest::is_ahead_of_its_lock(root) { dependencies(root, say) } else { Diagnostics::default() }
}

/// Writes Cargo.lock and downloads the dependencies. That can be done at any later time, so a failure is a warning.
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
