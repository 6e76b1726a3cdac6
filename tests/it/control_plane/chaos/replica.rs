//! A replica of the operator: a sequence of processes behind a proxy of its own.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::RENEW_DEADLINE;
use super::proxy::{Network, Proxy};
use crate::control_plane::{ControlPlane, Process};
use crate::generated::{ACCOUNT, Project, SYSTEM};

/// The exit reason of a process that lost the Lease while requests of its reconciles were stalled.
const STUCK: &str = "the leadership is lost, and the running reconciles did not end";

pub(super) struct Replica {
    name: String,
    dir: PathBuf,
    program: PathBuf,
    env: [(String, String); 1],
    network: Proxy,
    process: Process,
    /// Number of processes so far.
    starts: usize,
    paused: bool,
    /// The test ended the process.
    ended: bool,
}

impl Replica {
    pub(super) fn start(plane: &ControlPlane, project: &Project, name: &str) -> Self {
        let network = Proxy::start(plane.address());
        let server = format!("https://{}", network.address());
        let kubeconfig = plane.service_account_by_way_of(&server, SYSTEM, ACCOUNT);
        let env = [("KUBECONFIG".to_owned(), kubeconfig.display().to_string())];
        let (dir, program) = (plane.dir().to_owned(), project.binary().to_owned());
        let process = process(&dir.join(format!("{name}-1")), &program, &env);
        Self { name: name.to_owned(), dir, program, env, network, process, starts: 1, paused: false, ended: false }
    }

    /// Restarts an ended process, like the kubelet. A process may only exit on its own with [`STUCK`].
    pub(super) fn keep_running(&mut self) {
        if !self.process.running() {
            let ended = std::mem::take(&mut self.ended);
            assert!(ended || self.process.log_text().contains(STUCK), "it has ended by itself: {}", self.log());
            self.starts += 1;
            let dir = self.dir.join(format!("{}-{}", self.name, self.starts));
            self.process = process(&dir, &self.program, &self.env);
            self.paused = false;
        }
    }

    pub(super) fn kill(&mut self) {
        if self.process.running() {
            self.process.kill();
            self.ended = true;
        }
    }

    /// Sends SIGTERM. Fails unless the process exits with code 0.
    pub(super) fn terminate(&mut self) -> Result<(), String> {
        self.ended = true;
        match self.process.terminate() {
            Some(0) => Ok(()),
            code => Err(format!("{} ended with {code:?}:\n{}", self.name, self.process.log_text())),
        }
    }

    pub(super) fn pause(&mut self) {
        self.process.pause();
        self.paused = true;
    }

    pub(super) fn set_network(&self, network: Network) {
        self.network.set(network);
    }

    pub(super) fn heal(&mut self) {
        if std::mem::take(&mut self.paused) {
            self.process.resume();
        }
        self.network.set(Network::Open);
        self.keep_running();
    }

    /// Identity in the Lease and in the User-Agent, known once the replica contends.
    pub(super) fn identity(&self) -> Option<String> {
        let said = self.said();
        let contending = said.iter().find(|said| said["message"] == "contending")?;
        contending["identity"].as_str().map(str::to_owned)
    }

    /// Returns true if the replica claims to lead.
    pub(super) fn leads(&self) -> bool {
        let said = self.said();
        let about = |said: &&Value| said["message"] == "leading" || said["message"] == "not leading any more";
        said.iter().rev().find(about).is_some_and(|last| last["message"] == "leading")
    }

    pub(super) fn starts(&self) -> usize {
        self.starts
    }

    pub(super) fn log(&self) -> String {
        let text = self.process.log_text();
        let lines: Vec<_> = text.lines().collect();
        format!("--- {}-{}\n{}\n", self.name, self.starts, lines[lines.len().saturating_sub(40)..].join("\n"))
    }

    /// The fields of each log line.
    fn said(&self) -> Vec<Value> {
        let text = self.process.log_text();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.map(|mut line| line["fields"].take()).collect()
    }
}

fn process(dir: &Path, program: &Path, env: &[(String, String)]) -> Process {
    std::fs::create_dir(dir).unwrap();
    let args = [
        "--health-probe-bind-address=0",
        "--metrics-bind-address=0",
        "--log-format=json",
        "--leader-elect",
        &format!("--leader-election-namespace={SYSTEM}"),
        "--leader-election-lease-duration=3s",
        &format!("--leader-election-renew-deadline={}s", RENEW_DEADLINE.as_secs()),
        "--leader-election-retry-period=500ms",
    ];
    Process::start(dir, program, &args.map(str::to_owned), env)
}
