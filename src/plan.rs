//! The virtual tree: what a command wants to be true on disk, as data.
//!
//! Three kinds of file decide every question about overwriting, see [`FileOp`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A path below the project root: relative, `/`-separated, without `.` or `..`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RelPath(String);

/// What happens to a scaffolded file that is there already with other bytes. Equal bytes are always "unchanged".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfExists {
    /// Keep the user's file.
    Skip,
    /// A conflict: nothing at all is written.
    Refuse,
    /// Replace it; the report shows the diff.
    Overwrite,
}

/// One file of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileOp {
    /// Ours once, the user's from then on.
    Scaffold {
        /// The text to write.
        text: String,
        /// What to do when it exists with other bytes.
        if_exists: IfExists,
    },
    /// The user's file; applies only while the disk still equals `before`.
    Edit {
        /// The text that the edit was computed from.
        before: String,
        /// The text to write.
        after: String,
    },
    /// Ours for good: replaced when different.
    Generate {
        /// The text to write.
        text: String,
    },
    /// A generated file whose source is gone.
    Remove,
}

/// What a command wants to be true on disk, ordered by path.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Plan {
    ops: BTreeMap<RelPath, FileOp>,
}

/// The virtual tree that a command writes to: reads fall through to the disk, every change is only recorded,
/// several edits of one file compose.
#[derive(Debug)]
pub struct Draft {
    root: PathBuf,
    plan: Plan,
}

impl Draft {
    /// A draft of changes below `root`, which need not exist yet.
    pub fn open(root: &Path) -> Self {
        Self { root: root.to_path_buf(), plan: Plan::default() }
    }
}
