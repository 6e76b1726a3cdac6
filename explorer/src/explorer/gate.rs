//! The gate: the way of the requests of one process to the server.
//!
//! The gate counts requests, disturbs one of them, delays the events of watches, and never answers a dead process.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode};
use http_body::Frame;
use http_body_util::BodyExt as _;
use kube::client::Body;

use super::permission::Usage;
use super::run::{Act, STORM};
use crate::call::webhook::Effect;
use crate::page::Token;
use crate::request::Request;
use crate::response::{Refusal, ResponseBody, qualified};
use crate::server::{ApiServer, Dropped, Verdict};
use crate::watch;

/// Virtual seconds for which watches deliver no events, and for which a list is under way.
const LAG: u64 = 30;
/// Virtual seconds for which a write is under way when another process takes over.
const LATE: u64 = 15;

/// A property of a state. The error is the reason why it does not hold.
pub(super) type Invariant = Arc<dyn Fn(&ApiServer) -> Result<(), String> + Send + Sync>;

/// The disturbance of a run.
#[derive(Clone)]
pub(super) enum Disturbance {
    Nothing,
    /// The process ends before or after the effect of a write. With `stale`, the caches of the API server have the state
    /// before that write when the next process starts.
    Die {
        write: usize,
        after: bool,
        stale: Option<usize>,
    },
    /// Another client acts between a write and its answer, unless the write comes before the first act.
    Act {
        write: usize,
        act: Act,
    },
    /// A request has another answer, before or after its effect.
    Fault {
        request: usize,
        verdict: Verdict,
        after: bool,
    },
    /// Watches deliver nothing from a write on, or from the first act on if the write is 0. Then they deliver all events, or
    /// expire.
    Lag {
        write: usize,
        held: Held,
    },
    /// The list of a resource arrives late.
    Slow {
        resource: String,
    },
    /// A second process starts when the first one sends a write, and the write arrives late.
    Overlap {
        write: usize,
    },
}

/// Watches that deliver no events.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Held {
    /// The resource of the watches. All watches if it is empty.
    resource: String,
    /// True if the watches answer 410 afterwards, so that the client lists again.
    expire: bool,
    left: u64,
}

impl Held {
    pub(super) fn new(resource: &str, expire: bool) -> Self {
        Self { resource: resource.to_owned(), expire, left: LAG }
    }

    fn holds(&self, resource: &str) -> bool {
        self.resource.is_empty() || self.resource == resource
    }
}

/// A request that was counted.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Logged {
    pub(super) text: String,
    pub(super) write: bool,
    /// The resource of a watch.
    pub(super) watch: Option<String>,
    /// True for a list from the caches of the API server.
    pub(super) cached: bool,
    /// True for a write before which nothing has changed since the one before it.
    pub(super) follows: bool,
}

/// The state of a run that its processes share.
pub(super) struct GateState {
    pub(super) disturbance: Disturbance,
    pub(super) counting: bool,
    /// True once the first act has happened.
    pub(super) acted: bool,
    pub(super) dead: bool,
    /// Requests since the last step of the clock.
    pub(super) burst: usize,
    pub(super) writes: usize,
    pub(super) log: Vec<Logged>,
    pub(super) unsupported: Vec<String>,
    pub(super) problem: Option<String>,
    /// Requests that no rule permits.
    pub(super) forbidden: BTreeSet<String>,
    /// Invariants that did not hold, with their reasons.
    pub(super) broken: Vec<String>,
    /// Effects of webhooks on writes of the operator.
    pub(super) reviews: Vec<Effect>,
    /// True if a second process must start.
    pub(super) second: bool,
    held: Option<Held>,
    /// The watches that have expired, in the order of time.
    expired: Vec<Held>,
    /// The revision of lists from the caches of the API server.
    stale: Option<u64>,
    /// The revision of the start, and before each write.
    revisions: Vec<u64>,
    /// The revision after the last write.
    written: Option<u64>,
    wakers: Vec<Waker>,
}

impl GateState {
    pub(super) fn new(disturbance: Disturbance, counting: bool, acted: bool, revision: u64) -> Self {
        Self {
            disturbance,
            counting,
            acted,
            dead: false,
            burst: 0,
            writes: 0,
            log: Vec::new(),
            unsupported: Vec::new(),
            problem: None,
            forbidden: BTreeSet::new(),
            broken: Vec::new(),
            reviews: Vec::new(),
            second: false,
            held: None,
            expired: Vec::new(),
            stale: None,
            revisions: vec![revision],
            written: None,
            wakers: Vec::new(),
        }
    }

    /// Starts a lag that waits for the first act.
    pub(super) fn act(&mut self) {
        (self.counting, self.acted) = (true, true);
        if let Disturbance::Lag { write: 0, held } = &self.disturbance {
            self.held = Some(held.clone());
            self.disturbance = Disturbance::Nothing;
        }
    }

    /// Lets time pass. A lag may end.
    pub(super) fn advance(&mut self, seconds: u64) {
        let Some(held) = &mut self.held else { return };
        held.left = held.left.saturating_sub(seconds);
        if held.left == 0 {
            self.stale = None;
            self.expired.extend(self.held.take().filter(|held| held.expire));
            self.wakers.drain(..).for_each(Waker::wake);
        }
    }
}

/// The way of the requests to the server.
#[derive(Clone)]
pub(super) struct Gate {
    pub(super) server: ApiServer,
    pub(super) ignored: Arc<Vec<String>>,
    pub(super) usage: Arc<Usage>,
    /// Properties of the state after each write.
    pub(super) always: Arc<Vec<(String, Invariant)>>,
    pub(super) shared: Arc<Mutex<GateState>>,
    /// False if this process of several is dead.
    pub(super) alive: Arc<AtomicBool>,
}

impl Gate {
    pub(super) fn state(&self) -> MutexGuard<'_, GateState> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The gate of another process.
    pub(super) fn process(&self) -> Self {
        Self { alive: Arc::new(AtomicBool::new(true)), ..self.clone() }
    }

    /// Returns the resource of a request that counts.
    fn counted(&self, state: &GateState, request: &Request) -> Option<String> {
        let target = request.target().unwrap_or_default();
        let resource = qualified(&target.plural, &target.group);
        (state.counting && !self.ignored.contains(&resource)).then_some(resource)
    }

    /// Returns true for the write that arrives late.
    fn is_late(&self, request: &Request) -> bool {
        let mut state = self.state();
        let late = matches!(state.disturbance, Disturbance::Overlap { write } if write == state.writes + 1);
        if !late || !is_write(request) || self.counted(&state, request).is_none() {
            return false;
        }
        state.disturbance = Disturbance::Nothing;
        state.second = true;
        true
    }

    /// Returns true for the list that arrives late.
    fn is_slow(&self, request: &Request) -> bool {
        let mut state = self.state();
        let Disturbance::Slow { resource } = &state.disturbance else { return false };
        let slow = is_list(request) && self.counted(&state, request).as_ref() == Some(resource);
        if slow {
            state.disturbance = Disturbance::Nothing;
        }
        slow
    }

    /// Returns none for a request that gets no answer.
    fn answer(&self, request: &Request) -> Option<Result<http::Response<ResponseBody>, Dropped>> {
        let mut state = self.state();
        state.burst += 1;
        if state.dead || state.burst > STORM || !self.alive.load(Ordering::Relaxed) {
            return None;
        }
        let Some(resource) = self.counted(&state, request) else {
            return Some(self.pass(&mut state, request));
        };
        let write = is_write(request);
        let is_watch = request.flag("watch");
        let verb = if is_watch { "WATCH" } else { request.method.as_str() };
        let cached = is_cached_list(request);
        let text = format!("{verb} {}", request.path);
        // Clients renew watches at times that they choose at random.
        if is_watch && state.log.iter().any(|logged| logged.text == text) {
            return Some(self.pass(&mut state, request));
        }
        let follows = write && state.written == Some(self.server.revision());
        state.log.push(Logged { text, write, watch: is_watch.then_some(resource), cached, follows });
        if write {
            state.writes += 1;
            state.revisions.push(self.server.revision());
        }
        let (writes, requests) = (state.writes, state.log.len());
        match state.disturbance.clone() {
            Disturbance::Die { write: at, after, stale } if write && at == writes => {
                state.disturbance = Disturbance::Nothing;
                state.dead = true;
                if after {
                    let _ = self.pass(&mut state, request);
                }
                if let Some(before) = stale {
                    state.stale = state.revisions.get(before).copied();
                    state.held = Some(Held::new("", false));
                }
                None
            }
            Disturbance::Act { write: at, act } if state.acted && write && at == writes => {
                state.disturbance = Disturbance::Nothing;
                let answer = self.pass(&mut state, request);
                state.problem = act(&self.server).err();
                Some(answer)
            }
            Disturbance::Fault { request: at, verdict, after } if at == requests => {
                state.disturbance = Disturbance::Nothing;
                if after {
                    let _ = self.pass(&mut state, request);
                }
                Some(self.server.with_hook(move |_| verdict.clone()).answer(request))
            }
            Disturbance::Lag { write: at, held } if write && at == writes => {
                state.disturbance = Disturbance::Nothing;
                state.held = Some(held);
                Some(self.pass(&mut state, request))
            }
            _ => Some(self.pass(&mut state, request)),
        }
    }

    /// Sends a request to the server, and records facts about it.
    fn pass(&self, state: &mut GateState, request: &Request) -> Result<http::Response<ResponseBody>, Dropped> {
        self.usage.record(request);
        self.server.take_effects();
        let answer = match state.stale.filter(|_| is_cached_list(request)) {
            Some(revision) => self.server.answer(&stale(request, revision)),
            None => self.server.answer(request),
        };
        state.reviews.extend(self.server.take_effects());
        match answer.as_ref().map(http::Response::status) {
            Ok(StatusCode::NOT_IMPLEMENTED) => {
                let feature = answer.as_ref().map(|answer| answer.body().feature()).unwrap_or_default();
                state.unsupported.push(format!("{} {}: {feature}", request.method, request.path));
            }
            Ok(StatusCode::FORBIDDEN) if !self.usage.permits(request) => {
                state.forbidden.insert(Usage::describe(request));
            }
            // An apply that creates an object needs the verb `create` too.
            Ok(StatusCode::CREATED) if request.method == Method::PATCH => {
                let create = Request { method: Method::POST, ..request.clone() };
                self.usage.record(&create);
                if !self.usage.permits(&create) {
                    state.forbidden.insert(Usage::describe(&create));
                }
            }
            _ => {}
        }
        if is_write(request) {
            state.written = Some(self.server.revision());
            for (name, invariant) in self.always.iter() {
                if let Err(reason) = invariant(&self.server) {
                    state.broken.push(format!("+ {name}: {reason}"));
                }
            }
        }
        answer
    }
}

fn is_write(request: &Request) -> bool {
    request.method != Method::GET && request.option("dryRun").is_empty()
}

fn is_list(request: &Request) -> bool {
    let of_many = request.target().is_some_and(|target| target.name.is_empty());
    request.method == Method::GET && of_many && !request.flag("watch")
}

/// Returns true for a list that the API server may answer from an old state. A list without a resource version is consistent.
fn is_cached_list(request: &Request) -> bool {
    is_list(request) && request.option("continue").is_empty() && request.option("resourceVersion") == "0"
}

/// Makes a request for a list of an older revision: its first page.
fn stale(request: &Request, revision: u64) -> Request {
    let mut request = request.clone();
    request.query.remove("resourceVersion");
    request.query.remove("resourceVersionMatch");
    let token = Token { revision, namespace: String::new(), name: String::new() };
    request.query.insert("continue".to_owned(), token.text());
    request
}

impl tower::Service<http::Request<Body>> for Gate {
    type Response = http::Response<GateBody>;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let gate = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let request = Request::read(&parts, body);
            if gate.is_slow(&request) {
                tokio::time::sleep(Duration::from_secs(LAG)).await;
            }
            let late = gate.is_late(&request);
            if late {
                tokio::time::sleep(Duration::from_secs(LATE)).await;
            }
            let answer = gate.answer(&request);
            if late {
                gate.alive.store(false, Ordering::Relaxed);
            }
            match answer.filter(|_| !late) {
                Some(answer) => {
                    let watch = request.flag("watch").then(|| request.target()).flatten();
                    let resource = watch.map(|target| qualified(&target.plural, &target.group));
                    let expired = gate.state().expired.len();
                    let shared = gate.shared.clone();
                    Ok(answer?.map(|body| GateBody { body, resource, expired, shared, ended: false }))
                }
                None => std::future::pending().await,
            }
        })
    }
}

/// The body of an answer. Events of watches may be late.
pub(super) struct GateBody {
    body: ResponseBody,
    /// The resource of a watch.
    resource: Option<String>,
    /// The number of expiries before this watch.
    expired: usize,
    shared: Arc<Mutex<GateState>>,
    ended: bool,
}

impl http_body::Body for GateBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Some(resource) = self.resource.clone() {
            let shared = self.shared.clone();
            let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
            if state.expired.iter().skip(self.expired).any(|held| held.holds(&resource)) {
                if self.ended {
                    return Poll::Ready(None);
                }
                self.ended = true;
                let refusal = Refusal::expired("too old resource version");
                return Poll::Ready(Some(Ok(Frame::data(watch::line("ERROR", &refusal.0)))));
            }
            if state.held.as_ref().is_some_and(|held| held.holds(&resource)) {
                state.wakers.push(context.waker().clone());
                return Poll::Pending;
            }
        }
        Pin::new(&mut self.body).poll_frame(context)
    }
}
