//! Leader with lease: what to ask of the API server next, and what its answer means.
//!
//! This is the whole decision and no I/O: time comes in, requests go out, and whoever drives it (the process, or a
//! simulation) carries them to the server. Why two processes never pass their gates at the same time:
//!
//! - Every write of the record names the version that it replaces, so that of two contenders one gets a conflict.
//! - The gate is open until the *start* of the last write that succeeded, plus the renew deadline. Others take over
//!   when they have seen the record unchanged for the lease duration, which is longer; and they have seen it after it
//!   was written, which was after that start.
//! - Both sides measure their own time since boot. Nobody compares clocks: the times in the record are for people.
//! - The record is released by its holder alone, after the gate was shut.

use std::sync::Arc;
use std::time::Duration;

use super::gate::Gate;

/// How long things take, as controller-runtime names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timing {
    /// How long others must see the record unchanged before they take over.
    pub(crate) lease_duration: Duration,
    /// How long after the last renewal the leader gives up.
    pub(crate) renew_deadline: Duration,
    /// Between two tries.
    pub(crate) retry_period: Duration,
}

impl Timing {
    /// What is wrong with it, if something is.
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

/// Both clocks of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Now {
    /// Since the machine was booted, suspend included: what decides.
    pub(crate) boot: Duration,
    /// Since 1970: what is written into the record for people.
    pub(crate) wall: Duration,
}

/// What the Lease says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// Who leads; empty after a release.
    pub(crate) holder: String,
    /// Of the holder; it may be configured otherwise than we are.
    pub(crate) lease_duration: Duration,
    /// How often the holder has changed.
    pub(crate) transitions: i32,
    /// When the holder became the holder, in its wall time.
    pub(crate) acquired: Duration,
    /// When the holder wrote last, in its wall time.
    pub(crate) renewed: Duration,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Ask again after this time.
    Wait(Duration),
    /// Read the record.
    Read,
    /// Write the record, provided that there is none.
    Create(Record),
    /// Write the record, provided that its version is still this one.
    Update(String, Record),
    /// The record is released, or never was ours.
    Released,
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The record as read or written, and its version.
    Record(String, Record),
    /// There is no record.
    Absent,
    /// Somebody else was faster.
    Conflict,
    /// It is unknown whether the server has seen the request.
    Failed,
}

/// One contender.
#[derive(Debug)]
pub(crate) struct Elector {
    identity: String,
    timing: Timing,
    gate: Arc<Gate>,
    /// The record as we know it.
    seen: Option<Seen>,
    /// False if the server may know better than `seen`.
    fresh: bool,
    /// The request under way.
    asked: Option<Asked>,
    /// What to do as soon as possible, after a read.
    write: Option<Write>,
    /// When to try next.
    due: Duration,
    releasing: bool,
    random: u64,
}

#[derive(Debug)]
struct Seen {
    version: String,
    record: Record,
    /// When we noticed that it had changed.
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

impl Elector {
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

    /// From now on there are no more writes: give the record back if it is ours.
    pub(crate) fn release(&mut self) {
        self.gate.close();
        self.releasing = true;
        self.write = None;
        self.due = Duration::ZERO;
    }

    /// Who leads, as far as we know; nobody if empty.
    pub(crate) fn holder(&self) -> &str {
        let seen = self.seen.as_ref();
        seen.map_or("", |seen| seen.record.holder.as_str())
    }

    /// What to do now. After a request, [`Elector::answer`] comes before the next call.
    pub(crate) fn next(&mut self, now: Now) -> Step {
        let write = self.write.take();
        if write.is_none() && now.boot < self.due {
            let mut until = self.due;
            if self.gate.lets_pass(now.boot) {
                until = until.min(self.gate.until());
            }
            return Step::Wait(until - now.boot);
        }
        let mine = self.holder() == self.identity;
        let step = match write {
            Some(Write::Create) => Step::Create(self.record(now)),
            Some(Write::Update) => self.update(now),
            None if self.releasing && self.fresh && !mine => return Step::Released,
            None if mine && self.fresh => self.update(now),
            None => Step::Read,
        };
        self.asked = Some(Asked {
            write: step != Step::Read,
            at: now.boot,
        });
        step
    }

    /// What came of the request of the last [`Elector::next`].
    pub(crate) fn answer(&mut self, now: Now, answer: Answer) {
        let Some(asked) = self.asked.take() else {
            return;
        };
        match answer {
            Answer::Record(version, record) if asked.write => {
                let mine = record.holder == self.identity;
                self.fresh = true;
                self.seen = Some(Seen {
                    version,
                    record,
                    at: now.boot,
                });
                if mine && !self.releasing {
                    self.gate.renew(asked.at + self.timing.renew_deadline);
                    self.due = asked.at + self.timing.retry_period;
                }
            }
            Answer::Record(version, record) => {
                if record.holder != self.identity {
                    // It was taken from us, whatever our deadline says.
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
            Answer::Absent if !asked.write => {
                let free = self.is_free_without_record(now.boot);
                self.gate.close();
                // What is not there can't be updated.
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
            Answer::Absent | Answer::Conflict | Answer::Failed => {
                self.fresh = false;
                if asked.write && answer == Answer::Conflict {
                    // To know by whom is worth more than to wait; the other side has just written.
                    self.due = now.boot + jittered(&mut self.random, self.timing.retry_period / 10);
                } else {
                    self.try_later(now.boot);
                }
            }
        }
    }

    /// Takes note of the record; its age counts from when we first saw this version.
    fn observe(&mut self, now: Duration, version: String, record: Record) {
        let same = |seen: &Seen| seen.version == version && seen.record == record;
        if !self.seen.as_ref().is_some_and(same) {
            self.seen = Some(Seen {
                version,
                record,
                at: now,
            });
        }
    }

    /// Nobody's, ours, or of somebody whose time is over.
    fn is_free(&self, now: Duration) -> bool {
        let Some(Seen { record, at, .. }) = &self.seen else {
            return true;
        };
        let duration = if record.lease_duration.is_zero() {
            self.timing.lease_duration
        } else {
            record.lease_duration
        };
        record.holder.is_empty() || record.holder == self.identity || now >= *at + duration
    }

    /// The record that we know was deleted, or a later one was: that doesn't make its holder stop any sooner, so that it
    /// counts as a change of which all that we know is when we noticed it.
    fn is_free_without_record(&mut self, now: Duration) -> bool {
        let Some(Seen { record, .. }) = &self.seen else {
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

    fn update(&self, now: Now) -> Step {
        let version = self.seen.as_ref().map(|seen| seen.version.clone());
        Step::Update(version.unwrap_or_default(), self.record(now))
    }

    /// The record to write.
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

/// Up to a fifth longer, so that contenders that started together drift apart. `random` is not zero.
pub(crate) fn jittered(random: &mut u64, period: Duration) -> Duration {
    // Marsaglia's xorshift: nothing here needs to be hard to guess.
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    let thousandths = u32::try_from(*random % 200).unwrap_or(0);
    period + period * thousandths / 1000
}

/// The longest that jitter makes of a period.
fn longest(period: Duration) -> Duration {
    period + period / 5
}
