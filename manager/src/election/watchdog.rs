//! Ends a process whose threads are blocked: tokio can't stop them, and a runtime waits for them without a limit when
//! it is dropped.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use super::ability::{Ability, LIMIT, POLL};
use super::clock;
use super::patience::Patience;

/// How long the process has to end by itself once it should.
const ENDING: Duration = Duration::from_secs(5);

/// How much longer than the leader itself the thread waits: the leader gives the Lease back first.
const LATER: Duration = Duration::from_secs(60);

/// A thread that no reconcile can block.
pub(crate) struct Watchdog {
    end: Sender<()>,
}

impl Watchdog {
    /// Watches until this is dropped.
    pub(crate) fn start(ability: Ability) -> std::io::Result<Self> {
        let (end, ending) = mpsc::channel();
        let watch = move || {
            let mut patience = Patience::new(LIMIT + LATER, POLL);
            loop {
                let hung = ability.hung();
                let ends = patience.ends(clock::boot(), hung.is_none());
                match ending.recv_timeout(POLL) {
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) if !ends => {}
                    Err(RecvTimeoutError::Timeout) => break,
                    Ok(()) => {
                        std::thread::sleep(ENDING);
                        break;
                    }
                }
            }
            tracing::error!(
                hung = ability.hung(),
                "a reconcile blocks its thread: ending the process"
            );
            std::process::exit(1);
        };
        std::thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(watch)?;
        Ok(Self { end })
    }

    /// The process should end, and gets a moment to do so.
    pub(crate) fn end(self) {
        let _ = self.end.send(());
    }
}
