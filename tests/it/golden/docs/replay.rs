//! Runs the `console` blocks of a page and puts what they print in the place of what the page says they print.
//!
//! ````text
//! ```console
//! $ memcached-sdk version
//! memcached-sdk [..]
//! ```
//! ````
//!
//! A line of `...` stands for any lines and `[..]` for any text in a line. A further word after `console` is the reason
//! why a block is not run here (`cluster`, `build`, …); the test has the list of those commands. An HTML comment
//! `<!-- insert after "TEXT" in PATH -->` or `<!-- replace "TEXT" in PATH -->` before a code block does what the prose
//! asks the reader to do: the block goes below the line with the text, or takes the place of that line. Below
//! `<!-- write PATH -->` the block is the whole file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use snapbox::IntoData as _;

use crate::generated;

pub(super) struct Replay {
    /// The page with the new outputs.
    pub(super) text: String,
    /// Commands of skipped blocks, each with the reason.
    pub(super) not_run: Vec<String>,
}

/// Runs the page's commands in order, starting in `dir`. Blocks with a reason in `run` are not skipped; `env` are extra
/// variables.
pub(super) fn replay(page: &str, dir: &Path, run: &[&str], env: &[(&str, String)]) -> Replay {
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let mut shell = Shell { dir: dir.to_path_buf(), env };
    let mut result = Replay { text: String::new(), not_run: Vec::new() };
    let mut lines = page.split_inclusive('\n').peekable();
    let mut change = None;
    while let Some(line) = lines.next() {
        result.text.push_str(line);
        if let Some(asked) = Change::parse(line.trim_end()) {
            change = Some(asked);
            continue;
        }
        let Some(info) = line.trim_end().strip_prefix("```") else { continue };
        let mut block = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("```")) {
            block.push(line);
        }
        let mut words = info.split(' ');
        let console = words.next() == Some("console");
        let reason = words.next().filter(|reason| !run.contains(reason));
        match (console, reason) {
            (true, None) => block_of_commands(&block, &mut shell, &mut result.text),
            (true, Some(reason)) => {
                let commands = block.iter().filter_map(|line| line.strip_prefix("$ "));
                result.not_run.extend(commands.map(|command| format!("{reason}: {}", command.trim_end())));
                result.text.extend(block);
            }
            (false, _) => {
                if let Some(change) = change.take() {
                    change.make(&shell.dir, &block.concat());
                }
                result.text.extend(block);
            }
        }
        result.text.extend(lines.next());
    }
    result
}

fn block_of_commands(block: &[&str], shell: &mut Shell, text: &mut String) {
    let mut lines = block.iter().peekable();
    while let Some(line) = lines.next() {
        let mut command =
            line.strip_prefix("$ ").unwrap_or_else(|| panic!("output without a command: {line}")).to_owned();
        text.push_str(line);
        while command.trim_end().ends_with('\\')
            && let Some(more) = lines.next()
        {
            command.push_str(more);
            text.push_str(more);
        }
        let mut expected = String::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
            expected.push_str(line);
        }
        let actual = shell.run(&command);
        text.push_str(if matches(&actual, &expected) { &expected } else { &actual });
    }
}

fn matches(actual: &str, expected: &str) -> bool {
    // `...` must not hide a failure.
    let failure = |text: &str| text.lines().last().filter(|line| line.starts_with("[exit code ")).map(str::to_owned);
    failure(actual) == failure(expected)
        && snapbox::Assert::new().try_eq(None, actual.to_owned().into_data(), expected.to_owned().into_data()).is_ok()
}

/// The edit that a comment requests for the next block.
enum Change<'a> {
    /// Inserts below the line with `anchor`, or replaces that line.
    Line { keep_line: bool, anchor: &'a str, path: &'a str },
    /// Writes the whole file.
    Write(&'a str),
}

impl<'a> Change<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let comment = line.strip_prefix("<!-- ")?.strip_suffix(" -->")?;
        if let Some(path) = comment.strip_prefix("write ") {
            return Some(Self::Write(path));
        }
        let (keep_line, rest) = match comment.strip_prefix("insert after \"") {
            Some(rest) => (true, rest),
            None => (false, comment.strip_prefix("replace \"")?),
        };
        let (anchor, path) = rest.split_once("\" in ")?;
        Some(Self::Line { keep_line, anchor, path })
    }

    fn make(&self, dir: &Path, code: &str) {
        let (keep_line, anchor, path) = match *self {
            Self::Line { keep_line, anchor, path } => (keep_line, anchor, dir.join(path)),
            Self::Write(path) => return std::fs::write(dir.join(path), code).unwrap(),
        };
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        let at = lines.iter().position(|line| line.contains(anchor));
        let at = at.unwrap_or_else(|| panic!("{} has no `{anchor}`", path.display()));
        if keep_line {
            lines.insert(at + 1, code);
        } else {
            lines[at] = code;
        }
        std::fs::write(path, lines.concat()).unwrap();
    }
}

/// A shell that keeps its `cd`.
struct Shell {
    dir: PathBuf,
    env: Vec<(String, String)>,
}

impl Shell {
    /// Pins the project to the versions that all test projects use.
    fn seed_lock(&self) {
        let lock = self.dir.join("Cargo.lock");
        if self.dir.join("Cargo.toml").exists() && !lock.exists() {
            std::fs::copy(generated::lock(), lock).unwrap();
            // Drops packages that the project does not depend on yet.
            let mut cargo = Command::new("cargo");
            let arguments = ["update", "--workspace", "--offline", "--quiet"];
            assert!(cargo.args(arguments).current_dir(&self.dir).status().unwrap().success());
        }
    }

    /// Returns both output streams. A failure adds its exit code.
    fn run(&mut self, command: &str) -> String {
        // A reader builds the binary first; the test uses the existing one.
        let mut command = command.replace("cargo run --release -- ", "memcached-sdk ");
        for new in ["memcached-sdk init ", "memcached-sdk new "] {
            command = command.replace(new, &format!("{new}--fetch-deps=false "));
        }
        let home = tempfile::tempdir().unwrap();
        let pwd = home.path().join("pwd");
        let script = format!("exec 2>&1\n{command}\nstatus=$?; pwd > '{}'; exit $status", pwd.display());
        self.seed_lock();
        let binary = Path::new(env!("CARGO_BIN_EXE_memcached-sdk")).parent().unwrap();
        // Pages may call kubectl.
        let kubectl = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("control-plane");
        let path = std::env::join_paths(
            [binary.to_path_buf(), kubectl]
                .into_iter()
                .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
        );
        let _building = generated::building();
        let output = Command::new("sh")
            .arg("-c")
            .arg(script)
            .current_dir(&self.dir)
            .env("CARGO_TARGET_DIR", generated::target())
            .env_remove("RUSTFLAGS")
            .env_remove("CI")
            .env("PATH", path.unwrap())
            .envs(self.env.iter().cloned())
            .output()
            .unwrap();
        self.dir = std::fs::read_to_string(pwd).map_or(self.dir.clone(), |dir| PathBuf::from(dir.trim_end()));
        let mut text = String::from_utf8(output.stdout).unwrap();
        if let Some(code) = output.status.code().filter(|code| *code != 0) {
            let _ = writeln!(text, "[exit code {code}]");
        }
        text
    }
}

#[test]
fn a_page_is_run_and_its_outputs_are_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let page = "# Page\n```console\n$ mkdir a\n$ cd a\n$ printf 'x\\ny\\n' | tee f\nwrong\n```\n\
        <!-- insert after \"x\" in f -->\n```text\nbetween\n```\n```console\n$ cat f\nx\n...\n```\n<!-- replace \"y\" in f -->\n```text\nz\n```\n```console\n$ tail -1 f\nz\n$ false\n...\n$ true\n...\n$ false\n[exit code 7]\n```\n\
        ```console cluster\n$ kubectl get pods\nNAME\n```\n";
    let replay = replay(page, dir.path(), &[], &[]);
    assert_eq!(
        replay.text,
        page.replace("wrong\n", "x\ny\n")
            .replace("$ false\n...\n", "$ false\n[exit code 1]\n")
            .replace("[exit code 7]", "[exit code 1]")
    );
    assert_eq!(replay.not_run, ["cluster: kubectl get pods"]);
}
