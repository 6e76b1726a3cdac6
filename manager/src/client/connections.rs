//! The connections of kube's client. The client cannot close them, but hyper runs each in a task on this executor.
//!
//! When a request or a watch shows that the network drops packets silently, all connections of the process end.
//! Otherwise the pooled ones would fail one after the other. A connection that may hold a write ends when the gate
//! shuts, before it sends another byte.

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

/// Executor that runs the connections of a client, and can end them.
#[derive(Clone)]
pub(crate) struct Connections {
    ends: watch::Sender<()>,
    pub(crate) gate: Arc<Gate>,
    /// True if these connections end when the gate shuts.
    gated: bool,
    /// Number of writes that may have been handed to a connection.
    writes: Arc<AtomicU64>,
}

/// Records for one connection which writes it may hold.
struct Wire {
    connections: Connections,
    /// The number of writes when the connection last ran with the gate shut.
    harmless: Option<u64>,
}

impl Connections {
    pub(crate) fn behind(gate: Arc<Gate>) -> Self {
        Self {
            ends: watch::Sender::new(()),
            gate,
            gated: true,
            writes: Arc::default(),
        }
    }

    /// Makes connections with a gate that is shut until the election, or always open if `elect` is false.
    pub(crate) fn electing(elect: bool) -> Self {
        Self::behind(Arc::new(if elect { Gate::shut() } else { Gate::open() }))
    }

    /// Returns connections that end together with these, except when the gate shuts.
    pub(crate) fn ungated(&self) -> Self {
        Self {
            gated: false,
            ..self.clone()
        }
    }

    /// Closes all connections. The next request opens a new one.
    pub(crate) fn end(&self) {
        self.ends.send_replace(());
    }

    /// Counts a write that may be handed to a connection.
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

    /// Returns true if the connection may go on. With the gate shut, it may if no write came since the last check.
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
        // Polling sends bytes, so check before each poll.
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
