//! Tracks when a watch last received an answer, an event or a bookmark from the API server.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use hyper::{Request, Response};
use kube::Client;
use kube::client::Body;
use tokio::time::Instant;
use tower::{BoxError, Layer, Service};

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
        super::sending(client).with_layer(self).build()
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
