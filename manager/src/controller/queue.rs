//! The work queue of a controller. A waiting object is in it once, and no object is reconciled twice at the same time.
//!
//! A change is never lost: an object that changes during its reconcile is queued again when the reconcile ends.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{BuildHasher, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::metrics::{Load, QueueMetrics};
use crate::object::ObjectKey;

pub(super) const FIRST_DELAY: Duration = Duration::from_millis(5);
const LONGEST_DELAY: Duration = Duration::from_secs(1000);

#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<QueueState>,
    changed: Notify,
}

/// Objects of low priority are taken when no other waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priority {
    Normal,
    Low,
}

#[derive(Default)]
struct QueueState {
    normal: VecDeque<ObjectKey>,
    /// In order of arrival. A key that was raised to [`Priority::Normal`] is also in `normal`, and skipped here.
    low: VecDeque<ObjectKey>,
    /// The keys in `normal` and `low`, and keys that were added during their reconcile.
    waiting: BTreeMap<ObjectKey, Waiting>,
    /// Start of each running reconcile.
    working: BTreeMap<ObjectKey, Instant>,
    planned: BTreeMap<ObjectKey, Instant>,
    /// The entries of `planned`, by time.
    schedule: BTreeSet<(Instant, ObjectKey)>,
    failures: BTreeMap<ObjectKey, u32>,
    metrics: QueueMetrics,
    /// Time since which this replica may work. Waiting before that does not count.
    open: Option<Instant>,
}

#[derive(Clone, Copy)]
struct Waiting {
    since: Instant,
    priority: Priority,
}

impl Queue {
    pub(crate) fn new(metrics: QueueMetrics) -> Self {
        let queue = Self::default();
        queue.lock().metrics = metrics;
        queue
    }

    /// Queues an object now, or when its running reconcile ends.
    pub(crate) fn add(&self, key: ObjectKey, priority: Priority) {
        self.change(|state| state.add(key, priority));
    }

    /// Queues an object after this time, unless it is queued earlier.
    pub(crate) fn add_after(&self, key: ObjectKey, delay: Duration) {
        let due = Instant::now().checked_add(delay);
        self.change(|state| {
            state.metrics.retries.inc();
            // A time beyond the range of the clock never comes.
            if let Some(due) = due {
                state.plan(key, due);
            }
        });
    }

    /// Queues an object after a backoff that doubles with each consecutive failure. Returns the delay.
    pub(crate) fn retry(&self, key: ObjectKey) -> Duration {
        let failures = self.change(|state| {
            let failures = state.failures.entry(key.clone()).or_default();
            *failures = failures.saturating_add(1);
            *failures
        });
        let delay = jittered(backoff(failures), random());
        self.add_after(key, delay);
        delay
    }

    pub(crate) fn succeeded(&self, key: &ObjectKey) {
        self.change(|state| state.failures.remove(key));
    }

    /// Handles a deleted object: drops its backoff and its planned reconcile.
    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.change(|state| {
            state.failures.remove(key);
            state.unplan(key);
        });
    }

    /// Records since when this replica may work. Waiting times count from there.
    pub(crate) fn opened(&self, open: Instant) {
        self.lock().open = Some(open);
    }

    /// Returns the next object, to be followed by [`Queue::done`]. For one consumer at a time.
    pub(crate) async fn next(&self) -> ObjectKey {
        loop {
            let (next, due) = self.lock().take(Instant::now());
            if let Some(key) = next {
                return key;
            }
            match due {
                Some(due) => tokio::select! {
                    () = self.changed.notified() => {}
                    () = tokio::time::sleep_until(due) => {}
                },
                None => self.changed.notified().await,
            }
        }
    }

    pub(crate) fn done(&self, key: &ObjectKey) {
        self.change(|state| state.done(key));
    }

    pub(crate) fn load(&self) -> Load {
        let state = self.lock();
        let working = || state.working.values().map(Instant::elapsed);
        Load {
            depth: state.waiting.len(),
            unfinished: working().sum(),
            longest: working().max().unwrap_or_default(),
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut QueueState) -> T) -> T {
        let result = change(&mut self.lock());
        self.changed.notify_one();
        result
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    fn add(&mut self, key: ObjectKey, priority: Priority) {
        self.unplan(&key);
        let before = self.waiting.get(&key).copied();
        if before.is_some_and(|before| priority == Priority::Low || before.priority == priority) {
            return;
        }
        let since = before.map_or_else(Instant::now, |before| before.since);
        self.waiting
            .insert(key.clone(), Waiting { since, priority });
        if before.is_none() {
            self.metrics.adds.inc();
        }
        if !self.working.contains_key(&key) {
            self.line(priority).push_back(key);
        }
    }

    fn line(&mut self, priority: Priority) -> &mut VecDeque<ObjectKey> {
        match priority {
            Priority::Normal => &mut self.normal,
            Priority::Low => &mut self.low,
        }
    }

    fn next_low(&mut self) -> Option<ObjectKey> {
        while let Some(key) = self.low.pop_front() {
            let waiting = self.waiting.get(&key);
            let low = waiting.is_some_and(|waiting| waiting.priority == Priority::Low);
            if low && !self.working.contains_key(&key) {
                return Some(key);
            }
        }
        None
    }

    fn plan(&mut self, key: ObjectKey, due: Instant) {
        let earlier = self
            .planned
            .get(&key)
            .is_some_and(|planned| *planned <= due);
        if !earlier && !self.waiting.contains_key(&key) {
            self.unplan(&key);
            self.schedule.insert((due, key.clone()));
            self.planned.insert(key, due);
        }
    }

    fn unplan(&mut self, key: &ObjectKey) {
        if let Some((key, due)) = self.planned.remove_entry(key) {
            self.schedule.remove(&(due, key));
        }
    }

    /// Takes the next object, and returns when the next planned one is due.
    fn take(&mut self, now: Instant) -> (Option<ObjectKey>, Option<Instant>) {
        while let Some((due, key)) = self.schedule.first()
            && *due <= now
        {
            self.add(key.clone(), Priority::Normal);
        }
        let key = self.normal.pop_front().or_else(|| self.next_low());
        if let Some(key) = &key {
            if let Some(waiting) = self.waiting.remove(key) {
                let since = self
                    .open
                    .map_or(waiting.since, |open| open.max(waiting.since));
                let waited = now.duration_since(since);
                self.metrics.waited.observe(waited.as_secs_f64());
            }
            self.working.insert(key.clone(), now);
        }
        (key, self.schedule.first().map(|(due, _)| *due))
    }

    fn done(&mut self, key: &ObjectKey) {
        if let Some(since) = self.working.remove(key) {
            let worked = since.elapsed();
            self.metrics.worked.observe(worked.as_secs_f64());
            if let Some(waiting) = self.waiting.get(key) {
                self.line(waiting.priority).push_back(key.clone());
            }
        }
    }
}

fn backoff(failures: u32) -> Duration {
    let factor = 1_u32
        .checked_shl(failures.saturating_sub(1))
        .unwrap_or(u32::MAX);
    FIRST_DELAY
        .checked_mul(factor)
        .map_or(LONGEST_DELAY, |delay| delay.min(LONGEST_DELAY))
}

/// Adds up to a quarter, so that objects that failed together are not retried together.
fn jittered(delay: Duration, random: u64) -> Duration {
    let share = u32::try_from(random % 256).unwrap_or_default();
    delay + delay / 4 * share / 255
}

/// Returns a random number, from the seed of a standard hasher.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use prometheus_client::registry::Registry;

    use super::*;
    use crate::metrics::{self, Metrics};

    fn key(name: impl ToString) -> ObjectKey {
        ObjectKey {
            namespace: None,
            name: name.to_string(),
        }
    }

    #[tokio::test]
    async fn an_object_is_worked_on_once_and_never_twice_at_a_time() {
        let queue = Queue::default();
        for name in ["a", "b", "a"] {
            queue.add(key(name), Priority::Normal);
        }
        assert_eq!(queue.next().await, key("a"));
        queue.add(key("a"), Priority::Normal);
        assert_eq!(queue.next().await, key("b"));
        queue.add(key("c"), Priority::Normal);
        assert_eq!(queue.next().await, key("c"), "`a` is still being worked on");
        queue.done(&key("a"));
        assert_eq!(queue.next().await, key("a"));
    }

    #[tokio::test]
    async fn a_retry_comes_back_and_a_forgotten_one_does_not() {
        let queue = Queue::default();
        queue.retry(key("a"));
        queue.retry(key("b"));
        queue.forget(&key("b"));
        assert_eq!(queue.next().await, key("a"));
        queue.done(&key("a"));
        assert!(queue.retry(key("a")) >= Duration::from_millis(10));
        queue.succeeded(&key("a"));
        assert_eq!(queue.next().await, key("a"));
        let empty = |state: &mut QueueState| {
            state.planned.is_empty() && state.schedule.is_empty() && state.failures.is_empty()
        };
        assert!(queue.change(empty));
    }

    /// The time on standby does not count as waiting.
    #[tokio::test(start_paused = true)]
    async fn the_waiting_time_counts_from_when_this_replica_may_work() {
        let mut registry = Registry::default();
        let queue = Queue::new(Metrics::new(&mut registry).queue("test"));
        queue.add(key("a"), Priority::Normal);
        tokio::time::advance(Duration::from_secs(3600)).await;
        queue.opened(Instant::now());
        tokio::time::advance(Duration::from_secs(2)).await;
        queue.add(key("b"), Priority::Normal);
        tokio::time::advance(Duration::from_secs(3)).await;
        for name in ["a", "b"] {
            assert_eq!(queue.next().await, key(name));
        }
        let page = metrics::page(&registry);
        let sum = page
            .lines()
            .find(|line| line.starts_with("workqueue_queue_duration_seconds_sum"));
        assert_eq!(
            sum,
            Some("workqueue_queue_duration_seconds_sum{controller=\"test\",name=\"test\"} 8.0")
        );
    }

    #[test]
    fn a_change_comes_before_a_planned_visit_and_takes_its_place() {
        let mut state = QueueState::default();
        let now = Instant::now();
        let at = |seconds| now + Duration::from_secs(seconds);
        state.plan(key("a"), at(9));
        state.plan(key("a"), at(5));
        state.plan(key("a"), at(7));
        assert_eq!(state.take(at(4)), (None, Some(at(5))));
        state.add(key("a"), Priority::Normal);
        assert_eq!(state.take(at(4)), (Some(key("a")), None));
        state.plan(key("a"), at(5));
        assert_eq!(state.take(at(5)), (None, None), "still being worked on");
        state.done(&key("a"));
        assert_eq!(state.take(at(5)), (Some(key("a")), None));
    }

    #[test]
    fn normal_priority_overtakes_low() {
        let mut state = QueueState::default();
        let now = Instant::now();
        let next = |state: &mut QueueState| state.take(now).0.map(|key| key.name);
        for name in ["a", "b", "c", "d"] {
            state.add(key(name), Priority::Low);
        }
        state.add(key("c"), Priority::Normal);
        state.add(key("c"), Priority::Low);
        state.add(key("x"), Priority::Normal);
        let mut taken = Vec::from_iter((0..3).map_while(|_| next(&mut state)));
        // Both are added again during their reconciles.
        state.add(key("c"), Priority::Low);
        state.add(key("a"), Priority::Low);
        state.add(key("a"), Priority::Normal);
        state.done(&key("c"));
        state.done(&key("a"));
        taken.extend((0..9).map_while(|_| next(&mut state)));
        assert_eq!(taken, ["c", "x", "a", "a", "b", "c", "d"]);
        assert!(state.low.is_empty() && state.waiting.is_empty());
    }

    #[test]
    fn the_delay_doubles_up_to_1000_seconds_and_a_quarter() {
        let delays = [1, 2, 3, 18, 19, 33, u32::MAX].map(|failures| backoff(failures).as_millis());
        assert_eq!(
            delays,
            [5, 10, 20, 655_360, 1_000_000, 1_000_000, 1_000_000]
        );
        let second = Duration::from_secs(1);
        assert_eq!(jittered(second, 0), second);
        assert_eq!(jittered(second, 255), second + second / 4);
        let jittered = [(); 50].map(|()| jittered(second, random()));
        assert!(jittered.iter().any(|delay| *delay != jittered[0]));
    }

    /// A random walk. Every added object is taken afterwards, but not during its reconcile. A planned object is neither
    /// early nor lost.
    #[test]
    fn nothing_is_lost_or_doubled_in_any_order() {
        for seed in 1..=200_u64 {
            let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut dice = |sides: u64| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                random % sides
            };
            let mut state = QueueState::default();
            let mut now = Instant::now();
            let mut wanted = BTreeMap::<ObjectKey, Instant>::new();
            let mut working = BTreeSet::new();
            for _ in 0..500 {
                let some = key(dice(5));
                match dice(6) {
                    0 => {
                        let priorities = [Priority::Normal, Priority::Low];
                        state.add(some.clone(), priorities[usize::from(dice(2) == 0)]);
                        wanted.insert(some, now);
                    }
                    1 => {
                        let due = now + Duration::from_millis(dice(20));
                        state.plan(some.clone(), due);
                        let first = wanted.get(&some).map_or(due, |before| due.min(*before));
                        wanted.insert(some, first);
                    }
                    2 => now += Duration::from_millis(dice(10)),
                    3 => {
                        state.done(&some);
                        working.remove(&some);
                    }
                    _ => {
                        let free =
                            |key: &ObjectKey, due: &Instant| *due <= now && !working.contains(key);
                        match state.take(now).0 {
                            Some(key) => {
                                assert!(
                                    wanted.remove(&key).is_some_and(|due| due <= now),
                                    "seed {seed}"
                                );
                                assert!(working.insert(key), "seed {seed}: twice at a time");
                            }
                            None => assert!(
                                !wanted.iter().any(|(key, due)| free(key, due)),
                                "seed {seed}: lost"
                            ),
                        }
                    }
                }
            }
        }
    }

    /// Threads change objects, and workers read them. The last read sees the last change.
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn no_change_goes_unseen_between_threads() {
        const CHANGES: usize = 2_000;
        let queue = Arc::new(Queue::default());
        let newest: Arc<[AtomicUsize; 4]> = Arc::default();
        let seen: Arc<[AtomicUsize; 4]> = Arc::default();
        for object in 0..4 {
            let (queue, newest) = (queue.clone(), newest.clone());
            tokio::spawn(async move {
                for change in 1..=CHANGES {
                    newest[object].store(change, Ordering::SeqCst);
                    queue.add(key(object), Priority::Normal);
                    if change % 7 == object {
                        tokio::task::yield_now().await;
                    }
                }
            });
        }
        let all_seen = async {
            let mut workers = tokio::task::JoinSet::new();
            while seen
                .iter()
                .any(|seen| seen.load(Ordering::SeqCst) < CHANGES)
            {
                let next = tokio::select! {
                    next = queue.next() => next,
                    Some(_) = workers.join_next() => continue,
                };
                let object: usize = next.name.parse().expect("a number");
                let (queue, newest, seen) = (queue.clone(), newest.clone(), seen.clone());
                workers.spawn(async move {
                    let now = newest[object].load(Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    seen[object].store(now, Ordering::SeqCst);
                    queue.done(&next);
                });
            }
        };
        let deadline = Duration::from_secs(60);
        assert!(
            tokio::time::timeout(deadline, all_seen).await.is_ok(),
            "a change went unseen"
        );
    }
}
