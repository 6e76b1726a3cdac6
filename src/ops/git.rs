//! The git repository of a new project.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::diagnostic::{Code, Diagnostic, Diagnostics};

/// Creates a repository, unless the folder is already in one.
pub(crate) fn init(root: &Path) -> Diagnostics {
    let git = |arguments: &[&str]| Command::new("git").args(arguments).current_dir(root).stdin(Stdio::null()).output();
    let mut found = Diagnostics::default();
    if git(&["rev-parse", "--is-inside-work-tree"]).is_ok_and(|output| output.status.success()) {
        return found;
    }
    let why = match git(&["init", "--quiet"]) {
        Ok(output) if output.status.success() => return found,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    found.push(
        Diagnostic::new(Code::NoGit, format!("`git init` failed: {why}"))
            .help("install git and run `git init` in the folder, or pass `--skip-git-init`"),
    );
    found
}
