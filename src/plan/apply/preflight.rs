//! Compares a plan with the disk: reads every target, follows links, and collects all conflicts. Writes nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::mode::{is_writable, permissions};
use super::{ApplyError, ChangeKind, FileChange, Mode, PlanConflict, ProjectRoot};
use crate::edit;
use crate::plan::{FileOp, IfExists, Plan, RelPath};

pub(super) struct WriteTarget {
    pub(super) change: FileChange,
    /// The target with symbolic links resolved, below the canonical root.
    pub(super) real: PathBuf,
    /// The deepest existing folder on the path.
    folder: PathBuf,
    pub(super) permissions: Option<Permissions>,
}

/// Inspects every target. Returns the targets, or all conflicts.
pub(super) fn preflight(plan: &Plan, root: &ProjectRoot, mode: Mode) -> Result<Vec<WriteTarget>, ApplyError> {
    let mut targets = Vec::new();
    let mut conflicts = Vec::new();
    let mut by_real: BTreeMap<PathBuf, RelPath> = BTreeMap::new();
    for (path, op) in plan.ops() {
        match inspect(plan, root, path, op, mode) {
            Ok(None) => {}
            Ok(Some(target)) => {
                let other = by_real.insert(target.real.clone(), path.clone());
                match other {
                    Some(other) if target.change.kind.differs() => conflicts.push(PlanConflict {
                        path: path.clone(),
                        reason: format!("is the same file as `{other}`"),
                        help: Some("remove the symbolic link between them".to_owned()),
                    }),
                    _ => targets.push(target),
                }
            }
            Err((reason, help)) => conflicts.push(PlanConflict { path: path.clone(), reason, help }),
        }
    }
    if mode == Mode::Write && root.exists {
        conflicts.extend(unwritable(&targets, root));
    }
    if conflicts.is_empty() { Ok(targets) } else { Err(ApplyError::Conflicts(conflicts)) }
}

type Obstacle = (String, Option<String>);

fn obstacle<T>(reason: impl Into<String>, help: &str) -> Result<T, Obstacle> {
    Err((reason.into(), Some(help.to_owned())))
}

/// Compares `op` with the disk; `None` if there is nothing to do or report.
fn inspect(
    plan: &Plan,
    root: &ProjectRoot,
    path: &RelPath,
    op: &FileOp,
    mode: Mode,
) -> Result<Option<WriteTarget>, Obstacle> {
    let mut parent = path.as_str();
    while let Some((above, _)) = parent.rsplit_once('/') {
        parent = above;
        let is_file = RelPath::new(parent).is_ok_and(|p| plan.ops().get(&p).is_some_and(|op| *op != FileOp::Remove));
        if is_file && *op != FileOp::Remove {
            return obstacle(
                format!("cannot be written: `{parent}` is a file of the same command"),
                "use another name",
            );
        }
    }

    let found = locate(root, path, *op == FileOp::Remove)?;
    let before = match &found.file {
        None => None,
        Some(file) => match fs::read(file) {
            Ok(bytes) => Some(bytes),
            Err(error) => return obstacle(format!("cannot be read: {error}"), "change its permissions"),
        },
    };
    let Some((kind, after)) = decide(op, before.as_deref(), mode)? else { return Ok(None) };
    let permissions = match &found.file {
        Some(file) => fs::metadata(file).ok().map(|m| m.permissions()),
        None => plan.modes.get(path).and_then(|mode| permissions(*mode)),
    };
    let before = before.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let change = FileChange { path: path.clone(), kind, before, after: after.map(Cow::into_owned) };
    Ok(Some(WriteTarget { change, real: found.real, folder: found.folder, permissions }))
}

type Decision<'a> = (ChangeKind, Option<Cow<'a, str>>);

/// Line endings belong to the author: a file that differs in nothing else is unchanged, and a replacement keeps them.
fn decide<'a>(op: &'a FileOp, disk: Option<&[u8]>, mode: Mode) -> Result<Option<Decision<'a>>, Obstacle> {
    let replace = |text: &'a str| {
        let Some(disk) = disk else { return (ChangeKind::Create, Some(text.into())) };
        if disk == text.as_bytes() {
            return (ChangeKind::Unchanged, Some(text.into()));
        }
        let text = edit::with_line_endings_of(text, &String::from_utf8_lossy(disk));
        let kind = if disk == text.as_bytes() { ChangeKind::Unchanged } else { ChangeKind::Update };
        (kind, Some(text))
    };
    let decided = match op {
        FileOp::Generate { text } => replace(text),
        FileOp::Scaffold { text, if_exists } => match (replace(text), if_exists) {
            ((ChangeKind::Update, text), IfExists::Skip) => (ChangeKind::Skip, text),
            ((ChangeKind::Update, _), IfExists::Refuse) if mode != Mode::Check => {
                return obstacle("already exists with different content", "move it, or pass `--force` to overwrite it");
            }
            (decided, _) => decided,
        },
        FileOp::Edit { before, after } => match disk {
            Some(disk) if disk == after.as_bytes() => (ChangeKind::Unchanged, Some(after.into())),
            Some(disk) if disk == before.as_bytes() => (ChangeKind::Update, Some(after.into())),
            Some(_) => return obstacle("was changed while the command ran", "run the command again"),
            None => return obstacle("was removed while the command ran", "restore it and run the command again"),
        },
        FileOp::Remove if disk.is_none() => return Ok(None),
        FileOp::Remove => (ChangeKind::Remove, None),
    };
    Ok(Some(decided))
}

struct FoundFile {
    real: PathBuf,
    /// The file, if it exists.
    file: Option<PathBuf>,
    /// The deepest existing folder on the path.
    folder: PathBuf,
}

/// Resolves `path` below the root; nothing outside of the root is ever a target. If `remove`, a link is itself the
/// target.
fn locate(root: &ProjectRoot, path: &RelPath, remove: bool) -> Result<FoundFile, Obstacle> {
    let mut folder = root.path.clone();
    let mut segments: Vec<&str> = path.segments().collect();
    let name = segments.pop().unwrap_or_default();
    for (depth, segment) in segments.iter().enumerate() {
        let next = folder.join(segment);
        match kind_of(&next, root)? {
            FileKind::Missing => {
                let real = segments[depth..].iter().fold(folder.clone(), |path, segment| path.join(segment)).join(name);
                return Ok(FoundFile { real, file: None, folder });
            }
            FileKind::Folder(real) => folder = real,
            // Nothing exists below a file, so there is nothing to remove.
            FileKind::File(real) if remove => return Ok(FoundFile { real, file: None, folder }),
            FileKind::File(_) => {
                let above = segments[..=depth].join("/");
                return obstacle(format!("cannot be written: `{above}` is a file, not a folder"), "move or remove it");
            }
        }
    }
    let target = folder.join(name);
    match kind_of(&target, root)? {
        FileKind::Missing => Ok(FoundFile { real: target, file: None, folder }),
        // A folder of this name is not the generated file to remove.
        FileKind::Folder(real) if remove => Ok(FoundFile { real, file: None, folder }),
        FileKind::Folder(_) => obstacle("is a folder", "move or remove it"),
        FileKind::File(_) if remove => Ok(FoundFile { real: target.clone(), file: Some(target), folder }),
        FileKind::File(real) => {
            let folder = real.parent().map_or(folder, Path::to_path_buf);
            Ok(FoundFile { file: Some(real.clone()), real, folder })
        }
    }
}

enum FileKind {
    Missing,
    Folder(PathBuf),
    File(PathBuf),
}

fn kind_of(path: &Path, root: &ProjectRoot) -> Result<FileKind, Obstacle> {
    let unreadable = |error: io::Error| obstacle(format!("cannot be accessed: {error}"), "check its permissions");
    let (real, metadata) = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(FileKind::Missing),
        Err(error) => return unreadable(error),
        Ok(metadata) if metadata.is_symlink() => match path.canonicalize() {
            Err(_) => {
                return obstacle("is behind a dangling symbolic link", "remove the link or restore its target");
            }
            Ok(real) if !real.starts_with(&root.path) => {
                return obstacle(
                    "is behind a symbolic link to a path outside of the project",
                    "replace the link with a file or folder",
                );
            }
            Ok(real) => match fs::metadata(&real) {
                Ok(metadata) => (real, metadata),
                Err(error) => return unreadable(error),
            },
        },
        Ok(metadata) => (path.to_path_buf(), metadata),
    };
    if metadata.is_dir() {
        Ok(FileKind::Folder(real))
    } else if metadata.is_file() {
        Ok(FileKind::File(real))
    } else {
        obstacle("is neither a file nor a folder", "move or remove it")
    }
}

/// Folders that are not writable, each with the first file that needs it. Only the project's folder if it is one of
/// them.
fn unwritable(targets: &[WriteTarget], root: &ProjectRoot) -> Vec<PlanConflict> {
    let mut folders: BTreeMap<&Path, &RelPath> = BTreeMap::new();
    for target in targets.iter().filter(|target| target.change.kind.differs()) {
        folders.entry(&root.path).or_insert(&target.change.path);
        folders.entry(&target.folder).or_insert(&target.change.path);
    }
    let mut conflicts = Vec::new();
    for (folder, path) in folders {
        let found = check_folder(root, folder);
        if let Err((reason, help)) = found {
            conflicts.push(PlanConflict { path: path.clone(), reason, help });
            if folder == root.path {
                break;
            }
        }
    }
    conflicts
}

fn check_folder(root: &ProjectRoot, folder: &Path) -> Result<(), Obstacle> {
    let shown = folder.strip_prefix(&root.path).ok().filter(|p| !p.as_os_str().is_empty());
    let shown = shown.map_or_else(|| "the project folder".to_owned(), |path| format!("folder `{}`", path.display()));
    if !is_writable(folder) {
        return obstacle(format!("cannot be written: {shown} is not writable"), "change its permissions");
    }
    if !same_file_system(&root.path, folder) {
        return obstacle(
            format!("cannot be written: {shown} is on a different file system than the project"),
            "unmount it, or run the command where it is not mounted",
        );
    }
    Ok(())
}

#[cfg(unix)]
fn same_file_system(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (fs::metadata(a), fs::metadata(b)) {
        (Ok(a), Ok(b)) => a.dev() == b.dev(),
        _ => true,
    }
}

#[cfg(not(unix))]
fn same_file_system(_: &Path, _: &Path) -> bool {
    true
}
