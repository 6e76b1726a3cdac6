//! The record of the last command that wrote to a project: the inverse of its plan, for `undo`.
//!
//! A commit first stores it as pending, and makes it the last record when all files are in place. So an interrupted command has
//! a record, and the one before it is kept until the repetition is complete. Must stay true: no record is in the tree.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::mode::{is_writable, mode};
use super::preflight::WriteTarget;
use crate::plan::{RECORD, RelPath};

/// A command and its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UndoRecord {
    /// The words after the program's name.
    pub(crate) command: String,
    /// The changed files by path.
    pub(crate) files: BTreeMap<String, UndoFile>,
}

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UndoFile {
    /// The text before the command; `None` if the file did not exist.
    pub(crate) before: Option<String>,
    /// The text that the command wrote; `None` if it removed the file.
    pub(crate) after: Option<String>,
    /// The mode bits of a removed file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<u32>,
}

impl UndoRecord {
    pub(super) fn new<'a>(command: &str, targets: impl Iterator<Item = &'a &'a WriteTarget>) -> Self {
        let files = targets.map(|target| {
            let mode = target.change.after.is_none().then(|| target.permissions.as_ref().and_then(mode)).flatten();
            let (before, after) = (target.change.before.clone(), target.change.after.clone());
            (target.change.path.to_string(), UndoFile { before, after, mode })
        });
        Self { command: command.to_owned(), files: files.collect() }
    }

    /// Takes over what an interrupted run of the same command has written.
    pub(super) fn completes(&mut self, interrupted: UndoRecord, root: &Path) {
        for (path, old) in interrupted.files {
            match self.files.get_mut(&path) {
                Some(new) if new.before == old.after => new.before = old.before,
                None if text(root, &path) == old.after => drop(self.files.insert(path, old)),
                Some(_) | None => {}
            }
        }
    }

    pub(super) fn is_same_command(&self, other: &UndoRecord) -> bool {
        self.command == other.command || self.is_undo() && other.is_undo()
    }

    fn is_undo(&self) -> bool {
        self.command.split(' ').next() == Some("undo")
    }

    /// Returns true if a file is not as it was before the command.
    pub(super) fn has_effect(&self, root: &Path) -> bool {
        self.files.iter().any(|(path, file)| text(root, path) != file.before)
    }
}

/// The text of a file; `None` if there is none.
fn text(root: &Path, path: &str) -> Option<String> {
    let bytes = fs::read(RelPath::new(path).ok()?.below(root)).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The place of the records of a project.
pub(super) struct Store {
    pub(super) folder: PathBuf,
}

impl Store {
    /// The store of the project in a folder; `None` if the folder has no project.
    pub(super) fn find(root: &Path) -> Option<Self> {
        root.join(RECORD).is_file().then(|| Self::below(root))
    }

    /// The store of the project that a crate in a folder becomes; `None` if the folder has no crate.
    pub(super) fn of_crate(root: &Path) -> Option<Self> {
        root.join("Cargo.toml").is_file().then(|| Self::below(root))
    }

    fn below(root: &Path) -> Self {
        let folder = git_folder(root).unwrap_or_else(|| root.join("target").join("memcached-sdk"));
        Self { folder }
    }

    pub(super) fn last(&self) -> PathBuf {
        self.folder.join("undo.json")
    }

    pub(super) fn pending(&self) -> PathBuf {
        self.folder.join("pending.json")
    }

    pub(super) fn staging(&self) -> PathBuf {
        self.folder.join("staging.json")
    }

    pub(super) fn read_pending(&self) -> Option<UndoRecord> {
        read(&self.pending()).ok().flatten()
    }
}

/// The folder for a project in the git directory of its work tree.
fn git_folder(root: &Path) -> Option<PathBuf> {
    let (tree, git) = root.ancestors().find_map(|folder| {
        let git = folder.join(".git");
        let git = match fs::read_to_string(&git) {
            // In a linked work tree, a file names the directory.
            Ok(text) => folder.join(text.strip_prefix("gitdir:")?.trim()),
            Err(_) => git,
        };
        git.join("HEAD").is_file().then_some((folder, git))
    })?;
    is_writable(&git).then(|| git.join("memcached-sdk").join(root.strip_prefix(tree).unwrap_or(root)))
}

/// The record of the last command that wrote to the project below `root`, also if it was interrupted.
pub(crate) fn last(root: &Path) -> anyhow::Result<Option<UndoRecord>> {
    let root = root.canonicalize()?;
    let Some(store) = Store::find(&root) else { return Ok(None) };
    match store.read_pending() {
        // An interrupted `undo` is repeated with the record that it used.
        Some(pending) if !pending.is_undo() && pending.has_effect(&root) => Ok(Some(pending)),
        _ => read(&store.last()),
    }
}

fn read(path: &Path) -> anyhow::Result<Option<UndoRecord>> {
    let Ok(text) = fs::read_to_string(path) else { return Ok(None) };
    serde_json::from_str(&text).with_context(|| format!("cannot read the record `{}`", path.display())).map(Some)
}
