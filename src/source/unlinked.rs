//! Files without a `mod` item in the tree: unused code, or a module that a macro declares.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::file::clean;
use super::files;
use super::tree::SourceTree;

const OTHERS: [&str; 4] = ["benches", "examples", "target", "tests"];

impl SourceTree {
    /// The Rust files in the folders of the package's own targets that are not modules of the tree, with their texts.
    pub fn unlinked_files(&self) -> Vec<(PathBuf, String)> {
        let read: BTreeSet<PathBuf> = self.files().map(clean).collect();
        let folders = self.roots().filter_map(|root| self.module_file(root).parent().map(clean)).collect();
        let is_other = |folder: &Path, name: &str| {
            OTHERS.contains(&name) || name.starts_with('.') || folder.join("Cargo.toml").is_file()
        };
        let unlinked = files::rust_files(folders, is_other).into_iter();
        let unlinked = unlinked.filter(|path| !read.contains(path) && self.is_wanted(path));
        unlinked.filter_map(|path| files::read(&path).ok().map(|text| (path, text))).collect()
    }
}
