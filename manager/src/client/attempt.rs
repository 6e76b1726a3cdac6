//! One attempt of a request: it has a time limit and is counted.
//!
//! An attempt that exceeds its limit ends all connections of the process, because the network may drop packets
//! silently. A write is abandoned once the gate shuts.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use hyper::{Method, Request, Response};
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};
use kube::Config;
use kube::client::Body;
use tower::{BoxError, Layer, Service};

use super::connections::Connections;
use crate::election::gate::Gate;
use crate::metrics::Metrics;
use crate::{client, time};

/// Time limit of one attempt, from connecting to the end of the answer. It is the default request timeout of the API
/// server. Watches and followed logs are not limited at their end.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Time limit for the start of a watch. A watch that starts on a dead connection must be noticed as early as one that
/// runs on it.
const WATCH_BEGINS: Duration = Duration::from_secs(20);

/// Grace period for the end of a watch. kube would wait one more second, and would keep the other connections.
const WATCH_ENDS: Duration = Duration::from_secs(4);

pub(crate) fn host(config: &Config) -> String {
    let authority = config.cluster_url.authority();
    authority.map_or_else(String::new, |authority| {
        // Metrics must not show a password from the URL.
        let text = authority.as_str();
        text.rsplit_once('@')
            .map_or(text, |(_, host)| host)
            .to_owned()
    })
}

/// Limits and counts attempts. Below the retry layer, it counts each attempt.
#[derive(Clone)]
pub(crate) struct AttemptLayer {
    time_limit: Duration,
    host: String,
    metrics: Arc<Metrics>,
    connections: Connections,
    gate: Option<Arc<Gate>>,
}

impl AttemptLayer {
    /// `host` labels the server in metrics. `connections` carry the requests.
    pub(crate) fn new(host: String, metrics: &Arc<Metrics>, connections: Connections) -> Self {
        Self {
            time_limit: TIME_LIMIT,
            host,
            metrics: metrics.clone(),
            connections,
            gate: None,
        }
    }

    /// Abandons a write when the gate shuts.
    pub(crate) fn behind(self, gate: &Arc<Gate>) -> Self {
        Self {
            gate: Some(gate.clone()),
            ..self
        }
    }

    pub(crate) fn within(self, time_limit: Duration) -> Self {
        Self { time_limit, ..self }
    }
}

impl<S> Layer<S> for AttemptLayer {
    type Service = Attempt<S>;

    fn layer(&self, inner: S) -> Attempt<S> {
        Attempt {
            inner,
            layer: self.clone(),
        }
    }
}

#[derive(Clone)]
pub(crate) struct Attempt<S> {
    inner: S,
    layer: AttemptLayer,
}

impl<S, B> Service<Request<Body>> for Attempt<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError>,
    S::Future: Send + 'static,
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    type Response = Response<Timed<B>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let AttemptLayer {
            time_limit,
            host,
            metrics,
            connections,
            gate,
        } = self.layer.clone();
        let method = request.method().clone();
        let kind = Answers::of(&request);
        let gate = gate.filter(|_| client::writes(&method, request.uri().path()));
        let wire = gate.clone().map(|gate| WaitingWrite {
            gate,
            connections: connections.clone(),
            connection: capture_connection(&mut request),
        });
        let begins = match kind {
            Answers::Watch { .. } => time_limit.min(WATCH_BEGINS),
            Answers::Once | Answers::Endless => time_limit,
        };
        let mut limit = over(begins, gate, connections.clone()).boxed();
        let mut answer = Box::pin(self.inner.call(request));
        let answer = poll_fn(move |context| {
            // Each poll may assign a connection to the request.
            if wire.as_ref().is_some_and(|wire| !wire.is_open()) {
                return Poll::Ready(Err(LOST.into()));
            }
            answer.as_mut().poll(context)
        });
        async move {
            let answer = tokio::select! {
                biased;
                answer = answer => answer,
                late = &mut limit => Err(late),
            };
            let code = match &answer {
                Ok(answer) => answer.status().as_str().to_owned(),
                Err(_) => "<error>".to_owned(),
            };
            metrics.requested(&host, method.as_str(), &code);
            let limit = match kind {
                Answers::Once => Some(limit),
                Answers::Watch { ends: None } | Answers::Endless => None,
                Answers::Watch { ends: Some(ends) } => Some(silent(ends, connections).boxed()),
            };
            Ok(answer?.map(|body| Timed { body, limit }))
        }
        .boxed()
    }
}

/// The end of an answer.
#[derive(Clone, Copy)]
enum Answers {
    Once,
    /// The server ends the watch after this time.
    Watch {
        ends: Option<Duration>,
    },
    /// The client ends the answer.
    Endless,
}

impl Answers {
    fn of(request: &Request<Body>) -> Self {
        let query = request.uri().query().unwrap_or_default();
        let mut pairs = query.split('&');
        if request.headers().contains_key(hyper::header::UPGRADE) {
            return Self::Endless;
        }
        if request.method() != Method::GET {
            return Self::Once;
        }
        if pairs.clone().any(|pair| pair == "follow=true") {
            return Self::Endless;
        }
        if !pairs
            .clone()
            .any(|pair| matches!(pair, "watch=true" | "watch=1"))
        {
            return Self::Once;
        }
        let seconds = pairs.find_map(|pair| pair.strip_prefix("timeoutSeconds=")?.parse().ok());
        Self::Watch {
            ends: seconds
                .filter(|seconds| *seconds > 0)
                .map(Duration::from_secs),
        }
    }
}

const LOST: &str = "this replica does not lead any more, what became of its write is not known";

/// A write that waits for its connection.
struct WaitingWrite {
    gate: Arc<Gate>,
    connections: Connections,
    connection: CaptureConnection,
}

impl WaitingWrite {
    /// Returns true if the write may go to a connection, or has gone. From there, the connection checks the gate.
    fn is_open(&self) -> bool {
        if self.connection.connection_metadata().is_some() {
            return true;
        }
        self.connections.writes();
        self.gate.lets_pass(time::boot())
    }
}

/// Completes with the error when the time limit has passed or the gate has shut.
async fn over(time_limit: Duration, gate: Option<Arc<Gate>>, connections: Connections) -> BoxError {
    let shut = async {
        match gate {
            Some(gate) => gate_shuts(&gate).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = tokio::time::sleep(time_limit) => {
            connections.end();
            format!("no answer from the API server within {time_limit:?}").into()
        }
        () = shut => LOST.into(),
    }
}

/// Completes when a watch continues after the server had to end it: its connection is dead.
async fn silent(ends: Duration, connections: Connections) -> BoxError {
    tokio::time::sleep(ends + WATCH_ENDS).await;
    connections.end();
    format!("the API server did not end the watch after {ends:?}: its connection is dead").into()
}

/// Completes when the gate is shut. The gate may be extended during the wait.
async fn gate_shuts(gate: &Gate) {
    loop {
        let left = gate.until().saturating_sub(time::boot());
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left).await;
    }
}

/// The body of an answer. It fails if it is not complete in time.
pub(crate) struct Timed<B> {
    body: B,
    limit: Option<BoxFuture<'static, BoxError>>,
}

impl<B> HttpBody for Timed<B>
where
    B: HttpBody<Error: Into<BoxError>> + Unpin,
{
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let Some(limit) = &mut self.limit else {
            return Poll::Pending;
        };
        let late = ready!(limit.as_mut().poll(context));
        self.limit = None;
        Poll::Ready(Some(Err(late)))
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
    use k8s_openapi::api::core::v1::Pod;
    use kube::api::{ListParams, WatchParams};
    use kube::client::ClientBuilder;
    use kube::{Api, Client};
    use prometheus_client::registry::Registry;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::{client, metrics};

    fn free() -> Connections {
        Connections::behind(Arc::new(Gate::open()))
    }

    fn measured() -> (Arc<Metrics>, Registry) {
        let mut registry = Registry::default();
        (Metrics::new(&mut registry), registry)
    }

    fn within(milliseconds: u64, config: Config, metrics: &Arc<Metrics>) -> Client {
        let attempt = AttemptLayer::new(host(&config), metrics, free());
        let attempt = attempt.within(Duration::from_millis(milliseconds));
        let builder = ClientBuilder::try_from(config).unwrap();
        builder.with_layer(&attempt).build()
    }

    /// A server that sends one of `answers` per connection, and records the requests.
    async fn server<const N: usize>(
        answers: [&'static str; N],
    ) -> (Config, Arc<std::sync::Mutex<Vec<String>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
        let requests = asked.clone();
        tokio::spawn(async move {
            let mut open = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut buffer = vec![0; 8192];
                let length = stream.read(&mut buffer).await.unwrap();
                let request = String::from_utf8_lossy(&buffer[..length]).into_owned();
                requests.lock().unwrap().push(request);
                stream.write_all(answer.as_bytes()).await.unwrap();
                open.push(stream);
            }
            std::future::pending::<()>().await;
        });
        let url = format!("http://{address}").parse().unwrap();
        (Config::new(url), asked)
    }

    fn counted(registry: &Registry) -> Vec<String> {
        let text = metrics::page(registry);
        let mut lines: Vec<_> = text.lines().collect();
        lines.sort_unstable();
        let lines = lines.into_iter();
        let ours = lines.filter_map(|line| line.strip_prefix("rest_client_requests_total"));
        ours.map(|line| {
            let (before, after) = line.split_once("host=\"").unwrap();
            format!("{before}{}", after.split_once(',').unwrap().1)
        })
        .collect()
    }

    #[tokio::test]
    async fn an_answer_that_does_not_come_or_does_not_end_is_an_error() {
        let half = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{";
        for (answer, code) in [("", "<error>"), (half, "200")] {
            let (config, _) = server([answer]).await;
            let (metrics, registry) = measured();
            let client = within(50, config, &metrics);
            let error = Api::<Pod>::all(client)
                .list(&ListParams::default())
                .await
                .unwrap_err();
            assert!(
                format!("{error:?}").contains("no answer from the API server within 50ms"),
                "{error:?}"
            );
            assert_eq!(
                counted(&registry),
                [format!("{{code=\"{code}\",method=\"GET\"}} 1")]
            );
        }
    }

    #[tokio::test]
    async fn a_watch_may_go_on() {
        let headers = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        let (config, _) = server([headers]).await;
        let client = within(1_000, config, &measured().0);
        let api = Api::<Pod>::all(client);
        let mut events = std::pin::pin!(api.watch(&WatchParams::default(), "0").await.unwrap());
        let event = futures::StreamExt::next(&mut events);
        let waited = tokio::time::timeout(Duration::from_millis(1_500), event).await;
        assert!(waited.is_err(), "the watch ended");
    }

    #[tokio::test]
    async fn a_write_is_waited_for_until_the_gate_shuts_and_a_question_longer() {
        let (config, _) = server(["", "", ""]).await;
        let attempt = AttemptLayer::new(host(&config), &measured().0, free());
        let attempt = attempt.within(Duration::from_secs(20));
        let gate = Arc::new(Gate::shut());
        let open = |milliseconds| gate.renew(time::boot() + Duration::from_millis(milliseconds));
        open(300);
        let client = client::plain(config, &free()).unwrap();
        let client = client::retrying(client, &attempt, "test", gate.clone());
        let pods = Api::<Pod>::namespaced(client, "default");
        let asked = tokio::time::timeout(Duration::from_millis(600), pods.get("a")).await;
        assert!(asked.is_err(), "a question has the whole time");
        open(300);
        let started = tokio::time::Instant::now();
        let parameters = kube::api::PostParams::default();
        let pod = Pod::default();
        let write = pods.create(&parameters, &pod);
        let renewal = async {
            tokio::time::sleep(Duration::from_millis(150)).await;
            open(500);
        };
        let (written, ()) = tokio::join!(write, renewal);
        let error = format!("{:?}", written.unwrap_err());
        assert!(error.contains("does not lead any more"), "{error}");
        let took = started.elapsed();
        let renewed = Duration::from_millis(600)..Duration::from_secs(15);
        assert!(renewed.contains(&took), "{took:?}");
    }

    #[tokio::test]
    async fn a_time_out_ends_all_connections_also_those_of_others() {
        let watch = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        let fine = "HTTP/1.1 200 OK\r\ncontent-length: 43\r\n\r\n{\"kind\":\"PodList\",\"metadata\":{},\"items\":[]}";
        let (config, asked) = server([watch, "", fine]).await;
        let connections = free();
        let metrics = measured().0;
        let attempt = AttemptLayer::new(host(&config), &metrics, connections.clone());
        let own = client::plain(config.clone(), &connections.ungated()).unwrap();
        let own = client::single(own, &attempt, "test");
        let impatient = attempt.within(Duration::from_millis(50));
        let other = client::plain(config, &connections).unwrap();
        let other = client::single(other, &impatient, "test");
        let watched = Api::<Pod>::all(own);
        let parameters = WatchParams::default();
        let mut events = std::pin::pin!(watched.watch(&parameters, "0").await.unwrap());
        let silent = Api::<Pod>::all(other).list(&ListParams::default()).await;
        assert!(silent.is_err());
        // The watch ended without an event.
        let event = futures::StreamExt::next(&mut events).await;
        assert!(!matches!(event, Some(Ok(_))), "{event:?}");
        watched.list(&ListParams::default()).await.unwrap();
        assert_eq!(asked.lock().unwrap().len(), 3);
    }

    #[tokio::test]
    async fn a_watch_that_the_server_does_not_end_is_on_a_dead_connection() {
        let headers = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        let (config, _) = server([headers]).await;
        let client = within(60_000, config, &measured().0);
        let parameters = WatchParams::default().timeout(20);
        let api = Api::<Pod>::all(client);
        let mut events = std::pin::pin!(api.watch(&parameters, "0").await.unwrap());
        tokio::time::pause();
        let began = tokio::time::Instant::now();
        let event = futures::StreamExt::next(&mut events).await;
        let said = format!("{event:?}");
        assert!(said.contains("its connection is dead"), "{said}");
        let took = began.elapsed();
        assert!((24..26).contains(&took.as_secs()), "{took:?}");
    }

    /// The process is paused while it opens connections for its writes. Another replica leads when it continues.
    #[test]
    fn no_write_reaches_a_connection_after_the_gate_is_shut() {
        // The test blocks the only thread, like SIGSTOP would: everything due in the meantime runs at once.
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            listener.set_nonblocking(true).unwrap();
            let address = listener.local_addr().unwrap();
            for pause_after in 0..12 {
                let config = Config::new(format!("http://{address}").parse().unwrap());
                let gate = Arc::new(Gate::shut());
                let connections = Connections::behind(gate.clone());
                let attempt = AttemptLayer::new(host(&config), &measured().0, connections.clone());
                let client = client::plain(config, &connections).unwrap();
                let client = client::retrying(client, &attempt, "test", gate.clone());
                gate.renew(time::boot() + Duration::from_secs(600));
                let pods = Api::<Pod>::namespaced(client, "default");
                let write = async move {
                    let parameters = kube::api::PostParams::default();
                    pods.create(&parameters, &Pod::default()).await
                };
                let write = tokio::spawn(write);
                for _ in 0..pause_after {
                    tokio::task::yield_now().await;
                }
                let mut stream = listener.accept().ok().map(|(stream, _)| stream);
                // Bytes that left earlier were sent by a leader.
                if stream.as_ref().is_some_and(|stream| received(stream) > 0) {
                    write.abort();
                    continue;
                }
                gate.close();
                let ended = tokio::time::timeout(Duration::from_secs(60), write).await;
                let error = format!("{:?}", ended.unwrap().unwrap().err());
                stream = stream.or_else(|| listener.accept().ok().map(|(stream, _)| stream));
                let sent = stream.as_ref().map_or(0, received);
                assert_eq!(sent, 0, "sent after {pause_after} polls: {error}");
            }
        });
    }

    fn received(stream: &std::net::TcpStream) -> usize {
        stream.set_nonblocking(true).unwrap();
        stream.peek(&mut [0; 1]).unwrap_or_default()
    }

    #[tokio::test]
    async fn attempts_are_counted_one_by_one_and_introduce_themselves() {
        let busy = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 0\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        let fine = "HTTP/1.1 200 OK\r\ncontent-length: 26\r\n\r\n{\"kind\":\"PodList\"}        ";
        let (config, asked) = server([busy, fine]).await;
        let (metrics, registry) = measured();
        let agent = client::agent("memcached-operator", "0.1.0", "pod_1");
        let attempt = AttemptLayer::new(host(&config), &metrics, free());
        let client = client::plain(config, &free()).unwrap();
        let client = client::retrying(client, &attempt, &agent, Arc::new(Gate::shut()));
        let request = hyper::Request::get("/api").body(Vec::new()).unwrap();
        client.request_text(request).await.unwrap();
        assert_eq!(
            counted(&registry),
            [
                "{code=\"200\",method=\"GET\"} 1",
                "{code=\"429\",method=\"GET\"} 1"
            ]
        );
        let agent = "memcached-operator/0.1.0 (pod_1)";
        let request = asked.lock().unwrap().concat();
        assert!(request.contains(agent), "{request}");
    }
}
