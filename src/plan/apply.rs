//! The only writer. Preflight reads every target and collects all conflicts; with a conflict, nothing is written. Then
//! all files are staged in a folder on the same file system and renamed into place, the PROJECT file last.
//!
//! A commit of many files is not atomic, except for a new project folder, which is one rename. So the same command must
//! repair an interrupted run: equal content is "unchanged", edits are idempotent, and the record comes last.
#![expect(clippy::disallowed_methods, reason = "this is the one room that writes files")]

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use super::{Plan, RECORD, RelPath};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Origin};

mod mode;
mod preflight;
pub(crate) mod record;

use preflight::WriteTarget;
use record::{Store, UndoRecord};

/// The mode of [`apply`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Write the files.
    Write,
    /// Report what would be written.
    DryRun,
    /// Only compare the disk with the plan, see [`differs`]. An existing file is a difference, never a conflict.
    Check,
}

/// The change of a file, done or planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The file.
    pub path: RelPath,
    /// The kind of change.
    pub kind: ChangeKind,
    /// The text on disk before; `None` if the file did not exist.
    pub before: Option<String>,
    /// The text of the plan; `None` if the file is removed.
    pub after: Option<String>,
}

/// The kinds of [`FileChange`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// The file did not exist.
    Create,
    /// The file had other content.
    Update,
    /// The file already has this content.
    Unchanged,
    /// The file is removed.
    Remove,
    /// The file belongs to the user and stays.
    Skip,
}

impl ChangeKind {
    /// The word in the report.
    pub const fn as_str(self) -> &'static str {
        match self {
            ChangeKind::Create => "create",
            ChangeKind::Update => "update",
            ChangeKind::Unchanged => "unchanged",
            ChangeKind::Remove => "remove",
            ChangeKind::Skip => "skip",
        }
    }

    /// The reason why a file is not written.
    pub const fn reason(self) -> Option<&'static str> {
        match self {
            ChangeKind::Skip => Some("exists with different content and is kept"),
            ChangeKind::Create | ChangeKind::Update | ChangeKind::Unchanged | ChangeKind::Remove => None,
        }
    }

    /// Returns true if the disk differs from the plan.
    pub const fn differs(self) -> bool {
        matches!(self, ChangeKind::Create | ChangeKind::Update | ChangeKind::Remove)
    }
}

/// Returns true if the disk differs from the plan, which is the result of `--check`.
pub fn differs(changes: &[FileChange]) -> bool {
    changes.iter().any(|change| change.kind.differs())
}

/// A file system operation, passed to the observer of [`apply`] before it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FsOp {
    /// Creates a folder.
    CreateDir(PathBuf),
    /// Writes a new file in the staging folder.
    WriteFile(PathBuf),
    /// Sets the mode bits of a staged file.
    SetPermissions(PathBuf),
    /// Renames a staged file, or the whole staged project, into place.
    Rename {
        /// The staged path.
        from: PathBuf,
        /// The final path.
        to: PathBuf,
    },
    /// Removes a file.
    RemoveFile(PathBuf),
    /// Removes a staging folder with its content.
    RemoveDir(PathBuf),
}

impl fmt::Display for FsOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FsOp::CreateDir(path) => write!(f, "create folder `{}`", path.display()),
            FsOp::WriteFile(path) => write!(f, "write `{}`", path.display()),
            FsOp::SetPermissions(path) => write!(f, "set the mode of `{}`", path.display()),
            FsOp::Rename { from, to } => write!(f, "rename `{}` to `{}`", from.display(), to.display()),
            FsOp::RemoveFile(path) | FsOp::RemoveDir(path) => write!(f, "remove `{}`", path.display()),
        }
    }
}

/// Runs before every file system operation; an error stops [`apply`] before that operation. Tests use it to interrupt a
/// run.
pub type Observer<'a> = &'a mut dyn FnMut(&FsOp) -> io::Result<()>;

/// The reason why a plan cannot be applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Conflicts; nothing was written.
    #[error("{}", list(.0))]
    Conflicts(Vec<PlanConflict>),
    /// Another process holds the lock; nothing was written.
    #[error("another memcached-sdk is writing to `{}`", .0.display())]
    Busy(PathBuf),
    /// The file system failed before the commit; the project is unchanged.
    #[error("cannot {op}: {source}; no file of the project was changed")]
    Stage {
        /// The failed operation.
        op: FsOp,
        /// The cause.
        source: io::Error,
    },
    /// The file system failed during the commit.
    #[error("cannot {op}: {source}; {written} of {total} files were written; run the command again to write the rest")]
    Commit {
        /// The failed operation.
        op: FsOp,
        /// The cause.
        source: io::Error,
        /// The number of files in place.
        written: usize,
        /// The total number of files.
        total: usize,
    },
}

/// A conflict between the disk and an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanConflict {
    /// The file.
    pub path: RelPath,
    /// The reason, as a sentence part after the path.
    pub reason: String,
    /// The next step for the user.
    pub help: Option<String>,
}

fn list(conflicts: &[PlanConflict]) -> String {
    let lines: Vec<String> = conflicts.iter().map(|c| format!("`{}` {}", c.path, c.reason)).collect();
    format!("nothing was written: {}", lines.join("; "))
}

impl ApplyError {
    /// Converts the error to diagnostics, one per conflict.
    pub fn diagnostics(&self) -> Diagnostics {
        match self {
            ApplyError::Conflicts(conflicts) => conflicts
                .iter()
                .map(|conflict| Diagnostic {
                    code: Code::FileConflict,
                    message: format!("`{}` {}", conflict.path, conflict.reason),
                    origin: Some(Origin::file(conflict.path.as_str())),
                    help: conflict.help.clone(),
                    kinds: Box::default(),
                })
                .collect(),
            ApplyError::Busy(_) | ApplyError::Stage { .. } | ApplyError::Commit { .. } => {
                [Diagnostic::new(Code::CommandFailed, self.to_string())].into_iter().collect()
            }
        }
    }
}

/// Applies `plan` below `root`, or reports the changes that it would make, ordered by path.
pub fn apply(plan: &Plan, root: &Path, mode: Mode, observer: Observer<'_>) -> Result<Vec<FileChange>, ApplyError> {
    let root =
        ProjectRoot::find(root).map_err(|source| ApplyError::Stage { op: FsOp::CreateDir(root.into()), source })?;
    let _lock = if mode == Mode::Write { root.lock()? } else { None };
    let targets = preflight::preflight(plan, &root, mode)?;
    if mode == Mode::Write {
        Writer { root: &root, observer, committed: None }.write(&targets, plan.command.as_deref())?;
    }
    Ok(targets.into_iter().map(|target| target.change).collect())
}

/// Returns true for file names of unfinished writes.
pub(super) fn is_staging(name: &str) -> bool {
    name == STAGING || name == RECORD_STAGING
}

const STAGING: &str = ".memcached-sdk-staging";
const RECORD_STAGING: &str = ".PROJECT.memcached-sdk-staging";

struct ProjectRoot {
    /// Canonical if it exists.
    path: PathBuf,
    exists: bool,
}

impl ProjectRoot {
    fn find(root: &Path) -> io::Result<Self> {
        match root.canonicalize() {
            Ok(path) if path.is_dir() => Ok(Self { path, exists: true }),
            Ok(_) => Err(io::Error::new(ErrorKind::NotADirectory, "a file with this name already exists")),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if root.is_symlink() {
                    return Err(io::Error::new(ErrorKind::NotFound, "it is a dangling symbolic link"));
                }
                Ok(Self { path: std::path::absolute(root)?, exists: false })
            }
            Err(error) => Err(error),
        }
    }

    /// Prevents two runs from staging at the same time. A file system without locks has no such protection.
    fn lock(&self) -> Result<Option<PlanLock>, ApplyError> {
        let Some(file) = self.exists.then(|| File::open(&self.path).ok()).flatten() else { return Ok(None) };
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(ApplyError::Busy(self.path.clone())),
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(PlanLock(file))),
        }
    }

    fn sibling(&self) -> Option<PathBuf> {
        let name = self.path.file_name()?.to_string_lossy();
        Some(self.path.with_file_name(format!(".{name}{STAGING}")))
    }
}

/// A lock on a folder.
///
/// Closing the file is not enough to unlock: a process that another thread is spawning holds a copy of the descriptor
/// until its exec, see [flock(2)](https://man7.org/linux/man-pages/man2/flock.2.html).
struct PlanLock(File);

impl Drop for PlanLock {
    fn drop(&mut self) {
        // On failure there was no lock, or closing the file releases it.
        let _ = self.0.unlock();
    }
}

/// Stages and commits. Every file system operation goes through [`Writer::run`].
struct Writer<'a> {
    root: &'a ProjectRoot,
    observer: Observer<'a>,
    /// Files in place and total files, during the commit.
    committed: Option<(usize, usize)>,
}

impl Writer<'_> {
    fn write(&mut self, targets: &[WriteTarget], command: Option<&str>) -> Result<(), ApplyError> {
        self.sweep()?;
        let (records, mut files): (Vec<&WriteTarget>, Vec<&WriteTarget>) =
            targets.iter().filter(|t| t.change.kind.differs()).partition(|t| t.change.path.as_str() == RECORD);
        let command = command.filter(|_| self.root.exists);
        let record = command.and_then(|command| {
            let store = Store::find(&self.root.path);
            let store = store.or_else(|| Store::of_crate(&self.root.path).filter(|_| !records.is_empty()))?;
            Some((UndoRecord::new(command, files.iter().chain(&records)), store))
        });
        if records.is_empty() && files.is_empty() {
            return record.map_or(Ok(()), |(record, store)| self.finish_record(record, &store));
        }
        files.sort_by_key(|target| target.change.kind == ChangeKind::Remove);
        if self.root.exists { self.replace(&files, &records, record) } else { self.create(&files, &records) }
    }

    /// Stores the record of a commit that begins.
    fn begin_record(&mut self, mut record: UndoRecord, store: &Store) -> Result<(), ApplyError> {
        if let Some(pending) = store.read_pending() {
            if record.is_same_command(&pending) {
                record.completes(pending, &self.root.path);
            } else if pending.has_effect(&self.root.path) {
                self.rename(&store.pending(), &store.last())?;
            }
        }
        let text = serde_json::to_string(&record).unwrap_or_default();
        self.create_dirs(&store.folder)?;
        self.run(FsOp::WriteFile(store.staging()), |path| fs::write(path, text))?;
        sync_files(&[store.staging()]);
        self.rename(&store.staging(), &store.pending())?;
        sync_folder(Some(&store.folder));
        Ok(())
    }

    /// Completes the record of a run that was interrupted after its last file.
    fn finish_record(&mut self, mut record: UndoRecord, store: &Store) -> Result<(), ApplyError> {
        match store.read_pending() {
            Some(pending) if record.is_same_command(&pending) => record.completes(pending, &self.root.path),
            _ => return Ok(()),
        }
        if record.files.is_empty() { Ok(()) } else { self.rename(&store.pending(), &store.last()) }
    }

    fn sweep(&mut self) -> Result<(), ApplyError> {
        let inside = self.root.exists.then(|| [STAGING, RECORD_STAGING].map(|name| self.root.path.join(name)));
        for path in inside.into_iter().flatten().chain(self.root.sibling()) {
            match fs::symlink_metadata(&path) {
                Ok(metadata) if metadata.is_dir() => self.run(FsOp::RemoveDir(path), |path| fs::remove_dir_all(path)),
                Ok(_) => self.run(FsOp::RemoveFile(path), |path| fs::remove_file(path)),
                Err(_) => Ok(()),
            }?;
        }
        Ok(())
    }

    /// Creates a new project: builds it beside its place, then renames it.
    fn create(&mut self, files: &[&WriteTarget], records: &[&WriteTarget]) -> Result<(), ApplyError> {
        let Some(staging) = self.root.sibling() else {
            let source = io::Error::new(ErrorKind::InvalidInput, "it has no name");
            return Err(ApplyError::Stage { op: FsOp::CreateDir(self.root.path.clone()), source });
        };
        self.create_dirs(&staging)?;
        let mut staged = Vec::new();
        for target in files.iter().chain(records) {
            let file = target.change.path.below(&staging);
            self.create_dirs(file.parent().unwrap_or(&staging))?;
            self.write_file(&file, target)?;
            staged.push(file);
        }
        sync_files(&staged);
        self.rename(&staging, &self.root.path)?;
        sync_folder(self.root.path.parent());
        Ok(())
    }

    fn replace(
        &mut self,
        files: &[&WriteTarget],
        records: &[&WriteTarget],
        record: Option<(UndoRecord, Store)>,
    ) -> Result<(), ApplyError> {
        let staging = self.root.path.join(STAGING);
        self.create_dirs(&staging)?;
        let mut staged = Vec::new();
        for (number, target) in files.iter().enumerate() {
            if target.change.kind != ChangeKind::Remove {
                let file = staging.join(number.to_string());
                self.write_file(&file, target)?;
                staged.push(file);
            }
        }
        // Staged beside the folder, so that its rename can be the last step.
        let record_staging = self.root.path.join(RECORD_STAGING);
        for target in records.iter().filter(|target| target.change.kind != ChangeKind::Remove) {
            self.write_file(&record_staging, target)?;
            staged.push(record_staging.clone());
        }
        sync_files(&staged);
        let store = match record {
            Some((record, store)) => self.begin_record(record, &store).map(|()| Some(store))?,
            None => None,
        };

        self.committed = Some((0, files.len() + records.len()));
        for (number, target) in files.iter().enumerate() {
            self.put(&staging.join(number.to_string()), target)?;
        }
        self.run(FsOp::RemoveDir(staging), |path| fs::remove_dir(path))?;
        let mut folders: Vec<&Path> = files.iter().filter_map(|target| target.real.parent()).collect();
        folders.dedup();
        for folder in folders {
            sync_folder(Some(folder));
        }
        for target in records {
            self.put(&record_staging, target)?;
            sync_folder(target.real.parent());
        }
        match store {
            Some(store) => self.rename(&store.pending(), &store.last()),
            None => Ok(()),
        }
    }

    fn put(&mut self, staged: &Path, target: &WriteTarget) -> Result<(), ApplyError> {
        if target.change.kind == ChangeKind::Remove {
            self.run(FsOp::RemoveFile(target.real.clone()), |path| fs::remove_file(path))?;
            self.remove_empty_dirs(&target.real)?;
        } else {
            if let Some(folder) = target.real.parent() {
                self.create_dirs(folder)?;
            }
            self.rename(staged, &target.real)?;
        }
        if let Some((written, _)) = &mut self.committed {
            *written += 1;
        }
        Ok(())
    }

    fn remove_empty_dirs(&mut self, file: &Path) -> Result<(), ApplyError> {
        let below_root = |folder: &&Path| *folder != self.root.path && folder.starts_with(&self.root.path);
        let folders: Vec<&Path> = file.ancestors().skip(1).take_while(below_root).collect();
        for folder in folders {
            if !fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none()) {
                break;
            }
            self.run(FsOp::RemoveDir(folder.to_path_buf()), |path| fs::remove_dir(path))?;
        }
        Ok(())
    }

    fn create_dirs(&mut self, folder: &Path) -> Result<(), ApplyError> {
        if folder.is_dir() {
            return Ok(());
        }
        if let Some(parent) = folder.parent() {
            self.create_dirs(parent)?;
        }
        self.run(FsOp::CreateDir(folder.to_path_buf()), |path| fs::create_dir(path))
    }

    fn write_file(&mut self, file: &Path, target: &WriteTarget) -> Result<(), ApplyError> {
        let text = target.change.after.as_deref().unwrap_or_default();
        self.run(FsOp::WriteFile(file.to_path_buf()), |path| File::create_new(path)?.write_all(text.as_bytes()))?;
        if let Some(permissions) = &target.permissions {
            let permissions = permissions.clone();
            self.run(FsOp::SetPermissions(file.to_path_buf()), |path| fs::set_permissions(path, permissions))?;
        }
        Ok(())
    }

    fn rename(&mut self, from: &Path, to: &Path) -> Result<(), ApplyError> {
        let op = FsOp::Rename { from: from.to_path_buf(), to: to.to_path_buf() };
        self.run(op, |from| fs::rename(from, to))
    }

    fn run(&mut self, op: FsOp, act: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), ApplyError> {
        let path = match &op {
            FsOp::CreateDir(path)
            | FsOp::WriteFile(path)
            | FsOp::SetPermissions(path)
            | FsOp::Rename { from: path, .. }
            | FsOp::RemoveFile(path)
            | FsOp::RemoveDir(path) => path,
        };
        (self.observer)(&op).and_then(|()| act(path)).map_err(|source| match self.committed {
            None | Some((0, _)) => ApplyError::Stage { op, source },
            Some((written, total)) => ApplyError::Commit { op, source, written, total },
        })
    }
}

/// Best effort: a file system without sync still has the file.
fn sync_files(files: &[PathBuf]) {
    const THREADS: usize = 8;
    std::thread::scope(|scope| {
        for chunk in files.chunks(files.len().div_ceil(THREADS).max(1)) {
            scope.spawn(move || {
                for file in chunk {
                    let _ = File::open(file).and_then(|file| file.sync_all());
                }
            });
        }
    });
}

fn sync_folder(folder: Option<&Path>) {
    if let Some(folder) = folder {
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_given_back_also_when_a_starting_process_has_a_copy_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = ProjectRoot::find(folder.path()).unwrap();
        let lock = root.lock().unwrap().unwrap();
        let copy = lock.0.try_clone().unwrap();
        assert!(matches!(root.lock(), Err(ApplyError::Busy(_))));
        drop(lock);
        assert!(root.lock().is_ok());
        drop(copy);
    }
}
