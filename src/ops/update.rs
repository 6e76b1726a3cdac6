//! `update`: replaces the manager of another version, or an edited one, by the manager of this version.

use anyhow::Result;

use super::VERSION;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Problem};
use crate::edit::{self, cargo_toml};
use crate::plan::{Draft, RECORD, RelPath};
use crate::project::Project;
use crate::project::manager::ManagerSource;
use crate::runtime;
use crate::scaffold::manager;

/// Options of `update`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct UpdateOptions {
    /// Replaces a newer manager by the manager of this version, and edited files by generated ones.
    pub(crate) force: bool,
}

/// Plans the update of the project in the draft.
pub(crate) fn run(draft: &mut Draft, options: UpdateOptions) -> Result<Diagnostics> {
    let mut project = Project::recorded(draft)?;
    if let Some(made_by) = project.cli_version.as_deref().filter(|made_by| is_newer(made_by, VERSION))
        && !options.force
    {
        return Err(Problem::new(format!(
            "the project was written by memcached-sdk {made_by}; this is the older {VERSION}"
        ))
        .help("install the newer version, or pass `--force` to return to the manager of this version")
        .into());
    }
    let found = match &project.manager {
        ManagerSource::Vendored => manager::files(draft, options.force)?,
        ManagerSource::Registry => {
            draft.edit(&RelPath::new("Cargo.toml")?, |text| {
                cargo_toml::require(text, runtime::PACKAGE, runtime::VERSION)
            })?;
            Diagnostics::default()
        }
        ManagerSource::Git { .. } | ManagerSource::Path(_) => Diagnostics::default(),
    };
    if project.cli_version.as_deref() != Some(VERSION) {
        project.cli_version = Some(VERSION.to_owned());
        draft.edit(&RelPath::new(RECORD)?, |before| Ok(project.to_yaml_over(before)))?;
    }
    Ok(found)
}

/// For `generate --check`: adds the manager of this version to the draft. Returns a finding if the disk differs.
pub(crate) fn verify_manager(draft: &mut Draft, project: &Project) -> Result<Option<Diagnostic>> {
    if project.manager != ManagerSource::Vendored {
        return Ok(None);
    }
    let disk = Draft::open(draft.root());
    let mut wanted = Draft::open(draft.root());
    let _foreign = manager::files(&mut wanted, true)?;
    let mut differs = false;
    for path in wanted.paths() {
        differs |= match (disk.read(path)?, wanted.read(path)?) {
            (Some(disk), Some(wanted)) => disk != edit::with_line_endings_of(&wanted, &disk),
            (disk, wanted) => disk != wanted,
        };
    }
    if !differs {
        return Ok(None);
    }
    let _foreign = manager::files(draft, true)?;
    let made_by = project.cli_version.as_deref().unwrap_or("another version");
    let message = if made_by == VERSION {
        format!("`manager` differs from the copy that memcached-sdk {VERSION} writes: it was edited")
    } else {
        format!("`manager` was written by memcached-sdk {made_by}; this is {VERSION}")
    };
    let help = if is_newer(made_by, VERSION) {
        format!("install memcached-sdk {made_by}")
    } else {
        "run `memcached-sdk update`; `generate` does not change the folder".to_owned()
    };
    Ok(Some(Diagnostic::new(Code::ManagerDiffers, message).help(help)))
}

/// Returns true if release `a` is newer than `b`. Only the three numbers count. A text without numbers is older.
fn is_newer(a: &str, b: &str) -> bool {
    let numbers = |version: &str| -> Vec<u64> {
        let release = version.split(['-', '+']).next().unwrap_or_default();
        release.split('.').map_while(|number| number.parse().ok()).collect()
    };
    numbers(a) > numbers(b)
}

#[cfg(test)]
mod tests {
    use super::is_newer;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (a, b, newer) in [
            ("0.10.0", "0.9.9", true),
            ("0.9.9", "0.10.0", false),
            ("1.0.0", "1.0.0", false),
            ("1.0.0-rc.1", "1.0.0", false),
            ("(devel)", "0.1.0", false),
            ("2", "1.9.9", true),
        ] {
            assert_eq!(is_newer(a, b), newer, "{a} {b}");
        }
    }
}
