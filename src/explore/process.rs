//! Processes that end with this one, and the last lines of their output.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context as _, Result};

/// Lines of output that are kept for each process.
const LINES: usize = 200;

/// Reads lists of process groups, and ends the last one when its input is closed, as it is when this process ends in any
/// way. Then removes the folder.
const SCRIPT: &str = r#"
trap "" HUP INT TERM
groups=
while read -r list; do groups=$list; done
for group in $groups; do kill -9 "-$group" 2> /dev/null; done
sleep 0.2
rm -rf "$1"
"#;

/// Ends processes when this one ends in any way.
pub(super) struct Keeper {
    watcher: Option<Mutex<WatchedGroups>>,
}

struct WatchedGroups {
    input: ChildStdin,
    groups: Vec<u32>,
}

impl Keeper {
    /// A keeper of the processes that use a temporary folder.
    pub(super) fn new(folder: &Path) -> Arc<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "sh"]).arg(folder).current_dir("/").stdin(Stdio::piped());
        own_group(&mut command).stdout(Stdio::null()).stderr(Stdio::null());
        let input = command.spawn().ok().and_then(|mut child| child.stdin.take());
        Arc::new(Self { watcher: input.map(|input| Mutex::new(WatchedGroups { input, groups: Vec::new() })) })
    }

    fn change(&self, change: impl FnOnce(&mut Vec<u32>)) {
        if let Some(watcher) = &self.watcher {
            let mut watched = watcher.lock().unwrap_or_else(PoisonError::into_inner);
            change(&mut watched.groups);
            let list: Vec<String> = watched.groups.iter().map(u32::to_string).collect();
            let _ = writeln!(watched.input, "{}", list.join(" "));
        }
    }
}

/// A process in a group of its own. It is killed when this value goes.
pub(super) struct Process {
    child: Child,
    keeper: Arc<Keeper>,
    output: Arc<Mutex<VecDeque<String>>>,
    ended: bool,
}

impl Process {
    pub(super) fn start(mut command: Command, keeper: &Arc<Keeper>) -> Result<Self> {
        let program = command.get_program().to_string_lossy().into_owned();
        own_group(&mut command).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot run `{program}`"))?;
        keeper.change(|groups| groups.push(child.id()));
        let output = Arc::new(Mutex::new(VecDeque::new()));
        let streams: [Option<Box<dyn Read + Send>>; 2] = [
            child.stdout.take().map(|stream| Box::new(stream) as _),
            child.stderr.take().map(|stream| Box::new(stream) as _),
        ];
        for stream in streams.into_iter().flatten() {
            let output = Arc::clone(&output);
            thread::spawn(move || {
                for line in BufReader::new(stream).split(b'\n').map_while(std::result::Result::ok) {
                    let mut lines = output.lock().unwrap_or_else(PoisonError::into_inner);
                    if lines.len() == LINES {
                        lines.pop_front();
                    }
                    lines.push_back(String::from_utf8_lossy(&line).trim_end().to_owned());
                }
            });
        }
        Ok(Self { child, keeper: Arc::clone(keeper), output, ended: false })
    }

    /// The last lines of the output.
    pub(super) fn last_lines(&self, count: usize) -> Vec<String> {
        let lines = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().skip(lines.len().saturating_sub(count)).cloned().collect()
    }

    /// Returns the status if the process has ended.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Kills the process with its children.
    pub(super) fn kill(&mut self) {
        if self.ended {
            return;
        }
        self.ended = true;
        let id = self.child.id();
        kill_group(id);
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.keeper.change(|groups| groups.retain(|group| *group != id));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(unix)]
fn own_group(command: &mut Command) -> &mut Command {
    use std::os::unix::process::CommandExt as _;
    command.process_group(0)
}

#[cfg(not(unix))]
fn own_group(command: &mut Command) -> &mut Command {
    command
}

#[cfg(unix)]
fn kill_group(id: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};
    if let Some(group) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill_group(_: u32) {}
