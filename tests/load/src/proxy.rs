//! A reverse proxy for the API server that simulates a bad network and a busy server.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderValue, TRANSFER_ENCODING};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::fate::{self, Class, Fate, Plan, SLOW_EVENTS};

type Error = Box<dyn std::error::Error + Send + Sync>;
type Answer = Response<UnsyncBoxBody<Bytes, Error>>;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Port on the loopback interface
    #[arg(long)]
    port: u16,
    /// Seed of the faults
    #[arg(long)]
    seed: u64,
    /// Forward everything
    #[arg(long)]
    without_faults: bool,
    /// Hide the objects with this name
    #[arg(long)]
    swallow: Option<String>,
}

struct Proxy {
    upstream: Client,
    plan: Mutex<Plan>,
    faulty: AtomicBool,
    swallow: Option<String>,
    counts: Mutex<BTreeMap<&'static str, u64>>,
}

/// Forwards requests with the credentials of `upstream` until the process ends.
pub(crate) async fn run(options: Options, upstream: Client) -> Result<(), Error> {
    println!("seed {}; faults in a hundred requests:", options.seed);
    for class in [Class::Read, Class::Watch, Class::Write] {
        println!("{class:?}: {:?}", fate::rates(class));
    }
    let proxy = Arc::new(Proxy {
        upstream,
        plan: Mutex::new(Plan::new(options.seed)),
        faulty: AtomicBool::new(!options.without_faults),
        swallow: options.swallow,
        counts: Mutex::default(),
    });
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let proxy = proxy.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| proxy.clone().answer(request));
            let builder =
                http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service);
            // The fate of a broken connection is counted already.
            let _ = builder.await;
        });
    }
}

impl Proxy {
    /// An error makes hyper drop the connection.
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Result<Answer, Error> {
        match request.uri().path() {
            "/proxy/counts" => return Ok(text(StatusCode::OK, &json!(*lock(&self.counts)))),
            "/proxy/faults/off" => {
                self.faulty.store(false, Ordering::Relaxed);
                return Ok(text(StatusCode::OK, &json!(null)));
            }
            _ => {}
        }
        let class = class(&request);
        let fate = match self.faulty.load(Ordering::Relaxed) {
            true => lock(&self.plan).draw(class, request.method().as_str(), request.uri().path()),
            false => Fate::Pass,
        };
        match fate {
            Fate::Refused(code) => {
                self.count(fate);
                return Ok(refusal(code));
            }
            Fate::Slow(time) if class != Class::Watch => {
                self.count(fate);
                tokio::time::sleep(time).await;
            }
            Fate::Pass => self.count(fate),
            _ => {}
        }
        let answer = self.forward(request).await?;
        match class {
            Class::Watch if answer.status() == StatusCode::OK => Ok(self.follow(answer, fate)),
            _ => {
                let (head, body) = answer.into_parts();
                let body = body.collect().await?.to_bytes();
                if fate == Fate::Lost {
                    self.count(fate);
                    return Err("the answer is lost".into());
                }
                let body = self.without_swallowed(body)?;
                Ok(Response::from_parts(head, full(body)))
            }
        }
    }

    async fn forward(&self, request: Request<Incoming>) -> Result<Response<Body>, Error> {
        let (mut head, body) = request.into_parts();
        for header in [AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING] {
            head.headers.remove(header);
        }
        let body = Body::from(body.collect().await?.to_bytes());
        let mut answer = self.upstream.send(Request::from_parts(head, body)).await?;
        for header in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
            answer.headers_mut().remove(header);
        }
        Ok(answer)
    }

    /// Forwards the events of a watch one by one.
    fn follow(self: Arc<Self>, answer: Response<Body>, fate: Fate) -> Answer {
        let (head, body) = answer.into_parts();
        let (events, received) = mpsc::channel(1);
        tokio::spawn(async move {
            let relay = Relay { proxy: self, events: events.clone(), fate, passed: 0 };
            tokio::select! {
                () = relay.run(body) => {}
                // The client has disconnected.
                () = events.closed() => {}
            }
        });
        let frames = stream::unfold(received, |mut received| async { Some((received.recv().await?, received)) });
        Response::from_parts(head, StreamBody::new(frames).boxed_unsync())
    }

    fn count(&self, fate: Fate) {
        *lock(&self.counts).entry(fate.name()).or_default() += 1;
    }

    fn without_swallowed(&self, body: Bytes) -> Result<Bytes, Error> {
        let Some(name) = &self.swallow else { return Ok(body) };
        let mut list: Value = serde_json::from_slice(&body)?;
        if let Some(items) = list["items"].as_array_mut() {
            items.retain(|item| item["metadata"]["name"] != name.as_str());
        }
        Ok(list.to_string().into())
    }

    fn swallows(&self, event: &[u8]) -> bool {
        let Some(name) = &self.swallow else { return false };
        let event: Value = serde_json::from_slice(event).unwrap_or_default();
        event["object"]["metadata"]["name"] == name.as_str()
    }
}

struct Relay {
    proxy: Arc<Proxy>,
    events: mpsc::Sender<Result<Frame<Bytes>, Error>>,
    fate: Fate,
    passed: u32,
}

impl Relay {
    async fn run(mut self, mut body: Body) {
        let mut rest = Vec::new();
        while let Some(frame) = body.frame().await {
            let Some(data) = frame.ok().and_then(|frame| frame.into_data().ok()) else { break };
            rest.extend_from_slice(&data);
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let event: Vec<u8> = rest.drain(..=end).collect();
                if self.pass(event).await.is_none() {
                    return;
                }
            }
        }
    }

    /// Returns `None` at the end of the watch.
    async fn pass(&mut self, event: Vec<u8>) -> Option<()> {
        if self.proxy.swallows(&event) {
            return Some(());
        }
        let faulty = self.proxy.faulty.load(Ordering::Relaxed);
        match self.fate {
            Fate::Slow(_) if faulty && self.passed >= SLOW_EVENTS => return None,
            Fate::Slow(time) if faulty => {
                if self.passed == 0 {
                    self.proxy.count(self.fate);
                }
                tokio::time::sleep(time).await;
            }
            Fate::Broken(after) if faulty && self.passed >= after => {
                self.proxy.count(self.fate);
                let half = event[..event.len() / 2].to_vec();
                self.send(half).await?;
                let _ = self.events.send(Err("the connection broke".into())).await;
                return None;
            }
            Fate::Expired(after) if faulty && self.passed >= after => {
                self.proxy.count(self.fate);
                let event = json!({ "type": "ERROR", "object": status(410) });
                self.send(format!("{event}\n").into()).await?;
                return None;
            }
            Fate::Ended(after) if faulty && self.passed >= after => {
                self.proxy.count(self.fate);
                return None;
            }
            _ => {}
        }
        self.passed += 1;
        self.send(event).await
    }

    async fn send(&self, data: Vec<u8>) -> Option<()> {
        self.events.send(Ok(Frame::data(data.into()))).await.ok()
    }
}

fn class(request: &Request<Incoming>) -> Class {
    let query = request.uri().query().unwrap_or_default();
    match *request.method() {
        Method::GET if query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1")) => Class::Watch,
        Method::GET | Method::HEAD => Class::Read,
        _ => Class::Write,
    }
}

fn refusal(code: u16) -> Answer {
    let mut answer = text(StatusCode::from_u16(code).unwrap_or_default(), &status(code));
    if code == 429 {
        answer.headers_mut().insert("retry-after", HeaderValue::from_static("1"));
    }
    answer
}

/// The API server's Status for this code.
fn status(code: u16) -> Value {
    let reason = match code {
        409 => "Conflict",
        410 => "Expired",
        429 => "TooManyRequests",
        _ => "InternalError",
    };
    let message = format!("{reason}, says the faulty proxy");
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {},
        "status": "Failure", "reason": reason, "message": message, "code": code,
    })
}

fn text(code: StatusCode, value: &Value) -> Answer {
    let mut answer = Response::new(full(value.to_string().into()));
    *answer.status_mut() = code;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

fn full(body: Bytes) -> UnsyncBoxBody<Bytes, Error> {
    Full::new(body).map_err(|never: Infallible| match never {}).boxed_unsync()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
