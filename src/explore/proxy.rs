//! The proxy in front of the API server: plain HTTP to the operator. It counts requests and disturbs one of them.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow};
use explorer::exploration::{AUTHOR, Event, Fault};
use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, RETRY_AFTER, TRANSFER_ENCODING};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::api::ApiClient;
use super::process::Process;
use super::request::{OperatorRequest, ResourcePath};
use super::world::Release;

/// The user that the operator is with a role.
pub(super) const USER: &str = "operator";

type Answer = Response<Either<Full<Bytes>, Incoming>>;

/// A request that schedules count.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CountedRequest {
    pub(super) line: String,
    pub(super) write: bool,
}

/// The proxy's part of a run.
pub(super) struct RunState {
    event: Event,
    /// The number of the write to hold.
    hold: Option<usize>,
    /// The write, with its line for the log.
    held: Option<(Request<Full<Bytes>>, String)>,
    /// True once the disturbance has happened.
    pub(super) disturbed: bool,
    pub(super) log: Vec<CountedRequest>,
    writes: usize,
    /// Requests that the role forbids.
    pub(super) forbidden: BTreeSet<String>,
    /// Requests under way, except watches.
    pub(super) pending: usize,
    /// The last request that schedules count, and the last watch that started.
    pub(super) last: Instant,
    pub(super) last_write: Instant,
    /// Resources with a watch of this process.
    pub(super) watched: BTreeSet<String>,
    /// Resources that the operator writes.
    pub(super) written: BTreeSet<ResourcePath>,
    /// The namespaces of these writes; the empty one is that of cluster-scoped objects.
    pub(super) namespaces: BTreeSet<String>,
    /// Connections of earlier processes have a smaller number.
    epoch: u64,
    process: Option<Arc<Mutex<Process>>>,
    /// The release of the process.
    release: Release,
}

/// The state of the proxy.
pub(super) struct Proxy {
    api: ApiClient,
    /// The paths of the samples.
    samples: Vec<String>,
    impersonates: bool,
    state: Mutex<RunState>,
}

/// The treatment of a request.
enum Treatment {
    Pass,
    Fault(Fault),
    Die {
        after: bool,
    },
    DeleteSamples,
    /// The process dies, and [`Proxy::send_held`] sends the write.
    Hold,
}

impl Proxy {
    /// Starts to serve. Returns the address too.
    pub(super) async fn start(
        api: ApiClient,
        samples: Vec<String>,
        impersonates: bool,
    ) -> Result<(Arc<Self>, SocketAddr)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("cannot listen on a loopback port")?;
        let address = listener.local_addr()?;
        let now = Instant::now();
        let state = Mutex::new(RunState {
            event: Event::Nothing,
            hold: None,
            held: None,
            disturbed: false,
            log: Vec::new(),
            writes: 0,
            forbidden: BTreeSet::new(),
            pending: 0,
            last: now,
            last_write: now,
            watched: BTreeSet::new(),
            written: BTreeSet::new(),
            namespaces: BTreeSet::new(),
            epoch: 0,
            process: None,
            release: Release::Explored,
        });
        let proxy = Arc::new(Self { api, samples, impersonates, state });
        let served = Arc::clone(&proxy);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let proxy = Arc::clone(&served);
                let epoch = proxy.state().epoch;
                tokio::spawn(async move {
                    let service = service_fn(move |request| Arc::clone(&proxy).serve(request, epoch));
                    let connection = hyper::server::conn::http1::Builder::new();
                    let _ = connection.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Ok((proxy, address))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, RunState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets the requests so far, and disturbs the run from now on.
    pub(super) fn arm(&self, event: &Event) {
        let mut state = self.state();
        state.disturbed = !matches!(event, Event::Die { .. } | Event::Delete { .. } | Event::Fault { .. });
        state.event = event.clone();
        (state.hold, state.held) = (None, None);
        (state.log, state.writes, state.forbidden) = (Vec::new(), 0, BTreeSet::new());
        state.touch();
    }

    /// Holds a write from now on, and kills its process.
    pub(super) fn hold(&self, write: usize) {
        self.arm(&Event::Nothing);
        let mut state = self.state();
        (state.hold, state.disturbed) = (Some(write), false);
    }

    /// Sends the write that is held, as a network does after the end of its client.
    pub(super) async fn send_held(&self) -> Result<()> {
        let Some((request, line)) = self.state().held.take() else { return Ok(()) };
        let answer = self.api.forward(request).await?;
        let line = format!("{line}, late: {}", answer.status().as_u16());
        answer.into_body().collect().await?;
        let mut state = self.state();
        state.log.push(CountedRequest { line, write: true });
        state.last_write = Instant::now();
        state.touch();
        Ok(())
    }

    /// Serves a new process, and no earlier one.
    pub(super) fn set_process(&self, process: Option<Arc<Mutex<Process>>>, release: Release) {
        let mut state = self.state();
        state.epoch += 1;
        state.watched.clear();
        (state.process, state.release) = (process, release);
        state.touch();
    }

    pub(super) async fn delete_samples(&self) -> Result<()> {
        for path in &self.samples {
            // One that is gone stays so.
            self.api.send(Method::DELETE, &format!("{path}?fieldManager={AUTHOR}"), &Value::Null).await?;
        }
        Ok(())
    }

    /// An error closes the connection.
    async fn serve(self: Arc<Self>, request: Request<Incoming>, epoch: u64) -> Result<Answer> {
        let parsed = OperatorRequest::parse(request.method(), request.uri());
        let (treatment, impersonates) = {
            let mut state = self.state();
            if state.epoch != epoch {
                return Err(anyhow!("the process has ended"));
            }
            let treatment = parsed.as_ref().map_or(Treatment::Pass, |parsed| state.treat(parsed));
            // The role is that of the explored release.
            (treatment, self.impersonates && state.release == Release::Explored)
        };
        let (parts, body) = request.into_parts();
        let mut request = Request::from_parts(parts, Full::new(body.collect().await?.to_bytes()));
        if impersonates {
            request.headers_mut().insert("impersonate-user", HeaderValue::from_static(USER));
        }
        let watch = parsed.as_ref().is_some_and(OperatorRequest::is_watch);
        if watch {
            return Ok(self.api.forward(request).await?.map(Either::Right));
        }
        match treatment {
            Treatment::Fault(Fault::Code(code)) => return Ok(refusal(code)),
            Treatment::Fault(Fault::DropBefore) => return Err(anyhow!("dropped")),
            Treatment::Die { after: false } => {
                self.kill();
                return Err(anyhow!("killed"));
            }
            Treatment::Hold => {
                let line = parsed.map(|parsed| self.state().line(&parsed));
                self.state().held = line.map(|line| (request, line));
                self.kill();
                return Err(anyhow!("killed"));
            }
            _ => {}
        }
        // A process that dies does not take back its requests: they go on without the connection.
        let proxy = Arc::clone(&self);
        self.state().pending += 1;
        let effect = tokio::spawn(async move {
            let answer = proxy.effect(request, parsed, &treatment).await;
            let mut state = proxy.state();
            state.pending -= 1;
            (answer, treatment)
        });
        let (answer, treatment) = effect.await?;
        match treatment {
            Treatment::Fault(Fault::Timeout) => Ok(refusal(504)),
            Treatment::Fault(_) => Err(anyhow!("dropped")),
            Treatment::Die { .. } => Err(anyhow!("killed")),
            _ => answer,
        }
    }

    /// Sends a request, and reads the whole answer.
    async fn effect(
        &self,
        request: Request<Full<Bytes>>,
        parsed: Option<OperatorRequest>,
        treatment: &Treatment,
    ) -> Result<Answer> {
        let answer = self.api.forward(request).await?;
        let (mut parts, body) = answer.into_parts();
        let bytes = body.collect().await?.to_bytes();
        for name in [CONTENT_LENGTH, TRANSFER_ENCODING, CONNECTION] {
            parts.headers.remove(name);
        }
        match treatment {
            Treatment::Die { .. } => self.kill(),
            Treatment::DeleteSamples => self.delete_samples().await?,
            _ => {}
        }
        if let Some(parsed) = parsed.filter(|_| self.impersonates && parts.status == StatusCode::FORBIDDEN)
            && String::from_utf8_lossy(&bytes).contains(&format!("User \"{USER}\" cannot"))
        {
            self.state().forbidden.insert(parsed.rule());
        }
        Ok(Response::from_parts(parts, Either::Left(Full::new(bytes))))
    }

    fn kill(&self) {
        let process = self.state().process.clone();
        if let Some(process) = process {
            process.lock().unwrap_or_else(PoisonError::into_inner).kill();
        }
    }
}

impl RunState {
    /// Returns true if a write is held.
    pub(super) fn holds(&self) -> bool {
        self.held.is_some()
    }

    /// Restarts the quiet time.
    pub(super) fn touch(&mut self) {
        self.last = Instant::now();
    }

    /// The line of a request in the log.
    fn line(&self, request: &OperatorRequest) -> String {
        let release = if self.release == Release::Previous { " (previous release)" } else { "" };
        format!("{}{release}", request.line())
    }

    /// Counts a request.
    fn treat(&mut self, request: &OperatorRequest) -> Treatment {
        if request.is_watch() {
            let resource = request.resource.qualified();
            // Watches are renewed.
            if self.watched.insert(resource) {
                self.touch();
            }
            return Treatment::Pass;
        }
        if !request.counts() {
            return Treatment::Pass;
        }
        if request.shapes() {
            self.written.insert(request.resource.clone());
            self.namespaces.insert(request.namespace.clone());
        }
        self.touch();
        let write = request.is_write();
        if write {
            self.writes += 1;
            self.last_write = Instant::now();
            if self.hold == Some(self.writes) {
                (self.hold, self.disturbed) = (None, true);
                return Treatment::Hold;
            }
        }
        self.log.push(CountedRequest { line: self.line(request), write });
        if self.disturbed {
            return Treatment::Pass;
        }
        let treatment = match self.event {
            Event::Die { write: at, after } if write && at == self.writes => Treatment::Die { after },
            Event::Delete { write: at } if write && at == self.writes => Treatment::DeleteSamples,
            Event::Fault { request: at, fault } if at == self.log.len() => Treatment::Fault(fault),
            _ => return Treatment::Pass,
        };
        self.disturbed = true;
        treatment
    }
}

/// The answer of a faulty API server.
fn refusal(code: u16) -> Answer {
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
        "code": code, "reason": Fault::reason(code), "message": "refused by the explorer",
    });
    let mut answer = Response::new(Either::Left(Full::new(Bytes::from(status.to_string()))));
    *answer.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if code == 429 {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    answer
}
