//! A process as a candidate in the election, from the start to the end of its work.
//!
//! The process loses its leadership before others can gain it. A reconcile that does not end in time ends the process.

use std::hash::{BuildHasher, RandomState};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use kube::{Api, Client};

use super::LifeRules;
use super::ability::{Ability, POLL};
use super::contest::{Contest, LeaseRequests, Turn};
use super::gate::{Gate, Patience};
use super::leadership::Leadership;
use super::lease::{LeaseElector, Timing};
#[cfg(feature = "leader-for-life")]
use super::{life, lock};
use crate::error::Error;
use crate::signal::Shutdown;
use crate::time;

/// Time that a replica without leadership has to leave the election.
const LEAVE: Duration = Duration::from_millis(500);

/// Minimum time between two logs that a replica does not contend.
const RARELY: Duration = Duration::from_secs(600);

/// A candidate for a Lease, or for the ConfigMap of a leader for life.
pub(crate) struct Candidate {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) identity: String,
    pub(crate) timing: Timing,
    pub(crate) life: Option<LifeRules>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) leadership: Leadership,
    pub(crate) on_change: Box<dyn Fn(bool) + Send + Sync>,
    pub(crate) ability: Ability,
    pub(crate) patience: Duration,
    /// Time that running reconciles have to end.
    pub(crate) grace: Duration,
    pub(crate) shutdown: Shutdown,
}

impl Candidate {
    /// Takes part in the election while `work` runs. All reconciles have ended when `work` completes.
    pub(crate) async fn during(self, work: impl Future<Output = ()> + Send) -> Result<(), Error> {
        let (timing, gate, grace) = (self.timing, self.gate.clone(), self.grace);
        let (ability, shutdown) = (self.ability.clone(), self.shutdown.clone());
        let unable = unable(ability, gate.clone(), self.patience);
        let (done, ended) = tokio::sync::oneshot::channel::<()>();
        let mut election = pin!(self.run(ended.map(drop)));
        let mut work = pin!(work);
        let failed = tokio::select! {
            outcome = &mut election => return outcome,
            () = &mut work => None,
            error = unable => {
                tracing::error!(%error, "letting go of the leadership");
                shutdown.request();
                let work = tokio::time::timeout(grace + LEAVE, &mut work);
                tokio::select! {
                    outcome = &mut election => return outcome.and(Err(error)),
                    // While a reconcile runs, the Lease is not released but expires.
                    ended = work => if ended.is_err() {
                        gate.close();
                        return Err(error);
                    }
                }
                Some(error)
            }
        };
        drop(done);
        // Without an answer, others wait until the lease expires, which is safe.
        let leads = gate.lets_pass(time::boot());
        let limit = if leads { timing.renew_deadline } else { LEAVE };
        let released = tokio::time::timeout(limit, election).await;
        failed.map_or(Ok(()), Err).and(released.unwrap_or(Ok(())))
    }

    /// Contends and leads until `stop` completes, then releases the Lease. No reconcile may run at `stop`.
    pub(crate) async fn run(self, stop: impl Future<Output = ()> + Send) -> Result<(), Error> {
        let mut contest = self.contest();
        let mut stop = pin!(stop.fuse());
        let (mut leading, mut lost, mut stopping) = (false, false, false);
        let mut holder = String::new();
        (self.on_change)(false);
        let mut contends = false;
        loop {
            let leads = self.gate.lets_pass(time::boot());
            if !leading && !leads && !stopping && self.ability.unsynced().is_some() {
                tokio::select! {
                    ended = self.able(&mut contest) => ended?,
                    () = &mut stop => {
                        if !contends {
                            return Ok(());
                        }
                        stopping = true;
                        contest.release();
                    }
                }
            }
            if !contends && !stopping {
                contends = true;
                tracing::info!(
                    election = self.name,
                    namespace = self.namespace,
                    identity = self.identity,
                    "contending"
                );
            }
            if contest.holder() != holder {
                contest.holder().clone_into(&mut holder);
                if !holder.is_empty() && holder != self.identity {
                    tracing::info!(election = self.name, holder, "the leader is another one");
                }
            }
            let leads = self.gate.lets_pass(time::boot());
            lost |= leading && !leads;
            if leads != leading {
                leading = leads;
                self.announce(leads);
            }
            if std::mem::take(&mut lost) && !stopping {
                // All reconciles must end before this process may lead again.
                let idle = tokio::time::timeout(self.timing.lease_duration, self.leadership.idle());
                idle.await.map_err(|_| Error::Stuck)?;
                continue;
            }
            let turn = {
                let mut turn = pin!(contest.turn());
                tokio::select! {
                    turn = &mut turn => turn,
                    () = self.shut(), if leading => {
                        (leading, lost) = (false, true);
                        self.announce(false);
                        turn.await
                    }
                }
            };
            match turn {
                Turn::Asked => {}
                Turn::Wait(pause) => tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    // The next turn handles it.
                    () = self.shut(), if leading => {}
                    () = &mut stop => {
                        stopping = true;
                        contest.release();
                    }
                },
                Turn::Over => {
                    if stopping && self.ability.unsynced().is_some() {
                        contest.resign().await;
                    }
                    return Ok(());
                }
                Turn::Homeless => return Err(self.homeless()),
            }
        }
    }

    /// Completes when the caches are full. This replica does not contend before, because a leader must be able to work.
    async fn able(&self, contest: &mut Contest<'_>) -> Result<(), Error> {
        let mut patience = Patience::new(self.patience, POLL);
        let (mut looked, mut told) = (Duration::ZERO, self.timing.lease_duration);
        let start = time::boot();
        while let Some(unsynced) = self.ability.unsynced() {
            let waited = time::boot().saturating_sub(start);
            if waited >= told {
                told = waited + RARELY;
                tracing::warn!(
                    election = self.name,
                    identity = self.identity,
                    unsynced,
                    "not contending for the leadership: a replica whose caches are not full can't work"
                );
            }
            // A lock from an earlier process of this Pod keeps others from leading.
            if waited >= looked + POLL {
                looked = waited;
                if patience.ends(time::boot(), false) && contest.resign().await {
                    return Err(Error::Caches(unsynced));
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    fn contest(&self) -> Contest<'_> {
        let seed = RandomState::new().hash_one(&self.identity);
        let (timing, gate) = (self.timing, self.gate.clone());
        let timeout = timing.renew_deadline / 2;
        let (client, namespace, name) = (&self.client, &self.namespace, &self.name);
        match &self.life {
            #[cfg(feature = "leader-for-life")]
            Some(rules) => Contest::Life(
                life::LifeElector::new(rules.clone(), timing, gate, seed),
                lock::LifeRequests::new(client, namespace, name, timeout),
            ),
            _ => Contest::Lease(
                LeaseElector::new(self.identity.clone(), timing, gate, seed),
                LeaseRequests::new(Api::namespaced(client.clone(), namespace), name, timeout),
            ),
        }
    }

    /// Completes when the gate shuts, according to its current deadline.
    async fn shut(&self) {
        let left = self.gate.until().saturating_sub(time::boot());
        tokio::time::sleep(left).await;
    }

    fn homeless(&self) -> Error {
        let pod = self.life.as_ref().map_or("", |rules| &rules.pod);
        let namespace = &self.namespace;
        Error::Election(format!(
            "there is no pod `{pod}` in the namespace `{namespace}`, and a leader for life is a pod: check `POD_NAME` and \
             `--leader-election-namespace`, or use `--leader-election-mode=lease`, which works outside a cluster, too"
        ))
    }

    fn announce(&self, leading: bool) {
        if leading {
            tracing::info!(election = self.name, identity = self.identity, "leading");
        } else {
            tracing::warn!(
                election = self.name,
                identity = self.identity,
                "not leading any more"
            );
        }
        (self.on_change)(leading);
        self.leadership.set(leading);
    }
}

/// Completes with the reason when this replica has led without being able to work for longer than the limit.
async fn unable(ability: Ability, gate: Arc<Gate>, limit: Duration) -> Error {
    let poll = POLL.min(limit / 4);
    let mut patience = Patience::new(limit, poll);
    loop {
        tokio::time::sleep(poll).await;
        let now = time::boot();
        let error = ability.error().filter(|_| gate.lets_pass(now));
        let ends = patience.ends(now, error.is_none());
        if let Some(error) = error.filter(|_| ends) {
            return error;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::convert::Infallible;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};

    use hyper::{Request, Response};
    use kube::client::Body;
    use serde_json::{Value, json};

    use super::*;

    /// A Lease that everybody may write.
    fn client(lease: &Arc<Mutex<Value>>) -> Client {
        let lease = lease.clone();
        let answer = move |request: Request<Body>| {
            let lease = lease.clone();
            async move {
                let body = request.into_body().collect_bytes().await;
                let body = body.unwrap_or_default();
                let mut lease = lease.lock().unwrap();
                if let Ok(mut written) = serde_json::from_slice::<Value>(&body) {
                    written["metadata"]["resourceVersion"] = json!("1");
                    *lease = written;
                }
                Ok::<_, Infallible>(Response::new(Body::from(lease.to_string().into_bytes())))
            }
        };
        Client::new(tower::service_fn(answer), "default")
    }

    fn switch(name: &str) -> (Arc<AtomicBool>, Reasons) {
        let (on, name) = (Arc::<AtomicBool>::default(), name.to_owned());
        let read = on.clone();
        let reasons = move || {
            let reason = read.load(Ordering::SeqCst).then(|| name.clone());
            BTreeSet::from_iter(reason)
        };
        (on, Arc::new(reasons))
    }

    type Reasons = Arc<dyn Fn() -> BTreeSet<String> + Send + Sync>;

    /// Runs a leader that becomes unable. Returns its error, and true if it released the Lease.
    async fn ends(caches: bool, drains: bool) -> (String, bool) {
        let (unsynced, hung) = (switch("Secret (v1) is forbidden"), switch("controller `a`"));
        let lease = Arc::new(Mutex::new(json!({ "metadata": { "name": "a" } })));
        let shutdown = Shutdown::default();
        let candidate = Candidate {
            client: client(&lease),
            namespace: "default".to_owned(),
            name: "a".to_owned(),
            identity: "me".to_owned(),
            timing: Timing {
                lease_duration: Duration::from_secs(30),
                renew_deadline: Duration::from_secs(20),
                retry_period: Duration::from_millis(50),
            },
            life: None,
            gate: Arc::new(Gate::shut()),
            leadership: Leadership::new(false),
            on_change: Box::new(|_| {}),
            ability: Ability {
                unsynced: unsynced.1,
                hung: hung.1,
            },
            patience: Duration::from_millis(200),
            grace: Duration::from_millis(200),
            shutdown: shutdown.clone(),
        };
        let leadership = candidate.leadership.clone();
        let work = async {
            leadership.held().await;
            if caches { unsynced.0 } else { hung.0 }.store(true, Ordering::SeqCst);
            shutdown.requested().await;
            if !drains {
                std::future::pending::<()>().await;
            }
        };
        let ended = tokio::time::timeout(Duration::from_secs(60), candidate.during(work)).await;
        let error = ended.expect("in time").expect_err("it is unable");
        let lease = lease.lock().unwrap();
        (error.to_string(), lease["spec"]["holderIdentity"] == "")
    }

    #[tokio::test]
    async fn a_leader_that_becomes_unable_lets_go_and_ends() {
        let caches = "the caches were not complete for two minutes: Secret (v1) is forbidden";
        let hung = "a reconcile did not end two minutes after its time limit, does it block its thread? controller `a`";
        assert_eq!(ends(true, true).await, (caches.to_owned(), true));
        assert_eq!(ends(false, true).await, (hung.to_owned(), true));
        // A running reconcile must not overlap with the next leader.
        assert_eq!(ends(false, false).await, (hung.to_owned(), false));
    }
}
