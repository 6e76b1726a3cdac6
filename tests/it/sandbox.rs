//! A temporary folder in which the tests run the binary.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use snapbox::IntoData;
use tempfile::TempDir;

use crate::lock;

/// Flags that skip the network and the toolchain check.
pub(crate) const OFFLINE: &str = "--fetch-deps=false --skip-toolchain-check";

/// A folder that is deleted at the end of the test.
pub(crate) struct Sandbox {
    root: PathBuf,
    _temporary: Option<TempDir>,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        crate::timing::start();
        let folder = tempfile::Builder::new().prefix("sandbox-").tempdir().unwrap();
        Self { root: folder.path().to_path_buf(), _temporary: Some(folder) }
    }

    /// A folder with a fixed path, so that cargo reuses its build.
    pub(crate) fn lasting(name: &str, files: &[(&str, &str)]) -> Self {
        crate::timing::start();
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lasting").join(name);
        let sandbox = Self { root, _temporary: None };
        if sandbox.root.exists() {
            std::fs::remove_dir_all(&sandbox.root).unwrap();
        }
        for (path, text) in files {
            sandbox.file(path, text);
        }
        sandbox
    }

    /// A folder with the project `demo` of the domain `example.com`.
    pub(crate) fn project(flags: &str) -> Self {
        let sandbox = Self::new();
        sandbox.run(&format!("init --domain example.com --project-name demo {OFFLINE} {flags}")).success();
        sandbox
    }

    /// Writes the lock file of all packages.
    pub(crate) fn lock(&self) -> &Self {
        self.lock_in("")
    }

    /// Writes the lock file of a package or workspace in a folder.
    pub(crate) fn lock_in(&self, folder: &str) -> &Self {
        let files = files(&self.path(folder));
        let manifests = files.iter().filter(|(path, _)| path.ends_with("Cargo.toml"));
        let text = lock::text(manifests.map(|(_, text)| text.as_str()));
        self.file(&Path::new(folder).join("Cargo.lock").to_string_lossy(), &text)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Writes a file and its parent folders.
    pub(crate) fn file(&self, path: &str, text: &str) -> &Self {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Replaces a text, which must exist.
    pub(crate) fn replace(&self, path: &str, from: &str, to: &str) -> &Self {
        let text = self.read(path);
        assert!(text.contains(from), "{path} has no {from:?}:\n{text}");
        self.file(path, &text.replace(from, to))
    }

    /// The command, not started yet. Arguments are split at whitespace.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_memcached-sdk"));
        command.args(arguments.split_whitespace()).current_dir(self.root()).stdin(Stdio::null());
        command.env("NO_COLOR", "1").env_remove("MEMCACHED_SDK_ABORT_AT_FILE_OPERATION");
        command
    }

    pub(crate) fn run(&self, arguments: &str) -> Run {
        self.finish(arguments, &mut self.command(arguments))
    }

    /// Runs a command; `arguments` is its name in failures.
    pub(crate) fn finish(&self, arguments: &str, command: &mut Command) -> Run {
        let output = command.output().unwrap();
        Run { arguments: arguments.to_owned(), root: self.root().display().to_string(), output }
    }

    /// Runs the binary with text on stdin. Fails if it hangs.
    pub(crate) fn pipe(&self, arguments: &str, input: &str) -> Run {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (id, mut stdin, input) = (child.id(), child.stdin.take().unwrap(), input.to_owned());
        // A program that ignores stdin closes the pipe, so ignore the error.
        std::thread::spawn(move || _ = stdin.write_all(input.as_bytes()));
        let (ended, end) = std::sync::mpsc::channel();
        std::thread::spawn(move || ended.send(child.wait_with_output().unwrap()));
        let output = end.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|_| {
            Command::new("kill").arg(id.to_string()).status().unwrap();
            panic!("{arguments} hangs");
        });
        Run { arguments: arguments.to_owned(), root: self.root().display().to_string(), output }
    }

    pub(crate) fn files(&self) -> BTreeMap<String, String> {
        files(self.root())
    }
}

/// Files of a folder by path, without `.git` and `target`.
pub(crate) fn files(root: &Path) -> BTreeMap<String, String> {
    let wanted = |entry: &walkdir::DirEntry| {
        entry.depth() == 0 || !matches!(entry.file_name().to_str(), Some(".git" | "target"))
    };
    let mut files = BTreeMap::new();
    for entry in walkdir::WalkDir::new(root).into_iter().filter_entry(wanted) {
        let entry = entry.unwrap();
        if !entry.file_type().is_dir() {
            let path = entry.path().strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            files.insert(path, String::from_utf8(std::fs::read(entry.path()).unwrap()).unwrap());
        }
    }
    files
}

/// Joins files to one text for comparison.
pub(crate) fn join(files: &BTreeMap<String, String>) -> String {
    files.iter().fold(String::new(), |mut all, (path, text)| {
        write!(all, "──── {path}\n{text}").unwrap();
        all
    })
}

pub(crate) struct Run {
    arguments: String,
    root: String,
    output: Output,
}

impl Run {
    pub(crate) fn success(self) -> Self {
        self.code(0)
    }

    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.exit_code(), Some(code), "{self}");
        self
    }

    /// Compares stdout.
    pub(crate) fn stdout(self, expected: impl IntoData) -> Self {
        snapbox::assert_data_eq!(self.text(&self.output.stdout), expected.raw());
        self
    }

    /// Compares stderr.
    pub(crate) fn stderr(self, expected: impl IntoData) -> Self {
        snapbox::assert_data_eq!(self.text(&self.output.stderr), expected.raw());
        self
    }

    /// `None` after a signal.
    pub(crate) fn exit_code(&self) -> Option<i32> {
        self.output.status.code()
    }

    pub(crate) fn out(&self) -> String {
        self.text(&self.output.stdout)
    }

    pub(crate) fn err(&self) -> String {
        self.text(&self.output.stderr)
    }

    fn text(&self, bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).replace(&self.root, "[ROOT]")
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n{}{}", self.arguments, self.output.status, self.out(), self.err())
    }
}
