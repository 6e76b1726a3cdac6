//! The processes of a run: one release at a time.

use std::process::{Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use tokio::time::sleep;

use super::{Release, TICK, World};
use crate::diagnostic::Problem;
use crate::explore::process::Process;

/// The time in which a process must send its first request, or the write to hold.
const FIRST: Duration = Duration::from_mins(1);

impl World {
    /// Starts a process of the release.
    pub(super) fn spawn(&mut self) -> Result<()> {
        let (program, args) = self
            .commands
            .get(&self.release)
            .and_then(|command| command.split_first())
            .ok_or_else(|| anyhow!("no command"))?;
        let mut command = Command::new(program);
        command.args(args).env("KUBECONFIG", &self.kubeconfig).env_remove("KUBERNETES_SERVICE_HOST");
        if std::env::var_os("ENABLE_WEBHOOKS").is_none() {
            // Projects of kubebuilder read it: webhooks need certificates and a Service.
            command.env("ENABLE_WEBHOOKS", "false");
        }
        // Findings have lines of its output: <https://no-color.org>.
        command.env("NO_COLOR", "1");
        let process = Process::start(command, &self.keeper)?;
        let process = Arc::new(Mutex::new(process));
        self.proxy.set_process(Some(Arc::clone(&process)), self.release);
        self.process = Some(process);
        Ok(())
    }

    /// Starts a process of the explored release, and waits until it watches.
    pub(in crate::explore) async fn start(&mut self) -> Result<()> {
        self.start_release(Release::Explored).await
    }

    /// Starts a process, and waits until it watches.
    pub(in crate::explore) async fn start_release(&mut self, release: Release) -> Result<()> {
        self.release = release;
        self.spawn()?;
        match self.until_watching().await? {
            None => Ok(()),
            Some(status) => Err(self.early_end(status)),
        }
    }

    /// Starts a process on the objects of the other release. Its end is not an error, but a part of the run.
    pub(in crate::explore) async fn hand_over(&mut self, release: Release) -> Result<()> {
        self.stop().await;
        self.endings = 0;
        self.release = release;
        self.spawn()?;
        self.until_watching().await.map(|_| ())
    }

    /// Waits until the process watches. Returns its status if it ends.
    async fn until_watching(&mut self) -> Result<Option<ExitStatus>> {
        let started = Instant::now();
        loop {
            sleep(TICK).await;
            if let Some(status) = self.process.as_ref().and_then(|process| lock(process).ended()) {
                return Ok(Some(status));
            }
            let state = self.proxy.state();
            let waits = state.pending == 0 && !state.watched.is_empty();
            let quiet = state.last.elapsed();
            let all = self.watched.get(&self.release).is_some_and(|watched| watched.is_subset(&state.watched));
            if waits && ((all && quiet > 5 * TICK) || quiet > self.settle) {
                return Ok(None);
            }
            if started.elapsed() > FIRST {
                let problem = Problem::new(format!(
                    "`{}` does not watch the API server after {} s",
                    self.shown_program(),
                    FIRST.as_secs()
                ));
                return Err(problem
                    .help("the operator must read KUBECONFIG; pass `--leader-elect=false` to it")
                    .into());
            }
        }
    }

    /// Waits until the proxy holds a write. Returns false if the process does not send it.
    pub(in crate::explore) async fn until_held(&self) -> bool {
        let started = Instant::now();
        loop {
            sleep(TICK).await;
            let state = self.proxy.state();
            if state.holds() {
                return true;
            }
            let quiet = state.pending == 0 && state.last.elapsed() > self.patience();
            if quiet || started.elapsed() > FIRST {
                return false;
            }
        }
    }

    /// The error about a process that ends at its start.
    fn early_end(&self, status: ExitStatus) -> anyhow::Error {
        std::thread::sleep(TICK);
        let lines = self.process.as_ref().map(|process| lock(process).last_lines(20)).unwrap_or_default();
        let (program, output) = (self.shown_program(), lines.join("\n"));
        let problem = Problem::new(format!("`{program}` ended at its start, {status}:\n{output}"));
        problem.help("run it with the KUBECONFIG of a cluster with the CRDs, and mend its start").into()
    }

    fn shown_program(&self) -> String {
        let program = self.commands.get(&self.release).and_then(|command| command.first());
        program.map(|program| program.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Remembers the watches of a process that waits for work.
    pub(in crate::explore) fn learn_watches(&mut self) {
        self.watched.insert(self.release, self.proxy.state().watched.clone());
    }

    /// Kills the process, and waits for the end of its requests.
    pub(in crate::explore) async fn stop(&mut self) {
        self.proxy.set_process(None, self.release);
        if let Some(process) = self.process.take() {
            lock(&process).kill();
        }
        while self.proxy.state().pending > 0 {
            sleep(TICK).await;
        }
    }
}

fn lock(process: &Mutex<Process>) -> MutexGuard<'_, Process> {
    process.lock().unwrap_or_else(PoisonError::into_inner)
}
