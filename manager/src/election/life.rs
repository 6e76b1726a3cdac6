//! Leader for life: decides which request to send next, and what an answer means.
//!
//! The lock is a ConfigMap that the leader's Pod owns. It is created once and never changed. Garbage collection removes
//! it when that Pod is gone, and not before, so that no clock decides who leads. As in [`super::lease`], this module
//! makes all decisions and does no I/O.
//!
//! - Pods are identified by UID: a new container in the same Pod continues to lead, a new Pod with its name does not.
//! - Nobody deletes the lock. A Pod that has terminated (after an eviction, for example) is deleted instead.
//! - A node that is not ready may still run the Pod, so others wait for it, unless the user accepts two leaders.
//! - The leader reads the lock regularly. Its gate is open until the *start* of the last read that found its own lock,
//!   plus the renew deadline: a process that was stopped or cut off must read before it writes.

use std::sync::Arc;
use std::time::Duration;

use super::LifeRules;
use super::gate::Gate;
use super::lease::{Timing, jittered};

/// A Pod, but not a later one with the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) name: String,
    pub(crate) uid: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lock {
    Absent,
    /// Not owned by a Pod, so that garbage collection never removes it.
    Ownerless,
    Owned(Owner),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pod {
    pub(crate) uid: String,
    /// All containers have terminated for good.
    pub(crate) ended: bool,
    /// The Pod is being deleted.
    pub(crate) leaving: bool,
    pub(crate) node: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// Ready or gone. Kubernetes deletes the Pods of a node that is gone.
    Fine,
    /// Not ready since this time of the control plane, which only identifies the outage.
    Unready(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LifeStep {
    /// Call again after this time.
    Wait(Duration),
    ReadLock,
    ReadPod(String),
    ReadNode(String),
    /// Create the lock for this Pod; the lock must not exist.
    Create(Owner),
    /// Delete this terminated Pod.
    Delete(Owner),
    /// Delete this Pod without waiting for its node.
    DeleteByForce(Owner),
    /// The Pod of this process does not exist.
    Homeless,
    /// Nothing left to do. The lock stays.
    Over,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LifeAnswer {
    Lock(Lock),
    /// `None` if the Pod does not exist.
    Pod(Option<Pod>),
    Node(Node),
    /// The object was written or deleted.
    Done,
    /// Somebody else was first.
    Conflict,
    /// The server may or may not have received the request.
    Failed,
}

/// The reason why this process does not lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitReason {
    Led,
    Unready,
    /// The leader is gone, and garbage collection has yet to remove the lock.
    Collected,
    /// The lock has no owner.
    Ownerless,
    /// The own Pod is being deleted, or gone.
    Leaving,
}

impl WaitReason {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Led => "another pod leads until it is gone",
            Self::Unready => "the node of the leader is not ready, the leader may still run there",
            Self::Collected => {
                "the leader is gone, waiting for garbage collection to remove its ConfigMap"
            }
            Self::Ownerless => "the ConfigMap belongs to no pod: delete it if no replica leads",
            Self::Leaving => "this pod is about to be deleted, or has been replaced",
        }
    }
}

#[derive(Debug)]
pub(crate) struct LifeElector {
    rules: LifeRules,
    timing: Timing,
    gate: Arc<Gate>,
    /// The own Pod, once it was read.
    me: Option<Owner>,
    known: LifeFindings,
    /// The request in flight, and the time when it was sent.
    asked: Option<(LifeStep, Duration)>,
    /// The reason for waiting, and the Pod that causes it.
    reason: Option<(WaitReason, Option<Owner>)>,
    /// The name of the Pod that owns the lock; empty if none does.
    holder: String,
    outage: Option<Outage>,
    /// Time of the next read of the lock.
    due: Duration,
    /// Number of attempts without a change.
    tries: u32,
    over: bool,
    random: u64,
}

/// The results of the current round of reads.
#[derive(Debug, Default)]
struct LifeFindings {
    lock: Option<Lock>,
    /// The owner of the lock, or the own Pod if the lock has no owner.
    pod: Option<Option<Pod>>,
    node: Option<Node>,
}

#[derive(Debug)]
struct Outage {
    node: String,
    since: String,
    /// Time at which the outage was noticed.
    at: Duration,
}

enum LifeVerdict {
    Ask(LifeStep),
    Lead,
    Wait(WaitReason),
}

impl LifeElector {
    /// `seed` makes the jitter differ between processes.
    pub(crate) fn new(rules: LifeRules, timing: Timing, gate: Arc<Gate>, seed: u64) -> Self {
        Self {
            rules,
            timing,
            gate,
            me: None,
            known: LifeFindings::default(),
            asked: None,
            reason: None,
            holder: String::new(),
            outage: None,
            due: Duration::ZERO,
            tries: 0,
            over: false,
            random: seed | 1,
        }
    }

    /// Stops writes. The lock stays until the Pod is gone.
    pub(crate) fn release(&mut self) {
        self.gate.close();
        self.over = true;
    }

    /// Returns the last known Pod that leads, or an empty text.
    pub(crate) fn holder(&self) -> &str {
        &self.holder
    }

    pub(crate) fn pod(&self) -> &str {
        &self.rules.pod
    }

    pub(crate) fn reason(&self) -> Option<WaitReason> {
        self.reason.as_ref().map(|(reason, _)| *reason)
    }

    /// Returns the next step at `now` since boot. After a request, call [`LifeElector::answer`] before the next call.
    pub(crate) fn next(&mut self, now: Duration) -> LifeStep {
        if self.over {
            return LifeStep::Over;
        }
        if now >= self.due {
            match self.verdict(now) {
                LifeVerdict::Ask(step) => {
                    self.asked = Some((step.clone(), now));
                    return step;
                }
                LifeVerdict::Lead => {
                    self.reason = None;
                    self.holder.clone_from(&self.rules.pod);
                    self.look_again(now, 0);
                }
                LifeVerdict::Wait(reason) => {
                    let owner = match self.known.lock.take() {
                        Some(Lock::Owned(owner)) => Some(owner),
                        _ => None,
                    };
                    self.holder = owner
                        .as_ref()
                        .map_or_else(String::new, |it| it.name.clone());
                    let why = Some((reason, owner));
                    let tries = if self.reason == why {
                        self.tries + 1
                    } else {
                        0
                    };
                    self.reason = why;
                    self.look_again(now, tries);
                }
            }
        }
        let mut until = self.due;
        if self.gate.lets_pass(now) {
            until = until.min(self.gate.until());
        }
        LifeStep::Wait(until.saturating_sub(now))
    }

    /// Handles the answer to the request of the last [`LifeElector::next`].
    pub(crate) fn answer(&mut self, now: Duration, answer: LifeAnswer) {
        let Some((step, at)) = self.asked.take() else {
            return;
        };
        match (step, answer) {
            (LifeStep::ReadLock, LifeAnswer::Lock(lock)) => self.found(at, lock),
            (LifeStep::Create(me), LifeAnswer::Done) => self.found(at, Lock::Owned(me)),
            (LifeStep::ReadPod(name), LifeAnswer::Pod(pod)) if self.me.is_none() => match pod {
                Some(pod) => self.me = Some(Owner { name, uid: pod.uid }),
                None => self.known.pod = Some(None),
            },
            (LifeStep::ReadPod(_), LifeAnswer::Pod(pod)) => self.known.pod = Some(pod),
            (LifeStep::ReadNode(_), LifeAnswer::Node(node)) => self.known.node = Some(node),
            (_, LifeAnswer::Done | LifeAnswer::Conflict) => self.look_again(now, 0),
            // The leader reads again soon, before its gate shuts.
            _ if self.gate.lets_pass(now) => self.look_again(now, 0),
            _ => self.look_again(now, self.tries + 1),
        }
    }

    /// Handles the lock as it was at some time after `at`.
    fn found(&mut self, at: Duration, lock: Lock) {
        match &lock {
            Lock::Owned(owner) if self.is_me(owner) => {
                self.gate.renew(at + self.timing.renew_deadline);
            }
            _ => self.gate.close(),
        }
        self.known.lock = Some(lock);
    }

    fn is_me(&self, owner: &Owner) -> bool {
        self.me.as_ref().is_some_and(|me| me.uid == owner.uid)
    }

    fn verdict(&mut self, now: Duration) -> LifeVerdict {
        let Some(me) = self.me.clone() else {
            return LifeVerdict::Ask(match self.known.pod {
                Some(None) => LifeStep::Homeless,
                _ => LifeStep::ReadPod(self.rules.pod.clone()),
            });
        };
        match (&self.known.lock, &self.known.pod) {
            (None, _) => LifeVerdict::Ask(LifeStep::ReadLock),
            (Some(Lock::Ownerless), _) => LifeVerdict::Wait(WaitReason::Ownerless),
            (Some(Lock::Owned(owner)), _) if owner.uid == me.uid => LifeVerdict::Lead,
            (Some(Lock::Owned(owner)), None) => {
                LifeVerdict::Ask(LifeStep::ReadPod(owner.name.clone()))
            }
            (Some(Lock::Owned(owner)), Some(Some(pod))) if pod.uid == owner.uid => {
                self.led_by(owner.clone(), pod.clone(), now)
            }
            (Some(Lock::Owned(_)), Some(_)) => LifeVerdict::Wait(WaitReason::Collected),
            (Some(Lock::Absent), None) => LifeVerdict::Ask(LifeStep::ReadPod(me.name)),
            (Some(Lock::Absent), Some(Some(pod)))
                if pod.uid == me.uid && !pod.leaving && !pod.ended =>
            {
                LifeVerdict::Ask(LifeStep::Create(me))
            }
            // A lock without a living owner would be removed while we lead.
            (Some(Lock::Absent), Some(_)) => LifeVerdict::Wait(WaitReason::Leaving),
        }
    }

    /// Decides about a lock that another existing Pod owns.
    fn led_by(&mut self, owner: Owner, pod: Pod, now: Duration) -> LifeVerdict {
        if pod.ended {
            return LifeVerdict::Ask(LifeStep::Delete(owner));
        }
        let (Some(patience), Some(name)) = (self.rules.takeover_after, pod.node) else {
            return LifeVerdict::Wait(WaitReason::Led);
        };
        match &self.known.node {
            None => LifeVerdict::Ask(LifeStep::ReadNode(name)),
            Some(Node::Fine) => {
                self.outage = None;
                LifeVerdict::Wait(WaitReason::Led)
            }
            Some(Node::Unready(since)) => {
                let same = |outage: &&Outage| outage.node == name && outage.since == *since;
                let at = self
                    .outage
                    .as_ref()
                    .filter(same)
                    .map_or(now, |outage| outage.at);
                let since = since.clone();
                self.outage = Some(Outage {
                    node: name,
                    since,
                    at,
                });
                if now >= at + patience {
                    return LifeVerdict::Ask(LifeStep::DeleteByForce(owner));
                }
                LifeVerdict::Wait(WaitReason::Unready)
            }
        }
    }

    /// Starts a new round. The pause doubles with each attempt, up to eight retry periods.
    fn look_again(&mut self, now: Duration, tries: u32) {
        self.known = LifeFindings::default();
        self.tries = tries.min(3);
        let pause = self.timing.retry_period * (1 << self.tries);
        self.due = now + jittered(&mut self.random, pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: Timing = Timing {
        lease_duration: Duration::from_secs(15),
        renew_deadline: Duration::from_secs(10),
        retry_period: Duration::from_secs(2),
    };

    fn owned(uid: &str) -> LifeAnswer {
        LifeAnswer::Lock(Lock::Owned(owner(uid)))
    }

    fn owner(uid: &str) -> Owner {
        Owner {
            name: format!("pod-{uid}"),
            uid: uid.to_owned(),
        }
    }

    fn pod(uid: &str) -> Pod {
        Pod {
            uid: uid.to_owned(),
            node: Some("node".to_owned()),
            ..Pod::default()
        }
    }

    fn there(pod: Pod) -> LifeAnswer {
        LifeAnswer::Pod(Some(pod))
    }

    fn unready(since: &str) -> LifeAnswer {
        LifeAnswer::Node(Node::Unready(since.to_owned()))
    }

    /// The Pod `pod-me`, with a server that the test plays.
    struct Contender {
        elector: LifeElector,
        gate: Arc<Gate>,
        now: Duration,
    }

    impl Contender {
        fn new(takeover_after: Option<Duration>) -> Self {
            let gate = Arc::new(Gate::shut());
            let rules = LifeRules {
                pod: "pod-me".to_owned(),
                takeover_after,
            };
            let elector = LifeElector::new(rules, TIMING, gate.clone(), 1);
            let now = Duration::from_secs(100);
            let mut contender = Self { elector, gate, now };
            let step = contender.look([there(pod("me"))]);
            assert_eq!(step, LifeStep::ReadLock);
            contender
        }

        /// Gives these answers in turn. Returns the next step.
        fn look(&mut self, answers: impl IntoIterator<Item = LifeAnswer>) -> LifeStep {
            for answer in answers {
                let step = self.elector.next(self.now);
                assert!(
                    !matches!(step, LifeStep::Wait(_)),
                    "no question for {answer:?}"
                );
                self.elector.answer(self.now, answer);
            }
            self.elector.next(self.now)
        }

        fn rest(&mut self) -> Duration {
            let LifeStep::Wait(pause) = self.elector.next(self.now) else {
                panic!("it does not wait");
            };
            self.now += pause;
            pause
        }

        fn leads(&self) -> bool {
            self.gate.lets_pass(self.now)
        }
    }

    #[test]
    fn what_follows_from_the_lock_and_its_pod() {
        let ended = |uid| Pod {
            ended: true,
            ..pod(uid)
        };
        let leaving = |uid| Pod {
            leaving: true,
            ..pod(uid)
        };
        let waits = |reason| (None, Some(reason), false);
        let asks = |step| (Some(step), None, false);
        let absent = LifeAnswer::Lock(Lock::Absent);
        for (answers, expected) in [
            // A free lock.
            (
                vec![absent.clone()],
                asks(LifeStep::ReadPod("pod-me".to_owned())),
            ),
            (
                vec![absent.clone(), there(pod("me"))],
                asks(LifeStep::Create(owner("me"))),
            ),
            (
                vec![absent.clone(), there(pod("me")), LifeAnswer::Done],
                (None, None, true),
            ),
            (
                vec![absent.clone(), there(leaving("me"))],
                waits(WaitReason::Leaving),
            ),
            (
                vec![absent.clone(), there(ended("me"))],
                waits(WaitReason::Leaving),
            ),
            (
                vec![absent.clone(), there(pod("later"))],
                waits(WaitReason::Leaving),
            ),
            (
                vec![absent, LifeAnswer::Pod(None)],
                waits(WaitReason::Leaving),
            ),
            // Our lock, although this process did not create it.
            (vec![owned("me")], (None, None, true)),
            // The lock of another Pod.
            (
                vec![owned("a")],
                asks(LifeStep::ReadPod("pod-a".to_owned())),
            ),
            (vec![owned("a"), there(pod("a"))], waits(WaitReason::Led)),
            (
                vec![owned("a"), there(leaving("a"))],
                waits(WaitReason::Led),
            ),
            (
                vec![owned("a"), there(ended("a"))],
                asks(LifeStep::Delete(owner("a"))),
            ),
            (
                vec![owned("a"), there(pod("later"))],
                waits(WaitReason::Collected),
            ),
            (
                vec![owned("a"), there(ended("later"))],
                waits(WaitReason::Collected),
            ),
            (
                vec![owned("a"), LifeAnswer::Pod(None)],
                waits(WaitReason::Collected),
            ),
            // A lock without an owner.
            (
                vec![LifeAnswer::Lock(Lock::Ownerless)],
                waits(WaitReason::Ownerless),
            ),
        ] {
            let mut contender = Contender::new(None);
            let case = format!("{answers:?}");
            let step = contender.look(answers);
            let step = (!matches!(step, LifeStep::Wait(_))).then_some(step);
            let found = (step, contender.elector.reason(), contender.leads());
            assert_eq!(found, expected, "{case}");
        }
    }

    #[test]
    fn who_waits_leads_when_the_pod_of_the_leader_and_its_lock_are_gone() {
        let mut contender = Contender::new(None);
        for (pod, reason) in [
            (Some(pod("a")), WaitReason::Led),
            // Deleted; garbage collection needs a moment for the lock.
            (None, WaitReason::Collected),
            (None, WaitReason::Collected),
        ] {
            contender.look([owned("a"), LifeAnswer::Pod(pod)]);
            assert_eq!(contender.elector.reason(), Some(reason));
            assert!(!contender.leads());
            contender.rest();
        }
        contender.look([
            LifeAnswer::Lock(Lock::Absent),
            there(pod("me")),
            LifeAnswer::Done,
        ]);
        assert_eq!(
            (contender.elector.reason(), contender.leads()),
            (None, true)
        );
        assert_eq!(contender.elector.holder(), "pod-me");
    }

    #[test]
    fn who_leads_stops_when_its_own_pod_is_deleted_and_does_not_lead_again() {
        let mut contender = Contender::new(None);
        contender.look([owned("me")]);
        assert!(contender.leads());
        for _ in 0..2 {
            contender.rest();
            contender.look([LifeAnswer::Lock(Lock::Absent), LifeAnswer::Pod(None)]);
            assert_eq!(contender.elector.reason(), Some(WaitReason::Leaving));
            assert!(!contender.leads());
        }
    }

    #[test]
    fn an_old_uid_under_the_own_name_is_another_pod() {
        let mut contender = Contender::new(None);
        let before = Owner {
            name: "pod-me".to_owned(),
            ..owner("before")
        };
        contender.look([LifeAnswer::Lock(Lock::Owned(before)), there(pod("me"))]);
        assert_eq!(contender.elector.reason(), Some(WaitReason::Collected));
        assert!(!contender.leads());
    }

    #[test]
    fn without_a_pod_of_that_name_there_is_no_election() {
        let gate = Arc::new(Gate::shut());
        let rules = LifeRules {
            pod: "nobody".to_owned(),
            takeover_after: None,
        };
        let mut elector = LifeElector::new(rules, TIMING, gate, 1);
        assert_eq!(
            elector.next(Duration::ZERO),
            LifeStep::ReadPod("nobody".to_owned())
        );
        // A failed request says nothing about the Pod.
        elector.answer(Duration::ZERO, LifeAnswer::Failed);
        let LifeStep::Wait(pause) = elector.next(Duration::ZERO) else {
            panic!("no pause")
        };
        assert_eq!(elector.next(pause), LifeStep::ReadPod("nobody".to_owned()));
        elector.answer(pause, LifeAnswer::Pod(None));
        assert_eq!(elector.next(pause), LifeStep::Homeless);
    }

    #[test]
    fn the_pause_doubles_while_nothing_changes() {
        let mut contender = Contender::new(None);
        for (uid, retry_periods) in [("a", 1), ("a", 2), ("a", 4), ("a", 8), ("a", 8), ("b", 1)] {
            contender.look([owned(uid), there(pod(uid))]);
            let (pause, expected) = (contender.rest(), TIMING.retry_period * retry_periods);
            assert!(
                expected <= pause && pause < expected * 6 / 5,
                "{uid} {retry_periods}: {pause:?}"
            );
        }
    }

    #[test]
    fn a_leader_that_loses_its_lock_stops_and_contends_again() {
        for loss in [
            owned("a"),
            LifeAnswer::Lock(Lock::Absent),
            LifeAnswer::Lock(Lock::Ownerless),
        ] {
            let mut contender = Contender::new(None);
            contender.look([owned("me")]);
            assert!(contender.rest() <= TIMING.retry_period * 6 / 5);
            assert!(contender.leads());
            let case = format!("{loss:?}");
            contender.look([loss]);
            assert!(!contender.leads(), "{case}");
        }
    }

    #[test]
    fn the_gate_shuts_when_nobody_tells_whose_the_lock_is() {
        let mut contender = Contender::new(None);
        contender.look([owned("me")]);
        let start = contender.now;
        while contender.leads() {
            match contender.elector.next(contender.now) {
                LifeStep::Wait(pause) => contender.now += pause,
                _ => contender.elector.answer(contender.now, LifeAnswer::Failed),
            }
        }
        assert_eq!(contender.now - start, TIMING.renew_deadline);
        // The lock was ours all the time.
        while !contender.leads() {
            match contender.elector.next(contender.now) {
                LifeStep::Wait(pause) => contender.now += pause,
                _ => contender.elector.answer(contender.now, owned("me")),
            }
        }
    }

    #[test]
    fn a_lost_answer_to_the_creation_is_found_out() {
        let mut contender = Contender::new(None);
        contender.look([
            LifeAnswer::Lock(Lock::Absent),
            there(pod("me")),
            LifeAnswer::Failed,
        ]);
        assert!(!contender.leads());
        contender.rest();
        contender.look([owned("me")]);
        assert!(contender.leads());
    }

    #[test]
    fn only_a_long_outage_that_was_seen_is_taken_over() {
        let minute = Duration::from_secs(60);
        let force = LifeStep::DeleteByForce(owner("a"));
        // Answers about the node, one per minute, and true if the last one triggers the deletion.
        for (answers, expected) in [
            (vec![unready("t1")], false),
            (vec![unready("t1"), unready("t1")], false),
            (vec![unready("t1"), unready("t1"), unready("t1")], true),
            // Ready in between, noticed or not.
            (
                vec![unready("t1"), LifeAnswer::Node(Node::Fine), unready("t1")],
                false,
            ),
            (vec![unready("t1"), unready("t1"), unready("t2")], false),
            (vec![LifeAnswer::Node(Node::Fine); 3], false),
        ] {
            let mut contender = Contender::new(Some(2 * minute));
            let case = format!("{answers:?}");
            let mut step = None;
            for answer in answers {
                contender.now += minute;
                let ask = contender.look([owned("a"), there(pod("a"))]);
                assert_eq!(ask, LifeStep::ReadNode("node".to_owned()));
                step = Some(contender.look([answer]));
            }
            assert_eq!(step == Some(force.clone()), expected, "{case}: {step:?}");
        }
    }

    #[test]
    fn the_end_leaves_the_lock() {
        let mut contender = Contender::new(None);
        contender.look([owned("me")]);
        contender.elector.release();
        assert_eq!(contender.elector.next(contender.now), LifeStep::Over);
        assert!(!contender.leads());
    }
}
