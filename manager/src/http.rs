//! The HTTP server for probes, metrics and webhooks, plain or with TLS, and the addresses that it listens on.

pub(crate) mod certificate;
pub(crate) mod endpoint;
pub(crate) mod probes;
#[cfg(feature = "webhook")]
pub(crate) mod validity;

use std::convert::Infallible;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::pin;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use hyper::body::Incoming;
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tower::BoxError;

use self::certificate::Certificate;
use crate::metrics;
use crate::signal::Shutdown;

/// Time limit of a request, from its last header to the end of the answer.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(30);
/// Time limit for the first request of a connection.
const HEADER_TIME_LIMIT: Duration = Duration::from_secs(5);
/// Time limit of an idle connection. It exceeds the 90 s of Go clients: a request on a closing connection fails.
const IDLE_TIME_LIMIT: Duration = Duration::from_secs(120);
/// Maximum number of connections. One more ends the one with the least time left: idle ones must not block others.
const CONNECTIONS: usize = 256;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Requests {
    One,
    #[cfg_attr(not(feature = "webhook"), allow(dead_code))]
    Many,
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) text: String,
    content_type: &'static str,
    /// True if the answer closes its connection.
    is_last: bool,
}

impl Answer {
    pub(crate) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self {
            status,
            text: text.into(),
            content_type: "text/plain; charset=utf-8",
            is_last: false,
        }
    }

    pub(crate) fn ok(text: impl Into<String>) -> Self {
        Self::new(StatusCode::OK, text)
    }

    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not found")
    }

    pub(crate) fn metrics(text: String) -> Self {
        Self {
            content_type: metrics::CONTENT_TYPE,
            ..Self::ok(text)
        }
    }

    #[cfg(feature = "webhook")]
    pub(crate) fn json(text: String) -> Self {
        Self {
            content_type: "application/json",
            ..Self::ok(text)
        }
    }

    /// Makes this the last answer of its connection. The client then opens another connection for its next request.
    #[cfg(feature = "webhook")]
    pub(crate) fn last(self) -> Self {
        Self {
            is_last: true,
            ..self
        }
    }

    fn into_response(self) -> Response<String> {
        let mut response = Response::new(self.text);
        *response.status_mut() = self.status;
        let content_type = HeaderValue::from_static(self.content_type);
        response.headers_mut().insert(CONTENT_TYPE, content_type);
        if self.status == StatusCode::UNAUTHORIZED {
            let how = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, how);
        }
        if self.is_last {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
        }
        response
    }
}

/// Serves requests until the shutdown, and finishes the running ones. Uses TLS if there is a certificate.
///
/// Idle connections close at the shutdown, and a request that is sent at that moment fails. A server with busy clients
/// should send `Answer::last` for a while first.
pub(crate) async fn serve<Answering>(
    listener: TcpListener,
    certificate: Option<Arc<Certificate>>,
    requests: Requests,
    shutdown: Shutdown,
    answer: impl Fn(Request<Incoming>) -> Answering + Send + Sync + 'static,
) where
    Answering: Future<Output = Answer> + Send + 'static,
{
    let answer = Arc::new(answer);
    let mut connections = JoinSet::new();
    let mut open = Vec::<(AbortHandle, Deadline)>::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
            () = shutdown.requested() => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Probably out of file descriptors. Others may be closed soon.
                tracing::warn!(%error, "can't accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        open.retain(|(connection, _)| !connection.is_finished());
        if open.len() >= CONNECTIONS
            && let Some((connection, _)) = open.iter().min_by_key(|(_, deadline)| deadline.get())
        {
            connection.abort();
        }
        let deadline = Deadline::after(HEADER_TIME_LIMIT);
        let (certificate, answer) = (certificate.clone(), answer.clone());
        let (of_connection, shutdown) = (deadline.clone(), shutdown.clone());
        let connection = async move {
            let of_requests = of_connection.clone();
            let talk = async {
                match certificate {
                    Some(certificate) => {
                        let stream = handshake(stream, certificate).await?;
                        converse(stream, requests, &of_requests, &shutdown, &*answer).await
                    }
                    None => converse(stream, requests, &of_requests, &shutdown, &*answer).await,
                }
            };
            let ended = tokio::select! {
                ended = talk => ended,
                () = of_connection.passed() => Err("out of time".into()),
            };
            if let Err(error) = ended {
                tracing::debug!(error, "connection ended");
            }
        };
        open.push((connections.spawn(connection), deadline));
    }
    drop(listener);
    connections.join_all().await;
}

/// The time at which a connection is closed, even during a request.
#[derive(Clone)]
struct Deadline(Arc<watch::Sender<Instant>>);

impl Deadline {
    fn after(limit: Duration) -> Self {
        Self(Arc::new(watch::Sender::new(Instant::now() + limit)))
    }

    fn get(&self) -> Instant {
        *self.0.borrow()
    }

    fn set(&self, limit: Duration) {
        self.0.send_replace(Instant::now() + limit);
    }

    async fn passed(&self) {
        let mut changes = self.0.subscribe();
        loop {
            let deadline = *changes.borrow_and_update();
            tokio::select! {
                () = tokio::time::sleep_until(deadline) => return,
                _ = changes.changed() => {}
            }
        }
    }
}

async fn handshake(
    stream: TcpStream,
    certificate: Arc<Certificate>,
) -> Result<TlsStream<TcpStream>, BoxError> {
    let current = move || certificate.current(SystemTime::now());
    let config = tokio::task::spawn_blocking(current).await?;
    Ok(TlsAcceptor::from(config).accept(stream).await?)
}

async fn converse<Answering>(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    requests: Requests,
    deadline: &Deadline,
    shutdown: &Shutdown,
    answer: &impl Fn(Request<Incoming>) -> Answering,
) -> Result<(), BoxError>
where
    Answering: Future<Output = Answer>,
{
    let has_begun = AtomicBool::new(false);
    let service = service_fn(|request| {
        has_begun.store(true, Ordering::Relaxed);
        deadline.set(TIME_LIMIT);
        let answer = answer(request);
        async {
            let answer = answer.await;
            if requests == Requests::Many {
                deadline.set(IDLE_TIME_LIMIT);
            }
            Ok::<_, Infallible>(answer.into_response())
        }
    });
    let mut http = http1::Builder::new();
    http.keep_alive(requests == Requests::Many)
        .timer(TokioTimer::new())
        .header_read_timeout(None);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        ended = &mut connection => return Ok(ended?),
        () = shutdown.requested() => {}
    }
    // The first request of a new connection may be on its way, and the client would not retry it.
    if requests == Requests::One || has_begun.load(Ordering::Relaxed) {
        connection.as_mut().graceful_shutdown();
    }
    Ok(connection.await?)
}

/// The addresses to try in turn. An empty list disables the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BindAddress(Vec<SocketAddr>);

impl BindAddress {
    pub(crate) async fn listen(&self) -> std::io::Result<Option<TcpListener>> {
        match self.0.as_slice() {
            [] => Ok(None),
            addresses => TcpListener::bind(addresses).await.map(Some),
        }
    }
}

impl FromStr for BindAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() || text == "0" {
            return Ok(Self(Vec::new()));
        }
        if let Some(port) = text.strip_prefix(':') {
            let port = port
                .parse()
                .map_err(|_| format!("`{port}` is not a port"))?;
            return Ok(Self(vec![
                (Ipv6Addr::UNSPECIFIED, port).into(),
                (Ipv4Addr::UNSPECIFIED, port).into(),
            ]));
        }
        let address = text
            .parse()
            .map_err(|_| "write `:PORT`, `IP:PORT`, or `0` for none".to_owned())?;
        Ok(Self(vec![address]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_in_go() {
        let count = |text: &str| text.parse::<BindAddress>().map(|address| address.0.len());
        assert_eq!(count("0"), Ok(0));
        assert_eq!(count(""), Ok(0));
        assert_eq!(count(":8081"), Ok(2));
        assert_eq!(count("127.0.0.1:0"), Ok(1));
        assert!(count(":http").is_err());
        assert!(count("8081").is_err());
    }

    #[cfg(feature = "webhook")]
    mod connections {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};

        use super::*;

        const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";

        /// Sends a request. Returns the head of the answer in lower case.
        async fn ask(client: &mut TcpStream) -> String {
            client.write_all(REQUEST).await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\nok") {
                head.push(client.read_u8().await.unwrap());
            }
            String::from_utf8(head).unwrap().to_lowercase()
        }

        async fn is_closed(client: &mut TcpStream) -> bool {
            client.read(&mut [0]).await.unwrap() == 0
        }

        #[tokio::test]
        async fn no_request_meets_the_end_of_a_connection() {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (stopping, closing) = (Shutdown::default(), Shutdown::default());
            let told = stopping.clone();
            let answer = move |_: Request<Incoming>| {
                let answer = Answer::ok("ok");
                let answer = if told.is_requested() {
                    answer.last()
                } else {
                    answer
                };
                std::future::ready(answer)
            };
            let serve = serve(listener, None, Requests::Many, closing.clone(), answer);
            let server = tokio::spawn(serve);
            let mut clients = Vec::new();
            for _ in 0..3 {
                clients.push(TcpStream::connect(address).await.unwrap());
            }
            let [mut busy, mut idle, mut new] = <[_; 3]>::try_from(clients).unwrap();
            for client in [&mut busy, &mut idle] {
                for _ in 0..2 {
                    assert!(!ask(client).await.contains("connection: close"));
                }
            }

            stopping.request();
            assert!(ask(&mut busy).await.contains("connection: close"));
            assert!(is_closed(&mut busy).await);

            // The first request of a connection may be on its way.
            closing.request();
            assert!(is_closed(&mut idle).await);
            assert!(ask(&mut new).await.contains("connection: close"));
            assert!(is_closed(&mut new).await);
            server.await.unwrap();
        }
    }
}
