//! Records verified releases in `Cargo.toml`. From then on the source engine answers, on every machine.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::edit::cargo_toml;
use crate::plan::{Draft, RelPath};

/// The recorder of verified releases.
pub(crate) struct Record<'a> {
    /// The base of paths in the plan.
    pub(crate) base: &'a Path,
    /// The base of paths in messages.
    pub(crate) folder: &'a Path,
    /// The flag that prevents recording.
    pub(crate) prevented: Option<&'static str>,
    /// `--check`: records nothing, because the difference would not be in a manifest.
    pub(crate) check: bool,
}

impl Record<'_> {
    /// Plans the record and returns the message for after it is written.
    pub(crate) fn make(&self, verified: &[(PathBuf, Vec<String>)], draft: &mut Draft) -> Result<String> {
        let mut lines = Vec::new();
        for (dir, releases) in verified.iter().filter(|_| !self.check) {
            if let Some(path) = self.path(dir)? {
                draft.edit(&path, |text| cargo_toml::record_verified(text, releases))?;
                lines.push(format!(
                    "`{path}` records as verified: `{}`; from now on the source answers",
                    releases.join("`, `")
                ));
            }
        }
        Ok(lines.join("\n"))
    }

    /// The `Cargo.toml` of a package, if the plan may write to its folder.
    fn path(&self, dir: &Path) -> Result<Option<RelPath>> {
        let Ok(inside) = dir.join("Cargo.toml").strip_prefix(self.base).map(Path::to_path_buf) else { return Ok(None) };
        let parts: Vec<String> = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        Ok(Some(RelPath::new(parts.join("/"))?))
    }

    /// Returns a finding for each package whose releases are not recorded, with the lines to add manually.
    pub(crate) fn not_made(&self, verified: &[(PathBuf, Vec<String>)]) -> Diagnostics {
        let flag = self.prevented.map(|flag| format!("with `{flag}`"));
        let finding = |(dir, releases): &(PathBuf, Vec<String>)| {
            let outside = !dir.starts_with(self.base);
            let why = flag.clone().or(outside.then(|| "when files are written elsewhere".to_owned()))?;
            let manifest = dir.join("Cargo.toml");
            let manifest = manifest.strip_prefix(self.folder).unwrap_or(&manifest).display().to_string();
            let list = releases.iter().map(|release| format!("\"{release}\"")).collect::<Vec<_>>().join(", ");
            let message = format!("not recorded {why}, but verified: `{}`", releases.join("`, `"));
            let help = format!(
                "run `memcached-sdk generate crds`, or write `verified = [{list}]` below `[package.metadata.memcached-sdk]` in \
                 `{manifest}`"
            );
            Some(Diagnostic::new(Code::NotRecorded, message).help(help))
        };
        verified.iter().filter_map(finding).collect()
    }
}
