//! The connections of kube's client, and the last sign of life on them.
//!
//! The client cannot close its connections, but hyper runs each in a task on this executor. When a request or a watch
//! shows that the network drops packets silently, all connections of the process end. Otherwise the pooled ones would
//! fail one after the other. A connection that may hold a write ends when the gate shuts, before it sends another byte.
//!
//! A watch that is silent looks like one without changes. So [`Heard`] records when it last received an answer, an
//! event or a bookmark.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use hyper::rt::Executor;
use hyper::{Request, Response};
use kube::Client;
use kube::client::Body;
use tokio::sync::watch;
use tokio::time::Instant;
use tower::{BoxError, Layer, Service};

use crate::client;
use crate::election::gate::Gate;
use crate::time;

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
        self.gated && !self.gate.lets_pass(time::boot())
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

/// The time of the last sign of life. It starts at its creation.
#[derive(Clone)]
pub(crate) struct Heard(Arc<Mutex<Instant>>);

impl Heard {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }

    fn now(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(crate) fn silence(&self) -> Duration {
        let heard = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heard.elapsed()
    }

    /// Wraps a client so that its answers count as signs of life.
    pub(crate) fn by(&self, client: Client) -> Client {
        client::sending(client).with_layer(self).build()
    }
}

impl<S> Layer<S> for Heard {
    type Service = Hearing<S>;

    fn layer(&self, inner: S) -> Hearing<S> {
        Hearing {
            inner,
            heard: self.clone(),
        }
    }
}

#[derive(Clone)]
pub(crate) struct Hearing<S> {
    inner: S,
    heard: Heard,
}

impl<S, B> Service<Request<Body>> for Hearing<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError>,
    S::Future: Send + 'static,
{
    type Response = Response<Audible<B>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let heard = self.heard.clone();
        let answer = self.inner.call(request);
        async move {
            let answer = answer.await?;
            // A refused watch is as blind as a silent one.
            if answer.status().is_success() {
                heard.now();
            }
            Ok(answer.map(|body| Audible { body, heard }))
        }
        .boxed()
    }
}

pub(crate) struct Audible<B> {
    body: B,
    heard: Heard,
}

impl<B: HttpBody<Data = Bytes> + Unpin> HttpBody for Audible<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if matches!(frame, Some(Ok(_))) {
            self.heard.now();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_connection_ends_when_the_gate_is_shut_only_if_a_write_may_be_in_it() {
        let gate = Arc::new(Gate::shut());
        let open = || gate.renew(time::boot() + Duration::from_secs(600));
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
