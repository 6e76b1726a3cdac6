//! Leader with lease: decides which request to send next, and what an answer means.
//!
//! This module makes all decisions and does no I/O: time comes in, requests go out. The process or a simulation sends
//! them to the server. Two processes never pass their gates at the same time, for these reasons:
//!
//! - Every write of the record names the version that it replaces, so that one of two contenders gets a conflict.
//! - The gate is open until the *start* of the last successful write, plus the renew deadline. Others take over when
//!   they have seen the record unchanged for the lease duration, which is longer. They saw it after it was written, so
//!   after that start.
//! - Both sides measure their own time since boot. Nobody compares clocks: the times in the record are for people.
//! - Only the holder releases the record, after its gate was shut.

use std::sync::Arc;
use std::time::Duration;

use super::gate::Gate;

/// The durations of the election, named as in controller-runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timing {
    /// Time for which others must see the record unchanged before they take over.
    pub(crate) lease_duration: Duration,
    /// Time after the last renewal at which the leader gives up.
    pub(crate) renew_deadline: Duration,
    /// Pause between two attempts.
    pub(crate) retry_period: Duration,
}

impl Timing {
    /// Returns the error in the configuration, if there is one.
    pub(crate) fn mistake(&self) -> Option<&'static str> {
        if self.retry_period.is_zero() {
            Some("the retry period must be longer than zero")
        } else if self.renew_deadline <= longest(self.retry_period) {
            Some("the renew deadline must be longer than 1.2 retry periods")
        } else if self.lease_duration <= self.renew_deadline {
            Some("the lease duration must be longer than the renew deadline")
        } else {
            None
        }
    }
}

/// The time on both clocks of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Now {
    /// Time since boot, including suspension. Decisions use it.
    pub(crate) boot: Duration,
    /// Time since 1970, written into the record for people.
    pub(crate) wall: Duration,
}

/// The content of the Lease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// The identity of the leader; empty after a release.
    pub(crate) holder: String,
    /// The lease duration of the holder, which may differ from ours.
    pub(crate) lease_duration: Duration,
    /// Number of changes of the holder.
    pub(crate) transitions: i32,
    /// Time at which the holder acquired the Lease, on its wall clock.
    pub(crate) acquired: Duration,
    /// Time of the holder's last write, on its wall clock.
    pub(crate) renewed: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LeaseStep {
    /// Call again after this time.
    Wait(Duration),
    Read,
    /// Create the record; it must not exist.
    Create(Record),
    /// Replace the record; it must still have this version.
    Update(String, Record),
    /// The record was released, or was never ours.
    Released,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LeaseAnswer {
    /// The version, and the record as read or written.
    Record(String, Record),
    Absent,
    /// Somebody else wrote first.
    Conflict,
    /// The server may or may not have received the request.
    Failed,
}

#[derive(Debug)]
pub(crate) struct LeaseElector {
    identity: String,
    timing: Timing,
    gate: Arc<Gate>,
    /// The last known record.
    seen: Option<SeenRecord>,
    /// False if the server may have a newer record.
    fresh: bool,
    /// The request in flight.
    asked: Option<Asked>,
    /// The write to send next, after a read.
    write: Option<Write>,
    /// Time of the next attempt.
    due: Duration,
    releasing: bool,
    random: u64,
}

#[derive(Debug)]
struct SeenRecord {
    version: String,
    record: Record,
    /// Time at which this version was first seen.
    at: Duration,
}

#[derive(Debug)]
struct Asked {
    write: bool,
    at: Duration,
}

#[derive(Debug)]
enum Write {
    Create,
    Update,
}

impl LeaseElector {
    /// `seed` makes the jitter differ between processes.
    pub(crate) fn new(identity: String, timing: Timing, gate: Arc<Gate>, seed: u64) -> Self {
        Self {
            identity,
            timing,
            gate,
            seen: None,
            fresh: false,
            asked: None,
            write: None,
            due: Duration::ZERO,
            releasing: false,
            random: seed | 1,
        }
    }

    /// Stops writes, and releases the record if it is ours.
    pub(crate) fn release(&mut self) {
        self.gate.close();
        self.releasing = true;
        self.write = None;
        self.due = Duration::ZERO;
    }

    /// Returns the last known leader, or an empty text.
    pub(crate) fn holder(&self) -> &str {
        let seen = self.seen.as_ref();
        seen.map_or("", |seen| seen.record.holder.as_str())
    }

    /// Returns the next step. After a request, call [`LeaseElector::answer`] before the next call.
    pub(crate) fn next(&mut self, now: Now) -> LeaseStep {
        let write = self.write.take();
        if write.is_none() && now.boot < self.due {
            let mut until = self.due;
            if self.gate.lets_pass(now.boot) {
                until = until.min(self.gate.until());
            }
            return LeaseStep::Wait(until - now.boot);
        }
        let mine = self.holder() == self.identity;
        let step = match write {
            Some(Write::Create) => LeaseStep::Create(self.record(now)),
            Some(Write::Update) => self.update(now),
            None if self.releasing && self.fresh && !mine => return LeaseStep::Released,
            None if mine && self.fresh => self.update(now),
            None => LeaseStep::Read,
        };
        self.asked = Some(Asked {
            write: step != LeaseStep::Read,
            at: now.boot,
        });
        step
    }

    /// Handles the answer to the request of the last [`LeaseElector::next`].
    pub(crate) fn answer(&mut self, now: Now, answer: LeaseAnswer) {
        let Some(asked) = self.asked.take() else {
            return;
        };
        match answer {
            LeaseAnswer::Record(version, record) if asked.write => {
                let mine = record.holder == self.identity;
                self.fresh = true;
                self.seen = Some(SeenRecord {
                    version,
                    record,
                    at: now.boot,
                });
                if mine && !self.releasing {
                    self.gate.renew(asked.at + self.timing.renew_deadline);
                    self.due = asked.at + self.timing.retry_period;
                }
            }
            LeaseAnswer::Record(version, record) => {
                if record.holder != self.identity {
                    // Somebody took it from us before our deadline.
                    self.gate.close();
                }
                self.observe(now.boot, version, record);
                self.fresh = true;
                if self.is_free(now.boot) {
                    self.write = Some(Write::Update);
                } else {
                    self.try_later(now.boot);
                }
                self.give_up_if_releasing();
            }
            LeaseAnswer::Absent if !asked.write => {
                let free = self.is_free_without_record(now.boot);
                self.gate.close();
                // An absent record cannot be updated.
                self.fresh = self.releasing;
                if free {
                    self.write = Some(Write::Create);
                } else {
                    self.try_later(now.boot);
                }
                if self.releasing {
                    self.seen = None;
                }
                self.give_up_if_releasing();
            }
            LeaseAnswer::Absent | LeaseAnswer::Conflict | LeaseAnswer::Failed => {
                self.fresh = false;
                if asked.write && answer == LeaseAnswer::Conflict {
                    // Read soon to learn the new holder, which has just written.
                    self.due = now.boot + jittered(&mut self.random, self.timing.retry_period / 10);
                } else {
                    self.try_later(now.boot);
                }
            }
        }
    }

    /// Stores the record. Its age counts from the first time we see this version.
    fn observe(&mut self, now: Duration, version: String, record: Record) {
        let same = |seen: &SeenRecord| seen.version == version && seen.record == record;
        if !self.seen.as_ref().is_some_and(same) {
            self.seen = Some(SeenRecord {
                version,
                record,
                at: now,
            });
        }
    }

    /// Returns true if the record has no holder, is ours, or has expired.
    fn is_free(&self, now: Duration) -> bool {
        let Some(SeenRecord { record, at, .. }) = &self.seen else {
            return true;
        };
        let duration = if record.lease_duration.is_zero() {
            self.timing.lease_duration
        } else {
            record.lease_duration
        };
        record.holder.is_empty() || record.holder == self.identity || now >= *at + duration
    }

    /// Returns true if a deleted record is free. The deletion does not stop its holder any sooner, so it counts as a
    /// change: the lease duration runs from the time when we noticed it.
    fn is_free_without_record(&mut self, now: Duration) -> bool {
        let Some(SeenRecord { record, .. }) = &self.seen else {
            return true;
        };
        let duration = record.lease_duration.max(self.timing.lease_duration);
        if record.holder == self.identity && self.gate.lets_pass(now) {
            // Nobody else can lead yet.
            return true;
        }
        let record = record.clone();
        self.observe(now, String::new(), record);
        let noticed = self.seen.as_ref().map(|seen| seen.at);
        noticed.is_none_or(|at| now >= at + duration)
    }

    fn give_up_if_releasing(&mut self) {
        if self.releasing {
            self.due = Duration::ZERO;
            if self.holder() != self.identity {
                self.write = None;
            }
        }
    }

    fn update(&self, now: Now) -> LeaseStep {
        let version = self.seen.as_ref().map(|seen| seen.version.clone());
        LeaseStep::Update(version.unwrap_or_default(), self.record(now))
    }

    fn record(&self, now: Now) -> Record {
        let before = self.seen.as_ref().map(|seen| &seen.record);
        let mut record = Record {
            holder: self.identity.clone(),
            lease_duration: self.timing.lease_duration,
            transitions: before.map_or(0, |before| before.transitions),
            acquired: now.wall,
            renewed: now.wall,
        };
        match before {
            _ if self.releasing => {
                record.holder.clear();
                record.lease_duration = Duration::from_secs(1);
            }
            Some(before) if before.holder == self.identity => record.acquired = before.acquired,
            Some(before) => record.transitions = before.transitions.saturating_add(1),
            None => {}
        }
        record
    }

    fn try_later(&mut self, now: Duration) {
        self.due = now + jittered(&mut self.random, self.timing.retry_period);
    }
}

/// Adds up to a fifth, so that contenders that started together drift apart. `random` must not be zero.
pub(crate) fn jittered(random: &mut u64, period: Duration) -> Duration {
    // Xorshift by Marsaglia; the numbers need not be hard to guess.
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    let thousandths = u32::try_from(*random % 200).unwrap_or(0);
    period + period * thousandths / 1000
}

fn longest(period: Duration) -> Duration {
    period + period / 5
}
