//! Time, network and processes of a simulated world. The seed determines everything.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::gate::{Gate, Patience};
use super::lease::{LeaseAnswer, LeaseElector, LeaseStep, Now, Record, Timing};
use super::server::Server;
use crate::random::Random;

const TIMING: Timing = Timing {
    lease_duration: Duration::from_secs(15),
    renew_deadline: Duration::from_secs(10),
    retry_period: Duration::from_secs(2),
};
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// The time for which a leader may be unable to work. Shorter than in the shipped manager, because other failures end
/// terms early here.
const PATIENCE: Duration = Duration::from_secs(30);
/// The interval of that check.
const POLL: Duration = Duration::from_secs(1);
const PROCESSES: usize = 3;
/// Longer than the pauses and cut-offs that can keep a process from noticing a deletion.
const BETWEEN_DELETIONS: Duration = Duration::from_secs(240);

/// Injected bugs. They are in the driver, not in the shipped code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bug {
    /// Writes without a resourceVersion.
    BlindPatch,
    /// Expiry by the record's own `renewTime`.
    TrustsRenewTime,
    /// The leader ignores the renew deadline.
    NoRenewDeadline,
    /// The clock stands still during a pause.
    NoStopAfterPause,
    /// Shutdown releases the record of any holder.
    ReleaseByNonHolder,
    /// A replica with unfilled caches contends after a lease duration.
    ContendsUnable,
    /// A leader that cannot work keeps the Lease.
    KeepsUnable,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Report {
    /// Gates that opened.
    pub(super) terms: u64,
    pub(super) passed: u64,
    pub(super) refused: u64,
    /// Writes that passed the gate, but arrived after the record named another holder.
    pub(super) late: u64,
    pub(super) conflicts: u64,
    pub(super) released: u64,
    /// Leaders that released the Lease because they could not work.
    pub(super) unable: u64,
    pub(super) deleted: u64,
    /// Events with two writers that are excused: one started after a deletion and could not know the other.
    pub(super) excused: u64,
    /// Simulated hours.
    pub(super) hours: u64,
}

#[derive(Debug)]
enum Event {
    /// Wakes a process if `epoch` is current.
    Wake { process: usize, epoch: u64 },
    /// A request reaches the server; the answer may get lost.
    Arrive { process: usize, request: u64, step: LeaseStep, answered: bool },
    /// An answer, or its timeout.
    Answer { process: usize, request: u64, answer: LeaseAnswer },
    /// A reconcile writes.
    Write { process: usize },
    /// A write that passed the gate reaches the server.
    WriteArrives { identity: String },
    /// A random failure.
    Fate,
}

/// The Lease that a process found when it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Unasked,
    Record,
    Nothing,
}

struct Process {
    index: usize,
    identity: String,
    elector: LeaseElector,
    gate: Arc<Gate>,
    /// The pending request.
    waiting: Option<u64>,
    epoch: u64,
    stopping: bool,
    dead: bool,
    found: Found,
    /// The end of the pause.
    paused: Duration,
    /// The end of the network cut-off.
    cut_off: Duration,
    /// Total time of pauses.
    lost: Duration,
    clock: Clock,
    started: Duration,
    /// A reconcile never returns.
    hung: bool,
    patience: Patience,
}

/// A process clock with an offset and a drift.
#[derive(Clone, Copy)]
struct Clock {
    boot: Duration,
    wall: Duration,
    percent: u32,
}

pub(super) struct World {
    random: Random,
    bug: Option<Bug>,
    now: Duration,
    sequence: u64,
    events: BTreeMap<(Duration, u64), Event>,
    server: Server,
    processes: Vec<Process>,
    /// Since when the caches of each process do not fill. A successor inherits this with its permissions.
    unfilled: [Option<Duration>; PROCESSES],
    transitions: i32,
    /// Time of the last deletion of the Lease.
    deleted: Option<Duration>,
    /// A leader that started without its caches.
    blind: Option<String>,
    /// The network is reliable.
    calm: bool,
    report: Report,
}

impl World {
    pub(super) fn new(seed: u64, bug: Option<Bug>) -> Self {
        let mut random = Random(seed);
        let processes = (0..PROCESSES).map(|index| Process::start(index, 0, Duration::ZERO, &mut random)).collect();
        let mut world = Self {
            random,
            bug,
            now: Duration::from_secs(1),
            sequence: 0,
            events: BTreeMap::new(),
            server: Server::new(bug == Some(Bug::BlindPatch)),
            processes,
            unfilled: [None; PROCESSES],
            transitions: 0,
            deleted: None,
            blind: None,
            calm: false,
            report: Report::default(),
        };
        for process in 0..PROCESSES {
            world.wake(process, Duration::ZERO);
            world.after(Duration::ZERO, Event::Write { process });
        }
        world.after(Duration::from_secs(30), Event::Fate);
        world
    }

    pub(super) fn run(mut self, steps: u64) -> Result<Report, String> {
        for step in 0..steps {
            let Some(((at, _), event)) = self.events.pop_first() else { return Err("nothing left to do".to_owned()) };
            self.now = self.now.max(at);
            let what = format!("{event:?}");
            self.happen(event);
            self.check().map_err(|error| format!("{error} at {:?}, step {step}, after {what}", self.now))?;
        }
        self.calm()?;
        self.report.conflicts = self.server.conflicts;
        self.report.hours = self.now.as_secs() / 3_600;
        Ok(self.report)
    }

    /// Without failures, and with one process that is able to work, an able leader is elected soon.
    fn calm(&mut self) -> Result<(), String> {
        self.calm = true;
        let able = self.random.below(PROCESSES as u64) as usize;
        self.unfilled[able] = None;
        self.processes[able].hung = false;
        let healed = self.processes.iter().map(|process| process.paused.max(process.cut_off)).max();
        let end = self.now.max(healed.unwrap_or_default()) + PATIENCE * 2 + Duration::from_secs(120);
        while let Some(((at, _), event)) = self.events.pop_first() {
            if at > end {
                break;
            }
            self.now = self.now.max(at);
            if !matches!(event, Event::Fate) {
                self.happen(event);
                self.check()?;
            }
        }
        let unable = |leader: &&&Process| leader.hung || self.unfilled[leader.index].is_some();
        match self.leaders()[..] {
            [leader] if unable(&&leader) => Err(format!("the leader {} cannot work", leader.identity)),
            [_] => Ok(()),
            ref leaders => Err(format!("{} leaders, minutes after the last trouble", leaders.len())),
        }
    }

    fn leaders(&self) -> Vec<&Process> {
        let running = self.processes.iter().filter(|process| !process.dead && process.paused <= self.now);
        running.filter(|process| self.passes(process)).collect()
    }

    fn check(&mut self) -> Result<(), String> {
        let leaders = self.leaders();
        if leaders.len() > 1 {
            // A process that starts after a deletion cannot know the previous holder, whose gate shuts soon.
            let soon = self.deleted.is_some_and(|deleted| self.now < deleted + TIMING.renew_deadline * 102 / 100);
            if !(soon && leaders.len() == 2 && leaders.iter().any(|leader| leader.found == Found::Nothing)) {
                let identities: Vec<_> = leaders.iter().map(|leader| &leader.identity).collect();
                return Err(format!("two leaders past the gate: {identities:?}"));
            }
            self.report.excused += 1;
        }
        if let Some(identity) = &self.blind {
            return Err(format!("{identity} leads without its caches"));
        }
        let transitions = self.server.transitions();
        if self.bug.is_none() && transitions < self.transitions {
            return Err(format!("{transitions} transitions, after {}", self.transitions));
        }
        self.transitions = transitions;
        Ok(())
    }

    fn passes(&self, process: &Process) -> bool {
        if self.bug == Some(Bug::NoRenewDeadline) {
            return !process.gate.until().is_zero();
        }
        process.gate.lets_pass(self.clock(process).boot)
    }

    fn clock(&self, process: &Process) -> Now {
        let mut elapsed = self.now;
        if self.bug == Some(Bug::NoStopAfterPause) {
            elapsed = elapsed.saturating_sub(process.lost);
        }
        let elapsed = elapsed * process.clock.percent / 100;
        Now { boot: process.clock.boot + elapsed, wall: process.clock.wall + elapsed }
    }

    fn happen(&mut self, event: Event) {
        // A paused process handles events after the pause.
        if let Event::Wake { process, .. } | Event::Answer { process, .. } | Event::Write { process } = event {
            let paused = self.processes[process].paused;
            if paused > self.now {
                self.after(paused - self.now, event);
                return;
            }
        }
        match event {
            Event::Wake { process, epoch } if epoch == self.processes[process].epoch => {
                if self.processes[process].dead {
                    self.processes[process] = Process::start(process, epoch + 1, self.now, &mut self.random);
                }
                self.drive(process);
            }
            Event::Answer { process, request, answer } if self.processes[process].waiting == Some(request) => {
                self.processes[process].waiting = None;
                self.answer(process, answer);
            }
            // An event of an ended process, or one after the timeout.
            Event::Wake { .. } | Event::Answer { .. } => {}
            Event::Arrive { process, request, step, answered } => {
                let answer = self.server.serve(step);
                if answered && self.processes[process].cut_off <= self.now {
                    let latency = self.latency();
                    self.after(latency, Event::Answer { process, request, answer });
                }
            }
            Event::Write { process } => {
                let writer = &self.processes[process];
                if !writer.dead {
                    if self.passes(writer) {
                        self.report.passed += 1;
                        let identity = writer.identity.clone();
                        let latency = self.latency();
                        self.after(latency, Event::WriteArrives { identity });
                    } else {
                        self.report.refused += 1;
                    }
                }
                let pause = self.random.milliseconds(500, 4_000);
                self.after(pause, Event::Write { process });
            }
            Event::WriteArrives { identity } => self.report.late += u64::from(self.server.holder() != identity),
            Event::Fate => {
                self.fate();
                let pause = self.random.milliseconds(100, 30_000);
                self.after(pause, Event::Fate);
            }
        }
    }

    /// The manager's driver, without threads.
    fn drive(&mut self, index: usize) {
        if self.processes[index].waiting.is_some() {
            return;
        }
        let now = self.clock(&self.processes[index]);
        let leads = self.passes(&self.processes[index]);
        let unfilled = self.unfilled[index].is_some();
        let process = &mut self.processes[index];
        if !process.stopping && !leads && unfilled {
            let waits = self.bug != Some(Bug::ContendsUnable) || self.now < process.started + TIMING.lease_duration;
            if waits {
                return self.wake(index, POLL);
            }
        }
        let able = !leads || !(unfilled || process.hung);
        if process.patience.ends(now.boot, able) && self.bug != Some(Bug::KeepsUnable) && !process.stopping {
            self.report.unable += 1;
            if process.hung {
                // A reconcile runs until the process ends, so the Lease is not released.
                return self.end(index);
            }
            process.stopping = true;
            process.elector.release();
        }
        if process.stopping && self.bug == Some(Bug::ReleaseByNonHolder) {
            return self.send(index, LeaseStep::Read);
        }
        match process.elector.next(now) {
            LeaseStep::Wait(pause) => {
                let pause = pause * 100 / process.clock.percent + Duration::from_nanos(1);
                self.wake(index, pause);
            }
            LeaseStep::Released => {
                self.report.released += 1;
                self.end(index);
            }
            request => self.send(index, request),
        }
    }

    fn answer(&mut self, index: usize, answer: LeaseAnswer) {
        let now = self.clock(&self.processes[index]);
        if self.processes[index].stopping && self.bug == Some(Bug::ReleaseByNonHolder) {
            if let LeaseAnswer::Record(version, record) = answer
                && !record.holder.is_empty()
            {
                self.send(index, LeaseStep::Update(version, Record { holder: String::new(), ..record }));
            }
            return self.end(index);
        }
        let before = self.passes(&self.processes[index]);
        let answer = match answer {
            LeaseAnswer::Record(version, record)
                if self.bug == Some(Bug::TrustsRenewTime) && record.renewed + record.lease_duration < now.wall =>
            {
                LeaseAnswer::Record(version, Record { holder: String::new(), ..record })
            }
            answer => answer,
        };
        let process = &mut self.processes[index];
        process.found = match (process.found, &answer) {
            (Found::Unasked, LeaseAnswer::Record(..)) => Found::Record,
            (Found::Unasked, LeaseAnswer::Absent) => Found::Nothing,
            (found, _) => found,
        };
        // A late renewal may open the gate again; only a takeover counts here.
        let takes = matches!(&answer, LeaseAnswer::Record(_, record) if record.acquired == record.renewed);
        process.elector.answer(now, answer);
        let after = self.passes(&self.processes[index]);
        let begins = after && !before;
        if begins && takes && self.unfilled[index].is_some_and(|since| self.now > since + Duration::from_secs(20)) {
            self.blind = Some(self.processes[index].identity.clone());
        }
        self.report.terms += u64::from(begins);
        self.drive(index);
    }

    fn send(&mut self, process: usize, step: LeaseStep) {
        self.sequence += 1;
        let request = self.sequence;
        self.processes[process].waiting = Some(request);
        let lost = self.processes[process].cut_off > self.now || self.trouble(3);
        if self.trouble(2) {
            let latency = self.latency();
            self.after(latency, Event::Answer { process, request, answer: LeaseAnswer::Failed });
        } else if !lost {
            let answered = !self.trouble(3);
            let latency = self.latency();
            self.after(latency, Event::Arrive { process, request, step, answered });
        }
        self.after(REQUEST_TIMEOUT, Event::Answer { process, request, answer: LeaseAnswer::Failed });
    }

    fn fate(&mut self) {
        let index = self.random.below(PROCESSES as u64) as usize;
        let pause = self.random.milliseconds(500, 40_000);
        let now = self.now;
        let leads = self.passes(&self.processes[index]);
        let process = &mut self.processes[index];
        match self.random.below(8) {
            // SIGSTOP, or a suspended machine.
            0 if process.paused <= now => {
                process.paused = now + pause;
                process.lost += pause;
            }
            1 => process.cut_off = now + pause,
            2 => self.end(index),
            3 if !process.dead && !process.stopping => {
                process.stopping = true;
                process.elector.release();
                process.epoch += 1;
                self.wake(index, Duration::ZERO);
            }
            4 => self.server.touch(),
            // A process may notice only one of two deletions in a row.
            5 if self.deleted.is_none_or(|deleted| now > deleted + BETWEEN_DELETIONS) && self.server.delete() => {
                self.report.deleted += 1;
                self.deleted = Some(now);
                self.transitions = 0;
            }
            // Revokes or restores a permission.
            6 => {
                let broken = self.unfilled[index];
                self.unfilled[index] = if broken.is_some() { None } else { Some(now) };
            }
            7 if leads => process.hung = true,
            _ => {}
        }
    }

    /// Ends a process. Its requests are still in flight, and a new process replaces it.
    fn end(&mut self, index: usize) {
        let process = &mut self.processes[index];
        process.dead = true;
        process.waiting = None;
        process.epoch += 1;
        process.paused = Duration::ZERO;
        let pause = self.random.milliseconds(100, 20_000);
        self.wake(index, pause);
    }

    fn wake(&mut self, process: usize, pause: Duration) {
        let epoch = self.processes[process].epoch;
        self.after(pause, Event::Wake { process, epoch });
    }

    fn after(&mut self, pause: Duration, event: Event) {
        self.sequence += 1;
        self.events.insert((self.now + pause, self.sequence), event);
    }

    fn trouble(&mut self, percent: u64) -> bool {
        self.random.percent(percent) && !self.calm
    }

    /// Usually short, sometimes longer than any timeout.
    fn latency(&mut self) -> Duration {
        let longest = if self.trouble(5) { 20_000 } else { 200 };
        self.random.milliseconds(1, longest)
    }
}

impl Process {
    fn start(index: usize, epoch: u64, now: Duration, random: &mut Random) -> Self {
        let identity = format!("{index}-{epoch}");
        let gate = Arc::new(Gate::shut());
        Self {
            elector: LeaseElector::new(identity.clone(), TIMING, gate.clone(), random.next()),
            index,
            identity,
            gate,
            waiting: None,
            epoch,
            stopping: false,
            dead: false,
            found: Found::Unasked,
            paused: Duration::ZERO,
            cut_off: Duration::ZERO,
            lost: Duration::ZERO,
            clock: Clock {
                boot: random.milliseconds(0, 1_000_000_000),
                wall: Duration::from_secs(1_800_000_000) + random.milliseconds(0, 120_000),
                percent: 98 + u32::try_from(random.below(5)).unwrap(),
            },
            started: now,
            hung: false,
            patience: Patience::new(PATIENCE, POLL),
        }
    }
}
