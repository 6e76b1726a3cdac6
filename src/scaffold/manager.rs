//! The copies of the runtime and the explorer in a project: sources of the release that this program was built with.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::diagnostic::{Code, Diagnostic, Diagnostics, Problem};
use crate::plan::{Draft, RelPath};
use crate::project::manager::ManagerSource;
use crate::runtime::{self, LIBRARIES, Library};
use crate::source::{CargoManifest, clean};

/// Checks that a source by path contains the runtime, and the folder beside it the explorer.
pub(crate) fn check(root: &Path, source: &ManagerSource) -> Result<()> {
    let (ManagerSource::Path(dir), Some(beside)) = (source, source.explorer_folder()) else { return Ok(()) };
    let is = |dir: &str, package: &str| {
        CargoManifest::of(&clean(&root.join(dir))).is_some_and(|found| found.name == package)
    };
    if !is(dir, runtime::PACKAGE) {
        let problem = Problem::new(format!("package `{}` not found in `{dir}`", runtime::PACKAGE));
        return Err(problem.help("check `--manager path=DIR`: the path is relative to the project").into());
    }
    if !is(&beside, runtime::EXPLORER) {
        let problem = Problem::new(format!("package `{}` not found in `{beside}`", runtime::EXPLORER));
        return Err(problem.help(format!("put it beside `{dir}`: the tests of the project need it")).into());
    }
    Ok(())
}

/// Removes the copies. Reports foreign files, which stay.
pub(crate) fn remove(draft: &mut Draft) -> Result<Diagnostics> {
    let mut files = BTreeSet::new();
    for library in &LIBRARIES {
        files_below(draft.root(), library.folder, &mut files)?;
    }
    without(draft, files)
}

/// Writes the copies. Removes obsolete files of this tool; reports foreign files, which stay.
pub(crate) fn files(draft: &mut Draft, force: bool) -> Result<Diagnostics> {
    let mut found = Diagnostics::default();
    for library in &LIBRARIES {
        found.extend(copy(draft, library, force)?);
    }
    Ok(found)
}

fn copy(draft: &mut Draft, library: &Library, force: bool) -> Result<Diagnostics> {
    let folder = library.folder;
    let mut others = BTreeSet::new();
    files_below(draft.root(), folder, &mut others)?;
    let mut taken = Vec::new();
    for (path, text) in library.copy()? {
        let path = RelPath::new(format!("{folder}/{path}"))?;
        if others.remove(&path) && !force && !is_ours(draft.root(), &path)? {
            taken.push(format!("`{path}`"));
        }
        draft.generate(path, text);
    }
    if !taken.is_empty() {
        let more = taken.split_off(taken.len().min(3)).len();
        taken.extend((more > 0).then(|| format!("and {more} more")));
        let problem = Problem::new(format!(
            "the folder `{folder}` for generated code already contains other files: {}",
            taken.join(", ")
        ));
        return Err(problem.help("move them to another folder, or pass `--force` to overwrite them").into());
    }
    without(draft, others)
}

fn without(draft: &mut Draft, files: BTreeSet<RelPath>) -> Result<Diagnostics> {
    let mut found = Diagnostics::default();
    for path in files {
        if is_ours(draft.root(), &path)? {
            draft.remove(path);
        } else {
            let message =
                format!("`{path}` is not a generated file, but is in the folder for generated code; it is not changed");
            found.push(Diagnostic::new(Code::ManagerForeign, message).help("move the file to another folder"));
        }
    }
    Ok(found)
}

/// Returns true if the file on disk starts with this tool's header.
fn is_ours(root: &Path, path: &RelPath) -> Result<bool> {
    match std::fs::read(path.below(root)) {
        Ok(bytes) => {
            let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let first = first.strip_suffix(b"\r").unwrap_or(first);
            Ok(runtime::is_header(first))
        }
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
        Err(error) => Err(error).with_context(|| format!("cannot read `{path}`")),
    }
}

/// Every file below a folder of the project, including links. Omits hidden files, which belong to editors and file
/// managers, and names that no file of the copy can have.
fn files_below(root: &Path, folder: &str, found: &mut BTreeSet<RelPath>) -> Result<()> {
    let entries = match std::fs::read_dir(RelPath::new(folder)?.below(root)) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("cannot read `{folder}`")),
    };
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read `{folder}`"))?;
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
        let path = format!("{folder}/{name}");
        if entry.file_type().with_context(|| format!("cannot read `{path}`"))?.is_dir() {
            files_below(root, &path, found)?;
        } else if let Ok(path) = RelPath::new(&path) {
            found.insert(path);
        }
    }
    Ok(())
}
