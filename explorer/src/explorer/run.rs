//! A run: an operator on a server, with one disturbance, until the state settles.
//!
//! Each process of the operator is a runtime of its own with a paused clock: dropping it is a crash.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use super::gate::{Disturbance, Gate, GateState, Invariant, Logged};
use super::{Explorer, Start, permission, review, status};
use crate::server::ApiServer;

/// Requests that one process may send between two steps of the clock.
pub(super) const STORM: usize = 500;
/// The longest step of the clock.
const STEP: u64 = 16;
/// A state that still changes after this multiple of the patience is a finding.
const LIMIT: u64 = 3;
/// A state that has changed in so many steps of the clock is a finding.
const CHURN: usize = 120;
/// Processes that may end by themselves in a run.
const RESTARTS: usize = 5;

/// A change of the state by another client.
pub(super) type Act = Arc<dyn Fn(&ApiServer) -> Result<(), String> + Send + Sync>;

/// The result of a run.
#[derive(Clone, Default)]
pub(super) struct Outcome {
    pub(super) log: Vec<Logged>,
    /// The reason why the state did not settle.
    pub(super) restless: Option<String>,
    /// Requests that the server does not implement.
    pub(super) unsupported: Vec<String>,
    /// False if the disturbance waits for a request that was not sent.
    pub(super) disturbed: bool,
    /// Requests that no rule permits.
    pub(super) forbidden: Vec<String>,
    /// Invariants that did not hold.
    pub(super) broken: Vec<String>,
    /// Effects of webhooks on writes of the operator.
    pub(super) reviews: Vec<String>,
    /// Violations of the conventions of a status.
    pub(super) status: Vec<String>,
    /// Conditions with another time and the same status.
    pub(super) bumped: Vec<String>,
}

/// The reason why a process or its run has ended.
enum Stop {
    Settled,
    Died,
    Ended,
    Restless(String),
}

impl Explorer {
    /// Runs the operator until the state settles. The first of `acts` happens once it has started, each other one after the
    /// state has settled. With `late`, requests count from the first one.
    pub(super) fn run(&self, server: &ApiServer, disturbance: Disturbance, acts: Vec<Act>, late: bool) -> Outcome {
        self.run_all(&[&self.start], server, disturbance, acts, late)
    }

    /// Runs several controllers as one process. Permissions are those of the operator alone.
    pub(super) fn run_all(
        &self,
        starts: &[&Start],
        server: &ApiServer,
        disturbance: Disturbance,
        acts: Vec<Act>,
        late: bool,
    ) -> Outcome {
        let (start, revision) = (server.changes(), server.revision());
        let server = match self.roles.as_slice() {
            [] => server.clone(),
            _ if starts.len() > 1 || !std::ptr::eq(starts[0], &raw const self.start) => server.clone(),
            roles => server.as_user(permission::USER, roles),
        };
        let gate = Gate {
            server,
            ignored: Arc::new(self.ignored.clone()),
            usage: self.usage.clone(),
            always: Arc::new(self.always.clone()),
            shared: Arc::new(Mutex::new(GateState::new(disturbance, !late, acts.is_empty(), revision))),
            alive: Arc::new(AtomicBool::new(true)),
        };
        if acts.is_empty() {
            gate.state().act();
        }
        let mut acts = VecDeque::from(acts);
        let mut starting = !acts.is_empty();
        let mut endings = 0;
        let restless = loop {
            match self.process(starts, &gate, &mut acts, &mut starting) {
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
            (state.dead, state.burst, state.second) = (false, 0, false);
        };
        let (mut status, mut bumped) = (Vec::new(), Vec::new());
        if restless.is_none() {
            gate.state().broken.extend(broken(&gate.server, &self.invariants));
            status = status::violations(&gate.server, &self.kinds());
            bumped = status::bumps(&gate.server, &self.kinds(), start);
        }
        let state = gate.state();
        let mut unsupported = state.unsupported.clone();
        unsupported.extend(state.problem.clone());
        let disturbed = matches!(state.disturbance, Disturbance::Nothing);
        let mut reviews = review::lines(state.reviews.clone());
        reviews.sort();
        reviews.dedup();
        let mut broken = state.broken.clone();
        broken.sort();
        broken.dedup();
        Outcome {
            log: state.log.clone(),
            restless,
            unsupported,
            disturbed,
            forbidden: state.forbidden.iter().cloned().collect(),
            broken,
            reviews,
            status,
            bumped,
        }
    }

    /// Runs one process of the operator to its end.
    fn process(&self, starts: &[&Start], gate: &Gate, acts: &mut VecDeque<Act>, starting: &mut bool) -> Stop {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => return Stop::Restless(format!("cannot start a runtime: {error}")),
        };
        let stop = catch_unwind(AssertUnwindSafe(|| {
            runtime.block_on(async {
                let start = |gate: Gate| {
                    let mut all: Vec<_> =
                        starts.iter().map(|start| start(kube::Client::new(gate.clone(), "default"))).collect();
                    // The process ends with the first of its controllers.
                    Box::pin(std::future::poll_fn(move |context| {
                        match all.iter_mut().any(|one| one.as_mut().poll(context).is_ready()) {
                            true => Poll::Ready(()),
                            false => Poll::Pending,
                        }
                    }))
                };
                let mut operator = Some(start(gate.process()));
                let mut second = None;
                let mut environment = pin!(self.settle(gate, acts, starting));
                std::future::poll_fn(|context| {
                    if let Poll::Ready(stop) = environment.as_mut().poll(context) {
                        return Poll::Ready(stop);
                    }
                    if second.is_none() && gate.state().second {
                        second = Some(start(gate.process()));
                    }
                    let ended = operator.as_mut().is_some_and(|operator| operator.as_mut().poll(context).is_ready());
                    if ended {
                        operator = None;
                    }
                    match &mut second {
                        Some(second) => second.as_mut().poll(context).map(|()| Stop::Ended),
                        None if ended => Poll::Ready(Stop::Ended),
                        None => Poll::Pending,
                    }
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
        // Steps with changes.
        let mut churn = 0;
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
                state.advance(step);
                state.counting |= !*starting;
                steps += 1;
                busy += usize::from(state.writes > writes);
                writes = state.writes;
            }
            if *starting || (quiet >= patience && !acts.is_empty()) {
                if !*starting {
                    gate.state().broken.extend(broken(server, &self.invariants));
                }
                *starting = false;
                gate.state().act();
                if let Some(Err(problem)) = acts.pop_front().map(|act| act(server)) {
                    gate.state().problem = Some(problem);
                }
                (elapsed, quiet, steps, busy, churn) = (0, 0, 0, 0, 0);
                continue;
            }
            // The environment only reacts to changes.
            let now = server.changes();
            if now > seen {
                // Its own changes count in the next step: the Pods of a deleted ReplicaSet are garbage then.
                seen = now;
                server.collect_garbage();
                if let Err(problem) = self.stages.step(server) {
                    return Stop::Restless(problem);
                }
            }
            let changed = server.changed(changes);
            changes += changed.len();
            if changed.iter().all(|resource| self.ignored.contains(resource)) {
                quiet += step;
            } else {
                (quiet, steps, busy) = (0, 0, 0);
                churn += 1;
            }
            if quiet >= patience && acts.is_empty() {
                let many = steps > 8 && busy * 2 > steps;
                let reason = || format!("writes in {busy} of {steps} steps of {STEP} s, although nothing changes");
                return if many { Stop::Restless(reason()) } else { Stop::Settled };
            }
            if elapsed >= LIMIT * patience || churn >= CHURN {
                let last = changed.into_iter().next_back().unwrap_or_default();
                return Stop::Restless(format!(
                    "objects still change after {elapsed} s of virtual time, such as {last}"
                ));
            }
        }
    }
}

/// The invariants that do not hold.
fn broken(server: &ApiServer, invariants: &[(String, Invariant)]) -> Vec<String> {
    let reasons = invariants.iter().filter_map(|(name, invariant)| Some((name, invariant(server).err()?)));
    reasons.map(|(name, reason)| format!("+ {name}: {reason}")).collect()
}
