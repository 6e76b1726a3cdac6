//! Ends a process whose threads are blocked. tokio cannot stop such threads, and dropping a runtime waits for them
//! without a limit.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use super::ability::{Ability, LIMIT, POLL};
use super::clock;
use super::patience::Patience;

/// Time that the process has to end by itself.
const ENDING: Duration = Duration::from_secs(5);

/// Extra time before the watchdog acts, so that the leader can release the Lease first.
const LATER: Duration = Duration::from_secs(60);

/// A thread that no reconcile can block.
pub(crate) struct Watchdog {
    end: Sender<()>,
}

impl Watchdog {
    /// Watches until it is dropped.
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

    /// Gives the process a moment to end, and then ends it.
    pub(crate) fn end(self) {
        let _ = self.end.send(());
    }
}
