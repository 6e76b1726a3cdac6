//! The virtual tree: the intended state of the disk, as data.
//!
//! Commands write to a [`Draft`], whose reads fall through to the disk; [`Draft::finish`] turns it into a [`Plan`]. The
//! variants of [`FileOp`] decide every question about overwriting. Must stay true: only [`apply`] writes to the disk.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::diagnostic::{Problem, conflict};
use crate::edit::{self, EditError};

pub mod apply;
pub mod report;

/// The record of what was scaffolded. Written last, so that an interrupted command is not recorded and can run again.
pub(crate) const RECORD: &str = "PROJECT";

/// An operation on one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileOp {
    /// A scaffolded file: written once, then owned by the user.
    Scaffold {
        /// The text to write.
        text: String,
        /// The action if it exists with other content.
        if_exists: IfExists,
    },
    /// An edit of the user's file; valid only while the disk still equals `before`.
    Edit {
        /// The text that the edit was computed from.
        before: String,
        /// The text to write.
        after: String,
    },
    /// A generated file: owned by this tool, replaced when different.
    Generate {
        /// The text to write.
        text: String,
    },
    /// Removes a generated file whose source is gone.
    Remove,
}

/// The action if a scaffolded file exists with other content. Equal content is always "unchanged".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfExists {
    /// Keep the user's file.
    Skip,
    /// Report a conflict; nothing is written.
    Refuse,
    /// Replace the file; the report shows the diff.
    Overwrite,
}

/// The intended state of the disk, ordered by path.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Plan {
    ops: BTreeMap<RelPath, FileOp>,
    /// The mode bits of files that are restored.
    modes: BTreeMap<RelPath, u32>,
    /// The command to record.
    command: Option<String>,
}

impl Plan {
    /// The operations by path.
    pub fn ops(&self) -> &BTreeMap<RelPath, FileOp> {
        &self.ops
    }

    /// Lets `undo` take the plan back: `command` is recorded with the inverse.
    #[must_use]
    pub fn recorded_as(self, command: String) -> Self {
        Self { command: Some(command), ..self }
    }
}

/// The virtual tree that a command writes to. Reads fall through to the disk, changes are only recorded, and edits of
/// the same file compose.
#[derive(Debug)]
pub struct Draft {
    root: PathBuf,
    ops: BTreeMap<RelPath, FileOp>,
    modes: BTreeMap<RelPath, u32>,
    imagined: bool,
}

impl Draft {
    /// Opens a draft below `root`, which may not exist yet.
    pub fn open(root: &Path) -> Self {
        Self { root: root.to_path_buf(), ops: BTreeMap::new(), modes: BTreeMap::new(), imagined: false }
    }

    /// Creates a draft that is never applied, with no disk below it.
    pub(crate) fn imagined() -> Self {
        Self { root: PathBuf::new(), ops: BTreeMap::new(), modes: BTreeMap::new(), imagined: true }
    }

    pub(crate) fn is_imagined(&self) -> bool {
        self.imagined
    }

    /// The folder that paths are relative to.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The text that the file will have: pending, or else on disk. `None` if it does not exist.
    pub fn read(&self, path: &RelPath) -> anyhow::Result<Option<String>> {
        match self.ops.get(path) {
            None => self.disk(path),
            Some(FileOp::Remove) => Ok(None),
            Some(FileOp::Edit { after: text, .. } | FileOp::Generate { text }) => Ok(Some(text.clone())),
            Some(FileOp::Scaffold { text, if_exists }) => match (if_exists, self.disk(path)?) {
                (IfExists::Skip, Some(kept)) => Ok(Some(kept)),
                _ => Ok(Some(text.clone())),
            },
        }
    }

    /// Adds a scaffolded file. With [`IfExists::Skip`], an existing operation of this draft stays.
    pub fn scaffold(&mut self, path: RelPath, text: impl Into<String>, if_exists: IfExists) {
        let op = FileOp::Scaffold { text: text.into(), if_exists };
        match self.ops.entry(path) {
            Entry::Vacant(entry) => drop(entry.insert(op)),
            Entry::Occupied(mut entry) => {
                if if_exists != IfExists::Skip || *entry.get() == FileOp::Remove {
                    entry.insert(op);
                }
            }
        }
    }

    /// Adds a generated file.
    pub fn generate(&mut self, path: RelPath, text: impl Into<String>) {
        self.ops.insert(path, FileOp::Generate { text: text.into() });
    }

    /// Edits an existing file, on disk or in this draft. `change` gets and returns `\n` line endings; a file with
    /// `\r\n` keeps them.
    pub fn edit(
        &mut self,
        path: &RelPath,
        change: impl FnOnce(&str) -> Result<String, EditError>,
    ) -> anyhow::Result<()> {
        let change = |text: &str| {
            if let Some(problem) = conflict::problem(path.as_str(), text) {
                return Err(problem.into());
            }
            edit::keeping_line_endings(text, change).with_context(|| format!("cannot edit `{path}`"))
        };
        let op = match self.ops.get(path) {
            Some(FileOp::Edit { before, after }) => FileOp::Edit { before: before.clone(), after: change(after)? },
            Some(FileOp::Generate { text }) => FileOp::Generate { text: change(text)? },
            Some(FileOp::Scaffold { text, if_exists }) => match self.disk(path)? {
                // The file stays as it is on disk, so this is an edit of the user's file.
                Some(disk) if *if_exists == IfExists::Skip || disk == *text => {
                    FileOp::Edit { after: change(&disk)?, before: disk }
                }
                _ => FileOp::Scaffold { text: change(text)?, if_exists: *if_exists },
            },
            Some(FileOp::Remove) => return Err(missing(path).into()),
            None => {
                let before = self.disk(path)?.ok_or_else(|| missing(path))?;
                FileOp::Edit { after: change(&before)?, before }
            }
        };
        self.ops.insert(path.clone(), op);
        Ok(())
    }

    /// Removes a generated file.
    pub fn remove(&mut self, path: RelPath) {
        self.ops.insert(path, FileOp::Remove);
    }

    /// Gives a file the exact text that it had, or removes it. A file that does not exist gets the mode bits, if given.
    pub(crate) fn restore(&mut self, path: RelPath, text: Option<String>, mode: Option<u32>) -> anyhow::Result<()> {
        let op = match (self.disk(&path)?, text) {
            (_, None) => FileOp::Remove,
            (None, Some(text)) => FileOp::Scaffold { text, if_exists: IfExists::Refuse },
            (Some(before), Some(after)) => FileOp::Edit { before, after },
        };
        self.modes.extend(mode.map(|mode| (path.clone(), mode)));
        self.ops.insert(path, op);
        Ok(())
    }

    /// The files with an operation in this draft.
    pub fn paths(&self) -> impl Iterator<Item = &RelPath> {
        self.ops.keys()
    }

    /// The recorded plan.
    pub fn finish(self) -> Plan {
        Plan { ops: self.ops, modes: self.modes, command: None }
    }

    fn disk(&self, path: &RelPath) -> anyhow::Result<Option<String>> {
        if self.imagined {
            return Ok(None);
        }
        match std::fs::read(path.below(&self.root)) {
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Ok(Some(text)),
                Err(_) => Err(Problem::new(format!("`{path}` is not UTF-8 text")).into()),
            },
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read `{path}`")),
        }
    }
}

fn missing(path: &RelPath) -> Problem {
    Problem::new(format!("cannot edit `{path}`: file not found")).help(
        "restore the file from version control, or scaffold the project again in an empty folder and copy the file",
    )
}

/// A path below the project root: relative, `/`-separated, without `.` or `..`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RelPath(String);

impl RelPath {
    /// Validates `path`.
    pub fn new(path: impl AsRef<str>) -> Result<Self, Problem> {
        let path = path.as_ref();
        let refuse = |why: &str| {
            Err(Problem::new(format!("`{}` is not a valid path in the project: {why}", path.escape_debug())))
        };
        if path.is_empty() {
            return refuse("it must not be empty");
        }
        if path.chars().any(|c| c.is_control() || matches!(c, '\\' | ':')) {
            return refuse(r"control characters, `\` and `:` are not allowed");
        }
        for segment in path.split('/') {
            match segment {
                "" => return refuse("it must be relative and must not have empty segments"),
                "." | ".." => return refuse("`.` and `..` are not allowed"),
                _ if apply::is_staging(segment) => return refuse("the name is reserved for unfinished writes"),
                _ => {}
            }
        }
        Ok(Self(path.to_owned()))
    }

    /// The path with `/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true for a Rust file.
    pub(crate) fn is_rust(&self) -> bool {
        Path::new(&self.0).extension().is_some_and(|end| end == "rs")
    }

    /// Returns true for a YAML file.
    pub(crate) fn is_yaml(&self) -> bool {
        Path::new(&self.0).extension().is_some_and(|end| end == "yaml" || end == "yml")
    }

    /// The path below `root`.
    pub fn below(&self, root: &Path) -> PathBuf {
        self.segments().fold(root.to_path_buf(), |path, segment| path.join(segment))
    }

    /// The segments; at least one.
    pub fn segments(&self) -> std::str::Split<'_, char> {
        self.0.split('/')
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for RelPath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}
