//! The file system as a command leaves it: disk, overlaid with files that are not written yet.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::file::clean;
use super::manifest::{CargoManifest, FeatureSelection};

/// File texts by absolute path that replace those on disk.
#[derive(Debug, Clone, Default)]
pub struct Pending {
    files: BTreeMap<PathBuf, String>,
    packages: BTreeMap<String, PathBuf>,
}

impl Pending {
    /// Replaces the file at `path`, which may not exist.
    pub fn insert(&mut self, path: &Path, text: String) {
        self.files.insert(key(path), text);
    }

    /// Provides a package for dependencies on it without a path: `files` in the folder `dir`.
    pub(crate) fn provide(&mut self, package: &str, dir: &Path, files: impl IntoIterator<Item = (String, String)>) {
        self.packages.insert(package.to_owned(), key(dir));
        files.into_iter().for_each(|(path, text)| self.insert(&dir.join(path), text));
    }

    /// Returns true if the package in `dir` depends on another one without a path.
    pub(crate) fn lacks(&self, dir: &Path, package: &str) -> bool {
        let named = self.read(&dir.join("Cargo.toml")).is_ok_and(|text| text.contains(package));
        let read = || CargoManifest::read(dir, "Cargo.toml", &FeatureSelection::default(), self, Some(&Rc::default()));
        named && read().is_ok_and(|own| own.dependency_on(package).any(|dependency| dependency.path.is_none()))
    }

    pub(super) fn provided(&self, package: &str) -> Option<&PathBuf> {
        self.packages.get(package)
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
        if self.files.is_empty() { None } else { self.files.get(&key(path)).map(String::as_str) }
    }
}

/// Reads a file. A pipe or a device, which might never end, is an error.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    if std::fs::metadata(path)?.is_file() {
        std::fs::read_to_string(path)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// The `.rs` files in these folders and below. `skip` gets each folder and its name.
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
