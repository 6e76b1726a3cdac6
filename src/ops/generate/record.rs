//! Which releases are verified, in `Cargo.toml`: from then on the source answers, on every machine.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::edit::cargo_toml;
use crate::plan::{Draft, RelPath};

/// How releases are recorded.
pub(crate) struct Record<'a> {
    /// What paths in the plan are relative to.
    pub(crate) base: &'a Path,
    /// What paths in messages are relative to.
    pub(crate) folder: &'a Path,
    /// The flag because of which nothing is recorded.
    pub(crate) prevented: Option<&'static str>,
    /// With `--check` it would be a difference that is none of the manifests.
    pub(crate) check: bool,
}

impl Record<'_> {
    /// Plans it, and returns what to say when it is written.
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

    /// The manifest of a package, if it is where files are written.
    fn path(&self, dir: &Path) -> Result<Option<RelPath>> {
        let Ok(inside) = dir.join("Cargo.toml").strip_prefix(self.base).map(Path::to_path_buf) else { return Ok(None) };
        let parts: Vec<String> = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        Ok(Some(RelPath::new(parts.join("/"))?))
    }

    /// Says where nothing is recorded, and how to do it.
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
