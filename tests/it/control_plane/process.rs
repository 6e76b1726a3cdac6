//! A process that cannot outlive the test. A shell beside it waits on a pipe from the test. The kernel closes the pipe
//! when the test ends, even by a kill, and the shell kills the process.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use crate::wait;

/// `$1` is the log, the rest the command. Prints the process id, and exits with the command's exit code.
const SUPERVISOR: &str = r#"
log=$1; shift
exec 3<&0
"$@" </dev/null >>"$log" 2>&1 3<&- &
child=$!
echo "$child"
exec >/dev/null
{ read -r _ <&3; kill -9 "$child"; } 2>/dev/null &
reader=$!
exec 3<&-
wait "$child"
code=$?
kill "$reader" 2>/dev/null
exit "$code"
"#;

pub(crate) struct Process {
    program: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
    log: PathBuf,
    supervisor: Child,
    pipe: Option<ChildStdin>,
    pid: u32,
}

impl Process {
    /// Starts `program` with a log in `dir` that has its name.
    pub(crate) fn start(dir: &Path, program: &Path, args: &[String], env: &[(String, String)]) -> Self {
        let log = dir.join(program.file_name().unwrap()).with_extension("log");
        let (supervisor, pipe, pid) = spawn(program, args, env, &log);
        Self {
            program: program.to_owned(),
            args: args.to_vec(),
            env: env.to_vec(),
            log,
            supervisor,
            pipe: Some(pipe),
            pid,
        }
    }

    /// Restarts the process with the same arguments and log.
    pub(crate) fn restart(&mut self) {
        self.end();
        let (supervisor, pipe, pid) = spawn(&self.program, &self.args, &self.env, &self.log);
        (self.supervisor, self.pipe, self.pid) = (supervisor, Some(pipe), pid);
    }

    pub(crate) fn name(&self) -> &str {
        self.program.file_name().unwrap().to_str().unwrap()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    pub(crate) fn log_text(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub(crate) fn running(&mut self) -> bool {
        self.supervisor.try_wait().unwrap().is_none()
    }

    /// Sends SIGTERM. Returns the exit code.
    pub(crate) fn terminate(&mut self) -> Option<i32> {
        self.signal("TERM");
        wait::until(Duration::from_secs(60), || {
            let status = self.supervisor.try_wait().unwrap();
            status.ok_or_else(|| format!("`{}` does not end:\n{}", self.program.display(), self.log_text()))
        })
        .unwrap_or_else(|error| panic!("{error}"))
        .code()
    }

    /// Sends SIGSTOP.
    pub(crate) fn pause(&mut self) {
        self.signal("STOP");
    }

    /// Sends SIGCONT.
    pub(crate) fn resume(&mut self) {
        self.signal("CONT");
    }

    fn signal(&mut self, name: &str) {
        assert!(self.running(), "`{}` has ended by itself:\n{}", self.name(), self.log_text());
        assert!(signal(self.pid, name), "`{}` gets no SIG{name}", self.name());
    }

    /// Sends SIGKILL.
    pub(crate) fn kill(&mut self) {
        assert!(self.running(), "`{}` has ended by itself:\n{}", self.name(), self.log_text());
        self.end();
    }

    fn end(&mut self) {
        drop(self.pipe.take());
        self.supervisor.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

fn spawn(program: &Path, args: &[String], env: &[(String, String)], log: &Path) -> (Child, ChildStdin, u32) {
    let mut supervisor = Command::new("sh")
        .args(["-c", SUPERVISOR, "supervisor"])
        .arg(log)
        .arg(program)
        .args(args)
        .envs(env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // The shell reports killed processes here.
        .stderr(Stdio::null())
        // A signal to the test's group (Ctrl-C, `timeout`) would end the shell before it kills the process.
        .process_group(0)
        .spawn()
        .unwrap();
    let mut pid = String::new();
    BufReader::new(supervisor.stdout.take().unwrap()).read_line(&mut pid).unwrap();
    let pipe = supervisor.stdin.take().unwrap();
    (supervisor, pipe, pid.trim().parse().unwrap())
}

/// Returns false if the process has ended.
pub(super) fn signal(pid: u32, name: &str) -> bool {
    let args = [&format!("-{name}"), &pid.to_string()];
    Command::new("kill").args(args).stderr(Stdio::null()).status().unwrap().success()
}

pub(crate) fn alive(pid: u32) -> bool {
    signal(pid, "0")
}

/// Removes a folder soon after the end of the test process, even if that is killed.
pub(super) fn remove_at_the_end(folder: &Path) -> Child {
    let script = r#"read -r _; for _ in 1 2 3 4 5; do sleep 1; rm -rf "$1"; done"#;
    Command::new("sh")
        .args(["-c", script, "remover"])
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap()
}

#[test]
fn a_signal_to_the_group_of_the_tests_leaves_no_process() {
    const ROLE: &str = "PROCESS_OF_A_GROUP";
    if let Some(dir) = std::env::var_os(ROLE) {
        let args = ["-c", "trap '' TERM; exec sleep 600"].map(str::to_owned);
        let process = Process::start(Path::new(&dir), Path::new("sh"), &args, &[]);
        println!("process {}", process.pid());
        wait::until(Duration::from_secs(600), || -> Result<(), String> { Err("no signal".to_owned()) }).unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    let name = "control_plane::process::a_signal_to_the_group_of_the_tests_leaves_no_process";
    let mut tests = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(ROLE, dir.path())
        .process_group(0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(tests.stdout.take().unwrap()).lines().map(Result::unwrap);
    let pid = lines.find_map(|line| line.split_once("process ").map(|(_, pid)| pid.parse::<u32>().unwrap())).unwrap();
    assert!(alive(pid));
    let status = Command::new("kill").args(["-TERM", "--", &format!("-{}", tests.id())]).status().unwrap();
    assert!(status.success());
    assert!(!tests.wait().unwrap().success());
    let ended =
        wait::until(
            Duration::from_secs(30),
            || {
                if alive(pid) { Err(format!("process {pid} is left")) } else { Ok(()) }
            },
        );
    if ended.is_err() {
        Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    }
    ended.unwrap();
}
