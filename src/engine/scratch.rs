//! The build folder of the compiled engine, below the user's target folder. Recreated on demand, so its content is not
//! output of this tool. Nothing outside of it is written.
//!
//! Up-to-date files keep their mtime, which avoids a rebuild by cargo. Writes never follow links.
#![expect(clippy::disallowed_methods, reason = "the build inputs are in the target folder and are not an output")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::project::name::fnv1a;

#[derive(Debug)]
pub(super) struct Scratch {
    root: PathBuf,
    tag: String,
    _lock: File,
}

impl Scratch {
    /// Opens the folder `memcached-sdk/NAME` for the package in `dir`. Blocks while another process uses it.
    pub(super) fn open(target: &Path, name: &str, dir: &Path) -> io::Result<Self> {
        let root = target.join("memcached-sdk").join(name);
        fs::create_dir_all(&root)?;
        let lock = File::create(root.join(".lock"))?;
        lock.lock()?;
        Ok(Self { root, tag: format!("{:08x}", fnv1a(&dir.to_string_lossy())), _lock: lock })
    }

    /// The folder name of a workspace member. Packages of the same name may share a target folder: cargo identifies
    /// members by path, and would reuse an older build of the other package.
    pub(super) fn member(&self, name: &str) -> String {
        format!("{name}-{}", self.tag)
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(super) fn write(&self, path: &str, text: &str) -> io::Result<()> {
        write(&self.path(path), text)
    }

    /// Mirrors `from` to `to`, with the texts of `texts` in place of files, which may not exist in `from`. Links
    /// folders without such files. Omits the paths in `without`, and `.git`.
    pub(super) fn mirror(
        &self,
        from: &Path,
        to: &str,
        texts: &BTreeMap<PathBuf, String>,
        without: &BTreeSet<PathBuf>,
    ) -> io::Result<()> {
        Mirror { from, texts, without }.folder(Path::new(""), &self.path(to))
    }
}

struct Mirror<'a> {
    from: &'a Path,
    /// By path below `from`, like `without`.
    texts: &'a BTreeMap<PathBuf, String>,
    without: &'a BTreeSet<PathBuf>,
}

impl Mirror<'_> {
    fn folder(&self, at: &Path, to: &Path) -> io::Result<()> {
        if !is_folder(to) {
            remove(to)?;
            fs::create_dir_all(to)?;
        }
        let mut names: BTreeSet<OsString> = BTreeSet::new();
        for entry in fs::read_dir(self.from.join(at)).into_iter().flatten() {
            names.insert(entry?.file_name());
        }
        let inside = self.texts.keys().filter_map(|path| path.strip_prefix(at).ok()?.components().next());
        names.extend(inside.map(|first| first.as_os_str().to_owned()));
        names.retain(|name| name != ".git" && !self.without.contains(&at.join(name)));
        for entry in fs::read_dir(to)? {
            let entry = entry?;
            if !names.contains(&entry.file_name()) {
                remove(&entry.path())?;
            }
        }
        for name in names {
            let (path, to) = (at.join(&name), to.join(&name));
            if let Some(text) = self.texts.get(&path) {
                write(&to, text)?;
            } else if self.texts.keys().any(|text| text.starts_with(&path)) {
                self.folder(&path, &to)?;
            } else {
                link(&self.from.join(path), &to)?;
            }
        }
        Ok(())
    }
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.is_dir())
}

/// Removes a file, a folder or a link itself. A missing one is not an error.
fn remove(path: &Path) -> io::Result<()> {
    match if is_folder(path) { fs::remove_dir_all(path) } else { fs::remove_file(path) } {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let is_file = fs::symlink_metadata(path).is_ok_and(|data| data.is_file());
    if is_file && fs::read(path).is_ok_and(|bytes| bytes == text.as_bytes()) {
        return Ok(());
    }
    if is_folder(path) {
        remove(path)?;
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    // Renames the file into place: a killed run leaves no partial file, and a link is replaced instead of followed.
    let new = path.with_extension("memcached-sdk-new");
    fs::write(&new, text)?;
    fs::rename(new, path)
}

fn link(from: &Path, to: &Path) -> io::Result<()> {
    if fs::read_link(to).is_ok_and(|there| there == from) {
        return Ok(());
    }
    remove(to)?;
    #[cfg(unix)]
    return std::os::unix::fs::symlink(from, to);
    #[cfg(windows)]
    return if from.is_dir() {
        std::os::windows::fs::symlink_dir(from, to)
    } else {
        std::os::windows::fs::symlink_file(from, to)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `path: text`, `path -> target` and `path/` of all entries below, sorted.
    fn tree(root: &Path, at: &Path, out: &mut Vec<String>) {
        let mut entries: Vec<_> =
            fs::read_dir(root.join(at)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        entries.sort();
        for path in entries.into_iter().map(|name| at.join(name)) {
            let (full, shown) = (root.join(&path), path.display());
            if let Ok(target) = fs::read_link(&full) {
                out.push(format!("{shown} -> {}", target.file_name().unwrap().display()));
            } else if full.is_dir() {
                out.push(format!("{shown}/"));
                tree(root, &path, out);
            } else {
                out.push(format!("{shown}: {}", fs::read_to_string(full).unwrap()));
            }
        }
    }

    #[test]
    fn a_mirror_follows_its_original_and_never_writes_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("project");
        for (path, text) in
            [("Cargo.toml", "m"), ("src/main.rs", "main"), ("src/a.rs", "a"), ("src/b/c.rs", "c"), (".git/HEAD", "h")]
        {
            write(&from.join(path), text).unwrap();
        }
        let scratch = Scratch::open(&folder.path().join("target"), "demo", folder.path()).unwrap();
        let mirror = |texts: &[(&str, &str)], without: &[&str]| {
            let texts = texts.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect();
            scratch.mirror(&from, "tree", &texts, &without.iter().map(PathBuf::from).collect()).unwrap();
            let mut out = Vec::new();
            tree(&scratch.path("tree"), Path::new(""), &mut out);
            out
        };
        assert_eq!(
            mirror(&[("src/main.rs", "new"), ("x.rs", "x")], &["Cargo.toml"]),
            ["src/", "src/a.rs -> a.rs", "src/b -> b", "src/main.rs: new", "x.rs: x"]
        );
        // Links become files and vice versa; removed entries disappear.
        fs::remove_file(from.join("src/a.rs")).unwrap();
        assert_eq!(
            mirror(&[("src/b/c.rs", "other")], &[]),
            ["Cargo.toml -> Cargo.toml", "src/", "src/b/", "src/b/c.rs: other", "src/main.rs -> main.rs"]
        );
        assert_eq!(mirror(&[("src/main.rs", "again")], &[])[2..], ["src/b -> b", "src/main.rs: again"]);
        let mut out = Vec::new();
        tree(&from, Path::new(""), &mut out);
        assert_eq!(
            out,
            [".git/", ".git/HEAD: h", "Cargo.toml: m", "src/", "src/b/", "src/b/c.rs: c", "src/main.rs: main"]
        );
    }

    #[test]
    fn an_unchanged_file_keeps_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::open(folder.path(), "demo", folder.path()).unwrap();
        scratch.write("a", "text").unwrap();
        let then = fs::File::open(scratch.path("a")).unwrap();
        let time = std::time::SystemTime::UNIX_EPOCH;
        then.set_modified(time).unwrap();
        scratch.write("a", "text").unwrap();
        assert_eq!(fs::metadata(scratch.path("a")).unwrap().modified().unwrap(), time);
        scratch.write("a", "other").unwrap();
        assert_ne!(fs::metadata(scratch.path("a")).unwrap().modified().unwrap(), time);
    }
}
