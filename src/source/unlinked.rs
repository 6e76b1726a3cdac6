//! Files that no `mod` declares which is read: code that is not used, or a module that a macro declares.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::file::clean;
use super::files;
use super::tree::SourceTree;

/// Folders that hold targets of their own, or no source.
const OTHERS: [&str; 4] = ["benches", "examples", "target", "tests"];

impl SourceTree {
    /// The Rust files in the folders of the package's own targets that are no module of theirs, with their texts.
    pub fn unlinked_files(&self) -> Vec<(PathBuf, String)> {
        let read: BTreeSet<PathBuf> = self.files().map(clean).collect();
        let mut folders: BTreeSet<PathBuf> =
            self.roots().filter_map(|root| self.module_file(root).parent().map(clean)).collect();
        let mut found = Vec::new();
        while let Some(folder) = folders.pop_first() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = clean(&entry.path());
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() {
                    let name = entry.file_name();
                    let other = OTHERS.iter().any(|other| name == *other) || path.join("Cargo.toml").is_file();
                    if !other && !name.to_string_lossy().starts_with('.') {
                        folders.insert(path);
                    }
                } else if is_rust(&path)
                    && !read.contains(&path)
                    && self.is_wanted(&path)
                    && let Ok(text) = files::read(&path)
                {
                    found.push((path, text));
                }
            }
        }
        found.sort();
        found
    }
}

fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}
