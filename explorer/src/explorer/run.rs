//! A run: an operator on a server, with one disturbance, until the state settles.
//!
//! Each process of the operator is a runtime of its own with a paused clock: dropping it is a crash. Requests go through a
//! gate, which counts them and never answers a dead process.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use http::Method;
use http_body_util::BodyExt as _;
use kube::client::Body;

use super::Explorer;
use crate::request::Request;
use crate::response::ResponseBody;
use crate::server::{ApiServer, Verdict};

/// Requests that one process may send between two steps of the clock.
const STORM: usize = 500;
/// The longest step of the clock.
const STEP: u64 = 16;
/// Virtual seconds until a state that still changes is a finding.
const LIMIT: u64 = 1800;
/// Processes that may end by themselves in a run.
const RESTARTS: usize = 5;

/// A change of the state by another client.
pub(super) type Act = Arc<dyn Fn(&ApiServer) -> Result<(), String> + Send + Sync>;

/// The disturbance of a run.
#[derive(Clone)]
pub(super) enum Disturbance {
    Nothing,
    /// The process ends before or after the effect of a write.
    Die {
        write: usize,
        after: bool,
    },
    /// Another client acts between a write and its answer, unless the write comes before the first act.
    Act {
        write: usize,
        act: Act,
    },
    /// A request has another answer.
    Fault {
        request: usize,
        verdict: Verdict,
    },
}

/// A request that was counted.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Logged {
    pub(super) text: String,
    pub(super) write: bool,
}

/// The result of a run.
#[derive(Clone)]
pub(super) struct Outcome {
    pub(super) log: Vec<Logged>,
    /// The reason why the state did not settle.
    pub(super) restless: Option<String>,
    /// Requests that the server does not implement.
    pub(super) unsupported: Vec<String>,
    /// False if the disturbance waits for a request that was not sent.
    pub(super) disturbed: bool,
}

/// The reason why a process or its run has ended.
enum Stop {
    Settled,
    Died,
    Ended,
    Restless(String),
}

struct GateState {
    disturbance: Disturbance,
    counting: bool,
    /// True once the first act has happened.
    acted: bool,
    dead: bool,
    /// Requests since the last step of the clock.
    burst: usize,
    writes: usize,
    log: Vec<Logged>,
    unsupported: Vec<String>,
    problem: Option<String>,
}

/// The way of the requests to the server.
#[derive(Clone)]
struct Gate {
    server: ApiServer,
    ignored: Arc<Vec<String>>,
    state: Arc<Mutex<GateState>>,
}

impl Gate {
    fn state(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns none for a request that gets no answer.
    fn answer(&self, request: &Request) -> Option<Result<http::Response<ResponseBody>, crate::server::Dropped>> {
        let mut state = self.state();
        state.burst += 1;
        if state.dead || state.burst > STORM {
            return None;
        }
        let target = request.target().unwrap_or_default();
        let resource = crate::response::qualified(&target.plural, &target.group);
        if !state.counting || self.ignored.contains(&resource) {
            return Some(self.server.answer(request));
        }
        let write = request.method != Method::GET && request.option("dryRun").is_empty();
        let verb = if request.flag("watch") { "WATCH" } else { request.method.as_str() };
        state.log.push(Logged { text: format!("{verb} {}", request.path), write });
        state.writes += usize::from(write);
        let (writes, requests) = (state.writes, state.log.len());
        match state.disturbance.clone() {
            Disturbance::Die { write: at, after } if write && at == writes => {
                state.disturbance = Disturbance::Nothing;
                state.dead = true;
                if after {
                    let _ = self.server.answer(request);
                }
                None
            }
            Disturbance::Act { write: at, act } if state.acted && write && at == writes => {
                state.disturbance = Disturbance::Nothing;
                let answer = self.server.answer(request);
                state.problem = act(&self.server).err();
                Some(answer)
            }
            Disturbance::Fault { request: at, verdict } if at == requests => {
                state.disturbance = Disturbance::Nothing;
                Some(self.server.with_hook(move |_| verdict.clone()).answer(request))
            }
            _ => {
                let answer = self.server.answer(request);
                if let Ok(response) = &answer
                    && response.status() == http::StatusCode::NOT_IMPLEMENTED
                {
                    state.unsupported.push(format!("{} {}", request.method, request.path));
                }
                Some(answer)
            }
        }
    }
}

impl tower::Service<http::Request<Body>> for Gate {
    type Response = http::Response<ResponseBody>;
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
            match gate.answer(&Request::read(&parts, body)) {
                Some(answer) => Ok(answer?),
                None => std::future::pending().await,
            }
        })
    }
}

impl Explorer {
    /// Runs the operator until the state settles. The first of `acts` happens once it has started, each other one after the
    /// state has settled. With `late`, requests count from the first one.
    pub(super) fn run(&self, server: &ApiServer, disturbance: Disturbance, acts: Vec<Act>, late: bool) -> Outcome {
        let gate = Gate {
            server: server.clone(),
            ignored: Arc::new(self.ignored.clone()),
            state: Arc::new(Mutex::new(GateState {
                disturbance,
                counting: !late,
                acted: acts.is_empty(),
                dead: false,
                burst: 0,
                writes: 0,
                log: Vec::new(),
                unsupported: Vec::new(),
                problem: None,
            })),
        };
        let mut acts = VecDeque::from(acts);
        let mut starting = !acts.is_empty();
        let mut endings = 0;
        let restless = loop {
            match self.process(&gate, &mut acts, &mut starting) {
                Stop::Settled => break None,
                Stop::Restless(reason) => break Some(reason),
                Stop::Died => {}
                Stop::Ended if endings == RESTARTS => {
                    break Some("the operator ends again after each start".to_owned());
                }
                Stop::Ended => endings += 1,
            }
            // The kubelet starts the container again.
            gate.server.advance(Duration::from_secs(10));
            let mut state = gate.state();
            (state.dead, state.burst) = (false, 0);
        };
        let state = gate.state();
        let mut unsupported = state.unsupported.clone();
        unsupported.extend(state.problem.clone());
        let disturbed = matches!(state.disturbance, Disturbance::Nothing);
        Outcome { log: state.log.clone(), restless, unsupported, disturbed }
    }

    /// Runs one process of the operator to its end.
    fn process(&self, gate: &Gate, acts: &mut VecDeque<Act>, starting: &mut bool) -> Stop {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => return Stop::Restless(format!("cannot start a runtime: {error}")),
        };
        let stop = catch_unwind(AssertUnwindSafe(|| {
            runtime.block_on(async {
                let mut operator = (self.start)(kube::Client::new(gate.clone(), "default"));
                let mut environment = pin!(self.settle(gate, acts, starting));
                std::future::poll_fn(|context| match environment.as_mut().poll(context) {
                    Poll::Ready(stop) => Poll::Ready(stop),
                    Poll::Pending => operator.as_mut().poll(context).map(|()| Stop::Ended),
                })
                .await
            })
        }));
        // A panic ends the process.
        stop.unwrap_or(Stop::Ended)
    }

    /// Plays the rest of the cluster until nothing changes.
    async fn settle(&self, gate: &Gate, acts: &mut VecDeque<Act>, starting: &mut bool) -> Stop {
        let server = &gate.server;
        let patience = self.patience.as_secs();
        let (mut elapsed, mut quiet) = (0, 0);
        // Steps in the quiet time, and those with writes.
        let (mut steps, mut busy) = (0, 0);
        let (mut changes, mut writes) = (server.changes(), gate.state().writes);
        let mut seen = 0;
        loop {
            let step = if *starting { 1 } else { u64::clamp(quiet, 1, STEP) };
            tokio::time::sleep(Duration::from_secs(step)).await;
            server.advance(Duration::from_secs(step));
            elapsed += step;
            {
                let mut state = gate.state();
                if state.dead {
                    return Stop::Died;
                }
                if state.burst > STORM {
                    let last = state.log.last().map(|request| request.text.clone()).unwrap_or_default();
                    return Stop::Restless(format!(
                        "{STORM} requests in {step} s of virtual time, the last one {last}"
                    ));
                }
                state.burst = 0;
                state.counting |= !*starting;
                steps += 1;
                busy += usize::from(state.writes > writes);
                writes = state.writes;
            }
            if *starting || (quiet >= patience && !acts.is_empty()) {
                *starting = false;
                {
                    let mut state = gate.state();
                    (state.counting, state.acted) = (true, true);
                }
                if let Some(Err(problem)) = acts.pop_front().map(|act| act(server)) {
                    gate.state().problem = Some(problem);
                }
                (elapsed, quiet, steps, busy) = (0, 0, 0, 0);
                continue;
            }
            // The environment only reacts to changes.
            if server.changes() > seen {
                server.collect_garbage();
                if let Err(problem) = self.stages.step(server) {
                    return Stop::Restless(problem);
                }
                seen = server.changes();
            }
            let changed = server.changed(changes);
            changes += changed.len();
            if changed.iter().all(|resource| self.ignored.contains(resource)) {
                quiet += step;
            } else {
                (quiet, steps, busy) = (0, 0, 0);
            }
            if quiet >= patience && acts.is_empty() {
                let many = steps > 8 && busy * 2 > steps;
                let reason = || format!("writes in {busy} of {steps} steps of {STEP} s, although nothing changes");
                return if many { Stop::Restless(reason()) } else { Stop::Settled };
            }
            if elapsed >= LIMIT.max(2 * patience) {
                let last = changed.into_iter().next_back().unwrap_or_default();
                return Stop::Restless(format!(
                    "objects still change after {elapsed} s of virtual time, such as {last}"
                ));
            }
        }
    }
}
