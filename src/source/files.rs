//! The files to read: those on disk, some of them as a command is about to write them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use super::file::clean;

/// Texts in place of what is on disk, by absolute path.
#[derive(Debug, Clone, Default)]
pub struct Pending(BTreeMap<PathBuf, String>);

impl Pending {
    /// Puts `text` in the place of the file at `path`, which need not exist.
    pub fn insert(&mut self, path: &Path, text: String) {
        self.0.insert(key(path), text);
    }

    pub(super) fn read(&self, path: &Path) -> io::Result<String> {
        match self.get(path) {
            Some(text) => Ok(text.to_owned()),
            None => read(path),
        }
    }

    pub(super) fn is_file(&self, path: &Path) -> bool {
        self.get(path).is_some() || path.is_file()
    }

    fn get(&self, path: &Path) -> Option<&str> {
        if self.0.is_empty() { None } else { self.0.get(&key(path)).map(String::as_str) }
    }
}

/// The text of a file. A pipe or a device, which might never end, is an error.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    if std::fs::metadata(path)?.is_file() {
        std::fs::read_to_string(path)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// The `.rs` files in these folders and below, but for the folders that are to be skipped.
pub(crate) fn rust_files(mut folders: Vec<PathBuf>, skip: impl Fn(&Path, &str) -> bool) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = clean(&entry.path());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if !skip(&path, &entry.file_name().to_string_lossy()) {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.insert(path);
            }
        }
    }
    found
}

fn key(path: &Path) -> PathBuf {
    clean(&std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()))
}
