//! Templates of released versions. `templates/history/README.md` describes their files.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use include_dir::Dir;

use super::template::TEMPLATES;
use crate::project::Project;

/// The folder in `templates/`.
pub(super) const HISTORY: &str = "history";
/// The version of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");
const ABSENT: &str = ".absent";

/// For tests: a folder with versions in the format of `templates/history`, in place of the released ones.
const FOLDER: &str = "MEMCACHED_SDK_HISTORY";

/// The version whose scaffold a project has. A project of a later version gets that of this program.
pub(crate) fn of(project: &Project) -> String {
    let recorded = project.cli_version.as_deref().unwrap_or(VERSION);
    if numbers(recorded) < numbers(VERSION) { recorded.to_owned() } else { VERSION.to_owned() }
}

/// The three numbers of a version. A text without numbers is older than any version.
pub(crate) fn numbers(version: &str) -> Vec<u64> {
    let release = version.split(['-', '+']).next().unwrap_or_default();
    release.split('.').map_while(|number| number.parse().ok()).collect()
}

/// Gives the templates of a set the text that they had in a version. Paths are relative to the set.
pub(super) fn restore(version: &str, set: &str, files: &mut BTreeMap<String, Cow<str>>) -> Result<()> {
    let mut kept = match std::env::var_os(FOLDER) {
        Some(folder) => on_disk(&PathBuf::from(folder), set)?,
        None => embedded(set)?,
    };
    kept.retain(|(kept, _)| numbers(kept) >= numbers(version));
    // The files of the version itself come last.
    kept.sort_by_key(|(kept, _)| std::cmp::Reverse(numbers(kept)));
    for (path, text) in kept.into_iter().flat_map(|(_, files)| files) {
        match path.strip_suffix(ABSENT) {
            Some(path) => _ = files.remove(path),
            None => _ = files.insert(path, text),
        }
    }
    Ok(())
}

type KeptFiles<'a> = Vec<(String, Cow<'a, str>)>;

/// The kept files of a set, by version.
fn embedded(set: &str) -> Result<Vec<(String, KeptFiles<'static>)>> {
    let Some(history) = TEMPLATES.get_dir(HISTORY) else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for version in history.dirs() {
        let folder = version.path().join(set);
        let mut files = Vec::new();
        if let Some(set) = TEMPLATES.get_dir(&folder) {
            collect(set, &folder, &mut files)?;
        }
        let name = version.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        all.push((name, files));
    }
    Ok(all)
}

fn collect(dir: &Dir<'static>, set: &Path, files: &mut KeptFiles<'static>) -> Result<()> {
    for file in dir.files() {
        let path = file.path().strip_prefix(set)?.to_string_lossy().replace('\\', "/");
        files.push((path, Cow::Borrowed(file.contents_utf8().context("a kept template is not UTF-8")?)));
    }
    dir.dirs().try_for_each(|dir| collect(dir, set, files))
}

fn on_disk(history: &Path, set: &str) -> Result<Vec<(String, KeptFiles<'static>)>> {
    let mut all = Vec::new();
    for version in std::fs::read_dir(history)? {
        let version = version?;
        let mut files = Vec::new();
        read(&version.path().join(set), "", &mut files)?;
        all.push((version.file_name().to_string_lossy().into_owned(), files));
    }
    Ok(all)
}

fn read(folder: &Path, above: &str, files: &mut KeptFiles<'static>) -> Result<()> {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let entry = entry?;
        let path = format!("{above}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            read(&entry.path(), &format!("{path}/"), files)?;
        } else {
            files.push((path, Cow::Owned(std::fs::read_to_string(entry.path())?)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use sha2::{Digest as _, Sha256};

    use super::*;
    use crate::scaffold::template;

    /// The templates of a version: path → SHA-256 in hexadecimal digits.
    fn sums(version: &str) -> BTreeMap<String, String> {
        let sets = TEMPLATES.dirs().map(|set| set.path().to_str().unwrap()).filter(|set| *set != HISTORY);
        let kept = TEMPLATES.get_dir(HISTORY).unwrap().dirs().flat_map(Dir::dirs);
        let kept = kept.map(|set| set.path().file_name().unwrap().to_str().unwrap());
        let mut sums = BTreeMap::new();
        for set in sets.chain(kept).collect::<BTreeSet<_>>() {
            let now = template::files(set).unwrap_or_default();
            let mut files = now.into_iter().map(|(path, text)| (path, Cow::Borrowed(text))).collect();
            restore(version, set, &mut files).unwrap();
            for (path, text) in files {
                let bytes: Vec<String> =
                    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
                sums.insert(format!("{set}/{path}"), bytes.concat());
            }
        }
        sums
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "`make freeze` writes the list")]
    fn templates_of_releases_are_kept() {
        let freeze = std::env::var_os("FREEZE").is_some();
        if freeze {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates").join(HISTORY).join(VERSION);
            std::fs::create_dir_all(&folder).unwrap();
            let lines: Vec<String> = sums(VERSION).iter().map(|(path, sum)| format!("{sum}  {path}\n")).collect();
            std::fs::write(folder.join("SUMS"), lines.concat()).unwrap();
            return;
        }
        for version in TEMPLATES.get_dir(HISTORY).unwrap().dirs() {
            let name = version.path().file_name().unwrap().to_str().unwrap();
            let listed = version.get_file(version.path().join("SUMS")).unwrap().contents_utf8().unwrap();
            let released: BTreeMap<String, String> = listed
                .lines()
                .map(|line| line.split_once("  ").map(|(sum, path)| (path.to_owned(), sum.to_owned())).unwrap())
                .collect();
            let now = sums(name);
            for path in now.keys().chain(released.keys()).collect::<BTreeSet<_>>() {
                let place = format!("templates/history/{name}/{path}");
                match (released.get(path), now.get(path)) {
                    (Some(released), now) => assert_eq!(
                        Some(released),
                        now,
                        "`{path}` has changed since {name}: keep its text with `git show v{name}:templates/{path} > {place}`"
                    ),
                    (None, _) => panic!("`{path}` is newer than {name}: say so with `touch {place}{ABSENT}`"),
                }
            }
        }
    }

    #[test]
    fn a_project_keeps_its_version_unless_it_is_later() {
        let name = crate::project::name::ProjectName::parse("demo").unwrap();
        let mut project = Project::new(name, None);
        for (recorded, expected) in [
            (Some("0.0.1"), "0.0.1"),
            (Some(VERSION), VERSION),
            (Some("99.0.0"), VERSION),
            (Some("(devel)"), "(devel)"),
            (None, VERSION),
        ] {
            project.cli_version = recorded.map(ToOwned::to_owned);
            assert_eq!(of(&project), expected);
        }
    }
}
