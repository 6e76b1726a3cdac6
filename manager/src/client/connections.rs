//! The connections of kube's client, which has no way to close them: hyper runs each one in a task, and the executor
//! for these tasks is ours.
//!
//! A connection ends when a request or a watch has shown that the network swallows bytes without closing: all
//! connections of the process end then, because those in the pool would fail one after the other. A connection that may
//! hold a write ends when the gate is shut, before another byte of it is sent.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use hyper::rt::Executor;
use tokio::sync::watch;

use crate::election::clock;
use crate::election::gate::Gate;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs the connections of a client, and ends them.
#[derive(Clone)]
pub(crate) struct Connections {
    ends: watch::Sender<()>,
    pub(crate) gate: Arc<Gate>,
    /// Whether the gate matters to them.
    gated: bool,
    /// Counts the writes that may be handed to a connection.
    writes: Arc<AtomicU64>,
}

/// What one connection remembers of the writes before the gate was shut.
struct Wire {
    connections: Connections,
    /// The number of writes when the connection last ran with the gate shut.
    harmless: Option<u64>,
}

impl Connections {
    /// For writes that pass this gate.
    pub(crate) fn behind(gate: Arc<Gate>) -> Self {
        Self {
            ends: watch::Sender::new(()),
            gate,
            gated: true,
            writes: Arc::default(),
        }
    }

    /// For a process that has to be elected before it writes, or for one that need not.
    pub(crate) fn electing(elect: bool) -> Self {
        Self::behind(Arc::new(if elect { Gate::shut() } else { Gate::open() }))
    }

    /// Connections that end together with these, but not because of the gate.
    pub(crate) fn ungated(&self) -> Self {
        Self {
            gated: false,
            ..self.clone()
        }
    }

    /// Closes all connections: the next request opens a new one.
    pub(crate) fn end(&self) {
        self.ends.send_replace(());
    }

    /// A write may be handed to a connection from now on.
    pub(crate) fn writes(&self) {
        self.writes.fetch_add(1, Ordering::SeqCst);
    }

    fn is_shut(&self) -> bool {
        self.gated && !self.gate.lets_pass(clock::boot())
    }
}

impl Wire {
    fn new(connections: Connections) -> Self {
        let writes = connections.writes.load(Ordering::SeqCst);
        let harmless = connections.is_shut().then_some(writes);
        Self {
            connections,
            harmless,
        }
    }

    /// Whether the connection may run on: with the gate shut only if no write came since that was so before.
    fn carries(&mut self) -> bool {
        if !self.connections.is_shut() {
            return true;
        }
        let writes = self.connections.writes.load(Ordering::SeqCst);
        let carries = self.harmless == Some(writes);
        self.harmless = Some(writes);
        carries
    }
}

impl Executor<Task> for Connections {
    fn execute(&self, mut task: Task) {
        let mut ends = self.ends.subscribe();
        let mut wire = Wire::new(self.clone());
        // Asked before each poll, which is what sends bytes.
        let carried = poll_fn(move |context| {
            if !wire.carries() {
                return Poll::Ready(());
            }
            task.as_mut().poll(context)
        });
        tokio::spawn(async move {
            tokio::select! {
                biased;
                _ = ends.changed() => {}
                () = carried => {}
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_connection_ends_when_the_gate_is_shut_only_if_a_write_may_be_in_it() {
        let gate = Arc::new(Gate::shut());
        let open = || gate.renew(clock::boot() + Duration::from_secs(600));
        let connections = Connections::behind(gate.clone());
        let mut standby = Wire::new(connections.clone());
        assert!(standby.carries(), "it only reads");
        open();
        let mut leader = Wire::new(connections.clone());
        connections.writes();
        assert!(standby.carries() && leader.carries(), "the gate is open");
        gate.close();
        assert!(!standby.carries() && !leader.carries());
        assert!(Wire::new(connections.clone()).carries(), "opened later");
        let mut election = Wire::new(connections.ungated());
        assert!(election.carries(), "it has no gate");
        open();
        let mut idle = Wire::new(connections.clone());
        gate.close();
        assert!(!idle.carries(), "it may hold the write from before");
        assert!(idle.carries(), "it has been said");
    }
}
