//! `update`: brings the scaffold and the manager of a project to this version.
//!
//! Takes the difference between the scaffold of the version in PROJECT and that of this version, and makes it in the files of the
//! draft. Must stay true: what the author has changed stays, and a second update changes nothing.

pub(crate) mod kube;

use std::collections::BTreeSet;

use anyhow::Result;

use super::edit::{self as difference, Edited, MergeRules};
use super::replay::replay;
use super::{Findings, VERSION};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Problem};
use crate::edit::{self, cargo_toml};
use crate::plan::{Draft, IfExists, RECORD, RelPath};
use crate::project::Project;
use crate::project::manager::ManagerSource;
use crate::runtime;
use crate::scaffold::{self, edition, manager};

pub(crate) use crate::edit::merge::ConflictChoice;

const CHANGELOG: &str = include_str!("../../CHANGELOG.md");

/// Options of `update`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct UpdateOptions {
    /// Replaces a newer manager by the manager of this version, and edited files by generated ones.
    pub(crate) force: bool,
    /// For lines that both the author and the scaffold have changed.
    pub(crate) conflicts: ConflictChoice,
}

/// Plans the update of the project in the draft. The value says what is new.
pub(crate) fn run(draft: &mut Draft, options: UpdateOptions) -> Result<Findings<String>> {
    let project = Project::recorded(draft)?;
    if let Some(made_by) = project.cli_version.as_deref().filter(|made_by| is_newer(made_by, VERSION))
        && !options.force
    {
        return Err(Problem::new(format!(
            "the project was written by memcached-sdk {made_by}; this is the older {VERSION}"
        ))
        .help("install the newer version, or pass `--force` to return to the manager of this version")
        .into());
    }
    let wanted = Project { cli_version: Some(VERSION.to_owned()), ..project.clone() };
    let mut found = Diagnostics::default();
    let (before, after) = (edition::of(&project), edition::of(&wanted));
    if before != after {
        let rules = MergeRules {
            conflicts: options.conflicts,
            conflicts_flag: true,
            ..MergeRules::new(IfExists::Skip, Edited::Keep)
        };
        found.extend(difference::apply_difference(draft, &replay(&project)?, &replay(&wanted)?, rules)?);
    }
    found.extend(match &project.manager {
        ManagerSource::Vendored => manager::files(draft, options.force)?,
        ManagerSource::Registry => {
            draft.edit(&RelPath::new("Cargo.toml")?, |text| {
                let text = cargo_toml::require(text, runtime::PACKAGE, runtime::VERSION)?;
                cargo_toml::require_for_tests(&text, runtime::EXPLORER, runtime::VERSION)
            })?;
            Diagnostics::default()
        }
        ManagerSource::Git { .. } | ManagerSource::Path(_) | ManagerSource::None => Diagnostics::default(),
    });
    if wanted != project {
        draft.edit(&RelPath::new(RECORD)?, |before| Ok(wanted.to_yaml_over(before)))?;
    }
    Ok(Findings { value: news(CHANGELOG, &before), diagnostics: found })
}

/// Plans the files of the scaffold of a project in a folder, as they were before the author changed them.
pub(crate) fn pristine(draft: &mut Draft, project: &Project) -> Result<()> {
    for (path, text) in replay(project)? {
        let text = scaffold::formatted(&path, &text);
        draft.scaffold(path, text, IfExists::Refuse);
    }
    draft.scaffold(RelPath::new(RECORD)?, project.to_yaml(), IfExists::Refuse);
    Ok(())
}

/// For `generate --check`: adds the manager of this version to the draft. Returns a finding if the disk differs.
pub(crate) fn verify_manager(draft: &mut Draft, project: &Project) -> Result<Option<Diagnostic>> {
    if project.manager != ManagerSource::Vendored {
        return Ok(None);
    }
    let disk = Draft::open(draft.root());
    let mut wanted = Draft::open(draft.root());
    let _foreign = manager::files(&mut wanted, true)?;
    let mut differing = BTreeSet::new();
    for path in wanted.paths() {
        let differs = match (disk.read(path)?, wanted.read(path)?) {
            (Some(disk), Some(wanted)) => disk != edit::with_line_endings_of(&wanted, &disk),
            (disk, wanted) => disk != wanted,
        };
        if differs {
            differing.extend(path.as_str().split('/').next().map(|folder| format!("`{folder}`")));
        }
    }
    if differing.is_empty() {
        return Ok(None);
    }
    let is_one = differing.len() == 1;
    let folders = Vec::from_iter(differing).join(" and ");
    let _foreign = manager::files(draft, true)?;
    let made_by = project.cli_version.as_deref().unwrap_or("another version");
    let message = if made_by == VERSION {
        let (verb, pronoun) = if is_one { ("differs", "it was") } else { ("differ", "they were") };
        format!("{folders} {verb} from the copy that memcached-sdk {VERSION} writes: {pronoun} edited")
    } else {
        let verb = if is_one { "was" } else { "were" };
        format!("{folders} {verb} written by memcached-sdk {made_by}; this is {VERSION}")
    };
    let help = if is_newer(made_by, VERSION) {
        format!("install memcached-sdk {made_by}")
    } else {
        "run `memcached-sdk update`; `generate` does not change the folder"
            .replace("folder", if is_one { "folder" } else { "folders" })
    };
    Ok(Some(Diagnostic::new(Code::ManagerDiffers, message).help(help)))
}

fn is_newer(a: &str, b: &str) -> bool {
    edition::numbers(a) > edition::numbers(b)
}

/// The sections of the changelog that are newer than a version.
fn news(changelog: &str, since: &str) -> String {
    let sections = changelog.split("\n## ").skip(1).filter(|section| {
        let version = section.split([' ', '\n']).next().unwrap_or_default().trim_matches(['[', ']']);
        !edition::numbers(version).is_empty() && is_newer(version, since) && !is_newer(version, VERSION)
    });
    let sections: Vec<String> = sections.map(|section| format!("\n## {}\n", section.trim_end())).collect();
    sections.concat()
}

#[cfg(test)]
mod tests {
    use super::{is_newer, news};

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

    #[test]
    fn the_changes_since_a_version_are_told() {
        let changelog =
            "# Changes\n\n## Unreleased\n\n- d\n\n## [99.0.0] - 2030\n\n- c\n\n## 0.0.9\n\n- b\n\n## 0.0.8\n\n- a\n";
        for (since, expected) in
            [("0.0.7", "\n## 0.0.9\n\n- b\n\n## 0.0.8\n\n- a\n"), ("0.0.8", "\n## 0.0.9\n\n- b\n"), ("0.0.9", "")]
        {
            assert_eq!(news(changelog, since), expected);
        }
    }
}
